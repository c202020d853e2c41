/** Joins pieces of output, so that small ones do not become small writes. */

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
