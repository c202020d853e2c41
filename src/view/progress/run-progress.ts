/** The progress of runs as text, for the live line (live.ts) and for plain lines (plain.ts). */
import { isKnownStatus, type Run } from '../../service/run.js';
import { sanitize } from '../../text/sanitize.js';

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

/** Returns `2 of 4 steps`, or nothing where the number of steps is not valid. */
export function stepsText(run: Run): string {
  const total = totalSteps(run);
  return total === undefined ? '' : `${stepsDone(run)} of ${total} ${total === 1 ? 'step' : 'steps'}`;
}

/** Returns `12 MB of 419 MB (as base64)`. */
export function uploadText({ sent, total, isBase64 }: Upload): string {
  return `${formatBytes(sent)} of ${formatBytes(total)}${isBase64 ? ' (as base64)' : ''}`;
}

/** Returns the status, sanitized. */
export function statusText({ status }: Run): string {
  return sanitize(status ?? 'accepted');
}

/** Returns whether a run that has not ended `continues`: of one that was not seen, or an unknown status, that is not known. */
export function continuesText(run: Run | undefined): string {
  return run?.status !== undefined && isKnownStatus(run.status) ? 'continues' : 'may still be running';
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

/** Returns `1.2 MB`: decimal units. */
export function formatBytes(bytes: number): string {
  if (bytes === 1) return '1 byte';
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1_000;
    unit++;
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Returns the number of steps, or undefined where it is not a positive integer. */
export function totalSteps({ steps }: Run): number | undefined {
  return steps !== undefined && Number.isSafeInteger(steps) && steps > 0 ? steps : undefined;
}

/** Returns the number of completed steps, clamped to 0 and the total. */
export function stepsDone(run: Run): number {
  const done = Math.trunc(run.stepsCompleted ?? 0);
  return Math.min(Math.max(done, 0), totalSteps(run) ?? Number.MAX_SAFE_INTEGER);
}
