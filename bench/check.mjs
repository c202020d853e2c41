/** Measures `wfr batch --check` with declared parameters: time and memory for valid and for invalid tables. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BIN, measure, median, number, table, temporaryFolder, title } from './lib.mjs';

const ROWS = Number(process.argv[2] ?? 100_000);
const ROUNDS = 3;
const folder = temporaryFolder();
const parameters = { customer: 'string', amount: 'number', 'note?': 'string' };
const workflows = { w: { id: '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e', parameters } };
const config = { defaultProfile: 'p', profiles: { p: { baseUrl: 'http://127.0.0.1:1', workflows } } };
writeFileSync(join(folder, 'config.json'), JSON.stringify(config), { mode: 0o600 });

/** Writes a table with a line for each row number. */
function write(name, line, header = '') {
  const path = join(folder, name);
  writeFileSync(path, header + Array.from({ length: ROWS }, (_, n) => `${line(n)}\n`).join(''));
  return path;
}

const csv = (n) => `customer ${n},${n}.50,note ${n}`;
const json = (n) => JSON.stringify({ customer: `customer ${n}`, amount: n, note: `note ${n}` });
const wrong = (n) => JSON.stringify({ customer: `customer ${n}`, amount: `${n}` });
const tables = [
  { name: 'CSV', path: write('rows.csv', csv, 'customer,amount:=,note\n') },
  { name: 'CSV, --no-check-parameters', path: join(folder, 'rows.csv'), flags: ['--no-check-parameters'] },
  { name: 'JSON Lines', path: write('rows.jsonl', json) },
  { name: 'JSON Lines, a mistake in each row', path: write('wrong.jsonl', wrong), expect: 2 },
];

title(`wfr batch --check, ${number(ROWS)} rows`);
const env = { WFR_CONFIG: join(folder, 'config.json') };
const rows = [];
for (const { name, path, flags = [], expect } of tables) {
  const args = [BIN, 'batch', 'w', '--rows', path, '--check', ...flags];
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++)
    rounds.push(await measure(process.execPath, args, { env, expect }));
  const seconds = median(rounds.map((figures) => figures.seconds));
  const cpu = median(rounds.map((figures) => figures.cpu));
  const peak = Math.max(...rounds.map((figures) => figures.peak));
  rows.push([name, number(seconds, 1), number(cpu, 1), number(peak)]);
}
table(['table', 'seconds', 'CPU seconds', 'peak MB'], rows);
