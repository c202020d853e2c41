/** Running a command for what it prints. */
import { spawn } from 'node:child_process';

/** Milliseconds: how long a command may run, and how long what it leaves behind may hold on to its output. */
const TIMEOUT = 60_000;
const OUTPUT_TIMEOUT = 1_000;

/** The end of a child process: its code, or the signal that ended it. */
export type ExitStatus = number | NodeJS.Signals;

/** What a command wrote, and how it ended: `'timeout'` where it had to be ended. */
export interface ExecResult {
  exitStatus: ExitStatus | 'timeout';
  /** From its start. */
  stdout: string;
  /** To its end. */
  stderr: string;
  /** Lines of stderr before those. */
  omittedLines: number;
}

export interface ExecOptions {
  cwd: string;
  signal?: AbortSignal | undefined;
}

/** Calls `action` after `ms` unless the returned function is called first. */
type Timer = (ms: number, action: () => void) => () => void;

/** Characters of each stream that are kept; the others are read and dropped. */
const MAX_LENGTH = 65_536;

/**
 * Runs a command in `cwd`, without a shell and without standard input, and gives what it wrote. It is ended after 60 s,
 * or by the signal. Rejects if it cannot be started, or with the signal's reason.
 */
export async function exec(
  command: string,
  args: readonly string[],
  { cwd, signal }: ExecOptions,
  after: Timer,
): Promise<ExecResult> {
  signal?.throwIfAborted();
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
  const stdout = keepStart(child.stdout);
  const stderr = keepEnd(child.stderr);
  const cancel: (() => void)[] = [];
  try {
    const exitStatus = await new Promise<ExecResult['exitStatus']>((resolve, reject) => {
      const abort = () => reject(signal?.reason);
      signal?.addEventListener('abort', abort, { once: true });
      cancel.push(() => signal?.removeEventListener('abort', abort));
      cancel.push(after(TIMEOUT, () => resolve('timeout')));
      child.on('error', reject);
      child.on('close', (code, killer) => resolve(killer ?? code ?? 0));
      // A daemon that the command has started keeps its output open, and would keep us waiting.
      child.on('exit', (code, killer) => {
        cancel.push(after(OUTPUT_TIMEOUT, () => resolve(killer ?? code ?? 0)));
      });
    });
    return { exitStatus, stdout: stdout.text, stderr: stderr.text, omittedLines: stderr.missed };
  } finally {
    for (const undo of cancel) undo();
    // Harmless to one that has ended.
    child.kill();
    child.unref();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

function keepStart(stream: NodeJS.ReadableStream): { text: string } {
  const kept = { text: '' };
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    kept.text += chunk.slice(0, MAX_LENGTH - kept.text.length);
  });
  return kept;
}

/** Whole lines, but for one that is longer than what is kept. */
function keepEnd(stream: NodeJS.ReadableStream): { text: string; missed: number } {
  const kept = { text: '', missed: 0 };
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    kept.text += chunk;
    if (kept.text.length <= MAX_LENGTH) return;
    const start = kept.text.indexOf('\n', kept.text.length - MAX_LENGTH) + 1 || kept.text.length - MAX_LENGTH;
    kept.missed += kept.text.slice(0, start).split('\n').length - 1;
    kept.text = kept.text.slice(start);
  });
  return kept;
}
