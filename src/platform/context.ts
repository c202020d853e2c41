/**
 * Everything a command uses of its process: streams, environment, clock, signals. Only this file reads `process`, so
 * that tests can run commands in a context of their own.
 */

import { once } from 'node:events';
import { fstatSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { homedir, hostname, tmpdir } from 'node:os';
import { delimiter } from 'node:path';
import { setTimeout as sleepFor } from 'node:timers/promises';
import manifest from '../../package.json' with { type: 'json' };
import type { SignalName } from '../exit-code.js';
import { createSecretMask, type SecretMask } from '../text/secret-mask.js';
import { wrapLines } from '../text/wrap.js';
import { type ExitStatus, exec, loadSpawn, makeCommandFolder, ownCommand } from './exec.js';
import { OutputError } from './system-error.js';

/** The timeouts of requests and of the end of a command (ms), how runs are polled, and the most documents that are saved. */
export const DEFAULT_LIMITS = {
  /** Until a connection is established. */
  connect: 10_000,
  /** Without any byte sent during a request. */
  stall: 60_000,
  /** From the last byte of a trigger to the headers of the response. */
  response: 300_000,
  /** Without any byte received of the response to a poll, or of any response body. */
  silence: 30_000,
  /** For the whole body of a response that is not a 2xx. */
  errorBody: 10_000,
  /** How long Ctrl-C waits for the response to a request that was sent. */
  interruptGrace: 10_000,
  /** The same for SIGTERM and SIGHUP: service managers and CI runners soon send SIGKILL. */
  terminationGrace: 2_000,
  /** How long the end of a command waits until the history is written. */
  history: 2_000,
  /** Most documents saved from one output; more suggests an error or an attack. */
  documents: 10_000,
  /** The time between polls (ms), and the longest one: the defaults of settings. */
  polling: { interval: 2_000, maxInterval: 10_000 },
};

export type Limits = typeof DEFAULT_LIMITS;

/** The longest delay of Node's timers (ms); longer ones fire at once. */
const MAX_TIMER = 2 ** 31 - 1;

/** Returns the delay nearest to `ms` that Node's timers have. */
const timerDelay = (ms: number) => Math.min(Math.max(ms, 0), MAX_TIMER);

export type Clock = typeof systemClock;

export const systemClock = {
  /** Milliseconds since 1970. */
  now: () => Date.now(),
  /** Milliseconds that never go backwards, for durations. */
  // performance.now() would load node:perf_hooks, which costs 2 ms at every start.
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  /** Resolves after `ms` milliseconds, or rejects with the signal's reason: Node's timers put an AbortError around it. */
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await sleepFor(timerDelay(ms), undefined, { signal }).catch(() => signal?.throwIfAborted());
  },
  /**
   * Calls `action` after `ms` milliseconds, unless the returned function is called first. Data that has arrived on sockets
   * is processed before, so that a process that was stopped or busy does not time out wrongly.
   */
  after(ms: number, action: () => void): () => void {
    let immediate: NodeJS.Immediate | undefined;
    // Immediates run after data that has arrived was read, timers before.
    const runAfterInput = () => {
      immediate = setImmediate(action);
    };
    const timer = setTimeout(runAfterInput, timerDelay(ms));
    return () => {
      clearTimeout(timer);
      clearImmediate(immediate);
    };
  },
  /** Returns a number from 0 to 1, for the jitter of delays. */
  random: Math.random,
};

/** What a command uses of its process. */
export type Context = ReturnType<typeof processContext>;

/** Returns the context of this process; `docs` is the folder of the documentation, which an executable does not have. */
export function processContext(docs = 'docs') {
  // NO_COLOR has the last word; with both, Node prints a warning of its own over the live line.
  if (process.env.NO_COLOR) delete process.env.FORCE_COLOR;
  const secrets = createSecretMask();
  return {
    // Getters are evaluated only when used: these have side effects or can fail.
    get stdin(): NodeJS.ReadableStream & { isTTY?: boolean } {
      return process.stdin;
    },
    stdout: openOutput(process.stdout, true),
    stderr: openOutput(process.stderr, false, secrets),
    /** What no message and no report may contain. */
    secrets,
    /** Whether what ends the command is one JSON line; main decides it from the arguments. */
    errorsAsData: false,
    env: process.env as Readonly<NodeJS.ProcessEnv>,
    /** The working folder; empty if it no longer exists, when absolute paths still work. */
    get cwd() {
      return readOr('', process.cwd);
    },
    /** The user's home folder; empty for a user without HOME whom the system does not know. */
    get home() {
      return readOr('', homedir);
    },
    tmpdir: tmpdir(),
    docs,
    platform: process.platform,
    /** The effective user id; undefined on Windows. */
    uid: process.geteuid?.(),
    /** This process, as it identifies itself to others: its id is unique in its space, a boot and a PID namespace. */
    get self() {
      const { pid } = process;
      const { started } = readProcess(pid);
      return { host: hostname(), pid, space: readPidNamespace(), started, isAlive };
    },
    /** How many files this process may have open at once; Infinity where the system does not say. */
    get openFileLimit() {
      const limits = readOr('', () => readFileSync('/proc/self/limits', 'latin1'));
      return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
    },
    /** The version of Node, such as 20.19.0. */
    nodeVersion: process.versions.node,
    clock: systemClock,
    limits: DEFAULT_LIMITS,
    /** Calls `listener` for each SIGINT, SIGTERM and SIGHUP until the returned function is called. */
    onSignal: (listener: (signal: SignalName) => void) =>
      listenTo({ SIGINT: listener, SIGTERM: listener, SIGHUP: listener }),
    /** Calls `before` when the process is suspended (Ctrl-Z) and `after` when it resumes, until the returned function is called. */
    onSuspend({ before, after }: { before(): void; after(): void }): () => void {
      const suspend = () => {
        before();
        process.kill(process.pid, 'SIGSTOP');
      };
      // Windows has neither of the two, and never calls their listeners.
      return listenTo({ SIGTSTP: suspend, SIGCONT: after });
    },
    /** Starts a command with our standard streams. Rejects if it cannot be started. */
    spawn: spawnCommand,
    /** Runs a command and returns its output: see exec.ts. */
    exec: (command: string, args: readonly string[], options: Parameters<typeof exec>[2]) =>
      exec(command, args, options, systemClock.after, process.platform),
  };
}

/** Returns whether a variable of the environment is set, and not to what turns it off. */
export function isTurnedOn(value = ''): boolean {
  return !['', '0', 'false'].includes(value);
}

/** Returns what `read` returns, or `other` where the system does not say. */
function readOr<T, Other>(other: Other, read: () => T): T | Other {
  try {
    return read();
  } catch {
    return other;
  }
}

/** Returns whether the process with this id and start is alive; undefined if a later process may have its id. */
function isAlive(pid: number, started: string | undefined): boolean | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // A process of another user is alive, too.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const found = readProcess(pid);
  if (found.isZombie) return false;
  return started === undefined || found.started === undefined ? undefined : found.started === started;
}

/** Calls the listeners of signals until the returned function is called. */
function listenTo(listeners: Partial<Record<NodeJS.Signals, (signal: SignalName) => void>>): () => void {
  const all = Object.entries(listeners);
  for (const [signal, listener] of all) process.on(signal, listener);
  return () => {
    for (const [signal, listener] of all) process.removeListener(signal, listener);
  };
}

async function spawnCommand(command: string, args: readonly string[], env: Record<string, string>) {
  const spawn = await loadSpawn(process.platform);
  // Without a wfr on PATH, or with another one, it is still this one, also for what the command starts.
  const own = await ownCommand();
  const [program, ...first] = command === 'wfr' ? own : [command];
  const folder = readOr('', () => makeCommandFolder(own));
  const { PATH } = process.env;
  const childEnv = { ...process.env, ...env, ...(PATH && folder && { PATH: folder + delimiter + PATH }) };
  const child = spawn(program, [...first, ...args], { stdio: 'inherit', env: childEnv });
  for (const end of ['exit', 'error'])
    child.on(end, () => readOr(undefined, () => rmSync(folder, { recursive: true, force: true })));
  const exited = new Promise<ExitStatus>((resolve) => {
    child.on('exit', (code, signal) => resolve(signal ?? code ?? 0));
  });
  await once(child, 'spawn');
  return { exited, kill: (signal: SignalName) => void child.kill(signal) };
}

/** Returns whether a process, as it identified itself, is alive; undefined if `self` cannot see it. */
export function isAliveHere(
  { host, pid, space, started }: { host: string; pid: number; space: string; started?: string | undefined },
  self: Pick<Context['self'], 'host' | 'space' | 'isAlive'>,
): boolean | undefined {
  const isSameSpace = space === self.space && (space !== '' || host === self.host);
  return isSameSpace ? self.isAlive(pid, started) : undefined;
}

/** Returns the boot id and the PID namespace of this process; empty on other systems. */
export function readPidNamespace(): string {
  return readOr('', () => {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  });
}

/**
 * Returns whether a process has exited but was not reaped, which may never happen in a container, and when it started, in
 * clock ticks since the boot: a later process with its id has another time. That is undefined if the system does not say.
 */
function readProcess(pid: number): { isZombie: boolean; started: string | undefined } {
  const stat = readOr('', () => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  // The name before may contain anything; these are fields 3 to 22.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { isZombie: fields[0] === 'Z', started: fields[19] };
}

/** This package's version. */
export const VERSION = manifest.version;

type OutputStream = NodeJS.WritableStream & { isTTY?: boolean; columns?: number; rows?: number };

/** The codes of a pipe without a reader; Windows has EOF for a write that had begun. */
const CLOSED_CODES = ['EPIPE', 'EOF', 'ERR_STREAM_DESTROYED'];

export type Output = ReturnType<typeof openOutput>;

/**
 * Opens one of the two output streams. If its reader is gone, further output is discarded without an error. Any other
 * failure is an OutputError if it `isRequired`, as stdout is, and ignored on stderr: a run matters more than the messages
 * about it. `secrets` must not appear in it.
 */
export function openOutput(stream: OutputStream, isRequired: boolean, secrets?: SecretMask) {
  let failure: NodeJS.ErrnoException | undefined;
  const fail = (error: NodeJS.ErrnoException) => {
    failure ??= error;
  };
  stream.on('error', fail);
  /** Returns the text as `write` writes it, for what is written to the stream itself. */
  const mask = (text: string) => secrets?.mask(text) ?? text;
  return {
    stream,
    mask,
    /** Returns lines as they fit on the terminal: a secret of several words that is wrapped could not be masked later. */
    wrap: (lines: readonly string[]) => wrapLines(lines.map(mask), stream.columns ?? 0),
    /** Whether its reader is gone or writing failed, so that further output is discarded. */
    get isClosed() {
      return failure !== undefined;
    },
    get isTerminal() {
      return stream.isTTY === true;
    },
    /** Whether it is a file, and so neither a terminal, a log nor another program. */
    get isFile() {
      const { fd } = stream as { fd?: unknown };
      return typeof fd === 'number' && fstatSync(fd).isFile();
    },
    /** The columns of the terminal; 0 if its size is unknown, or it is none. */
    get columns() {
      return stream.columns ?? 0;
    },
    /** The rows of the terminal; 0 if its size is unknown. */
    get rows() {
      return stream.rows ?? 0;
    },
    /** Resolves when all of `chunk` was handed to the system, without secrets. Throws OutputError. */
    async write(chunk: string | Uint8Array): Promise<void> {
      if (!failure) {
        await new Promise<void>((resolve) => {
          stream.write(typeof chunk === 'string' ? mask(chunk) : chunk, (error) => {
            if (error) fail(error);
            resolve();
          });
        });
      }
      if (failure && isRequired && !CLOSED_CODES.includes(failure.code ?? '')) throw new OutputError(failure);
    },
  };
}
