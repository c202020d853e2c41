/** A JSON object of inputs from a file, in which `{"$document": "scan.pdf"}` stands for a document. */

import { decodeString, parseMembers } from '../text/json/members.js';
import { JsonScanner } from '../text/json/scanner.js';
import { stripByteOrderMark } from '../text/utf8.js';
import { isMediaType } from './item.js';
import { checkJson, formatPosition, TextError } from './text.js';

/** JSON text, or a document that stands at its place. */
export type Segment = Uint8Array | { path: string; mediaType: string | undefined };

export interface FileInput {
  name: string;
  segments: Segment[];
}

/** The inputs of a JSON object (UTF-8, with or without byte order mark), in their order. Throws TextError. */
export function parseInputsFile(file: Buffer): FileInput[] {
  const bytes = stripByteOrderMark(file);
  checkJson(bytes);
  const members = parseMembers(bytes);
  if (members === undefined)
    throw new TextError('holds JSON that is not an object; write {"name": value, ...}');
  const seen = new Set<string>();
  return members.map(({ name, value }) => {
    if (seen.has(name)) throw new TextError(`gives ${JSON.stringify(name)} twice`);
    seen.add(name);
    return { name, segments: splitAtDocuments(asBuffer(value), bytes) };
  });
}

/** Cuts a value at the objects that stand for documents, however deep they lie. */
function splitAtDocuments(value: Buffer, file: Buffer): Segment[] {
  const segments: Segment[] = [];
  const open: { start: number; isDocument: boolean }[] = [];
  const scanner = new JsonScanner(value);
  let done = 0;
  while (scanner.next()) {
    const token = scanner.token;
    if (token === '{' || token === '[') {
      open.push({ start: scanner.start, isDocument: false });
    } else if (token === 'key') {
      const parent = open.at(-1);
      const isDocument = decodeString(value.subarray(scanner.start, scanner.end)) === '$document';
      if (parent !== undefined && isDocument) parent.isDocument = true;
    } else if (token === '}' || token === ']') {
      const closed = open.pop();
      if (closed?.isDocument && !open.some((outer) => outer.isDocument)) {
        const place = formatPosition(file, value.byteOffset - file.byteOffset + closed.start);
        segments.push(
          value.subarray(done, closed.start),
          parseDocument(value.subarray(closed.start, scanner.end), place),
        );
        done = scanner.end;
      }
    }
  }
  return [...segments, value.subarray(done)];
}

function parseDocument(object: Uint8Array, place: string): Exclude<Segment, Uint8Array> {
  const form =
    'write {"$document": "path", "type": "type/subtype"}, the type only where the name does not tell it';
  const fields = new Map<string, string>();
  for (const { name, value } of parseMembers(object) ?? []) {
    const isText = value[0] === 0x22;
    if (!isText || (name !== '$document' && name !== 'type') || fields.has(name)) {
      throw new TextError(`the document ${place} has an unfit ${JSON.stringify(name)}; ${form}`);
    }
    fields.set(name, decodeString(value));
  }
  const path = fields.get('$document') ?? '';
  const mediaType = fields.get('type');
  if (path === '') throw new TextError(`the document ${place} names no file; ${form}`);
  if (mediaType !== undefined && !isMediaType(mediaType)) {
    throw new TextError(`the document ${place}: "${mediaType}" is not a media type; ${form}`);
  }
  return { path, mediaType };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
