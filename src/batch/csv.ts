/** Reads rows from CSV (RFC 4180); each header cell is an input's name with its separator. */

import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { TextDecoder } from 'node:util';
import { CsvError, parse } from 'csv-parse';
import { BatchFileError } from '../errors.js';
import type { PathRules } from '../inputs/boundary.js';
import type { Columns } from '../inputs/check-declared.js';
import { type ColumnHeader, parseCell, parseColumnHeader } from '../inputs/item.js';
import { digestOf, type Row, rowLabel, type TableFile } from './row.js';

/** CRLF first, as it begins with CR. Programs that append rows may mix them in one file. */
const LINE_ENDS = ['\r\n', '\n', '\r'];

const NOT_UTF8 = 'has bytes that are not valid UTF-8; save the table as UTF-8';
/** In UTF-16 without a byte order mark, every other byte of most tables is one. */
const HAS_NUL = 'has a NUL character; remove it, or save the table as UTF-8';

/** Messages for the parser's error codes. */
const QUOTE_PROBLEMS: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is not closed',
  CSV_INVALID_CLOSING_QUOTE: 'there is text after a closing quote; double the quotes in a quoted cell',
  INVALID_OPENING_QUOTE:
    'there is a quote in a cell that does not begin with one; quote the cell, and double the quotes in it',
};

/** The cells of a record, the line on which it begins, from 1, and whether the file was UTF-8 up to it. */
type CsvRecord = string[] & { line: number; isUtf8: boolean };

/** Reads the rows below the header; an empty cell means no input. Throws BatchFileError for an invalid header or quote. */
export async function* csvRows(file: TableFile): AsyncGenerator<Row, void, void> {
  const { name, paths } = file;
  const delimiter = delimiterOf(file);
  let heads: ColumnHeader[] | undefined;
  let labelIndex = -1;
  for await (const cells of recordsOf(file, delimiter)) {
    const { line } = cells;
    if (heads === undefined) {
      heads = headsOf(cells, `${name}:${line}`, delimiter);
      labelIndex = labelIndexOf(heads, file, line);
      continue;
    }
    const digest = digestOf(...heads.map(({ text }) => text), ...cells);
    const label = rowLabel(name, line, cells[labelIndex]);
    yield { number: line, label, digest, inputs: inputsOf(cells, heads, paths, delimiter) };
  }
  if (heads === undefined) throw emptyTable(name);
}

/** Reads the header. Throws BatchFileError if it is invalid. */
export async function csvColumns(file: TableFile): Promise<Columns> {
  const delimiter = delimiterOf(file);
  for await (const cells of recordsOf(file, delimiter)) {
    const label = `${file.name}:${cells.line}`;
    return { label, headers: headsOf(cells, label, delimiter) };
  }
  throw emptyTable(file.name);
}

function delimiterOf({ delimiter, name }: TableFile): string {
  return delimiter ?? (/\.tsv$/i.test(name) ? '\t' : ',');
}

/** Returns the index of the column for labels; -1 if none is asked for. Throws BatchFileError if there is no such column. */
function labelIndexOf(
  heads: readonly ColumnHeader[],
  { labelColumn, name }: TableFile,
  line: number,
): number {
  if (labelColumn === undefined) return -1;
  const names = heads.map((head) => head.name);
  const index = names.indexOf(labelColumn);
  if (index >= 0) return index;
  throw new BatchFileError(
    `${name}:${line}: has no column "${labelColumn}" for --label; its columns are ${names.join(', ')}`,
  );
}

function emptyTable(name: string): BatchFileError {
  return new BatchFileError(`${name}: is empty; CSV must begin with a header`);
}

async function* recordsOf(
  { open, name }: TableFile,
  delimiter: string,
): AsyncGenerator<CsvRecord, void, void> {
  const file = open();
  const encoding = { isUtf8: true };
  // The line of the next record, not counting empty lines. The parser counts a CRLF in a cell as two lines.
  let nextLine = 1;
  const parser = parse({
    bom: true,
    delimiter,
    record_delimiter: LINE_ENDS,
    relax_column_count: true,
    skip_empty_lines: true,
    on_record(cells, { empty_lines }): CsvRecord {
      const line = nextLine + empty_lines;
      nextLine += 1 + cells.reduce((sum, cell) => sum + lineBreaksIn(cell), 0);
      return Object.assign(cells, { line, isUtf8: encoding.isUtf8 });
    },
  });
  const text = Readable.from(utf8Of(file, encoding), { objectMode: false });
  text.on('error', (error) => parser.destroy(error));
  try {
    yield* text.pipe(parser) as AsyncIterable<CsvRecord>;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = nextLine + Number(error.empty_lines);
    throw new BatchFileError(`${name}:${line}: is not CSV: ${QUOTE_PROBLEMS[error.code] ?? error.message}`);
  } finally {
    text.destroy();
    file.destroy();
  }
}

/**
 * Decodes UTF-16 with a byte order mark: the parser would take half a character for a line end. Sets `isUtf8` to false
 * before it yields bytes that are not UTF-8, which the parser replaces by U+FFFD.
 */
async function* utf8Of(
  file: AsyncIterable<Buffer>,
  encoding: { isUtf8: boolean },
): AsyncGenerator<Buffer, void, void> {
  let decoder: TextDecoder | undefined;
  let isFirst = true;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of file) {
    if (isFirst) decoder = utf16Decoder(chunk);
    isFirst = false;
    if (decoder === undefined) {
      const bytes = Buffer.concat([rest, chunk]);
      const end = endOfCharacters(bytes);
      encoding.isUtf8 &&= isUtf8(bytes.subarray(0, end));
      rest = bytes.subarray(end);
    }
    yield decoder === undefined ? chunk : Buffer.from(decoder.decode(chunk, { stream: true }));
  }
  if (decoder !== undefined) yield Buffer.from(decoder.decode());
}

/** Returns the offset of a character that the end of a chunk may have cut: its last three bytes at most. */
function endOfCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc0) return bytes.length - back;
  }
  return bytes.length;
}

function utf16Decoder([first, second]: Buffer): TextDecoder | undefined {
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le');
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be');
  return undefined;
}

function lineBreaksIn(cell: string): number {
  return cell.match(/\r\n|\r|\n/g)?.length ?? 0;
}

/** Returns why cells are not text; undefined if they are. A U+FFFD in a file that is UTF-8 is a character like others. */
function encodingProblem(cells: CsvRecord): string | undefined {
  if (cells.some((cell) => cell.includes('\0'))) return HAS_NUL;
  return !cells.isUtf8 && cells.some((cell) => cell.includes('\uFFFD')) ? NOT_UTF8 : undefined;
}

/** The delimiters of spreadsheets, as they are written and as --delimiter takes them. */
const DELIMITERS: Readonly<Record<string, readonly [name: string, flag: string]>> = {
  ',': ['comma', ','],
  ';': ['semicolon', "';'"],
  '\t': ['tab', 'tab'],
};

function nameOf(delimiter: string): string {
  return DELIMITERS[delimiter]?.[0] ?? `"${delimiter}"`;
}

/** Throws BatchFileError for a header of one cell with another delimiter in it. */
function assertDelimiter([cell = '']: readonly string[], label: string, delimiter: string): void {
  // The media type of a document follows a semicolon.
  const text = cell.replace(/@;type=[^;\t]+$/, '@');
  const found = Object.entries(DELIMITERS).find(([other]) => other !== delimiter && text.includes(other));
  if (found === undefined) return;
  const [, [name, flag]] = found;
  throw new BatchFileError(
    `${label}: has no ${nameOf(delimiter)}; if a ${name} separates its columns, use --delimiter ${flag}`,
  );
}

function headsOf(cells: CsvRecord, label: string, delimiter: string): ColumnHeader[] {
  const problem = encodingProblem(cells);
  if (problem !== undefined) throw new BatchFileError(`${label}: ${problem}`);
  if (cells.length === 1) assertDelimiter(cells, label, delimiter);
  const heads = cells.map((cell) => {
    try {
      return parseColumnHeader(cell.trim());
    } catch (error) {
      throw new BatchFileError(`${label}: ${error instanceof Error ? error.message : error}`);
    }
  });
  const names = heads.map(({ name }) => name);
  const duplicate = names.find((head, index) => names.indexOf(head) !== index);
  if (duplicate !== undefined) throw new BatchFileError(`${label}: has two columns for "${duplicate}"`);
  return heads;
}

function inputsOf(
  cells: CsvRecord,
  heads: readonly ColumnHeader[],
  paths: PathRules,
  delimiter: string,
): Row['inputs'] {
  if (cells.every((cell) => cell.trim() === '')) {
    return { problem: 'has only empty cells; remove the line, or fill in its cells' };
  }
  if (cells.length !== heads.length) {
    const separator = nameOf(delimiter);
    const count = `${cells.length} ${cells.length === 1 ? 'cell' : 'cells'}`;
    return {
      problem: `has ${count}, but the header has ${heads.length}; quote cells that contain a ${separator}, and keep the ${separator}s of empty cells`,
    };
  }
  const problem = encodingProblem(cells);
  if (problem !== undefined) return { problem };
  try {
    const items = heads.flatMap((head, index) => {
      const cell = cells[index] ?? '';
      return cell === '' ? [] : [parseCell(head, cell)];
    });
    return { items, paths };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}
