/** Reads the bytes of a request across chunk boundaries, one at a time or in slices of a chunk. */
import { Rejection } from './received.js';

export class ByteStream {
  readonly #chunks: AsyncIterator<Buffer>;
  #chunk: Buffer = Buffer.alloc(0);
  #offset = 0;

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Returns the next byte without consuming it; undefined at the end. */
  async peek(): Promise<number | undefined> {
    if (this.#offset >= this.#chunk.length) await this.#readChunk();
    return this.#chunk[this.#offset];
  }

  /** Consumes the next byte. Throws Rejection at the end. */
  async take(): Promise<number> {
    const byte = await this.peek();
    if (byte === undefined) throw new Rejection(400, 'The body ends too early.');
    this.#offset++;
    return byte;
  }

  /**
   * Consumes the bytes of this chunk before the first `a` or `b`; none if the next byte is one of them. Throws Rejection
   * at the end.
   */
  async takeUntil(a: number, b: number): Promise<Buffer> {
    if ((await this.peek()) === undefined)
      throw new Rejection(400, 'The body ends in the middle of a string.');
    const ends = [a, b].map((byte) => this.#chunk.indexOf(byte, this.#offset)).filter((at) => at >= 0);
    const slice = this.#chunk.subarray(this.#offset, Math.min(...ends, this.#chunk.length));
    this.#offset += slice.length;
    return slice;
  }

  /** Consumes one structural byte, or the bytes of this chunk before the next one. Throws Rejection at the end. */
  async takeValuePiece(): Promise<Buffer> {
    if ((await this.peek()) === undefined) throw new Rejection(400, 'The body ends too early.');
    let end = this.#offset;
    while (end < this.#chunk.length && !isStructural(this.#chunk[end])) end++;
    const piece = this.#chunk.subarray(this.#offset, Math.max(end, this.#offset + 1));
    this.#offset += piece.length;
    return piece;
  }

  /** Skips white space and returns the next byte without consuming it. */
  async peekPastSpace(): Promise<number | undefined> {
    for (;;) {
      const byte = await this.peek();
      if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return byte;
      this.#offset++;
    }
  }

  async #readChunk(): Promise<void> {
    do {
      const { done, value } = await this.#chunks.next();
      if (done) return;
      this.#chunk = value;
      this.#offset = 0;
    } while (this.#chunk.length === 0);
  }
}

/** Whether a byte is a bracket, comma or quote of JSON. */
function isStructural(byte: number | undefined): boolean {
  return byte === 0x22 || byte === 0x2c || byte === 0x5b || byte === 0x5d || byte === 0x7b || byte === 0x7d;
}
