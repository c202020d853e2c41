/**
 * The world as one value: streams, environment, clock, signals. Commands are given it; only this file reads
 * `process`, so that a test can hand in another world.
 */
import { homedir, hostname, tmpdir } from 'node:os';
import { setTimeout as sleepFor } from 'node:timers/promises';
import type { SignalName } from '../errors.js';
import type { ExecOptions, ExecResult, ExitStatus } from './exec.js';
import { DEFAULT_LIMITS, type Limits } from './limits.js';
import { Output } from './output.js';
import { isZombie, readPidNamespace } from './processes.js';

/** Node's timers fire at once for more than this (2^31-1 ms). */
const MAX_TIMER = 2 ** 31 - 1;

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds that only go forward, for durations. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls `action` after `ms` unless the returned function is called first; what waits in sockets by then is read before,
   * as a stopped or busy process is late for both.
   */
  after(ms: number, action: () => void): () => void;
  /** 0 to 1, for the jitter of delays. */
  random(): number;
}

interface Child {
  exited: Promise<ExitStatus>;
  kill(signal: SignalName): void;
}

/** Registers what surrounds a suspension, until the returned function is called. */
export type OnSuspend = (around: { before(): void; after(): void }) => () => void;

export interface Context {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: Output;
  stderr: Output;
  env: Readonly<Record<string, string | undefined>>;
  /** The working folder; empty where it no longer exists. */
  cwd: string;
  /** The user's folder; empty where there is none. */
  home: string;
  tmpdir: string;
  platform: NodeJS.Platform;
  /** This process, where its id means something, and whether another one there is alive. */
  self: { host: string; pid: number; space: string; isAlive(pid: number): boolean };
  /** Node's version, such as 20.19.0. */
  nodeVersion: string;
  clock: Clock;
  limits: Limits;
  /** Calls `listener` for each SIGINT, SIGTERM and SIGHUP until the returned function is called. */
  onSignal(listener: (signal: SignalName) => void): () => void;
  /** Calls `before` when the process is about to be suspended (Ctrl-Z), and `after` when it goes on. */
  onSuspend: OnSuspend;
  /** Starts a command that shares our standard streams. Rejects if it cannot be started. */
  spawn(command: string, args: readonly string[], env: Record<string, string>): Promise<Child>;
  /** Runs a command for what it prints, as `exec` in exec.ts describes. */
  exec(command: string, args: readonly string[], options: ExecOptions): Promise<ExecResult>;
}

/** Rejects with the signal's own reason, where Node's timers would reject with an AbortError around it. */
async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  try {
    await sleepFor(Math.min(Math.max(ms, 0), MAX_TIMER), undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

/** Real time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // performance.now() would load node:perf_hooks, which costs every start 2 ms.
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  sleep,
  after(ms, action) {
    let turn: NodeJS.Immediate | undefined;
    // Immediates come after what has arrived, timers before it.
    const wait = () => {
      turn = setImmediate(action);
    };
    const timer = setTimeout(wait, Math.min(Math.max(ms, 0), MAX_TIMER));
    return () => {
      clearTimeout(timer);
      clearImmediate(turn);
    };
  },
  random: Math.random,
};

/** The real world. */
export function processContext(): Context {
  return {
    // Opening these has effects or can fail, so each waits until it is asked for.
    get stdin() {
      return process.stdin;
    },
    get cwd() {
      return findWorkingFolder();
    },
    get home() {
      return findHomeFolder();
    },
    stdout: new Output(process.stdout, true),
    stderr: new Output(process.stderr, false),
    env: process.env,
    tmpdir: tmpdir(),
    platform: process.platform,
    nodeVersion: process.versions.node,
    get self() {
      return { host: hostname(), pid: process.pid, space: readPidNamespace(), isAlive };
    },
    clock: systemClock,
    limits: DEFAULT_LIMITS,
    onSignal,
    onSuspend,
    spawn: spawnCommand,
    exec: async (command, args, options) => {
      const { exec } = await import('./exec.js');
      return exec(command, args, options, systemClock.after);
    },
  };
}

/** Another process may have removed it; absolute paths work all the same. */
function findWorkingFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '';
  }
}

/** A user whom the system does not know, and who has no HOME, has no folder; that is no fault of wfr. */
function findHomeFolder(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    // A process of another user is there, too.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function onSignal(listener: (signal: SignalName) => void): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.removeListener(signal, listener);
  };
}

const onSuspend: OnSuspend = ({ before, after }) => {
  // Windows has neither signal.
  if (process.platform === 'win32') return () => {};
  const suspend = () => {
    before();
    process.kill(process.pid, 'SIGSTOP');
  };
  process.on('SIGTSTP', suspend);
  process.on('SIGCONT', after);
  return () => {
    process.removeListener('SIGTSTP', suspend);
    process.removeListener('SIGCONT', after);
  };
};

async function spawnCommand(
  command: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<Child> {
  // Loaded only where there is something to start: it costs every other command 3 ms.
  const { spawn } = await import('node:child_process');
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  const exited = new Promise<ExitStatus>((resolve) => {
    child.on('exit', (code, signal) => resolve(signal ?? code ?? 0));
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('spawn', () => resolve({ exited, kill: (signal) => void child.kill(signal) }));
  });
}
