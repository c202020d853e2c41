/** Helpers of the benchmarks: measure whole processes in alternating rounds, and print Markdown tables. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const BIN = fileURLToPath(new URL('../bin/wfr.js', import.meta.url));
export const HERE = fileURLToPath(new URL('.', import.meta.url));

/** Without NODE_EXTRA_CA_CERTS, which slows down Node itself. */
const { NODE_EXTRA_CA_CERTS, ...OTHERS } = process.env;
const ENV = { ...OTHERS, XDG_CONFIG_HOME: '/nonexistent' };

/** Runs a process; resolves with seconds, those of its CPU time, and peak resident memory in MB. Throws for another exit code than `expect`. */
export function measure(command, args, { env = {}, expect = 0 } = {}) {
  return new Promise((resolve, reject) => {
    const started = process.hrtime.bigint();
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...ENV, ...env } });
    let peak = 0;
    let ticks = 0;
    let stderr = '';
    const sample = () => {
      try {
        // What follows the name in parentheses; the times are in hundredths of a second.
        const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ');
        ticks = Math.max(ticks, Number(fields[11]) + Number(fields[12]));
        peak = Math.max(
          peak,
          Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0),
        );
      } catch {
        // The process has ended, or this is not Linux.
      }
    };
    const timer = setInterval(sample, 10);
    child.stdout.resume();
    child.stderr.on('data', (chunk) => (stderr += chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(timer);
      const seconds = Number(process.hrtime.bigint() - started) / 1e9;
      if (code !== expect) reject(new Error(`${command} ${args.join(' ')} exited with ${code}: ${stderr}`));
      else resolve({ seconds, cpu: ticks / 100, peak: peak / 1000 });
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

/** Creates a folder that is removed at exit. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'wfr-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
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
