/** What a results file says about which rows are which: their content, where they were, and which were there. */
import type { FileState } from '../../inputs/file-digests.js';
import { DigestList, PagedArray } from './compact-lists.js';
import type { Event, RowRanges } from './events.js';

/** The rows of a command that recorded them all. */
export interface Presence {
  rows: RowRanges;
  /** What a place is: see the event `present`. */
  places: string | undefined;
}

export class RecordedRows {
  /** The key of the digests. */
  salt: Uint8Array = new Uint8Array();
  /** The numbers of the rows, in the order in which they were recorded; the lists have an entry for each. */
  readonly numbers: number[] = [];
  readonly keys = new DigestList();
  readonly written = new DigestList();
  readonly places = new DigestList();
  /** What is known of files, by the digest of their path (hexadecimal). */
  readonly files = new Map<string, FileState & { time: number }>();
  /** The rows that the last completed command found. */
  completed: Presence | undefined;
  /** The digest of the table, hexadecimal, when its rows were recorded last. */
  table: string | undefined;
  /** The rows that commands since then have found, of which none was completed. */
  readonly foundSince: Presence[] = [];
  /** The rows that were recorded as held since then. */
  readonly heldSince = new Set<number>();
  readonly #indexes = new PagedArray(Uint32Array);
  readonly #labels = new PagedArray(Uint32Array);
  #lastRow = 0;
  /** Copies by their places, those of the last completed command and those since. */
  #copies = new Map<string, number>();
  #copiesAtCompleted: ReadonlyMap<string, number> = new Map();
  /** The places of the rows that have moved since the last completed command. */
  readonly #movedFrom = new Map<string, number>();
  readonly #moved = new Set<number>();

  /** The largest number that a row has. */
  get lastRow(): number {
    return this.#lastRow;
  }

  /** Returns the entry of a row; undefined if it is not recorded. */
  indexOf(row: number): number | undefined {
    const index = this.#indexes.get(row) ?? 0;
    return index === 0 ? undefined : index - 1;
  }

  /** Returns whether a row is known by this label, or by none. */
  hasLabel(row: number, label: string): boolean {
    const known = this.#labels.get(row) ?? 0;
    return known === 0 || known === hashOf(label);
  }

  /** Returns the row that was at a place in the last completed command, beside those that are still recorded there. */
  rowAtCompleted(place: string): number | undefined {
    return this.#movedFrom.get(place) ?? this.#copiesAtCompleted.get(place);
  }

  /** Returns whether a row is recorded at another place than in the last completed command. */
  hasMoved(row: number): boolean {
    return this.#moved.has(row);
  }

  /** Applies an event; `time` is that of the event (ms since 1970). */
  apply(event: Event, time: number): void {
    switch (event.event) {
      case 'batch':
        this.salt = Buffer.from(event.rowSalt ?? '', 'hex');
        return;
      case 'recorded':
        return this.#add(event);
      case 'moved':
        return this.#move(event);
      case 'intent':
        this.#lastRow = Math.max(this.#lastRow, event.row);
        if (event.label !== undefined) this.#labels.set(event.row, hashOf(event.label));
        return;
      case 'file': {
        const { path, size, ctime, ino, digest } = event;
        this.files.set(path, { size, ctime, ino, digest, time });
        return;
      }
      case 'copy':
        this.#copies.set(keyOf(event.place), event.of);
        return;
      case 'present':
        this.foundSince.push({ rows: event.rows, places: event.places });
        this.table = event.table;
        // Those of a command that did not come to its end count no longer.
        this.#copies = new Map();
        return;
      case 'completed':
        return this.#complete();
    }
  }

  #add({ row, key, written, place, label, held }: Event & { event: 'recorded' }): void {
    const index = this.numbers.push(row) - 1;
    this.#indexes.set(row, index + 1);
    this.#lastRow = Math.max(this.#lastRow, row);
    this.keys.set(index, Buffer.from(key, 'hex'));
    if (written !== undefined) this.written.set(index, Buffer.from(written, 'hex'));
    if (place !== undefined) this.places.set(index, Buffer.from(place, 'hex'));
    if (label !== undefined) this.#labels.set(row, hashOf(label));
    if (held !== undefined) this.heldSince.add(row);
  }

  #move({ row, label, place, written }: Event & { event: 'moved' }): void {
    const index = this.indexOf(row);
    if (label !== undefined) this.#labels.set(row, hashOf(label));
    if (written !== undefined && index !== undefined) this.written.set(index, Buffer.from(written, 'hex'));
    if (place === undefined || index === undefined) return;
    if (!this.#moved.has(row) && this.places.has(index)) this.#movedFrom.set(this.places.keyAt(index), row);
    this.#moved.add(row);
    this.places.set(index, Buffer.from(place, 'hex'));
  }

  #complete(): void {
    this.completed = this.foundSince.at(-1) ?? this.completed;
    this.foundSince.length = 0;
    this.#copiesAtCompleted = this.#copies;
    this.#copies = new Map();
    this.#movedFrom.clear();
    this.#moved.clear();
    this.heldSince.clear();
  }
}

const keyOf = (hex: string) => Buffer.from(hex, 'hex').toString('latin1');

/** Returns a number for a text, never 0 (FNV-1a). */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0 || 1;
}
