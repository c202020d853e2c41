/** Reads rows from CSV; each header cell is an input's name with its separator. */
import { BatchFileError, type InputError } from '../errors.js';
import type { Columns } from '../inputs/check-declared.js';
import { type Item, itemOfCell, parseColumnHeader } from '../inputs/item.js';
import { pluralize } from '../text/quantity.js';
import { rowLabel } from '../text/row-label.js';
import { digestOf, type Row, type TableFile } from './row.js';

/**
 * Matches what stands for bytes that are no text. In UTF-16 without a byte order mark, every other byte of most tables is
 * a NUL.
 */
const NO_TEXT = /[\0\uFFFD]/;
const NOT_UTF8 = 'has a NUL or U+FFFD, or bytes that are not valid UTF-8; save the table as UTF-8';

/** The delimiters of spreadsheets. */
const DELIMITERS = [',', ';', '\t'];

export type CsvFile = TableFile & { delimiter: string };

/**
 * Returns the file with the delimiter that the user or its name gave, if the header has it; else that which separates most.
 * Throws BatchFileError for a header without the delimiter of the user, if it must have that.
 */
export async function withDelimiter(file: TableFile): Promise<CsvFile> {
  const given = file.delimiter ?? (/\.tsv$/i.test(file.name) ? '\t' : undefined);
  const delimiters = [given ?? [], DELIMITERS].flat();
  const counts = await Promise.all(
    delimiters.map((delimiter) => countHeaderCells({ ...file, delimiter }).catch(() => 0)),
  );
  const [first = 0] = counts;
  if (given !== undefined && first > 1) return { ...file, delimiter: given };
  if (file.mustHaveDelimiter && file.delimiter !== undefined && first > 0)
    throw new BatchFileError(
      `--delimiter ${JSON.stringify(given)}: the header of ${file.name} does not have it`,
    );
  return { ...file, delimiter: delimiters[counts.indexOf(Math.max(...counts))] ?? ',' };
}

async function countHeaderCells(file: CsvFile): Promise<number> {
  const { cells } = await headerOf(file);
  // The media type of a document follows a semicolon, and so do its parameters.
  return cells.filter((cell) => !/^ *(type=|[\w.-]+=.)/.test(cell)).length;
}

/** Reads the rows below the header; an empty cell means no input. Throws BatchFileError for an invalid header or quote. */
export async function* csvRows(file: CsvFile): AsyncGenerator<Row, void, void> {
  const { headers } = await csvColumns(file);
  const headDigest = digestOf(headers.map(({ raw }) => raw));
  const labelIndex = headers.findIndex(({ name }) => name === file.labelColumn);
  const records = recordsOf(file);
  // The header.
  await records.next();
  for await (const { cells, line } of records) {
    const place = labelIndex < 0 ? undefined : (cells[labelIndex] ?? '');
    const label = rowLabel(file.name, line, place);
    const digest = () => digestOf([headDigest, ...cells]);
    yield { number: line, label, place, digest, cells, inputs: inputsOf(cells, headers, file) };
  }
}

/** Reads the header. Throws BatchFileError if it is invalid. */
export async function csvColumns(file: CsvFile): Promise<Columns> {
  const { cells, line } = await headerOf(file);
  const label = `${file.name}:${line}`;
  const fail = (problem: string) => new BatchFileError(`${label}: ${problem}`);
  if (cells.some((cell) => NO_TEXT.test(cell))) throw fail(NOT_UTF8);
  const headers = cells.map((cell) => {
    try {
      return parseColumnHeader(cell.trim());
    } catch (error) {
      throw fail((error as InputError).message);
    }
  });
  const names = new Set<string>();
  for (const { name } of headers) {
    if (names.has(name)) throw fail(`has two columns for "${name}"`);
    names.add(name);
  }
  const { labelColumn } = file;
  if (labelColumn === undefined || names.has(labelColumn)) return { label, headers };
  throw fail(`has no column "${labelColumn}" for --label; its columns are ${[...names].join(', ')}`);
}

async function headerOf(file: CsvFile) {
  for await (const record of recordsOf(file)) return record;
  throw new BatchFileError(`${file.name}: is empty; CSV must begin with a header`);
}

function inputsOf(
  cells: readonly string[],
  headers: readonly Item[],
  { paths, delimiter }: CsvFile,
): Row['inputs'] {
  if (cells.every((cell) => cell.trim() === '')) return { problem: 'has only empty cells' };
  if (cells.length !== headers.length) {
    const count = pluralize(cells.length, 'cell');
    const fix =
      cells.length > headers.length ? `; quote cells that contain ${JSON.stringify(delimiter)}` : '';
    return { problem: `has ${count}, but the header has ${headers.length}${fix}` };
  }
  if (cells.some((cell) => NO_TEXT.test(cell))) return { problem: NOT_UTF8 };
  const items = headers.flatMap((header, index) => {
    const cell = cells[index];
    return cell ? itemOfCell(header, cell) : [];
  });
  return { items, paths };
}

/**
 * Reads records as RFC 4180 has them, and as other programs read them: a line ends with CRLF, LF or CR, a quote within a cell
 * that does not begin with one is text, and blanks may follow a closing quote. Yields the cells of each, and the line on which
 * it begins, from 1. Throws BatchFileError.
 */
async function* recordsOf({ open, name, delimiter }: CsvFile) {
  const mark = delimiter.replace(/[\\\]-]/, '\\$&');
  const tokens = new RegExp(`\\r\\n|[\\r\\n"${mark}]|[^\\r\\n"${mark}]+`, 'gu');
  let line = 1;
  let record = { line, cells: [] as string[] };
  let cell = '';
  let state: 'start' | 'text' | 'quoted' | 'closed' | 'ended' = 'start';
  const fail = (problem: string) => new BatchFileError(`${name}:${record.line}: is not CSV: ${problem}`);
  for await (const text of decode(open())) {
    for (const [token] of text.matchAll(tokens)) {
      const isBreak = token === '\n' || token === '\r\n' || token === '\r';
      if (isBreak) line++;
      if (token === '"' && (state === 'start' || state === 'closed')) {
        // Two quotes in a quoted cell are one.
        if (state === 'closed') cell += token;
        state = 'quoted';
      } else if (state === 'quoted') {
        if (token === '"') state = 'closed';
        else cell += token;
      } else if (isBreak || token === delimiter) {
        const isBlank = isBreak && state === 'start' && record.cells.length === 0;
        if (!isBlank) record.cells.push(cell);
        if (isBreak) {
          if (!isBlank) yield record;
          record = { line, cells: [] };
        }
        cell = '';
        state = 'start';
      } else if (state === 'start' || state === 'text') {
        cell += token;
        state = 'text';
      } else if (token.trim() === '') state = 'ended';
      else throw fail('there is text after a closing quote; double the quotes in a quoted cell');
    }
  }
  if (state === 'quoted') throw fail('a quote is not closed');
}

/** Decodes UTF-8, and UTF-16 with a byte order mark. A line break is in one piece, and the last line has one. */
async function* decode(file: AsyncIterable<Buffer>): AsyncGenerator<string, void, void> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let rest = '';
  for await (const chunk of file) {
    decoder ??= new TextDecoder(encodingOf(chunk));
    const text = rest + decoder.decode(chunk, { stream: true });
    rest = text.endsWith('\r') ? '\r' : '';
    yield rest === '' ? text : text.slice(0, -1);
  }
  yield `${rest}${decoder?.decode() ?? ''}\n`;
}

function encodingOf([first, second]: Buffer): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}
