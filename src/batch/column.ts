/** A number for each row of a table that may have millions. */

interface Page<T> {
  [index: number]: T;
}

const PAGE_SIZE = 16_384;

/** Grows by pages, so that nothing is copied and no more is held than is used. */
export class Column<T extends number | bigint> {
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
}
