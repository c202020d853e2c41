/** The last step of a command that failed: its error on stderr, and its exit. */
import { type Exit, exitOfError } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { BUGS_URL } from '../../platform/version.js';
import { sanitizeStack } from '../../text/sanitize.js';
import { wrapLines } from '../../text/wrap.js';
import { hasColor } from '../presentation.js';
import { createStyle } from '../style.js';
import { describeError, ERROR_LABEL, formatError } from './describe-error.js';

/** Prints an error, an internal one with its stack. `color` is the value of --color. */
export async function printError(
  error: unknown,
  color: string | undefined,
  { stderr, env }: Pick<Context, 'stderr' | 'env'>,
): Promise<void> {
  const description = describeError(error);
  if (description === undefined) {
    await stderr.write(internalErrorText(error));
  } else {
    const width = stderr.isTerminal ? stderr.columns : 0;
    const text = wrapLines(formatError(description), width).join('\n');
    const style = await createStyle(hasColor(color, env, stderr));
    await stderr.write(`${text.replace(ERROR_LABEL, () => style.error(ERROR_LABEL))}\n`);
  }
}

/** Prints the error that ended a command, as text or as data, and returns its exit. */
export async function printFinalError(
  error: unknown,
  color: string | undefined,
  context: Context,
): Promise<Exit> {
  const { stderr, secrets, errorsAsData } = context;
  if (errorsAsData) {
    const { describeThrown, errorLine, maskErrorData } = await import('../error-data/error-data.js');
    await stderr.write(errorLine(maskErrorData(describeThrown(error), secrets)));
  } else {
    await printError(error, color, context);
  }
  return exitOfError(error);
}

function internalErrorText(error: unknown): string {
  const stack = sanitizeStack((error instanceof Error && error.stack) || String(error));
  return `wfr: internal error; please report it at ${BUGS_URL} with this (remove any secrets first):\n${stack}\n`;
}
