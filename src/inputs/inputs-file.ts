/** Parses a JSON object of inputs, in which `{"$document": "scan.pdf"}` stands for a document. */

import { isUtf8 } from 'node:buffer';
import { decodeString, parseMembers } from '../text/json/members.js';
import { JsonScanner, JsonSyntaxError } from '../text/json/scanner.js';
import { findInvalidUtf8, lineAndColumn, stripByteOrderMark } from '../text/utf8.js';
import { type FileSegment, type Item, normalizeMediaType } from './item.js';

const QUOTE = 0x22;

/** JSON text, or a file that is inserted between such texts. */
export type Segment = Uint8Array | FileSegment;

/** Returns what the value of an item is. */
export function segmentOf(item: Item): Segment {
  if (item.type === 'file') return item;
  return Buffer.from(item.type === 'json' ? item.text : JSON.stringify(item.text));
}

/** Problems that are listed at most. */
const MAX_PROBLEMS = 20;

/** Documents that one run can have: each is opened before anything is sent, and more suggest an error. */
const MAX_DOCUMENTS = 10_000;

/** Functions that describe the problems of one file: finding the position of each takes as long as the file. */
type Problems = (() => string)[];

/** Describes the first problems, and says how many follow. */
function describeFirst(problems: Problems): string[] {
  const more = problems.length - MAX_PROBLEMS;
  const first = problems.slice(0, MAX_PROBLEMS).map((describe) => describe());
  return more > 0 ? [...first, `has ${more} more mistakes`] : first;
}

/**
 * Parses the inputs of a JSON object (UTF-8, with or without byte order mark). Throws TextError for another file, whose
 * inputs are unknown.
 */
export function parseInputsFile(file: Buffer) {
  const bytes = stripByteOrderMark(file);
  checkJson(bytes);
  const members = parseMembers(bytes);
  if (members === undefined) throw new TextError('is not a JSON object; expected {"name": value, ...}');
  const seen = new Set<string>();
  const problems: Problems = [];
  const inputs = members.map(({ name, value }) => {
    if (seen.has(name)) problems.push(() => `duplicate name ${JSON.stringify(name)}; remove one of the two`);
    seen.add(name);
    const before = problems.length;
    const segments = splitAtDocuments(asBuffer(value), bytes, problems);
    // Without the documents that are not valid.
    return { name, segments, isValid: problems.length === before };
  });
  const documents = inputs.flatMap(({ segments }) =>
    segments.filter((part) => !(part instanceof Uint8Array)),
  );
  if (documents.length > MAX_DOCUMENTS)
    throw new TextError(`names ${documents.length} documents; at most ${MAX_DOCUMENTS} can be sent`);
  return { inputs, problems: describeFirst(problems) };
}

/**
 * Returns a problem for each object of an inputs file that stands for a document, at any depth: it could name any file.
 * Throws TextError for a file that is not JSON.
 */
export function findDocumentObjects(file: Buffer): readonly string[] {
  const problems: Problems = [];
  decodeUtf8(file);
  const bytes = stripByteOrderMark(file);
  checkJson(bytes);
  const scanner = new JsonScanner(bytes);
  while (scanner.next()) {
    if (scanner.token !== 'key') continue;
    if (decodeString(bytes.subarray(scanner.start, scanner.end)) !== '$document') continue;
    const { start } = scanner;
    problems.push(
      () =>
        `"$document" ${formatPosition(bytes, start)} is not allowed with --no-documents; give the document as an input, such as name@path`,
    );
  }
  return describeFirst(problems);
}

/** Splits a value at the objects that stand for documents, at any depth. */
function splitAtDocuments(value: Buffer, file: Buffer, problems: Problems): Segment[] {
  const segments: Segment[] = [];
  const open: { start: number; isDocument: boolean }[] = [];
  /** How many of them stand for a document. */
  let openDocuments = 0;
  const scanner = new JsonScanner(value);
  let position = 0;
  while (scanner.next()) {
    const token = scanner.token;
    if (token === '{' || token === '[') {
      open.push({ start: scanner.start, isDocument: false });
    } else if (token === 'key') {
      const parent = open.at(-1);
      const isDocument = decodeString(value.subarray(scanner.start, scanner.end)) === '$document';
      if (parent === undefined || !isDocument || parent.isDocument) continue;
      parent.isDocument = true;
      openDocuments++;
    } else if (token === '}' || token === ']') {
      const closed = open.pop();
      // One within another is reported as a key of that.
      if (closed?.isDocument && --openDocuments === 0) {
        const { start } = closed;
        const offset = value.byteOffset - file.byteOffset + start;
        const document = parseDocument(value.subarray(start, scanner.end));
        segments.push(value.subarray(position, start));
        if (typeof document === 'string')
          problems.push(
            () => `the document ${formatPosition(file, offset)} ${document}; ${EXPECTED_DOCUMENT}`,
          );
        else segments.push(document);
        position = scanner.end;
      }
    }
  }
  return [...segments, value.subarray(position)];
}

const EXPECTED_DOCUMENT =
  'expected {"$document": "path", "type": "type/subtype"}; "type" is needed only if the file name does not imply it';

/** Returns the document that an object stands for, or why it is not valid. */
function parseDocument(object: Uint8Array): FileSegment | string {
  const fields = new Map<string, string>();
  for (const { name, value } of parseMembers(object) ?? []) {
    const key = JSON.stringify(name);
    if (name !== '$document' && name !== 'type') return `has an unknown key ${key}`;
    if (value[0] !== QUOTE) return `has a ${key} that is not a string`;
    if (fields.has(name)) return `has ${key} twice`;
    fields.set(name, decodeString(value));
  }
  const path = fields.get('$document') ?? '';
  const type = fields.get('type');
  const mediaType = type === undefined ? undefined : normalizeMediaType(type);
  if (path === '') return 'has an empty path';
  if (type !== undefined && mediaType === undefined)
    return `has a "type" that is not a media type: "${type}"`;
  return { kind: 'document', path, mediaType };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The user's text is not valid; the message says where. */
export class TextError extends Error {}

/** Decodes UTF-8. Throws TextError with the position of the first invalid byte. */
export function decodeUtf8(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw new TextError(`not UTF-8 at byte ${findInvalidUtf8(bytes) + 1}`);
}

/** Checks that UTF-8 `bytes` are one JSON value whose strings are well-formed. Throws TextError with line and column. */
export function checkJson(bytes: Buffer): void {
  const scanner = new JsonScanner(bytes);
  try {
    while (scanner.next()) {
      if (scanner.token !== 'string' && scanner.token !== 'key') continue;
      if (!decodeString(bytes.subarray(scanner.start, scanner.end)).isWellFormed()) {
        throw new JsonSyntaxError('unpaired-surrogate', scanner.start);
      }
    }
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      throw new TextError(`${error.reason} ${formatPosition(bytes, error.offset)}`);
    throw error;
  }
}

/** Returns a position as messages show it: `at line 3, column 14`. */
function formatPosition(bytes: Buffer, offset: number): string {
  const { line, column } = lineAndColumn(bytes, offset);
  return `at line ${line}, column ${column}`;
}
