/** Joins the results files of a batch, and checks that each row is in exactly one. */
import { recordEvent } from '../../batch/journal/journal-file.js';
import { assertRegularFile, type BatchHeader, readEvents } from '../../batch/journal/read-events.js';
import { PagedArray } from '../../batch/paged-array.js';
import { RowStates } from '../../batch/row-states.js';
import { BatchFileError, UsageError } from '../../errors.js';
import { describeSystemError } from '../../platform/system-error.js';
import { EventPeriod, type Period } from '../shared/reported-rows.js';

/** Problems that are listed at most. */
const MAX_PROBLEMS = 20;

export interface ResultsFile {
  path: string;
  name: string;
}

/** The rows of all files. */
export interface JoinedFiles {
  rowStates: RowStates;
  /** The number of rows of the table; undefined if no file reached its end. */
  total: number | undefined;
  /** Undefined if no row has a time. */
  period: Period | undefined;
  /** Why the files cannot be joined. */
  problems: readonly string[];
}

/** Joins the files. Throws UsageError if one cannot be read. */
export async function joinFiles(files: readonly ResultsFile[]): Promise<JoinedFiles> {
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
