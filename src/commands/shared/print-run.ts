/** What stdout carries of runs, in each output format. All functions throw OutputError. */
import type { ListedNames } from '../../history/history.js';
import { OutputError } from '../../platform/system-error.js';
import { outputOf, type Run } from '../../service/run.js';
import { compactJson, formatJson } from '../../text/json/format-json.js';
import { isSanitized } from '../../text/sanitize.js';
import { layOutSummaryLine } from '../../view/summary.js';
import type { OutputFormat, ValuePointer } from './output-flags.js';
import type { Session } from './session.js';

/** What is printed of a run. */
export interface PrintOptions {
  format: OutputFormat;
  /** Of --get: the value that is printed instead of the whole. */
  pointer?: ValuePointer | undefined;
}

/** Prints a run for programs: its JSON, on one line if it is one of several, or its id. */
export async function printRun(
  { id, json }: Pick<Run, 'id' | 'json'>,
  format: Exclude<OutputFormat, 'text'>,
  isOneOfSeveral: boolean,
  { stdout, layout }: Session,
): Promise<void> {
  if (format !== 'id') {
    const layOut = isOneOfSeveral || format === 'jsonl' ? compactJson : formatJson;
    return stdout.write(layOut(json, layout.jsonColors));
  }
  // Escaped or truncated, it would be another id.
  if (!isSanitized(id)) throw new OutputError(new Error('it contains control characters'), 'the run id');
  await stdout.write([`${id}\n`]);
}

/** Prints a run as one of a list for people. */
export function printLine(run: Run, names: ListedNames, { stdout, layout, service }: Session): Promise<void> {
  return stdout.writeSummary(`${layOutSummaryLine(run, names, service.clock.now(), layout)}\n`);
}

/** Prints a run that has ended or is no longer watched; `names` is given for one of several. Throws also where it has no value at the pointer. */
export async function printEnd(
  run: Run,
  names: ListedNames | undefined,
  { format, pointer }: PrintOptions,
  session: Session,
): Promise<void> {
  if (pointer !== undefined) {
    const { printValue } = await import('./print-value.js');
    await printValue(run, format, pointer, session);
  } else if (format === 'json') await printRun(run, format, names !== undefined, session);
  else if (format !== 'text') return;
  else if (names !== undefined) await printLine(run, names, session);
  else if (run.status === 'FINISHED')
    await session.stdout.write(formatJson(outputOf(run), session.layout.jsonColors));
}
