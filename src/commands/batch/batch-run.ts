/** The rows of a batch, under way: so many at once, until they are done or cannot go on. */
import { setMaxListeners } from 'node:events';
import { forEachConcurrent } from '../../batch/for-each-concurrent.js';
import type { Journal } from '../../batch/journal/journal.js';
import type { Reachability } from '../../batch/reachability.js';
import type { Row } from '../../batch/row.js';
import type { RowStates } from '../../batch/row-states.js';
import { OutputError, UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { sanitize } from '../../text/sanitize.js';
import { resendHint } from '../../view/errors/describe-error.js';
import type { BatchCounts, BatchView } from '../../view/progress/batch-progress.js';
import type { Session } from '../shared/session.js';
import { type BatchPlan, shardRows } from './plan.js';
import { RowRunner } from './row.js';

/** So many rows in succession that could not be triggered, although the service was reached, mean that no other can. */
const MOST_UNREACHABLE = 20;

export class BatchRun {
  readonly exits = new Set<Exit>();
  readonly notes: string[] = [];
  failure: unknown;
  readonly #plan: BatchPlan;
  readonly #rowStates: RowStates;
  readonly #journal: Journal;
  readonly #reachability: Reachability;
  readonly #session: Session;
  #total: number | undefined;
  #read = 0;
  #endedNow = 0;
  #unreachable = 0;
  #isStopped = false;
  readonly #underWay = new Set<number>();
  /** The rows that were under way when the results could no longer be written. */
  #leftUnderWay: readonly number[] = [];
  #runner: RowRunner | undefined;

  constructor(
    plan: BatchPlan,
    rowStates: RowStates,
    journal: Journal,
    reachability: Reachability,
    session: Session,
  ) {
    this.#plan = plan;
    this.#rowStates = rowStates;
    this.#journal = journal;
    this.#reachability = reachability;
    this.#session = session;
    const { table, shard } = plan;
    if (table.size !== undefined) this.#total = Math.floor((table.size - shard.index) / shard.count) + 1;
  }

  counts(): BatchCounts {
    const count = this.#rowStates.count.bind(this.#rowStates);
    const awaiting = this.#runner?.awaiting ?? 0;
    return {
      total: this.#total,
      read: this.#read,
      finished: count('finished'),
      failed: count('failed') + count('bad') + count('lost'),
      refused: count('refused'),
      running: count('accepted') + awaiting,
      unknown: count('sent') - awaiting,
      endedNow: this.#endedNow,
    };
  }

  /** The batch cannot go on: answers that are under way are still waited for. */
  fail(error: unknown): void {
    if (this.failure === undefined && error instanceof OutputError) this.#leftUnderWay = [...this.#underWay];
    this.failure ??= error;
    this.#isStopped = true;
    this.exits.add(error instanceof OutputError ? ExitCode.cannotWrite : ExitCode.usage);
  }

  async run(view: BatchView): Promise<void> {
    const ended = (row: Row, words: string) => {
      this.#endedNow++;
      view.ended(`row ${row.number}  ${words}`);
    };
    const ending = AbortSignal.any([this.#session.interruption.signal, this.#journal.failed]);
    // Each run that is watched listens.
    setMaxListeners(0, ending);
    const runner = new RowRunner(this.#plan, {
      session: this.#session,
      journal: this.#journal,
      rowStates: this.#rowStates,
      reachability: this.#reachability,
      ending,
      ended,
    });
    this.#runner = runner;
    const work = async (row: Row) => {
      this.#underWay.add(row.number);
      await this.#settle(runner.run(row));
      this.#underWay.delete(row.number);
    };
    if (this.#plan.presentation.live && this.#total === undefined) void this.#count();
    try {
      await forEachConcurrent(this.#rows(), this.#plan.concurrency, work, () => this.#hasToStop());
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      this.fail(error);
    }
  }

  /** Reads the table ahead, so that a person sees how much there is to do; what is wrong with it shows when its turn comes. */
  async #count(): Promise<void> {
    let count = 0;
    try {
      for await (const _row of shardRows(this.#plan)) {
        count++;
        if (this.#hasToStop()) return;
      }
      this.#total ??= count;
    } catch {
      // Then it stays unknown.
    }
  }

  async *#rows() {
    let last = 0;
    const onRow = (number: number) => {
      last = number;
    };
    for await (const row of shardRows(this.#plan, onRow)) {
      this.#read++;
      yield row;
    }
    this.#total = this.#read;
    this.#journal.append({ event: 'table', rows: last });
  }

  async #settle(work: Promise<Exit | undefined>): Promise<void> {
    try {
      const exit = await work;
      if (exit !== undefined) this.#take(exit);
    } catch (error) {
      this.fail(error);
    }
  }

  #take(exit: Exit): void {
    this.exits.add(exit);
    this.#unreachable = exit === ExitCode.unreachable ? this.#unreachable + 1 : 0;
    if (exit === ExitCode.notAuthorized)
      this.#stop('The service refused the token: no further row was sent.');
    if (this.#reachability.hasGivenUp || this.#unreachable >= MOST_UNREACHABLE)
      this.#stop('The service cannot be reached: no further row was sent.');
    const unknown = this.#runner?.stopReason;
    if (unknown !== undefined) {
      const note = 'The outcome of 5 rows in a row is unknown: no further row was sent.';
      this.#stop(note, ...resendHint(unknown));
    }
    if (this.#plan.failFast && exit !== ExitCode.ok)
      this.#stop('A row failed, and --fail-fast: no further row was sent.');
  }

  #stop(...notes: string[]): void {
    if (!this.#isStopped) this.notes.push(...notes);
    this.#isStopped = true;
  }

  /** How it stopped early, if a signal ended it. */
  endBySignal(): void {
    const { received } = this.#session.interruption;
    if (received === undefined) return;
    this.exits.add(received);
    const when = this.#total === undefined ? ' before the end of the table' : '';
    this.notes.push(`Interrupted${when}: the same command goes on with what is left.`);
  }

  /** Names the rows whose fate the results may not tell, with the ids of their runs. */
  noteUnderWay(): void {
    const rows = this.#leftUnderWay.flatMap((row) => {
      const state = this.#rowStates.state(row);
      if (state === 'sent') return [`row ${row} (no answer)`];
      return state === 'accepted' ? [`row ${row} (${sanitize(this.#rowStates.id(row) ?? '')})`] : [];
    });
    if (rows.length > 0) this.notes.push(`Under way when it stopped: ${rows.join(', ')}.`);
  }

  #hasToStop(): boolean {
    return this.#isStopped || this.#session.interruption.received !== undefined;
  }
}
