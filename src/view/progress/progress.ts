/**
 * The progress of runs and of batches: what is known of them, and the line that says it. A painter shows that line: the live
 * one (live.ts) on a terminal, else a plain one, which prints a line for each change, and one a minute while nothing changes.
 */
import type { Facts } from '../../errors.js';
import {
  countSteps,
  type State,
  statusText,
  stepsText,
  withoutTable,
  wordOf,
} from '../../outcome/outcome.js';
import type { Clock } from '../../platform/context.js';
import { hasEnded, type Run } from '../../service/run.js';
import { formatBytes, formatCount, formatDuration } from '../../text/quantity.js';
import { sanitize, sanitizeLines } from '../../text/sanitize.js';
import type { SecretMask } from '../../text/secret-mask.js';
import { type Paint, type Style, statusPaint, wordPaint } from '../presentation.js';
import { countStatuses, statusOrReason } from '../summary.js';
import { type ListedRun, layOutRuns } from '../table.js';

/** A part of a line. Where the line is too long, those of the highest rank are left out first; rank 0 is always shown. */
type Part = readonly [text: string, rank: number, paint?: Paint];

/** Parts of a line that commas separate; two spaces separate groups. Empty texts are left out. */
export type Group = readonly Part[];

type DrawBar = (share: number | undefined) => string;

/** What a painter shows; `now` is monotonic (ms). */
export interface Progress {
  /** Returns the line; `bar` draws how much is done, 0 to 1, where that is known and bars are shown. */
  line(now: number, bar: DrawBar): readonly Group[];
  /** Returns the lines below, shown where the window has room for them. */
  below(width: number): readonly string[];
}

/** Shows a progress until it is stopped. */
export interface Painter {
  /** Shows a change at once; `text` is the line that says it where there is no live line. */
  changed(text?: string): void;
  /** Shows a change with the next frame: for many changes a second. */
  updated(text?: string): void;
  stop(): void;
}

/** What both kinds of progress need. */
export interface ProgressTools {
  clock: Clock;
  style: Style;
  secrets: SecretMask;
  open(progress: Progress): Painter;
}

/** How much of a request body has been sent, in bytes. */
export interface Upload {
  sent: number;
  total: number;
  /** Whether documents are encoded in it, so that it is larger than their files. */
  isBase64: boolean;
}

/** A run as last seen, with the times (ms, monotonic) that an estimate needs. */
interface Row extends ListedRun {
  /** When it was first seen RUNNING, and its steps then: time in a queue says nothing about the duration of a step. */
  firstSeen: number;
  firstSteps: number;
  lastStep: number;
}

export type RunsProgress = ReturnType<typeof showRuns>;

/** Shows the progress of one run, from its upload on, or of several that exist; without `runs`, of the one that is seen first. */
export function showRuns(tools: ProgressTools, runs: readonly ListedRun[] = []) {
  const { clock, style, secrets } = tools;
  const rowsById = new Map(runs.map((run): [string, Row] => [run.id, { ...UNSEEN, ...run }]));
  const began = clock.monotonic();
  let message = 'Connecting';
  let resume: readonly string[] = [];
  let upload: (Upload & { started: number }) | undefined;

  const line = (now: number, bar: DrawBar): readonly Group[] => {
    const elapsed = wholeSeconds(now - began);
    if (upload !== undefined) return uploadLine(upload, now, bar);
    const rows = [...rowsById.values()];
    if (rows.length > 1) {
      const done = rows.filter(({ isDone }) => isDone).length;
      const counts = countStatuses(rows.filter(({ run, isDone }) => run !== undefined || isDone));
      return [
        [[`${done}/${rows.length} runs`, 0]],
        counts.map(([status, count]) => {
          const rank = status === 'FAILED' ? 1 : 2;
          return [`${count} ${status}`, rank, statusPaint(status, style)];
        }),
        [[bar(done / rows.length), 4]],
        [[elapsed, 3]],
      ];
    }
    const [row = UNSEEN] = rows;
    const { run } = row;
    if (run === undefined) return [[[message, 0]], [[elapsed, 1]]];
    const steps = countSteps(run);
    return [
      [[statusText(run), 0, statusPaint(run.status, style)]],
      [[stepsText(run), 2]],
      [[bar(steps && steps.done / steps.total), 3]],
      [
        [elapsed, 1],
        [estimateText(timeLeftOf(row, now)), 4],
      ],
    ];
  };

  /** Returns the table of several runs, or how to continue with the only one. */
  const below = (width: number): readonly string[] => {
    const rows = [...rowsById.values()];
    if (rows.length < 2) return resume.map((text) => style.dim(text));
    return layOutRuns(rows, clock.now(), { style, width, secrets });
  };

  const painter = tools.open({ line, below });
  return {
    sending(sending: Upload): void {
      // A body that is sent again starts over.
      const before = upload && upload.sent <= sending.sent ? upload : undefined;
      upload = { ...sending, started: before?.started ?? clock.monotonic() };
      painter.updated();
    },

    waiting(text: string): void {
      upload = undefined;
      message = text;
      painter.changed();
    },

    /** Shows lines below how to leave the only run, whose id is above it; the command is printed when it is left. */
    resumable(lines: readonly string[]): void {
      resume = lines;
      painter.updated();
    },

    seen(id: string, run: Run): void {
      upload = undefined;
      const now = clock.monotonic();
      const row = rowsById.get(id) ?? { ...UNSEEN, id };
      rowsById.set(id, row);
      const before = row.run;
      const steps = countSteps(run)?.done ?? 0;
      if (before === undefined || before.status === 'PENDING')
        Object.assign(row, { firstSeen: now, firstSteps: steps, lastStep: now });
      else if (steps !== countSteps(before)?.done) row.lastStep = now;
      row.run = run;
      row.isDone = hasEnded(run);
      const text = runText(run);
      if (before === undefined || runText(before) !== text)
        painter.changed(rowsById.size > 1 ? `${sanitize(id)}  ${text}` : text);
    },

    /** The run has ended, or is no longer watched, because of `error` if there is one. */
    done(id: string, error?: Facts): void {
      const row = rowsById.get(id);
      if (row !== undefined) Object.assign(row, { isDone: true, error });
      const isMissing = rowsById.size > 1 && error?.code === 'no-such-run';
      painter.changed(isMissing ? `${sanitize(id)}  ${statusOrReason({ error })}` : undefined);
    },
  };
}

/** Estimates the time left of a run (ms), once two steps have completed. */
function timeLeftOf({ run, firstSeen, firstSteps, lastStep }: Row, now: number): number | undefined {
  const { done, total } = countSteps(run) ?? { done: 0, total: 0 };
  const since = done - firstSteps;
  if (since < 2) return undefined;
  return timeLeft((lastStep - firstSeen) / since, total - done, now - lastStep);
}

const UNSEEN: Row = {
  ...{ id: '', shortId: '', past: undefined, workflow: undefined },
  ...{ firstSeen: 0, firstSteps: 0, lastStep: 0 },
};

/** Returns `RUNNING  2 of 4 steps`, or the status alone where the number of steps is not valid. */
function runText(run: Run): string {
  return [statusText(run), stepsText(run)].filter((text) => text !== '').join('  ');
}

/** Returns the line of an upload, with its rate and time left after the first second. */
function uploadLine(
  { sent, total, isBase64, started }: Upload & { started: number },
  now: number,
  bar: DrawBar,
): readonly Group[] {
  const elapsed = now - started;
  const perSecond = elapsed < 1_000 ? 0 : (sent / elapsed) * 1_000;
  const left = perSecond === 0 ? undefined : timeLeft(1_000 / perSecond, total - sent);
  return [
    [['Sending', 2]],
    [
      [`${formatBytes(sent)} of ${formatBytes(total)}`, 0],
      [isBase64 ? 'as base64' : '', 4],
    ],
    [[bar(sent / total), 5]],
    [[perSecond === 0 ? '' : `${formatBytes(perSecond)}/s`, 3]],
    [[estimateText(left), 1]],
  ];
}

/** How many rows are in each state, of those read so far. */
export interface BatchCounts {
  /** Rows of the table; undefined until it has been read. */
  total: number | undefined;
  /** Rows that have ended, by the word for their state: first those that finished. */
  ended: readonly (readonly [word: string, count: number])[];
  running: number;
  /** Runs that this command has seen end, without those that had ended before it. */
  paced: number;
  /** Set while requests wait for a service that is too busy, which `status` says, or cannot be reached. */
  wait: { status: number | undefined; until: number } | undefined;
}

/** How a row ended. */
export interface EndedRow {
  label: string;
  state: State;
  /** The id of its run, if it has one. */
  id: string | undefined;
  /** Why it did not finish, not yet sanitized; empty if it did. */
  reason: string;
}

/** The last rows that did not succeed are shown; the closing block has all reasons. */
const MAX_PROBLEMS = 5;

export type BatchProgress = ReturnType<typeof showBatch>;

/** Shows the progress of a batch, whose `counts` are asked for whenever it is drawn, and the last rows that did not succeed. */
export function showBatch({ clock, style, open: openPainter }: ProgressTools, counts: () => BatchCounts) {
  const began = clock.monotonic();
  let problems: EndedRow[] = [];

  /** With the rate, and the time left once the number of rows is known. */
  const line = (now: number, bar: DrawBar): readonly Group[] => {
    const { ended, running, total, paced, wait } = counts();
    const done = ended.reduce((sum, [, count]) => sum + count, 0);
    const waiting = total === undefined ? 0 : Math.max(0, total - done - running);
    const elapsed = now - began;
    // The first of many that run at once say nothing of how long each takes; nor does a service that takes no requests.
    const isUnclear = elapsed < 2_000 || paced < Math.max(2, running) || wait !== undefined;
    const msPerRow = isUnclear ? undefined : elapsed / paced;
    // Rows that run are not done after the time of one more.
    const left = msPerRow && waiting > 0 ? timeLeft(msPerRow, waiting + running) : undefined;
    const open = (count: number, word: string, rank: number): Part => [
      count > 0 ? `${formatCount(count)} ${word}` : '',
      rank,
    ];
    return [
      [[bar(total ? done / total : undefined), 7]],
      [[total === undefined ? `${formatCount(done)} done` : `${formatCount(done)}/${formatCount(total)}`, 0]],
      [
        ...ended.map(([word, count], index): Part => {
          // The first problem is the last to go.
          const rank = word === wordOf('finished') ? 5 : 2 + index / 10;
          return [`${formatCount(count)} ${word}`, rank, wordPaint(word, style)];
        }),
        open(running, 'running', 6),
        open(waiting, 'waiting', 9),
      ],
      [[wait === undefined ? '' : waitText(wait, now), 1]],
      [[msPerRow === undefined ? '' : rateText(msPerRow), 10]],
      [
        [wholeSeconds(elapsed), left ? 8 : 4],
        [estimateText(left), 4],
      ],
    ];
  };

  const below = (width: number): readonly string[] =>
    problems.map((row) => {
      // The command names the table; what is cut off says more.
      const text = truncateTo(rowText({ ...row, label: withoutTable(row.label), id: undefined }), width);
      const word = wordOf(row.state);
      const paint = wordPaint(word, style);
      return text.replace(`  ${word}`, (found) => paint(found));
    });

  const painter = openPainter({ line, below });
  return {
    /** A row is done; `isProblem` if it did not succeed, and will not without the user. */
    rowDone(row: EndedRow, isProblem: boolean): void {
      if (isProblem) problems = [...problems, row].slice(-MAX_PROBLEMS);
      painter.updated(rowText(row));
    },
  };
}

/** Returns `rows.csv:12  failed  5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e  Check credit: too low`. */
function rowText({ label, state, id, reason }: EndedRow): string {
  const parts = [sanitize(label), wordOf(state), sanitize(id ?? ''), sanitizeLines(reason).join('; ')];
  return parts.filter((text) => text !== '').join('  ');
}

/** Returns `service busy (503): waiting 4s`. */
function waitText({ status, until }: NonNullable<BatchCounts['wait']>, now: number): string {
  const service = status === undefined ? 'service unreachable' : `service busy (${status})`;
  return until > now ? `${service}: waiting ${wholeSeconds(until - now + 999)}` : service;
}

/** Returns `1,200/min` or `4.5/min`. */
function rateText(msPerRow: number): string {
  const perMinute = 60_000 / msPerRow;
  return `${perMinute >= 10 ? formatCount(Math.round(perMinute)) : perMinute.toFixed(1)}/min`;
}

/** Returns the time (ms) that what is left takes at the same pace, `since` ms after the last was done; undefined if none. */
function timeLeft(msEach: number, left: number, since = 0): number | undefined {
  const ms = msEach * left - since;
  return ms > 0 ? ms : undefined;
}

/** Returns `~40s left`, rounded more coarsely the longer it is; nothing if unknown. */
function estimateText(ms: number | undefined): string {
  if (ms === undefined) return '';
  const step = ms < 60_000 ? 1_000 : ms < 600_000 ? 10_000 : 60_000;
  return `~${wholeSeconds(Math.max(step, Math.round(ms / step) * step))} left`;
}

/** Returns a line of at most `width` characters, with the parts that fit, those of the lowest rank first. */
export function fitLine(groups: readonly Group[], width = Number.POSITIVE_INFINITY): string {
  const lineOf = (ranks: ReadonlySet<number>, show: (part: Part) => string) =>
    groups
      .map((parts) => parts.filter(([text, rank]) => text !== '' && ranks.has(rank)).map(show))
      .flatMap((texts) => (texts.length === 0 ? [] : texts.join(', ')))
      .join('  ');
  const plain = ([text]: Part) => text;
  let shown = new Set([0]);
  const ranks = groups.flat().map(([, rank]) => rank);
  for (const rank of new Set(ranks.sort((one, other) => one - other))) {
    const more = new Set([...shown, rank]);
    if (lineOf(more, plain).length <= width) shown = more;
  }
  const line = lineOf(shown, plain);
  if (line.length > width) return truncateTo(line, width);
  return lineOf(shown, ([text, , paint]) => paint?.(text) ?? text);
}

/** Returns a text of at most `width` characters. */
function truncateTo(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** Returns a bar of `width` characters that shows a share, 0 to 1; only the whole fills it. Empty if the share is unknown. */
export function drawBar(share: number | undefined, width = 12): string {
  if (share === undefined) return '';
  const filled = Math.floor(Math.min(Math.max(share, 0), 1) * width);
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}

/** Returns `12s` or `2m 5s`, without fractions, which would flicker. */
function wholeSeconds(ms: number): string {
  return formatDuration(Math.max(1_000, Math.floor(ms / 1_000) * 1_000)).replace('.0', '');
}

/** Interval of the lines that show no change (ms). */
const HEARTBEAT = 60_000;

/** Prints the changes, and the line of `progress` a minute after the last one that was shown at once. */
export function plainPainter(print: (line: string) => void, clock: Clock, progress: Progress): Painter {
  let stop = () => {};
  const restart = () => {
    stop();
    stop = clock.after(HEARTBEAT, () => {
      print(fitLine(progress.line(clock.monotonic(), () => '')));
      restart();
    });
  };
  const updated = (text?: string) => {
    if (text !== undefined) print(text);
  };
  const changed = (text?: string) => {
    updated(text);
    if (text !== undefined) restart();
  };
  restart();
  return { changed, updated, stop: () => stop() };
}
