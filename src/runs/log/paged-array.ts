/** A sparse array with one number per row, for tables of millions of rows. */

interface Page<T> {
  [index: number]: T;
}

const PAGE_SIZE = 16_384;

/** Grows by pages, so that growing copies nothing and unused ranges take no memory. */
export class PagedArray<T extends number | bigint> {
  readonly #newPage: (size: number) => Page<T>;
  readonly #pages: Page<T>[] = [];

  /** `newPage` returns a typed array of zeros. */
  constructor(newPage: (size: number) => Page<T>) {
    this.#newPage = newPage;
  }

  /** Returns the number of a row; 0 or undefined if it was never set. */
  get(row: number): T | undefined {
    return this.#pages[Math.floor(row / PAGE_SIZE)]?.[row % PAGE_SIZE];
  }

  set(row: number, value: T): void {
    const index = Math.floor(row / PAGE_SIZE);
    this.#pages[index] ??= this.#newPage(PAGE_SIZE);
    (this.#pages[index] as Page<T>)[row % PAGE_SIZE] = value;
  }

  /** Returns the rows whose number is not 0, in order; empty pages are skipped. */
  *entries(): Generator<[row: number, value: T], void, void> {
    for (const [index, page] of Object.entries(this.#pages)) {
      for (let offset = 0; offset < PAGE_SIZE; offset++) {
        const value = page[offset];
        if (value) yield [Number(index) * PAGE_SIZE + offset, value];
      }
    }
  }
}
