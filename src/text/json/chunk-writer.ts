/** Joins pieces of output, so that small ones do not become small writes. */
import { escapeCodePoint } from '../sanitize.js';
import { decodedPieces } from './members.js';
import { endOfPlain, viewOf } from './scanner.js';

const CHUNK_SIZE = 64 * 1024;

/** Collects small writes into chunks, which are never reused. */
export class ChunkWriter {
  readonly #size: number;
  #buffer = Buffer.alloc(0);
  #used = 0;

  /** `expected` is about the number of bytes that are written in all: few bytes need no large chunk. */
  constructor(expected = CHUNK_SIZE) {
    this.#size = Math.min(expected, CHUNK_SIZE);
  }

  /** Writes a few bytes of white space or punctuation. */
  ascii(text: string): void {
    while (this.#used + text.length > this.#buffer.length) this.#grow();
    this.#used += this.#buffer.write(text, this.#used, 'latin1');
  }

  /** Writes bytes of any length, and yields the chunks that are full; what would fill one alone is not copied. */
  *add(bytes: Uint8Array): Generator<Buffer, void, void> {
    let from = 0;
    for (; bytes.length - from >= this.#size; from += this.#size) {
      if (this.#used > 0) yield this.flush();
      yield Buffer.from(bytes.buffer, bytes.byteOffset + from, this.#size);
    }
    while (from < bytes.length) {
      if (this.#used >= this.#size) yield this.flush();
      if (this.#buffer.length === 0) this.#grow();
      const taken = bytes.subarray(from, from + this.#size - this.#used);
      this.#buffer.set(taken, this.#used);
      this.#used += taken.length;
      from += taken.length;
    }
  }

  /** Returns what was written since the last chunk. */
  flush(): Buffer {
    const chunk = this.#buffer.subarray(0, this.#used);
    this.#buffer = Buffer.alloc(0);
    this.#used = 0;
    return chunk;
  }

  #grow(): void {
    const grown = Buffer.allocUnsafe(this.#buffer.length + this.#size);
    grown.set(this.#buffer.subarray(0, this.#used));
    this.#buffer = grown;
  }
}

/**
 * Yields the text of a JSON string token (UTF-8), with a line feed at the end. Control characters other than white space,
 * which a terminal would act on, become `\uXXXX`; returns whether there were any.
 */
export function* rawString(token: Uint8Array): Generator<Buffer, boolean, void> {
  const writer = new ChunkWriter();
  let hasEscapes = false;
  for (const piece of decodedPieces(token)) {
    const view = viewOf(piece);
    let start = 0;
    for (let offset = 0; offset < piece.length; offset++) {
      offset = endOfPlain(piece, view, offset, piece.length, FIRST_BYTES);
      const control = controlAt(piece, offset);
      if (control === undefined) continue;
      hasEscapes = true;
      yield* writer.add(piece.subarray(start, offset));
      writer.ascii(escapeCodePoint(control));
      if (control > 0x7f) offset++;
      start = offset + 1;
    }
    yield* writer.add(piece.subarray(start));
  }
  writer.ascii('\n');
  yield writer.flush();
  return hasEscapes;
}

/** 1 for the bytes that control characters begin with: C0 but white space, DEL and C1. */
const FIRST_BYTES = new Uint8Array(256).fill(1, 0, 0x20).fill(0, 0x09, 0x0e);
FIRST_BYTES[0x7f] = FIRST_BYTES[0xc2] = 1;

/** Returns the control character at an offset of UTF-8; undefined for any other one. */
function controlAt(bytes: Uint8Array, offset: number): number | undefined {
  const byte = bytes[offset] ?? 0x20;
  if (FIRST_BYTES[byte] === 0) return undefined;
  const codePoint = byte === 0xc2 ? (bytes[offset + 1] ?? 0) : byte;
  return codePoint <= 0x9f ? codePoint : undefined;
}
