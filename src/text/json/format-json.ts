/** Formats the service's JSON token for token: only white space changes, and unsafe code points are escaped. */

import { escapeCodePoint, isUnsafe } from '../sanitize.js';
import { ChunkWriter } from './chunk-writer.js';
import { JsonScanner, type JsonToken } from './scanner.js';

/** The control sequences that begin each kind of token, and the one that ends them all. Empty ones are not written. */
export interface JsonColors {
  key: string;
  string: string;
  number: string;
  boolean: string;
  null: string;
  punctuation: string;
  end: string;
}

/** Formats a JSON text (UTF-8) with an indentation of two spaces and a line feed at the end; yields chunks. */
export function* formatJson(bytes: Uint8Array, colors?: JsonColors): Generator<Buffer, void, void> {
  yield* format(bytes, {
    line: (depth) => `\n${'  '.repeat(Math.min(depth, MAX_INDENT))}`,
    afterColon: ' ',
    colors,
  });
}

/** Formats a JSON text (UTF-8) on one line, with a line feed at the end; yields chunks. */
export function* compactJson(bytes: Uint8Array, colors?: JsonColors): Generator<Buffer, void, void> {
  yield* format(bytes, { line: () => '', afterColon: '', colors });
}

/** Deeper levels are not indented further, or n levels would become n x n bytes. */
const MAX_INDENT = 64;

interface JsonLayout {
  line(depth: number): string;
  afterColon: string;
  colors: JsonColors | undefined;
}

function* format(bytes: Uint8Array, { line, afterColon, colors }: JsonLayout): Generator<Buffer, void, void> {
  const scanner = new JsonScanner(bytes);
  // White space, colors and escapes may double the text.
  const writer = new ChunkWriter(2 * bytes.length + 64);
  let justOpened = false;
  while (scanner.next()) {
    const { token, depth } = scanner;
    const closes = token === '}' || token === ']';
    if (justOpened && !closes) writer.ascii(line(depth - (token === '{' || token === '[' ? 1 : 0)));
    if (closes && !justOpened) writer.ascii(line(depth));
    const color = colors === undefined ? '' : colorOf(token, bytes[scanner.start], colors);
    if (color !== '') writer.ascii(color);
    if (token === 'string' || token === 'key') {
      for (const piece of sanitizedPieces(bytes, scanner.start, scanner.end)) yield* writer.add(piece);
    } else {
      yield* writer.add(bytes.subarray(scanner.start, scanner.end));
    }
    if (color !== '') writer.ascii(colors?.end ?? '');
    if (token === ':') writer.ascii(afterColon);
    if (token === ',') writer.ascii(line(depth));
    justOpened = token === '{' || token === '[';
  }
  writer.ascii('\n');
  yield writer.flush();
}

function colorOf(token: JsonToken, firstByte: number | undefined, colors: JsonColors): string {
  if (token === 'key' || token === 'string' || token === 'number') return colors[token];
  if (token === 'literal') return firstByte === LETTER_N ? colors.null : colors.boolean;
  return colors.punctuation;
}

const LETTER_N = 0x6e;

/** Of unsafe code points from U+007F, such as U+00AD, U+034F, U+061C, U+115F, U+200B, U+3164, U+FEFF, U+1D173, U+E0001. */
const UNSAFE_FIRST_BYTES: ReadonlySet<number> = new Set([
  0x7f, 0xc2, 0xcd, 0xd8, 0xe1, 0xe2, 0xe3, 0xef, 0xf0, 0xf3,
]);

/** Yields a string token in pieces, with unsafe code points escaped. */
function* sanitizedPieces(bytes: Uint8Array, start: number, end: number): Generator<Uint8Array, void, void> {
  let position = start;
  for (let offset = start; offset < end; offset++) {
    const byte = bytes[offset] ?? 0;
    // Unsafe code points begin with one of these bytes.
    if (byte < 0x7f ? byte !== 0x23 : !UNSAFE_FIRST_BYTES.has(byte)) continue;
    const unsafe = findUnsafe(bytes, offset);
    if (unsafe === undefined) continue;
    yield bytes.subarray(position, offset);
    yield Buffer.from(escapeCodePoint(unsafe.codePoint));
    position = offset + unsafe.length;
    offset = position - 1;
  }
  yield bytes.subarray(position, end);
}

/**
 * Returns the unsafe code point whose UTF-8 begins at `offset`, or the second `#` of a log's command; undefined if there
 * is none.
 */
function findUnsafe(bytes: Uint8Array, offset: number): { codePoint: number; length: number } | undefined {
  const first = bytes[offset] ?? 0;
  if (first === 0x23) return isLogCommand(bytes, offset) ? { codePoint: 0x23, length: 1 } : undefined;
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // The first byte of n has 7 - n bits of the code point, every other one has 6.
  let codePoint = length === 1 ? first : first & (0x7f >> length);
  for (let index = 1; index < length; index++) {
    codePoint = (codePoint << 6) | ((bytes[offset + index] ?? 0) & 0x3f);
  }
  return isUnsafe(codePoint) ? { codePoint, length } : undefined;
}

/** Returns whether the `#` at `offset` is the second of `##[`, or of `##` before letters and `[`: see LOG_COMMAND. */
function isLogCommand(bytes: Uint8Array, offset: number): boolean {
  if (bytes[offset - 1] !== 0x23) return false;
  let end = offset + 1;
  while (isLetter(bytes[end] ?? 0)) end++;
  return bytes[end] === 0x5b;
}

const isLetter = (byte: number) => (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
