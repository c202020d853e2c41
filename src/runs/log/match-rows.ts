/**
 * Decides which rows of a table or folder are which recorded ones, and which are new or held: the only place that does.
 * A row is its content. A new row that may be a changed one is held, so that a changed row is never sent unnoticed.
 */
import type { RowIdentity } from '../../table/row.js';
import { areFiles } from '../../table/table.js';
import { createDigestIndex, createDigestList, type DigestIndex, type DigestList } from './compact-lists.js';
import type { Presence, RowRanges } from './events.js';
import type { RecordedRows } from './recorded-rows.js';
import { hasNoRun, type RowState } from './reduce.js';

/** The rows as they are now, by their positions from 0. */
export class FoundRows {
  readonly keys = createDigestList();
  readonly written = createDigestList();
  readonly places = createDigestList();
  readonly lines: number[] = [];
  readonly unreadable = new Set<number>();

  /** Adds a row; `place` is the digest of its place, if it has one. */
  add({ key, written, isUnreadable }: RowIdentity, line: number, place: string | undefined): void {
    const at = this.lines.push(line) - 1;
    this.keys.set(at, key);
    if (written !== undefined) this.written.set(at, written);
    if (place !== undefined) this.places.set(at, place);
    if (isUnreadable) this.unreadable.add(at);
  }
}

export interface MatchOptions {
  /** What tells where a row is, such as `path` or `label customer`; undefined if nothing does. */
  places: string | undefined;
  /** Whether rows that have changed are new ones. */
  sendChanged: boolean;
}

export type MatchedRows = ReturnType<typeof matchRows>;

/** Equal rows take the last of these first, and then all others, so that a removed duplicate never causes a run. */
const ORDER: readonly RowState[] = [
  'invalid',
  'rejected',
  'held',
  'lost',
  'failed',
  'unknown',
  'running',
  'finished',
];

// Why rows are held: the same text for each, so that it is said once.
const CHANGED = 'has changed since it was recorded';
const MAY_BE_CHANGED = 'changed, or new in place of a sent row';

/** Matches the rows found with the recorded ones, whose states `stateOf` returns. */
export function matchRows(
  recorded: RecordedRows,
  stateOf: (row: number) => RowState,
  found: FoundRows,
  options: MatchOptions,
) {
  const { completed, placesAtCompleted, copiesAtCompleted } = recorded;
  const { keys, places: recordedPlaces, written: recordedWritten, lastRow } = recorded;
  const { lines, unreadable } = found;
  const { sendChanged } = options;
  /** By the position of each row, from 0. */
  const numbers = new Float64Array(lines.length);
  const numberAt = (at: number) => numbers[at] ?? 0;
  /** The position of the row that each copy equals, by its own. */
  const copies = new Map<number, number>();
  const held = new Map<number, string>();
  /** 1 for each recorded row that is found. */
  const taken = new Uint8Array(lastRow + 1);
  const isFound = (row: number) => taken[row] === 1;

  takeEqualRows();
  takeRowsWithoutDocument();
  numberNewRows();
  const places = uniquePlaces();
  const recordedAsHeld = rowsIn(keys, (row) => stateOf(row) === 'held');
  if (!sendChanged) holdRows();
  const presence: Presence = {
    rows: toRanges(Float64Array.from(numbers).sort()),
    undecided: undecidedRows(),
    places,
  };
  return {
    /** The number of the row at each position; a copy has that of the row that it equals. */
    numbers,
    /** The positions of copies, which are not sent. */
    copies: copies as ReadonlyMap<number, number>,
    /** Why new rows are held, by their numbers. */
    held: held as ReadonlyMap<number, string>,
    /** The recorded rows that are held no longer. */
    released: sendChanged ? recordedAsHeld.filter(isFound) : [],
    /** The rows that are there, and what the next command must know of the others. */
    presence,
  };

  // Which rows are continued

  function take(at: number, row: number | undefined): void {
    if (row === undefined) return;
    taken[row] = 1;
    numbers[at] = row;
  }

  function takeEqualRows(): void {
    const byKey = indexRecorded();
    const originals = areFiles(options.places) ? indexOriginals(byKey) : undefined;
    for (const [at, key] of found.keys.entries()) {
      const equal = originals?.find(key) ?? at;
      if (equal !== at) copies.set(at, equal);
      else if (!unreadable.has(at) || found.written.get(at) === undefined) take(at, byKey.find(key, true));
    }
    keepOrder(found.keys, keys, (at) => numberAt(at) > 0);
  }

  /** Gives equal rows the recorded ones that they took by their numbers, so that each keeps its line and its name. */
  function keepOrder(
    digests: DigestList,
    recordedDigests: DigestList,
    hasTaken: (at: number) => boolean,
  ): void {
    const positions = rowsIn(digests, hasTaken);
    const equal = createDigestIndex(recordedDigests);
    for (const row of Float64Array.from(positions, numberAt).sort().reverse()) equal.add(row);
    for (const at of positions) take(at, equal.find(digests.get(at), true));
  }

  /** Returns the recorded rows by their content, in ORDER, and then the one with the smallest number first. */
  function indexRecorded(): DigestIndex {
    const ranked: number[][] = [[], ...ORDER.map(() => [])];
    for (const [row] of keys.entries()) ranked[ORDER.indexOf(stateOf(row)) + 1]?.push(row);
    const byKey = createDigestIndex(keys);
    for (const rows of ranked) for (const row of rows.reverse()) byKey.add(row);
    return byKey;
  }

  /** Returns which of equal files is the row: the one at the recorded path, else the first. */
  function indexOriginals(byKey: DigestIndex): DigestIndex {
    const originals = createDigestIndex(found.keys);
    for (const [at, key] of found.keys.entries()) {
      const row = byKey.find(key);
      const isThere = row !== undefined && recordedPlaces.get(row) === found.places.get(at);
      if (isThere || originals.find(key) === undefined) originals.add(at);
    }
    return originals;
  }

  /** A row whose document is missing is the latest recorded one that is written like it. */
  function takeRowsWithoutDocument(): void {
    if (unreadable.size === 0) return;
    const byWritten = createDigestIndex(recordedWritten);
    for (const [row] of recordedWritten.entries()) byWritten.add(row);
    for (const at of unreadable) {
      const written = found.written.get(at);
      const latest = byWritten.find(written);
      // The latest one may have moved; what was here before that one is no longer known.
      if (latest !== undefined && !isFound(latest)) take(at, byWritten.find(written, true));
    }
    keepOrder(found.written, recordedWritten, (at) => unreadable.has(at) && numberAt(at) > 0);
  }

  /** A number never means another row: a new one is above all that were ever recorded, and the line where that is. */
  function numberNewRows(): void {
    let last = lines.reduce((most, line) => Math.max(most, line), lastRow);
    for (const [at, line] of lines.entries())
      if (numbers[at] === 0 && !copies.has(at)) numbers[at] = line > lastRow ? line : ++last;
    for (const [at, equal] of copies) numbers[at] = numberAt(equal);
  }

  // Which new rows are held

  /** Returns what tells where the rows are, unless two have the same place. */
  function uniquePlaces(): string | undefined {
    if (options.places === undefined) return undefined;
    const seen = createDigestIndex(found.places);
    for (const at of lines.keys()) {
      if (seen.find(found.places.get(at)) !== undefined) return undefined;
      seen.add(at);
    }
    return options.places;
  }

  /** Holds the new rows that may have been one that is gone, and those that are equal to a held one. */
  function holdRows(): void {
    const isNew = (at: number) => keys.get(numberAt(at)) === undefined && !unreadable.has(at);
    const gone = new Set(goneRows());
    const hasPlaces = places !== undefined && (!completed || completed.places === places);
    const placesOfGone = new Set([...gone].map(placesAtCompleted.get));
    const isOfGone = (place = '') => placesOfGone.has(place) || gone.has(copiesAtCompleted.get(place) ?? 0);
    const heldKeys = new Set(recordedAsHeld.map(keys.get));
    const { places: label } = options;
    const doubt = MAY_BE_CHANGED + (label ? `; ${label} is new or not unique` : '');
    for (const [at, key] of found.keys.entries()) {
      const mayBeChanged = hasPlaces ? isOfGone(found.places.get(at)) : gone.size > 0;
      if (!mayBeChanged || !isNew(at)) continue;
      held.set(numberAt(at), hasPlaces ? CHANGED : doubt);
      heldKeys.add(key);
    }
    for (const [at, key] of found.keys.entries())
      if (heldKeys.has(key) && isNew(at) && !held.has(numberAt(at)))
        held.set(numberAt(at), 'is equal to a row that is held');
  }

  /** Returns the rows that must not be replaced unnoticed and that have gone since the last completed command. */
  function goneRows(): number[] {
    if (!completed) return [];
    const { rows, undecided = [] } = completed;
    return rowsIn(keys, (row) => {
      const state = stateOf(row);
      const isKept = state === 'held' || !hasNoRun(state);
      return isKept && !isFound(row) && (isInRanges(row, rows) || isInRanges(row, undecided));
    });
  }

  /** Returns the rows that are gone, while the content of a row is not known: it may be the one that has changed. */
  function undecidedRows(): RowRanges | undefined {
    const isUndecided = [...unreadable].some((at) => {
      const row = numberAt(at);
      return keys.get(row) === undefined || hasNoRun(stateOf(row));
    });
    const gone = isUndecided ? goneRows() : [];
    return gone.length === 0 ? undefined : toRanges(gone);
  }
}

/** Returns some of the rows that have a digest, in their order. */
function rowsIn(digests: DigestList, isIncluded: (row: number) => boolean): number[] {
  const rows: number[] = [];
  for (const [row] of digests.entries()) if (isIncluded(row)) rows.push(row);
  return rows;
}

function toRanges(sortedRows: Iterable<number>): RowRanges {
  const ranges: [number, number][] = [];
  for (const row of sortedRows) {
    const last = ranges.at(-1);
    if (last && row <= last[1] + 1) last[1] = row;
    else ranges.push([row, row]);
  }
  return ranges;
}

/** Returns whether a row is in one of the ranges, which are sorted. */
export function isInRanges(row: number, ranges: RowRanges): boolean {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const [first, last] = ranges[middle] as readonly [number, number];
    if (row < first) high = middle;
    else if (row > last) low = middle + 1;
    else return true;
  }
  return false;
}
