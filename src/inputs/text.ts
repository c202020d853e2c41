/** Text and JSON that the user gave: whether it is what it should be, and where it is not. */
import { isUtf8 } from 'node:buffer';
import { decodeString } from '../text/json/members.js';
import { lineAndColumn } from '../text/json/positions.js';
import { JsonScanner, JsonSyntaxError } from '../text/json/scanner.js';

/** The user's text is not UTF-8 or not JSON; the message says where. */
export class TextError extends Error {}

/** Decodes UTF-8. Throws TextError naming the first byte that is not. */
export function decodeUtf8(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw new TextError(`not UTF-8 at byte ${firstNonUtf8(bytes) + 1}`);
}

/** The offset of the first byte that is not UTF-8, in bytes that are not all of it. */
export function firstNonUtf8(bytes: Buffer): number {
  const text = bytes.toString('utf8');
  for (let at = text.indexOf('\uFFFD'); at >= 0; at = text.indexOf('\uFFFD', at + 1)) {
    const offset = Buffer.byteLength(text.slice(0, at));
    // A replacement character that stands in the file itself is text like any other.
    if (bytes.readUIntBE(offset, Math.min(3, bytes.length - offset)) !== 0xefbfbd) return offset;
  }
  return 0;
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
      throw new TextError(`${error.reason} ${placeOf(bytes, error.offset)}`);
    throw error;
  }
}

/** `at line 3, column 14`; columns count characters. */
export function placeOf(bytes: Buffer, offset: number): string {
  const { line, column } = lineAndColumn(bytes, offset);
  return `at line ${line}, column ${column}`;
}
