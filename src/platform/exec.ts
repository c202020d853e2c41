/** Runs a command, such as the one that prints the access token, and returns its output. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { untilAborted } from './until-aborted.js';

/** How long a command may run (ms). */
const TIMEOUT = 60_000;
/** How long its output may stay open after it exited (ms). */
const OUTPUT_TIMEOUT = 1_000;

/** How a child process ended: its exit code, or the signal that killed it. */
export type ExitStatus = number | NodeJS.Signals;

export type ExecResult = Awaited<ReturnType<typeof exec>>;

/** Calls `action` after `ms` unless the returned function is called first. */
type Timer = (ms: number, action: () => void) => () => void;

/** The most characters that are kept of each stream; the rest is discarded. */
const MAX_LENGTH = 65_536;

/**
 * Runs a command in `cwd`, without a shell and without standard input, and returns its output. Kills it after 60 s or
 * when the signal aborts. Rejects if it cannot be started, or with the signal's reason.
 */
export async function exec(
  command: string,
  args: readonly string[],
  { cwd, signal }: { cwd: string; signal: AbortSignal },
  after: Timer,
  platform: NodeJS.Platform,
) {
  const spawn = await loadSpawn(platform);
  signal.throwIfAborted();
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
  const stdout = collect(child.stdout, 'start');
  const stderr = collect(child.stderr, 'end');
  const timers: (() => void)[] = [];
  const ended = new Promise<ExitStatus | 'timeout'>((resolve, reject) => {
    timers.push(after(TIMEOUT, () => resolve('timeout')));
    child.on('error', reject);
    child.on('exit', (code, killedBy) => {
      const end = () => resolve(killedBy ?? code ?? 0);
      child.on('close', end);
      // A daemon that the command started may keep the output open for ever.
      timers.push(after(OUTPUT_TIMEOUT, end));
    });
  });
  try {
    const exitStatus = await untilAborted(ended, signal);
    // Of a long output, the start of stdout and the end of stderr.
    return { exitStatus, stdout: stdout.text, stderr: stderr.text };
  } finally {
    for (const cancel of timers) cancel();
    // Has no effect on a process that has exited.
    child.kill();
    child.unref();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** Collects the start of what a command prints, or its end, where programs report errors. */
function collect(stream: NodeJS.ReadableStream, part: 'start' | 'end'): { text: string } {
  const kept = { text: '' };
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const text = kept.text + chunk;
    if (part === 'start' || text.length <= MAX_LENGTH) kept.text = text.slice(0, MAX_LENGTH);
    // Without what is left of the first line, in which half of a token would not be recognized.
    else kept.text = text.slice(-MAX_LENGTH).replace(/^.*\n/, '');
  });
  return kept;
}

/** Returns Node's spawn; on Windows, one that also starts .cmd and .bat files, whose arguments cmd reads by rules of its own. */
export async function loadSpawn(platform: NodeJS.Platform) {
  return platform === 'win32'
    ? (await import('cross-spawn')).default
    : (await import('node:child_process')).spawn;
}

/** Returns the command line that starts this wfr: a program and its first arguments. */
export async function ownCommand(): Promise<[program: string, ...args: string[]]> {
  const { execPath, execArgv, argv } = process;
  // Bun and Deno lack this module.
  const isExecutable = await import('node:sea').then(({ isSea }) => isSea()).catch(() => false);
  return isExecutable ? [execPath] : [execPath, ...execArgv, argv[1] ?? ''];
}

/** Makes a folder with a command line as the command `wfr`, for shells and, on Windows, for cmd and PowerShell. */
export function makeCommandFolder(command: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'wfr-'));
  const quote = (text: string, found: string, by: string) =>
    command.map((word) => text + word.replaceAll(found, by) + text).join(' ');
  const script = `#!/bin/sh\nexec ${quote("'", "'", "'\\''")} "$@"\n`;
  writeFileSync(join(folder, 'wfr'), script, { mode: 0o700 });
  writeFileSync(join(folder, 'wfr.cmd'), `@${quote('"', '%', '%%')} %*\r\n`);
  return folder;
}
