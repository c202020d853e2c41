/** The entry point that bin/wfr.js loads: arguments and context in, exit out. */

import type { Exit } from './exit-code.js';
import type { Context } from './platform/context.js';
import { runProgram } from './program.js';

export { SIGNAL_EXIT_CODES } from './exit-code.js';
export { processContext } from './platform/context.js';

/** Runs one command line (`args` without node and script). Never throws; resolves when all output has been written. */
export async function main(args: readonly string[], context: Context): Promise<Exit> {
  // Even a mistake in the arguments is quoted without it.
  context.secrets.add(context.env.WFR_TOKEN, '(the token)');
  context.errorsAsData = requestsData(args);
  const exit = await runProgram(args, context).catch(async (error) => {
    const { printFinalError } = await import('./view/errors/print-error.js');
    return printFinalError(error, flagsOf(args), context);
  });
  await context.stderr.write('');
  return exit;
}

/** Returns whether --json, -o json or -o jsonl is given, also in a command line that is invalid otherwise. */
function requestsData(args: readonly string[]): boolean {
  // The value may be attached, and flags without a value may precede -o in one word: -ojson, -qo json. --json takes none.
  return /\0(--json(=[^\0]*)?|(--output[=\0]|-[dqv]*o[=\0]?)jsonl?)\0/.test(
    `\0${flagsOf(args).join('\0')}\0`,
  );
}

/** Returns the words before `--`. */
function flagsOf(args: readonly string[]): readonly string[] {
  return args.slice(0, args.includes('--') ? args.indexOf('--') : undefined);
}
