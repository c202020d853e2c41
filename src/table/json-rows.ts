/** Reads rows from JSON Lines; each line has the format of an inputs file. */

import { readLines } from '../text/read-lines.js';
import { stripByteOrderMark } from '../text/utf8.js';
import { digestOf, type Row, rowLabel, type TableFile } from './row.js';

/** Reads the rows of a file; skips blank lines. */
export async function* jsonRows({
  open,
  name,
  paths,
  labelColumn,
}: TableFile): AsyncGenerator<Row, void, void> {
  for await (const line of readLines(open())) {
    const json = line.number === 1 ? stripByteOrderMark(line.bytes) : line.bytes;
    if (json.every(isBlank)) continue;
    yield {
      number: line.number,
      label: rowLabel(name, line.number, labelColumn === undefined ? '' : memberText(json, labelColumn)),
      digest: digestOf([json.toString('latin1')]),
      inputs: { items: [], json, paths },
    };
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
