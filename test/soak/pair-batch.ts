/** Pairs of processes on one batch, through two paths to its results file, against a service that records triggers. */
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from '../helpers/cli.js';
import { type RunningProcess, start, startWfr, WFR } from '../helpers/process.js';
import { findViolations, readOutcome, startRecordingService } from './kill-batch.js';
import { Random } from './random.js';

/**
 * How the second process accesses the file of the first; `container` is a bind mount of the single file and a
 * separate process namespace, in which the first one is not visible.
 */
export type AccessPath = 'same path' | 'symbolic link' | 'hard link' | 'bind mount' | 'container';
/** What happens to the first process while it works. */
type Fate = 'works' | 'killed' | 'stalled';

export interface Pair {
  accessPath: AccessPath;
  fate: Fate;
  exits: [first: number, second: number];
  violations: string[];
}

const ROWS = 30;
/** Longer than wfr observes a process of another container (ms). */
const STALL = 14_000;

/** Returns whether this user can bind-mount a file. */
export function canBindMount(): boolean {
  const folder = temporaryFolder();
  for (const name of ['a', 'b']) writeFileSync(join(folder, name), '');
  try {
    execFileSync(
      'unshare',
      ['-mpf', '--mount-proc', 'mount', '--bind', join(folder, 'a'), join(folder, 'b')],
      {
        stdio: 'ignore',
      },
    );
    return true;
  } catch {
    return false;
  }
}

/** Starts two processes at about the same time, waits for both, and then finishes the batch. */
export async function runPair(accessPath: AccessPath, fate: Fate, seed: number): Promise<Pair> {
  const random = new Random(seed);
  const service = await startRecordingService();
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'rows.jsonl'), Array.from({ length: ROWS }, (_, n) => `{"n":${n + 1}}\n`).join(''));
  const env = { WFR_BASE_URL: service.baseUrl };
  const first = startWfr(batchArgs('out.jsonl'), env, { cwd });
  const harm = disturb(first, fate, random.next());
  await sleep(fate === 'works' ? random.next() * 300 : 400);
  const second = startSecond(accessPath, cwd, env);
  const exits = [(await first.ended).exitCode, (await second.ended).exitCode] as [number, number];
  await harm;
  const { exitCode, stderr } = await startWfr(batchArgs('out.jsonl'), env, { cwd }).ended;
  const outcome = { ...readOutcome(join(cwd, 'out.jsonl')), triggered: service.triggered, kills: 0 };
  return { accessPath, fate, exits, violations: findViolations({ ...outcome, exitCode, stderr }, ROWS) };
}

function batchArgs(results: string): string[] {
  const pace = ['--rate', '0', '--interval', '20ms', '--concurrency', '2', '-q'];
  return ['batch', 'w', '--rows', 'rows.jsonl', '--results', results, ...pace];
}

async function disturb({ child, ended }: RunningProcess, fate: Fate, chance: number): Promise<void> {
  if (fate === 'works') return;
  await sleep(350 + chance * 400);
  child.kill(fate === 'killed' ? 'SIGKILL' : 'SIGSTOP');
  if (fate === 'stalled') await Promise.race([sleep(STALL), ended]);
  child.kill('SIGCONT');
}

function startSecond(accessPath: AccessPath, cwd: string, env: Record<string, string>): RunningProcess {
  const path = join(cwd, 'out.jsonl');
  // The first process may not have created it yet.
  writeFileSync(path, '', { flag: 'a' });
  if (accessPath === 'same path') return startWfr(batchArgs('out.jsonl'), env, { cwd });
  mkdirSync(join(cwd, 'other'));
  const other = join(cwd, 'other', 'out.jsonl');
  if (accessPath === 'symbolic link') symlinkSync(path, other);
  else if (accessPath === 'hard link') linkSync(path, other);
  else return startMounted(accessPath, path, other, cwd, env);
  return startWfr(batchArgs(other), env, { cwd });
}

function startMounted(
  accessPath: AccessPath,
  path: string,
  other: string,
  cwd: string,
  env: Record<string, string>,
): RunningProcess {
  writeFileSync(other, '');
  const namespaces = accessPath === 'container' ? ['-mpf', '--mount-proc'] : ['-m'];
  const script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"';
  const wfr = [...WFR, ...batchArgs(other)];
  return start('unshare', [...namespaces, 'sh', '-c', script, 'sh', path, other, ...wfr], env, { cwd });
}
