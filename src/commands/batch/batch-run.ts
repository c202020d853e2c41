/** Runs the rows of a batch, several at a time, until all are done, a signal arrives, or the batch cannot continue. */

import { setMaxListeners } from 'node:events';
import { InterruptedError, throwUnless, UsageError } from '../../errors.js';
import { type Exit, ExitCode, exitOfSeveral } from '../../exit-code.js';
import { fileDigester } from '../../inputs/file-digests.js';
import { factsOf, rowReason } from '../../outcome/describe-error.js';
import { countWords, exitOfError, STATES, wordOf } from '../../outcome/outcome.js';
import { OutputError } from '../../platform/system-error.js';
import { nextAction, ROW_STATES, type RowState } from '../../runs/log/reduce.js';
import type { Row } from '../../table/row.js';
import { pluralize } from '../../text/quantity.js';
import { withoutLabel } from '../../text/row-label.js';
import { sanitize } from '../../text/sanitize.js';
import type { BatchCounts, BatchProgress } from '../../view/progress/progress.js';
import { type BatchTools, type RowResult, rowRunner } from './row.js';
import { type RecordedTable, recordTable } from './row-source.js';
import { NO_RUN } from './unknown-rows.js';

/** Returns the run of a batch. */
export function createBatchRun(tools: BatchTools) {
  const { plan, log, gate, session, files } = tools;
  const { context, interruption } = session;
  const { rows, awaiting } = log;
  /** Undefined until it is recorded. */
  let table: RecordedTable | undefined;
  /** How the rows of this command ended. */
  const rowExits = new Set<Exit>();
  /** How many of them are in each state. */
  const endedNow = new Map<RowState, number>();
  /** How many of them had not ended before this command read them. */
  let paced = 0;
  /** The rows in progress; once the results cannot be written, it keeps those that were in progress then. */
  const inProgress = new Set<number>();
  let longestWait: number | undefined;
  let failure: unknown;

  const digestFile = fileDigester(log.recorded.salt, context, interruption.signal);
  const stopWatching = AbortSignal.any([interruption.signal, log.failed, gate.givenUp]);
  // Every watched run adds a listener.
  setMaxListeners(0, stopWatching);
  const runner = rowRunner(tools, { isStopped, stopWatching, digestFile });

  return {
    prepare,
    run,
    counts,
    exits,
    notes,
    fail,
    runner,

    /** The first error that ended the batch early: no further rows are sent, those in progress wait for their responses. */
    get failure() {
      return failure;
    },

    /** How long the service asked to wait, at most (ms). */
    get retryAfter() {
      return longestWait;
    },
  };

  function fail(error: unknown): void {
    failure ??= error;
  }

  /**
   * Reads all rows and records them. Returns undefined if a signal or a full disk prevents that. Throws UsageError for a
   * mistake in the table, before any row is sent.
   */
  async function prepare(): Promise<RecordedTable | undefined> {
    try {
      table = await interruption.raceToEnd(recordTable(tools, digestFile));
    } catch (error) {
      if (error instanceof UsageError) log.record({ event: 'stopped', code: error.facts.code });
      if (error instanceof OutputError) fail(error);
      else if (!(error instanceof InterruptedError)) throw error;
    }
    return table;
  }

  /** Runs the rows. An error that ends the batch early is not thrown: it becomes the `failure`. */
  async function run(recorded: RecordedTable, view: BatchProgress): Promise<void> {
    for (const { state, count, rows: listed, ...reason } of rows.reasons(isLeftAlone))
      view.problem({ label: rows.label(listed[0] ?? 0), state, reason }, count);
    try {
      await forEachConcurrent(recorded.rows(), plan.concurrency, (row) => runRow(row, view), isStopped);
    } catch (error) {
      if (error instanceof UsageError) {
        log.record({ event: 'stopped', code: error.facts.code });
        return fail(error);
      }
      // A signal ends the reading of the table.
      throwUnless(error, InterruptedError);
    }
    log.record(recorded.summaryOf(runner.counts.unsent));
    // What a command that does not come to its end has found does not count. An empty table may be a mistake.
    if (recorded.total !== 0 && !isUnfinished(exitOfSeveral(exits()))) log.record({ event: 'completed' });
  }

  function counts(): BatchCounts {
    const ended: [word: string, count: number][] = [];
    for (const [state, known] of rows.counts()) {
      if (state === 'waiting' || STATES[state].tone === 'open') continue;
      const again = ROW_STATES[state];
      // Rows that an earlier command could not send wait to be sent again, and so do those that this one retries.
      const isLeft = again === 'send' || (again === 'retry-failed' && plan.retryFailed === 'all');
      const count = isLeft ? (endedNow.get(state) ?? 0) : known - (state === 'unknown' ? awaiting.size : 0);
      ended.push([wordOf(state), count]);
    }
    return {
      total: table?.total ?? 0,
      ended: countWords(ended),
      running: rows.count('running') + awaiting.size,
      // A row that has just ended may still close its files.
      inProgress: [...inProgress]
        .filter((row) => awaiting.has(row) || rows.state(row) === 'running')
        .map(rows.label),
      left: runner.counts.left,
      paced,
      wait: gate.wait,
    };
  }

  /** The exits of the rows, and of what ended the batch early. */
  function exits(): Exit[] {
    const { received } = interruption;
    const failures = [failure, files?.failure].filter((error) => error !== undefined);
    const all = [...rowExits, ...failures.map((error) => exitOfError(factsOf(error)))];
    return received ? [...all, received] : all;
  }

  /** Why the batch ended early, and which rows were in progress, as lines for the summary. */
  function notes(): string[] {
    const running = rows.count('running');
    const continued = running === 0 ? '' : ` Still running at the service: ${pluralize(running, 'run')}.`;
    const lines = [...(table?.notes ?? [])];
    const { why, hints = [] } = gate.stopReason ?? {};
    // What stops the batch at its last row keeps no row from being sent.
    const hasUnsent = !table || rows.known < table.total || rows.count('waiting') > 0;
    if (why !== undefined && hasUnsent) lines.push(`${why}: no further rows were sent.`);
    lines.push(...hints, ...runner.advice);
    if (interruption.received) lines.push(`Interrupted.${continued}`);
    else if (running > 0 && rowExits.has(ExitCode.stillRunning))
      lines.push(`Stopped by --timeout.${continued}`);
    const unrecorded = [...inProgress].flatMap(describeUnrecorded);
    const unsaved = files?.counts.unsaved ?? 0;
    if (unsaved > 0) lines.push(`The files of ${pluralize(unsaved, 'row')} were not saved.`);
    if (unrecorded.length > 0) lines.push(`In progress when it stopped: ${unrecorded.join(', ')}.`);
    return lines;
  }

  /** A row whose outcome the results may not have, with the id of its run. */
  function describeUnrecorded(row: number): string[] {
    const state = rows.state(row);
    const label = sanitize(rows.label(row));
    if (state === 'unknown') return [`${label} (no response)`];
    return state === 'running' ? [`${label} (${sanitize(rows.id(row) ?? '')})`] : [];
  }

  async function runRow(row: Row, view: BatchProgress): Promise<void> {
    if (isLeftAlone(row.number) || isDecided(row)) return;
    inProgress.add(row.number);
    try {
      const result = await runner.run(row);
      if (result) rowEnded(row, result, view);
    } catch (error) {
      fail(error);
    }
    if (!(failure instanceof OutputError)) inProgress.delete(row.number);
  }

  function isLeftAlone(row: number): boolean {
    return nextAction(row, rows.state(row), plan) === 'skip';
  }

  /** Returns whether this command says that no run of a row was created, and leaves it as it is. */
  function isDecided({ number }: Row): boolean {
    const hasNoRun = plan.adoptions.some(({ row, id }) => row === number && id === NO_RUN);
    if (hasNoRun && rows.state(number) === 'waiting') rowExits.add(STATES.waiting.exit);
    return hasNoRun;
  }

  function rowEnded(
    { number, label }: Row,
    { exit, id, run, error, late }: RowResult,
    view: BatchProgress,
  ): void {
    // How a row ended that is gone says nothing of the table.
    if (rows.state(number) !== 'gone') rowExits.add(exit);
    const { retryAfter } = error?.response ?? {};
    if (retryAfter !== undefined) longestWait = Math.max(longestWait ?? 0, retryAfter);
    const state = rows.recordedState(number);
    endedNow.set(state, (endedNow.get(state) ?? 0) + 1);
    if (id !== undefined && !late) paced++;
    const reason = error ? { message: withoutLabel(rowReason(error), label) } : run?.error;
    const isProblem = typeof exit === 'number' && exit !== ExitCode.ok && exit !== ExitCode.stillRunning;
    if (isProblem) view.problem({ label, state, reason });
    view.rowDone({ label, state, id, reason });
    if (failure === undefined) gate.rowEnded(exit, error);
  }

  function isStopped(): boolean {
    return failure !== undefined || Boolean(gate.stopReason) || Boolean(interruption.received);
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
  const untilDone = () => new Promise<void>((resolve) => (wake = resolve));
  try {
    for await (const item of items) {
      if (isStopped()) break;
      running++;
      void work(item).finally(done);
      if (running >= limit) await untilDone();
    }
  } finally {
    while (running > 0) await untilDone();
  }
}
