/** Runs the rows of a batch, several at a time, until all are done, a signal arrives, or the batch cannot continue. */
import { setMaxListeners } from 'node:events';
import { forEachConcurrent } from '../../batch/for-each-concurrent.js';
import type { OpenResults } from '../../batch/journal/journal-file.js';
import { mayChange } from '../../batch/next-action.js';
import type { Reachability } from '../../batch/reachability.js';
import type { Row } from '../../batch/row.js';
import type { RowState } from '../../batch/row-states.js';
import { InterruptedError, OutputError, UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { sanitize } from '../../text/sanitize.js';
import type { BatchCounts, BatchView } from '../../view/progress/batch-progress.js';
import { outcomeOfState } from '../shared/row-summary.js';
import type { Session } from '../shared/session.js';
import type { BatchPlan } from './plan.js';
import { type RowResult, RowRunner } from './row.js';
import { RowSource } from './row-source.js';
import { StopPolicy } from './stop-policy.js';

/** The states of rows that ended without success. */
const PROBLEM_STATES: readonly RowState[] = [
  'failed',
  'rejected',
  'unauthorized',
  'invalid',
  'unreachable',
  'unknown',
  'lost',
];

export class BatchRun {
  readonly #plan: BatchPlan;
  readonly #results: OpenResults;
  readonly #session: Session;
  readonly #reachability: Reachability;
  readonly #source: RowSource;
  readonly #runner: RowRunner;
  readonly #policy: StopPolicy;
  /** How the rows of this command ended. */
  readonly #exits = new Set<Exit>();
  /** How many of them are in each state. */
  readonly #ended = new Map<RowState, number>();
  /** The rows in progress; once the results cannot be written, it keeps those that were in progress then. */
  readonly #inProgress = new Set<number>();
  /** What ended the batch early, in order. */
  readonly #failures: unknown[] = [];

  constructor(plan: BatchPlan, results: OpenResults, reachability: Reachability, session: Session) {
    this.#plan = plan;
    this.#results = results;
    this.#session = session;
    this.#source = new RowSource(plan);
    this.#policy = new StopPolicy(plan);
    this.#reachability = reachability;
    this.#runner = openRunner(plan, results, reachability, session, () => this.#isStopped());
  }

  /** Runs the rows. An error that ends the batch early is not thrown: it becomes the `failure`. */
  async run(view: BatchView): Promise<void> {
    const { concurrency } = this.#plan;
    const isStopped = () => this.#isStopped();
    // For the progress; and at the end, how many rows were not sent.
    const counting = this.#source.count();
    try {
      await forEachConcurrent(this.#source.rows(), concurrency, (row) => this.#runRow(row, view), isStopped);
    } catch (error) {
      if (error instanceof UsageError) return this.fail(error);
      // A signal ends the reading of the table.
      if (!(error instanceof InterruptedError)) throw error;
    }
    const rows = await counting;
    const event = this.#source.isRead ? 'table' : 'stopped';
    if (rows !== undefined) this.#results.journal.append({ event, rows });
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
    const problems = PROBLEM_STATES.flatMap((state) => {
      const known = rowStates.count(state) - (state === 'unknown' ? awaiting : 0);
      // Rows that an earlier command could not send wait to be sent again.
      const count = mayChange(state) && state !== 'rejected' ? (this.#ended.get(state) ?? 0) : known;
      return count > 0 ? [[outcomeOfState(state), count] as const] : [];
    });
    return {
      total: this.total,
      finished: rowStates.count('finished'),
      problems,
      running: rowStates.count('running') + awaiting,
      endedNow: [...this.#ended.values()].reduce((sum, count) => sum + count, 0),
      wait: this.#reachability.wait,
    };
  }

  /** The exits of the rows, and of what ended the batch early. */
  exits(): Exit[] {
    const { received } = this.#session.interruption;
    const failures = this.#failures.map((error) =>
      error instanceof OutputError ? ExitCode.outputNotWritten : ExitCode.usage,
    );
    return [...this.#exits, ...failures, ...(received === undefined ? [] : [received])];
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
    this.#exits.add(exit);
    const state = this.#results.rowStates.state(number);
    this.#ended.set(state, (this.#ended.get(state) ?? 0) + 1);
    const outcome = outcomeOfState(state);
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
  reachability: Reachability,
  session: Session,
  isStopped: () => boolean,
): RowRunner {
  const { interruption } = session;
  const stopWatching = AbortSignal.any([interruption.signal, journal.failed, reachability.givenUp]);
  // Every watched run adds a listener.
  setMaxListeners(0, stopWatching);
  return new RowRunner(plan, { session, journal, rowStates, reachability, stopWatching, isStopped });
}
