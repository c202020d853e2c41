/** Reads rows from JSON Lines; each line has the format of an inputs file. */
import { stripByteOrderMark } from '../text/utf8.js';
import { readLines } from './read-lines.js';
import { digestOf, type Row, type TableFile } from './row.js';

/** Reads the rows of a file; skips blank lines. */
export async function* jsonRows({ open, name, paths }: TableFile): AsyncGenerator<Row, void, void> {
  for await (const line of readLines(open())) {
    const json = line.number === 1 ? stripByteOrderMark(line.bytes) : line.bytes;
    if (/^[ \t\r]*$/.test(json.subarray(0, 100).toString('latin1')) && json.toString('latin1').trim() === '')
      continue;
    yield {
      number: line.number,
      label: `${name}:${line.number}`,
      digest: digestOf(json),
      inputs: { items: [], json, paths },
    };
  }
}
