/** The progress of a batch as text. */

/** How many rows are in each state, of those read so far. */
export interface BatchCounts {
  /** Rows of the table; undefined until it has been read. */
  total: number | undefined;
  rowsRead: number;
  finished: number;
  failed: number;
  refused: number;
  running: number;
  unknown: number;
  /** Rows that were done since this command started. */
  endedNow: number;
}

/** Shows the progress of a batch until it is stopped. */
export interface BatchView {
  /** A row is done: `line` says how. */
  rowDone(line: string): void;
  stop(): void;
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

function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}
