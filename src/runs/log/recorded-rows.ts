/** What a results file says about which rows are which: their content, where they were, and which were there. */
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
  readonly keys: string[] = [];
  readonly written: string[] = [];
  /** Where each row was when it was recorded last. */
  readonly places: string[] = [];
  /** The digest of the table, hexadecimal, when its rows were recorded last. */
  table: string | undefined;
  /** The largest number that a row has. */
  lastRow = 0;
  /** The rows that the last completed command found, where they were then, and the rows of copies by their places. */
  completed: Presence | undefined;
  readonly placesAtCompleted: string[] = [];
  copiesAtCompleted: ReadonlyMap<string, number> = new Map();
  /** What becomes of the last three if this command is completed. */
  #present: Presence | undefined;
  readonly #moved: number[] = [];
  #copies = new Map<string, number>();

  /** Applies an event. */
  apply(event: Event): void {
    switch (event.event) {
      case 'batch':
        this.salt = Buffer.from(event.rowSalt ?? '', 'hex');
        return;
      case 'recorded':
        return this.#record(event);
      case 'intent':
        this.lastRow = Math.max(this.lastRow, event.row);
        return;
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
        return this.#complete();
    }
  }

  #record({ row, key, written, place }: Event & { event: 'recorded' }): void {
    this.lastRow = Math.max(this.lastRow, row);
    this.keys[row] = key;
    if (written !== undefined) this.written[row] = written;
    if (place === undefined) return;
    this.places[row] = place;
    this.#moved.push(row);
  }

  #complete(): void {
    this.completed = this.#present ?? this.completed;
    for (const row of this.#moved.splice(0)) this.placesAtCompleted[row] = this.places[row] ?? '';
    this.copiesAtCompleted = this.#copies;
  }
}
