/** `wfr results`: joins the results files of a batch, checks that each row is in exactly one, and prints the summary. */

import { recordEvent } from '../../batch/journal/journal-file.js';
import { assertRegularFile, type BatchHeader, readEvents } from '../../batch/journal/read-events.js';
import { PagedArray } from '../../batch/paged-array.js';
import { RowStates } from '../../batch/row-states.js';
import { BatchFileError, UsageError } from '../../errors.js';
import { type Exit, ExitCode, exitOfSeveral } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { resolvePath } from '../../platform/files.js';
import type { Output } from '../../platform/output.js';
import { assertDistinctFiles } from '../../platform/same-file.js';
import { Interruption } from '../../platform/signals.js';
import { openStdoutQueue } from '../../platform/stdout-queue.js';
import { describeSystemError } from '../../platform/system-error.js';
import { formatDuration, formatUtc } from '../../text/duration.js';
import { EventPeriod, type Period, readReportedRuns } from '../shared/reported-rows.js';
import { isReportOnStdout, type ReportFlags, reportFiles } from '../shared/reports.js';
import { endingOfRows, exitsOfRows, summaryLines } from '../shared/row-summary.js';
import { runCommand } from '../shared/session.js';

/** Problems that are listed at most. */
const MAX_PROBLEMS = 20;

interface ResultsFile {
  path: string;
  name: string;
}

/** Prints the summary of the results files, and writes the reports. Throws UsageError for files that cannot be joined. */
export function results(names: readonly string[], flags: ReportFlags, context: Context): Promise<Exit> {
  return runCommand(flags, { subjects: [] }, context, async ({ reports }) => {
    const duplicate = names.find((name, index) => names.indexOf(name) !== index);
    if (duplicate !== undefined) throw new UsageError([`${duplicate}: is listed twice`]);
    const files = names.map((name) => ({ name, path: resolvePath(name, context.cwd, context) }));
    const inputs = files.map((file) => ({ ...file, isWritten: false }));
    await assertDistinctFiles([...reportFiles(flags, context), ...inputs]);
    await reports.open({ hasStdout: true });
    const joined = await joinFiles(files);
    const summary = summarize(joined);
    await printSummary(summary, isReportOnStdout(flags) ? context.stderr : context.stdout, context);
    if (joined.problems.length > 0) throw new UsageError(joined.problems);
    const reported = flags.report === undefined ? { runs: [] } : await readReportedRuns(files);
    const rows = { ...endingOfRows(joined.rowStates, summary, undefined), hasOpen: false };
    return { ...reported, exit: exitOf(joined), rows };
  });
}

function summarize({ rowStates, total, period }: JoinedFiles): string[] {
  const notes = [
    ...(total === undefined
      ? ['  The total number of rows is unknown: wfr batch stopped before the end of the table.']
      : []),
    ...(period === undefined
      ? []
      : [`  Began ${formatUtc(period.startedAt)}, took ${formatDuration(period.durationMs)}.`]),
  ];
  return summaryLines(rowStates, undefined, notes);
}

async function printSummary(lines: readonly string[], output: Output, context: Context): Promise<void> {
  const interruption = new Interruption(context);
  try {
    await openStdoutQueue({ stdout: output, secrets: context.secrets }, interruption).writeSummary(
      `${lines.join('\n')}\n`,
    );
  } finally {
    interruption.release();
  }
}

function exitOf({ rowStates, total }: JoinedFiles): Exit {
  const exits = exitsOfRows(rowStates);
  if (rowStates.count('running') > 0 || total === undefined) exits.push(ExitCode.stillRunning);
  if (rowStates.count('intent') > 0) exits.push(ExitCode.unreachable);
  return exitOfSeveral(exits);
}

/** The rows of all files. */
interface JoinedFiles {
  rowStates: RowStates;
  /** The number of rows of the table; undefined if no file reached its end. */
  total: number | undefined;
  /** Undefined if no row has a time. */
  period: Period | undefined;
  /** Why the files cannot be joined. */
  problems: readonly string[];
}

/** Joins the files. Throws UsageError if one cannot be read. */
async function joinFiles(files: readonly ResultsFile[]): Promise<JoinedFiles> {
  const rowStates = new RowStates();
  const rowOwners = new RowOwners();
  const problems = new Set<string>();
  const events = new EventPeriod();
  let total: number | undefined;
  let first: (BatchHeader & { name: string }) | undefined;
  for (const [index, file] of files.entries()) {
    let header: (BatchHeader & { name: string }) | undefined;
    for await (const event of readFileEvents(file)) {
      const { fields, row } = event;
      events.add(event);
      if (event.event === 'table') total = Math.max(total ?? 0, Number(fields.rows));
      // A command with --once that created no run may be followed by one with another workflow.
      if (event.event === 'batch') header = { ...(fields as unknown as BatchHeader), name: file.name };
      if (row === 0) continue;
      const owner = rowOwners.firstFileOf(row, index);
      if (owner !== index && problems.size <= MAX_PROBLEMS)
        problems.add(`row ${row} is in both ${files[owner]?.name} and ${file.name}`);
      recordEvent(event, rowStates);
    }
    first ??= header;
    if (header !== undefined && first !== undefined)
      for (const problem of headerProblems(header, first)) problems.add(problem);
  }
  const listed = [...problems].slice(0, MAX_PROBLEMS);
  if (problems.size > MAX_PROBLEMS) listed.push('more rows are in two files');
  const { period } = events;
  return { rowStates, total, period, problems: [...listed, ...missingRows(rowStates, total)] };
}

/** Returns why a file and the first one do not belong to the same batch. */
function headerProblems(
  { name, workflow, baseUrl, shard }: BatchHeader & { name: string },
  first: BatchHeader & { name: string },
): string[] {
  const problems: string[] = [];
  if (workflow !== first.workflow || baseUrl !== first.baseUrl)
    problems.push(`${name}: has another workflow or service than ${first.name}`);
  if (shard.split('/')[1] !== first.shard.split('/')[1])
    problems.push(
      `${name}: is shard ${shard}, and ${first.name} is shard ${first.shard}: the files use different shard counts`,
    );
  return problems;
}

/** Remembers which file each row was found in first, in two bytes a row. */
class RowOwners {
  readonly #files = new PagedArray((size) => new Uint16Array(size));

  /** Returns the index of the first file with this row: `file`, if there was none before. */
  firstFileOf(row: number, file: number): number {
    const first = this.#files.get(row) || file + 1;
    this.#files.set(row, first);
    return first - 1;
  }
}

function missingRows(rowStates: RowStates, total: number | undefined): string[] {
  if (total === undefined) return [];
  const { count, first } = rowStates.missing(total);
  if (count === 0) return [];
  return [`${count} of ${total} rows are missing; the first is row ${first}`];
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
