/** Joins the results files of a batch, and checks that each row is in exactly one. */
import { basename } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { InputError, UsageError } from '../errors.js';
import { type Outcome, tableOf } from '../outcome/outcome.js';
import { resolveTrusted } from '../platform/ownership.js';
import { identifyRow } from '../table/row.js';
import type { WrittenTable } from '../table/table.js';
import { listFirst } from '../text/quantity.js';
import { rowLabel } from '../text/row-label.js';
import { createPagedArray } from './log/compact-lists.js';
import { type Header, isRowEvent, type ReadEvent, type RowEvent } from './log/events.js';
import type { Owner } from './log/lock.js';
import { readEvents, withFileName } from './log/log-file.js';
import { FoundRows, isInRanges, matchRows } from './log/match-rows.js';
import { createRecordedRows, type RecordedRows } from './log/recorded-rows.js';
import { NEW_ROW, reduce, toOutcome } from './log/reduce.js';
import { createRowLines, type LineReader, openLines, type ResultsFile } from './log/row-lines.js';
import { createRowStates } from './log/row-states.js';

/** Problems that are listed at most. */
const MAX_PROBLEMS = 20;

/** The rows of all files. With a table, they are its rows, and found by its lines. */
export type JoinedFiles = Awaited<ReturnType<typeof joinFiles>> & {
  /**
   * Returns the row on a line of the table; 0 if the results do not have it, or it was not begun, and undefined if it is one of
   * a shard without a file.
   */
  rowOf?: (line: number) => number | undefined;
  /** The table of the batch, if this one has another name. */
  batchTable?: string;
  /** What `wfr batch` would record of rows that the results do not have. */
  held?: ReadonlyMap<number, RowEvent>;
};

/** What is known of one file. */
interface FileFacts extends ResultsFile {
  /** Its header, and which rows are which; of those that name files, by what their table had. */
  recorded: RecordedRows;
  /** How many rows of the table it has. */
  rows: number;
  /** The labels of the files of the folder that are no rows, as others have the same bytes. */
  copies: string[];
  /** How many rows the table had last, if that is known. */
  total?: number | undefined;
  /** How the last command left the table, if it has said so; of a shard, the last one that has. */
  end?: (ReadEvent & { event: 'table' | 'stopped' }) | undefined;
}

/** Joins the files. Throws UsageError if one cannot be read. */
export async function joinFiles(files: readonly ResultsFile[], uid?: number) {
  const rows = createRowStates();
  const lines = createRowLines();
  /** The file in which each row was found first. */
  const owners = createPagedArray<FileFacts>();
  const mixed: string[] = [];
  const openedBy: Owner[] = [];
  /** The first row that two files have, by their names. */
  const shared = new Map<string, number>();
  let startedAt = Number.POSITIVE_INFINITY;
  let lastAt = Number.NEGATIVE_INFINITY;
  const read = files.map(
    (file): FileFacts => ({ ...file, recorded: createRecordedRows(), rows: 0, copies: [] }),
  );
  for (const facts of read) {
    const { path, name } = facts;
    const onEvent = (event: ReadEvent) => {
      facts.recorded.apply(
        event.event === 'recorded' ? { ...event, key: event.written ?? event.key } : event,
      );
      if (event.event === 'present') {
        facts.copies = [];
        // Until the command has ended. Of several shards, each has its rows alone.
        if (facts.recorded.header?.shard === '1/1') {
          facts.total = event.rows.reduce((sum, [first, last]) => sum + last - first + 1, 0);
          facts.end = undefined;
        }
      }
      if (event.event === 'copy') facts.copies.push(event.label ?? `a copy of row ${event.of}`);
      if (event.event === 'table' || event.event === 'stopped') {
        facts.end = event;
        facts.total = event.rows ?? facts.total;
      }
      if (!isRowEvent(event)) return;
      if (event.event !== 'recorded' && event.time !== undefined) {
        // Where a command finds a row is no change of it.
        startedAt = Math.min(startedAt, event.time);
        lastAt = Math.max(lastAt, event.time);
      }
      const owner = owners.get(event.row) ?? facts;
      owners.set(event.row, owner);
      const both = `${owner.name} and ${facts.name}`;
      if (owner !== facts && !shared.has(both)) shared.set(both, event.row);
      lines.add(event);
      rows.apply(event);
    };
    const reading = resolveTrusted(path, uid).then(() => readEvents(path, name, onEvent));
    const owner = await withFileName('', name, reading);
    if (owner) openedBy.push(owner);
    const { header } = facts.recorded;
    if (!header) throw new UsageError(`${name}: has no batch`);
    if (isOfAnother(header, read[0]?.recorded.header ?? header)) mixed.push(name);
  }
  const fileOf = owners.get;
  rows.setFound((row) => {
    const { present } = fileOf(row)?.recorded ?? {};
    return !present || isInRanges(row, present.rows);
  });
  for (const [row, owner] of owners.entries()) if (!rows.isGone(row)) owner.rows++;
  const totals = read.flatMap(({ total }) => total ?? []);
  const total = totals.length === 0 ? undefined : Math.max(...totals);
  const ends = read.map(({ end }) => end);
  /** Until a command has ended, its total is without copies. */
  const counted = read.reduce(
    (sum, { end, copies }) => sum + (end?.rows === undefined ? 0 : copies.length),
    0,
  );
  const lastEnd = ends.findLast((end) => end !== undefined);
  const isLimitedBy = (end: FileFacts['end']) => end?.event === 'stopped' && end.limit !== undefined;
  const fix = 'only shards of one batch are joined';
  // Files of several batches have the same rows, too.
  const problems =
    mixed.length > 0
      ? [`${listFirst(mixed, 9)}: of another batch than ${read[0]?.name}; ${fix}`]
      : [...shared].map(([both, row]) => `rows such as ${row} are in both ${both}; ${fix}`);
  const { missing, problems: missed, absent } = findMissingRows(read, problems.length > 0 ? 0 : total);
  return {
    rows,
    lines,
    files: read as readonly FileFacts[],
    /** Returns the file with a row; undefined for one that is only in the table. */
    fileOf,
    /** The processes that have files open, or died. */
    openedBy,
    /** The first line of the first file. */
    header: read[0]?.recorded.header,
    /** The code of the error that ended the reading of the table, if one did. */
    stoppedBy: lastEnd?.event === 'stopped' ? lastEnd.code : undefined,
    /** Whether no row was left but by --limit. */
    isComplete: ends.every((end) => end?.event === 'table' || isLimitedBy(end)),
    /** Whether rows were left by --limit. */
    isLimited: ends.some(isLimitedBy),
    /** The number of rows of the table; undefined if no file has it. */
    total: total && total - counted,
    /** The labels of the files of the folder that are no rows, as others have the same bytes. */
    copies: read.flatMap(({ copies }) => copies),
    /** From the first to the last change of a row, which may be of several commands; undefined if no row has a time. */
    period: lastAt < startedAt ? undefined : { startedAt, durationMs: lastAt - startedAt },
    /** How many rows are in no file although they should be. */
    missing,
    /** Whether the files are not of one batch, so that no count of their rows is true. */
    isMixed: problems.length > 0,
    /** Why the files cannot be joined. */
    problems: [...problems.slice(0, MAX_PROBLEMS), ...missed],
    /** The shards without a file: the rows of the others are as they are. */
    absent,
  };
}

/**
 * Finds the rows of a table as `wfr batch` does, but those that name files by what is written in the table; where the results
 * do not have that, by their lines. All other rows are gone from then on. Throws UsageError for a table without rows and for
 * that of another batch, and BatchFileError.
 */
export async function joinTable(joined: JoinedFiles, table: WrittenTable): Promise<JoinedFiles> {
  const { rows, files } = joined;
  const count = shardCountOf(files);
  /** By the remainder of the positions of their rows: there may be more shards than memory has room for. */
  const shards = new Map(
    files.map(({ recorded }) => [
      Number.parseInt(recorded.header?.shard ?? '1', 10) - 1,
      { recorded, found: new FoundRows() },
    ]),
  );
  /** The row on each line. */
  const found = createPagedArray<number>();
  let total = 0;
  for await (const line of table.rows()) {
    const shard = shards.get(total++ % count);
    if (!shard) continue;
    const { key } = await identifyRow(line, shard.recorded.salt, readNoFile);
    // A file that is not read may well be there.
    shard.found.add({ key, isUnreadable: 'problem' in line.inputs }, line.number, undefined);
    found.set(line.number, 0);
  }
  if (total === 0) throw new UsageError(`${table.name}: has no rows`);
  const known = [...rows.entries()].map(([row]) => row);
  const byLine = new Map(known.map((row) => [rows.line(row), row]));
  const foundRows = new Set<number>();
  const newlyHeld = new Map<number, RowEvent>();
  for (const { recorded, found: lines } of shards.values()) {
    // Which labels rows have is not known here.
    const sendChanged = recorded.completed?.places !== undefined;
    const options = { places: undefined, sendChanged };
    const { numbers, held } = matchRows(recorded, rows.recordedState, lines, options);
    for (const [at, line] of lines.lines.entries()) {
      const row = recorded.keys.size > 0 ? numbers[at] : byLine.get(line);
      if (row === undefined) continue;
      // Its number may be that of a row of another shard.
      if (count > 1 && row !== line && recorded.keys.get(row) === undefined)
        throw new UsageError(`${table.name}: has changed since it was sent`);
      const why = held.get(row);
      if (why === undefined && rows.isNew(row)) continue;
      if (why !== undefined)
        newlyHeld.set(row, { event: 'recorded', row, key: '', label: rowLabel(table.name, line), held: why });
      // Where the row is in this table, with the text that its label has.
      const label = rows.label(row).replace(/^.*:\d+(?=( \(.*\))?$)/s, () => rowLabel(table.name, line));
      rows.apply({ event: 'recorded', row, key: '', label });
      found.set(line, row);
      foundRows.add(row);
    }
  }
  const [first] = known;
  const reader = openOutcomes(joined);
  const { label } = first === undefined ? {} : reader.read(first);
  reader.close();
  // One without any row of the results may have been changed, unless it has another name.
  const isOther = label !== undefined && basename(tableOf(label)) !== `${basename(table.name)}:`;
  if (isOther && foundRows.size === newlyHeld.size)
    throw new UsageError(`${table.name}: has no row of ${files[0]?.name}, such as ${label}`);
  rows.setFound((row) => foundRows.has(row));
  for (const event of newlyHeld.values()) rows.apply(event);
  return {
    ...joined,
    total,
    batchTable: isOther ? tableOf(label).slice(0, -1) : '',
    rowOf: found.get,
    held: newlyHeld,
  };
}

/** Leaves rows that name files with the digest of what their table has. */
async function readNoFile(): Promise<string> {
  throw new InputError('');
}

/** Rows that are read before signals are handled. */
const ROWS_AT_ONCE = 1_000;

/**
 * Yields how each row that was begun and is not gone stands, in table order, one at a time: a batch may have millions. With
 * `withGone`, those that are follow: another row may have the label of one. With `isKept`, the outputs of all rows are not in
 * memory together although the outcomes are. Throws BatchFileError if a file has changed, and the system's error.
 */
export async function* readOutcomes(
  joined: JoinedFiles,
  { isKept = false, withGone = false } = {},
): AsyncGenerator<Outcome, void, void> {
  const reader = openOutcomes(joined, isKept);
  try {
    for (const [row, state] of joined.rows.entries()) {
      if (row % ROWS_AT_ONCE === 0) await setImmediate();
      if (withGone || state !== 'gone') yield reader.read(row);
    }
  } finally {
    reader.close();
  }
}

/** Returns a reader of single rows. `isKept`: whether the outputs of all rows stay on disk until they are used. */
export function openOutcomes({ rows, lines, fileOf, held }: JoinedFiles, isKept = false) {
  const readers = new Map<ResultsFile, LineReader>();
  return {
    /** Returns how a row stands. Throws BatchFileError if a file has changed, and the system's error. */
    read(row: number): Outcome {
      const state = rows.state(row);
      const event = held?.get(row);
      if (event) return toOutcome(row, state, reduce(NEW_ROW, event), undefined);
      const file = fileOf(row) as FileFacts;
      const reader = readers.get(file) ?? openLines(file);
      readers.set(file, reader);
      const record = lines.read(row, reader, isKept);
      return toOutcome(row, state, record, file.recorded.header?.workflow);
    },

    close(): void {
      for (const reader of readers.values()) reader.close();
    },
  };
}

/** Returns the outcomes of all rows of the table, for reports. */
export async function listOutcomes(joined: JoinedFiles): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for await (const outcome of readOutcomes(joined, { isKept: true })) outcomes.push(outcome);
  return outcomes;
}

/** Returns whether a file is not of the same batch as the first one; the files of several shards have different ids. */
function isOfAnother(header: Header, first: Header): boolean {
  const keyOf = ({ workflow, baseUrl, shard }: Header) => [workflow, baseUrl, shard.split('/')[1]].join(' ');
  const isSameShard = header.shard === first.shard;
  return keyOf(header) !== keyOf(first) || (isSameShard && header.rowSalt !== first.rowSalt);
}

const shardCountOf = ([first]: readonly FileFacts[]) =>
  Number(first?.recorded.header?.shard.split('/')[1] ?? 1);

/** Finds the rows of `total` that no file has: those of shards without a file, and of files that say they have all. */
function findMissingRows(files: readonly FileFacts[], total = 0) {
  const shardCount = shardCountOf(files);
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
    const file = files.find(({ recorded }) => recorded.header?.shard === shard);
    const rows = Math.floor((total - index) / shardCount) + 1 - (file?.copies.length ?? 0);
    if (!file) add(rows, `no file of shard ${shard}; name those of all shards`, absent);
    else if (file.end?.event === 'table') add(rows - file.rows, `they should be in ${file.name}`, problems);
  }
  return { missing, problems, absent };
}
