/** Measures batches: throughput, memory, the cost of the results file, and the effect of rate limits (429). */
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BIN, HERE, measure, number, startService, table, temporaryFolder, title } from './lib.mjs';

const ROWS = Number(process.argv[2] ?? 10_000);
const node = process.execPath;
const folder = temporaryFolder();
const at = (name) => join(folder, name);

function rowsFile(count) {
  const path = at(`rows-${count}.jsonl`);
  const lines = Array.from({ length: count }, (_, n) => `{"label":"customer ${n + 1}"}\n`);
  writeFileSync(path, lines.join(''));
  return path;
}

async function quickService(mode) {
  const service = await startService(node, [join(HERE, 'quick-service.mjs'), mode]);
  return { ...service, env: { WFR_BASE_URL: `http://127.0.0.1:${service.text.trim()}` } };
}

/** Runs one batch of `count` rows; resolves with seconds and peak resident memory in MB. */
function batch(count, env, ...flags) {
  const results = at('results.jsonl');
  rmSync(results, { force: true });
  const rows = rowsFile(count);
  const args = [
    'batch',
    'w',
    '--rows',
    rows,
    '--results',
    results,
    '--rate',
    '0',
    '--concurrency',
    '1000',
    '-q',
    ...flags,
  ];
  return measure(node, [BIN, ...args, '--interval', '200ms'], { env });
}

title('Batch');

// The baseline: one process for each run, as in a shell script.
writeFileSync(
  at('workflows.json'),
  JSON.stringify({
    workflows: [
      {
        id: 'w',
        versionName: 'v1',
        parameters: { label: 'string' },
        steps: [{ name: 'Only', duration: '100ms' }],
        output: { label: '{{label}}' },
      },
    ],
  }),
);
const sandbox = await startService(node, [BIN, 'sandbox', '--workflows', at('workflows.json')]);
const [, WFR_BASE_URL, WFR_TOKEN] = /WFR_BASE_URL=(\S+)\nexport WFR_TOKEN=(\S+)/.exec(sandbox.text);
const env = { WFR_BASE_URL, WFR_TOKEN };
const SINGLE = 200;
const started = performance.now();
const line = `seq ${SINGLE} | xargs -P 8 -I{} ${node} ${BIN} run w label={} -q --interval 200ms`;
spawnSync('sh', ['-c', line], { env: { ...process.env, ...env }, stdio: 'ignore' });
const single = SINGLE / ((performance.now() - started) / 1_000);
const whole = await batch(ROWS, env);
sandbox.stop();
const together = ROWS / whole.seconds;
table(
  ['against the sandbox', 'rows per second', 'ratio', 'peak MB'],
  [
    [`xargs -P 8 wfr run (${SINGLE} rows)`, number(single, 1), '1.0', ''],
    [
      `wfr batch --concurrency 1000 (${ROWS} rows)`,
      number(together, 1),
      number(together / single, 1),
      number(whole.peak),
    ],
  ],
);

const quick = await quickService('at-once');
const small = await batch(10_000, quick.env);
const large = await batch(50_000, quick.env);
const inMemory = await batch(10_000, quick.env, '--results', '/dev/shm/wfr-results.jsonl');
rmSync('/dev/shm/wfr-results.jsonl', { force: true });
quick.stop();
console.log(
  `A simulated service: 10,000 rows ${number(small.peak)} MB, 50,000 rows ${number(large.peak)} MB: ` +
    `${number(((large.peak - small.peak) * 1e6) / 40_000)} more bytes per row. ` +
    `The results file costs ${number(((small.seconds - inMemory.seconds) / 10_000) * 1e6)} µs per row on the disk, compared with a file in memory.\n`,
);

// Reading the results of a million rows.
const MILLION = 1_000_000;
const done = at('done.jsonl');
const first = await quickService('at-once');
await batch(10, first.env);
const [head, ...events] = readFileSync(at('results.jsonl'), 'utf8').trimEnd().split('\n');
console.log(`(${events.length} events of 10 rows)`);
writeFileSync(done, `${head}\n`);
for (let from = 1; from <= MILLION; from += 10_000) {
  let text = '';
  for (let row = from; row < from + 10_000; row++) {
    text += `{"event":"intent","row":${row},"digest":"0123456789abcdef"}\n{"event":"sent","row":${row}}\n`;
    text += `{"event":"accepted","row":${row},"id":"run-${row}"}\n{"event":"ended","row":${row},"run":{"id":"run-${row}","status":"FINISHED"}}\n`;
  }
  appendFileSync(done, text);
}
appendFileSync(done, `{"event":"table","rows":${MILLION}}\n`);
const joined = await measure(node, [BIN, 'results', done], {});
console.log(
  `wfr results of ${MILLION} rows: ${number(joined.seconds, 1)} s, peak ${number(joined.peak)} MB.\n`,
);
first.stop();

// A service that answers every second request with 429; ideally each request is sent twice at the full rate.
const busy = await quickService('busy');
const BUSY = 100;
const rate = 50;
const slow = await measure(
  node,
  [
    BIN,
    'batch',
    'w',
    '--rows',
    rowsFile(BUSY),
    '--results',
    at('busy.jsonl'),
    '--rate',
    `${rate}`,
    '--concurrency',
    '50',
    '-q',
  ],
  { env: busy.env },
);
busy.stop();
const ideal = (BUSY * 2 * 2) / rate;
console.log(
  `429 to every second request, ${BUSY} rows at --rate ${rate}: ${number(slow.seconds, 1)} s ` +
    `(ideal: ${number(ideal, 1)} s).\n`,
);
