/** What is known of the work under way, and how it reads; live.ts and plain.ts show it. */
import { formatDuration } from '../duration.js';
import type { Run } from '../service/run.js';
import { safeLine } from './safe.js';

/** One run as it was seen, with the times (ms, monotonic) that an estimate needs. */
export interface SeenRun {
  run: Run;
  firstSeen: number;
  /** Steps that had been completed at the first look. */
  firstSteps: number;
  lastChange: number;
}

/** Something that shows progress until it is stopped. */
export interface ProgressView {
  sending(sent: number, total: number): void;
  waiting(text: string): void;
  seen(id: string, run: Run): void;
  /** The run will not be seen again. */
  left(id: string): void;
  stop(): void;
}

/** Folds a new look at a run into what was seen of it before. */
export function look(before: SeenRun | undefined, run: Run, now: number): SeenRun {
  const steps = stepsDone(run);
  if (before === undefined) return { run, firstSeen: now, firstSteps: steps, lastChange: now };
  const moved = steps !== stepsDone(before.run);
  return { ...before, run, lastChange: moved ? now : before.lastChange };
}

/** `RUNNING  2 of 4 steps`; steps that make no sense are left out. */
export function runText(run: Run): string {
  const status = safeLine(run.status ?? 'accepted');
  const steps = totalSteps(run);
  return steps === undefined ? status : `${status}  ${stepsDone(run)} of ${steps} steps`;
}

/** Milliseconds until the end, by the pace of the steps seen so far; undefined until two of them were seen to end. */
function timeLeft({ run, firstSeen, firstSteps, lastChange }: SeenRun, now: number): number | undefined {
  const total = totalSteps(run);
  const done = stepsDone(run) - firstSteps;
  if (total === undefined || done < 2) return undefined;
  const left = ((lastChange - firstSeen) / done) * (total - stepsDone(run)) - (now - lastChange);
  return left > 0 ? left : undefined;
}

/** The live line of one run, at most `width` characters. */
export function liveRunText(seen: SeenRun, started: number, now: number, width: number): string {
  const total = totalSteps(seen.run);
  const left = timeLeft(seen, now);
  const parts = [
    runText(seen.run),
    total === undefined ? '' : bar(stepsDone(seen.run) / total),
    wholeSeconds(now - started),
    left === undefined ? '' : `about ${wholeSeconds(left)} left`,
  ];
  return fitLine(parts, width);
}

/** The live line of a body that is being sent. */
export function liveSendingText(
  sent: number,
  total: number,
  started: number,
  now: number,
  width: number,
): string {
  return fitLine(
    [
      `Sending  ${formatBytes(sent)} of ${formatBytes(total)}`,
      bar(sent / total),
      wholeSeconds(now - started),
    ],
    width,
  );
}

/** Joins what there is room for. */
export function fitLine(parts: readonly string[], width: number): string {
  let line = '';
  for (const part of parts.filter((text) => text !== '')) {
    const longer = line === '' ? part : `${line}  ${part}`;
    if (longer.length > width) break;
    line = longer;
  }
  return line === '' ? (parts[0] ?? '').slice(0, Math.max(0, width)) : line;
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

const BAR_WIDTH = 12;

function bar(share: number): string {
  const filled = Math.round(Math.min(Math.max(share, 0), 1) * BAR_WIDTH);
  return '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
}

/** `12s`, `2m 5s`: no fractions that flicker. */
export function wholeSeconds(ms: number): string {
  return formatDuration(Math.max(1_000, Math.floor(ms / 1_000) * 1_000)).replace('.0', '');
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
