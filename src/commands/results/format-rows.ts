/** The formats of `wfr results`: one JSON object, JSON Lines, CSV, and the ids of the runs. */
import { OutputError } from '../../errors.js';
import { type Exit, toExitCode } from '../../exit-code.js';
import { type Outcome, wordOf } from '../../outcome/outcome.js';
import { type JoinedFiles, readOutcomes } from '../../runs/join-files.js';
import { shownState } from '../../runs/log/reduce.js';
import { ChunkWriter } from '../../text/json/chunk-writer.js';
import { compactJson, formatJson, type JsonColors } from '../../text/json/format-json.js';
import { withoutLabel } from '../../text/reason-groups.js';
import { escapeControls, isSanitized, sanitizeJson } from '../../text/sanitize.js';
import type { BatchSummary } from '../../view/batch-summary.js';

type Piece = string | Uint8Array;
type Pieces = AsyncGenerator<Piece, void, void>;

export const RESULTS_FORMATS = ['text', 'json', 'jsonl', 'csv', 'id'] as const;
export type ResultsFormat = (typeof RESULTS_FORMATS)[number];

export interface RowsLayout {
  jsonColors: JsonColors | undefined;
  /** Escapes cells that a spreadsheet would take for a formula. */
  csvSafe: boolean;
}

/** Yields the results in a format, in chunks. Throws BatchFileError, OutputError and the system's error. */
export async function* formatRows(
  format: Exclude<ResultsFormat, 'text'>,
  joined: JoinedFiles,
  summary: BatchSummary,
  exit: Exit,
  { jsonColors, csvSafe }: RowsLayout,
): AsyncGenerator<Buffer, void, void> {
  const writer = new ChunkWriter();
  const pieces = {
    json: () => jsonPieces(joined, summary, exit, jsonColors),
    jsonl: () => jsonLines(joined, jsonColors),
    csv: () => csvPieces(joined, csvSafe),
    id: () => idPieces(joined),
  }[format]();
  for await (const piece of pieces) yield* writer.add(Buffer.from(piece));
  yield writer.flush();
}

/** The rows are last, so that a reader of the stream knows the counts and the reasons before them. */
async function* jsonPieces(
  joined: JoinedFiles,
  summary: BatchSummary,
  exit: Exit,
  colors: JsonColors | undefined,
): Pieces {
  const head = Buffer.concat([
    ...formatJson(Buffer.from(sanitizeJson(headOf(joined, summary, exit))), colors),
  ]);
  // Without the closing brace, which follows the rows.
  yield head.subarray(0, head.lastIndexOf('\n', -2));
  yield `,\n  "rows": [`;
  let separator = '\n    ';
  for await (const row of resultRows(joined)) {
    yield separator;
    const line = Buffer.concat([...formatRow(row, colors)]);
    yield line.subarray(0, -1);
    separator = ',\n    ';
  }
  yield '\n  ]\n}\n';
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

/** The columns of a row, in the order of `-o json` and of `-o csv`; the output follows. */
const COLUMNS: Readonly<Record<Column, (outcome: Outcome) => string | number | null>> = {
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

type Column = 'row' | 'label' | 'id' | 'outcome' | 'status' | 'step' | 'message' | 'started' | 'duration';

/** A row: the values of its columns, and the JSON text of its output. */
interface ResultRow {
  values: readonly (string | number | null)[];
  output: Uint8Array | undefined;
}

const COLUMN_NAMES = Object.keys(COLUMNS);
const COLUMN_READERS = Object.values(COLUMNS);

async function* resultRows(joined: JoinedFiles): AsyncGenerator<ResultRow, void, void> {
  for await (const outcome of readOutcomes(joined)) {
    const { run, state } = outcome;
    const values = COLUMN_READERS.map((read) => read(outcome));
    yield { values, output: state === 'finished' ? run?.output : undefined };
  }
}

async function* jsonLines(joined: JoinedFiles, colors: JsonColors | undefined): Pieces {
  for await (const row of resultRows(joined)) yield* formatRow(row, colors);
}

/** Yields a row as JSON on one line. */
function formatRow({ values, output }: ResultRow, colors: JsonColors | undefined): Iterable<Buffer> {
  const fields = Object.fromEntries(COLUMN_NAMES.map((name, index) => [name, values[index]]));
  const head = sanitizeJson(fields).slice(0, -1);
  const json = [Buffer.from(`${head},"output":`), output ?? Buffer.from('null'), Buffer.from('}')];
  return compactJson(Buffer.concat(json), colors);
}

async function* csvPieces(joined: JoinedFiles, safe: boolean): Pieces {
  yield `${[...COLUMN_NAMES, 'output'].join(',')}\n`;
  for await (const { values, output } of resultRows(joined)) {
    yield `${values.map((value) => cell(value, safe)).join(',')},`;
    if (output !== undefined) yield* outputCell(output, safe);
    yield '\n';
  }
}

/** Matches the start of a cell that a spreadsheet would take for a formula, also with wide characters or after a tab. */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/;

/** Returns a cell, quoted where it must be (RFC 4180, section 2). Control characters other than white space are escaped. */
function cell(value: string | number | null, safe: boolean): string {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  const text = escapeControls(safe && FORMULA.test(value) ? `'${value}` : value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Yields the JSON of an output as a quoted cell, without a text of its length. */
function* outputCell(output: Uint8Array, safe: boolean): Generator<Piece, void, void> {
  yield safe && FORMULA.test(String.fromCharCode(output[0] ?? 0)) ? `"'` : '"';
  for (const chunk of compactJson(output)) {
    // A character for each byte: the chunk may end inside one of several bytes. The only line feed is the last byte.
    const text = chunk.toString('latin1').replaceAll('"', '""').replace('\n', '');
    yield Buffer.from(text, 'latin1');
  }
  yield '"';
}

async function* idPieces(joined: JoinedFiles): Pieces {
  for await (const { row, id } of readOutcomes(joined)) {
    if (id === undefined) continue;
    if (!isSanitized(id))
      throw new OutputError(new Error('it contains control characters'), `the run id of row ${row}`);
    yield `${id}\n`;
  }
}
