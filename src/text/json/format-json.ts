/** The service's JSON, token for token: only the white space is ours, and dangerous code points become escapes. */

import { escapeCodePoint, isUnsafe } from '../sanitize.js';
import { JsonScanner } from './scanner.js';

const CHUNK_SIZE = 64 * 1024;

/** The JSON value in `bytes` (UTF-8) over several lines, two spaces a level, with a line feed at the end; in chunks. */
export function* formatJson(bytes: Uint8Array): Generator<Buffer, void, void> {
  yield* format(bytes, {
    line: (depth) => `\n${'  '.repeat(Math.min(depth, MAX_INDENT))}`,
    colon: ': ',
  });
}

/** The same on one line. */
export function* compactJson(bytes: Uint8Array): Generator<Buffer, void, void> {
  yield* format(bytes, { line: () => '', colon: ':' });
}

/** Deeper levels are not indented further: a text of n levels must not become one of n x n bytes. */
const MAX_INDENT = 64;

interface Whitespace {
  line(depth: number): string;
  colon: string;
}

function* format(bytes: Uint8Array, { line, colon }: Whitespace): Generator<Buffer, void, void> {
  const scanner = new JsonScanner(bytes);
  const out = new ChunkWriter();
  let justOpened = false;
  while (scanner.next()) {
    const { token, depth } = scanner;
    const closes = token === '}' || token === ']';
    if (justOpened && !closes) out.ascii(line(depth - (token === '{' || token === '[' ? 1 : 0)));
    if (closes && !justOpened) out.ascii(line(depth));
    if (token === 'string' || token === 'key') {
      for (const piece of sanitizedPieces(bytes, scanner.start, scanner.end)) yield* out.add(piece);
    } else if (token === ':') {
      out.ascii(colon);
    } else {
      yield* out.add(bytes.subarray(scanner.start, scanner.end));
      if (token === ',') out.ascii(line(depth));
    }
    justOpened = token === '{' || token === '[';
  }
  out.ascii('\n');
  yield out.rest();
}

/** A string token in pieces, with escapes in place of what is dangerous. */
function* sanitizedPieces(bytes: Uint8Array, start: number, end: number): Generator<Uint8Array, void, void> {
  let done = start;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte !== 0x23 && (byte < 0x7f || (byte > 0x7f && byte !== 0xc2 && byte !== 0xd8 && byte !== 0xe2)))
      continue;
    const found = findUnsafe(bytes, at);
    if (found === undefined) continue;
    yield bytes.subarray(done, at);
    yield Buffer.from(escapeCodePoint(found.codePoint));
    done = at + found.length;
    at = done - 1;
  }
  yield bytes.subarray(done, end);
}

/** The dangerous code point whose UTF-8 begins at `at`, or the second `#` of `##[`. */
function findUnsafe(bytes: Uint8Array, at: number): { codePoint: number; length: number } | undefined {
  const [first = 0, second = 0, third = 0] = bytes.subarray(at, at + 3);
  if (first === 0x23) {
    return bytes[at - 1] === 0x23 && second === 0x5b ? { codePoint: 0x23, length: 1 } : undefined;
  }
  const length = first === 0x7f ? 1 : first === 0xe2 ? 3 : 2;
  const codePoint =
    length === 1
      ? first
      : length === 2
        ? ((first & 0x1f) << 6) | (second & 0x3f)
        : ((first & 0x0f) << 12) | ((second & 0x3f) << 6) | (third & 0x3f);
  return isUnsafe(codePoint) ? { codePoint, length } : undefined;
}

/** Small writes gathered into chunks; a caller may keep a chunk. */
class ChunkWriter {
  #buffer = Buffer.allocUnsafe(CHUNK_SIZE);
  #used = 0;

  /** A few bytes of our own layout. */
  ascii(text: string): void {
    if (this.#used + text.length > this.#buffer.length) {
      this.#buffer = Buffer.concat([this.#buffer], this.#buffer.length + CHUNK_SIZE);
    }
    this.#used += this.#buffer.write(text, this.#used, 'latin1');
  }

  *add(bytes: Uint8Array): Generator<Buffer, void, void> {
    for (let from = 0; from < bytes.length; ) {
      if (this.#used >= CHUNK_SIZE) yield this.rest();
      const taken = bytes.subarray(from, from + CHUNK_SIZE - this.#used);
      this.#buffer.set(taken, this.#used);
      this.#used += taken.length;
      from += taken.length;
    }
  }

  rest(): Buffer {
    const full = this.#buffer.subarray(0, this.#used);
    this.#buffer = Buffer.allocUnsafe(CHUNK_SIZE);
    this.#used = 0;
    return full;
  }
}
