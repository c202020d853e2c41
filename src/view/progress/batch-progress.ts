/** The progress of a batch as text. */
import { sanitize, sanitizeLines } from '../../text/sanitize.js';
import type { Outcome } from '../outcome.js';

/** How many rows are in each state, of those read so far. */
export interface BatchCounts {
  /** Rows of the table; undefined until it has been read. */
  total: number | undefined;
  finished: number;
  failed: number;
  refused: number;
  running: number;
  unknown: number;
  /** Rows that were done since this command started. */
  endedNow: number;
}

/** How a row ended. */
export interface EndedRow {
  label: string;
  outcome: Outcome;
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
export function rowText({ label, outcome, id, reason }: EndedRow): string {
  const detail = reason === '' ? [] : [sanitizeLines(reason).join('; ')];
  return [sanitize(label), outcome, ...(id === undefined ? [] : [sanitize(id)]), ...detail].join('  ');
}

/** Returns `120 of 1,000 done, 3 failed, 8 running, 872 waiting, 1 unknown`. */
export function batchText(counts: BatchCounts): string {
  const { finished, failed, refused, running, unknown, total } = counts;
  const done = finished + failed + refused;
  const waiting = total === undefined ? 0 : Math.max(0, total - done - running - unknown);
  const parts: [number, string][] = [
    [failed + refused, 'failed'],
    [running, 'running'],
    [waiting, 'waiting'],
    [unknown, 'unknown'],
  ];
  const states = parts
    .filter(([count]) => count > 0)
    .map(([count, state]) => `${formatCount(count)} ${state}`);
  return [`${doneText(counts)} done`, ...states].join(', ');
}

/** Returns `120 of 1,000, 3 failed`, for narrow terminals. */
export function shortBatchText(counts: BatchCounts): string {
  const failed = counts.failed + counts.refused;
  return [doneText(counts), ...(failed > 0 ? [`${formatCount(failed)} failed`] : [])].join(', ');
}

function doneText({ finished, failed, refused, total }: BatchCounts): string {
  const of = total === undefined ? '' : ` of ${formatCount(total)}`;
  return `${formatCount(finished + failed + refused)}${of}`;
}

/** Returns `1,204`. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}
