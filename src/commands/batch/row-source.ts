/** The rows of a batch on their way from the table to the runner, counted for the progress display. */
import type { Row } from '../../batch/row.js';
import { type BatchPlan, shardRows } from './plan.js';

export class RowSource {
  readonly #plan: BatchPlan;
  #total: number | undefined;
  #read = 0;

  constructor(plan: BatchPlan) {
    this.#plan = plan;
    const { table, shard } = plan;
    if (table.size !== undefined) this.#total = Math.floor((table.size - shard.index) / shard.count) + 1;
  }

  /** The number of rows of this shard; undefined until it is known. */
  get total(): number | undefined {
    return this.#total;
  }

  /** The number of rows that were read by `rows`. */
  get read(): number {
    return this.#read;
  }

  /** Reads the rows of this shard; at the end, calls `onEnd` with the number of rows of the whole table. */
  async *rows(onEnd: (tableRows: number) => void): AsyncGenerator<Row, void, void> {
    let tableRows = 0;
    const onRow = (number: number) => {
      tableRows = number;
    };
    for await (const row of shardRows(this.#plan, onRow)) {
      this.#read++;
      yield row;
    }
    this.#total = this.#read;
    onEnd(tableRows);
  }

  /** Reads the table ahead of `rows` to set `total`. Never throws: `rows` reports what is wrong with the table. */
  async countAhead(isStopped: () => boolean): Promise<void> {
    let count = 0;
    try {
      for await (const _row of shardRows(this.#plan)) {
        count++;
        if (isStopped()) return;
      }
      this.#total ??= count;
    } catch {
      // The total stays unknown.
    }
  }
}
