/** Reads rows from JSON Lines; each line has the format of an inputs file. */

import { BatchFileError } from '../errors.js';
import { parseMembers } from '../text/json/members.js';
import { readLines, stripByteOrderMark } from '../text/utf8.js';
import { digestOf, type Row, rowLabel, type TableFile, type WrittenTable } from './row.js';

/** Reads the rows of a file; skips blank lines. */
export async function* jsonRows({
  open,
  name,
  paths,
  labelColumn,
}: TableFile): AsyncGenerator<Row, void, void> {
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
export async function writtenJson({ name, open }: TableFile): Promise<WrittenTable> {
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
  for await (const line of readLines(bytes)) {
    const json = line.number === 1 ? stripByteOrderMark(line.bytes) : line.bytes;
    if (!json.every(isBlank)) yield { number: line.number, json };
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
