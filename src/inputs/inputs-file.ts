/** Parses a JSON object of inputs, in which `{"$document": "scan.pdf"}` stands for a document. */

import { decodeString, parseMembers } from '../text/json/members.js';
import { JsonScanner } from '../text/json/scanner.js';
import { stripByteOrderMark } from '../text/utf8.js';
import { isMediaType } from './item.js';
import { checkJson, decodeUtf8, formatPosition, TextError } from './text.js';

const QUOTE = 0x22;

/** JSON text, or a document that is inserted between such texts. */
export type Segment = Uint8Array | { path: string; mediaType: string | undefined };

export interface FileInput {
  name: string;
  segments: Segment[];
}

/** Parses the inputs of a JSON object (UTF-8, with or without byte order mark), in their order. Throws TextError. */
export function parseInputsFile(file: Buffer): FileInput[] {
  const bytes = stripByteOrderMark(file);
  checkJson(bytes);
  const members = parseMembers(bytes);
  if (members === undefined) throw new TextError('is not a JSON object; expected {"name": value, ...}');
  const seen = new Set<string>();
  return members.map(({ name, value }) => {
    if (seen.has(name)) throw new TextError(`duplicate name ${JSON.stringify(name)}; remove one of the two`);
    seen.add(name);
    return { name, segments: splitAtDocuments(asBuffer(value), bytes) };
  });
}

/** Checks that no object of an inputs file stands for a document, at any depth: it could name any file. Throws TextError. */
export function assertNoDocuments(file: Buffer): void {
  decodeUtf8(file);
  const bytes = stripByteOrderMark(file);
  checkJson(bytes);
  const scanner = new JsonScanner(bytes);
  while (scanner.next()) {
    if (scanner.token !== 'key') continue;
    if (decodeString(bytes.subarray(scanner.start, scanner.end)) !== '$document') continue;
    const position = formatPosition(bytes, scanner.start);
    throw new TextError(
      `"$document" ${position} is not allowed with --no-documents; give the document as an input, such as name@path`,
    );
  }
}

/** Splits a value at the objects that stand for documents, at any depth. */
function splitAtDocuments(value: Buffer, file: Buffer): Segment[] {
  const segments: Segment[] = [];
  const open: { start: number; isDocument: boolean }[] = [];
  const scanner = new JsonScanner(value);
  let position = 0;
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
        const label = formatPosition(file, value.byteOffset - file.byteOffset + closed.start);
        segments.push(
          value.subarray(position, closed.start),
          parseDocument(value.subarray(closed.start, scanner.end), label),
        );
        position = scanner.end;
      }
    }
  }
  return [...segments, value.subarray(position)];
}

const EXPECTED_DOCUMENT =
  'expected {"$document": "path", "type": "type/subtype"}; "type" is needed only if the file name does not imply it';

function parseDocument(object: Uint8Array, label: string): Exclude<Segment, Uint8Array> {
  const invalid = (problem: string) =>
    new TextError(`the document ${label} ${problem}; ${EXPECTED_DOCUMENT}`);
  const fields = new Map<string, string>();
  for (const { name, value } of parseMembers(object) ?? []) {
    const key = JSON.stringify(name);
    if (name !== '$document' && name !== 'type') throw invalid(`has an unknown key ${key}`);
    if (value[0] !== QUOTE) throw invalid(`has a ${key} that is not a string`);
    if (fields.has(name)) throw invalid(`has ${key} twice`);
    fields.set(name, decodeString(value));
  }
  const path = fields.get('$document') ?? '';
  const mediaType = fields.get('type');
  if (path === '') throw invalid('has an empty path');
  if (mediaType !== undefined && !isMediaType(mediaType)) {
    throw invalid(`has a "type" that is not a media type: "${mediaType}"`);
  }
  return { path, mediaType };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
