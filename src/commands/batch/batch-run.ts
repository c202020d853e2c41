/** Runs the rows of a batch, several at a time, until all are done, a signal arrives, or the batch cannot continue. */
import { setMaxListeners } from 'node:events';
import { forEachConcurrent } from '../../batch/for-each-concurrent.js';
import type { OpenResults } from '../../batch/journal/journal-file.js';
import { Reachability } from '../../batch/reachability.js';
import type { Row } from '../../batch/row.js';
import { OutputError, UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { sanitize } from '../../text/sanitize.js';
import type { BatchCounts, BatchView } from '../../view/progress/batch-progress.js';
import { outcomeOfState } from '../shared/row-summary.js';
import type { Session } from '../shared/session.js';
import type { BatchPlan } from './plan.js';
import { type RowResult, RowRunner } from './row.js';
import { RowSource } from './row-source.js';
import { StopPolicy } from './stop-policy.js';

export class BatchRun {
  readonly #plan: BatchPlan;
  readonly #results: OpenResults;
  readonly #session: Session;
  readonly #source: RowSource;
  readonly #runner: RowRunner;
  readonly #policy: StopPolicy;
  /** How many rows ended with each exit. */
  readonly #exits = new Map<Exit, number>();
  /** The rows in progress; once the results cannot be written, it keeps those that were in progress then. */
  readonly #inProgress = new Set<number>();
  /** What ended the batch early, in order. */
  readonly #failures: unknown[] = [];

  constructor(plan: BatchPlan, results: OpenResults, session: Session) {
    this.#plan = plan;
    this.#results = results;
    this.#session = session;
    this.#source = new RowSource(plan);
    this.#policy = new StopPolicy(plan);
    this.#runner = openRunner(plan, results, session, () => this.#isStopped());
  }

  /** Runs the rows. An error that ends the batch early is not thrown: it becomes the `failure`. */
  async run(view: BatchView): Promise<void> {
    const { concurrency } = this.#plan;
    const isStopped = () => this.#isStopped();
    // For the progress; and at the end, how many rows were not sent.
    const counting = this.#source.count();
    try {
      await forEachConcurrent(this.#source.rows(), concurrency, (row) => this.#runRow(row, view), isStopped);
      const rows = await counting;
      const event = this.#source.isRead ? 'table' : 'stopped';
      if (rows !== undefined) this.#results.journal.append({ event, rows });
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      this.fail(error);
    }
  }

  /** Sends no further rows; those in progress still wait for their responses. */
  fail(error: unknown): void {
    this.#failures.push(error);
  }

  /** The first error that ended the batch early. */
  get failure(): unknown {
    return this.#failures[0];
  }

  /** The number of rows, once it is known. */
  get total(): number | undefined {
    return this.#source.total;
  }

  counts(): BatchCounts {
    const { rowStates } = this.#results;
    const { awaiting } = this.#runner;
    return {
      total: this.total,
      finished: rowStates.count('finished'),
      failed: rowStates.count('failed') + rowStates.count('invalid') + rowStates.count('lost'),
      refused: rowStates.count('rejected'),
      running: rowStates.count('running') + awaiting,
      unknown: rowStates.count('unknown') - awaiting,
      endedNow: [...this.#exits.values()].reduce((sum, count) => sum + count, 0),
    };
  }

  /** The exits of the rows, and of what ended the batch early. */
  exits(): Exit[] {
    const { received } = this.#session.interruption;
    const failures = this.#failures.map((error) =>
      error instanceof OutputError ? ExitCode.outputNotWritten : ExitCode.usage,
    );
    return [...this.#exits.keys(), ...failures, ...(received === undefined ? [] : [received])];
  }

  /** Why the batch ended early, and which rows were in progress, as lines for the summary. */
  notes(): string[] {
    const notes = [...(this.#policy.reason ?? [])];
    if (this.#session.interruption.received !== undefined) notes.push('Interrupted.');
    const rows = [...this.#inProgress].flatMap((row) => this.#describeUnrecorded(row));
    if (rows.length > 0) notes.push(`In progress when it stopped: ${rows.join(', ')}.`);
    return notes;
  }

  /** A row whose outcome the results may not have, with the id of its run. */
  #describeUnrecorded(row: number): string[] {
    const { rowStates } = this.#results;
    const state = rowStates.state(row);
    const label = sanitize(rowStates.label(row));
    if (state === 'unknown') return [`${label} (no response)`];
    return state === 'running' ? [`${label} (${sanitize(rowStates.id(row) ?? '')})`] : [];
  }

  async #runRow(row: Row, view: BatchView): Promise<void> {
    this.#inProgress.add(row.number);
    try {
      const result = await this.#runner.run(row);
      if (result !== undefined) this.#rowEnded(row, result, view);
    } catch (error) {
      this.fail(error);
    }
    if (!(this.failure instanceof OutputError)) this.#inProgress.delete(row.number);
  }

  #rowEnded({ number, label }: Row, result: RowResult, view: BatchView): void {
    const { exit, id, reason = '' } = result;
    this.#exits.set(exit, (this.#exits.get(exit) ?? 0) + 1);
    const outcome = outcomeOfState(this.#results.rowStates.state(number));
    const isProblem = typeof exit === 'number' && exit !== ExitCode.ok && exit !== ExitCode.stillRunning;
    view.rowDone({ label, outcome, id, reason }, isProblem);
    if (this.failure === undefined) this.#policy.rowEnded(result, this.#runner);
  }

  #isStopped(): boolean {
    const { received } = this.#session.interruption;
    return this.failure !== undefined || this.#policy.reason !== undefined || received !== undefined;
  }
}

function openRunner(
  plan: BatchPlan,
  { journal, rowStates }: OpenResults,
  session: Session,
  isStopped: () => boolean,
): RowRunner {
  const { context, interruption, reporter } = session;
  const stopWatching = AbortSignal.any([interruption.signal, journal.failed]);
  // Every watched run adds a listener.
  setMaxListeners(0, stopWatching);
  const reachability = new Reachability(context.clock, interruption.signal, (cause, delay) =>
    reporter.waitingForService(cause, delay),
  );
  return new RowRunner(plan, { session, journal, rowStates, reachability, stopWatching, isStopped });
}
