/** Joins pieces of output, so that small ones do not become small writes. */

const CHUNK_SIZE = 64 * 1024;

/** Collects small writes into chunks, which are never reused. */
export class ChunkWriter {
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
