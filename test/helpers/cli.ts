/** Runs wfr in the test's process, with its own streams, clock, environment and signals. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { SIGNAL_EXIT_CODES, type SignalName } from '../../src/exit-code.js';
import { main } from '../../src/main.js';
import {
  type Clock,
  type Context,
  DEFAULT_LIMITS,
  type Limits,
  openOutput,
} from '../../src/platform/context.js';
import { exec } from '../../src/platform/exec.js';
import { createSecretMask } from '../../src/text/secret-mask.js';
import { afterEachFile } from './clean-up.js';
import { VirtualClock } from './clock.js';
import { LACKS } from './system.js';

export interface CliOptions {
  env?: Record<string, string>;
  stdin?: string | Buffer | Readable;
  cwd?: string;
  docs?: string;
  clock?: Clock;
  limits?: Partial<Limits>;
  /** The columns of stderr as a terminal; by default stderr is a pipe. */
  terminal?: number;
  /** The rows of that terminal, if not 24. */
  terminalRows?: number;
  /** The columns of stdout as a terminal; by default stdout is a pipe. */
  stdoutTerminal?: number;
  /** Called on each write with all text of that stream so far. */
  onOutput?: (text: string, stream: 'stdout' | 'stderr') => void;
  /** Raises signals in wfr. */
  signals?: Signals;
  self?: Partial<Context['self']>;
  stdout?: Writable;
  stderr?: Writable;
  spawn?: Context['spawn'];
  /** Whether wfr may run commands and read their output. */
  canExec?: boolean;
  platform?: Context['platform'];
  home?: string;
  /** The user that wfr runs as, if not that of the tests; undefined as on Windows. */
  uid?: number | undefined;
}

export interface CliResult {
  stdout: string;
  stderr: string;
  exitCode: number;
  clock: VirtualClock;
}

/** A home folder in which nothing can be created: what it is in is no folder. */
export const NO_HOME = join(LACKS.devices ? process.execPath : '/dev/null', 'home');

/** The signals of one invocation of wfr. */
export class Signals {
  readonly #listeners = new Set<(signal: SignalName) => void>();

  raise(signal: SignalName): void {
    for (const listener of [...this.#listeners]) listener(signal);
  }

  listen(listener: (signal: SignalName) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Runs one command line, and resolves with its output and exit code. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const clock = (options.clock ?? new VirtualClock()) as VirtualClock;
  const captured = { stdout: '', stderr: '' };
  const exit = await main(args, createTestContext({ ...options, clock }, captured));
  return { ...captured, exitCode: typeof exit === 'number' ? exit : SIGNAL_EXIT_CODES[exit], clock };
}

/** Returns a context of wfr for `options`, whose output is added to `captured`. */
function createTestContext(options: CliOptions, captured = { stdout: '', stderr: '' }): Context {
  const record = (name: 'stdout' | 'stderr') => {
    // Fails the test for a byte that is not UTF-8.
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    return new Writable({
      write(chunk: Buffer, _encoding, callback) {
        captured[name] += decoder.decode(chunk, { stream: true });
        options.onOutput?.(captured[name], name);
        callback();
      },
    });
  };
  const stderr = options.stderr ?? record('stderr');
  if (options.terminal !== undefined)
    Object.assign(stderr, terminalMembers(options.terminal, stderr, options.terminalRows));
  const stdout = options.stdout ?? record('stdout');
  if (options.stdoutTerminal !== undefined)
    Object.assign(stdout, terminalMembers(options.stdoutTerminal, stdout, options.terminalRows));
  const signals = options.signals ?? new Signals();
  const { stdin = '', clock = new VirtualClock() } = options;
  const secrets = createSecretMask();
  return {
    stdin: stdin instanceof Readable ? stdin : Readable.from([Buffer.from(stdin)]),
    stdout: openOutput(stdout, true),
    stderr: openOutput(stderr, false, secrets),
    secrets,
    errorsAsData: false,
    env: options.env ?? {},
    cwd: options.cwd ?? temporaryFolder(),
    home: options.home ?? NO_HOME,
    tmpdir: tmpdir(),
    docs: options.docs ?? 'docs',
    platform: options.platform ?? 'linux',
    uid: 'uid' in options ? options.uid : process.geteuid?.(),
    nodeVersion: process.versions.node,
    openFileLimit: Number.POSITIVE_INFINITY,
    self: {
      host: 'test-host',
      pid: process.pid,
      space: 'test',
      started: undefined,
      isAlive: () => true,
      ...options.self,
    },
    clock,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    onSignal: (listener) => signals.listen(listener),
    onSuspend: () => () => {},
    exec: (command, args, execOptions) =>
      options.canExec
        ? exec(
            command,
            args,
            execOptions,
            (ms, action) => clock.after(ms, action),
            options.platform ?? 'linux',
          )
        : Promise.reject(new Error('this test may not run commands')),
    spawn: options.spawn ?? (() => Promise.reject(new Error('this test may not start processes'))),
  };
}

/** Returns the members that a terminal's stream has and a pipe's has not. */
function terminalMembers(columns: number, stream: Writable, rows = 24) {
  return {
    isTTY: true,
    columns,
    rows,
    cursorTo: (x: number) => stream.write(`\u001b[${x + 1}G`),
    moveCursor: (_dx: number, dy: number) => stream.write(`\u001b[${-dy}A`),
    clearLine: () => stream.write('\u001b[K'),
  };
}

const folders: string[] = [];

/** On Windows, a file that a process has just closed may be in use for a moment. */
const REMOVAL = { recursive: true, force: true, maxRetries: 5 };

/** Creates a folder that is removed after the test file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'wfr-test-'));
  folders.push(folder);
  return folder;
}

afterEachFile(() => {
  for (const folder of folders.splice(0)) rmSync(folder, REMOVAL);
});
