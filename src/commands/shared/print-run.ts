/** stdout: the answer, in the form that was asked for. */
import { OutputError } from '../../errors.js';
import type { StdoutQueue } from '../../platform/stdout-queue.js';
import { hasEnded, type Run } from '../../service/run.js';
import { compactJson, formatJson } from '../../text/json/format-json.js';
import { isSanitized } from '../../text/sanitize.js';
import { summaryLine, summaryOf } from '../../view/summary.js';
import type { OutputFormat } from './output-format.js';

/** What stdout carries of runs that are watched to their end. All methods throw OutputError. */
export class RunPrinter {
  readonly #identified = new Set<string>();

  constructor(
    private readonly output: StdoutQueue,
    private readonly format: OutputFormat,
    readonly severalRuns: boolean,
  ) {}

  /** Whether stdout carries all of the output of a run that has ended. */
  holdsOutput({ status }: Run): boolean {
    if (this.format === 'text') return !this.severalRuns && status === 'FINISHED';
    return this.format !== 'id';
  }

  /** A run was seen for the first time, or has changed. */
  async changed(run: Run): Promise<void> {
    if (this.format === 'jsonl') await this.output.write(compactJson(run.json));
    if (this.format === 'id' && !this.#identified.has(run.id)) await printId(this.output, run);
    this.#identified.add(run.id);
  }

  /** A run will not be seen again; `run` is as it was seen last. */
  async closed(run: Run): Promise<void> {
    if (this.format === 'json') await printRun(this.output, run, this.severalRuns);
    if (this.format !== 'text') return;
    if (this.severalRuns) await this.output.write([`${summaryLine(run)}\n`]);
    else if (hasEnded(run) && run.status === 'FINISHED') await this.output.write(formatJson(outputOf(run)));
  }
}

/** What stdout carries of a run that was accepted and is not watched. Throws OutputError. */
export async function printAccepted(output: StdoutQueue, format: OutputFormat, run: Run): Promise<void> {
  if (format === 'json' || format === 'jsonl') await printRun(output, run, format === 'jsonl');
  else await printId(output, run);
}

/** What stdout carries of a run as it is now. Throws OutputError. */
export async function printStatus(
  output: StdoutQueue,
  format: OutputFormat,
  run: Run,
  severalRuns: boolean,
): Promise<void> {
  if (format === 'id') return printId(output, run);
  if (format === 'text') return output.write([severalRuns ? `${summaryLine(run)}\n` : summaryOf(run)]);
  return printRun(output, run, severalRuns || format === 'jsonl');
}

async function printRun(output: StdoutQueue, run: Run, oneLine: boolean): Promise<void> {
  await output.write(oneLine ? compactJson(run.json) : formatJson(run.json));
}

/** An escaped or cut id would be another id to a script, so one that cannot be shown as it is is not printed. */
async function printId(output: StdoutQueue, { id }: Run): Promise<void> {
  if (!isSanitized(id)) {
    throw new OutputError(
      new Error('it has characters that a terminal or a script would misread'),
      'the run id',
    );
  }
  await output.write([`${id}\n`]);
}

function outputOf(run: Run): Uint8Array {
  return run.output ?? Buffer.from('null');
}
