/** The end of a command by an error: the words for it, and the exit. */

import { type Exit, exitOfError } from '../../exit-code.js';
import type { Output } from '../../platform/output.js';
import { wrapLines } from '../../text/wrap.js';
import { describeError } from './describe-error.js';
import { type ErrorDescription, errorLines } from './error-description.js';

/** Says what was thrown, with its stack where wfr did not foresee it, and gives the exit that stands for it. */
export async function printError(error: unknown, stderr: Output): Promise<Exit> {
  const explanation = describeError(error);
  await stderr.write(explanation === undefined ? internalErrorText(error) : textOf(explanation, stderr));
  return exitOfError(error);
}

function textOf(explanation: ErrorDescription, stderr: Output): string {
  const width = stderr.isTerminal ? stderr.columns : 0;
  return `${wrapLines(errorLines(explanation), width).join('\n')}\n`;
}

function internalErrorText(error: unknown): string {
  const stack = error instanceof Error ? error.stack : String(error);
  return `wfr: this is a defect of wfr itself; please report it with what follows (check it for secrets first)\n${stack}\n`;
}
