/** Runs wfr as a real process, through bin/wfr.js, or the executable that the variable WFR_BIN names. */
import { type ChildProcess, type SpawnOptions, spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import spawn from 'cross-spawn';
import { afterEachFile } from './clean-up.js';
import { temporaryFolder } from './cli.js';

export const BIN = fileURLToPath(new URL('../../bin/wfr.js', import.meta.url));
/** The executable that is tested in place of bin/wfr.js. */
export const EXECUTABLE = process.env.WFR_BIN || undefined;
/** The start of a command line of wfr. */
export const WFR: readonly [string, ...string[]] = EXECUTABLE ? [EXECUTABLE] : [process.execPath, BIN];
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface ProcessResult {
  stdout: string;
  stderr: string;
  /** As a shell reports it: 128 + n for a signal. */
  exitCode: number;
  signal: NodeJS.Signals | null;
}

export interface RunningProcess {
  child: ChildProcess;
  /** Resolves once stderr and stdout together contain the text. Rejects when the process ends before. */
  waitForOutput(text: string | RegExp): Promise<void>;
  ended: Promise<ProcessResult>;
}

/** What a test that failed has left running ends with its file. */
const running = new Set<ChildProcess>();

afterEachFile(() => {
  for (const { pid } of running) if (pid !== undefined) killTree(pid);
});

/** Kills a process and what it has started, such as the commands of a shell. */
function killTree(pid: number): void {
  if (process.platform === 'win32') return void spawnSync('taskkill', ['/pid', String(pid), '/t', '/f']);
  for (const child of childrenOf(pid)) killTree(child);
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** Returns the processes that a process has started, as Linux lists them. */
function childrenOf(pid: number): number[] {
  try {
    const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return listed.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

const SIGNAL_NUMBERS: Partial<Record<NodeJS.Signals, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGKILL: 9,
  SIGTERM: 15,
};

/** The user's folders of the processes that this test file starts. */
let ownFolders: Record<string, string> | undefined;

afterEachFile(() => {
  ownFolders = undefined;
});

/** The processes of tests neither read nor write what belongs to the user. */
function createOwnFolders(): Record<string, string> {
  const home = temporaryFolder();
  return {
    HOME: home,
    // The home folder on Windows.
    USERPROFILE: home,
    XDG_STATE_HOME: join(home, 'state'),
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_CACHE_HOME: join(home, 'cache'),
  };
}

/** Starts a command. Its environment is `env` and what Node needs, not that of the test. */
export function start(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
  options: SpawnOptions = {},
): RunningProcess {
  ownFolders ??= createOwnFolders();
  // On Windows, npm is a .cmd file.
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH ?? '', ...ownFolders, ...env },
    ...options,
  });
  running.add(child);
  child.on('exit', () => running.delete(child));
  const result = { stdout: '', stderr: '' };
  const waiting = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    // A character may be in two chunks.
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      result[name] += text;
      for (const check of waiting) check();
    });
  }
  const ended = new Promise<ProcessResult>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      resolve({ ...result, exitCode: code ?? 128 + (SIGNAL_NUMBERS[signal ?? 'SIGKILL'] ?? 0), signal });
    });
  });
  const waitForOutput = (text: string | RegExp) =>
    new Promise<void>((resolve, reject) => {
      const check = () => {
        const all = result.stderr + result.stdout;
        if (typeof text === 'string' ? all.includes(text) : text.test(all)) {
          waiting.delete(check);
          resolve();
        }
      };
      waiting.add(check);
      check();
      void ended.then(() => reject(new Error(`ended without the output ${text}: ${result.stderr}`)));
    });
  return { child, waitForOutput, ended };
}

/** Resolves once the process with this id has ended. */
export async function waitForEnd(pid: number): Promise<void> {
  while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Starts `wfr`. */
export function startWfr(
  args: readonly string[],
  env: Record<string, string> = {},
  options: SpawnOptions = {},
): RunningProcess {
  const [command, ...first] = WFR;
  return start(command, [...first, ...args], env, options);
}

/** Starts a bash script in which `wfr` is the one of this repository. */
export function startBash(
  lines: string,
  env: Record<string, string> = {},
  options: SpawnOptions = {},
): RunningProcess {
  const path = `${folderWithWfr()}${delimiter}${process.env.PATH}`;
  return start('bash', ['-c', lines], { ...env, PATH: path }, options);
}

/** Runs a bash script in which `wfr` is the one of this repository. */
export function bash(
  lines: string,
  env: Record<string, string> = {},
  options: SpawnOptions = {},
): Promise<ProcessResult> {
  return startBash(lines, env, options).ended;
}

/** Creates a folder for PATH with `wfr`, and with the `node` of the tests where wfr needs one. */
export function folderWithWfr(): string {
  const folder = temporaryFolder();
  symlinkSync(EXECUTABLE ?? BIN, join(folder, 'wfr'));
  if (EXECUTABLE === undefined) symlinkSync(process.execPath, join(folder, 'node'));
  return folder;
}
