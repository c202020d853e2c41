/** Lists of something for each row, without an object for each: a table may have millions of rows. */

interface Page<T> {
  [index: number]: T;
}

const PAGE_SIZE = 1_024;

/** Grows by pages, so that growing copies nothing and unused ranges take no memory. */
export class PagedArray<T = number> {
  readonly #pages: Page<T>[] = [];

  constructor(private readonly NewPage: new (size: number) => Page<T>) {}

  /** Returns what is there for a row; 0 or undefined if it was never set. */
  get(row: number): T | undefined {
    return this.#pages[Math.floor(row / PAGE_SIZE)]?.[row % PAGE_SIZE];
  }

  set(row: number, value: T): void {
    const index = Math.floor(row / PAGE_SIZE);
    this.#pages[index] ??= new this.NewPage(PAGE_SIZE);
    (this.#pages[index] as Page<T>)[row % PAGE_SIZE] = value;
  }

  /** Yields the rows with something else than 0 or undefined, in order; empty pages are skipped. */
  *entries(): Generator<[row: number, value: T], void, void> {
    for (const [index, page] of Object.entries(this.#pages)) {
      for (let offset = 0; offset < PAGE_SIZE; offset++) {
        const value = page[offset];
        if (value) yield [Number(index) * PAGE_SIZE + offset, value];
      }
    }
  }
}

/** Bytes of a digest. */
const SIZE = 16;
const NONE = Buffer.alloc(SIZE);

/** A digest for each row. */
export class DigestList {
  readonly #pages: Buffer[] = [];

  set(row: number, digest: Uint8Array): void {
    const index = Math.floor(row / PAGE_SIZE);
    this.#pages[index] ??= Buffer.alloc(PAGE_SIZE * SIZE);
    this.#pages[index].set(digest.subarray(0, SIZE), (row % PAGE_SIZE) * SIZE);
  }

  /** Returns the digest of a row; zeros if it has none. */
  at(row: number): Buffer {
    const start = (row % PAGE_SIZE) * SIZE;
    return this.#pages[Math.floor(row / PAGE_SIZE)]?.subarray(start, start + SIZE) ?? NONE;
  }

  /** Returns the digest of a row as hexadecimal digits; undefined if it has none. */
  hex(row: number): string | undefined {
    return this.has(row) ? this.at(row).toString('hex') : undefined;
  }

  /** At least the number of rows that have a digest. */
  get size(): number {
    return Object.keys(this.#pages).length * PAGE_SIZE;
  }

  has(row: number): boolean {
    return !this.at(row).equals(NONE);
  }

  /** Yields the rows that have a digest, in order. */
  *rows(): Generator<number, void, void> {
    for (const [index] of this.#pages.entries())
      for (let row = index * PAGE_SIZE; row < (index + 1) * PAGE_SIZE; row++) if (this.has(row)) yield row;
  }
}

/** Finds rows by their digest: a hash table, as strings in a Map take several times the memory. */
export class DigestIndex {
  /** The last row that was added with a hash, and the row before each; each number is one more, and 0 is none. */
  readonly #last: Uint32Array;
  readonly #before = new PagedArray(Uint32Array);

  constructor(private readonly list: DigestList) {
    this.#last = new Uint32Array(list.size || 1);
  }

  /** Adds a row, which is found before those that were added earlier. */
  add(row: number): void {
    const hash = this.#hash(this.list.at(row));
    this.#before.set(row, this.#last[hash] ?? 0);
    this.#last[hash] = row + 1;
  }

  /** Returns the first row with a digest that is not taken, or undefined; those that are taken are forgotten. */
  find(digest: Buffer, isTaken: (row: number) => boolean = () => false): number | undefined {
    const hash = this.#hash(digest);
    const previous = (row: number) => (this.#before.get(row) ?? 0) - 1;
    let after = -1;
    for (let row = (this.#last[hash] ?? 0) - 1; row >= 0; row = previous(row)) {
      if (!isTaken(row)) {
        if (this.list.at(row).equals(digest)) return row;
        after = row;
      } else if (after < 0) this.#last[hash] = previous(row) + 1;
      else this.#before.set(after, previous(row) + 1);
    }
    return undefined;
  }

  /** Digests are keyed, so that nobody can choose ones with the same hash. */
  #hash(digest: Buffer): number {
    return digest.readUInt32LE() % this.#last.length;
  }
}
