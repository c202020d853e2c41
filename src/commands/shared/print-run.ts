/** What stdout carries, in each output format. */

import type { ListedNames } from '../../history/history.js';
import { OutputError } from '../../platform/system-error.js';
import { outputOf, type Run } from '../../service/run.js';
import { compactJson, formatJson } from '../../text/json/format-json.js';
import { isSanitized } from '../../text/sanitize.js';
import { LABEL_WIDTH, layOutSummaryLine, runSummary, type SummaryFacts } from '../../view/summary.js';
import type { OutputFormat, ValuePointer } from './output-flags.js';
import type { ResultOutput } from './session.js';

/** What stdout carries of runs. */
interface PrintOptions {
  format: OutputFormat;
  /** Of --get: the value that is printed instead of the whole. */
  pointer: ValuePointer | undefined;
  /** Of several runs: returns how the line of one names it. */
  namesOf?: (id: string) => ListedNames;
}

/** Prints runs while they are watched. All methods throw OutputError. */
export class RunPrinter {
  readonly #identified = new Set<string>();

  constructor(
    readonly output: ResultOutput,
    private readonly options: PrintOptions,
  ) {}

  /** Returns whether stdout carries the complete output of a run that has ended. */
  carriesOutput({ status }: Run): boolean {
    const { format, pointer, namesOf } = this.options;
    if (pointer !== undefined) return false;
    if (format === 'text') return namesOf === undefined && status === 'FINISHED';
    return format !== 'id';
  }

  /** Whether the line of each run is on the screen, so that stderr need not say how it ended. */
  get showsEnds(): boolean {
    const { format, pointer, namesOf } = this.options;
    const { layout, reporter } = this.output;
    return (
      format === 'text' &&
      pointer === undefined &&
      namesOf !== undefined &&
      layout.width > 0 &&
      reporter.output.isTerminal
    );
  }

  /** Prints a run that is new or has changed. */
  async printChange(run: Run): Promise<void> {
    const { format } = this.options;
    if (format === 'jsonl') await printRun(this.output, run, true);
    if (format === 'id' && !this.#identified.has(run.id)) await printId(this.output, run);
    this.#identified.add(run.id);
  }

  /** Prints a run that has ended or is no longer watched, as last seen. Throws WfrError if the pointer has no value. */
  async printEnd(run: Run): Promise<void> {
    const { format, pointer, namesOf } = this.options;
    const { stdout, layout, reporter } = this.output;
    if (pointer !== undefined) {
      const { printValue } = await import('./print-value.js');
      await printValue(run, format, pointer, this.output);
    } else if (format === 'json') await printRun(this.output, run, namesOf !== undefined);
    else if (format === 'text' && namesOf !== undefined)
      await stdout.writeSummary(`${layOutSummaryLine(run, namesOf(run.id), reporter.clock.now(), layout)}\n`);
    else if (format === 'text' && run.status === 'FINISHED')
      await stdout.write(formatJson(outputOf(run), layout.jsonColors));
  }
}

/** Prints a run that was accepted and is not watched. Throws OutputError. */
export async function printAccepted(output: ResultOutput, format: OutputFormat, run: Run): Promise<void> {
  if (format === 'json' || format === 'jsonl') await printRun(output, run, format === 'jsonl');
  else await printId(output, run);
}

/**
 * Prints a run for `wfr status`, in text with what else is known of it. Returns whether only the beginning of its output was
 * printed. Throws OutputError.
 */
export async function printStatus(
  output: ResultOutput,
  format: OutputFormat,
  run: Run,
  {
    names,
    ...facts
  }: Omit<SummaryFacts, 'output'> & {
    /** Of one of several runs: how its line names it. */
    names: ListedNames | undefined;
  },
): Promise<{ isCut: boolean }> {
  const { stdout, layout } = output;
  if (format === 'id') await printId(output, run);
  else if (format !== 'text') await printRun(output, run, names !== undefined || format === 'jsonl');
  else if (names !== undefined)
    await stdout.writeSummary(`${layOutSummaryLine(run, names, facts.now, layout)}\n`);
  else {
    const room = Math.max(MIN_BEGINNING, layout.width - LABEL_WIDTH);
    const beginning = run.status === 'FINISHED' ? beginningOf(outputOf(run), room) : undefined;
    await stdout.writeSummary(runSummary(run, { ...facts, output: beginning?.text }, layout));
    return { isCut: beginning?.isCut === true };
  }
  return { isCut: false };
}

/** Characters of an output that a summary has at least. */
const MIN_BEGINNING = 60;

/** Returns the beginning of a JSON text, on one line of at most `room` characters. */
function beginningOf(json: Uint8Array, room: number): { text: string; isCut: boolean } {
  let text = '';
  for (const piece of compactJson(json)) {
    text += typeof piece === 'string' ? piece : Buffer.from(piece).toString();
    if (text.length > 2 * room) break;
  }
  const characters = [...text.trimEnd()];
  const isCut = characters.length > room;
  return { text: isCut ? `${characters.slice(0, room - 1).join('')}…` : characters.join(''), isCut };
}

async function printRun({ stdout, layout }: ResultOutput, run: Run, oneLine: boolean): Promise<void> {
  const format = oneLine ? compactJson : formatJson;
  await stdout.write(format(run.json, layout.jsonColors));
}

/** Prints an id. Throws OutputError for an unsafe one: escaped or truncated, it would be another id. */
export async function printId({ stdout }: ResultOutput, { id }: Pick<Run, 'id'>): Promise<void> {
  if (!isSanitized(id)) {
    throw new OutputError(new Error('it contains control characters'), 'the run id');
  }
  await stdout.write([`${id}\n`]);
}
