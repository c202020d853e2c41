/** Runs the rows of a batch, several at a time, until all are done, a signal arrives, or the batch cannot continue. */

import { setMaxListeners } from 'node:events';
import { InterruptedError, UsageError } from '../../errors.js';
import { type Exit, ExitCode, exitOfSeveral } from '../../exit-code.js';
import { type DigestFile, fileDigester } from '../../inputs/file-digests.js';
import { factsOf } from '../../outcome/describe-error.js';
import { countWords, exitOfError, STATES, wordOf } from '../../outcome/outcome.js';
import { OutputError } from '../../platform/system-error.js';
import { ROW_STATES, type RowState, shownState } from '../../runs/log/reduce.js';
import type { Row } from '../../table/row.js';
import { pluralize } from '../../text/quantity.js';
import { sanitize } from '../../text/sanitize.js';
import type { BatchCounts, BatchProgress } from '../../view/progress/progress.js';
import { type BatchTools, type RowResult, rowRunner } from './row.js';
import { type RecordedTable, recordTable } from './row-source.js';
import { NO_RUN } from './unknown-rows.js';

export class BatchRun {
  /** Undefined until it is recorded. */
  table: RecordedTable | undefined;
  readonly runner: ReturnType<typeof rowRunner>;
  /** How the rows of this command ended. */
  readonly #exits = new Set<Exit>();
  /** How many of them are in each state. */
  readonly #ended = new Map<RowState, number>();
  /** The rows in progress; once the results cannot be written, it keeps those that were in progress then. */
  readonly #inProgress = new Set<number>();
  /** How long the service asked to wait, at most (ms). */
  retryAfter: number | undefined;
  /** The first error that ended the batch early: no further rows are sent, those in progress wait for their responses. */
  failure: unknown;

  readonly #tools: BatchTools;
  readonly #digestFile: DigestFile;

  constructor(tools: BatchTools) {
    this.#tools = tools;
    const { log, gate, session } = tools;
    const { context, interruption } = session;
    const { signal } = interruption;
    this.#digestFile = fileDigester(log.recorded.salt, context, signal);
    const stopWatching = AbortSignal.any([signal, log.failed, gate.givenUp]);
    // Every watched run adds a listener.
    setMaxListeners(0, stopWatching);
    this.runner = rowRunner(tools, () => this.#isStopped(), stopWatching, this.#digestFile);
  }

  /**
   * Reads all rows and records them; a signal or a full disk prevents that, and leaves the table undefined. Throws UsageError
   * for a mistake in the table, before any row is sent.
   */
  async prepare(): Promise<void> {
    const { log, session } = this.#tools;
    try {
      this.table = await session.interruption.raceToEnd(recordTable(this.#tools, this.#digestFile));
    } catch (error) {
      if (error instanceof UsageError) log.record({ event: 'stopped', code: error.code });
      if (error instanceof OutputError) this.failure ??= error;
      else if (!(error instanceof InterruptedError)) throw error;
    }
  }

  /** Runs the rows. An error that ends the batch early is not thrown: it becomes the `failure`. */
  async run(table: RecordedTable, view: BatchProgress): Promise<void> {
    const { log, plan } = this.#tools;
    const work = (row: Row) => this.#runRow(row, view);
    try {
      await forEachConcurrent(table.rows(), plan.concurrency, work, () => this.#isStopped());
    } catch (error) {
      if (error instanceof UsageError) {
        log.record({ event: 'stopped', code: error.code });
        this.failure ??= error;
        return;
      }
      // A signal ends the reading of the table.
      if (!(error instanceof InterruptedError)) throw error;
    }
    log.record(table.summaryOf(this.runner.counts.unsent));
    // What a command that does not come to its end has found does not count. An empty table may be a mistake.
    if (table.total !== 0 && !isUnfinished(exitOfSeveral(this.exits()))) log.record({ event: 'completed' });
  }

  counts(): BatchCounts {
    const { log, gate } = this.#tools;
    const { rows, awaiting } = log;
    const ended: [word: string, count: number][] = [];
    for (const [state, known] of rows.counts()) {
      if (state === 'waiting' || STATES[shownState(state)].tone === 'open') continue;
      // Rows that an earlier command could not send wait to be sent again.
      const isLeft = ROW_STATES[state] === 'send';
      const count = isLeft
        ? (this.#ended.get(state) ?? 0)
        : known - (state === 'unknown' ? awaiting.size : 0);
      ended.push([wordOf(shownState(state)), count]);
    }
    return {
      total: this.table?.total,
      ended: countWords(ended),
      running: rows.count('running') + awaiting.size,
      endedNow: [...this.#ended.values()].reduce((sum, count) => sum + count, 0),
      wait: gate.wait,
    };
  }

  /** The exits of the rows, and of what ended the batch early. */
  exits(): Exit[] {
    const { files, session } = this.#tools;
    const { received } = session.interruption;
    const failures = [this.failure, files?.failure].filter((failure) => failure !== undefined);
    const exits = [...this.#exits, ...failures.map((failure) => exitOfError(factsOf(failure)))];
    return received === undefined ? exits : [...exits, received];
  }

  /** Why the batch ended early, and which rows were in progress, as lines for the summary. */
  notes(): string[] {
    const { log, gate, session, files } = this.#tools;
    const running = log.rows.count('running');
    const continued = running === 0 ? '' : ` Still running at the service: ${pluralize(running, 'run')}.`;
    const notes = [...(this.table?.notes ?? []), ...(gate.stopReason ?? [])];
    if (session.interruption.received !== undefined) notes.push(`Interrupted.${continued}`);
    const rows = [...this.#inProgress].flatMap((row) => this.#describeUnrecorded(row));
    const unsaved = files?.unsaved ?? 0;
    if (unsaved > 0) notes.push(`The files of ${pluralize(unsaved, 'row')} were not saved.`);
    if (rows.length > 0) notes.push(`In progress when it stopped: ${rows.join(', ')}.`);
    return notes;
  }

  /** A row whose outcome the results may not have, with the id of its run. */
  #describeUnrecorded(row: number): string[] {
    const { rows } = this.#tools.log;
    const state = rows.state(row);
    const label = sanitize(rows.label(row));
    if (state === 'unknown') return [`${label} (no response)`];
    return state === 'running' ? [`${label} (${sanitize(rows.id(row) ?? '')})`] : [];
  }

  async #runRow(row: Row, view: BatchProgress): Promise<void> {
    if (this.#isLeft(row)) return;
    this.#inProgress.add(row.number);
    try {
      const result = await this.runner.run(row);
      if (result !== undefined) this.#rowEnded(row, result, view);
    } catch (error) {
      this.failure ??= error;
    }
    if (!(this.failure instanceof OutputError)) this.#inProgress.delete(row.number);
  }

  /** Whether the command that says that no run of a row was created leaves it as it is. */
  #isLeft({ number }: Row): boolean {
    const { plan, log } = this.#tools;
    const isLeft = plan.adoptions.some(({ row, id }) => row === number && id === NO_RUN);
    if (isLeft && log.rows.state(number) === 'waiting') this.#exits.add(STATES.waiting.exit);
    return isLeft;
  }

  #rowEnded({ number, label }: Row, { exit, id, reason, error }: RowResult, view: BatchProgress): void {
    const { log, gate } = this.#tools;
    const { rows } = log;
    // How a row ended that is gone says nothing of the table.
    if (rows.state(number) !== 'gone') this.#exits.add(exit);
    const { retryAfter } = error?.response ?? {};
    if (retryAfter !== undefined) this.retryAfter = Math.max(this.retryAfter ?? 0, retryAfter);
    const state = rows.recordedState(number);
    this.#ended.set(state, (this.#ended.get(state) ?? 0) + 1);
    const isProblem = typeof exit === 'number' && exit !== ExitCode.ok && exit !== ExitCode.stillRunning;
    view.rowDone({ label, state: shownState(state), id, reason }, isProblem);
    if (this.failure === undefined) gate.rowEnded(exit, error);
  }

  #isStopped(): boolean {
    const { gate, session } = this.#tools;
    const { received } = session.interruption;
    return this.failure !== undefined || gate.stopReason !== undefined || received !== undefined;
  }
}

/** Returns whether a command that ends so did not come to its end. */
function isUnfinished(exit: Exit): boolean {
  return typeof exit === 'string' || exit === ExitCode.internalError || exit === ExitCode.outputNotWritten;
}

/**
 * Calls `work` for each item, at most `limit` at a time, reading the next item only when a slot is free; reads no more
 * once `isStopped`. Resolves when all started work is done, then throws what `items` threw. `work` must not throw.
 */
async function forEachConcurrent<T>(
  items: AsyncIterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
  isStopped: () => boolean,
): Promise<void> {
  let running = 0;
  let wake = () => {};
  const done = () => {
    running--;
    wake();
  };
  try {
    for await (const item of items) {
      if (isStopped()) break;
      running++;
      void work(item).finally(done);
      if (running >= limit) await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    while (running > 0) await new Promise<void>((resolve) => (wake = resolve));
  }
}
