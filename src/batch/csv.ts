/** Rows as CSV (RFC 4180): the cells of the header are the heads of items. */
import type { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { type ItemHead, itemOfCell, parseItemHead } from '../inputs/item.js';
import { BatchFileError } from './file-error.js';
import { digestOf, type Row, type TableFile } from './table.js';

interface Record {
  record: string[];
  info: { lines: number };
}

/** The rows below the header; an empty cell gives no input. Throws BatchFileError for a header or a quote that is wrong. */
export async function* csvRows({ open, name, base }: TableFile): AsyncGenerator<Row, void, void> {
  let heads: ItemHead[] | undefined;
  let number = 0;
  for await (const { record, info } of recordsOf(open(), name)) {
    if (heads === undefined) {
      heads = headsOf(record, `${name}:${info.lines}`);
      continue;
    }
    number++;
    const place = `${name}:${info.lines}`;
    const digest = digestOf(...heads.map(({ head }) => head), ...record);
    yield { number, place, digest, inputs: inputsOf(record, heads, base) };
  }
  if (heads === undefined) throw new BatchFileError(`${name}: is empty; CSV begins with a header`);
}

async function* recordsOf(file: Readable, name: string): AsyncGenerator<Record, void, void> {
  const parser = parse({ bom: true, info: true, relax_column_count: true, skip_empty_lines: true });
  file.on('error', (error) => parser.destroy(error));
  try {
    yield* file.pipe(parser) as AsyncIterable<Record>;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new BatchFileError(`${name}:${error.lines ?? '?'}: is not CSV: ${error.message}`);
  } finally {
    file.destroy();
  }
}

function headsOf(cells: readonly string[], place: string): ItemHead[] {
  if (cells.length === 1 && /[;\t]/.test(cells[0] ?? '')) {
    throw new BatchFileError(`${place}: has no comma; separate the columns with commas, not with ; or tabs`);
  }
  const heads = cells.map((cell) => {
    try {
      return parseItemHead(cell.trim());
    } catch (error) {
      throw new BatchFileError(`${place}: ${error instanceof Error ? error.message : error}`);
    }
  });
  const names = heads.map(({ name }) => name);
  const twice = names.find((head, index) => names.indexOf(head) !== index);
  if (twice !== undefined) throw new BatchFileError(`${place}: has two columns for "${twice}"`);
  return heads;
}

function inputsOf(cells: readonly string[], heads: readonly ItemHead[], base: string): Row['inputs'] {
  if (cells.length !== heads.length) {
    return {
      problem: `has ${cells.length} cells, and the header has ${heads.length}; quote a cell with a comma in it, and keep the commas of empty ones`,
    };
  }
  if (cells.some((cell) => cell.includes('\uFFFD')))
    return { problem: 'holds bytes that are not UTF-8; save the table as UTF-8' };
  try {
    const items = heads.flatMap((head, index) => {
      const cell = cells[index] ?? '';
      return cell === '' ? [] : [itemOfCell(head, cell)];
    });
    return { items, base };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}
