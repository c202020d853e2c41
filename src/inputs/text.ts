/** Checks the text and JSON that users provide, and reports where they are invalid. */
import { isUtf8 } from 'node:buffer';
import { decodeString } from '../text/json/members.js';
import { lineAndColumn } from '../text/json/positions.js';
import { JsonScanner, JsonSyntaxError } from '../text/json/scanner.js';
import { findInvalidUtf8 } from '../text/utf8.js';

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
export function formatPosition(bytes: Buffer, offset: number): string {
  const { line, column } = lineAndColumn(bytes, offset);
  return `at line ${line}, column ${column}`;
}
