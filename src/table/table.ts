/** The table of a batch, read as a stream: JSON Lines, CSV, or a list of files. */
import { BatchFileError } from '../errors.js';
import type { Columns } from '../inputs/check-declared.js';
import { FileError } from '../inputs/files.js';
import { digestOf, type Row, type TableFile, type WrittenTable } from './row.js';

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
        const item = { raw: `${name}@${path}`, name, type: 'document', path, mediaType: undefined } as const;
        yield {
          number: index + 1,
          label: path,
          digest: () => digestOf([name, path]),
          place: path,
          inputs: { items: [item], paths: { base: cwd, within: undefined } },
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
  const { jsonRows } = await import('./json-rows.js');
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
  const { writtenJson } = await import('./json-rows.js');
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
