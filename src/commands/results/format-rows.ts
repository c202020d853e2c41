/** The formats of `wfr results`: one JSON object, JSON Lines, CSV, values as text, and the ids of the runs. */

import type { WfrError } from '../../errors.js';
import { type Exit, toExitCode } from '../../exit-code.js';
import { type Outcome, wordOf } from '../../outcome/outcome.js';
import { OutputError } from '../../platform/system-error.js';
import { type JoinedFiles, OutcomeReader, readOutcomes } from '../../runs/join-files.js';
import { shownState } from '../../runs/log/reduce.js';
import type { WrittenCell, WrittenTable } from '../../table/table.js';
import { ChunkWriter, compactJson, formatJson, type JsonColors } from '../../text/json/format-json.js';
import { decodeString } from '../../text/json/members.js';
import { followPointer } from '../../text/json/pointer.js';
import { withoutLabel } from '../../text/reason-groups.js';
import { escapeControls, isSanitized, sanitize, sanitizeJson } from '../../text/sanitize.js';
import type { BatchSummary } from '../../view/batch-summary.js';
import type { ValuePointer } from '../shared/output-flags.js';
import { noSuchValue } from '../shared/print-value.js';

type Piece = string | Uint8Array;

export const RESULTS_FORMATS = ['text', 'json', 'jsonl', 'csv', 'id'] as const;
export type ResultsFormat = (typeof RESULTS_FORMATS)[number];

export interface RowsLayout {
  jsonColors: JsonColors | undefined;
  /** The values of an output to show instead of it; none shows the output. */
  pointers: readonly ValuePointer[];
  /** The table whose rows are shown, with their cells; undefined shows the rows of the results. */
  table: WrittenTable | undefined;
  csv: CsvLayout;
  /** Returns the output to show of a finished row. */
  outputOf(outcome: Outcome): Uint8Array | undefined;
}

interface CsvLayout {
  delimiter: string;
  /** For spreadsheets: a byte order mark, CRLF, and a `'` before what would be a formula. */
  excel: boolean;
}

/** What was found while the rows were formatted. */
export interface RowsFound {
  /** Rows of the table that the results have. */
  inTable: number;
  /** By pointer, where no output has such a value: what the first one has. */
  missing: Map<ValuePointer, WfrError | undefined>;
  /** The first row with a cell that spreadsheets cut. */
  cutRow: number | undefined;
}

/** The characters of a cell that Excel and LibreOffice keep. */
export const MAX_CELL = 32_767;

/** Yields the results in a format, in chunks. Throws BatchFileError, OutputError and the system's error. */
export async function* formatRows(
  format: ResultsFormat,
  joined: JoinedFiles,
  summary: BatchSummary,
  exit: Exit,
  layout: RowsLayout,
  found: RowsFound,
): AsyncGenerator<Buffer, void, void> {
  const { head, row: piecesOf, end } = FORMATS[format](headOf(joined, summary, exit), layout, found);
  const { table, pointers } = layout;
  for (const pointer of pointers) found.missing.set(pointer, undefined);
  const rows = table === undefined ? rowsWithoutTable(joined) : rowsOfTable(joined, table, found);
  const writer = new ChunkWriter();
  writer.add(head);
  for await (const row of rows) {
    for (const piece of piecesOf(toResultRow(row, layout, found))) {
      writer.add(piece);
      // Each piece by itself would wait its turn: that takes longer than to format it.
      if (writer.isFull) yield writer.flush();
    }
  }
  writer.add(end);
  yield writer.flush();
}

/** How a format writes the rows, and what comes before and after them. */
interface RowWriter {
  head: string;
  row(row: ResultRow): Iterable<Piece>;
  end: string;
}

const FORMATS: Readonly<
  Record<ResultsFormat, (head: object, layout: RowsLayout, found: RowsFound) => RowWriter>
> = {
  json: jsonWriter,
  jsonl: (_head, layout) => ({ head: '', row: (row) => formatRow(row, layout), end: '' }),
  csv: (_head, layout, found) => csvWriter(layout, found),
  text: () => ({ head: '', row: (row) => [textLine(row)], end: '' }),
  id: () => ({ head: '', row: idLine, end: '' }),
};

/** The rows are last, so that a reader of the stream knows the counts and the reasons before them. */
function jsonWriter(head: object, layout: RowsLayout): RowWriter {
  const text = Buffer.concat([...formatJson(Buffer.from(sanitizeJson(head)), layout.jsonColors)]);
  let separator = '\n    ';
  return {
    // Without the closing brace, which follows the rows.
    head: `${text.subarray(0, text.lastIndexOf('\n', -2))},\n  "rows": [`,
    *row(row) {
      yield separator;
      yield Buffer.concat([...formatRow(row, layout)]).subarray(0, -1);
      separator = ',\n    ';
    },
    end: '\n  ]\n}\n',
  };
}

function headOf({ rows, total, period }: JoinedFiles, { counts }: BatchSummary, exit: Exit): object {
  const reasons = rows.reasons().map(({ state, code: _code, step, message, ...listed }) => {
    return { outcome: wordOf(shownState(state)), step: step || null, message, ...listed };
  });
  return {
    exitCode: toExitCode(exit),
    total: total ?? null,
    started: period === undefined ? null : new Date(period.startedAt).toISOString(),
    duration: period === undefined ? null : period.durationMs / 1_000,
    counts: Object.fromEntries(counts),
    reasons,
  };
}

/** The columns of a row, in the order of `-o json` and of `-o csv`; the output or its values follow. */
const COLUMNS: Readonly<Record<string, (outcome: Outcome) => string | number | null>> = {
  row: ({ row = 0 }) => row,
  label: ({ label = null }) => label,
  id: ({ id = null }) => id,
  outcome: ({ state }) => wordOf(state),
  /** The service's, of a run that has ended. */
  status: ({ run }) => run?.status ?? null,
  step: ({ run }) => run?.error?.step ?? null,
  message: ({ label, run, error }) => {
    const reason = run === undefined ? error?.text : run.error?.message;
    return reason === undefined ? null : withoutLabel(reason, label);
  },
  started: ({ startedAt }) => (startedAt === undefined ? null : new Date(startedAt).toISOString()),
  /** From then until its end was seen, in seconds. */
  duration: ({ run, durationMs }) => (run === undefined ? null : durationMs / 1_000),
};

/** A row as it is shown. */
interface ResultRow {
  /** Those of the table. */
  cells: readonly WrittenCell[];
  /** By column. */
  values: Readonly<Record<string, string | number | null>>;
  /** JSON (UTF-8): of each pointer the value, or the output alone; undefined where there is none. */
  output: readonly (Uint8Array | undefined)[];
}

const COLUMN_READERS = Object.entries(COLUMNS);

interface Row {
  outcome: Outcome;
  cells: readonly WrittenCell[];
}

function toResultRow(
  { outcome, cells }: Row,
  { pointers, outputOf }: RowsLayout,
  found: RowsFound,
): ResultRow {
  const values: Record<string, string | number | null> = {};
  for (const [name, read] of COLUMN_READERS) values[name] = read(outcome);
  const output = outcome.run?.status === 'FINISHED' ? outputOf(outcome) : undefined;
  return {
    cells,
    values,
    output: pointers.length === 0 ? [output] : pointers.map((pointer) => findValue(output, pointer, found)),
  };
}

async function* rowsWithoutTable(joined: JoinedFiles): AsyncGenerator<Row, void, void> {
  for await (const outcome of readOutcomes(joined)) yield { outcome, cells: [] };
}

/** Yields the rows of the table in its order, also those that the results do not have. */
async function* rowsOfTable(
  joined: JoinedFiles,
  table: WrittenTable,
  found: RowsFound,
): AsyncGenerator<Row, void, void> {
  const rowOfLine = await rowsByLine(joined);
  const reader = new OutcomeReader(joined);
  try {
    for await (const { number, label, cells } of table.rows()) {
      const row = rowOfLine.get(number);
      if (row !== undefined) found.inTable++;
      yield { outcome: row === undefined ? neverSent(number, label) : reader.read(row), cells };
    }
  } finally {
    reader.close();
  }
}

/** Returns the row that the results have of each line of the table: their labels say where rows are, or were last. */
async function rowsByLine(joined: JoinedFiles): Promise<Map<number, number>> {
  const rows = new Map<number, number>();
  for await (const { row = 0, label, state } of readOutcomes(joined)) {
    const [, line = row] = /:(\d+)(?: \(.*)?$/s.exec(label ?? '') ?? [];
    if (wordOf(state) !== 'gone') rows.set(Number(line), row);
  }
  return rows;
}

const neverSent = (row: number, label: string): Outcome => {
  return {
    state: 'waiting',
    row,
    label,
    id: undefined,
    workflowId: undefined,
    run: undefined,
    durationMs: 0,
  };
};

function findValue(output: Uint8Array | undefined, pointer: ValuePointer, found: RowsFound) {
  if (output === undefined) return undefined;
  const target = followPointer(output, pointer.segments);
  if (target.depth < pointer.segments.length) {
    if (found.missing.has(pointer) && found.missing.get(pointer) === undefined)
      found.missing.set(pointer, noSuchValue(pointer, 'output', target));
    return undefined;
  }
  found.missing.delete(pointer);
  return target.value;
}

/** Yields a row as JSON on one line. */
function formatRow(
  { cells, values, output }: ResultRow,
  { table, pointers, jsonColors }: RowsLayout,
): Iterable<Buffer> {
  const written = cells.map((cell) => (typeof cell === 'string' ? Buffer.from(sanitizeJson(cell)) : cell));
  const json = [
    Buffer.from(sanitizeJson(values).slice(0, -1)),
    ...(table === undefined ? [] : [Buffer.from(',"table":'), ...objectOf(table.columns, written)]),
    Buffer.from(pointers.length === 0 ? ',"output":' : ',"values":'),
    ...(pointers.length === 0
      ? [output[0] ?? NULL]
      : objectOf(
          pointers.map(({ text }) => text),
          output.map((value) => value ?? NULL),
        )),
    Buffer.from('}'),
  ];
  return compactJson(Buffer.concat(json), jsonColors);
}

const NULL = Buffer.from('null');

/** Returns the pieces of an object, without the members that have no value. */
function objectOf(names: readonly string[], values: readonly (Uint8Array | undefined)[]): Uint8Array[] {
  const members = names.flatMap((name, index) => {
    const value = values[index];
    return value === undefined ? [] : [Buffer.from(`,${sanitizeJson(name)}:`), value];
  });
  const [first = Buffer.from(','), ...others] = members;
  return [Buffer.from('{'), first.subarray(1), ...others, Buffer.from('}')];
}

/** Returns the label of a row, its outcome and the values, separated by tabs. */
function textLine({ values: { label, outcome }, output }: ResultRow): string {
  return `${[String(label ?? ''), String(outcome), ...output.map(textOf)].map(sanitize).join('\t')}\n`;
}

function csvWriter({ table, pointers, csv }: RowsLayout, found: RowsFound): RowWriter {
  const lineEnd = csv.excel ? '\r\n' : '\n';
  const columns = table?.columns ?? [];
  const names = [
    ...columns,
    // A column of the table may have the same name.
    ...Object.keys(COLUMNS).map((name) => (columns.includes(name) ? `wfr.${name}` : name)),
    ...(pointers.length === 0 ? ['output'] : pointers.map(({ text }) => text || 'output')),
  ];
  const header = names.map((name) => cell(name, csv)).join(csv.delimiter);
  return {
    head: `${csv.excel ? '\ufeff' : ''}${header}${lineEnd}`,
    *row({ cells, values, output }) {
      const shown = pointers.length === 0 ? [] : output;
      const texts = [...cells.map(textOf), ...Object.values(values), ...shown.map(textOf)];
      const isCut = texts.some((text) => typeof text === 'string' && text.length > MAX_CELL);
      if (isCut || (output[0]?.length ?? 0) > MAX_CELL) found.cutRow ??= Number(values.row);
      yield texts.map((text) => cell(text, csv)).join(csv.delimiter);
      if (pointers.length === 0) {
        yield csv.delimiter;
        if (output[0] !== undefined) yield* outputCell(output[0]);
      }
      yield lineEnd;
    },
    end: '',
  };
}

/** Returns what a cell stands for: the text of a JSON string, other JSON as it is, nothing for null. */
function textOf(value: WrittenCell): string {
  if (value === undefined || typeof value === 'string') return value ?? '';
  const first = String.fromCharCode(value[0] ?? 0);
  if (first === '"') return decodeString(value);
  return first === 'n'
    ? ''
    : Buffer.concat([...compactJson(value)])
        .toString('utf8')
        .trimEnd();
}

/** Matches the start of a cell that a spreadsheet would take for a formula, also with wide characters or after a tab. */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/;
/** Matches what is a number, and no formula. */
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** Returns a cell, quoted where it must be (RFC 4180, section 2). Control characters other than white space are escaped. */
function cell(value: string | number | null, { delimiter, excel }: CsvLayout): string {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  const isFormula = excel && FORMULA.test(value) && !NUMBER.test(value);
  const text = escapeControls(isFormula ? `'${value}` : value);
  return /[",\r\n]/.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Yields the JSON of an output as a quoted cell, without a text of its length; no JSON is a formula. */
function* outputCell(output: Uint8Array): Generator<Piece, void, void> {
  yield '"';
  for (const chunk of compactJson(output)) {
    // A character for each byte: the chunk may end inside one of several bytes. The only line feed is the last byte.
    const text = chunk.toString('latin1').replaceAll('"', '""').replace('\n', '');
    yield Buffer.from(text, 'latin1');
  }
  yield '"';
}

function idLine({ values: { row, id } }: ResultRow): string[] {
  if (typeof id !== 'string') return [];
  if (!isSanitized(id))
    throw new OutputError(new Error('it contains control characters'), `the run id of row ${row}`);
  return [`${id}\n`];
}
