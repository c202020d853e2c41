/** The formats of `wfr results`: one JSON object, JSON Lines, CSV, values as text, and the ids of the runs. */
import type { WfrError } from '../../errors.js';
import { type Outcome, tableOf, wordOf } from '../../outcome/outcome.js';
import { type JoinedFiles, openOutcomes, readOutcomes } from '../../runs/join-files.js';
import type { RowState } from '../../runs/log/reduce.js';
import { isFinished } from '../../service/run.js';
import type { WrittenCell, WrittenTable } from '../../table/table.js';
import { ChunkWriter, compactJson, formatJson } from '../../text/json/format-json.js';
import { followPointer, listValues, type ValuePointer } from '../../text/json/pointer.js';
import { formatIso, pluralize } from '../../text/quantity.js';
import { withoutLabel } from '../../text/row-label.js';
import { escapeControls, sanitizeJson } from '../../text/sanitize.js';
import { joinChunks } from '../../text/utf8.js';
import { NO_BREAK, wrapLines } from '../../text/wrap.js';
import type { Layout } from '../../view/presentation.js';
import { idLine } from '../shared/print-run.js';
import { noSuchValue } from '../shared/print-value.js';
import { describeRow } from '../shared/row-summary.js';
import { createRowTable, NUMBER, type ResultRow, textOf } from './row-table.js';

/** Stands for all outcomes of rows that may have to be looked at. */
export const UNFINISHED = 'unfinished';

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
  /** Whether the table that was sent was asked for, or which one. */
  rows?: string | true;
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

/** The characters of a cell that Excel and LibreOffice keep. */
const MAX_CELL = 32_767;

/** Formats the rows of results, and finds what they do not show. */
export function formatRows(joined: JoinedFiles, layout: RowsLayout) {
  const {
    format,
    page,
    pointers,
    get,
    only,
    table,
    source,
    delimiter = ',',
    excel = false,
    columns = [],
  } = layout;
  const isForPeople = format === 'text' || format === 'csv';
  const isOnce = joined.header?.salt !== undefined;
  const valueNames = pointers.map(({ text }) => text || 'output');
  const rowTable = createRowTable(table && columns, valueNames, get !== undefined, page);
  /** What the first output has instead of a pointer's value, until some output has it. */
  const absent = new Map<ValuePointer, WfrError | undefined>();
  /** Whether the rows are those of a table. */
  let hasLines = false;
  /** The first row with a cell that spreadsheets cut. */
  let cutRow: number | undefined;

  const isShown = (outcome: string) =>
    !only ||
    only.includes(outcome) ||
    (only.includes(UNFINISHED) && outcome !== 'finished' && outcome !== 'gone');

  /** Yields the rows that are shown. */
  async function* readRows(): AsyncGenerator<ResultRow, void, void> {
    for await (const row of readAllRows()) if (isShown(String(row.facts.outcome))) yield row;
  }

  /** Yields the rows of the results; with a table its rows, in its order, also those that the results do not have. */
  async function* readAllRows(): AsyncGenerator<ResultRow, void, void> {
    if (!table) {
      for await (const outcome of readOutcomes(joined, { withGone: true })) {
        const { state, run, label = '' } = outcome;
        hasLines ||= tableOf(label) !== '';
        // Of what is gone, people need the outputs: a file that has failed may have been replaced.
        const isReplaced = isForPeople && !only && state === 'gone' && !isFinished(run);
        // On a screen, some of the waiting rows say less than none.
        const isPart = format === 'text' && state === 'waiting' && unlisted() > 0;
        if (!isReplaced && !isPart) yield toRow(outcome);
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

  function unlisted(): number {
    const { rows, total = 0, missing } = joined;
    const unseen = isShown('waiting') ? total - missing - rows.known : 0;
    if (!table) return unseen > 0 && format === 'text' ? unseen + rows.count('waiting') : unseen;
    const isUnlisted = ([row, state]: [row: number, state: RowState]) =>
      rows.isGone(row) &&
      isShown(wordOf(state)) &&
      (state !== 'gone' || rows.recordedState(row) === 'finished');
    return [...rows.entries()].filter(isUnlisted).length;
  }

  /** Returns what is not listed, and not shown. */
  function omissions(): string[] {
    const count = unlisted();
    const known = `--rows${source ? '' : ' <table>'} has`;
    const how = `; ${table ? "--get '' without --rows has" : known} all`;
    const shown = rowTable.notShown();
    return [
      ...(shown ? [`shown: ${shown}`] : []),
      // Of rows that are looked for, the line alone says little; of a table that is not known, nobody would miss its columns.
      ...(hasLines && (layout.rows === true || (only && source && format === 'text'))
        ? [`shown: the columns of the table; ${known} them`]
        : []),
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
        for await (const text of rowTable.layOut(readRows())) yield Buffer.from(text);
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
          `row ${cutRow} has a cell of more than ${MAX_CELL} characters, which spreadsheets cut; choose values with --get`,
        );
      return warnings;
    },
  };
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

/** Matches the start of a cell that a spreadsheet would take for a formula, also with wide characters or after a tab. */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/;
/** Returns a cell, quoted where it must be (RFC 4180, section 2). Control characters other than white space are escaped. */
function csvCell(value: string | number | null, delimiter: string, excel: boolean): string {
  const plain = String(value ?? '');
  const isFormula = excel && FORMULA.test(plain) && !NUMBER.test(plain);
  const text = escapeControls(isFormula ? `'${plain}` : plain);
  return /[",\r\n]/.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
}
