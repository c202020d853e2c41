/** Formats the service's JSON token for token: only white space changes, and unsafe code points are escaped. */

import { escapeCodePoint, isUnsafe } from '../sanitize.js';
import { JsonScanner } from './scanner.js';

const CHUNK_SIZE = 64 * 1024;

/** Formats a JSON text (UTF-8) with an indentation of two spaces and a line feed at the end; yields chunks. */
export function* formatJson(bytes: Uint8Array): Generator<Buffer, void, void> {
  yield* format(bytes, {
    line: (depth) => `\n${'  '.repeat(Math.min(depth, MAX_INDENT))}`,
    colon: ': ',
  });
}

/** Formats a JSON text (UTF-8) on one line, with a line feed at the end; yields chunks. */
export function* compactJson(bytes: Uint8Array): Generator<Buffer, void, void> {
  yield* format(bytes, { line: () => '', colon: ':' });
}

/** Deeper levels are not indented further, or n levels would become n x n bytes. */
const MAX_INDENT = 64;

interface Whitespace {
  line(depth: number): string;
  colon: string;
}

function* format(bytes: Uint8Array, { line, colon }: Whitespace): Generator<Buffer, void, void> {
  const scanner = new JsonScanner(bytes);
  const writer = new ChunkWriter();
  let justOpened = false;
  while (scanner.next()) {
    const { token, depth } = scanner;
    const closes = token === '}' || token === ']';
    if (justOpened && !closes) writer.ascii(line(depth - (token === '{' || token === '[' ? 1 : 0)));
    if (closes && !justOpened) writer.ascii(line(depth));
    if (token === 'string' || token === 'key') {
      for (const piece of sanitizedPieces(bytes, scanner.start, scanner.end)) yield* writer.add(piece);
    } else if (token === ':') {
      writer.ascii(colon);
    } else {
      yield* writer.add(bytes.subarray(scanner.start, scanner.end));
      if (token === ',') writer.ascii(line(depth));
    }
    justOpened = token === '{' || token === '[';
  }
  writer.ascii('\n');
  yield writer.flush();
}

/** Yields a string token in pieces, with unsafe code points escaped. */
function* sanitizedPieces(bytes: Uint8Array, start: number, end: number): Generator<Uint8Array, void, void> {
  let position = start;
  for (let offset = start; offset < end; offset++) {
    const byte = bytes[offset] ?? 0;
    // Unsafe code points begin with one of these bytes.
    if (byte !== 0x23 && (byte < 0x7f || (byte > 0x7f && byte !== 0xc2 && byte !== 0xd8 && byte !== 0xe2)))
      continue;
    const unsafe = findUnsafe(bytes, offset);
    if (unsafe === undefined) continue;
    yield bytes.subarray(position, offset);
    yield Buffer.from(escapeCodePoint(unsafe.codePoint));
    position = offset + unsafe.length;
    offset = position - 1;
  }
  yield bytes.subarray(position, end);
}

/** Returns the unsafe code point whose UTF-8 begins at `offset`, or the second `#` of `##[`; undefined if there is none. */
function findUnsafe(bytes: Uint8Array, offset: number): { codePoint: number; length: number } | undefined {
  const [first = 0, second = 0, third = 0] = bytes.subarray(offset, offset + 3);
  if (first === 0x23) {
    return bytes[offset - 1] === 0x23 && second === 0x5b ? { codePoint: 0x23, length: 1 } : undefined;
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

/** Collects small writes into chunks, which are never reused. */
class ChunkWriter {
  #buffer = Buffer.allocUnsafe(CHUNK_SIZE);
  #used = 0;

  /** Writes a few bytes of white space or punctuation. */
  ascii(text: string): void {
    if (this.#used + text.length > this.#buffer.length) {
      this.#buffer = Buffer.concat([this.#buffer], this.#buffer.length + CHUNK_SIZE);
    }
    this.#used += this.#buffer.write(text, this.#used, 'latin1');
  }

  /** Writes bytes of any length, and yields the chunks that are full. */
  *add(bytes: Uint8Array): Generator<Buffer, void, void> {
    for (let from = 0; from < bytes.length; ) {
      if (this.#used >= CHUNK_SIZE) yield this.flush();
      const taken = bytes.subarray(from, from + CHUNK_SIZE - this.#used);
      this.#buffer.set(taken, this.#used);
      this.#used += taken.length;
      from += taken.length;
    }
  }

  /** Returns what was written since the last chunk. */
  flush(): Buffer {
    const chunk = this.#buffer.subarray(0, this.#used);
    this.#buffer = Buffer.allocUnsafe(CHUNK_SIZE);
    this.#used = 0;
    return chunk;
  }
}
