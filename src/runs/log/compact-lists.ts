/** Lists of something for each row, in a few bytes a row: a table may have millions of rows, or only one with a large number. */

const PAGE_SIZE = 1_024;
const pageOf = (row: number) => Math.floor(row / PAGE_SIZE);

/** Returns a list that grows by pages, so that growing copies nothing and unused ranges take no memory. */
export function createPagedArray<T>() {
  const pages: T[][] = [];
  return {
    get: (row: number): T | undefined => pages[pageOf(row)]?.[row % PAGE_SIZE],

    set(row: number, value: T): void {
      const index = pageOf(row);
      pages[index] ??= [];
      pages[index][row % PAGE_SIZE] = value;
    },

    /** Yields the rows that have a value, in order. */
    *entries(): Generator<[row: number, value: T], void, void> {
      for (const [index, page] of Object.entries(pages))
        for (const [offset, value] of Object.entries(page))
          yield [Number(index) * PAGE_SIZE + Number(offset), value];
    },
  };
}

/** Bytes of a digest. */
const SIZE = 16;
const NONE = '0'.repeat(2 * SIZE);

export type DigestList = ReturnType<typeof createDigestList>;

/** Returns a list of a digest for each row, 32 hexadecimal digits: a string for each would take several times the memory. */
export function createDigestList() {
  const pages: Buffer[] = [];
  const list = {
    /** At least the number of rows that have a digest. */
    size: 0,

    get(row: number): string | undefined {
      const start = (row % PAGE_SIZE) * SIZE;
      const digest = pages[pageOf(row)]?.toString('hex', start, start + SIZE);
      return digest === NONE ? undefined : digest;
    },

    set(row: number, digest: string): void {
      const index = pageOf(row);
      pages[index] ??= Buffer.alloc(PAGE_SIZE * SIZE);
      pages[index].write(digest, (row % PAGE_SIZE) * SIZE, 'hex');
      list.size++;
    },

    /** Yields the rows that have a digest, in order. */
    *entries(): Generator<[row: number, digest: string], void, void> {
      for (const index of Object.keys(pages)) {
        for (let offset = 0; offset < PAGE_SIZE; offset++) {
          const row = Number(index) * PAGE_SIZE + offset;
          const digest = list.get(row);
          if (digest !== undefined) yield [row, digest];
        }
      }
    },
  };
  return list;
}

export type DigestIndex = ReturnType<typeof createDigestIndex>;

/** Returns what finds rows of a list by their digest: a hash table, as a Map would take several times the memory. */
export function createDigestIndex(list: DigestList) {
  const size = list.size + 1;
  /** The row of each entry, from 1. */
  const rows = new Uint32Array(size);
  /** By entry, the one before it with the same hash; by hash, above all entries, the last one. */
  const before = new Uint32Array(2 * size);
  let count = 0;
  /** Digests are keyed, so that nobody can choose ones with the same hash. */
  const hashOf = (digest = '0') => size + (Number.parseInt(digest.slice(0, 8), 16) % size);
  return {
    /** Adds a row of the list, once; it is found before those that were added earlier. */
    add(row: number): void {
      const hash = hashOf(list.get(row));
      rows[++count] = row;
      before[count] = before[hash] ?? 0;
      before[hash] = count;
    },

    /** Returns the row with a digest that was added last. With `isTaken`, it is not found again. */
    find(digest: string | undefined, isTaken = false): number | undefined {
      let after = hashOf(digest);
      let entry = before[after] ?? 0;
      while (entry !== 0 && list.get(rows[entry] ?? 0) !== digest) {
        after = entry;
        entry = before[entry] ?? 0;
      }
      if (entry === 0) return undefined;
      if (isTaken) before[after] = before[entry] ?? 0;
      return rows[entry];
    },
  };
}
