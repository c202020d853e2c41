/** What a results file says about which rows are which: their content, where they were, and which were there. */
import { DigestList } from './compact-lists.js';
import type { Event, RowRanges } from './events.js';

/** The rows of a command that recorded them all. */
export interface Presence {
  rows: RowRanges;
  /** What a place is: see the event `present`. */
  places?: string | undefined;
}

export class RecordedRows {
  /** The key of the digests. */
  salt: Uint8Array = new Uint8Array();
  /** By row, as the event `recorded` has them. */
  readonly keys = new DigestList();
  readonly written = new DigestList();
  /** Where each row was when it was recorded last. */
  readonly places = new DigestList();
  /** The digest of the table, hexadecimal, when its rows were recorded last. */
  table: string | undefined;
  /** The largest number that a row has. */
  lastRow = 0;
  /** The rows that the last completed command found, where they were then, and the rows of copies by their places. */
  completed: Presence | undefined;
  readonly placesAtCompleted = new DigestList();
  copiesAtCompleted: ReadonlyMap<string, number> = new Map();
  /** By row, the hash of its label: the texts would take several times the memory. */
  readonly #labels: number[] = [];
  /** What becomes of the last three if this command is completed. */
  #present: Presence | undefined;
  readonly #moved: number[] = [];
  #copies = new Map<string, number>();

  /** Returns whether a row is known by this label, or by none. */
  hasLabel(row: number, label: string): boolean {
    const known = this.#labels[row];
    return known === undefined || known === hashOf(label);
  }

  /** Applies an event. */
  apply(event: Event): void {
    switch (event.event) {
      case 'batch':
        this.salt = Buffer.from(event.rowSalt ?? '', 'hex');
        return;
      case 'recorded': {
        const { row, key, written, place, label } = event;
        this.#name(row, label);
        this.keys.set(row, key);
        if (written !== undefined) this.written.set(row, written);
        if (place === undefined) return;
        this.places.set(row, place);
        this.#moved.push(row);
        return;
      }
      case 'intent':
        return this.#name(event.row, event.label);
      case 'copy':
        this.#copies.set(event.place, event.of);
        return;
      case 'present':
        this.#present = event;
        this.table = event.table;
        // Those of a command that did not come to its end count no longer.
        this.#copies = new Map();
        return;
      case 'completed':
        this.completed = this.#present ?? this.completed;
        for (const row of this.#moved.splice(0)) this.placesAtCompleted.set(row, this.places.get(row) ?? '');
        this.copiesAtCompleted = this.#copies;
    }
  }

  #name(row: number, label: string | undefined): void {
    this.lastRow = Math.max(this.lastRow, row);
    if (label !== undefined) this.#labels[row] = hashOf(label);
  }
}

/** Returns a number for a text (FNV-1a). */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}
