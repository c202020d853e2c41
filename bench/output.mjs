/** Measures printing the output of a run, of rows and of one string, compared with jq and with JSON.parse and stringify. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BIN,
  FOLDER,
  isInstalled,
  measure,
  measureInTurn,
  number,
  printComparison,
  startServer,
  title,
} from './lib.mjs';

const ROUNDS = Number(process.argv[2] ?? 3);
const PARSE =
  'console.log(JSON.stringify(JSON.parse(require("fs").readFileSync(process.argv[1], "utf8")), null, 2))';

title('Output');
const row = (n) => ({ id: n, name: `customer number ${n}`, tags: ['a', 'b\u00e9', null], total: n / 7 });
const file = join(FOLDER, 'output.json');
for (const [label, value] of [
  ['rows', Array.from({ length: 600_000 }, (_, n) => row(n))],
  ['one string', 'x'.repeat(100e6)],
]) {
  const json = JSON.stringify(value);
  const run = Buffer.from(`{"id":"r","status":"FINISHED","steps":1,"stepsCompleted":1,"output":${json}}`);
  writeFileSync(file, json);
  const server = await startServer((_request, response) => response.end(run));
  const wfr = () => measure(process.execPath, [BIN, 'watch', '-q', 'r'], { env: server.env });
  const candidates = [
    { name: 'wfr watch', run: wfr },
    { name: 'JSON.parse, JSON.stringify', run: () => measure(process.execPath, ['-e', PARSE, file]) },
  ];
  if (isInstalled('jq')) candidates.push({ name: 'jq .', run: () => measure('jq', ['.', file]) });
  const results = await measureInTurn(candidates, ROUNDS);
  printComparison(
    `${number(json.length / 1e6)} MB, ${label}`,
    results,
    'wfr watch',
    ({ cpu }) => cpu,
    'CPU seconds',
  );
  server.stop();
}
