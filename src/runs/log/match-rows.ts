/**
 * Decides which rows of a table or folder are which recorded ones, and which are new or held: the only place that does.
 * A row is its content. A new row that may be a changed one is held, so that a changed row is never sent unnoticed.
 */
import type { RowIdentity } from '../../table/row.js';
import { DigestIndex, DigestList } from './compact-lists.js';
import type { RowRanges } from './events.js';
import type { Presence, RecordedRows } from './recorded-rows.js';
import { hasNoRun, type RowState } from './reduce.js';

/** The rows as they are now, in their order; the lists have an entry for each. */
export class FoundRows {
  readonly keys = new DigestList();
  readonly written = new DigestList();
  readonly places = new DigestList();
  readonly lines: number[] = [];
  readonly unreadable = new Set<number>();

  add({ key, written, isUnreadable }: RowIdentity, line: number, place: Uint8Array | undefined): void {
    const index = this.lines.push(line) - 1;
    this.keys.set(index, key);
    if (written !== undefined) this.written.set(index, written);
    if (place !== undefined) this.places.set(index, place);
    if (isUnreadable) this.unreadable.add(index);
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

/** Why a row is held: it has the place of this row, is equal to a held one, or appeared when this one was gone. */
export type HeldReason = { reason: 'changed' | 'appeared'; row: number } | { reason: 'equal' };

export interface MatchedRows {
  /** The number of each row; that of the row that it equals, for a copy. */
  numbers: Float64Array;
  kinds: Uint8Array;
  held: ReadonlyMap<number, HeldReason>;
  /** The recorded rows that are held no longer. */
  released: readonly number[];
  /** The rows that count as found, for the next command. */
  presence: Presence;
}

/** What a row is. */
export const [CONTINUED, NEW, HELD, COPY] = [0, 1, 2, 3];

/** In which order recorded rows are taken by equal ones, so that a removed duplicate never causes a run. */
const ORDER: readonly RowState[] = [
  'finished',
  'running',
  'unknown',
  'failed',
  'lost',
  'held',
  'rejected',
  'invalid',
];

/** Matches rows with the recorded ones, whose states `stateOf` returns. */
export function matchRows(
  recorded: RecordedRows,
  stateOf: (row: number) => RowState,
  found: FoundRows,
  options: MatchOptions,
): MatchedRows {
  return new Matcher(recorded, stateOf, found, options).match();
}

class Matcher {
  readonly #numbers: Float64Array;
  readonly #kinds: Uint8Array;
  /** Whether each recorded row is found. */
  readonly #isTaken: Uint8Array;
  readonly #held = new Map<number, HeldReason>();

  constructor(
    private readonly recorded: RecordedRows,
    private readonly stateOf: (row: number) => RowState,
    private readonly found: FoundRows,
    private readonly options: MatchOptions,
  ) {
    this.#numbers = new Float64Array(found.lines.length);
    this.#kinds = new Uint8Array(found.lines.length);
    this.#isTaken = new Uint8Array(recorded.numbers.length);
  }

  match(): MatchedRows {
    const { isFolder, sendChanged } = this.options;
    if (isFolder) this.#takeEqualFiles();
    else this.#takeEqualRows();
    this.#takeUnreadable();
    this.#numberNewRows();
    const places = this.#places();
    if (!sendChanged) this.#hold(places);
    return {
      numbers: this.#numbers,
      kinds: this.#kinds,
      held: this.#held,
      released: sendChanged ? this.#heldNow() : [],
      presence: { rows: this.#foundRows(), places },
    };
  }

  // Which rows are continued

  /** Returns the recorded rows by their content, the first one of ORDER first. */
  #byKey(): DigestIndex {
    const { keys, numbers } = this.recorded;
    const index = new DigestIndex(keys, numbers.length);
    const ranked = Array.from([...ORDER, undefined], (): number[] => []);
    for (let at = 0; at < numbers.length; at++) {
      const rank = ORDER.indexOf(this.stateOf(numbers[at] ?? 0));
      ranked[rank < 0 ? ORDER.length : rank]?.push(at);
    }
    for (const rows of ranked.reverse()) for (const at of rows.reverse()) index.add(at);
    return index;
  }

  #take(at: number, recorded: number): void {
    this.#isTaken[recorded] = 1;
    this.#numbers[at] = this.recorded.numbers[recorded] ?? 0;
  }

  readonly #taken = (index: number) => this.#isTaken[index] === 1;

  #takeEqualRows(): void {
    const { keys, lines, unreadable } = this.found;
    const byKey = this.#byKey();
    for (let at = 0; at < lines.length; at++) {
      if (unreadable.has(at)) continue;
      const recorded = byKey.find(keys, at, this.#taken);
      if (recorded !== undefined) this.#take(at, recorded);
    }
  }

  /** Of files with equal bytes, the one at the recorded path is the row, else the first; the others are copies. */
  #takeEqualFiles(): void {
    const { keys, places, lines, unreadable } = this.found;
    const byKey = this.#byKey();
    const readable = [...lines.keys()].filter((at) => !unreadable.has(at));
    const recordedOf = (at: number) => byKey.find(keys, at);
    for (const at of readable) {
      const recorded = recordedOf(at);
      if (
        recorded !== undefined &&
        !this.#taken(recorded) &&
        this.recorded.places.equals(recorded, places, at)
      )
        this.#take(at, recorded);
    }
    const firsts = new DigestIndex(keys, lines.length);
    for (const at of readable) {
      if (this.#numbers[at] !== 0) continue;
      const recorded = recordedOf(at);
      const first = firsts.find(keys, at);
      if (recorded !== undefined && !this.#taken(recorded)) this.#take(at, recorded);
      else if (recorded !== undefined) {
        this.#numbers[at] = this.recorded.numbers[recorded] ?? 0;
        this.#kinds[at] = COPY;
      } else if (first === undefined) firsts.add(at);
      else {
        // Its number follows with that of the first one.
        this.#numbers[at] = -1 - first;
        this.#kinds[at] = COPY;
      }
    }
  }

  /** A row whose document is missing is the latest recorded one that is written like it. */
  #takeUnreadable(): void {
    const { written, unreadable } = this.found;
    if (unreadable.size === 0) return;
    const { numbers } = this.recorded;
    const latest = new DigestIndex(this.recorded.written, numbers.length);
    const ascending = [...numbers.keys()].sort((a, b) => (numbers[a] ?? 0) - (numbers[b] ?? 0));
    for (const index of ascending) if (this.recorded.written.has(index)) latest.add(index);
    const byKey = this.#byKey();
    const takenHere = new Set<number>();
    const isTakenHere = (index: number) => takenHere.has(index);
    for (const at of unreadable) {
      const recorded = written.has(at)
        ? latest.find(written, at, isTakenHere)
        : byKey.find(this.found.keys, at, isTakenHere);
      // The latest one may have moved; what was here before that one is no longer known.
      if (recorded === undefined || this.#taken(recorded)) continue;
      takenHere.add(recorded);
      this.#take(at, recorded);
    }
  }

  /** A number never means another row: a new one is above all that were ever recorded, and the line where that is. */
  #numberNewRows(): void {
    const { lines } = this.found;
    const { lastRow } = this.recorded;
    let last = lines.reduce((most, line) => Math.max(most, line), lastRow);
    for (const [at, line] of lines.entries()) {
      if (this.#numbers[at] !== 0) continue;
      this.#kinds[at] = NEW;
      this.#numbers[at] = line > lastRow ? line : ++last;
    }
    for (const at of lines.keys()) {
      const number = this.#numbers[at] ?? 0;
      if (number < 0) this.#numbers[at] = this.#numbers[-1 - number] ?? 0;
    }
  }

  // Which new rows are held

  /** Returns what tells where the rows are, unless two have the same place. */
  #places(): string | undefined {
    const { isFolder, places } = this.options;
    if (isFolder || places === undefined) return places;
    const { lines } = this.found;
    const seen = new DigestIndex(this.found.places, lines.length);
    for (const at of lines.keys()) {
      if (seen.find(this.found.places, at) !== undefined) return undefined;
      seen.add(at);
    }
    return places;
  }

  #hold(places: string | undefined): void {
    const { keys, lines, unreadable } = this.found;
    const { completed } = this.recorded;
    const newRows = [...lines.keys()].filter((at) => this.#kinds[at] === NEW && !unreadable.has(at));
    if (newRows.length === 0) return;
    const gone = this.#goneRows();
    const isByPlace = places !== undefined && (completed === undefined || completed.places === places);
    const atPlace = isByPlace ? this.#goneAtPlaces(gone) : undefined;
    const isHeldContent = this.#heldContent();
    const [first] = gone;
    for (const at of newRows) {
      const before = atPlace?.(at);
      if (before !== undefined) this.#holdRow(at, { reason: 'changed', row: before });
      else if (!isByPlace && first !== undefined) this.#holdRow(at, { reason: 'appeared', row: first });
      else if (isHeldContent(at)) this.#holdRow(at, { reason: 'equal' });
    }
    if (atPlace !== undefined) this.#holdCopied(newRows, atPlace);
    // One that equals a row that is held now.
    const held = new Set([...this.#held.keys()].map((at) => keys.keyAt(at)));
    for (const at of held.size === 0 ? [] : newRows)
      if (this.#kinds[at] === NEW && held.has(keys.keyAt(at))) this.#holdRow(at, { reason: 'equal' });
  }

  /** Holds new files with a copy at the place of one that has changed. */
  #holdCopied(newRows: readonly number[], atPlace: (at: number) => number | undefined): void {
    const copied = new Map(newRows.map((at) => [this.#numbers[at], at]));
    for (const [at, kind] of this.#kinds.entries()) {
      const row = kind === COPY ? copied.get(this.#numbers[at]) : undefined;
      const before = row === undefined || this.#kinds[row] !== NEW ? undefined : atPlace(at);
      if (row !== undefined && before !== undefined) this.#holdRow(row, { reason: 'changed', row: before });
    }
  }

  #holdRow(at: number, reason: HeldReason): void {
    this.#kinds[at] = HELD;
    this.#held.set(at, reason);
  }

  /** Returns the rows that must not be replaced unnoticed and that have gone since the last completed command. */
  #goneRows(): number[] {
    const { numbers, completed, foundSince, heldSince } = this.recorded;
    const wasThere = rangesOf([completed]);
    const wasThereHeld = rangesOf([completed, ...foundSince]);
    return numbers.filter((row, index) => {
      if (this.#isTaken[index] === 1) return false;
      const state = this.stateOf(row);
      if (state === 'held') return heldSince.has(row) || wasThereHeld(row);
      return !hasNoRun(state) && wasThere(row);
    });
  }

  /** Returns a function for the row that has gone from the place of another one. */
  #goneAtPlaces(gone: readonly number[]): (at: number) => number | undefined {
    const recorded = this.recorded;
    const { numbers, places } = recorded;
    const index = new DigestIndex(places, numbers.length);
    const isGone = new Set(gone);
    for (const row of gone) {
      const at = recorded.indexOf(row);
      const isThere = !recorded.hasMoved(row) || this.stateOf(row) === 'held';
      if (at !== undefined && isThere && places.has(at)) index.add(at);
    }
    return (at) => {
      if (!this.found.places.has(at)) return undefined;
      const there = index.find(this.found.places, at);
      if (there !== undefined) return numbers[there];
      const before = recorded.rowAtCompleted(this.found.places.keyAt(at));
      return before !== undefined && isGone.has(before) ? before : undefined;
    };
  }

  /** Returns whether a row has the content of one that is recorded as held. */
  #heldContent(): (at: number) => boolean {
    const { numbers, keys } = this.recorded;
    const held = new Set<string>();
    for (const [index, row] of numbers.entries())
      if (this.stateOf(row) === 'held') held.add(keys.keyAt(index));
    return (at) => held.size > 0 && held.has(this.found.keys.keyAt(at));
  }

  /** Returns the recorded rows that are held and found. */
  #heldNow(): number[] {
    return this.recorded.numbers.filter(
      (row, index) => this.#isTaken[index] === 1 && this.stateOf(row) === 'held',
    );
  }

  /**
   * Returns the rows that are there. While the content of a row is not known, no row counts as gone: it may be the one that
   * has changed.
   */
  #foundRows(): RowRanges {
    const { unreadable } = this.found;
    const isUndecided = [...unreadable].some(
      (at) => this.#kinds[at] === NEW || hasNoRun(this.stateOf(this.#numbers[at] ?? 0)),
    );
    const { completed } = this.recorded;
    return toRanges([
      this.#numbers,
      ...(isUndecided && completed !== undefined ? [[...rowsOf(completed)]] : []),
    ]);
  }
}

function* rowsOf({ rows }: Presence): Generator<number, void, void> {
  for (const [first, last] of rows) for (let row = first; row <= last; row++) yield row;
}

/** Returns rows as ranges, in order. */
function toRanges(lists: readonly ArrayLike<number>[]): RowRanges {
  const sorted = new Float64Array(lists.reduce((length, list) => length + list.length, 0));
  let start = 0;
  for (const list of lists) {
    sorted.set(list, start);
    start += list.length;
  }
  const ranges: [number, number][] = [];
  for (const row of sorted.sort()) {
    const last = ranges.at(-1);
    if (last !== undefined && row <= last[1] + 1) last[1] = row;
    else ranges.push([row, row]);
  }
  return ranges;
}

/** Returns whether a row is in one of the lists of rows. */
export function rangesOf(
  presences: readonly (Pick<Presence, 'rows'> | undefined)[],
): (row: number) => boolean {
  const lists = presences.flatMap((presence) => (presence === undefined ? [] : [presence.rows]));
  return (row) => lists.some((ranges) => isInRanges(row, ranges));
}

function isInRanges(row: number, ranges: RowRanges): boolean {
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
