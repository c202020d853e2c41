/** The text of the live line: progress, elapsed time, and an estimate of the time left. */
import { statusText, stepsDone, totalSteps } from '../../outcome/outcome.js';
import type { Run } from '../../service/run.js';
import { formatBytes, formatCount, formatDuration } from '../../text/quantity.js';
import {
  type BatchCounts,
  type CountedRun,
  countDone,
  doneText,
  openText,
  problemsText,
  runningText,
  runText,
  severalRunsText,
  shortProblemsText,
  type Upload,
  uploadText,
  waitText,
} from './run-progress.js';

/** A run as last seen, with the times (ms, monotonic) that an estimate needs. */
export interface TimedRun {
  run: Run;
  /** When it was first seen RUNNING: time in a queue says nothing about the duration of a step. */
  firstSeen: number;
  /** Steps completed at that time. */
  firstSteps: number;
  lastChange: number;
}

/** How much of a body has been sent, and when that began (ms, monotonic). */
export interface UploadProgress extends Upload {
  started: number;
}

/** Returns what is known of a run after a poll. */
export function updateRun(before: TimedRun | undefined, run: Run, now: number): TimedRun {
  const steps = stepsDone(run);
  if (before === undefined || before.run.status === 'PENDING') {
    return { run, firstSeen: now, firstSteps: steps, lastChange: now };
  }
  const moved = steps !== stepsDone(before.run);
  return { ...before, run, lastChange: moved ? now : before.lastChange };
}

/** Returns the progress of an upload; a re-sent body starts over. */
export function updateUpload(
  before: UploadProgress | undefined,
  upload: Upload,
  now: number,
): UploadProgress {
  const continues = before !== undefined && before.total === upload.total && before.sent <= upload.sent;
  return { ...upload, started: continues ? before.started : now };
}

/** Estimates the time left (ms) from the average step so far; undefined until two steps have completed. */
function timeLeft({ run, firstSeen, firstSteps, lastChange }: TimedRun, now: number): number | undefined {
  const total = totalSteps(run);
  const done = stepsDone(run) - firstSteps;
  if (total === undefined || done < 2) return undefined;
  const left = ((lastChange - firstSeen) / done) * (total - stepsDone(run)) - (now - lastChange);
  return left > 0 ? left : undefined;
}

/** Returns the live line of one run, at most `width` characters. */
export function liveRunText(seen: TimedRun, started: number, now: number, width: number): string {
  const { run } = seen;
  const total = totalSteps(run);
  const share = total === undefined ? '' : bar(stepsDone(run) / total);
  const elapsed = wholeSeconds(now - started);
  const left = timeLeft(seen, now);
  const steps = total === undefined ? '' : `${stepsDone(run)}/${total}`;
  return fitLine(width, [
    [runText(run), share, list(elapsed, estimateText(left))],
    [runText(run), list(elapsed, estimateText(left))],
    [statusText(run), steps, list(elapsed, timeLeftText(left))],
  ]);
}

/** Returns the live line of an upload, with its rate and time left after the first second. */
export function liveUploadText(upload: UploadProgress, now: number, width: number): string {
  const { sent, total, started } = upload;
  const elapsed = now - started;
  const perSecond = elapsed < 1_000 ? 0 : (sent / elapsed) * 1_000;
  const left = perSecond === 0 || sent === total ? undefined : ((total - sent) / perSecond) * 1_000;
  const bytes = `${formatBytes(sent)} of ${formatBytes(total)}`;
  const rate = perSecond === 0 ? '' : `${formatBytes(perSecond)}/s`;
  return fitLine(width, [
    [`Sending  ${uploadText(upload)}`, bar(sent / total), rate, estimateText(left)],
    [`Sending  ${uploadText(upload)}`, rate, estimateText(left)],
    [`Sending  ${bytes}`, bar(sent / total), rate, estimateText(left)],
    [`Sending  ${bytes}`, rate, estimateText(left)],
    [bytes, rate, timeLeftText(left)],
  ]);
}

/** Returns the live line of several runs: how many are in each state. */
export function liveRunsText(
  runs: readonly CountedRun[],
  total: number,
  started: number,
  now: number,
  width: number,
): string {
  const done = runs.filter(({ isDone }) => isDone).length;
  const elapsed = wholeSeconds(now - started);
  return fitLine(width, [
    [severalRunsText(runs, total), bar(done / total), elapsed],
    [severalRunsText(runs, total), elapsed],
    [`${done} of ${total} runs ended`, elapsed],
  ]);
}

/** When a batch began, and when its last row was done (ms, monotonic). */
interface BatchTimes {
  started: number;
  lastEnd: number;
}

/** Returns the live line of a batch, with its rate, and the time left once the number of rows is known. */
export function liveBatchText(
  counts: BatchCounts,
  { started, lastEnd }: BatchTimes,
  now: number,
  width: number,
): string {
  const { endedNow, total } = counts;
  const duration = lastEnd - started;
  const msPerRow = duration < 2_000 || endedNow < 2 ? undefined : duration / endedNow;
  const open = total === undefined ? 0 : total - countDone(counts);
  const rate = msPerRow === undefined ? '' : rateText(msPerRow);
  const elapsed = wholeSeconds(now - started);
  const left = (msPerRow ?? 0) * open - (now - lastEnd);
  const time = left > 0 ? left : undefined;
  const share = shareOfBatch(counts);
  const [wide, narrow] = share === undefined ? ['', ''] : [bar(share), bar(share, NARROW_BAR_WIDTH)];
  const done = doneText(counts);
  const [problems, fewer] = [problemsText(counts), shortProblemsText(counts)];
  const finished = problems === '' ? '' : `${formatCount(counts.finished)} finished`;
  const running = runningText(counts);
  const wait = waitText(counts, now);
  // Of a service that does not take requests, rate and time left say nothing.
  if (wait !== '')
    return fitLine(width, [
      [wide, done, list(finished, problems), wait, openText(counts), elapsed],
      [wide, done, problems, wait, elapsed],
      [wide, done, fewer, wait],
      [done, fewer, wait],
      [done, wait],
    ]);
  return fitLine(width, [
    [wide, done, list(finished, problems, openText(counts)), rate, list(elapsed, estimateText(time))],
    [wide, done, list(finished, problems, running), rate, list(elapsed, timeLeftText(time))],
    [wide, done, list(finished, fewer, running), rate, list(elapsed, timeLeftText(time))],
    [wide, done, list(finished, problems, running), timeLeftText(time)],
    [narrow, done, list(finished, fewer, running), timeLeftText(time)],
    [narrow, done, list(fewer, running), timeLeftText(time)],
    [done, list(fewer, running), timeLeftText(time)],
    [narrow, done, fewer, timeLeftText(time)],
    [done, fewer, timeLeftText(time)],
  ]);
}

/** Returns `20/s`, or `4.5/min` where a row takes longer than a second. */
function rateText(msPerRow: number): string {
  const [rate, unit] = msPerRow <= 1_000 ? [1_000 / msPerRow, 's'] : [60_000 / msPerRow, 'min'];
  return `${rate >= 10 ? Math.round(rate) : rate.toFixed(1)}/${unit}`;
}

/** Returns the share of rows that are done, 0 to 1; undefined until their number is known. */
export function shareOfBatch(counts: BatchCounts): number | undefined {
  return counts.total === undefined || counts.total === 0 ? undefined : countDone(counts) / counts.total;
}

/** Returns the share of completed steps, 0 to 1; undefined where the number of steps is unknown. */
export function shareOfRun({ run }: TimedRun): number | undefined {
  const total = totalSteps(run);
  return total === undefined ? undefined : stepsDone(run) / total;
}

/** Joins what belongs together, such as `29s, about 35s left`; empty parts are left out. */
function list(...parts: readonly string[]): string {
  return parts.filter((text) => text !== '').join(', ');
}

/** Returns `about 40s left`, or nothing if unknown. */
function estimateText(ms: number | undefined): string {
  return ms === undefined ? '' : `about ${timeLeftText(ms)}`;
}

/** Returns `40s left`, rounded more coarsely the longer it is. */
function timeLeftText(ms: number | undefined): string {
  if (ms === undefined) return '';
  const step = ms < 60_000 ? 1_000 : ms < 600_000 ? 10_000 : 60_000;
  return `${wholeSeconds(Math.max(step, Math.round(ms / step) * step))} left`;
}

/** Returns the first of `lines` that fits, or as much of the last as does. Empty parts are left out. */
export function fitLine(width: number, lines: readonly (readonly string[])[]): string {
  const shown = lines.map((parts) => parts.filter((text) => text !== ''));
  const fitting = shown.map((parts) => parts.join('  ')).find((text) => text.length <= width);
  if (fitting !== undefined) return fitting;
  const parts = [...(shown.at(-1) ?? [])];
  while (parts.length > 1 && parts.join('  ').length > width) parts.pop();
  return truncateTo(parts.join('  '), width);
}

/** Returns a text of at most `width` characters. */
export function truncateTo(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

const BAR_WIDTH = 12;

const NARROW_BAR_WIDTH = 6;

/** Returns a bar of `width` characters that shows a share, 0 to 1; only the whole fills it. */
export function bar(share: number, width = BAR_WIDTH): string {
  const filled = Math.floor(Math.min(Math.max(share, 0), 1) * width);
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}

/** Returns `12s` or `2m 5s`, without fractions, which would flicker. */
export function wholeSeconds(ms: number): string {
  return formatDuration(Math.max(1_000, Math.floor(ms / 1_000) * 1_000)).replace('.0', '');
}
