/** A batch under way, in words. */
import { fitLine, leftText, wholeSeconds } from './progress.js';

/** How many rows are in each state, as far as the table has been read. */
export interface BatchCounts {
  /** All rows, where that is known. */
  total: number | undefined;
  /** Rows that have been looked at. */
  read: number;
  finished: number;
  failed: number;
  refused: number;
  running: number;
  unknown: number;
  /** Rows that came to an end since this call began. */
  endedNow: number;
}

/** Something that shows a batch until it is stopped. */
export interface BatchView {
  /** A row has come to something. */
  ended(line: string): void;
  stop(): void;
}

/** `120 of 1,000 done, 3 failed, 8 running, 872 waiting, 1 unknown`. */
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
  const some = parts.filter(([count]) => count > 0).map(([count, word]) => `${number(count)} ${word}`);
  const of = total === undefined ? '' : ` of ${number(total)}`;
  return [`${number(done)}${of} done`, ...some].join(', ');
}

/** The live line of a batch, with its rate and the time left once it is known how many rows there are. */
export function liveBatchText(counts: BatchCounts, started: number, now: number, width: number): string {
  const { endedNow, total, finished, failed, refused, unknown } = counts;
  const seconds = (now - started) / 1_000;
  const rate = seconds < 2 || endedNow === 0 ? 0 : endedNow / seconds;
  const left = total === undefined ? 0 : total - finished - failed - refused - unknown;
  const parts = [
    batchText(counts),
    rate === 0 ? '' : `${rate >= 10 ? Math.round(rate) : rate.toFixed(1)}/s`,
    wholeSeconds(now - started),
    rate === 0 || left <= 0 ? '' : leftText((left / rate) * 1_000),
  ];
  return fitLine(parts, width);
}

/** The share that is done, 0 to 1, where it is known how many rows there are. */
export function shareOfBatch({ total, finished, failed, refused }: BatchCounts): number | undefined {
  return total === undefined || total === 0 ? undefined : (finished + failed + refused) / total;
}

function number(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}
