/** Runs the command that prints the access token. */

import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import type { ExecResult } from '../platform/exec.js';
import { describeSystemError } from '../platform/system-error.js';
import { formatDuration } from '../text/duration.js';
import { shellCommand } from '../text/shell-quote.js';
import { checkToken, formatTokenSource, type TokenLocation } from './token-source.js';

/** Returns the first line that the command prints. Throws UsageError with its stderr, or the signal's reason. */
export async function runTokenCommand(
  location: TokenLocation & { kind: 'command' },
  context: Context,
  signal?: AbortSignal,
): Promise<string> {
  const [program = '', ...args] = location.words;
  const command = shellCommand(location.words);
  const source = formatTokenSource(location);
  const failed = (how: string, stderr?: string) =>
    new UsageError([`the token command ${command} ${how} (${source})`], undefined, stderr);
  const running = context.exec(program, args, { cwd: location.folder, signal });
  const result = await running.catch((error) => {
    signal?.throwIfAborted();
    throw failed(`cannot be started: ${describeSystemError(error)}`);
  });
  if (result.exitStatus !== 0) throw failed(describeEnd(result.exitStatus), shownStderr(result));
  const [token = ''] = result.stdout.split(/\r?\n/, 1);
  try {
    return checkToken(token, `the first line of output of ${command} (${source})`);
  } catch (error) {
    // A command may say why it printed no token, and yet exit with 0.
    throw error instanceof UsageError
      ? new UsageError(error.problems, error.hint, shownStderr(result))
      : error;
  }
}

function describeEnd(end: ExecResult['exitStatus']): string {
  if (end === 'timeout') return `timed out after ${formatDuration(60_000)}`;
  return typeof end === 'number' ? `failed with exit code ${end}` : `was killed by ${end}`;
}

/** The most lines of stderr that are shown. */
const MAX_LINES = 10;

/** Returns the end of stderr, where programs say what went wrong, and how many lines were left out. */
function shownStderr({ stdout, stderr, omittedLines }: ExecResult): string {
  const lines = withoutPrinted(stderr, stdout).trimEnd().split(/\r?\n/);
  const omitted = omittedLines + Math.max(0, lines.length - MAX_LINES);
  const mark = omitted === 0 ? [] : [`… ${omitted} more ${omitted === 1 ? 'line' : 'lines'}`];
  return [...mark, ...lines.slice(-MAX_LINES)].join('\n');
}

/** A word of this length may be a token among other words. */
const LONG_WORD = 16;

/** Hides in stderr what the command printed to stdout: that may be the token. */
function withoutPrinted(stderr: string, stdout: string): string {
  const lines = stdout.split(/\r?\n/).map((line) => line.trim());
  const words = stdout.split(/\s+/).filter((word) => word.length >= LONG_WORD);
  return [...lines.filter((line) => line.length >= 8), ...words].reduce(
    (text, printed) => text.replaceAll(printed, '(hidden)'),
    stderr,
  );
}
