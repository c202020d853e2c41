/** A batch under way, in words. */

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
  return [`${doneText(counts)} done`, ...some].join(', ');
}

/** `120 of 1,000, 3 failed`: the same where there is little room. */
export function shortBatchText(counts: BatchCounts): string {
  const failed = counts.failed + counts.refused;
  return [doneText(counts), ...(failed > 0 ? [`${number(failed)} failed`] : [])].join(', ');
}

function doneText({ finished, failed, refused, total }: BatchCounts): string {
  const of = total === undefined ? '' : ` of ${number(total)}`;
  return `${number(finished + failed + refused)}${of}`;
}

function number(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}
