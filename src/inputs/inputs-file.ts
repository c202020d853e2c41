/** The values of inputs before their files are read: those of items, and of a JSON object with `{"$document": "scan.pdf"}`. */

import { isUtf8 } from 'node:buffer';
import { InputError, throwUnless } from '../errors.js';
import { describeDuplicate } from '../text/json/json-file.js';
import { decodeString, parseMembers, wellFormedString } from '../text/json/members.js';
import { JsonScanner, JsonSyntaxError, QUOTE } from '../text/json/scanner.js';
import { findInvalidUtf8, lineAndColumn, stripByteOrderMark } from '../text/utf8.js';
import type { FileKind } from './file-digests.js';
import { escapeName, type Item, normalizeMediaType } from './item.js';

/** A file whose content is a value, or a part of one. */
export interface FileSegment {
  kind: FileKind;
  path: string;
  mediaType?: string | undefined;
}

/** JSON text, or a file that is inserted between such texts. */
export type Segment = Uint8Array | FileSegment;

const KINDS = { '@': 'document', '@=': 'text', '@:=': 'json' } as const;

/**
 * Returns the value of an item, which may be a cell, whose column decides its type. Throws InputError for a text that is not
 * JSON and must be.
 */
export function segmentOf({ name, separator, value, mediaType }: Item, isCell = false): Segment {
  if (separator === '=') return Buffer.from(JSON.stringify(value));
  if (separator !== ':=') return { kind: KINDS[separator], path: value, mediaType };
  const start = escapeName(name);
  const text = /^[\w.-]+$/.test(value) ? value : 'text';
  const fix = isCell ? `name the column ${start}` : `use ${start}=${text}; see wfr help inputs`;
  if (value.includes(',') && /^-?\d+([.,]\d{3})*[.,]\d+$/.test(value))
    throw new InputError(`not a number, which has a point and no comma; for text, ${fix}`);
  return checkJson(Buffer.from(value), `; for text, ${fix}`);
}

/** Documents that one run can have: each is opened before anything is sent, and more suggest an error. */
const MAX_DOCUMENTS = 10_000;

/**
 * Parses the inputs of a JSON object (UTF-8, with or without byte order mark). Throws InputError for its first mistake, such
 * as a document where none is allowed: it could name any file.
 */
export function parseInputsFile(file: Buffer, hasDocuments = true) {
  const bytes = checkJsonFile(file);
  const members = parseMembers(bytes);
  if (!members) throw new InputError('is not a JSON object; expected {"name": value, ...}');
  if (!hasDocuments) splitAtDocuments(bytes);
  const names = new Set<string>();
  let documents = 0;
  return members.map(([name, value]) => {
    if (names.has(name)) throw new InputError(describeDuplicate(name));
    names.add(name);
    const segments = splitAtDocuments(value);
    documents += (segments.length - 1) / 2;
    if (documents > MAX_DOCUMENTS)
      throw new InputError(`names more documents than can be sent (${MAX_DOCUMENTS})`);
    return { name, segments };
  });

  /** Splits a value at the objects that stand for documents, at any depth. */
  function splitAtDocuments(value: Uint8Array): Segment[] {
    const segments: Segment[] = [];
    const placeOf = (start: number) => formatPosition(bytes, value.byteOffset - bytes.byteOffset + start);
    /** By depth, where the object or array begins that is open. */
    const starts: number[] = [];
    let document: { start: number; depth: number } | undefined;
    let position = 0;
    const scanner = new JsonScanner(value);
    while (scanner.next()) {
      const { token, start, end, depth } = scanner;
      if (token === '{' || token === '[') starts[depth] = start;
      else if (token === 'key' && !document) {
        if (decodeString(scanner.text) !== '$document') continue;
        if (!hasDocuments)
          throw new InputError(
            `"$document" ${placeOf(start)} is not allowed with --no-documents; give the document as an input, such as name@path`,
          );
        document = { start: starts[depth] ?? 0, depth };
      } else if (document && depth < document.depth) {
        const parsed = parseDocument(value.subarray(document.start, end));
        if (!parsed)
          throw new InputError(
            `the document ${placeOf(document.start)} is not {"$document": "path", "type": "type/subtype"}; "type" is needed only if the file name does not imply it`,
          );
        segments.push(value.subarray(position, document.start), parsed);
        position = end;
        document = undefined;
      }
    }
    return [...segments, value.subarray(position)];
  }
}

/** Returns the document that an object stands for; undefined if it is not valid. */
function parseDocument(object: Uint8Array): FileSegment | undefined {
  const fields = new Map<string, string>();
  for (const [name, value] of parseMembers(object) ?? []) {
    const isKnown = name === '$document' || name === 'type';
    if (!isKnown || value[0] !== QUOTE || fields.has(name)) return undefined;
    fields.set(name, decodeString(value));
  }
  const path = fields.get('$document');
  const type = fields.get('type');
  const mediaType = normalizeMediaType(type ?? '');
  const isTypeValid = type === undefined || mediaType !== undefined;
  return path && isTypeValid ? { kind: 'document', path, mediaType } : undefined;
}

/** Decodes UTF-8. Throws InputError with the position of the first invalid byte. */
export function decodeUtf8(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  throw new InputError(`not UTF-8 at byte ${findInvalidUtf8(bytes) + 1}`);
}

/** Returns the JSON of a file (UTF-8, with or without byte order mark). Throws InputError as decodeUtf8 and checkJson. */
export function checkJsonFile(file: Buffer): Buffer {
  decodeUtf8(file);
  return checkJson(stripByteOrderMark(file));
}

/** Returns UTF-8 bytes that are one JSON value whose strings are well-formed. Throws InputError with line, column and `hint`. */
function checkJson(bytes: Buffer, hint = ''): Buffer {
  const scanner = new JsonScanner(bytes);
  try {
    while (scanner.next()) wellFormedString(scanner);
    return bytes;
  } catch (error) {
    throwUnless(error, JsonSyntaxError);
    throw new InputError(`${error.reason} ${formatPosition(bytes, error.offset)}${hint}`);
  }
}

/** Returns a position as messages show it: `at line 3, column 14`, or `at character 14` of the only line, which may be a cell. */
function formatPosition(bytes: Buffer, offset: number): string {
  const { line, column } = lineAndColumn(bytes, offset);
  return bytes.includes('\n') ? `at line ${line}, column ${column}` : `at character ${column}`;
}
