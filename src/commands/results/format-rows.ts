/** The formats of `wfr results`: one JSON object, JSON Lines, CSV, values as text, and the ids of the runs. */
import type { WfrError } from '../../errors.js';
import { commonTable, failureText, type Outcome, wordOf } from '../../outcome/outcome.js';
import { type JoinedFiles, openOutcomes, readOutcomes } from '../../runs/join-files.js';
import type { RowState } from '../../runs/log/reduce.js';
import { isFinished } from '../../service/run.js';
import type { WrittenCell, WrittenTable } from '../../table/table.js';
import { ChunkWriter, compactJson, formatJson } from '../../text/json/format-json.js';
import { decodeString } from '../../text/json/members.js';
import { followPointer, listValues, type ValuePointer } from '../../text/json/pointer.js';
import { QUOTE } from '../../text/json/scanner.js';
import { formatIso, listFirst, pluralize } from '../../text/quantity.js';
import { withoutLabel } from '../../text/row-label.js';
import { escapeControls, sanitize, sanitizeJson } from '../../text/sanitize.js';
import { joinChunks } from '../../text/utf8.js';
import { NO_BREAK, wrapLines } from '../../text/wrap.js';
import { type Layout, wordPaint } from '../../view/presentation.js';
import type { Column } from '../../view/table.js';
import { idLine } from '../shared/print-run.js';
import { noSuchValue } from '../shared/print-value.js';
import { describeRow } from '../shared/row-summary.js';

export const RESULTS_FORMATS = ['text', 'json', 'jsonl', 'csv', 'id'] as const;

export interface RowsLayout {
  format: (typeof RESULTS_FORMATS)[number];
  /** How stdout is painted. */
  page: Layout;
  /** The values of an output to show: those that the user has named with `get`, else all; for people, those that have room. */
  pointers: readonly ValuePointer[];
  get?: readonly string[] | undefined;
  /** The columns of the table that are shown. */
  columns: readonly string[] | undefined;
  /** The outcomes of the rows that are shown, by their words; all by default. */
  only?: readonly string[];
  /** The table whose rows are shown, with their cells; undefined shows the rows of the results. */
  table: WrittenTable | undefined;
  /** The path of the table that was sent; empty for a folder, undefined if it is not known. */
  source: string | undefined;
  /** By default, a comma. */
  delimiter: string | undefined;
  /** For spreadsheets: a byte order mark, CRLF, and a `'` before what would be a formula. */
  excel?: boolean;
  /** Returns the output to show of a finished row. */
  outputOf(outcome: Outcome): Uint8Array | undefined;
}

/** When a row or all of them began, and the seconds until the end was seen; null where that is not known. */
export const TIMES = {
  started: ({ startedAt }: Pick<Outcome, 'startedAt'>) =>
    startedAt === undefined ? null : formatIso(startedAt),
  duration: ({ durationMs }: Pick<Outcome, 'durationMs'>) =>
    durationMs === undefined ? null : durationMs / 1_000,
};

/** The members of a row in the order of `-o json`; the output or its values follow. */
const COLUMNS: Readonly<Record<string, (outcome: Outcome) => string | number | null>> = {
  row: ({ row = null }) => row,
  label: ({ label = null }) => label,
  id: ({ id = null }) => id,
  outcome: ({ state }) => wordOf(state),
  /** The service's, of a run that has ended. */
  status: ({ run }) => run?.status ?? null,
  step: ({ run }) => run?.error?.step ?? null,
  message: ({ label, run, error }) => {
    const reason = run ? run.error?.message : error?.text;
    return reason === undefined ? null : withoutLabel(reason, label);
  },
  ...TIMES,
};

/** The columns of `-o csv`, behind those of the table; the empty name stands for the values. */
const CSV_COLUMNS = 'label outcome  message step status row id started duration'.split(' ');

/** A row as it is shown. */
interface ResultRow {
  /** How people know it: where the table has it now, if there is one. */
  label: string;
  /** Of the table. */
  cells: readonly WrittenCell[];
  /** By column. */
  facts: Readonly<Record<string, string | number | null>>;
  /** JSON (UTF-8): of each pointer the value, or the output alone; undefined where there is none. */
  values: readonly WrittenCell[];
}

/** Characters of a table; with more, another one follows. */
const MAX_TABLE = 100_000;

/** The columns of a cell for people outside a window, and of a name or a reason. */
const MAX_WIDTH = 100;
const MAX_REASON = 400;

/** The characters of a value that all rows have, where it is not shown. */
const MAX_NOTE = 20;

/** The characters of a cell that Excel and LibreOffice keep. */
const MAX_CELL = 32_767;

/** Formats the rows of results, and finds what they do not show. */
export function formatRows(joined: JoinedFiles, layout: RowsLayout) {
  const { format, page, pointers, get, only, table, source, delimiter = ',', excel = false } = layout;
  const { columns = [] } = layout;
  const isWindow = page.width > 0;
  const isForPeople = format === 'text' || format === 'csv';
  const isOnce = joined.header?.salt !== undefined;
  const valueNames = pointers.map(({ text }) => text || 'output');
  /** What is said of columns that are not shown, by their names. */
  const leftOut = new Map<string, string>();
  /** What the first output has instead of a pointer's value, until some output has it. */
  const absent = new Map<ValuePointer, WfrError | undefined>();
  /** The first row with a cell that spreadsheets cut. */
  let cutRow: number | undefined;

  /** Yields the rows that are shown. */
  async function* readRows(): AsyncGenerator<ResultRow, void, void> {
    for await (const row of readAllRows()) if (!only || only.includes(String(row.facts.outcome))) yield row;
  }

  /** Yields the rows of the results; with a table its rows, in its order, also those that the results do not have. */
  async function* readAllRows(): AsyncGenerator<ResultRow, void, void> {
    if (!table) {
      for await (const outcome of readOutcomes(joined, { withGone: true })) {
        const { state, run } = outcome;
        // Of what is gone, people need the outputs: a file that has failed may have been replaced. Some waiting rows say less than none.
        const isIncluded =
          state === 'gone' ? only || isFinished(run) : state !== 'waiting' || unlisted() === 0;
        if (!isForPeople || isIncluded) yield toRow(outcome);
      }
      return;
    }
    const reader = openOutcomes(joined);
    try {
      for await (const { cells, number, label } of table.rows()) {
        const row = joined.rowOf?.(number);
        if (row === undefined) continue;
        const outcome: Outcome = row === 0 ? { state: 'waiting', label } : reader.read(row);
        const shown = cells.filter((_, index) => columns.includes(table.columns[index] ?? ''));
        yield toRow(outcome, label, shown);
      }
    } finally {
      reader.close();
    }
  }

  function toRow(outcome: Outcome, label = outcome.label ?? '', cells: readonly WrittenCell[] = []) {
    const { run } = outcome;
    const facts = Object.fromEntries(Object.entries(COLUMNS).map(([name, read]) => [name, read(outcome)]));
    const output = isFinished(run) ? layout.outputOf(outcome) : undefined;
    const values =
      output && !get && isForPeople ? splitUp(output) : pointers.map((pointer) => find(pointer, output));
    return {
      label: describeRow(label, isOnce ? 0 : (outcome.row ?? 0), outcome.state),
      cells,
      facts,
      values,
    };
  }

  /** Returns the values of an output that have columns, or the output itself if none has. */
  function splitUp(output: Uint8Array): (Uint8Array | undefined)[] {
    const own = new Map(listValues(output).map(({ text, value }) => [text, value]));
    if (!pointers.some(({ text }) => own.has(text))) own.set('', output);
    return pointers.map(({ text }) => own.get(text));
  }

  function find(pointer: ValuePointer, output: Uint8Array | undefined): Uint8Array | undefined {
    if (!output) return undefined;
    const target = followPointer(output, pointer.segments);
    if (target.depth === pointer.segments.length) {
      absent.set(pointer, undefined);
      return target.value;
    }
    if (get && !absent.has(pointer)) absent.set(pointer, noSuchValue(pointer, 'output', target));
    return undefined;
  }

  /** Returns what precedes the rows. */
  function formatHead(facts: object): string {
    if (format === 'json') {
      const text = joinChunks(formatJson(Buffer.from(sanitizeJson(facts)), page.jsonColors));
      // The rows are last, so that a reader of the stream knows the facts before them; they precede the closing brace.
      return `${text.slice(0, text.lastIndexOf('\n', text.length - 2))},\n  "rows": [\n    `;
    }
    if (format !== 'csv') return '';
    // A column of the table may have the same name.
    const names = CSV_COLUMNS.flatMap((name) => {
      if (name === '') return valueNames;
      return columns.includes(name) ? `wfr.${name}` : name;
    });
    return `${excel ? '\ufeff' : ''}${csvLine([...columns, ...names])}`;
  }

  /** Yields the rows as tables for people, each of many rows: all of them may not fit into memory. */
  async function* readTables(): AsyncGenerator<string, void, void> {
    const { cutText, layOutTable } = await import('../../view/table.js');
    /** Compares names as people do: 2 before 10, and a before B. */
    const { compare } = new Intl.Collator('en', { numeric: true });
    let rows: string[][] = [];
    let size = 0;
    const layOut = () => {
      if (rows.length === 0) return '';
      // A row that replaces another one has its place.
      if (!table) rows.sort(([one = ''], [other = '']) => compare(one, other));
      const laidOut = layOutTable(rows, columnsOf(rows), page, {
        text: reasonOf,
        paint: (row) => wordPaint(outcomeOf(row), page.style),
        state: { header: 'OUTCOME', text: outcomeOf },
      });
      for (const { header, note = '' } of laidOut.leftOut) leaveOut(header, note);
      return `${laidOut.lines.join('\n')}\n`;
    };
    /** Returns a text as a cell of one line: line feeds are as JSON has them. */
    const cellOf = (text: unknown, most = page.width || MAX_WIDTH) =>
      cutText(sanitize(String(text).replaceAll('\n', '\\n')), most);
    for await (const { label, cells, facts, values } of readRows()) {
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
  }

  /** A row is not gone for the reason of its run. */
  const reasonOf = (row: readonly string[]) => (outcomeOf(row) === 'gone' ? '' : (row.at(-1) ?? ''));
  const outcomeOf = (row: readonly string[]) => row.at(-2) ?? '';

  /** Keeps what is said of a column that is not shown; nothing if it differs between the tables. */
  function leaveOut(name: string, note: string): void {
    leftOut.set(name, (leftOut.get(name) ?? note) === note ? note : '');
  }

  /** Returns the columns of a table of these rows. */
  function columnsOf(rows: readonly string[][]): Column<readonly string[]>[] {
    // In a window, the table or the folder that all rows have is left out.
    const texts = (at: number) => (isWindow ? rows.flatMap(({ [at]: text }) => text || []) : []);
    const name = commonTable(texts(0));
    const start = name || commonFolder(texts(0));
    /** Another row may have the line of one that is gone. */
    const nameOf = (row: readonly string[]) =>
      (outcomeOf(row) === 'gone' ? 'was ' : '') + (row[0] ?? '').slice(start.length);
    const valuesAt = columns.length + 1;
    /** Whether a column has the cells of another one, or none. */
    const isCopy = (at: number, other: number) =>
      rows.some((row) => row[at]) &&
      rows.every(({ [at]: cell, [other]: same }) => !cell || isSame(cell, same));
    /** Of each value, the column of the table that has the same in all rows; -1 if none has. */
    const copies = valueNames.map((_, value) =>
      get ? -1 : columns.findIndex((_, index) => isCopy(valuesAt + value, index + 1)),
    );
    const finished = rows.filter((row) => outcomeOf(row) === 'finished');
    const shown: (Pick<Column<readonly string[]>, 'header'> & Partial<Column<readonly string[]>>)[] = [
      {
        header: name ? 'LINE' : 'ROW',
        isCutInMiddle: () => !name,
        least: get ? 16 : Math.max(20, page.width / 4),
      },
      // The first one usually names the row. Two values precede the second one, values that differ the others; files are last.
      ...columns.map((column, index) => {
        const copy = copies.indexOf(index);
        const at = index + 1;
        const isFile = column.endsWith('@');
        const folder = isFile ? commonFolder(texts(at)) : '';
        const place = isFile ? 3_000 : index === 1 ? 1.5 : 2_000;
        return {
          header: nameOfColumn(column),
          // It has the place of a value that is the same: rows that have failed have it, too.
          rank: index && (copy < 0 ? place + index : 1 + copy),
          ...(isFile && {
            text: ({ [at]: cell = '' }: readonly string[]) => cell.slice(folder.length),
            isCutInMiddle: () => true,
            least: 16,
          }),
        };
      }),
      ...valueNames.map((header, index) => {
        // What was asked for has half of the window.
        if (get) return { header, isResult: true, isKept: true, least: page.width / 2 / get.length };
        // An output that has none of the values says more than most values.
        if (header === 'output') return { header, isResult: true, rank: 1 };
        const { [valuesAt + index]: cell = '' } = finished[0] ?? [];
        const isAlike = finished.length > 1 && finished.every((row) => isSame(row[valuesAt + index], cell));
        const note = isAlike && cell.length <= MAX_NOTE ? `always ${cell}` : '';
        return { header, isResult: true, rank: (isAlike ? 3_500 : 1) + index, note };
      }),
    ];
    return shown.flatMap((column, index) => {
      const header = sanitize(column.header);
      const copied = columns[copies[index - valuesAt] ?? -1];
      if (copied !== undefined) {
        leaveOut(header, `= ${sanitize(nameOfColumn(copied))}`);
        return [];
      }
      const isNumber = index > 0 && rows.every(({ [index]: cell = '' }) => cell === '' || NUMBER.test(cell));
      const decimals = Math.max(...rows.map(({ [index]: cell }) => decimalsOf(cell)));
      /** Numbers are aligned at their decimal points. */
      const aligned = ({ [index]: cell = '' }: readonly string[]) =>
        isNumber && cell ? cell + ' '.repeat(decimals - decimalsOf(cell)) : cell;
      return {
        text: (row) => (index === 0 ? nameOf(row) : aligned(row)),
        isNumber,
        // The end of a path or of an id tells it from others.
        isCutInMiddle: ({ [index]: cell = '' }) => !(isNumber || /\s|…$/.test(cell)),
        least: Math.max(8, page.width / 7),
        ...column,
        header,
      };
    });
  }

  function unlisted(): number {
    const { rows, total = 0, missing } = joined;
    if (only && !only.includes(table ? 'gone' : 'waiting')) return 0;
    const unseen = total - missing - rows.known;
    if (!table) return unseen > 0 && isForPeople ? unseen + rows.count('waiting') : unseen;
    const isUnlisted = ([row, state]: [row: number, state: RowState]) =>
      rows.isGone(row) && (state !== 'gone' || rows.recordedState(row) === 'finished');
    return [...rows.entries()].filter(isUnlisted).length;
  }

  /** Returns what is not listed, and not shown. */
  function omissions(): string[] {
    const count = unlisted();
    const how = table
      ? '; --only gone without --rows has all'
      : `; --rows${source ? '' : ' <table>'} has all`;
    const shown = [...leftOut].map(([name, note]) =>
      note ? `${name} (${note})`.replaceAll(' ', NO_BREAK) : name,
    );
    return [
      ...(shown.length > 0 ? [`shown: ${listFirst(shown, 9)}; --get chooses, -o${NO_BREAK}csv has all`] : []),
      ...(count > 0 && format !== 'id'
        ? [`listed: ${pluralize(count, table ? 'gone row' : 'waiting row')}${source === '' ? '' : how}`]
        : []),
    ];
  }

  function formatRow(row: ResultRow): string | Uint8Array {
    const { id } = row.facts;
    switch (format) {
      case 'json':
        return jsonLine(row).subarray(0, -1);
      case 'jsonl':
        return jsonLine(row);
      case 'csv':
        return csvRow(row);
      default:
        return typeof id === 'string' ? idLine(id, `the run id of row ${row.facts.row}`) : '';
    }
  }

  /** Returns a row as JSON, with a line feed at the end. */
  function jsonLine({ cells, facts, values }: ResultRow): Buffer {
    const json = jsonObject(
      [
        ['table', table && jsonObject(columns.map((name, index) => [name, cells[index]]))],
        get
          ? ['values', jsonObject(pointers.map(({ text }, index) => [text, values[index] ?? NULL]))]
          : ['output', values[0] ?? NULL],
      ],
      facts,
    );
    return Buffer.concat([...compactJson(json, page.jsonColors)]);
  }

  function csvRow({ cells, facts, values }: ResultRow): string {
    const own = CSV_COLUMNS.flatMap((name) => (name === '' ? values.map(textOf) : (facts[name] ?? null)));
    const texts = [...cells.map(textOf), ...own];
    if (texts.some((text) => typeof text === 'string' && text.length > MAX_CELL))
      cutRow ??= Number(facts.row);
    return csvLine(texts);
  }

  function csvLine(cells: readonly (string | number | null)[]): string {
    return cells.map((cell) => csvCell(cell, delimiter, excel)).join(delimiter) + (excel ? '\r\n' : '\n');
  }

  return {
    /** Returns how many rows were not listed. */
    unlisted,

    /** Yields the results in chunks; `facts` precede the rows in `-o json`. Throws BatchFileError, OutputError and the system's error. */
    async *chunks(facts: object): AsyncGenerator<Buffer, void, void> {
      if (format === 'text') {
        for await (const text of readTables()) yield Buffer.from(text);
        const notes = omissions().map((line) => `Not ${line}.`);
        for (const line of wrapLines(notes, page.width))
          yield Buffer.from(`${page.style.dim(line.replaceAll(NO_BREAK, ' '))}\n`);
        return;
      }
      const writer = new ChunkWriter();
      writer.add(formatHead(facts));
      let separator = '';
      for await (const row of readRows()) {
        if (separator !== '') writer.add(separator);
        writer.add(formatRow(row));
        if (format === 'json') separator = ',\n    ';
        // Each row by itself would wait its turn: that takes longer than to format it.
        if (writer.isFull) yield writer.flush();
      }
      if (format === 'json') writer.add('\n  ]\n}\n');
      yield writer.flush();
    },

    /** Returns what the rows did not show, and what is wrong with it. */
    warnings(): string[] {
      const warnings = [...absent].flatMap(([{ text }, error]) =>
        error ? `--get ${text}: no row has this value: ${error.facts.summary.join('; ')}` : [],
      );
      if (format !== 'text') warnings.push(...omissions().map((line) => `not ${line}`));
      if (excel && cutRow !== undefined)
        warnings.push(
          `row ${cutRow} has a cell of more than ${MAX_CELL} characters, which a spreadsheet cuts; choose values with --get`,
        );
      return warnings;
    },
  };
}

/** Returns the name of an input, of the column of a table: without what says how its cells are read. */
export const nameOfColumn = (column: string) => column.replace(/(@?:?=|@)$/, '');

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

const NULL = Buffer.from('null');

/** Returns an object as JSON: what is known first, then the members that are not undefined; bytes are their JSON. */
function jsonObject(members: readonly (readonly [name: string, value: WrittenCell])[], known = {}): Buffer {
  const pieces: Uint8Array[] = [];
  let text = sanitizeJson(known).slice(0, -1);
  let separator = text === '{' ? '' : ',';
  for (const [name, value] of members) {
    if (value === undefined) continue;
    text += `${separator}${sanitizeJson(name)}:`;
    separator = ',';
    if (typeof value === 'string') text += sanitizeJson(value);
    else {
      pieces.push(Buffer.from(text), value);
      text = '';
    }
  }
  return Buffer.concat([...pieces, Buffer.from(`${text}}`)]);
}

/** Returns what a cell stands for: the text of a JSON string, other JSON as it is, nothing for null. */
function textOf(value: WrittenCell): string {
  if (value === undefined || typeof value === 'string') return value ?? '';
  if (value[0] === QUOTE) return decodeString(value);
  const text = joinChunks(compactJson(value)).trimEnd();
  return text === 'null' ? '' : text;
}

/** Matches the start of a cell that a spreadsheet would take for a formula, also with wide characters or after a tab. */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/;
/** Matches what is a number, and no formula. */
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** Returns a cell, quoted where it must be (RFC 4180, section 2). Control characters other than white space are escaped. */
function csvCell(value: string | number | null, delimiter: string, excel: boolean): string {
  const plain = String(value ?? '');
  const isFormula = excel && FORMULA.test(plain) && !NUMBER.test(plain);
  const text = escapeControls(isFormula ? `'${plain}` : plain);
  return /[",\r\n]/.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
}
