/** The access token as a command prints it. */

import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import type { ExecResult } from '../platform/exec.js';
import { describeSystemError } from '../platform/system-error.js';
import { formatDuration } from '../text/duration.js';
import { shellCommand } from '../text/shell-quote.js';
import { checkToken } from './check-token.js';

interface TokenCommand {
  words: readonly string[];
  folder: string;
  source: string;
}

/** The first line that the command prints. Throws UsageError, or the signal's reason. */
export async function runTokenCommand(
  { words, folder, source }: TokenCommand,
  context: Context,
  signal?: AbortSignal,
): Promise<string> {
  const [program = '', ...args] = words;
  const command = shellCommand(words);
  const failed = (how: string, said?: string) =>
    new UsageError([`the token command ${command} ${how} (${source})`], undefined, said);
  const running = context.exec(program, args, { cwd: folder, signal });
  const captured = await running.catch((error) => {
    signal?.throwIfAborted();
    throw failed(`cannot be started: ${describeSystemError(error)}`);
  });
  const { end, stdout } = captured;
  if (end !== 0) throw failed(howItEnded(end), saidBy(captured));
  const [token = ''] = stdout.split(/\r?\n/, 1);
  try {
    return checkToken(token, `the first line that ${command} printed (${source})`);
  } catch (error) {
    // It may have said why, though it did not fail.
    throw error instanceof UsageError ? new UsageError(error.problems, error.hint, saidBy(captured)) : error;
  }
}

function howItEnded(end: ExecResult['end']): string {
  if (end === 'timeout') return `did not end within ${formatDuration(60_000)}`;
  return typeof end === 'number' ? `failed with exit code ${end}` : `was ended by ${end}`;
}

/** The most lines of what it said that are shown. */
const MAX_LINES = 10;

/** The end of what it said, where programs say what went wrong, and how many lines stood before that. */
function saidBy({ stdout, stderr, missed }: ExecResult): string {
  const lines = withoutPrinted(stderr, stdout).trimEnd().split(/\r?\n/);
  const left = missed + Math.max(0, lines.length - MAX_LINES);
  const mark = left === 0 ? [] : [`… ${left} more ${left === 1 ? 'line' : 'lines'}`];
  return [...mark, ...lines.slice(-MAX_LINES)].join('\n');
}

/** A word of so many characters may be a token that stands among others. */
const LONG_WORD = 16;

/** What it said, without what it had printed: that may be the token. */
function withoutPrinted(stderr: string, stdout: string): string {
  const lines = stdout.split(/\r?\n/).map((line) => line.trim());
  const words = stdout.split(/\s+/).filter((word) => word.length >= LONG_WORD);
  return [...lines.filter((line) => line.length >= 8), ...words].reduce(
    (text, printed) => text.replaceAll(printed, '(hidden)'),
    stderr,
  );
}
