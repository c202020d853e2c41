/** Collects the chunks of a body, in memory that depends on their bytes alone. */

/** Shorter chunks are copied into blocks: a service that sends single bytes would need a Buffer for each. */
const SHORT_CHUNK = 4 * 1024;
const BLOCK_SIZE = 64 * 1024;

export class ReceivedBytes {
  readonly #chunks: Buffer[] = [];
  /** The rest of the block that short chunks are copied into, and how much of it is used. */
  #block = Buffer.alloc(0);
  #used = 0;
  #size = 0;

  /** In bytes. */
  get size(): number {
    return this.#size;
  }

  add(chunk: Buffer): void {
    this.#size += chunk.length;
    if (chunk.length >= SHORT_CHUNK) {
      this.#flush();
      this.#chunks.push(chunk);
      return;
    }
    if (this.#used + chunk.length > this.#block.length) {
      this.#flush();
      this.#block = Buffer.allocUnsafe(BLOCK_SIZE);
    }
    this.#block.set(chunk, this.#used);
    this.#used += chunk.length;
  }

  /** Returns the first `length` bytes, by default all. */
  concat(length = this.#size): Buffer {
    this.#flush();
    return Buffer.concat(this.#chunks, Math.min(length, this.#size));
  }

  #flush(): void {
    if (this.#used > 0) this.#chunks.push(this.#block.subarray(0, this.#used));
    this.#block = this.#block.subarray(this.#used);
    this.#used = 0;
  }
}
