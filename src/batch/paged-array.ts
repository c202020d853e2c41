/** A number for each row of a table that may have millions. */

interface Page<T> {
  [index: number]: T;
}

const PAGE_SIZE = 16_384;

/** Grows by pages, so that nothing is copied and no more is held than is used. */
export class PagedArray<T extends number | bigint> {
  readonly #newPage: (size: number) => Page<T>;
  readonly #pages: Page<T>[] = [];

  /** `newPage` gives an array of zeros, of the width that the numbers need. */
  constructor(newPage: (size: number) => Page<T>) {
    this.#newPage = newPage;
  }

  /** The number of a row; undefined far from any that was set. */
  get(row: number): T | undefined {
    return this.#pages[Math.floor(row / PAGE_SIZE)]?.[row % PAGE_SIZE];
  }

  set(row: number, value: T): void {
    const index = Math.floor(row / PAGE_SIZE);
    this.#pages[index] ??= this.#newPage(PAGE_SIZE);
    (this.#pages[index] as Page<T>)[row % PAGE_SIZE] = value;
  }

  /** The rows with a number other than 0, in their order; what no row was near costs nothing. */
  *entries(): Generator<[row: number, value: T], void, void> {
    for (const [index, page] of Object.entries(this.#pages)) {
      for (let offset = 0; offset < PAGE_SIZE; offset++) {
        const value = page[offset];
        if (value) yield [Number(index) * PAGE_SIZE + offset, value];
      }
    }
  }
}
