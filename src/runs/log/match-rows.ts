/**
 * Decides which rows of a table or folder are which recorded ones, and which are new or held: the only place that does.
 * A row is its content. A new row that may be a changed one is held, so that a changed row is never sent unnoticed.
 */
import type { RowIdentity } from '../../table/row.js';
import type { RowRanges } from './events.js';
import type { Presence, RecordedRows } from './recorded-rows.js';
import { hasNoRun, type RowState } from './reduce.js';
import { rowNumbers } from './row-numbers.js';

/** The rows as they are now, by their positions from 0: not one object for each, as there may be millions. */
export class FoundRows {
  readonly keys: string[] = [];
  readonly written: string[] = [];
  readonly places: string[] = [];
  readonly lines: number[] = [];
  readonly unreadable = new Set<number>();

  /** Adds a row; `place` is the digest of its place, if it has one. */
  add({ key, written, isUnreadable }: RowIdentity, line: number, place: string | undefined): void {
    const at = this.lines.push(line) - 1;
    this.keys[at] = key;
    if (written !== undefined) this.written[at] = written;
    if (place !== undefined) this.places[at] = place;
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
  /** The recorded rows that are found. */
  readonly #found = new Set<number>();

  constructor(
    private readonly recorded: RecordedRows,
    private readonly stateOf: (row: number) => RowState,
    private readonly found: FoundRows,
    private readonly options: MatchOptions,
  ) {
    this.#numbers = new Float64Array(found.lines.length);
  }

  match() {
    const { sendChanged } = this.options;
    this.#takeEqualRows();
    this.#takeRowsWithoutDocument();
    this.#numberNewRows();
    const places = this.#uniquePlaces();
    const recordedAsHeld = this.#recordedRows().filter((row) => this.stateOf(row) === 'held');
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
      released: sendChanged ? recordedAsHeld.filter((row) => this.#found.has(row)) : [],
      /** The rows that count as found, for the next command. */
      presence,
    };
  }

  /** Returns them in the order of their numbers. */
  #recordedRows(): number[] {
    return [...rowNumbers(this.recorded.keys)];
  }

  // Which rows are continued

  #take(at: number, row: number | undefined): void {
    if (row === undefined) return;
    this.#found.add(row);
    this.#numbers[at] = row;
  }

  #takeEqualRows(): void {
    const byKey = rowsByText(this.recorded.keys);
    const rank = (row: number) => ORDER.indexOf(this.stateOf(row));
    for (const rows of byKey.values()) rows.reverse().sort((one, other) => rank(one) - rank(other));
    const originals = this.options.isFolder ? this.#findOriginals(byKey) : undefined;
    const { keys, unreadable, written } = this.found;
    for (const [at, key] of keys.entries()) {
      const equal = originals?.get(key) ?? at;
      if (equal !== at) this.#copies.set(at, equal);
      else if (!unreadable.has(at) || written[at] === undefined) this.#take(at, byKey.get(key)?.pop());
    }
  }

  /** Returns the position of the row among equal files: of the one at the recorded path, else of the first. */
  #findOriginals(byKey: ReadonlyMap<string | undefined, readonly number[]>): ReadonlyMap<string, number> {
    const originals = new Map<string, number>();
    for (const [at, key] of this.found.keys.entries()) {
      const row = byKey.get(key)?.at(-1);
      const isThere = row !== undefined && this.recorded.places[row] === this.found.places[at];
      if (isThere || !originals.has(key)) originals.set(key, at);
    }
    return originals;
  }

  /** A row whose document is missing is the latest recorded one that is written like it. */
  #takeRowsWithoutDocument(): void {
    const { written, unreadable } = this.found;
    if (unreadable.size === 0) return;
    const byWritten = rowsByText(this.recorded.written);
    for (const at of unreadable) {
      const rows = byWritten.get(written[at]);
      const latest = rows?.at(-1);
      // The latest one may have moved; what was here before that one is no longer known.
      if (latest !== undefined && !this.#found.has(latest)) this.#take(at, rows?.pop());
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
    const isUnique = isFolder || new Set(this.found.places).size === this.found.lines.length;
    return isUnique ? places : undefined;
  }

  /** Holds the new rows that may have been one that is gone, and those that are equal to a held one. */
  #hold(places: string | undefined, recordedAsHeld: readonly number[]): void {
    const { completed, keys } = this.recorded;
    const { keys: keysNow, places: placesNow, unreadable } = this.found;
    const numberAt = (at: number) => this.#numbers[at] ?? 0;
    const isNew = (at: number) => keys[numberAt(at)] === undefined && !unreadable.has(at);
    const gone = this.#goneRows();
    const hasPlaces = places !== undefined && (completed === undefined || completed.places === places);
    const goneFrom = hasPlaces ? this.#placesOf(gone) : undefined;
    const heldKeys = new Set(recordedAsHeld.map((row) => keys[row]));
    for (const [at, key] of keysNow.entries()) {
      const before = hasPlaces ? goneFrom?.get(placesNow[at]) : gone[0];
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
    return this.#recordedRows().filter((row) => {
      const state = this.stateOf(row);
      const isKept = state === 'held' || !hasNoRun(state);
      return isKept && !this.#found.has(row) && isInRanges(row, completed.rows);
    });
  }

  /** Returns the rows by where they were in the last completed command. */
  #placesOf(rows: readonly number[]): ReadonlyMap<string | undefined, number> {
    const { placesAtCompleted: places, copiesAtCompleted } = this.recorded;
    const included = new Set(rows);
    const copies = [...copiesAtCompleted].filter(([, row]) => included.has(row));
    return new Map<string | undefined, number>([
      ...copies,
      ...rows.flatMap((row) => (places[row] === undefined ? [] : [[places[row], row] as const])),
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
      return keys[row] === undefined || hasNoRun(this.stateOf(row));
    });
    const before = isUndecided && completed !== undefined ? [...rowsOf(completed)] : [];
    const rows = new Float64Array(this.#numbers.length + before.length);
    rows.set(this.#numbers);
    rows.set(before, this.#numbers.length);
    return toRanges(rows.sort());
  }
}

/** Returns the rows with each text, in their order. */
function rowsByText(texts: readonly string[]): Map<string | undefined, number[]> {
  const rows = new Map<string | undefined, number[]>();
  for (const row of rowNumbers(texts)) {
    const text = texts[row];
    const known = rows.get(text);
    if (known === undefined) rows.set(text, [row]);
    else known.push(row);
  }
  return rows;
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
