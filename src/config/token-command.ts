/** The access token as a command prints it. */
import type { Captured } from '../capture.js';
import type { Context } from '../context.js';
import { formatDuration } from '../duration.js';
import { UsageError } from '../errors.js';
import { shellCommand } from '../shell-quote.js';
import { describeSystemError } from '../system-error.js';
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
  const running = context.capture(program, args, { cwd: folder, signal });
  const { end, stdout, stderr } = await running.catch((error) => {
    signal?.throwIfAborted();
    throw failed(`cannot be started: ${describeSystemError(error)}`);
  });
  if (end !== 0) throw failed(howItEnded(end), firstLines(withoutPrinted(stderr, stdout)));
  const [token = ''] = stdout.split(/\r?\n/, 1);
  return checkToken(token, `the first line that ${command} printed (${source})`);
}

function howItEnded(end: Captured['end']): string {
  if (end === 'timeout') return `did not end within ${formatDuration(60_000)}`;
  return typeof end === 'number' ? `failed with exit code ${end}` : `was ended by ${end}`;
}

/** What it said, without what it had printed: that may be the token. */
function withoutPrinted(stderr: string, stdout: string): string {
  const printed = stdout.split(/\r?\n/).map((line) => line.trim());
  return printed
    .filter((line) => line.length >= 8)
    .reduce((text, line) => text.replaceAll(line, '(hidden)'), stderr);
}

function firstLines(text: string): string {
  return text.trim().split('\n').slice(0, 5).join('\n');
}
