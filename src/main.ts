/** Arguments and a world -> how wfr ends. The one place where errors become words and an exit. */
import { runProgram } from './cli/program.js';
import type { Context } from './context.js';
import { type Exit, ExitCode, exitOfError } from './exit-code.js';

export { processContext } from './context.js';
export { SIGNAL_EXIT_CODES } from './exit-code.js';

/** Runs one command line (`args` without node and script). Never throws; everything has been written when it returns. */
export async function main(args: readonly string[], context: Context): Promise<Exit> {
  const exit = await runProgram(args, context).catch((error) => fail(error, context));
  await context.stderr.write('');
  return exit;
}

async function fail(error: unknown, context: Context): Promise<Exit> {
  const { explain } = await import('./view/explain.js');
  const { explanationLines } = await import('./view/explanation.js');
  const { wrapLines } = await import('./view/wrap.js');
  const explanation = explain(error);
  if (explanation !== undefined) {
    const width = context.stderr.isTerminal ? context.stderr.columns : 0;
    await context.stderr.write(`${wrapLines(explanationLines(explanation), width).join('\n')}\n`);
    return exitOfError(error);
  }
  const stack = error instanceof Error ? error.stack : String(error);
  await context.stderr.write(
    `wfr: this is a defect of wfr itself; please report it with what follows (check it for secrets first)\n${stack}\n`,
  );
  return ExitCode.defect;
}
