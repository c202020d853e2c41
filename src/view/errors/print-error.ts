/** The errors of commands that have no session: as text, or as data. */

import type { Facts } from '../../errors.js';
import type { Exit } from '../../exit-code.js';
import { ERROR_LABEL, factsOf, formatError } from '../../outcome/describe-error.js';
import { exitOfError } from '../../outcome/outcome.js';
import type { Context } from '../../platform/context.js';
import { wrapLines } from '../../text/wrap.js';
import { createStyle, hasColor } from '../presentation.js';

/** Prints an error, an internal one with its stack. `color` is the value of --color. */
export async function printError(
  facts: Facts,
  color: string | undefined,
  { stderr, env }: Pick<Context, 'stderr' | 'env'>,
): Promise<void> {
  const width = stderr.isTerminal && facts.stack === undefined ? stderr.columns : 0;
  const text = wrapLines(formatError(facts), width).join('\n');
  const style = await createStyle(hasColor(color, env, stderr));
  await stderr.write(`${text.replace(ERROR_LABEL, () => style.error(ERROR_LABEL))}\n`);
}

/** Prints the error that ended a command, as text or as data, and returns its exit. */
export async function printFinalError(
  error: unknown,
  color: string | undefined,
  context: Context,
): Promise<Exit> {
  const { stderr, secrets, errorsAsData } = context;
  const facts = factsOf(error);
  if (errorsAsData) {
    const { describeError, errorLine, maskErrorData } = await import('../../outcome/error-data.js');
    await stderr.write(errorLine(maskErrorData(describeError(facts), secrets)));
  } else {
    await printError(facts, color, context);
  }
  return exitOfError(facts);
}
