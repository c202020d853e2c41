/** The errors of commands that have no session: as text, or as data. */

import type { Facts } from '../../errors.js';
import type { Exit } from '../../exit-code.js';
import { ERROR_LABEL, factsOf, formatError } from '../../outcome/describe-error.js';
import { describeError, errorLine, maskErrorData } from '../../outcome/error-data.js';
import { exitOfError } from '../../outcome/outcome.js';
import type { Context, Output } from '../../platform/context.js';
import { openStyle, type Style } from '../presentation.js';

/** Returns an error as text, an internal one with its stack, wrapped to a terminal. A command at the end of a line is bold. */
export function errorText(facts: Facts, style: Style, { mask, wrap }: Output): string {
  const lines = formatError(facts);
  return (facts.stack ? lines.map(mask) : wrap(lines))
    .join('\n')
    .replace(ERROR_LABEL, () => style.bad(ERROR_LABEL))
    .replace(/^( .*: )(wfr .*)$/gm, (_line, start, command) => start + style.bold(command));
}

/** Prints errors, unless they are data. `color` is the value of --color. */
export async function printErrors(
  errors: readonly Facts[],
  color: string | undefined,
  context: Context,
): Promise<void> {
  const { stderr, errorsAsData } = context;
  for (const facts of errorsAsData ? [] : errors) {
    const style = await openStyle(color, context, stderr);
    await stderr.write(`${errorText(facts, style, stderr)}\n`);
  }
}

/** Returns the value of --color in the words of a command line, which may be invalid. */
function colorFlag(words: readonly string[]): string | undefined {
  const index = words.findLastIndex((word) => /^--color(=|$)/.test(word));
  return index < 0 ? undefined : (words[index]?.split('=')[1] ?? words[index + 1]);
}

/** Prints the error that ended the command of these words, as text or as data, and returns its exit. */
export async function printFinalError(
  error: unknown,
  words: readonly string[],
  context: Context,
): Promise<Exit> {
  const { stderr, secrets, errorsAsData } = context;
  const facts = factsOf(error);
  await printErrors([facts], colorFlag(words), context);
  if (errorsAsData) await stderr.write(errorLine(maskErrorData(describeError(facts), secrets)));
  return exitOfError(facts);
}
