/** Lists of many entries without an object for each, and an index of digests: a table may have millions of rows. */

/** Bytes of a digest. */
const SIZE = 16;
const NONE = Buffer.alloc(SIZE);

export class DigestList {
  #bytes = Buffer.alloc(0);

  /** Sets the digest of an entry; those between may have none. */
  set(index: number, digest: Uint8Array): void {
    const end = (index + 1) * SIZE;
    if (end > this.#bytes.length) {
      const grown = Buffer.alloc(Math.max(end, this.#bytes.length * 2, 1024 * SIZE));
      this.#bytes.copy(grown);
      this.#bytes = grown;
    }
    this.#bytes.set(digest.subarray(0, SIZE), index * SIZE);
  }

  /** Returns the digest of an entry; zeros if it has none. */
  at(index: number): Buffer {
    const start = index * SIZE;
    return start < this.#bytes.length ? this.#bytes.subarray(start, start + SIZE) : NONE;
  }

  has(index: number): boolean {
    return !this.at(index).equals(NONE);
  }

  /** Returns an entry as a key of a Map. */
  keyAt(index: number): string {
    return this.at(index).toString('latin1');
  }

  equals(index: number, other: DigestList, otherIndex: number): boolean {
    return this.at(index).equals(other.at(otherIndex));
  }

  /** Returns a number that equal digests share. */
  hash(index: number): number {
    return this.at(index).readUInt32LE(0);
  }
}

/** Finds the entries of a list by their digest. */
export class DigestIndex {
  readonly #mask: number;
  /** Entries plus 1; 0 is none. */
  readonly #heads: Uint32Array;
  readonly #next: Uint32Array;

  /** `length` is that of the list. */
  constructor(
    private readonly list: DigestList,
    length: number,
  ) {
    const size = 2 ** Math.ceil(Math.log2(length + 2));
    this.#mask = size - 1;
    this.#heads = new Uint32Array(size);
    this.#next = new Uint32Array(length);
  }

  /** Adds an entry, which is found before those that were added earlier. */
  add(index: number): void {
    const slot = this.list.hash(index) & this.#mask;
    this.#next[index] = this.#heads[slot] ?? 0;
    this.#heads[slot] = index + 1;
  }

  /**
   * Returns an entry that equals one of another list, or undefined. Entries that `isTaken` are forgotten, so that many
   * equal ones are found in linear time.
   */
  find(other: DigestList, otherIndex: number, isTaken?: (index: number) => boolean): number | undefined {
    const slot = other.hash(otherIndex) & this.#mask;
    let before = 0;
    for (let entry = this.#heads[slot] ?? 0; entry !== 0; entry = this.#next[entry - 1] ?? 0) {
      const index = entry - 1;
      if (isTaken?.(index) !== true) {
        if (this.list.equals(index, other, otherIndex)) return index;
        before = entry;
      } else if (before === 0) this.#heads[slot] = this.#next[index] ?? 0;
      else this.#next[before - 1] = this.#next[index] ?? 0;
    }
    return undefined;
  }
}

interface Page {
  [index: number]: number;
}

const PAGE_SIZE = 16_384;

/** Grows by pages, so that growing copies nothing and unused ranges take no memory. */
export class PagedArray {
  readonly #pages: Page[] = [];

  constructor(private readonly NewPage: new (size: number) => Page) {}

  /** Returns the number of a row; 0 or undefined if it was never set. */
  get(row: number): number | undefined {
    return this.#pages[Math.floor(row / PAGE_SIZE)]?.[row % PAGE_SIZE];
  }

  set(row: number, value: number): void {
    const index = Math.floor(row / PAGE_SIZE);
    this.#pages[index] ??= new this.NewPage(PAGE_SIZE);
    (this.#pages[index] as Page)[row % PAGE_SIZE] = value;
  }

  /** Returns the rows whose number is not 0, in order; empty pages are skipped. */
  *entries(): Generator<[row: number, value: number], void, void> {
    for (const [index, page] of Object.entries(this.#pages)) {
      for (let offset = 0; offset < PAGE_SIZE; offset++) {
        const value = page[offset];
        if (value) yield [Number(index) * PAGE_SIZE + offset, value];
      }
    }
  }
}
