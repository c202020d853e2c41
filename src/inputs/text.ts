/** Text and JSON that the user gave: whether it is what it should be, and where it is not. */
import { isUtf8 } from 'node:buffer';
import { decodeString } from '../json/members.js';
import { JsonScanner, JsonSyntaxError } from '../json/scanner.js';

/** The user's text is not UTF-8 or not JSON; the message says where. */
export class TextError extends Error {}

/** Decodes UTF-8. Throws TextError naming the first byte that is not. */
export function decodeUtf8(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  if (isUtf8(bytes)) return text;
  for (let at = text.indexOf('\uFFFD'); at >= 0; at = text.indexOf('\uFFFD', at + 1)) {
    const offset = Buffer.byteLength(text.slice(0, at));
    // A replacement character that stands in the file itself is text like any other.
    if (bytes.readUIntBE(offset, Math.min(3, bytes.length - offset)) !== 0xefbfbd) {
      throw new TextError(`not UTF-8 at byte ${offset + 1}`);
    }
  }
  throw new TextError('not UTF-8');
}

/** Checks that UTF-8 `bytes` are one JSON value whose strings are well-formed. Throws TextError with line and column. */
export function checkJson(bytes: Buffer): void {
  const scanner = new JsonScanner(bytes);
  try {
    while (scanner.next()) {
      if (scanner.token !== 'string' && scanner.token !== 'key') continue;
      if (!decodeString(bytes.subarray(scanner.start, scanner.end)).isWellFormed()) {
        throw new JsonSyntaxError('half of a surrogate pair, which is no text,', scanner.start);
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
  const before = bytes.subarray(0, offset).toString('utf8');
  const lines = before.split('\n');
  return `at line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
}
