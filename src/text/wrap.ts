/** Wraps text at words, for help and error messages. */
import { stripVTControlCharacters } from 'node:util';

/** Characters that may take two columns (UAX #11); beyond U+FFFF, each has two code units anyway. */
const WIDE = /[\u2e80-\ud7ff\uf900-\uff60]/g;

/** Returns how many columns a text takes at most: exact widths would load a table at each start. Its colors take none. */
function shownWidth(text: string): number {
  return stripVTControlCharacters(text).replace(WIDE, '  ').length;
}

/**
 * Matches a space between two words, but not in `wfr help inputs`, `wfr results file` or `wfr sandbox -- bash`, which are
 * copied whole, nor in `line 3` or `3 failed`, also in color, in `1m 5s` or `12:34:56 UTC`, nor after a line's number before
 * what is in parentheses.
 */
const BREAK =
  /(?<!\bline|\bwfr(?: help| results| sandbox(?: --)?)?|[ (m][\d,]*\d(?= [a-z])|\d[hm](?= \d)|:\d\d(?= UTC)|(?:^|[ :])\d+(?= \()) /i;

/** A space at which no line is wrapped. */
export const NO_BREAK = '\u00a0';

/**
 * Wraps a text into lines of at most `width` characters, the first of `first`, which keeps its indentation; a longer word is
 * a line of its own.
 */
export function wrap(text: string, width: number, first = width): string[] {
  const lines: string[] = [];
  let [line] = /^ */.exec(text) as [string];
  for (const word of text.trimStart().split(BREAK)) {
    // A CI log would execute a line that begins with :: as a command.
    const room = lines.length === 0 ? first : width;
    const isEmpty = line.trim() === '';
    if (!isEmpty && shownWidth(line) + 1 + shownWidth(word) > room && !word.startsWith('::')) {
      lines.push(line);
      line = word;
    } else {
      line += isEmpty ? word : ` ${word}`;
    }
  }
  return [...lines, line];
}

/** Columns; in fewer, lines are easier to read if the terminal wraps them. */
export const MIN_WIDTH = 30;

/** What is below a term is indented by so many columns. */
const INDENT = 6;

/**
 * Lays out terms with their meanings beside them, from column `start`. A longer term is on a line of its own, and so are most
 * where `width` columns have no room for two.
 */
export function layOutTerms(
  rows: readonly (readonly [term: string, meaning: string])[],
  start: number,
  width: number,
): string {
  const column = width - start < MIN_WIDTH ? INDENT : start;
  const lines = rows.flatMap(([name, meaning]) => {
    const term = `  ${name}`;
    const [first = '', ...rest] = wrap(meaning, width - column).map((line) => ' '.repeat(column) + line);
    const length = shownWidth(term);
    return length < column - 1 ? [term + first.slice(length), ...rest] : [term, first, ...rest];
  });
  return lines.join('\n');
}

/**
 * Wraps lines to a terminal of `width` columns; 0 means unknown. A continuation is indented by two more columns, behind the
 * `| ` of the service's text. After `wfr: `, it is indented by four, so that the lines below, indented by two, stand out.
 */
export function wrapLines(lines: readonly string[], width: number): string[] {
  if (width < MIN_WIDTH) return [...lines];
  return lines.flatMap((line) => {
    if (shownWidth(line) <= width) return [line];
    const [, start = '', own] = /^(\| | *)(wfr: )?/.exec(line) ?? [];
    const indent = start + (own ? '    ' : '  ');
    const parts = wrap(line.slice(start.length), width - indent.length, width - start.length);
    return parts.map((part, index) => {
      const before = index === 0 ? start : indent;
      const over = before.length + shownWidth(part) - width;
      // A word that fills the window has less before it, so that the terminal does not break it.
      const isLess = start !== '| ' && over > 0 && over < before.length;
      return ((isLess ? before.slice(over) : before) + part).trimEnd();
    });
  });
}
