/**
 * The progress of runs and batches: the views that show it, its texts, which the live line (live.ts) shares, and the views
 * without a terminal, a line for each change, and one a minute while nothing changes.
 */
import { type State, statusText, stepsText, wordOf } from '../../outcome/outcome.js';
import type { Clock } from '../../platform/context.js';
import type { Run } from '../../service/run.js';
import { formatBytes, formatCount, formatDuration } from '../../text/quantity.js';
import { sanitize, sanitizeLines } from '../../text/sanitize.js';

/** One of several runs, as people know it. */
export interface WatchedRun {
  id: string;
  /** The row of a batch, or the name of its workflow, if known. */
  name: string | undefined;
}

/** How much of a request body has been sent, in bytes. */
export interface Upload {
  sent: number;
  total: number;
  /** Whether documents are encoded in it, so that it is larger than their files. */
  isBase64: boolean;
}

/** Shows the progress of runs until it is stopped. */
export interface ProgressView {
  sending(upload: Upload): void;
  waiting(text: string): void;
  seen(id: string, run: Run): void;
  /** The run has ended, or is no longer watched. */
  done(id: string): void;
  stop(): void;
}

/** Returns `RUNNING  2 of 4 steps`, or the status alone where the number of steps is not valid. */
export function runText(run: Run): string {
  return [statusText(run), stepsText(run)].filter((text) => text !== '').join('  ');
}

/** Returns `12 MB of 419 MB (as base64)`. */
export function uploadText({ sent, total, isBase64 }: Upload): string {
  return `${formatBytes(sent)} of ${formatBytes(total)}${isBase64 ? ' (as base64)' : ''}`;
}

/** The order in which statuses are counted; others come last. */
const COUNTED: readonly string[] = ['FINISHED', 'FAILED', 'RUNNING', 'PENDING'];

/** Returns `5 runs: 2 FINISHED, 1 FAILED, 1 RUNNING, 1 not read`; `unread` are those that could not be read. */
export function severalRunsText(runs: readonly Run[], total: number, unread: number): string {
  const counts = new Map(COUNTED.map((status) => [status, 0]));
  for (const status of runs.map(statusText)) counts.set(status, (counts.get(status) ?? 0) + 1);
  const seen = [...counts].filter(([, count]) => count > 0).map(([status, count]) => `${count} ${status}`);
  if (unread > 0) seen.push(`${unread} not read`);
  return [`${total} runs`, seen.join(', ')].filter(Boolean).join(': ');
}

/** How many rows have a state, by the word for it. */
export type WordCount = readonly [word: string, count: number];

/** How many rows are in each state, of those read so far. */
export interface BatchCounts {
  /** Rows of the table; undefined until it has been read. */
  total: number | undefined;
  /** Rows that have ended, by the word for their state: first those that finished. */
  ended: readonly WordCount[];
  running: number;
  /** Rows that were done since this command started. */
  endedNow: number;
  /** Set while requests wait for a service that is too busy, which `status` says, or cannot be reached. */
  wait: { status: number | undefined; until: number } | undefined;
}

/** How a row ended. */
export interface EndedRow {
  label: string;
  state: State;
  /** The id of its run, if it has one. */
  id: string | undefined;
  /** Why it did not finish, not yet sanitized; empty if it did. */
  reason: string;
}

/** Shows the progress of a batch until it is stopped. */
export interface BatchView {
  /** A row is done; `isProblem` if it did not succeed, and will not without the user. */
  rowDone(row: EndedRow, isProblem: boolean): void;
  stop(): void;
}

/** Returns `rows.csv:12  failed  5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e  Check credit: too low`. */
export function rowText({ label, state, id, reason }: EndedRow): string {
  const detail = reason === '' ? [] : [sanitizeLines(reason).join('; ')];
  return [sanitize(label), wordOf(state), ...(id === undefined ? [] : [sanitize(id)]), ...detail].join('  ');
}

/** Returns `120/1,000  116 finished, 3 failed, 1 unknown  8 running, 872 waiting`. */
function batchText(counts: BatchCounts, now: number): string {
  return [doneText(counts), endedText(counts), waitText(counts, now), openText(counts)]
    .filter((text) => text !== '')
    .join('  ');
}

/** Returns how many rows have ended. */
export function countDone({ ended }: Pick<BatchCounts, 'ended'>): number {
  return ended.reduce((sum, [, count]) => sum + count, 0);
}

/** Returns `120/1,000`. */
export function doneText(counts: BatchCounts): string {
  const done = formatCount(countDone(counts));
  return counts.total === undefined ? `${done} done` : `${done}/${formatCount(counts.total)}`;
}

/** Returns `116 finished, 3 failed, 1 unknown`; empty if no row has ended. */
export function endedText({ ended }: Pick<BatchCounts, 'ended'>): string {
  return ended.map(countText).join(', ');
}

/** Returns `3 failed`. */
export function countText([word, count]: WordCount): string {
  return `${formatCount(count)} ${word}`;
}

const isFinished = ([word]: WordCount) => word === wordOf('finished');

/** Returns `116 finished`; empty if none did. */
export function finishedText({ ended }: BatchCounts): string {
  return endedText({ ended: ended.filter(isFinished) });
}

/** Returns `4 problems` for narrow terminals; with one outcome, its word. */
export function problemsText({ ended }: BatchCounts): string {
  const problems = ended.filter((count) => !isFinished(count));
  return problems.length < 2 ? endedText({ ended: problems }) : `${countDone({ ended: problems })} problems`;
}

/** Returns `8 running, 872 waiting`. */
export function openText(counts: BatchCounts): string {
  const { running, total } = counts;
  const waiting = total === undefined ? 0 : Math.max(0, total - countDone(counts) - running);
  const open = [runningText(counts), ...(waiting > 0 ? [`${formatCount(waiting)} waiting`] : [])];
  return open.filter((text) => text !== '').join(', ');
}

/** Returns `8 running`; empty if there are none. */
export function runningText({ running }: BatchCounts): string {
  return running > 0 ? `${formatCount(running)} running` : '';
}

/** Returns `service busy (503): waiting 4s`; empty if requests need not wait. `now` is monotonic (ms). */
export function waitText({ wait }: BatchCounts, now: number): string {
  if (wait === undefined) return '';
  const { status, until } = wait;
  const service = status === undefined ? 'service unreachable' : `service busy (${status})`;
  const seconds = Math.ceil((until - now) / 1_000);
  return seconds > 0 ? `${service}: waiting ${formatDuration(seconds * 1_000).replace('.0', '')}` : service;
}

/** Interval of the lines that show no change (ms). */
const HEARTBEAT = 60_000;

/** Prints lines with the time, and `summary` while nothing changes; `now` is monotonic (ms). */
function plainLines(write: (line: string) => void, clock: Clock, summary: (now: number) => string) {
  const print = (text: string) => write(withTimestamp(text, clock));
  let stop = () => {};
  const restartHeartbeat = () => {
    stop();
    stop = clock.after(HEARTBEAT, () => {
      print(summary(clock.monotonic()));
      restartHeartbeat();
    });
  };
  restartHeartbeat();
  return { print, restartHeartbeat, stop: () => stop() };
}

/** Prints a line for each change of so many runs. */
export function plainProgress(write: (line: string) => void, clock: Clock, total: number): ProgressView {
  const latest = new Map<string, Run>();
  let message = 'Connecting';
  const { print, restartHeartbeat, stop } = plainLines(write, clock, () => {
    const runs = [...latest.values()];
    const [first] = runs;
    if (first === undefined) return message;
    return total > 1 ? severalRunsText(runs, total, 0) : runText(first);
  });
  return {
    sending(upload) {
      message = `Sending  ${uploadText(upload)}`;
    },
    waiting(text) {
      message = text;
    },
    seen(id, run) {
      const before = latest.get(id);
      latest.set(id, run);
      const text = runText(run);
      if (before !== undefined && runText(before) === text) return;
      print(total > 1 ? `${sanitize(id)}  ${text}` : text);
      restartHeartbeat();
    },
    done() {},
    stop,
  };
}

/** Prints a line for each row that is done, and one a minute with the counts. */
export function plainBatch(
  write: (line: string) => void,
  clock: Clock,
  counts: () => BatchCounts,
): BatchView {
  const { print, stop } = plainLines(write, clock, (now) => batchText(counts(), now));
  return { rowDone: (row) => print(rowText(row)), stop };
}

/** Returns a line with the time (UTC) before it. */
export function withTimestamp(text: string, clock: Clock): string {
  return `${new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')} ${text}`;
}
