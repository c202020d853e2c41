/** `wfr run --once` as processes that are killed, or started in pairs, against a service that records every trigger. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from '../helpers/cli.js';
import { type RunningProcess, startWfr } from '../helpers/process.js';
import { startRecordingService } from './kill-batch.js';
import type { Random } from './random.js';

/** Large enough that some processes are killed in the middle of the body (bytes). */
const DOCUMENT_SIZE = 4_000_000;
/** Between a complete trigger and its answer (ms). */
const ANSWER_DELAY = 20;
/** Kills of one file, at most, before its command runs to its end. */
const MAX_KILLS = 3;

/** A service, and a folder with a document. */
export async function openSoak() {
  const service = await startRecordingService(ANSWER_DELAY);
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'scan.pdf'), Buffer.alloc(DOCUMENT_SIZE, 7));
  /** Starts the command whose file, and whose input, is `n`. */
  const start = (n: number): RunningProcess => {
    const inputs = [`n:=${n}`, 'scan@scan.pdf'];
    const args = ['run', 'w', '--once', `${n}.once`, ...inputs, '--interval', '20ms', '-q', '-o', 'id'];
    return startWfr(args, { WFR_BASE_URL: service.baseUrl }, { cwd });
  };
  return { ...service, cwd, start };
}

export type Soak = Awaited<ReturnType<typeof openSoak>>;

/** What became of one file. */
export interface KilledFile {
  /** The last event in the file at each kill; `none` without a file. */
  killedAfter: string[];
  exitCode: number;
  violations: string[];
}

/** Returns how long one undisturbed command takes (ms). */
export async function measure({ start }: Soak): Promise<number> {
  const from = performance.now();
  await start(0).ended;
  return performance.now() - from;
}

/** Kills the command of file `n` at random times within `duration` ms, then repeats it until it ends. */
export async function killOnce(soak: Soak, n: number, duration: number, random: Random): Promise<KilledFile> {
  const killedAfter: string[] = [];
  while (killedAfter.length < MAX_KILLS) {
    const running = soak.start(n);
    const lifetime = duration * (0.25 + 0.85 * random.next());
    const isOver = await Promise.race([running.ended.then(() => true), sleep(lifetime).then(() => false)]);
    if (isOver) break;
    running.child.kill('SIGKILL');
    await running.ended;
    killedAfter.push(lastEvent(join(soak.cwd, `${n}.once`)));
  }
  const { exitCode, stderr } = await soak.start(n).ended;
  return {
    killedAfter,
    exitCode,
    violations: findViolations(soak.triggered.get(n) ?? 0, n, exitCode, stderr),
  };
}

/** Starts the command of file `n` twice at once. Returns the violations. */
export async function pairOnce(soak: Soak, n: number, delay: number): Promise<string[]> {
  const first = soak.start(n);
  await sleep(delay);
  const results = await Promise.all([first.ended, soak.start(n).ended]);
  const times = soak.triggered.get(n) ?? 0;
  const ids = new Set(results.map(({ stdout }) => stdout));
  return [
    ...results.flatMap(({ exitCode, stderr }) => findViolations(times, n, exitCode, stderr)),
    ...(ids.size === 1 ? [] : [`file ${n}: two runs: ${[...ids]}`]),
    ...results.flatMap(({ exitCode }) => (exitCode === 0 ? [] : [`file ${n}: exit ${exitCode}`])),
  ];
}

function findViolations(times: number, n: number, exitCode: number, stderr: string): string[] {
  const isAllowed = exitCode === 6 ? times <= 1 : exitCode === 0 && times === 1;
  return isAllowed ? [] : [`file ${n}: triggered ${times} times, exit ${exitCode}: ${stderr}`];
}

function lastEvent(path: string): string {
  if (!existsSync(path)) return 'none';
  const events = [...readFileSync(path, 'utf8').matchAll(/"event":"(\w+)"/g)].map(([, event = '']) => event);
  return events.findLast((event) => !['open', 'close', 'table'].includes(event)) ?? 'none';
}
