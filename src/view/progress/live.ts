/** Progress on a terminal in one live line: of a run, of a batch, or of several runs, with a line for each that has not ended. */
import { STATES, statusText, stepsDone, totalSteps, WORDS, wordOf } from '../../outcome/outcome.js';
import { hasEnded, type Run } from '../../service/run.js';
import { formatBytes, formatDuration } from '../../text/quantity.js';
import { sanitize } from '../../text/sanitize.js';
import { paintOf, type Style, statusPaint } from '../presentation.js';
import { ageOf } from '../summary.js';
import { type Column, layOutTable, textWidth } from '../table.js';
import { LiveLine, type LiveOptions } from './live-line.js';
import {
  type BatchCounts,
  type BatchView,
  countDone,
  countText,
  doneText,
  type EndedRow,
  endedText,
  finishedText,
  openText,
  type ProgressView,
  problemsText,
  rowText,
  runningText,
  runText,
  severalRunsText,
  type Upload,
  uploadText,
  type WatchedRun,
  waitText,
} from './run-progress.js';

/** Shows the progress of one run. */
export function liveProgress(options: LiveOptions): ProgressView {
  const { clock } = options;
  const started = clock.monotonic();
  let latest: TimedRun | undefined;
  let message = 'Connecting';
  let upload: UploadProgress | undefined;
  const line = new LiveLine(options, {
    text(now, width) {
      if (upload !== undefined) return liveUploadText(upload, now, width);
      if (latest !== undefined) {
        const { run } = latest;
        const paint = statusPaint(run.status, options.style);
        return liveRunText(latest, started, now, width).replace(statusText(run), (status) => paint(status));
      }
      return fitLine(width, [[message, wholeSeconds(now - started)]]);
    },
    share: () => (upload === undefined ? latest && shareOfRun(latest.run) : upload.sent / upload.total),
  });
  return {
    sending(sent) {
      upload = updateUpload(upload, sent, clock.monotonic());
      // Chunks are sent faster than frames are drawn.
      line.compose();
    },
    waiting(text) {
      upload = undefined;
      message = text;
      line.show();
    },
    seen(_id, run) {
      upload = undefined;
      latest = updateRun(latest, run, clock.monotonic());
      line.show();
    },
    done() {},
    stop: () => line.stop(),
  };
}

/** The last rows that did not succeed are shown; the closing block has all reasons. */
const MAX_PROBLEMS = 5;

/** Shows the progress of a batch, and below it the last rows that did not succeed. */
export function liveBatch(options: LiveOptions, counts: () => BatchCounts): BatchView {
  const { clock, style } = options;
  const started = clock.monotonic();
  /** When the last row was done (ms, monotonic). */
  let lastEnd = started;
  let problems: EndedRow[] = [];
  const line = new LiveLine(options, {
    text(now, width, height) {
      const current = counts();
      const text = liveBatchText(current, { started, lastEnd }, now, width);
      const painted = current.ended.reduce((line, count) => {
        const paint = paintOf(WORDS.get(count[0]) ?? 'doubt', style);
        return line.replace(countText(count), (found) => paint(found));
      }, text);
      // A terminal that scrolls cannot be redrawn.
      const shown = height > MAX_PROBLEMS + 1 ? problems : [];
      return [painted, ...shown.map((row) => problemLine(row, width, style))].join('\n');
    },
    share: () => shareOfBatch(counts()),
  });
  return {
    rowDone(row, isProblem) {
      lastEnd = clock.monotonic();
      if (isProblem) problems = [...problems, row].slice(-MAX_PROBLEMS);
      line.compose();
    },
    stop: () => line.stop(),
  };
}

/** Returns how a row ended in one line. The closing block and the results have its id. */
function problemLine(row: EndedRow, width: number, style: Style): string {
  const paint = paintOf(STATES[row.state].tone, style);
  const text = truncateTo(rowText({ ...row, id: undefined }), width);
  return text.replace(`  ${wordOf(row.state)}`, (found) => paint(found));
}

/** A run that is watched, with a short id. */
interface Row {
  run?: Run;
  /** Whether it has ended, or is no longer watched. */
  isDone?: boolean;
  shortId: string;
  name: string;
}

/** Shows the progress of several runs; `shorten` returns an id as it is shown. */
export function liveRuns(
  options: LiveOptions,
  runs: readonly WatchedRun[],
  shorten: (id: string) => string,
): ProgressView {
  const { clock, style } = options;
  const started = clock.monotonic();
  const firstSeen = clock.now();
  const rows = new Map(
    runs.map(({ id, name = '' }): [string, Row] => [
      id,
      { shortId: sanitize(shorten(id)), name: sanitize(name) },
    ]),
  );
  /** Returns how long ago the service created a run (ms); since wfr watches it, where that is not known. */
  const elapsed = ({ run }: Row) => {
    const now = clock.now();
    return ageOf(run?.createdAt ?? '', now) ?? now - firstSeen;
  };
  const steps = ({ run }: Row, format: (done: number, total: number) => string) => {
    const total = run && totalSteps(run);
    return run === undefined || total === undefined ? '' : format(stepsDone(run), total);
  };
  const columns: Column<Row>[] = [
    { text: (row) => row.shortId },
    { text: ({ name }) => name, isOptional: true },
    {
      text: ({ run }) => (run === undefined ? 'waiting' : statusText(run)),
      paint: ({ run }) => statusPaint(run?.status, style),
    },
    { text: (row) => steps(row, (done, total) => bar(done / total)), isOptional: true },
    { text: (row) => steps(row, (done, total) => `${done}/${total}`) },
    { text: (row) => wholeSeconds(elapsed(row)) },
  ];
  const line = new LiveLine(options, {
    /** The table is left out where it would not fit: a terminal that scrolls cannot be redrawn. */
    text(now, width, height) {
      const all = [...rows.values()];
      const counts = liveRunsText(all, now - started, width);
      // All rows are laid out, so that the columns stay where they are when a run ends.
      const shown = columns.filter(({ text }) => all.some((row) => text(row) !== ''));
      const { lines } = layOutTable(all, shown, { style, width });
      const open = lines.filter((_line, index) => !all[index]?.isDone);
      const fits = open.length + 1 < height && open.every((text) => textWidth(text) <= width);
      return [counts, ...(fits ? open : [])].join('\n');
    },
    share: () => [...rows.values()].filter(({ isDone }) => isDone).length / rows.size,
  });
  const update = (id: string, changes: Partial<Row>) => {
    const row = rows.get(id);
    if (row === undefined) return;
    Object.assign(row, changes);
    line.show();
  };
  return {
    sending() {},
    waiting() {},
    seen: (id, run) => update(id, { run, isDone: hasEnded(run) }),
    done: (id) => update(id, { isDone: true }),
    stop: () => line.stop(),
  };
}

/** A run as last seen, with the times (ms, monotonic) that an estimate needs. */
interface TimedRun {
  run: Run;
  /** When it was first seen RUNNING: time in a queue says nothing about the duration of a step. */
  firstSeen: number;
  /** Steps completed at that time. */
  firstSteps: number;
  lastChange: number;
}

/** How much of a body has been sent, and when that began (ms, monotonic). */
interface UploadProgress extends Upload {
  started: number;
}

/** Returns what is known of a run after a poll. */
function updateRun(before: TimedRun | undefined, run: Run, now: number): TimedRun {
  const steps = stepsDone(run);
  if (before === undefined || before.run.status === 'PENDING') {
    return { run, firstSeen: now, firstSteps: steps, lastChange: now };
  }
  const moved = steps !== stepsDone(before.run);
  return { ...before, run, lastChange: moved ? now : before.lastChange };
}

/** Returns the progress of an upload; a re-sent body starts over. */
function updateUpload(before: UploadProgress | undefined, upload: Upload, now: number): UploadProgress {
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
function liveRunText(seen: TimedRun, started: number, now: number, width: number): string {
  const { run } = seen;
  const total = totalSteps(run);
  const share = shareOfRun(run);
  const [wide, narrow] = share === undefined ? ['', ''] : [bar(share), bar(share, NARROW_BAR_WIDTH)];
  const elapsed = wholeSeconds(now - started);
  const left = timeLeft(seen, now);
  const steps = total === undefined ? '' : `${stepsDone(run)}/${total}`;
  return fitLine(width, [
    [runText(run), wide, list(elapsed, estimateText(left))],
    [runText(run), narrow, elapsed],
    [runText(run), elapsed],
    [statusText(run), steps, elapsed],
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
    [bytes, estimateText(left)],
  ]);
}

/** Returns the live line of several runs: how many are in each state. */
function liveRunsText(rows: readonly Row[], elapsedMs: number, width: number): string {
  const done = rows.filter(({ isDone }) => isDone).length;
  const elapsed = wholeSeconds(elapsedMs);
  const seen = rows.flatMap(({ run }) => run ?? []);
  const unread = rows.filter(({ isDone, run }) => isDone && run === undefined).length;
  const counts = severalRunsText(seen, rows.length, unread);
  return fitLine(width, [
    [counts, bar(done / rows.length), elapsed],
    [counts, elapsed],
    [`${done} of ${rows.length} runs ended`, elapsed],
  ]);
}

/**
 * Returns the live line of a batch that began and had its last row done at these times (ms, monotonic), with its rate, and the
 * time left once the number of rows is known.
 */
export function liveBatchText(
  counts: BatchCounts,
  { started, lastEnd }: { started: number; lastEnd: number },
  now: number,
  width: number,
): string {
  const { endedNow, total } = counts;
  const duration = lastEnd - started;
  // The first of many that run at once say nothing of how long each takes.
  const isEarly = duration < 2_000 || endedNow < Math.max(2, counts.running);
  const msPerRow = isEarly ? undefined : duration / endedNow;
  const open = total === undefined ? 0 : total - countDone(counts);
  const rate = msPerRow === undefined ? '' : rateText(msPerRow);
  const elapsed = wholeSeconds(now - started);
  const leftMs = (msPerRow ?? 0) * open - (now - lastEnd);
  const left = estimateText(leftMs > 0 ? leftMs : undefined);
  const share = shareOfBatch(counts);
  // The same width throughout a batch.
  const shown = share === undefined ? '' : bar(share, width < WIDE_WIDTH ? NARROW_BAR_WIDTH : BAR_WIDTH);
  const done = doneText(counts);
  const [ended, problems] = [endedText(counts), problemsText(counts)];
  const fewer = list(finishedText(counts), problems);
  const running = runningText(counts);
  const wait = waitText(counts, now);
  // Of a service that does not take requests, rate and time left say nothing.
  if (wait !== '')
    return fitLine(width, [
      [shown, done, ended, wait, openText(counts), elapsed],
      [shown, done, ended, wait, elapsed],
      [shown, done, problems, wait],
      [done, problems, wait],
      [done, wait],
    ]);
  return fitLine(width, [
    [shown, done, list(ended, openText(counts)), rate, list(elapsed, left)],
    [shown, done, list(ended, running), rate, list(elapsed, left)],
    [shown, done, list(ended, running), list(elapsed, left)],
    [shown, done, list(fewer, running), left || elapsed],
    [shown, done, list(problems, running), left || elapsed],
    [shown, done, problems, left || elapsed],
    [shown, done, problems],
    [done, problems, left],
  ]);
}

/** Returns `20/s`, or `4.5/min` where a row takes longer than a second. */
function rateText(msPerRow: number): string {
  const [rate, unit] = msPerRow <= 1_000 ? [1_000 / msPerRow, 's'] : [60_000 / msPerRow, 'min'];
  return `${rate >= 10 ? Math.round(rate) : rate.toFixed(1)}/${unit}`;
}

/** Returns the share of rows that are done, 0 to 1; undefined until their number is known. */
function shareOfBatch(counts: BatchCounts): number | undefined {
  return counts.total === undefined || counts.total === 0 ? undefined : countDone(counts) / counts.total;
}

/** Returns the share of completed steps, 0 to 1; undefined where the number of steps is unknown. */
function shareOfRun(run: Run): number | undefined {
  const total = totalSteps(run);
  return total === undefined ? undefined : stepsDone(run) / total;
}

/** Joins what belongs together, such as `29s, about 35s left`; empty parts are left out. */
function list(...parts: readonly string[]): string {
  return parts.filter((text) => text !== '').join(', ');
}

/** Returns `about 40s left`, rounded more coarsely the longer it is; nothing if unknown. */
function estimateText(ms: number | undefined): string {
  if (ms === undefined) return '';
  const step = ms < 60_000 ? 1_000 : ms < 600_000 ? 10_000 : 60_000;
  return `about ${wholeSeconds(Math.max(step, Math.round(ms / step) * step))} left`;
}

/** Returns the first of `lines` that fits, or as much of the last as does. Empty parts are left out. */
function fitLine(width: number, lines: readonly (readonly string[])[]): string {
  const shown = lines.map((parts) => parts.filter((text) => text !== ''));
  const fitting = shown.map((parts) => parts.join('  ')).find((text) => text.length <= width);
  if (fitting !== undefined) return fitting;
  const parts = [...(shown.at(-1) ?? [])];
  while (parts.length > 1 && parts.join('  ').length > width) parts.pop();
  return truncateTo(parts.join('  '), width);
}

/** Returns a text of at most `width` characters. */
function truncateTo(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

const BAR_WIDTH = 12;

const NARROW_BAR_WIDTH = 6;

/** Columns from which a batch has the wider bar. */
const WIDE_WIDTH = 70;

/** Returns a bar of `width` characters that shows a share, 0 to 1; only the whole fills it. */
function bar(share: number, width = BAR_WIDTH): string {
  const filled = Math.floor(Math.min(Math.max(share, 0), 1) * width);
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}

/** Returns `12s` or `2m 5s`, without fractions, which would flicker. */
function wholeSeconds(ms: number): string {
  return formatDuration(Math.max(1_000, Math.floor(ms / 1_000) * 1_000)).replace('.0', '');
}
