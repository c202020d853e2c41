/** Where the lines that tell the state of each row are in a results file, in 40 bytes a row. */
import { PagedArray } from '../paged-array.js';
import type { RowState } from '../row-states.js';
import type { ReadEvent } from './read-events.js';

/** The kinds of lines of a row that are found again: the first one, and the last of each of the others. */
type LineKind = 'first' | 'accepted' | 'refused' | 'unknown' | 'ended';

/** The offsets of lines; those that do not tell the state of the row are left out. */
export type LineOffsets = Readonly<Partial<Record<LineKind, number>>>;

export class RowLines {
  readonly #offsets: Readonly<Record<LineKind, PagedArray<number>>> = {
    first: offsets(),
    accepted: offsets(),
    refused: offsets(),
    unknown: offsets(),
    ended: offsets(),
  };

  /** Remembers the line of an event. */
  add({ event, row, start }: ReadEvent): void {
    const { first } = this.#offsets;
    // 0 means that there is none.
    if (!first.get(row)) first.set(row, start + 1);
    if (event in this.#offsets) this.#offsets[event as LineKind].set(row, start + 1);
  }

  /** Returns the lines that tell why a row has its state, which a failed re-send may have restored. */
  of(row: number, state: RowState): LineOffsets {
    const offsets = Object.entries(this.#offsets)
      .filter(([kind]) => KINDS[state].includes(kind as LineKind))
      .map(([kind, found]) => [kind, found.get(row) ?? 0] as const);
    return Object.fromEntries(
      offsets.filter(([, offset]) => offset > 0).map(([kind, offset]) => [kind, offset - 1]),
    );
  }
}

const KINDS: Readonly<Record<RowState, readonly LineKind[]>> = {
  new: [],
  intent: ['first', 'refused'],
  invalid: ['first', 'refused'],
  rejected: ['first', 'refused'],
  unauthorized: ['first', 'refused'],
  unreachable: ['first', 'refused'],
  unknown: ['first', 'unknown'],
  running: ['first', 'accepted'],
  lost: ['first', 'accepted'],
  finished: ['first', 'accepted', 'ended'],
  failed: ['first', 'accepted', 'ended'],
};

const offsets = () => new PagedArray<number>((size) => new Float64Array(size));
