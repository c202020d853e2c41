/** Measures batches against a service as fast as possible, so that the client is measured: throughput, CPU and memory. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BIN, FOLDER, measure, number, startServer, table, title } from './lib.mjs';

const ROWS = Number(process.argv[2] ?? 10_000);
const at = (name) => join(FOLDER, name);

let runs = 0;
const server = await startServer((request, response) => {
  request.resume().on('end', () => {
    const run = { id: `run-${++runs}`, versionName: 'v1', status: 'FINISHED', steps: 1, stepsCompleted: 1 };
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(run));
  });
});

/** Runs one batch of `count` rows, whose runs end at once. */
function batch(count, results) {
  rmSync(results, { force: true });
  const lines = Array.from({ length: count }, (_, n) => `{"label":"customer ${n + 1}"}\n`);
  writeFileSync(at('rows.jsonl'), lines.join(''));
  const pace = ['--rate', '0', '--concurrency', '200', '-q'];
  const args = ['batch', 'w', '--rows', at('rows.jsonl'), '--results', results, ...pace];
  return measure(process.execPath, [BIN, ...args], { env: server.env });
}

title('Batch');
const rows = [];
for (const count of [ROWS, 5 * ROWS]) {
  const { seconds, cpu, peak } = await batch(count, at('results.jsonl'));
  rows.push([number(count), number(count / seconds), number((cpu / count) * 1e3, 2), number(peak)]);
}
table(['rows', 'rows per second', 'CPU, ms per row', 'peak MB'], rows);
const joined = await measure(process.execPath, [BIN, 'results', at('results.jsonl')]);
console.log(
  `wfr results of ${number(5 * ROWS)} rows: ${number(joined.seconds, 1)} s, peak ${number(joined.peak)} MB.\n`,
);
server.stop();
