/** The text of the live line: what is seen now, for how long it has been so, and how long it may yet take. */

import type { Run } from '../../service/run.js';
import { formatDuration } from '../../text/duration.js';
import { type BatchCounts, batchText, shortBatchText } from './batch-progress.js';
import {
  type CountedRun,
  formatBytes,
  runsText,
  runText,
  statusText,
  stepsDone,
  totalSteps,
} from './run-progress.js';

/** One run as it was seen, with the times (ms, monotonic) that an estimate needs. */
export interface SeenRun {
  run: Run;
  /** When it was first seen at work: a run that waits in a queue says nothing of its pace. */
  firstSeen: number;
  /** Steps that had been completed then. */
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
  if (before === undefined || before.run.status === 'PENDING') {
    return { run, firstSeen: now, firstSteps: steps, lastChange: now };
  }
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
  const { run } = seen;
  const total = totalSteps(run);
  const share = total === undefined ? '' : bar(stepsDone(run) / total);
  const elapsed = wholeSeconds(now - started);
  const left = timeLeft(seen, now);
  const steps = total === undefined ? '' : `${stepsDone(run)}/${total}`;
  return fitLine(width, [
    [runText(run), share, elapsed, aboutLeft(left)],
    [runText(run), elapsed, aboutLeft(left)],
    [statusText(run), steps, elapsed, justLeft(left)],
  ]);
}

/** The live line of a body that is being sent, with its rate and the time left once a second of it was seen. */
export function liveSendingText({ sent, total, started }: SeenSending, now: number, width: number): string {
  const took = now - started;
  const perSecond = took < 1_000 ? 0 : (sent / took) * 1_000;
  const left = perSecond === 0 || sent === total ? undefined : ((total - sent) / perSecond) * 1_000;
  const bytes = `${formatBytes(sent)} of ${formatBytes(total)}`;
  const rate = perSecond === 0 ? '' : `${formatBytes(perSecond)}/s`;
  return fitLine(width, [
    [`Sending  ${bytes}`, bar(sent / total), rate, aboutLeft(left)],
    [`Sending  ${bytes}`, rate, aboutLeft(left)],
    [bytes, rate, justLeft(left)],
  ]);
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
  const elapsed = wholeSeconds(now - started);
  return fitLine(width, [
    [runsText(runs, total), bar(gone / total), elapsed],
    [runsText(runs, total), elapsed],
    [`${gone} of ${total} runs ended`, elapsed],
  ]);
}

/** When a batch began, and when a row came to an end last (ms, monotonic). */
export interface BatchTimes {
  started: number;
  lastEnd: number;
}

/** The live line of a batch, with its rate and the time left once it is known how many rows there are. */
export function liveBatchText(
  counts: BatchCounts,
  { started, lastEnd }: BatchTimes,
  now: number,
  width: number,
): string {
  const { endedNow, total, finished, failed, refused, unknown } = counts;
  const took = lastEnd - started;
  const each = took < 2_000 || endedNow < 2 ? undefined : took / endedNow;
  const open = total === undefined ? 0 : total - finished - failed - refused - unknown;
  const pace = each === undefined ? '' : paceText(each);
  const elapsed = wholeSeconds(now - started);
  const left = (each ?? 0) * open - (now - lastEnd);
  const time = left > 0 ? left : undefined;
  return fitLine(width, [
    [batchText(counts), pace, elapsed, aboutLeft(time)],
    [shortBatchText(counts), pace, elapsed, justLeft(time)],
    [shortBatchText(counts), pace, justLeft(time)],
  ]);
}

/** `20/s`, or `4.5/min` where a row takes longer than a second. */
function paceText(msEach: number): string {
  const [rate, unit] = msEach <= 1_000 ? [1_000 / msEach, 's'] : [60_000 / msEach, 'min'];
  return `${rate >= 10 ? Math.round(rate) : rate.toFixed(1)}/${unit}`;
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

/** `about 40s left`; nothing where it is not known. */
function aboutLeft(ms: number | undefined): string {
  return ms === undefined ? '' : `about ${justLeft(ms)}`;
}

/** `40s left`: the coarser, the longer, so that it does not pretend to know more than it does. */
function justLeft(ms: number | undefined): string {
  if (ms === undefined) return '';
  const step = ms < 60_000 ? 1_000 : ms < 600_000 ? 10_000 : 60_000;
  return `${wholeSeconds(Math.max(step, Math.round(ms / step) * step))} left`;
}

/** The first of the `lines` that fits, or what there is room for of the last; the parts of a line may be empty. */
export function fitLine(width: number, lines: readonly (readonly string[])[]): string {
  const shown = lines.map((parts) => parts.filter((text) => text !== ''));
  const fitting = shown.map((parts) => parts.join('  ')).find((text) => text.length <= width);
  if (fitting !== undefined) return fitting;
  const parts = [...(shown.at(-1) ?? [])];
  while (parts.length > 1 && parts.join('  ').length > width) parts.pop();
  return cutTo(parts.join('  '), width);
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
