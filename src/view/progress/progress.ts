/**
 * The progress of runs and of batches: what is known of them, and the lines that say it. A painter shows them (painter.ts).
 */
import {
  countSteps,
  type Failure,
  failureText,
  type State,
  statusText,
  stepsText,
  WORDS,
  withoutTable,
  wordOf,
} from '../../outcome/outcome.js';
import type { Clock } from '../../platform/context.js';
import { hasEnded, isFinished, type Run } from '../../service/run.js';
import {
  formatBytes,
  formatCount,
  formatElapsed,
  listFirst,
  parseTime,
  pluralize,
} from '../../text/quantity.js';
import { createReasonGroups } from '../../text/reason-groups.js';
import { sanitize } from '../../text/sanitize.js';
import type { SecretMask } from '../../text/secret-mask.js';
import { wrapLines } from '../../text/wrap.js';
import { type Style, statusPaint, wordPaint } from '../presentation.js';
import { countStatuses, reasonTexts, statusOrReason } from '../summary.js';
import { cutText, type ListedRun, layOutRuns } from '../table.js';
import {
  type DrawBar,
  type Group,
  joinTexts,
  type Line,
  type Painter,
  type Part,
  type Progress,
} from './painter.js';

// What is shown and what shows it are loaded together.
export { loadPainter } from './painter.js';

/** What both kinds of progress need. */
export interface ProgressTools {
  clock: Clock;
  style: Style;
  secrets: SecretMask;
  /** Whether runs continue when the command ends. */
  canContinue: boolean;
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
  const { clock, style, secrets, canContinue } = tools;
  const rowsById = new Map(runs.map((run): [string, Row] => [run.id, { ...UNSEEN, ...run }]));
  const began = clock.monotonic();
  let message = 'Connecting';
  let resume: readonly string[] = [];
  let upload: (Upload & { started: number }) | undefined;

  const line = (now: number, bar: DrawBar): Line => {
    if (upload) return uploadLine(upload, now - upload.started, bar);
    const rows = [...rowsById.values()];
    if (rows.length > 1) {
      const done = rows.filter(({ isDone }) => isDone).length;
      const counts = countStatuses(rows.filter(({ run, isDone }) => run || isDone));
      return [
        [[bar(done / rows.length), 2]],
        [[`${done}/${rows.length} runs`, 0]],
        [[wholeSeconds(now - began), 1]],
        counts.map(([status, count]) => [`${count} ${status}`, 0, 0, statusPaint(status, style)]),
      ];
    }
    const [row = UNSEEN] = rows;
    const { run } = row;
    // The end of a run that others triggered has its time since then, too.
    const age = runs.length > 0 && clock.now() - parseTime(run?.createdAt ?? '');
    const elapsed = Math.max(now - began, Number(age) || 0);
    // `2m` is shorter than `1m 59s`. The first minute leaves the room for a bar in 40 columns.
    const time: Part = [wholeSeconds(elapsed), 1, elapsed < 60_000 ? 0 : ELAPSED];
    if (!run) return [[[message, 0]], [time]];
    const { done, total } = countSteps(run);
    return [
      [[statusText(run), 0, 0, statusPaint(run.status, style)]],
      [[stepsText(run), 2]],
      [[bar(total ? done / total : undefined), 4]],
      [time, [estimateText(timeLeftOf(row, now)), 3]],
    ];
  };

  /**
   * Returns the table of several runs, where it has no room without reasons, and first those that failed; or how to continue
   * with the only one.
   */
  const below = (width: number, room: number): readonly string[] => {
    const rows = [...rowsById.values()];
    if (rows.length < 2) return resume.map((text) => style.dim(text));
    const layOut = (hasReasons: boolean) =>
      layOutRuns(rows, clock.now(), { style, width, secrets, hasReasons });
    const lines = layOut(true);
    if (lines.length < room && canContinue) lines.push(style.dim('Ctrl-C stops watching, not the runs'));
    if (lines.length <= room) return lines;
    const more = rows.length - Math.max(0, room - 2);
    if (more < 2) return layOut(false);
    const place = ({ isDone, run }: Row) => (isFinished(run) ? 2 : isDone ? 0 : 1);
    rows.sort((a, b) => place(a) - place(b));
    return [...layOut(false).slice(0, room - 1), `… ${more} more runs`];
  };

  const painter = tools.open({ lines: (now, bar) => [line(now, bar)], below });
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
      const steps = countSteps(run).done;
      if (!before || before.status === 'PENDING')
        Object.assign(row, { firstSeen: now, firstSteps: steps, lastStep: now });
      else if (steps !== countSteps(before).done) row.lastStep = now;
      row.run = run;
      row.isDone = hasEnded(run);
      const text = runText(run);
      if (!before || runText(before) !== text)
        painter.changed(rowsById.size > 1 ? `${sanitize(id)}  ${text}` : text);
    },

    /** The run has ended, or is no longer watched, because of `error` if there is one. */
    done({ id, error, durationMs }: Pick<ListedRun, 'id' | 'error' | 'durationMs'>): void {
      const row = rowsById.get(id);
      if (row) Object.assign(row, { isDone: true, error, durationMs });
      const isMissing = rowsById.size > 1 && error?.code === 'no-such-run';
      painter.changed(isMissing ? `${sanitize(id)}  ${statusOrReason({ error })}` : undefined);
    },
  };
}

/** Estimates the time left of a run (ms), once two steps have completed; 0 before. */
function timeLeftOf({ run, firstSeen, firstSteps, lastStep }: Row, now: number): number {
  const { done, total } = countSteps(run);
  const since = done - firstSteps;
  return since < 2 ? 0 : ((lastStep - firstSeen) / since) * (total - done) - (now - lastStep);
}

const UNSEEN: Row = {
  ...{ id: '', shortId: '', past: undefined, workflow: undefined },
  ...{ firstSeen: 0, firstSteps: 0, lastStep: 0 },
};

/** Returns `RUNNING  2 of 4 steps`, or the status alone where the number of steps is not valid. */
function runText(run: Run): string {
  return joinTexts([statusText(run), stepsText(run)]);
}

/** Returns the line of an upload, with its rate and time left after the first second. */
function uploadLine({ sent, total, isBase64 }: Upload, elapsed: number, bar: DrawBar): Line {
  // Bytes a millisecond.
  const rate = elapsed < 1_000 ? 0 : sent / elapsed;
  return [
    [['Sending', 2]],
    [
      [`${formatBytes(sent)} of ${formatBytes(total)}`, 0],
      [isBase64 ? 'as base64' : '', 4],
    ],
    [[bar(sent / total), 5]],
    [[rate ? `${formatBytes(rate * 1_000)}/s` : '', 3]],
    [[estimateText(rate && (total - sent) / rate), 1]],
  ];
}

/** How many rows are in each state, of those read so far. */
export interface BatchCounts {
  /** Rows of the table. */
  total: number;
  /** Rows that have ended, by the word for their state: first those that finished. */
  ended: readonly (readonly [word: string, count: number])[];
  running: number;
  /** The labels of the rows that this command sends or watches now. */
  inProgress: readonly string[];
  /** Rows that --limit allows to be sent yet. */
  left?: number;
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
  /** Why it did not finish, not yet sanitized; undefined if it did. */
  reason?: Failure | undefined;
}

/** Reasons why rows did not succeed that are shown, in the order of their words; the closing block has more. */
const MAX_REASONS = 5;
/** Columns of a reason that are shown at least, and more where they are two lines or less. */
const MIN_REASON = 100;
/** Rows in progress that are named once no row waits: they hold up the end. */
const MAX_NAMED = 3;

export type BatchProgress = ReturnType<typeof showBatch>;

/** Shows the progress of a batch, whose `counts` are asked for whenever it is drawn, and why rows did not succeed. */
export function showBatch(
  { clock, style, secrets, canContinue, open: openPainter }: ProgressTools,
  counts: () => BatchCounts,
) {
  const began = clock.monotonic();
  /** The label and the message of the first row of each. */
  const problems = createReasonGroups<readonly [label: string, message: string]>(1);
  /** How many rows run at once: a wave, as they may also end at once. */
  let wave = 1;
  /** How many runs had ended when the end was last estimated. */
  let estimated = 0;
  let end = 0;

  /** How much is done and when it ends, what the batch waits for, and how many rows are in which state. */
  const lines = (now: number, bar: DrawBar): readonly Line[] => {
    const { ended, running, inProgress, total, left = total, paced, wait } = counts();
    const done = ended.reduce((sum, [, count]) => sum + count, 0);
    const elapsed = now - began;
    // The first of many that run at once say nothing of how long each takes; nor does a service that takes no requests.
    const isUnclear = elapsed < 2_000 || paced < Math.max(2, running) || wait;
    wave = Math.max(wave, running);
    // While a wave is waited for, the pace seems slower than it is. The first wave says little.
    if (paced - estimated >= wave) {
      estimated = paced;
      const open = Math.min(total - done, running + left);
      if (paced >= 2 * wave) end = now + Math.ceil(open / wave) * wave * (elapsed / paced);
    }
    const time = wholeSeconds(elapsed);
    const timeLeft = estimateText(isUnclear ? 0 : end - now);
    const waiting = total - done - running;
    const isLast = waiting === 0 && inProgress.length > 0;
    const inUse = countText(running, 'running');
    const states: Group = [
      ...ended.map(([word, count]): Part => [countText(count, word), 0, 0, wordPaint(word, style)]),
      [isLast ? '' : inUse, 0],
      [countText(waiting, 'waiting'), 0],
    ];
    const last = isLast ? `${inUse}: ${listFirst(inProgress.map(labelText), MAX_NAMED)}` : '';
    return [
      [
        [[bar(total && done / total), 2]],
        [[`${formatCount(done)}/${formatCount(total)}`, 0]],
        // Where there is no room for both, the time left takes the place of the elapsed one.
        [
          [timeLeft && time, 3, ELAPSED],
          [timeLeft || time, 1, LEFT],
        ],
        [[isUnclear ? '' : rateText(elapsed / paced), 4, RATE]],
      ],
      [[[wait ? waitText(wait, now) : '', 0]]],
      [states],
      [[[last, 0]]],
    ];
  };

  const below = (width: number, rows: number): readonly string[] => {
    const order = [...WORDS.keys()];
    const groups = problems.bySize().sort((a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome));
    const shown = groups.slice(0, MAX_REASONS);
    const room = Math.max(MIN_REASON, 2 * width);
    const texts = shown.map(({ outcome: word, step, count, first: [[label, message]] }) => {
      const [head, reason] = reasonTexts({ word, count, step, message }, style);
      const shown = cutText(reason, room).replace(/ \S*…$/, ' …');
      return `${head}, ${count > 1 ? 'such as ' : ''}${label}: ${shown}`;
    });
    while (true) {
      const others = groups.length - texts.length;
      const more = others > 0 ? [pluralize(others, 'more reason')] : [];
      const lines = wrapLines([...texts, ...more].map(secrets.mask), width);
      if (lines.length < rows && canContinue) lines.push(style.dim('Ctrl-C ends the batch, not its runs'));
      if (lines.length <= rows || !texts.pop()) return lines.map((line) => cutText(line, width));
    }
  };

  const painter = openPainter({ lines, below });
  return {
    /** So many rows, one of them with this label, did not succeed, and will not without the user. */
    problem({ label, state, reason = {} }: Omit<EndedRow, 'id'>, rows = 1): void {
      const { step = '', message = '' } = reason;
      problems.add({ outcome: wordOf(state), step, message }, [labelText(label), message], rows);
    },

    rowDone({ label, state, id, reason }: EndedRow): void {
      // rows.csv:12  failed  5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e  Check credit: too low
      painter.updated(
        joinTexts([sanitize(label), wordOf(state), sanitize(id ?? ''), sanitize(failureText(reason))]),
      );
    },
  };
}

/** Returns the label of a row, sanitized, without the table, which the command names. */
function labelText(label: string): string {
  return sanitize(withoutTable(label));
}

/** Returns `1,200 running`, or nothing for none. */
function countText(count: number, word: string): string {
  return count > 0 ? `${formatCount(count)} ${word}` : '';
}

/** Returns `service busy (503): retry in 4s`. */
function waitText({ status, until }: NonNullable<BatchCounts['wait']>, now: number): string {
  const service = status === undefined ? 'service unreachable' : `service busy (${status})`;
  return until > now ? `${service}: retry in ${wholeSeconds(until - now + 999)}` : service;
}

/** Returns `1,200/min` or `4.5/min`. */
function rateText(msPerRow: number): string {
  const perMinute = 60_000 / msPerRow;
  return `${perMinute >= 10 ? formatCount(Math.round(perMinute)) : perMinute.toFixed(1)}/min`;
}

/** Columns of an elapsed time such as `59m 59s`, of an estimate such as `~23h 59m left`, and of most rates. */
const ELAPSED = 7;
const LEFT = 13;
const RATE = 9;

/** Returns `~40s left`, rounded more coarsely the longer it is; nothing unless some time is left (ms). */
function estimateText(ms: number): string {
  if (ms <= 0) return '';
  const step = ms < 30_000 ? 1_000 : ms < 300_000 ? 5_000 : 60_000;
  return `~${wholeSeconds(Math.round(ms / step) * step)} left`;
}

/** Returns `12s` or `2m 5s`, without milliseconds, which would flicker. */
function wholeSeconds(ms: number): string {
  return formatElapsed(Math.max(1_000, ms));
}
