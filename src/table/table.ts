/** The table of a batch, read as a stream: JSON Lines, CSV, or a list of files. */
import { BatchFileError } from '../errors.js';
import type { Columns } from '../inputs/check-declared.js';
import { FileError } from '../inputs/files.js';
import { parseMembers } from '../text/json/members.js';
import { readLines, stripByteOrderMark } from '../text/utf8.js';
import { digestOf, type Row, rowLabel, type TableFile, type WrittenTable } from './row.js';

/** Can be read more than once. */
export interface Table {
  /** Whether its rows are files, so that equal ones are one. */
  isFolder: boolean;
  /** What the place of a row is; undefined if rows have none. */
  places: string | undefined;
  /** Reads the columns; undefined for rows that name their inputs themselves. Throws BatchFileError. */
  columns(): Promise<Columns | undefined>;
  /** Throws BatchFileError if the table cannot be read. */
  rows(): AsyncGenerator<Row, void, void>;
}

/** Returns a table with one row per file, sent as the document `name`. */
export function tableOfFiles(name: string, files: readonly string[], cwd: string): Table {
  return {
    isFolder: true,
    places: 'path',
    columns: async () => ({
      label: `--each ${name}`,
      headers: [{ text: '', name, separator: '@', mediaType: undefined }],
    }),
    async *rows() {
      for (const [index, path] of files.entries()) {
        const item = { raw: `${name}@${path}`, name, type: 'file', kind: 'document', path } as const;
        yield {
          number: index + 1,
          label: path,
          digest: () => digestOf([name, path]),
          place: path,
          inputs: { items: [item], paths: { base: cwd } },
        };
      }
    },
  };
}

/**
 * Detects the format of a file: CSV if named .csv or .tsv, if it has a delimiter, or if it does not begin with a JSON object;
 * otherwise JSON Lines.
 */
export async function tableOfFile(file: TableFile): Promise<Table> {
  const { csvRows, csvColumns } = (await isCsv(file)) ? await import('./csv.js') : {};
  return {
    isFolder: false,
    places: file.labelColumn === undefined ? undefined : `label ${file.labelColumn}`,
    columns: async () => csvColumns?.(file).catch(throwTableError),
    rows: () => readableRows((csvRows ?? jsonRows)(file)),
  };
}

/**
 * Returns the cells of a file as they are written. `delimiter` may separate those of CSV, beside the usual ones. Throws
 * BatchFileError, and so do its rows.
 */
export async function writtenTable(file: TableFile, delimiter: string | undefined): Promise<WrittenTable> {
  const { writtenCsv } = (await isCsv(file)) ? await import('./csv.js') : {};
  const table = await (writtenCsv?.(file, delimiter) ?? writtenJson(file)).catch(throwTableError);
  return { ...table, rows: () => readableRows(table.rows()) };
}

async function isCsv(file: TableFile): Promise<boolean> {
  const isNamedCsv = file.delimiter !== undefined || /\.[ct]sv$/i.test(file.name);
  return isNamedCsv || !(await beginsWithObject(file));
}

/** Adds the last row that was read to the error of an unreadable file. Throws BatchFileError. */
async function* readableRows<R extends { label: string }>(
  rows: AsyncGenerator<R, void, void>,
): AsyncGenerator<R, void, void> {
  let last = '';
  try {
    for await (const row of rows) {
      last = `; rows were read up to ${row.label}`;
      yield row;
    }
  } catch (error) {
    throwTableError(error, last);
  }
}

function throwTableError(error: unknown, position = ''): never {
  throw error instanceof FileError ? new BatchFileError(error.message + position) : error;
}

async function beginsWithObject({ open, name }: TableFile): Promise<boolean> {
  if (/\.(jsonl|ndjson|json)$/i.test(name)) return true;
  for await (const chunk of open(1_023)) {
    return /^[\s\ufeff]*\{/.test((chunk as Buffer).toString('utf8'));
  }
  return false;
}

/** Reads the rows of a file; skips blank lines. */
async function* jsonRows({ open, name, paths, labelColumn }: TableFile): AsyncGenerator<Row, void, void> {
  for await (const { number, json } of objectsOf(open())) {
    const place = labelColumn === undefined ? {} : { place: memberText(json, labelColumn) };
    yield {
      number,
      label: rowLabel(name, number, place.place),
      ...place,
      digest: () => digestOf([json.toString('latin1')]),
      inputs: { items: [], json, paths },
    };
  }
}

/** Returns the members as they are written; the columns are all names, in the order in which they appear. */
async function writtenJson({ name, open }: TableFile): Promise<WrittenTable> {
  const columns = new Set<string>();
  for await (const { json } of objectsOf(open()))
    for (const member of membersOf(json)) columns.add(member.name);
  if (columns.size === 0) throw new BatchFileError(`${name}: has no rows`);
  return {
    columns: [...columns],
    async *rows() {
      for await (const { number, json } of objectsOf(open())) {
        const values = new Map(membersOf(json).map((member) => [member.name, member.value]));
        const cells = [...columns].map((column) => values.get(column));
        yield { number, label: rowLabel(name, number), cells };
      }
    },
  };
}

/** Reads the lines that are not blank. */
async function* objectsOf(bytes: AsyncIterable<Buffer>) {
  for await (const lines of readLines(bytes)) {
    for (const line of lines) {
      const json = line.number === 1 ? stripByteOrderMark(line.bytes) : line.bytes;
      if (!json.every(isBlank)) yield { number: line.number, json };
    }
  }
}

/** Returns the members of a row; none of an invalid one, which its outcome reports. */
function membersOf(json: Buffer) {
  try {
    return parseMembers(json) ?? [];
  } catch {
    return [];
  }
}

/** Whether a byte is a space, a tab or a carriage return. */
const isBlank = (byte: number) => byte === 0x20 || byte === 0x09 || byte === 0x0d;

/** Returns the string or number with this name; empty if there is none. */
function memberText(json: Buffer, name: string): string {
  try {
    const value = (JSON.parse(json.toString('utf8')) as Record<string, unknown>)[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  } catch {
    // The row is reported as invalid when it is sent.
    return '';
  }
}
