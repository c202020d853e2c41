/** Joins the results files of a batch, and checks that each row is in exactly one. */
import { setImmediate } from 'node:timers/promises';
import { BatchFileError, UsageError } from '../errors.js';
import type { ErrorCode } from '../exit-code.js';
import type { CommandResult } from '../outcome/error-data.js';
import type { Outcome } from '../outcome/outcome.js';
import { resolveTrusted } from '../platform/ownership.js';
import { describeSystemError } from '../platform/system-error.js';
import { listFirst } from '../text/quantity.js';
import { PagedArray } from './log/compact-lists.js';
import { type Header, isRowEvent, type ReadEvent } from './log/events.js';
import { assertRegularFile, readEvents } from './log/log-file.js';
import { rangesOf } from './log/match-rows.js';
import { toOutcome } from './log/reduce.js';
import { LineReader, RowLines } from './log/row-lines.js';
import { RowStates } from './log/row-states.js';

/** Problems that are listed at most. */
const MAX_PROBLEMS = 20;

export interface ResultsFile {
  path: string;
  name: string;
}

/** When a batch began, and how long it took: from the first to the last event, which may be of several commands. */
type Period = Pick<CommandResult, 'startedAt' | 'durationMs'>;

/** The rows of all files. */
export interface JoinedFiles {
  rows: RowStates;
  lines: RowLines;
  /** Returns the file with a row. */
  fileOf(row: number): ResultsFile & { header: Header | undefined };
  /** The first line of the first file. */
  header: Header | undefined;
  /** The code of the error that ended the reading of the table, if one did. */
  stoppedBy: ErrorCode | undefined;
  /** Whether no row was left but by --limit. */
  isComplete: boolean;
  /** Whether rows were left by --limit. */
  isLimited: boolean;
  /** The number of rows of the table; undefined if no file has it. */
  total: number | undefined;
  /** Undefined if no row has a time. */
  period: Period | undefined;
  /** How many rows are in no file although they should be. */
  missing: number;
  /** Whether the files are not of one batch, so that no count of their rows is true. */
  isMixed: boolean;
  /** Why the files cannot be joined. */
  problems: readonly string[];
  /** The shards without a file: the rows of the others are as they are. */
  absent: readonly string[];
}

/** What is known of one file. */
interface FileFacts extends ResultsFile {
  header: Header | undefined;
  /** How many rows of the table it has. */
  rows: number;
  /** How many files are copies of others, and have no row. */
  copies: number;
  /** Whether the last command found a row. */
  hasFound: (row: number) => boolean;
  /** How many rows the table had last, if that is known. */
  total: number | undefined;
  /** Whether all rows of its shard were begun. */
  isWhole: boolean;
  /** Whether the others were left by --limit. */
  isLimited: boolean;
}

/** Joins the files. Throws UsageError if one cannot be read. */
export async function joinFiles(files: readonly ResultsFile[], uid?: number): Promise<JoinedFiles> {
  const rows = new RowStates();
  const lines = new RowLines();
  /** Which file each row was found in first, plus 1: in two bytes a row. */
  const owners = new PagedArray(Uint16Array);
  const problems = new Set<string>();
  /** The rows that two files have, by the names of these. */
  const shared = new Map<string, Set<number>>();
  const times = { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY };
  let stoppedBy: ErrorCode | undefined;
  const read: FileFacts[] = [];
  for (const [index, file] of files.entries()) {
    const facts: FileFacts = {
      ...{ ...file, header: undefined, rows: 0, copies: 0 },
      ...{ hasFound: () => true, total: undefined, isWhole: false, isLimited: false },
    };
    await readFileEvents(file, uid, (event) => {
      times.first = Math.min(times.first, event.time ?? times.first);
      times.last = Math.max(times.last, event.time ?? times.last);
      // A command with --once that created no run may be followed by one with another workflow.
      if (event.event === 'batch') facts.header = event;
      if (event.event === 'present') facts.hasFound = rangesOf([event]);
      if (event.event === 'table' || event.event === 'stopped') {
        facts.total = event.rows ?? facts.total;
        facts.copies = event.copies ?? 0;
        facts.isWhole = event.event === 'table';
        facts.isLimited = event.event === 'stopped' && event.limit !== undefined;
        stoppedBy = event.event === 'stopped' ? event.code : undefined;
      }
      if (!isRowEvent(event)) return;
      const owner = owners.get(event.row) || index + 1;
      owners.set(event.row, owner);
      if (owner !== index + 1) {
        const both = `${files[owner - 1]?.name} and ${file.name}`;
        shared.set(both, (shared.get(both) ?? new Set()).add(event.row));
      }
      lines.add(event, rows.apply(event));
    });
    read.push(facts);
    for (const problem of headerProblems(facts, read[0])) problems.add(problem);
  }
  const fileOf = (row: number) => read[(owners.get(row) || 1) - 1] as FileFacts;
  rows.setFound((row) => fileOf(row).hasFound(row));
  for (const [row] of rows.entries()) if (!rows.isGone(row)) fileOf(row).rows++;
  const totals = read.flatMap(({ total: rowsOfFile }) => rowsOfFile ?? []);
  const total = totals.length === 0 ? undefined : Math.max(...totals);
  const mixed = [...[...shared].map(describeShared), ...problems];
  const listed = mixed.slice(0, MAX_PROBLEMS);
  if (mixed.length > MAX_PROBLEMS) listed.push('more files do not belong together');
  const { missing, problems: missed, absent } = findMissingRows(read, total ?? 0);
  return {
    ...{ rows, lines, missing, stoppedBy, header: read[0]?.header },
    total: total && read.reduce((sum, { copies }) => sum - copies, total),
    fileOf,
    isComplete: read.every(({ isWhole, isLimited }) => isWhole || isLimited),
    isLimited: read.some(({ isLimited }) => isLimited),
    period:
      times.last < times.first ? undefined : { startedAt: times.first, durationMs: times.last - times.first },
    isMixed: mixed.length > 0,
    problems: [...listed, ...missed],
    absent,
  };
}

/** Rows that are listed. */
const MAX_ROWS = 3;

function describeShared([both, rows]: [string, ReadonlySet<number>]): string {
  const listed = listFirst([...rows].map(String), MAX_ROWS).join(' ');
  return `${rows.size === 1 ? `row ${listed} is` : `rows ${listed} are`} in both ${both}`;
}

/** Rows that are read before signals are handled. */
const ROWS_AT_ONCE = 1_000;

/**
 * Yields how each row that was begun stands, in table order, one at a time: a batch may have millions. With `isKept`, the
 * outputs of all rows are not in memory together although the outcomes are. Throws BatchFileError if a file has changed,
 * and the system's error.
 */
export async function* readOutcomes(
  joined: JoinedFiles,
  { isKept = false } = {},
): AsyncGenerator<Outcome, void, void> {
  const reader = new OutcomeReader(joined, isKept);
  try {
    for (const [row] of joined.rows.entries()) {
      if (row % ROWS_AT_ONCE === 0) await setImmediate();
      yield reader.read(row);
    }
  } finally {
    reader.close();
  }
}

/** Reads how single rows stand. */
export class OutcomeReader {
  readonly #readers = new Map<string, LineReader>();

  /** `isKept`: whether the outputs of all rows stay on disk until they are used. */
  constructor(
    private readonly joined: JoinedFiles,
    private readonly isKept = false,
  ) {}

  /** Throws BatchFileError if a file has changed, and the system's error. */
  read(row: number): Outcome {
    const { rows, lines, fileOf } = this.joined;
    const state = rows.recordedState(row);
    const { path, name, header } = fileOf(row);
    const reader = this.#readers.get(path) ?? new LineReader(path);
    this.#readers.set(path, reader);
    const record = lines.read(row, state, reader, name);
    const run = record.run && this.isKept ? lines.leaveOnDisk(row, record.run, reader, name) : record.run;
    return toOutcome(row, { ...record, run, state: rows.state(row) }, header?.workflow);
  }

  close(): void {
    for (const reader of this.#readers.values()) reader.close();
  }
}

/** Returns the outcomes of all rows of the table, for reports. */
export async function listOutcomes(joined: JoinedFiles): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for await (const outcome of readOutcomes(joined, { isKept: true }))
    if (outcome.state !== 'gone') outcomes.push(outcome);
  return outcomes;
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

/** Finds the rows of `total` that no file has: those of shards without a file, and of files that say they have all. */
function findMissingRows(
  files: readonly FileFacts[],
  total: number,
): Pick<JoinedFiles, 'missing' | 'problems' | 'absent'> {
  const shardCount = Number(files[0]?.header?.shard.split('/')[1] ?? 1);
  const problems: string[] = [];
  const absent: string[] = [];
  let missing = 0;
  const add = (rows: number, where: string, list: string[]) => {
    if (rows <= 0) return;
    missing += rows;
    if (list.length < MAX_PROBLEMS) list.push(`${rows} of ${total} rows are missing: ${where}`);
  };
  for (let index = 1; index <= Math.min(shardCount, total); index++) {
    const shard = `${index}/${shardCount}`;
    const file = files.find(({ header }) => (header?.shard ?? '1/1') === shard);
    const rows = Math.floor((total - index) / shardCount) + 1 - (file?.copies ?? 0);
    if (file === undefined) add(rows, `no file of shard ${shard}`, absent);
    else if (file.isWhole) add(rows - file.rows, `they should be in ${file.name}`, problems);
  }
  return { missing, problems, absent };
}

async function readFileEvents(
  { path, name }: ResultsFile,
  uid: number | undefined,
  onEvent: (event: ReadEvent) => void,
): Promise<void> {
  try {
    await resolveTrusted(path, uid);
    await assertRegularFile(path).catch(({ message }) => {
      throw new BatchFileError(`${name}: ${message}`);
    });
    await readEvents(path, name, onEvent);
  } catch (error) {
    if (error instanceof BatchFileError) throw error;
    throw new UsageError([`${name}: ${describeSystemError(error)}`]);
  }
}
