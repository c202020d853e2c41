/** The table of a batch, read as a stream: JSON Lines, CSV, or a list of files. */
import { BatchFileError } from '../errors.js';
import type { Columns } from '../inputs/check-declared.js';
import { asObject, parseJson } from '../text/json/json-file.js';
import { type Member, parseMembers } from '../text/json/members.js';
import { isSpace } from '../text/json/scanner.js';
import { rowLabel } from '../text/row-label.js';
import { readLines, stripByteOrderMark } from '../text/utf8.js';
import { csvColumns, csvRows, withDelimiter } from './csv.js';
import { digestOf, type Row, type TableFile } from './row.js';

/** Can be read more than once. */
export interface Table {
  /** What the place of a row is, such as `label customer`; undefined if rows have none. */
  places: string | undefined;
  /** Reads the columns, unless the rows name their inputs themselves. Throws BatchFileError. */
  columns?(): Promise<Columns>;
  /** Throws BatchFileError if the table cannot be read. */
  rows(): AsyncGenerator<Row, void, void>;
}

/** What the place of a file is. */
const PATH = 'path';

/** Returns whether rows are files, by what their places are: equal files are one row. */
export const areFiles = (places: Table['places']) => places === PATH;

/** Returns a table with one row per file, sent as the document `name`. */
export function tableOfFiles(name: string, files: readonly string[]): Table {
  return {
    places: PATH,
    columns: async () => ({
      label: `--each ${name}`,
      headers: [{ raw: '', name, separator: '@', value: '' }],
    }),
    async *rows() {
      for (const [index, path] of files.entries()) {
        const item = { raw: `${name}@${path}`, name, separator: '@', value: path } as const;
        yield {
          number: index + 1,
          label: path,
          digest: () => digestOf([name, path]),
          place: path,
          inputs: { items: [item], paths: {} },
        };
      }
    },
  };
}

/** Returns the table of a file: JSON Lines or CSV. Throws BatchFileError for one that begins as neither. */
export async function tableOfFile(file: TableFile): Promise<Table> {
  const places = file.labelColumn === undefined ? undefined : `label ${file.labelColumn}`;
  if (await isJson(file)) return { places, rows: () => jsonRows(file) };
  const csv = await withDelimiter(file);
  return { places, columns: () => csvColumns(csv), rows: () => csvRows(csv) };
}

/** A table as people wrote it. */
export type WrittenTable = Awaited<ReturnType<typeof writtenTable>>;

/** A cell as the file has it: a text, or a JSON value (UTF-8); undefined if the row has none. */
export type WrittenCell = string | Uint8Array | undefined;

/** Returns the cells of a file as they are written. Throws BatchFileError, and so do its rows. */
export async function writtenTable(file: TableFile) {
  const table = await tableOfFile(file);
  const headers = (await table.columns?.())?.headers.map(({ raw }) => raw);
  const names = new Set<string>(headers);
  for await (const { inputs } of headers ? [] : table.rows())
    for (const [name] of membersOf(inputs)) names.add(name);
  const columns = [...names];
  if (columns.length === 0) throw new BatchFileError(`${file.name}: has no rows`);
  return {
    /** As the user wrote it, for messages. */
    name: file.name,
    /** As its file names them; those of JSON Lines in the order in which they appear. */
    columns,
    /** Reads the rows, with a cell for each column. */
    async *rows() {
      for await (const { cells, ...row } of table.rows()) {
        const values = new Map(cells ? [] : membersOf(row.inputs));
        const written = columns.map((name, at): WrittenCell => (cells ? cells[at] : values.get(name)));
        yield { ...row, cells: written };
      }
    },
  };
}

/** Returns the members of a JSON object; none of an invalid one, which its outcome reports. */
function membersOf(inputs: Row['inputs']): Member[] {
  try {
    return ('json' in inputs && parseMembers(inputs.json)) || [];
  } catch {
    return [];
  }
}

/** How files begin that are often taken for tables. */
const BINARY = [
  ['%PDF-', 'a PDF'],
  ['PK\u0003\u0004', 'a workbook or ZIP file'],
] as const;

/** Detects the format by the name, or by the first character. */
async function isJson({ open, name }: TableFile): Promise<boolean> {
  let start = '';
  for await (const chunk of open()) {
    start = (chunk as Buffer).toString('utf8', 0, 1_024).trimStart();
    break;
  }
  const [, kind] = BINARY.find(([head]) => start.startsWith(head)) ?? [];
  // No row is a bracket alone.
  const other = kind ?? (/^[[{]\s*[\r\n]/.test(start) ? 'one JSON value' : undefined);
  if (other !== undefined) throw new BatchFileError(`${name}: is ${other}, not JSON Lines or CSV`);
  return !/\.[ct]sv$/i.test(name) && (/\.(jsonl?|ndjson)$/i.test(name) || start.startsWith('{'));
}

/** Reads the rows of a file; skips blank lines. */
async function* jsonRows({ open, name, paths, labelColumn }: TableFile): AsyncGenerator<Row, void, void> {
  for await (const lines of readLines(open())) {
    for (const { number, bytes } of lines) {
      const json = number === 1 ? stripByteOrderMark(bytes) : bytes;
      if (json.every(isSpace)) continue;
      const place = labelColumn === undefined ? undefined : memberText(json, labelColumn);
      yield {
        number,
        label: rowLabel(name, number, place),
        place,
        digest: () => digestOf([json.toString('latin1')]),
        inputs: { items: [], json, paths },
      };
    }
  }
}

/** Returns the string or number with this name; empty if there is none. */
function memberText(json: Buffer, name: string): string {
  // A row that is not JSON is reported as invalid when it is sent.
  const value = asObject(parseJson(json))[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
