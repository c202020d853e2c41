/** The closing block of a batch: how many rows ended how, why, and what to do next. */

import type { ErrorCode } from '../exit-code.js';
import { commonTable, type State, wordOf } from '../outcome/outcome.js';
import { formatCount, listFirst, pluralize } from '../text/quantity.js';
import { sanitize, sanitizeLine } from '../text/sanitize.js';
import { NO_BREAK, wrapLines } from '../text/wrap.js';
import { type NextStep, type Style, stepLines, wordPaint } from './presentation.js';
import { reasonTexts } from './summary.js';

/** Why some rows have a state. */
interface StateReason {
  state: State;
  /** The code of their error; undefined if their runs ended. */
  code: ErrorCode | undefined;
  count: number;
  /** The step at which their runs failed; empty if they did not. */
  step: string;
  message: string;
  /** The labels of the first 20 rows, with more to tell them by in parentheses. */
  rows: readonly string[];
}

export interface BatchSummary {
  /** How many rows have each state, by its word, in the order of the list. */
  counts: readonly (readonly [word: string, count: number])[];
  /** Whether the table was read to its end. */
  isRead: boolean;
  reasons: readonly StateReason[];
  /** Why no further row was sent, and what the results may not have. */
  notes: readonly string[];
  next: readonly NextStep[];
  /** What this command did, and how long that took. */
  fact?: string;
  /** When it was, in a sentence. */
  period?: string;
}

/** Reasons that are listed at most; reports have all. */
const MAX_REASONS = 10;
/** Characters of a message that are shown. */
const MAX_MESSAGE = 400;
/** Columns before the rows that are listed, and behind them. */
const INDENT = 7;

/** Returns the lines of the block, wrapped to `width` columns; 0 means that they are not wrapped. */
export function formatBatchSummary(
  summary: BatchSummary,
  style: Style,
  width: number,
  platform?: NodeJS.Platform,
): string[] {
  const { counts, reasons, period, notes, next } = summary;
  const frequent = reasons.slice(0, MAX_REASONS);
  const lines = [
    ...countsLines(summary, style),
    ...counts.flatMap(([word]) =>
      frequent
        .filter(({ state }) => wordOf(state) === word)
        .flatMap((reason) => reasonLines(reason, style, width)),
    ),
    ...moreReasons(reasons.slice(MAX_REASONS)),
    ...((period || reasons.length > 0) && notes.length + next.length > 0 ? [''] : []),
    ...notes.map(sanitizeLine),
  ];
  const wrapped = wrapLines(lines, width).map((line) => line.replaceAll(NO_BREAK, ' '));
  return [...wrapped, ...stepLines(next, style, width, platform !== 'win32')];
}

/** Rows that are gone are no rows of the table. */
function countsLines({ counts, isRead, fact, period }: BatchSummary, style: Style): string[] {
  const present = counts.filter(([word]) => word !== 'gone');
  const rows = present.reduce((sum, [, count]) => sum + count, 0);
  const textOf = ([word, count]: readonly [string, number]) =>
    wordPaint(word, style)(`${formatCount(count)} ${word}`);
  const states = present.map(textOf).join(', ') || `the table ${isRead ? 'is empty' : 'was not read'}`;
  const gone = counts
    .filter(([word]) => word === 'gone')
    .map(([, count]) => `${pluralize(count, 'earlier row')} replaced or removed`);
  const first = `${pluralize(rows, 'row')}: ${states}`;
  return period ? [first, period, ...gone] : [[first, ...gone, ...(fact ? [fact] : [])].join('; ')];
}

function reasonLines({ state, rows, ...reason }: StateReason, style: Style, width: number): string[] {
  const [head, text] = reasonTexts({ ...reason, word: wordOf(state) }, style);
  const shown = text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text;
  const listed = listRows(rows, reason.count, width);
  // As the live line has it.
  return reason.count === 1 ? [`  ${head}, ${listed}: ${shown}`] : [`  ${head}: ${shown}`, `    ${listed}`];
}

/** Lists rows, such as `rows.csv:2-5, 7 (ACME)`; where lines are wrapped, names that fit one stay whole. */
function listRows(rows: readonly string[], count: number, width: number): string {
  // A table that all of them have is not repeated.
  const table = commonTable(rows);
  const labels = rows.map((label) => sanitize(label.slice(table.length)));
  const items = table === '' ? labels : joinNumbers(labels);
  const whole = [sanitize(table) + items[0], ...items.slice(1)].map((item) =>
    item.length < width - INDENT ? item.replaceAll(' ', NO_BREAK) : item,
  );
  return listFirst(whole, whole.length, whole.length + count - rows.length);
}

/** Joins the numbers that follow each other: `2-4` for `2`, `3`, `4`. */
function joinNumbers(labels: readonly string[]): string[] {
  const ranges: string[][] = [];
  for (const label of labels) {
    const range = ranges.at(-1);
    if (Number(label) === Number(range?.at(-1)) + 1) range?.push(label);
    else ranges.push([label]);
  }
  return ranges.flatMap((range) => (range.length > 2 ? `${range[0]}-${range.at(-1)}` : range));
}

function moreReasons(reasons: readonly StateReason[]): string[] {
  if (reasons.length === 0) return [];
  const rows = reasons.reduce((sum, { count }) => sum + count, 0);
  return [
    `  ${pluralize(reasons.length, 'more reason')}, of ${pluralize(rows, 'row')}; wfr results <file> -o csv has all`,
  ];
}
