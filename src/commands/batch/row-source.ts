/** The rows of a batch on their way from the table to the runner, counted for the progress display and the summary. */
import type { Row } from '../../table/row.js';
import { type BatchPlan, shardRows } from './plan.js';

export class RowSource {
  readonly #plan: BatchPlan;
  #total: number | undefined;
  #isRead = false;

  constructor(plan: BatchPlan) {
    this.#plan = plan;
  }

  /** The number of rows of this shard; undefined until it is known. */
  get total(): number | undefined {
    return this.#total;
  }

  /** Whether `rows` has read all rows. */
  get isRead(): boolean {
    return this.#isRead;
  }

  /** Reads the rows of this shard. */
  async *rows(): AsyncGenerator<Row, void, void> {
    yield* shardRows(this.#plan);
    this.#isRead = true;
  }

  /**
   * Reads the table ahead of `rows` to set `total`, and resolves with the number of rows of the whole table. Never throws:
   * `rows` reports what is wrong with the table, and the number is undefined.
   */
  async count(): Promise<number | undefined> {
    let tableRows = 0;
    let rows = 0;
    const onRow = () => {
      tableRows++;
    };
    try {
      for await (const _row of shardRows(this.#plan, onRow)) rows++;
      this.#total = rows;
      return tableRows;
    } catch {
      return undefined;
    }
  }
}
