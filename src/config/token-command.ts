/** Runs the command that prints the access token. */

import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import type { ExecResult } from '../platform/exec.js';
import { describeSystemError } from '../platform/system-error.js';
import { formatDuration } from '../text/quantity.js';
import { checkToken, formatTokenCommand, formatTokenSource, type TokenLocation } from './token-source.js';

/** Returns the first line that the command prints. Throws UsageError with its stderr, or the signal's reason. */
export async function runTokenCommand(
  location: TokenLocation & { kind: 'command' },
  context: Context,
  signal?: AbortSignal,
): Promise<string> {
  const [program = '', ...args] = location.command;
  const command = formatTokenCommand(location.command, context);
  const source = formatTokenSource(location);
  const failure = (problem: string, stderr?: string) =>
    new UsageError([`the token command ${command} ${problem} (${source})`], undefined, stderr);
  const running = context.exec(program, args, { cwd: location.folder, signal });
  const result = await running.catch((error) => {
    signal?.throwIfAborted();
    throw failure(`cannot be started: ${describeSystemError(error)}`);
  });
  if (result.exitStatus !== 0) throw failure(describeExit(result.exitStatus), summarizeStderr(result));
  const [token = ''] = result.stdout.split(/\r?\n/, 1);
  try {
    return checkToken(token, `the first line of output of ${command} (${source})`, context.secrets);
  } catch (error) {
    // A command may report an error on stderr and still exit with 0.
    throw error instanceof UsageError
      ? new UsageError(error.problems, error.hint, summarizeStderr(result))
      : error;
  }
}

function describeExit(exitStatus: ExecResult['exitStatus']): string {
  if (exitStatus === 'timeout') return `timed out after ${formatDuration(60_000)}`;
  return typeof exitStatus === 'number'
    ? `failed with exit code ${exitStatus}`
    : `was killed by ${exitStatus}`;
}

/** The most lines of stderr that are shown. */
const MAX_LINES = 10;

/** Returns the last lines of stderr, where programs report errors, and how many were left out. */
function summarizeStderr({ stdout, stderr }: ExecResult): string {
  const lines = hideStdout(stderr, stdout).trimEnd().split(/\r?\n/);
  const omitted = Math.max(0, lines.length - MAX_LINES);
  const mark = omitted === 0 ? [] : [`… ${omitted} more ${omitted === 1 ? 'line' : 'lines'}`];
  return [...mark, ...lines.slice(-MAX_LINES)].join('\n');
}

/** A word of this length may be a token among other words. */
const LONG_WORD = 16;

/** Hides in stderr what the command printed to stdout: that may be the token. */
function hideStdout(stderr: string, stdout: string): string {
  const lines = stdout.split(/\r?\n/).map((line) => line.trim());
  const words = stdout.split(/\s+/).filter((word) => word.length >= LONG_WORD);
  return [...lines.filter((line) => line.length >= 8), ...words].reduce(
    (text, printed) => text.replaceAll(printed, '(hidden)'),
    stderr,
  );
}
