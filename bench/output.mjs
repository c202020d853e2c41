/** Measures printing an output of 200 MB of JSON, compared with jq. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import {
  BIN,
  isInstalled,
  measure,
  measureInTurn,
  median,
  number,
  ratio,
  table,
  temporaryFolder,
  title,
} from './lib.mjs';

const ROUNDS = Number(process.argv[2] ?? 3);
const SIZE = 200e6;

title('Output');
const rows = [];
for (let size = 0, n = 0; size < SIZE; n++) {
  const row = JSON.stringify({
    id: n,
    name: `customer number ${n}`,
    tags: ['a', 'b\u00e9', null],
    total: n / 7,
    nested: { text: 'x'.repeat(n % 200) },
  });
  rows.push(row);
  size += row.length + 1;
}
const json = `[${rows.join(',')}]`;
const run = Buffer.from(`{"id":"r","status":"FINISHED","steps":1,"stepsCompleted":1,"output":${json}}`);
const file = join(temporaryFolder(), 'output.json');
writeFileSync(file, json);
const server = createServer((_request, response) => response.end(run)).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const env = { WFR_BASE_URL: `http://127.0.0.1:${server.address().port}` };

const candidates = [
  { name: 'wfr watch', run: () => measure(process.execPath, [BIN, 'watch', '-q', 'r'], { env }) },
];
if (isInstalled('jq')) candidates.push({ name: 'jq .', run: () => measure('jq', ['.', file]) });
const results = await measureInTurn(candidates, ROUNDS);
table(
  [`${number(json.length / 1e6)} MB`, 'median s', 'time of wfr / time', 'peak MB', 'peak / size'],
  candidates.map(({ name }) => [
    name,
    number(median(results[name].map(({ seconds }) => seconds)), 2),
    number(ratio(results['wfr watch'], results[name]), 2),
    number(median(results[name].map(({ peak }) => peak))),
    number((median(results[name].map(({ peak }) => peak)) * 1e6) / json.length, 1),
  ]),
);
server.close();
