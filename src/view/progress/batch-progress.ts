/** The progress of a batch as text. */

import { type State, wordOf } from '../../outcome/outcome.js';
import { formatDuration } from '../../text/duration.js';
import { formatCount } from '../../text/quantity.js';
import { sanitize, sanitizeLines } from '../../text/sanitize.js';

/** How many rows are in each state, of those read so far. */
export interface BatchCounts {
  /** Rows of the table; undefined until it has been read. */
  total: number | undefined;
  finished: number;
  /** Rows that did not succeed, by the word for their state. */
  problems: readonly (readonly [word: string, count: number])[];
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

/** Returns `120/1,000  3 failed, 1 unknown  8 running, 872 waiting`. */
export function batchText(counts: BatchCounts, now: number): string {
  return [doneText(counts), problemsText(counts), waitText(counts, now), openText(counts)]
    .filter((text) => text !== '')
    .join('  ');
}

/** Returns how many rows have ended. */
export function countDone({ finished, problems }: BatchCounts): number {
  return problems.reduce((sum, [, count]) => sum + count, finished);
}

/** Returns `120/1,000`. */
export function doneText(counts: BatchCounts): string {
  const done = formatCount(countDone(counts));
  return counts.total === undefined ? `${done} done` : `${done}/${formatCount(counts.total)}`;
}

/** Returns `3 failed, 1 unknown`; empty if there are none. */
export function problemsText({ problems }: BatchCounts): string {
  return problems.map(([word, count]) => `${formatCount(count)} ${word}`).join(', ');
}

/** Returns `4 problems` for narrow terminals; with one outcome, its word. */
export function shortProblemsText(counts: BatchCounts): string {
  if (counts.problems.length < 2) return problemsText(counts);
  return `${formatCount(countDone(counts) - counts.finished)} problems`;
}

/** Returns `8 running, 872 waiting`. */
export function openText(counts: BatchCounts): string {
  const { running, total } = counts;
  const waiting = total === undefined ? 0 : Math.max(0, total - countDone(counts) - running);
  return [
    ...(running > 0 ? [`${formatCount(running)} running`] : []),
    ...(waiting > 0 ? [`${formatCount(waiting)} waiting`] : []),
  ].join(', ');
}

/** Returns `service busy (503): waiting 4s`; empty if requests need not wait. `now` is monotonic (ms). */
export function waitText({ wait }: BatchCounts, now: number): string {
  if (wait === undefined) return '';
  const { status, until } = wait;
  const service = status === undefined ? 'service unreachable' : `service busy (${status})`;
  const seconds = Math.ceil((until - now) / 1_000);
  return seconds > 0 ? `${service}: waiting ${formatDuration(seconds * 1_000).replace('.0', '')}` : service;
}
