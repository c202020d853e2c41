/**
 * Decides which rows of a table or folder are which recorded ones, and which are new or held: the only place that does.
 * A row is its content. A new row that may be a changed one is held, so that a changed row is never sent unnoticed.
 */
import type { RowIdentity } from '../../table/row.js';
import { DigestIndex, DigestList } from './compact-lists.js';
import type { RowRanges } from './events.js';
import type { Presence, RecordedRows } from './recorded-rows.js';
import { hasNoRun, type RowState } from './reduce.js';

/** The rows as they are now, by their positions from 0. */
export class FoundRows {
  readonly keys = new DigestList();
  readonly written = new DigestList();
  readonly places = new DigestList();
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
  /** Whether equal rows are one: files with the same bytes. */
  isFolder: boolean;
  /** What tells where a row is, such as `path` or `label customer`; undefined if nothing does. */
  places: string | undefined;
  /** Whether rows that have changed are new ones. */
  sendChanged: boolean;
}

export type MatchedRows = ReturnType<RowMatcher['match']>;

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

/** Matches rows with the recorded ones, whose states `stateOf` returns. */
export class RowMatcher {
  /** By the position of each row, from 0. */
  readonly #numbers: Float64Array;
  /** The position of the row that each copy equals, by its own. */
  readonly #copies = new Map<number, number>();
  readonly #held = new Map<number, string>();
  /** 1 for each recorded row that is found. */
  readonly #found: Uint8Array;
  readonly #isFound = (row: number) => this.#found[row] === 1;

  constructor(
    private readonly recorded: RecordedRows,
    private readonly stateOf: (row: number) => RowState,
    private readonly found: FoundRows,
    private readonly options: MatchOptions,
  ) {
    this.#numbers = new Float64Array(found.lines.length);
    this.#found = new Uint8Array(recorded.lastRow + 1);
  }

  match() {
    const { sendChanged } = this.options;
    this.#takeEqualRows();
    this.#takeRowsWithoutDocument();
    this.#numberNewRows();
    const places = this.#uniquePlaces();
    const recordedAsHeld = this.#recordedRows((row) => this.stateOf(row) === 'held');
    if (!sendChanged) this.#hold(places, recordedAsHeld);
    const presence: Presence = { rows: this.#foundRows(), places };
    return {
      /** The number of the row at each position; a copy has that of the row that it equals. */
      numbers: this.#numbers,
      /** The positions of copies, which are not sent. */
      copies: this.#copies as ReadonlyMap<number, number>,
      /** Why new rows are held, by their numbers. */
      held: this.#held as ReadonlyMap<number, string>,
      /** The recorded rows that are held no longer. */
      released: sendChanged ? recordedAsHeld.filter(this.#isFound) : [],
      /** The rows that count as found, for the next command. */
      presence,
    };
  }

  /** Returns some of the recorded rows, in the order of their numbers. */
  #recordedRows(isIncluded: (row: number) => boolean): number[] {
    const rows: number[] = [];
    for (const [row] of this.recorded.keys.entries()) if (isIncluded(row)) rows.push(row);
    return rows;
  }

  // Which rows are continued

  #take(at: number, row: number | undefined): void {
    if (row === undefined) return;
    this.#found[row] = 1;
    this.#numbers[at] = row;
  }

  #takeEqualRows(): void {
    const byKey = this.#indexRecorded();
    const originals = this.options.isFolder ? this.#indexOriginals(byKey) : undefined;
    const { keys, unreadable, written } = this.found;
    for (const [at, key] of keys.entries()) {
      const equal = originals?.find(key) ?? at;
      if (equal !== at) this.#copies.set(at, equal);
      else if (!unreadable.has(at) || written.get(at) === undefined) this.#take(at, byKey.find(key, true));
    }
  }

  /** Returns the recorded rows by their content, in ORDER, and then the one with the smallest number first. */
  #indexRecorded(): DigestIndex {
    const { keys } = this.recorded;
    const ranked: number[][] = [[], ...ORDER.map(() => [])];
    for (const [row] of keys.entries()) ranked[ORDER.indexOf(this.stateOf(row)) + 1]?.push(row);
    const byKey = new DigestIndex(keys);
    for (const rows of ranked) for (const row of rows.reverse()) byKey.add(row);
    return byKey;
  }

  /** Returns which of equal files is the row: the one at the recorded path, else the first. */
  #indexOriginals(byKey: DigestIndex): DigestIndex {
    const { keys, places } = this.found;
    const originals = new DigestIndex(keys);
    for (const [at, key] of keys.entries()) {
      const row = byKey.find(key);
      const isThere = row !== undefined && this.recorded.places.get(row) === places.get(at);
      if (isThere || originals.find(key) === undefined) originals.add(at);
    }
    return originals;
  }

  /** A row whose document is missing is the latest recorded one that is written like it. */
  #takeRowsWithoutDocument(): void {
    const { written, unreadable } = this.found;
    if (unreadable.size === 0) return;
    const byWritten = new DigestIndex(this.recorded.written);
    for (const [row] of this.recorded.written.entries()) byWritten.add(row);
    for (const at of unreadable) {
      const latest = byWritten.find(written.get(at));
      // The latest one may have moved; what was here before that one is no longer known.
      if (latest !== undefined && !this.#isFound(latest))
        this.#take(at, byWritten.find(written.get(at), true));
    }
  }

  /** A number never means another row: a new one is above all that were ever recorded, and the line where that is. */
  #numberNewRows(): void {
    const { lastRow } = this.recorded;
    const { lines } = this.found;
    let last = lines.reduce((most, line) => Math.max(most, line), lastRow);
    for (const [at, line] of lines.entries())
      if (this.#numbers[at] === 0 && !this.#copies.has(at))
        this.#numbers[at] = line > lastRow ? line : ++last;
    for (const [at, equal] of this.#copies) this.#numbers[at] = this.#numbers[equal] ?? 0;
  }

  // Which new rows are held

  /** Returns what tells where the rows are, unless two have the same place. */
  #uniquePlaces(): string | undefined {
    const { isFolder, places } = this.options;
    if (isFolder || places === undefined) return places;
    const seen = new DigestIndex(this.found.places);
    for (const at of this.found.lines.keys()) {
      if (seen.find(this.found.places.get(at)) !== undefined) return undefined;
      seen.add(at);
    }
    return places;
  }

  /** Holds the new rows that may have been one that is gone, and those that are equal to a held one. */
  #hold(places: string | undefined, recordedAsHeld: readonly number[]): void {
    const { completed, keys } = this.recorded;
    const { keys: keysNow, places: placesNow, unreadable } = this.found;
    const numberAt = (at: number) => this.#numbers[at] ?? 0;
    const isNew = (at: number) => keys.get(numberAt(at)) === undefined && !unreadable.has(at);
    const gone = this.#goneRows();
    const hasPlaces = places !== undefined && (completed === undefined || completed.places === places);
    const goneFrom = hasPlaces ? this.#placesOf(gone) : undefined;
    const heldKeys = new Set(recordedAsHeld.map((row) => keys.get(row)));
    for (const [at, key] of keysNow.entries()) {
      const before = hasPlaces ? goneFrom?.get(placesNow.get(at)) : gone[0];
      if (before === undefined || !isNew(at)) continue;
      const why = hasPlaces
        ? `has changed since it was recorded as row ${before}`
        : `is new, and row ${before} is gone: it may be that row, changed; --label tells changed rows from new ones`;
      this.#held.set(numberAt(at), why);
      heldKeys.add(key);
    }
    for (const [at, key] of keysNow.entries())
      if (heldKeys.has(key) && isNew(at) && !this.#held.has(numberAt(at)))
        this.#held.set(numberAt(at), 'is equal to a row that is held');
  }

  /** Returns the rows that must not be replaced unnoticed and that have gone since the last completed command. */
  #goneRows(): number[] {
    const { completed } = this.recorded;
    if (completed === undefined) return [];
    return this.#recordedRows((row) => {
      const state = this.stateOf(row);
      const isKept = state === 'held' || !hasNoRun(state);
      return isKept && !this.#isFound(row) && isInRanges(row, completed.rows);
    });
  }

  /** Returns the rows by where they were in the last completed command. */
  #placesOf(rows: readonly number[]): ReadonlyMap<string | undefined, number> {
    const { placesAtCompleted: places, copiesAtCompleted } = this.recorded;
    const included = new Set(rows);
    const copies = [...copiesAtCompleted].filter(([, row]) => included.has(row));
    const placed = rows.map((row) => [places.get(row), row] as const);
    return new Map<string | undefined, number>([
      ...copies,
      ...placed.filter(([place]) => place !== undefined),
    ]);
  }

  /**
   * Returns the rows that are there. While the content of a row is not known, no row counts as gone: it may be the one that
   * has changed.
   */
  #foundRows(): RowRanges {
    const { completed, keys } = this.recorded;
    const isUndecided = [...this.found.unreadable].some((at) => {
      const row = this.#numbers[at] ?? 0;
      return keys.get(row) === undefined || hasNoRun(this.stateOf(row));
    });
    const before = isUndecided && completed !== undefined ? [...rowsOf(completed)] : [];
    const rows = new Float64Array(this.#numbers.length + before.length);
    rows.set(this.#numbers);
    rows.set(before, this.#numbers.length);
    return toRanges(rows.sort());
  }
}

function* rowsOf({ rows }: Presence): Generator<number, void, void> {
  for (const [first, last] of rows) for (let row = first; row <= last; row++) yield row;
}

function toRanges(sortedRows: Iterable<number>): RowRanges {
  const ranges: [number, number][] = [];
  for (const row of sortedRows) {
    const last = ranges.at(-1);
    if (last !== undefined && row <= last[1] + 1) last[1] = row;
    else ranges.push([row, row]);
  }
  return ranges;
}

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
