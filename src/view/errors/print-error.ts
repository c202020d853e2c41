/** The last step of a command that failed: its error on stderr, and its exit. */
import { type Exit, exitOfError } from '../../exit-code.js';
import type { Output } from '../../platform/output.js';
import { BUGS_URL } from '../../platform/version.js';
import { sanitizeStack } from '../../text/sanitize.js';
import { wrapLines } from '../../text/wrap.js';
import { describeError, formatError } from './describe-error.js';

/** Prints an error, an internal one with its stack, and returns its exit. */
export async function printError(error: unknown, stderr: Output): Promise<Exit> {
  const description = describeError(error);
  if (description === undefined) {
    await stderr.write(internalErrorText(error));
  } else {
    const width = stderr.isTerminal ? stderr.columns : 0;
    await stderr.write(`${wrapLines(formatError(description), width).join('\n')}\n`);
  }
  return exitOfError(error);
}

function internalErrorText(error: unknown): string {
  const stack = sanitizeStack((error instanceof Error && error.stack) || String(error));
  return `wfr: internal error; please report it at ${BUGS_URL} with this (remove any secrets first):\n${stack}\n`;
}
