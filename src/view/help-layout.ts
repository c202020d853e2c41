/** Lays out a help text, which is written for 80 columns, for a terminal: its width, and headings in bold. */
import { wrap } from '../text/wrap.js';
import type { Layout } from './layout.js';
import type { Paint } from './style.js';

/** The widths that a help text is laid out for; in wider windows, long lines are hard to read. */
const MIN_WIDTH = 40;
const MAX_WIDTH = 100;
/** The width of the text as it is written. */
const WRITTEN_WIDTH = 80;
/** A description beside its term has at least so many columns; else it is below. */
const MIN_DESCRIPTION = 28;
/** A line that is indented further continues the description above it. */
const CONTINUATION = 6;

/** Returns the text for a window; `width` is 0 where lines may have any length. */
export function layOutHelp(text: string, { style, width }: Pick<Layout, 'style' | 'width'>): string {
  const lines = text.split('\n');
  const isFit = width === 0 || width === WRITTEN_WIDTH;
  const shown = isFit ? lines : reflow(lines, Math.min(Math.max(width, MIN_WIDTH), MAX_WIDTH));
  return shown.map((line, index) => paintHeading(line, index, shown[index + 1], style.bold)).join('\n');
}

/** `Examples:` or `Messages (stderr):`, but no sentence that ends with a colon. */
const HEADING = /^[A-Z][\w()]*( [\w()]+){0,2}:$/;

/** A line of a JSON sample, which is indented; a sentence may begin with a quoted word. */
const JSON_LINE = /^( +"| *[{}[\]])/;

function paintHeading(line: string, index: number, next: string | undefined, bold: Paint): string {
  const isTitle = index === 0 && next === '' && !line.startsWith('Usage:');
  return isTitle || HEADING.test(line) ? bold(line) : line.replace(/^Usage:/, (word) => bold(word));
}

function reflow(lines: readonly string[], width: number): string[] {
  const shown: string[] = [];
  for (let index = 0; index < lines.length; ) {
    const { taken, block } = readBlock(lines.slice(index));
    shown.push(...block(width));
    index += taken;
  }
  return shown;
}

/** The lines that belong together, and a function that lays them out. */
interface Block {
  taken: number;
  block(width: number): string[];
}

function readBlock(lines: readonly string[]): Block {
  const [line = ''] = lines;
  const indent = indentOf(line);
  if (line === '' || HEADING.test(line) || JSON_LINE.test(line)) return { taken: 1, block: () => [line] };
  if (indent === 0) return readParagraph(lines);
  const below = lines.slice(1);
  if (line.endsWith('\\')) return readCommand(lines);
  const end = below.findIndex((next) => indentOf(next) < CONTINUATION);
  const row = lines.slice(0, end < 0 ? lines.length : end + 1);
  const isRow = row.length > 1 || / {2,}[^ #]/.test(line.trimStart());
  return isRow ? { taken: row.length, block: (width) => layOutRow(row, width) } : readCommand(lines);
}

function readParagraph(lines: readonly string[]): Block {
  const end = lines.findIndex(
    (line, index) => index > 0 && (indentOf(line) > 0 || line === '' || HEADING.test(line)),
  );
  const taken = end < 0 ? lines.length : end;
  const [first = '', ...rest] = lines.slice(0, taken);
  const hanging = first.startsWith('Usage:') ? '  ' : '';
  return {
    taken,
    block: (width) =>
      wrap([first, ...rest].join(' '), width - hanging.length).map(
        (line, index) => (index === 0 ? '' : hanging) + line,
      ),
  };
}

/** Lays out a term and its descriptions: beside it where there is room, else below. */
function layOutRow(lines: readonly string[], width: number): string[] {
  const [line = '', ...continued] = lines;
  const [indent = 0, ...beside] = [...line.matchAll(/(?<=^ *| {2})[^ ]/g)].map(({ index }) => index);
  // A long term has no description on its line.
  const columns = beside.length > 0 ? beside : [indentOf(continued[0] ?? '')];
  const term = line.slice(indent, beside[0]).trimEnd();
  const descriptions = columns.map((start, column) =>
    [...(beside.length > 0 ? [line] : []), ...continued]
      .map((part) => part.slice(start, columns[column + 1]).trim())
      .filter((part) => part !== '')
      .join(' '),
  );
  if (columns.length > 1 && width >= WRITTEN_WIDTH) return [...lines];
  const [column = 0] = columns;
  const isBeside = columns.length === 1 && width - column >= MIN_DESCRIPTION;
  const left = isBeside ? column : indent + 4;
  const below = descriptions.flatMap((description) =>
    wrap(description, width - left).map((part) => ' '.repeat(left) + part),
  );
  const head = ' '.repeat(indent) + term;
  const [first = '', ...rest] = below;
  return isBeside && head.length < column
    ? [head.padEnd(column) + first.trimStart(), ...rest]
    : [head, ...below];
}

/** A command of a shell; where it does not fit, it is continued with a backslash, and a comment is above it. */
function readCommand(lines: readonly string[]): Block {
  const end = lines.findIndex((line) => !line.endsWith('\\'));
  const own = lines.slice(0, end + 1);
  const block = (width: number) => {
    if (own.every((line) => line.length <= width)) return [...own];
    const indent = ' '.repeat(indentOf(own[0] ?? ''));
    const text = own.map((line) => line.replace(/\\$/, '').trim()).join(' ');
    const [command = '', comment] = text.split(/ +(?=# )/);
    const words = command.match(/('[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
    // A UUID and ` \\` fit a window of 40 columns without further indentation.
    const longest = Math.max(...words.map(({ length }) => length));
    const hanging = indent.length + longest + 4 > width ? '' : '  ';
    const parts = wrapWords(words, width - indent.length - hanging.length - 2);
    return [
      ...(comment === undefined ? [] : [indent + comment]),
      ...parts.map(
        (part, index) =>
          `${indent}${index === 0 ? '' : hanging}${part}${index < parts.length - 1 ? ' \\' : ''}`,
      ),
    ];
  };
  return { taken: own.length, block };
}

function wrapWords(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

const indentOf = (line: string) => line.length - line.trimStart().length;
