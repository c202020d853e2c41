/** `wfr results`: the results of batches, joined: whether no row is missing or twice, and what they came to. */

import { assertRegularFile, type BatchHeader, readEvents } from '../../batch/journal/read-events.js';
import { recordEvent } from '../../batch/journal/results-file.js';
import { PagedArray } from '../../batch/paged-array.js';
import { RowStates } from '../../batch/row-states.js';
import { BatchFileError, UsageError } from '../../errors.js';
import { type Exit, ExitCode, exitOfSeveral } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { resolvePath } from '../../platform/files.js';
import { assertDistinctFiles } from '../../platform/same-file.js';
import { Interruption } from '../../platform/signals.js';
import { openStdoutQueue } from '../../platform/stdout-queue.js';
import { describeSystemError } from '../../platform/system-error.js';
import { readReportedRuns } from '../shared/reported-rows.js';
import { type ReportFlags, reportFiles } from '../shared/reports.js';
import { exitsOfRows, summaryLines } from '../shared/row-summary.js';
import { runCommand } from '../shared/session.js';

/** Complaints beyond this many say nothing new. */
const MAX_PROBLEMS = 20;

interface ResultsFile {
  path: string;
  name: string;
}

/** Prints what the batches came to, and reports it. Throws UsageError for files that do not belong together. */
export function results(names: readonly string[], flags: ReportFlags, context: Context): Promise<Exit> {
  return runCommand(flags, [], context, async ({ reports }) => {
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new UsageError([`${twice}: is given twice`]);
    const files = names.map((name) => ({ name, path: resolvePath(name, context.cwd, context) }));
    const read = files.map((file) => ({ ...file, isWritten: false }));
    await assertDistinctFiles([...reportFiles(flags, context), ...read]);
    await reports.open();
    const exit = await summarise(files, context);
    return { runs: flags.report === undefined ? [] : await readReportedRuns(files), exit };
  });
}

async function summarise(files: readonly ResultsFile[], context: Context): Promise<Exit> {
  const { rowStates, total, problems } = await join(files);
  const interruption = new Interruption(context);
  try {
    // A table that was not read to its end is one whose batch was stopped.
    const notes =
      total === undefined ? ['  How many rows there are is not known: wfr batch was stopped before.'] : [];
    const lines = summaryLines(rowStates, undefined, notes);
    await openStdoutQueue(context.stdout, interruption).write([`${lines.join('\n')}\n`]);
  } finally {
    interruption.release();
  }
  if (problems.length > 0) throw new UsageError(problems);
  const isOpen = rowStates.count('accepted') > 0 || total === undefined;
  const open = isOpen ? [ExitCode.stillRunning] : [];
  const unsent = rowStates.count('intent') > 0 ? [ExitCode.unreachable] : [];
  return exitOfSeveral([...exitsOfRows(rowStates), ...open, ...unsent]);
}

/** What all files together know, and what is wrong with them together. Throws UsageError where one cannot be read. */
async function join(files: readonly ResultsFile[]) {
  const rowStates = new RowStates();
  const homes = new RowOwners();
  const problems = new Set<string>();
  let total: number | undefined;
  let first: (BatchHeader & { name: string }) | undefined;
  for (const [index, file] of files.entries()) {
    for await (const event of readFileEvents(file)) {
      const { fields, row } = event;
      if (event.event === 'table') total = Math.max(total ?? 0, Number(fields.rows));
      if (event.event === 'batch') {
        const head = fields as unknown as BatchHeader;
        first ??= { ...head, name: file.name };
        if (head.workflow !== first.workflow || head.baseUrl !== first.baseUrl) {
          problems.add(`${file.name}: is of another workflow or service than ${first.name}`);
        }
        if (head.shard.split('/')[1] !== first.shard.split('/')[1]) {
          problems.add(
            `${file.name}: is shard ${head.shard}, and ${first.name} is shard ${first.shard}: of two divisions`,
          );
        }
      }
      if (row === 0) continue;
      const home = homes.firstFileOf(row, index);
      if (home !== index && problems.size <= MAX_PROBLEMS)
        problems.add(`row ${row} is in ${files[home]?.name} and in ${file.name}`);
      recordEvent(event, rowStates);
    }
  }
  const shown = [...problems].slice(0, MAX_PROBLEMS);
  if (problems.size > MAX_PROBLEMS) shown.push('and so are more rows');
  return { rowStates, total, problems: [...shown, ...missingRows(rowStates, total)] };
}

/** Which of the files each row is in; two bytes a row. */
class RowOwners {
  readonly #homes = new PagedArray((size) => new Uint16Array(size));

  /** The file that the row was in first: this one, if none. */
  firstFileOf(row: number, file: number): number {
    const home = this.#homes.get(row) || file + 1;
    this.#homes.set(row, home);
    return home - 1;
  }
}

function missingRows(rowStates: RowStates, total: number | undefined): string[] {
  if (total === undefined) return [];
  const { count, first } = rowStates.missing(total);
  if (count === 0) return [];
  return [`${count} of ${total} rows are in none of the files; the first is row ${first}`];
}

async function* readFileEvents({ path, name }: ResultsFile) {
  try {
    await assertRegularFile(path).catch(({ message }) => {
      throw new BatchFileError(`${name}: ${message}`);
    });
    yield* readEvents(path, name);
  } catch (error) {
    if (error instanceof BatchFileError) throw error;
    throw new UsageError([`${name}: ${describeSystemError(error)}`]);
  }
}
