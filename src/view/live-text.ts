/** The text of the live line: what is seen now, for how long it has been so, and how long it may yet take. */
import { formatDuration } from '../duration.js';
import type { Run } from '../service/run.js';
import { type BatchCounts, batchText } from './batch-progress.js';
import { type CountedRun, formatBytes, runsText, runText, stepsDone, totalSteps } from './progress.js';

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

/** How much of what is to be done is done, 0 to 1; undefined where that is not known. */
export function shareDone({ run }: SeenRun): number | undefined {
  const total = totalSteps(run);
  return total === undefined ? undefined : stepsDone(run) / total;
}

/** `about 40s left`: the coarser, the longer, so that it does not pretend to know more than it does. */
function leftText(ms: number): string {
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

const BAR_WIDTH = 12;

function bar(share: number): string {
  const filled = Math.round(Math.min(Math.max(share, 0), 1) * BAR_WIDTH);
  return '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
}

/** `12s`, `2m 5s`: no fractions that flicker. */
export function wholeSeconds(ms: number): string {
  return formatDuration(Math.max(1_000, Math.floor(ms / 1_000) * 1_000)).replace('.0', '');
}
