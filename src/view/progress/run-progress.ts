/** The progress of runs as text, for the live line (live.ts) and for plain lines (plain.ts). */

import { statusText, stepsText } from '../../outcome/outcome.js';
import type { Run } from '../../service/run.js';
import { formatBytes } from '../../text/quantity.js';

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

/** Returns the start of a UUID, which wfr takes in place of the whole; other ids are returned unchanged. */
export function shortId(id: string): string {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id) ? id.slice(0, 8) : id;
}

/** One of several runs, and whether it is no longer watched. */
export interface CountedRun {
  run: Run;
  isDone: boolean;
}

/** Returns `3 of 5 runs ended: 2 FINISHED, 1 FAILED; 1 RUNNING`. */
export function severalRunsText(runs: readonly CountedRun[], total: number): string {
  const counts = (some: readonly CountedRun[]) => {
    const byStatus = new Map<string, number>();
    for (const { run } of some) {
      const status = statusText(run);
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    }
    return [...byStatus].map(([status, count]) => `${count} ${status}`).join(', ');
  };
  const done = runs.filter(({ isDone }) => isDone);
  const open = runs.filter(({ isDone }) => !isDone);
  const ended = `${done.length} of ${total} runs ended${done.length > 0 ? `: ${counts(done)}` : ''}`;
  return open.length === 0 ? ended : `${ended}; ${counts(open)}`;
}
