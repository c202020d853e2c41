/** What is known of the work under way, in words; live.ts and plain.ts show it. */
import type { Run } from '../../service/run.js';
import { sanitize } from '../../text/sanitize.js';

/** Something that shows progress until it is stopped. */
export interface ProgressView {
  sending(sent: number, total: number): void;
  waiting(text: string): void;
  seen(id: string, run: Run): void;
  /** The run will not be seen again: it has ended, or cannot be observed. */
  left(id: string): void;
  stop(): void;
}

/** `RUNNING  2 of 4 steps`; steps that make no sense are left out. */
export function runText(run: Run): string {
  const steps = totalSteps(run);
  return steps === undefined ? statusText(run) : `${statusText(run)}  ${stepsDone(run)} of ${steps} steps`;
}

/** The status, as it may be shown. */
export function statusText({ status }: Run): string {
  return sanitize(status ?? 'accepted');
}

/** One of several runs, and whether it will not be seen again. */
export interface CountedRun {
  run: Run;
  left: boolean;
}

/** `3 of 5 runs ended: 2 FINISHED, 1 FAILED; 1 RUNNING`. */
export function runsText(runs: readonly CountedRun[], total: number): string {
  const counts = (some: readonly CountedRun[]) => {
    const byStatus = new Map<string, number>();
    for (const { run } of some) {
      const status = statusText(run);
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    }
    return [...byStatus].map(([status, count]) => `${count} ${status}`).join(', ');
  };
  const gone = runs.filter(({ left }) => left);
  const there = runs.filter(({ left }) => !left);
  const ended = `${gone.length} of ${total} runs ended${gone.length > 0 ? `: ${counts(gone)}` : ''}`;
  return there.length === 0 ? ended : `${ended}; ${counts(there)}`;
}

/** `1.2 MB`: decimal units, as disks and networks have them. */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1_000;
    unit++;
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** The number of steps, where it is one. */
export function totalSteps({ steps }: Run): number | undefined {
  return steps !== undefined && Number.isSafeInteger(steps) && steps > 0 ? steps : undefined;
}

/** Steps completed, within what is possible. */
export function stepsDone(run: Run): number {
  const done = Math.trunc(run.stepsCompleted ?? 0);
  return Math.min(Math.max(done, 0), totalSteps(run) ?? Number.MAX_SAFE_INTEGER);
}
