/** The closing block of a batch: how many rows ended how, why, and what to do next. */

import type { ErrorCode } from '../exit-code.js';
import { STATES, type State, WORDS, wordOf } from '../outcome/outcome.js';
import { formatCount, formatDuration, pluralize } from '../text/quantity.js';
import { sanitize, sanitizeLine, sanitizeLines } from '../text/sanitize.js';
import { wrap, wrapLines } from '../text/wrap.js';
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
  /** The labels of the first rows. */
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
  /** How long the command took, if that is said (ms). */
  durationMs?: number;
  /** When the batch began, and what is known of its end. */
  period?: string;
}

/** Reasons that are listed at most; reports have all. */
const MAX_REASONS = 10;
/** Characters of a message that are shown. */
const MAX_MESSAGE = 400;

/** A line, with the words in it that have a color. */
interface Line {
  text: string;
  words?: readonly (readonly [word: string, paint: Paint])[];
  /** Whether it is a part of a command, which no other line break may separate. */
  isCommand?: boolean;
}

/** Returns the lines of the block, wrapped to `width` columns; 0 means that they are not wrapped. */
export function formatBatchSummary(summary: BatchSummary, style: Style, width: number): string[] {
  const { reasons, notes, next } = summary;
  const lines: Line[] = [
    countsLine(summary, style),
    ...reasons.slice(0, MAX_REASONS).flatMap((reason) => reasonLines(reason, style)),
    ...moreReasons(reasons.slice(MAX_REASONS)),
    ...notes.map((text) => ({ text: sanitizeLine(text) })),
    ...next.flatMap((step) => stepLines(step, style, width)),
  ];
  return lines.flatMap((line) => paintedLines(line, width));
}

/** Rows that are gone are no rows of the table. */
function countsLine({ counts, durationMs, period }: BatchSummary, style: Style): Line {
  const present = counts.filter(([word]) => word !== 'gone');
  const rows = present.reduce((sum, [, count]) => sum + count, 0);
  const textOf = ([word, count]: readonly [string, number]) => `${formatCount(count)} ${word}`;
  const facts = [
    `${pluralize(rows, 'row')}: ${present.map(textOf).join(', ') || 'the table is empty'}`,
    ...counts.filter(([word]) => word === 'gone').map(textOf),
    ...(durationMs === undefined ? [] : [`took ${formatDuration(durationMs)}`]),
    ...(period === undefined ? [] : [period]),
  ];
  return {
    text: facts.join('; '),
    words: present.map((count) => [textOf(count), paintOf(WORDS.get(count[0]) ?? 'doubt', style)]),
  };
}

function reasonLines({ state, count, step, message, rows }: StateReason, style: Style): Line[] {
  const head = `${formatCount(count)} ${wordOf(state)}`;
  const at = step === '' ? '' : ` at step ${sanitize(step)}`;
  const text = sanitizeLines(message).join('; ');
  const more = count > rows.length ? ` and ${formatCount(count - rows.length)} more` : '';
  return [
    {
      text: `  ${head}${at}: ${text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text}`,
      words: [[head, paintOf(STATES[state].tone, style)]],
    },
    { text: `    ${rows.map(sanitize).join(', ')}${more}` },
  ];
}

function moreReasons(reasons: readonly StateReason[]): Line[] {
  if (reasons.length === 0) return [];
  const rows = reasons.reduce((sum, { count }) => sum + count, 0);
  return [{ text: `  ${pluralize(reasons.length, 'more reason')}, of ${pluralize(rows, 'row')}` }];
}

/** The indent of commands, and of what wrapLines adds to the next line. */
const INDENT = 2;

/** On one line if that fits; a longer command is continued as in a shell, so that it can be copied. */
function stepLines({ text, command }: NextStep, style: Style, width: number): Line[] {
  if (command === undefined) return [{ text }];
  const line = `${text}: ${command}`;
  if (width === 0 || line.length <= width - INDENT) return [{ text: line, words: [[command, style.bold]] }];
  const canBreak = command.length > width - 2 * INDENT && !/['"\\]/.test(command);
  const parts = canBreak ? wrapCommand(command, width - 3 * INDENT) : [command];
  const shown = parts.map((part, index) => (index < parts.length - 1 ? `${part} \\` : part));
  return [
    { text: `${text}:` },
    ...shown.map(
      (part, index): Line => ({
        text: `${index === 0 ? '  ' : '    '}${part}`,
        words: [[part, style.bold]],
        isCommand: true,
      }),
    ),
  ];
}

/** Wraps a command, without a line break between a flag and its value. */
function wrapCommand(command: string, width: number): string[] {
  const joined = command.replace(/(?<= )(--?[A-Za-z][\w-]*) (?!-)/g, '$1\u00a0');
  return wrap(joined, width).map((line) => line.replaceAll('\u00a0', ' '));
}

/** Colors the words after wrapping, which counts characters; a word on two lines stays plain. */
function paintedLines({ text, words = [], isCommand = false }: Line, width: number): string[] {
  const lines = isCommand ? [text] : wrapLines([text], width);
  for (const [word, paint] of words) {
    const index = lines.findIndex((line) => line.includes(word));
    if (index >= 0) lines[index] = (lines[index] ?? '').replace(word, () => paint(word));
  }
  return lines;
}
