/** What a results file says about which rows are which: their content, where they were, and which were there. */
import { digestOf } from '../../table/row.js';
import { createDigestList } from './compact-lists.js';
import { type Event, type Header, isRowEvent, type Presence } from './events.js';

const hashOf = (text: string) => Number.parseInt(digestOf([text]).slice(0, 8), 16);

export type RecordedRows = ReturnType<typeof createRecordedRows>;

/** Returns what is recorded of no rows yet. */
export function createRecordedRows() {
  /** By row, a part of the digest of its label: the whole one would take twice the memory. */
  const labels: number[] = [];
  /** With `present`, what becomes of the last three members if this command is completed. */
  const moved: number[] = [];
  let copies = new Map<string, number>();

  const recorded = {
    /** Undefined in a new file; `run --once` may replace it. */
    header: undefined as Header | undefined,
    /** The rows that the last command found. */
    present: undefined as Presence | undefined,
    /** By row, as the event `recorded` has them. */
    keys: createDigestList(),
    written: createDigestList(),
    /** Where each row was when it was recorded last. */
    places: createDigestList(),
    /** The largest number that a row has. */
    lastRow: 0,
    /** The rows that the last completed command found, where they were then, and the rows of copies by their places. */
    completed: undefined as Presence | undefined,
    placesAtCompleted: createDigestList(),
    copiesAtCompleted: new Map() as ReadonlyMap<string, number>,

    /** The key of the digests. */
    get salt(): Uint8Array {
      return Buffer.from(recorded.header?.rowSalt ?? '', 'hex');
    },

    /** The same as a UUID, by which the history knows the batch. */
    get batch(): string {
      const { rowSalt = '' } = recorded.header ?? {};
      return rowSalt.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    },

    /** Returns whether a row is known by this label, or by none. */
    hasLabel: (row: number, label: string) => (labels[row] ?? hashOf(label)) === hashOf(label),

    /** Applies an event. */
    apply(event: Event): void {
      if (isRowEvent(event)) {
        const { row, label } = event;
        recorded.lastRow = Math.max(recorded.lastRow, row);
        if (label !== undefined) labels[row] = hashOf(label);
      }
      switch (event.event) {
        case 'batch':
          recorded.header = event;
          return;
        case 'recorded': {
          const { row, key, written, place } = event;
          recorded.keys.set(row, key);
          if (written !== undefined) recorded.written.set(row, written);
          if (place === undefined) return;
          recorded.places.set(row, place);
          moved.push(row);
          return;
        }
        case 'copy':
          copies.set(event.place, event.of);
          return;
        case 'present':
          recorded.present = event;
          // Those of a command that did not come to its end count no longer.
          copies = new Map();
          return;
        case 'completed':
          recorded.completed = recorded.present ?? recorded.completed;
          for (const row of moved.splice(0))
            recorded.placesAtCompleted.set(row, recorded.places.get(row) ?? '');
          recorded.copiesAtCompleted = copies;
      }
    },
  };
  return recorded;
}
