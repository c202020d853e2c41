/** The closing block of a batch: how many rows ended how, why, and what to do next. */

import type { ErrorCode } from '../exit-code.js';
import { STATES, type State, WORDS, wordOf } from '../outcome/outcome.js';
import { formatCount, listFirst, pluralize } from '../text/quantity.js';
import { sanitize, sanitizeLine, sanitizeLines } from '../text/sanitize.js';
import { shownLength, wrap, wrapLines } from '../text/wrap.js';
import { type Paint, paintOf, type Style } from './presentation.js';

/** Why some rows have a state. */
export interface StateReason {
  state: State;
  /** The code of their error; undefined if their runs ended. */
  code: ErrorCode | undefined;
  count: number;
  /** The step at which their runs failed; empty if they did not. */
  step: string;
  message: string;
  /** The labels of the first 20 rows. */
  rows: readonly string[];
}

/** What to do next, and the command for it, if there is one. */
export interface NextStep {
  text: string;
  command?: string;
}

export interface BatchSummary {
  /** How many rows have each state, by its word, in the order of the list. */
  counts: readonly (readonly [word: string, count: number])[];
  reasons: readonly StateReason[];
  /** Why no further row was sent, and what the results may not have. */
  notes: readonly string[];
  next: readonly NextStep[];
  /** How long it took, when it was, or what this command did. */
  fact?: string;
}

/** Reasons that are listed at most; reports have all. */
const MAX_REASONS = 10;
/** Characters of a message that are shown. */
const MAX_MESSAGE = 400;

/** Rows of a reason that are listed; more of those that need a decision. */
const MAX_ROWS = 3;
const MAX_DECISIONS = 19;

/** Returns the lines of the block, wrapped to `width` columns; 0 means that they are not wrapped. */
export function formatBatchSummary(summary: BatchSummary, style: Style, width: number): string[] {
  const { reasons, notes, next } = summary;
  const lines = [
    ...wrapParts(countsLine(summary, style).split(/(?<=[,;:]) /), '', width),
    ...reasons.slice(0, MAX_REASONS).flatMap((reason) => reasonLines(reason, style, width)),
    ...moreReasons(reasons.slice(MAX_REASONS)),
    ...notes.map((text) => sanitizeLine(text)),
  ];
  return [...wrapLines(lines, width), ...next.flatMap((step) => stepLines(step, style, width))];
}

/** Colors each word, so that a line break between two of them keeps the color. */
function paintWords(text: string, paint: Paint): string {
  return text.replace(/\S+/g, (word) => paint(word));
}

/** Wraps counts or names after `indent`, and breaks none that fits on a line. */
function wrapParts(parts: readonly string[], indent: string, width: number): string[] {
  const next = indent || '  ';
  const space = width === 0 ? Number.POSITIVE_INFINITY : width - next.length;
  const words = parts.flatMap((part) => (shownLength(part) > space ? part.split(' ') : part));
  return wrap(words, space).map((line, index) => (index === 0 ? indent : next) + line);
}

/** Rows that are gone are no rows of the table. */
function countsLine({ counts, fact }: BatchSummary, style: Style): string {
  const present = counts.filter(([word]) => word !== 'gone');
  const rows = present.reduce((sum, [, count]) => sum + count, 0);
  const textOf = ([word, count]: readonly [string, number]) =>
    paintWords(`${formatCount(count)} ${word}`, paintOf(WORDS.get(word) ?? 'doubt', style));
  return [
    `${pluralize(rows, 'row')}: ${present.map(textOf).join(', ') || 'the table is empty'}`,
    ...counts.filter(([word]) => word === 'gone').map(textOf),
    ...(fact === undefined ? [] : [fact]),
  ].join('; ');
}

function reasonLines(
  { state, count, step, message, rows }: StateReason,
  style: Style,
  width: number,
): string[] {
  const head = paintWords(`${formatCount(count)} ${wordOf(state)}`, paintOf(STATES[state].tone, style));
  const at = step === '' ? '' : ` at step ${sanitize(step)}`;
  const [, status, rest = ''] = /^(?:(\d{3}): )?(.*)$/s.exec(message) ?? [];
  const text = sanitizeLines(rest).join('; ');
  const shown = text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text;
  const listed = listFirst(
    rows.map(sanitize),
    NEEDS_DECISION.includes(state) ? MAX_DECISIONS : MAX_ROWS,
    count,
  );
  return [
    `  ${head}${at}${status === undefined ? '' : ` (${status})`}: ${shown}`,
    ...wrapParts(listed, ROWS_INDENT, width),
  ];
}

const NEEDS_DECISION: readonly State[] = ['unknown', 'lost'];
const ROWS_INDENT = '    ';

function moreReasons(reasons: readonly StateReason[]): string[] {
  if (reasons.length === 0) return [];
  const rows = reasons.reduce((sum, { count }) => sum + count, 0);
  return [`  ${pluralize(reasons.length, 'more reason')}, of ${pluralize(rows, 'row')}`];
}

/** The indent of commands, and of what wrapLines adds to the next line. */
const INDENT = 2;

/** On one line if that fits; a longer command is continued as in a shell, so that it can be copied. */
function stepLines({ text, command }: NextStep, style: Style, width: number): string[] {
  if (command === undefined) return wrapLines([text], width);
  const line = `${text}: ${command}`;
  if (width === 0 || line.length <= width - INDENT) return [`${text}: ${paintWords(command, style.bold)}`];
  const canBreak = command.length > width - 2 * INDENT && !/['"\\]/.test(command);
  // No line break separates a flag and its value.
  const words = command.match(/--?[A-Za-z][\w-]* (?!-)\S+|\S+/g) ?? [];
  const parts = canBreak ? wrap(words, width - 3 * INDENT) : [command];
  const shown = parts.map((part) => paintWords(part, style.bold)).join(' \\\n    ');
  return [...wrapLines([`${text}:`], width), ...`  ${shown}`.split('\n')];
}
