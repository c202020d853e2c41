/** Helpers of the benchmarks: measure whole processes in alternating rounds, and print Markdown tables. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const BIN = fileURLToPath(new URL('../bin/wfr.js', import.meta.url));

/** Without NODE_EXTRA_CA_CERTS, which slows down Node itself. */
const { NODE_EXTRA_CA_CERTS, ...OTHERS } = process.env;
const ENV = { ...OTHERS, XDG_CONFIG_HOME: '/nonexistent' };

/** For files; it is removed at exit. */
export const FOLDER = mkdtempSync(join(tmpdir(), 'wfr-bench-'));
process.on('exit', () => rmSync(FOLDER, { recursive: true, force: true }));

/**
 * Runs a process under GNU time; resolves with seconds, those of its CPU time, and peak resident memory in MB. Throws for
 * another exit code than `expect`.
 */
export function measure(command, args, { env = {}, expect = 0 } = {}) {
  const figures = join(FOLDER, 'figures');
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const timed = ['-q', '-f', '%U %S %M', '-o', figures, command, ...args];
    const child = spawn('time', timed, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...ENV, ...env } });
    let stderr = '';
    child.stdout.resume();
    child.stderr.on('data', (chunk) => (stderr += chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      const seconds = (performance.now() - started) / 1_000;
      if (code !== expect) reject(new Error(`${command} ${args.join(' ')} exited with ${code}: ${stderr}`));
      const [user, system, kilobytes] = readFileSync(figures, 'utf8').split(' ').map(Number);
      resolve({ seconds, cpu: user + system, peak: kilobytes / 1_000 });
    });
  });
}

/** Measures all candidates in each round, after one warm-up round; resolves with `{name: [{seconds, cpu, peak}]}`. */
export async function measureInTurn(candidates, rounds) {
  const results = Object.fromEntries(candidates.map(({ name }) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const { name, run } of candidates) {
      const figures = await run();
      if (round >= 0) results[name].push(figures);
    }
  }
  return results;
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Prints a table of what was measured in turn: medians of `value`, by default seconds, the medians of the ratios to `base`
 * within each round, and the peaks.
 */
export function printComparison(label, results, base, value = ({ seconds }) => seconds, unit = 'seconds') {
  const cells = (figures) => [
    number(median(figures.map(value)), 3),
    number(median(figures.map((each, round) => value(each) / value(results[base][round]))), 2),
    number(median(figures.map(({ peak }) => peak))),
  ];
  const rows = Object.entries(results).map(([name, figures]) => [name, ...cells(figures)]);
  table([label, unit, `${unit} / those of ${base}`, 'peak MB'], rows);
}

/** Prints a Markdown table. */
export function table(head, rows) {
  const lines = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`);
  console.log(`${lines.join('\n')}\n`);
}

export function title(text) {
  const [{ model }] = cpus();
  console.log(`## ${text}\n\nNode ${process.version}, ${cpus().length} x ${model.trim()}.\n`);
}

/** Returns whether a program is installed; prints a note if not. */
export function isInstalled(program) {
  const found = spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
  if (!found) console.log(`(${program} is not installed and not compared.)\n`);
  return found;
}

/** Starts a service in this process. */
export async function startServer(handle) {
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const env = { WFR_BASE_URL: `http://127.0.0.1:${server.address().port}` };
  return { env, stop: () => server.close() };
}

/** Starts a service and waits for its first output. */
export async function startService(command, args, env = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], env: { ...ENV, ...env } });
  process.on('exit', () => child.kill('SIGKILL'));
  const text = await new Promise((resolve, reject) => {
    child.stdout.once('data', (data) => resolve(String(data)));
    child.once('error', reject);
  });
  return { text, stop: () => child.kill('SIGKILL') };
}

export const number = (value, digits = 0) => value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
