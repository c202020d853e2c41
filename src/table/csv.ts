/** Reads rows from CSV; each header cell is an input's name with its separator. */

import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';
import { BatchFileError } from '../errors.js';
import type { Columns } from '../inputs/check-declared.js';
import type { PathRules } from '../inputs/files.js';
import { type ColumnHeader, parseCell, parseColumnHeader } from '../inputs/item.js';
import { digestOf, type Row, rowLabel, type TableFile, type WrittenTable } from './row.js';

const NOT_UTF8 = 'has bytes that are not valid UTF-8; save the table as UTF-8';
/** In UTF-16 without a byte order mark, every other byte of most tables is one. */
const HAS_NUL = 'has a NUL character; remove it, or save the table as UTF-8';

/** The cells of a record, the line on which it begins, from 1, and whether the file was UTF-8 up to it. */
interface CsvRecord {
  cells: readonly string[];
  line: number;
  isUtf8: boolean;
}

/** Reads the rows below the header; an empty cell means no input. Throws BatchFileError for an invalid header or quote. */
export async function* csvRows(file: TableFile): AsyncGenerator<Row, void, void> {
  const { name, paths } = file;
  const delimiter = delimiterOf(file);
  let heads: ColumnHeader[] | undefined;
  let labelIndex = -1;
  let headDigest = '';
  for await (const record of recordsOf(file, delimiter)) {
    const { cells, line } = record;
    if (heads === undefined) {
      heads = headsOf(record, `${name}:${line}`, delimiter);
      headDigest = digestOf(heads.map(({ text }) => text));
      labelIndex = labelIndexOf(heads, file, line);
      continue;
    }
    const digest = () => digestOf([headDigest, ...cells]);
    const place = labelIndex < 0 ? {} : { place: cells[labelIndex] ?? '' };
    const label = rowLabel(name, line, place.place);
    yield { number: line, label, ...place, digest, inputs: inputsOf(record, heads, paths, delimiter) };
  }
  if (heads === undefined) throw emptyTable(name);
}

/** Reads the header. Throws BatchFileError if it is invalid. */
export async function csvColumns(file: TableFile): Promise<Columns> {
  const delimiter = delimiterOf(file);
  for await (const record of recordsOf(file, delimiter)) {
    const label = `${file.name}:${record.line}`;
    return { label, headers: headsOf(record, label, delimiter) };
  }
  throw emptyTable(file.name);
}

/** Returns the cells as they are written, whatever separates them: the usual delimiters, or `other`. Throws BatchFileError. */
export async function writtenCsv(file: TableFile, other: string | undefined): Promise<WrittenTable> {
  const delimiter = await detectDelimiter(file, other);
  const { headers } = await csvColumns({ ...file, delimiter });
  const columns = headers.map(({ text }) => text);
  return {
    columns,
    async *rows() {
      let isHeader = true;
      for await (const { cells, line } of recordsOf(file, delimiter)) {
        if (!isHeader)
          yield { number: line, label: rowLabel(file.name, line), cells: columns.map((_, at) => cells[at]) };
        isHeader = false;
      }
    },
  };
}

/** Returns the delimiter that gives the header the most cells. */
async function detectDelimiter(file: TableFile, other: string | undefined): Promise<string> {
  let best = delimiterOf(file);
  let most = 0;
  for (const delimiter of [best, ...(other === undefined ? [] : [other]), ...Object.keys(DELIMITERS)]) {
    const count = await countHeaderCells(file, delimiter).catch(() => 0);
    if (count > most) best = delimiter;
    most = Math.max(most, count);
  }
  return best;
}

async function countHeaderCells(file: TableFile, delimiter: string): Promise<number> {
  // The media type of a document follows a semicolon.
  for await (const { cells } of recordsOf(file, delimiter))
    return cells.filter((cell) => !cell.startsWith('type=')).length;
  return 0;
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
  const splitter = new RecordSplitter(name, delimiter);
  try {
    for await (const { text, isValid } of decode(file)) {
      splitter.isUtf8 = isValid;
      yield* splitter.split(text);
    }
    yield* splitter.end();
  } finally {
    file.destroy();
  }
}

/** Decodes UTF-8, and UTF-16 with a byte order mark; U+FFFD replaces what is neither, and `isValid` is false from then on. */
async function* decode(file: AsyncIterable<Buffer>) {
  let decoder: TextDecoder | undefined;
  let isValid = true;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of file) {
    decoder ??= new TextDecoder(encodingOf(chunk));
    if (decoder.encoding === 'utf-8') {
      const bytes = Buffer.concat([rest, chunk]);
      const end = endOfCharacters(bytes);
      isValid &&= isUtf8(bytes.subarray(0, end));
      rest = bytes.subarray(end);
    }
    yield { text: decoder.decode(chunk, { stream: true }), isValid };
  }
  if (decoder !== undefined) yield { text: decoder.decode(), isValid };
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

function encodingOf([first, second]: Buffer): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}

/**
 * Splits text, which comes in chunks, into records as RFC 4180 has them, and as other programs read them: a line ends with
 * CRLF, LF or CR, a quote within a cell that does not begin with one is text, and blanks may follow a closing quote.
 */
class RecordSplitter {
  /** Matches what ends an unquoted cell. */
  readonly #end: RegExp;
  /** The line of the record, from 1. */
  #line = 1;
  #cells: string[] = [];
  /** The cell so far. */
  #cell = '';
  #state: 'start' | 'unquoted' | 'quoted' | 'closed' | 'ended' = 'start';
  #isAfterCr = false;
  /** Whether the file was UTF-8 so far. */
  isUtf8 = true;

  constructor(
    private readonly name: string,
    delimiter: string,
  ) {
    this.#end = new RegExp(`[\\r\\n]|${delimiter.replace(/[$^.*+?|()[\]{}\\]/, '\\$&')}`, 'gu');
  }

  /** Yields the records that end in the next chunk. Throws BatchFileError. */
  *split(text: string): Generator<CsvRecord, void, void> {
    for (let at = 0; at < text.length; ) {
      const isQuote = text[at] === '"';
      if (this.#isAfterCr && text[at] === '\n') at++;
      else if (this.#state === 'quoted') at = this.#readQuoted(text, at);
      else if (isQuote && this.#state === 'start') {
        this.#state = 'quoted';
        at++;
      } else if (isQuote && this.#state === 'closed') {
        // Two quotes in a quoted cell are one.
        this.#cell += '"';
        this.#state = 'quoted';
        at++;
      } else {
        this.#end.lastIndex = at;
        const { index: end, 0: mark } = this.#end.exec(text) ?? { index: text.length, 0: '' };
        this.#addUnquoted(text.slice(at, end));
        at = end + mark.length;
        if (mark === '\r' || mark === '\n') yield* this.#endRecord();
        else if (mark !== '') this.#endCell();
        this.#isAfterCr = mark === '\r';
        continue;
      }
      this.#isAfterCr = false;
    }
  }

  /** Yields the last record, if no line break ended it. Throws BatchFileError. */
  *end(): Generator<CsvRecord, void, void> {
    if (this.#state === 'quoted') throw this.#error('a quote is not closed');
    if (!this.#isEmpty()) yield* this.#endRecord();
  }

  /** Reads a quoted cell up to the next quote. Returns the offset after it. */
  #readQuoted(text: string, at: number): number {
    const quote = text.indexOf('"', at);
    const end = quote < 0 ? text.length : quote;
    this.#cell += text.slice(at, end);
    if (quote >= 0) this.#state = 'closed';
    return end + 1;
  }

  #addUnquoted(text: string): void {
    if (text === '') return;
    if (this.#state === 'start' || this.#state === 'unquoted') {
      this.#state = 'unquoted';
      this.#cell += text;
    } else if (text.trim() === '') {
      this.#state = 'ended';
    } else {
      throw this.#error('there is text after a closing quote; double the quotes in a quoted cell');
    }
  }

  #endCell(): void {
    this.#cells.push(this.#cell);
    this.#cell = '';
    this.#state = 'start';
  }

  *#endRecord(): Generator<CsvRecord, void, void> {
    const line = this.#line++;
    if (this.#isEmpty()) return;
    this.#endCell();
    const cells = this.#cells;
    this.#cells = [];
    for (const cell of cells) this.#line += lineBreaksIn(cell);
    yield { cells, line, isUtf8: this.isUtf8 };
  }

  /** Whether nothing of the record was read. */
  #isEmpty(): boolean {
    return this.#cells.length === 0 && this.#state === 'start';
  }

  #error(problem: string): BatchFileError {
    return new BatchFileError(`${this.name}:${this.#line}: is not CSV: ${problem}`);
  }
}

function lineBreaksIn(cell: string): number {
  return cell.match(/\r\n|\r|\n/g)?.length ?? 0;
}

/** Returns why cells are not text; undefined if they are. A U+FFFD in a file that is UTF-8 is a character like others. */
function encodingProblem({ cells, isUtf8: isValid }: CsvRecord): string | undefined {
  if (cells.some((cell) => cell.includes('\0'))) return HAS_NUL;
  return !isValid && cells.some((cell) => cell.includes('\uFFFD')) ? NOT_UTF8 : undefined;
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
  const text = cell.replace(/@;type=[^;\t]+(;[\w.-]+=[^;\t]*)*$/, '@');
  const found = Object.entries(DELIMITERS).find(([other]) => other !== delimiter && text.includes(other));
  if (found === undefined) return;
  const [, [name, flag]] = found;
  throw new BatchFileError(
    `${label}: has no ${nameOf(delimiter)}; if a ${name} separates its columns, use --delimiter ${flag}`,
  );
}

function headsOf(record: CsvRecord, label: string, delimiter: string): ColumnHeader[] {
  const { cells } = record;
  const problem = encodingProblem(record);
  if (problem !== undefined) throw new BatchFileError(`${label}: ${problem}`);
  if (cells.length === 1) assertDelimiter(cells, label, delimiter);
  const heads = cells.map((cell) => {
    try {
      return parseColumnHeader(cell.trim());
    } catch (error) {
      throw new BatchFileError(`${label}: ${error instanceof Error ? error.message : error}`);
    }
  });
  const names = new Set<string>();
  for (const { name } of heads) {
    if (names.has(name)) throw new BatchFileError(`${label}: has two columns for "${name}"`);
    names.add(name);
  }
  return heads;
}

function inputsOf(
  record: CsvRecord,
  heads: readonly ColumnHeader[],
  paths: PathRules,
  delimiter: string,
): Row['inputs'] {
  const { cells } = record;
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
  const problem = encodingProblem(record);
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
