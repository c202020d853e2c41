/** The table of `wfr results` for people: which columns of rows and outputs are shown, and what is said of the others. */
import { splitItem } from '../../inputs/item.js';
import { commonTable, failureText, tableOf } from '../../outcome/outcome.js';
import type { WrittenCell } from '../../table/table.js';
import { compactJson } from '../../text/json/format-json.js';
import { decodeString } from '../../text/json/members.js';
import { QUOTE } from '../../text/json/scanner.js';
import { listFirst } from '../../text/quantity.js';
import { sanitize } from '../../text/sanitize.js';
import { joinChunks } from '../../text/utf8.js';
import { NO_BREAK } from '../../text/wrap.js';
import { type Layout, wordPaint } from '../../view/presentation.js';
import type { Column } from '../../view/table.js';

/** A row as it is shown. */
export interface ResultRow {
  /** How people know it: where the table has it now, if there is one. */
  label: string;
  /** Of the table. */
  cells: readonly WrittenCell[];
  /** By column. */
  facts: Readonly<Record<string, string | number | null>>;
  /** JSON (UTF-8): of each pointer the value, or the output alone; undefined where there is none. */
  values: readonly WrittenCell[];
}

/** The cells of a row as texts: its label, those of the table, the values, its outcome and its reason. */
type Cells = readonly string[];

/** Characters of a table; with more, another one follows. */
const MAX_TABLE = 100_000;

/** The columns of a cell for people outside a window, and of a name or a reason. */
const MAX_WIDTH = 100;
const MAX_REASON = 400;

/** The columns of an id that is not cut before texts are. */
const MAX_CODE = 20;

/** The characters of a value that all rows have, where it is not shown. */
const MAX_NOTE = 40;

/**
 * Lays out rows with these columns of their table, if they have one, and values, all of which were asked for or else those that
 * have room.
 */
export function createRowTable(
  columns: readonly string[] | undefined,
  values: readonly string[],
  isAskedFor: boolean,
  page: Layout,
) {
  const written = columns ?? [];
  const valuesAt = written.length + 1;
  /** What is said of columns that are not shown, by their names, if there is one table. */
  const leftOut = new Map<string, string>();
  let tables = 0;

  const outcomeOf = (row: Cells) => row.at(-2) ?? '';
  /** A row is not gone for the reason of its run. */
  const reasonOf = (row: Cells) => (outcomeOf(row) === 'gone' ? '' : (row.at(-1) ?? ''));

  /** Returns the columns of a table of these rows. */
  function columnsOf(rows: readonly Cells[]): Column<Cells>[] {
    // In a window, the table or the folder that all rows have is left out.
    const texts = (at: number) => (page.width > 0 ? rows.flatMap(({ [at]: text }) => text || []) : []);
    const name = commonTable(texts(0));
    const start = name || commonFolder(texts(0));
    /** Another row may have the line of one that is gone. */
    const nameOf = (row: Cells) =>
      (outcomeOf(row) === 'gone' ? 'was ' : '') + (row[0] ?? '').slice(start.length);
    // One that is gone is listed with its output.
    const finished = rows.filter(
      (row) => outcomeOf(row) === 'finished' || row.slice(valuesAt, -2).some(Boolean),
    );
    /** Whether a column has the cells of another one, where there is an output. */
    const isCopy = (at: number, other: number) =>
      finished.length > 1 &&
      finished.some((row) => row[at]) &&
      finished.every(({ [at]: cell, [other]: same }) => isSame(cell, same));
    /** Of each value, the column of the table that has the same in all rows; -1 if none has. */
    const copies = values.map((_, value) =>
      isAskedFor ? -1 : written.findIndex((_, index) => isCopy(valuesAt + value, index + 1)),
    );
    const shown: (Pick<Column<Cells>, 'header'> & Partial<Column<Cells>>)[] = [
      {
        header: name ? 'LINE' : 'ROW',
        isCutInMiddle: () => !name,
        least: isAskedFor ? 16 : Math.max(20, page.width / 4),
      },
      // The first one usually names the row. Two values precede the second one, values that differ the others; then come files.
      ...written.map((column, index) => {
        const copy = copies.indexOf(index);
        const at = index + 1;
        const isFile = splitItem(column)?.separator === '@';
        const folder = isFile ? commonFolder(texts(at)) : '';
        // Where no row has values, a file may be what is wrong.
        const filePlace = finished.length > 0 ? 3_000 : 1.7;
        const place = isFile ? filePlace : index === 1 ? 1.5 : 2_000;
        return {
          header: nameOfColumn(column),
          // It has the place of a value that is the same: rows that have failed have it, too.
          rank: index && (copy < 0 ? place + index : 1 + copy),
          ...(isFile && {
            text: ({ [at]: cell = '' }: Cells) => cell.slice(folder.length),
            isCutInMiddle: () => true,
          }),
        };
      }),
      ...values.map((header, index) => {
        // What was asked for has half of the window.
        if (isAskedFor)
          return { header, isResult: true, isKept: true, least: page.width / 2 / values.length };
        // An output that has none of the values says more than most values.
        if (header === 'output') return { header, isResult: true, rank: 1 };
        const { [valuesAt + index]: cell = '' } = finished[0] ?? [];
        const isAlike = finished.length > 1 && finished.every((row) => isSame(row[valuesAt + index], cell));
        const note = isAlike && cell ? `always ${cell.length > MAX_NOTE ? 'the same' : cell}` : '';
        return { header, isResult: true, rank: (isAlike ? 3_500 : 1) + index, note };
      }),
    ];
    return shown.flatMap((column, index) => {
      const header = sanitize(column.header);
      const copied = written[copies[index - valuesAt] ?? -1];
      if (copied !== undefined) {
        leftOut.set(header, `= ${sanitize(nameOfColumn(copied))}`);
        return [];
      }
      const isProse = rows.some(({ [index]: cell = '' }) => /\s|…$/.test(cell));
      const longest = Math.max(...rows.map(({ [index]: cell = '' }) => cell.length));
      const isNumber = index > 0 && rows.every(({ [index]: cell = '' }) => cell === '' || NUMBER.test(cell));
      const decimals = Math.max(...rows.map(({ [index]: cell }) => decimalsOf(cell)));
      /** Numbers are aligned at their decimal points. */
      const aligned = ({ [index]: cell = '' }: Cells) =>
        isNumber && cell ? cell + ' '.repeat(decimals - decimalsOf(cell)) : cell;
      return {
        text: (row) => (index === 0 ? nameOf(row) : aligned(row)),
        isNumber,
        // The end of a path or of an id tells it from others, and both ends of a short one are not enough.
        isCutInMiddle: () => !isNumber && !isProse,
        least: Math.max(8, page.width / 7, isProse ? 0 : Math.min(MAX_CODE, longest)),
        ...column,
        header,
      };
    });
  }

  return {
    /** Yields the rows as tables, each of many rows: all of them may not fit into memory. */
    async *layOut(results: AsyncIterable<ResultRow>): AsyncGenerator<string, void, void> {
      const { cutText, layOutTable } = await import('../../view/table.js');
      let rows: string[][] = [];
      let size = 0;
      const layOut = () => {
        if (rows.length === 0) return '';
        // A file that replaces another one has its place in the folder.
        if (!columns && !rows.some(([label = '']) => tableOf(label)))
          rows.sort(([one = ''], [other = '']) => (one < other ? -1 : 1));
        const laidOut = layOutTable(rows, columnsOf(rows), page, {
          text: reasonOf,
          paint: (row) => wordPaint(outcomeOf(row), page.style),
          state: { header: 'OUTCOME', text: outcomeOf },
        });
        for (const { header, note = '' } of laidOut.leftOut) leftOut.set(header, note);
        tables++;
        return `${laidOut.lines.join('\n')}\n`;
      };
      /** Returns a text as a cell of one line: line feeds are as JSON has them. */
      const cellOf = (text: unknown, most = page.width || MAX_WIDTH) =>
        cutText(sanitize(String(text).replaceAll('\n', '\\n')), most);
      for await (const { label, cells, facts, values } of results) {
        const row = [
          cellOf(label, MAX_REASON),
          ...cells.map((cell) => cellOf(textOf(cell))),
          ...values.map((value) => cellOf(textOf(value))),
          cellOf(facts.outcome),
          cellOf(failureText(facts), MAX_REASON),
        ];
        rows.push(row);
        size += row.join('').length;
        if (size < MAX_TABLE) continue;
        yield layOut();
        rows = [];
        size = 0;
      }
      yield layOut();
    },

    /** Returns the columns that were not shown, and what is said of them; empty if all were. */
    notShown(): string {
      const shown = [...leftOut].map(([name, note]) =>
        note && tables === 1 ? `${name} (${note})`.replaceAll(' ', NO_BREAK) : name,
      );
      return shown.length > 0 ? `${listFirst(shown, 9)}; --get chooses, -o${NO_BREAK}csv has all` : '';
    },
  };
}

/** Returns the name of an input, of the column of a table: without what says how its cells are read. */
export const nameOfColumn = (column: string) => splitItem(column)?.name ?? column;

/** Returns what a cell stands for: the text of a JSON string, other JSON as it is, nothing for null. */
export function textOf(value: WrittenCell): string {
  if (value === undefined || typeof value === 'string') return value ?? '';
  if (value[0] === QUOTE) return decodeString(value);
  const text = joinChunks(compactJson(value)).trimEnd();
  return text === 'null' ? '' : text;
}

/** Matches what is a number, and no formula. */
export const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** Returns whether two cells are the same, as are 1.50 and 1.5; what was cut may differ. */
function isSame(cell = '', other = ''): boolean {
  if (cell === other) return !cell.endsWith('…');
  const plain = (text: string) => text.replace(/^(-?\d+)\.0+$|^(-?\d+\.\d*[1-9])0+$/, '$1$2');
  return plain(cell) === plain(other);
}

/** Returns the characters of a number from its decimal point on. */
const decimalsOf = (number = '') => /\.\d+/.exec(number)?.[0].length ?? 0;

/** Returns the folder that all paths have, with a slash at its end; empty if they have none. */
function commonFolder([first = '', ...others]: readonly string[]): string {
  let start = first;
  for (const text of others) while (!text.startsWith(start)) start = start.slice(0, -1);
  return start.replace(/[^/]*$/, '');
}
