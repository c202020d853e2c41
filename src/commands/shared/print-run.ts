/** What stdout carries of runs, in each output format. All functions throw OutputError. */
import { factsOf } from '../../outcome/describe-error.js';
import { type Outcome, stateOfRun } from '../../outcome/outcome.js';
import { OutputError } from '../../platform/system-error.js';
import { isFinished, outputOf, type Run } from '../../service/run.js';
import { compactJson, formatJson } from '../../text/json/format-json.js';
import { isSanitized } from '../../text/sanitize.js';
import type { ListedRun } from '../../view/table.js';
import type { OutputFormat } from './output-flags.js';
import type { ResumePlan } from './print-outcome.js';
import { printValue } from './print-value.js';
import type { Session } from './session.js';

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
  await stdout.write([idLine(id, 'the run id')]);
}

/** Returns the line of an id, which errors name `subject`: escaped or truncated, it would be another one. Throws OutputError. */
export function idLine(id: string, subject: string): string {
  if (isSanitized(id)) return `${id}\n`;
  throw new OutputError(new Error('it contains control characters'), subject);
}

/** Prints the table of runs, unless none was seen. Returns the outcomes, with the error if it could not be written. */
export async function printTable<One extends Outcome>(
  listed: readonly ListedRun[],
  outcomes: readonly One[],
  { stdout, layout, service, reporter, context }: Session,
): Promise<readonly One[]> {
  if (outcomes.every(({ run }) => !run)) return outcomes;
  const rows = listed.map((one, index) => ({ ...outcomes[index], ...one, isDone: true }));
  const { layOutRuns } = await import('../../view/table.js');
  try {
    const lines = layOutRuns(rows, service.clock.now(), { ...layout, secrets: context.secrets });
    await stdout.writeSummary(`${lines.join('\n')}\n`);
    return outcomes;
  } catch (thrown) {
    const error = factsOf(thrown);
    reporter.error(error);
    return outcomes.map((one) =>
      !one.run || one.error ? one : { ...one, error, state: stateOfRun(one.run, error) },
    );
  }
}

/** Prints a run that has ended or is no longer watched. Throws also where it has no value at the pointer. */
export async function printEnd(
  run: Run,
  { format, pointer, severalRuns = false }: ResumePlan,
  session: Session,
): Promise<void> {
  if (pointer) await printValue(run, format, pointer, session);
  else if (format === 'json') await printRun(run, format, severalRuns, session);
  else if (format === 'text' && !severalRuns && isFinished(run))
    await session.stdout.write(formatJson(outputOf(run), session.layout.jsonColors));
}
