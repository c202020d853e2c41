/** Joins the results files of a batch, and checks that each row is in exactly one. */
import { recordEvent } from '../../batch/journal/journal-file.js';
import { assertRegularFile, type BatchHeader, readEvents } from '../../batch/journal/read-events.js';
import { RowLines } from '../../batch/journal/row-lines.js';
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
  rowLines: RowLines;
  /** Returns the file with a row. */
  fileOf(row: number): ResultsFile;
  /** The number of rows of the table; undefined if no file has it. */
  total: number | undefined;
  /** Undefined if no row has a time. */
  period: Period | undefined;
  /** How many rows are in no file although they should be. */
  missing: number;
  /** Why the files cannot be joined. */
  problems: readonly string[];
}

/** What is known of one file. */
interface FileFacts {
  name: string;
  header: BatchHeader | undefined;
  /** How many rows it has that no file before it has. */
  rows: number;
  /** Whether all rows of its shard were begun. */
  isWhole: boolean;
}

/** Joins the files. Throws UsageError if one cannot be read. */
export async function joinFiles(files: readonly ResultsFile[]): Promise<JoinedFiles> {
  const rowStates = new RowStates();
  const rowLines = new RowLines();
  const rowOwners = new RowOwners();
  const problems = new Set<string>();
  const events = new EventPeriod();
  let total: number | undefined;
  const read: FileFacts[] = [];
  for (const [index, file] of files.entries()) {
    const facts: FileFacts = { name: file.name, header: undefined, rows: 0, isWhole: false };
    const known = rowStates.known;
    for await (const event of readFileEvents(file)) {
      const { fields, row } = event;
      events.add(event);
      if (event.event === 'table' || event.event === 'stopped') {
        total = Math.max(total ?? 0, Number(fields.rows));
        facts.isWhole = event.event === 'table';
      }
      // A command with --once that created no run may be followed by one with another workflow.
      if (event.event === 'batch') facts.header = fields as unknown as BatchHeader;
      if (row === 0) continue;
      const owner = rowOwners.firstFileOf(row, index);
      if (owner !== index && problems.size <= MAX_PROBLEMS)
        problems.add(`row ${row} is in both ${files[owner]?.name} and ${file.name}`);
      recordEvent(event, rowStates);
      rowLines.add(event);
    }
    facts.rows = rowStates.known - known;
    read.push(facts);
    for (const problem of headerProblems(facts, read[0])) problems.add(problem);
  }
  const listed = [...problems].slice(0, MAX_PROBLEMS);
  if (problems.size > MAX_PROBLEMS) listed.push('more rows are in two files');
  const { period } = events;
  const { missing, problems: absences } = total === undefined ? NONE_MISSING : findMissingRows(read, total);
  const fileOf = (row: number) => files[rowOwners.firstFileOf(row, 0)] as ResultsFile;
  return { rowStates, rowLines, fileOf, total, missing, period, problems: [...listed, ...absences] };
}

/** Returns why a file and the first one do not belong to the same batch. */
function headerProblems({ name, header }: FileFacts, first: FileFacts | undefined): string[] {
  if (header === undefined || first?.header === undefined) return [];
  const { workflow, baseUrl, shard } = header;
  const problems: string[] = [];
  if (workflow !== first.header.workflow || baseUrl !== first.header.baseUrl)
    problems.push(`${name}: has another workflow or service than ${first.name}`);
  if (shard.split('/')[1] !== first.header.shard.split('/')[1])
    problems.push(
      `${name}: is shard ${shard}, and ${first.name} is shard ${first.header.shard}: the files use different shard counts`,
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

const NONE_MISSING: Pick<JoinedFiles, 'missing' | 'problems'> = { missing: 0, problems: [] };

/** Finds the rows of `total` that no file has: those of shards without a file, and of files that say they have all. */
function findMissingRows(
  files: readonly FileFacts[],
  total: number,
): Pick<JoinedFiles, 'missing' | 'problems'> {
  const shardCount = Number(files[0]?.header?.shard.split('/')[1] ?? 1);
  const problems: string[] = [];
  let missing = 0;
  const add = (rows: number, where: string) => {
    if (rows <= 0) return;
    missing += rows;
    if (problems.length < MAX_PROBLEMS) problems.push(`${rows} of ${total} rows are missing: ${where}`);
  };
  for (let index = 1; index <= Math.min(shardCount, total); index++) {
    const shard = `${index}/${shardCount}`;
    const file = files.find(({ header }) => (header?.shard ?? '1/1') === shard);
    const rows = Math.floor((total - index) / shardCount) + 1;
    if (file === undefined) add(rows, `no file of shard ${shard}`);
    else if (file.isWhole) add(rows - file.rows, `they should be in ${file.name}`);
  }
  return { missing, problems };
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
