/** The end of a command by an error: the words for it, and the exit. */

import { type Exit, exitOfError } from '../../exit-code.js';
import type { Output } from '../../platform/output.js';
import { explain } from './describe-error.js';
import { type Explanation, explanationLines } from './error-description.js';
import { wrapLines } from '../../text/wrap.js';

/** Says what was thrown, with its stack where wfr did not foresee it, and gives the exit that stands for it. */
export async function sayFailure(error: unknown, stderr: Output): Promise<Exit> {
  const explanation = explain(error);
  await stderr.write(explanation === undefined ? defectText(error) : textOf(explanation, stderr));
  return exitOfError(error);
}

function textOf(explanation: Explanation, stderr: Output): string {
  const width = stderr.isTerminal ? stderr.columns : 0;
  return `${wrapLines(explanationLines(explanation), width).join('\n')}\n`;
}

function defectText(error: unknown): string {
  const stack = error instanceof Error ? error.stack : String(error);
  return `wfr: this is a defect of wfr itself; please report it with what follows (check it for secrets first)\n${stack}\n`;
}
