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

/** What has been handed over of a body, with the time (ms, monotonic) at which that began. */
export interface SeenSending {
  sent: number;
  total: number;
  started: number;
}

/** Something that shows progress until it is stopped. */
export interface ProgressView {
  sending(sent: number, total: number): void;
  waiting(text: string): void;
  seen(id: string, run: Run): void;
  /** The run will not be seen again: it has ended, or cannot be observed. */
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

/** Folds a new look at a body that is being sent into what was seen before; one that is sent again begins anew. */
export function lookAtSending(
  before: SeenSending | undefined,
  sent: number,
  total: number,
  now: number,
): SeenSending {
  const goesOn = before !== undefined && before.total === total && before.sent <= sent;
  return { sent, total, started: goesOn ? before.started : now };
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
    left === undefined ? '' : leftText(left),
  ];
  return fitLine(parts, width);
}

/** The live line of a body that is being sent, with its rate and the time left once a second of it was seen. */
export function liveSendingText({ sent, total, started }: SeenSending, now: number, width: number): string {
  const took = now - started;
  const perSecond = took < 1_000 ? 0 : (sent / took) * 1_000;
  const left = perSecond === 0 ? undefined : ((total - sent) / perSecond) * 1_000;
  const parts = [
    `Sending  ${formatBytes(sent)} of ${formatBytes(total)}`,
    bar(sent / total),
    perSecond === 0 ? '' : `${formatBytes(perSecond)}/s`,
    left === undefined || left < 1 ? '' : leftText(left),
  ];
  return fitLine(parts, width);
}

/** The live line of several runs: how many are in each state. */
export function liveRunsText(
  runs: readonly CountedRun[],
  total: number,
  started: number,
  now: number,
  width: number,
): string {
  const gone = runs.filter(({ left }) => left).length;
  const parts = [runsText(runs, total), bar(gone / total), wholeSeconds(now - started)];
  return fitLine(parts, width);
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
      const status = safeLine(run.status ?? 'accepted');
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    }
    return [...byStatus].map(([status, count]) => `${count} ${status}`).join(', ');
  };
  const gone = runs.filter(({ left }) => left);
  const there = runs.filter(({ left }) => !left);
  const ended = `${gone.length} of ${total} runs ended${gone.length > 0 ? `: ${counts(gone)}` : ''}`;
  return there.length === 0 ? ended : `${ended}; ${counts(there)}`;
}

/** How much of what is to be done is done, 0 to 1; undefined where that is not known. */
export function shareDone({ run }: SeenRun): number | undefined {
  const total = totalSteps(run);
  return total === undefined ? undefined : stepsDone(run) / total;
}

/** `about 40s left`: the coarser, the longer, so that it does not pretend to know more than it does. */
export function leftText(ms: number): string {
  const step = ms < 60_000 ? 1_000 : ms < 600_000 ? 10_000 : 60_000;
  return `about ${wholeSeconds(Math.max(step, Math.round(ms / step) * step))} left`;
}

/** Joins what there is room for. */
export function fitLine(parts: readonly string[], width: number): string {
  let line = '';
  for (const part of parts.filter((text) => text !== '')) {
    const longer = line === '' ? part : `${line}  ${part}`;
    if (longer.length > width) break;
    line = longer;
  }
  return line === '' ? cutTo(parts[0] ?? '', width) : line;
}

function cutTo(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
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
