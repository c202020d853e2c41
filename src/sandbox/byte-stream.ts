/** The bytes of a request, one at a time or a run of them, whatever the chunks are. */
import { Rejection } from './received.js';

export class ByteStream {
  readonly #chunks: AsyncIterator<Buffer>;
  #chunk: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** The next byte, which stays; undefined at the end. */
  async peek(): Promise<number | undefined> {
    if (this.#at >= this.#chunk.length) await this.#more();
    return this.#chunk[this.#at];
  }

  /** The next byte. Throws Rejection at the end. */
  async take(): Promise<number> {
    const byte = await this.peek();
    if (byte === undefined) throw new Rejection(400, 'The body ends too early.');
    this.#at++;
    return byte;
  }

  /** At least one byte, up to the first that is `a` or `b` or the end of the chunk; none if that is the next one. */
  async takeUntil(a: number, b: number): Promise<Buffer> {
    if ((await this.peek()) === undefined)
      throw new Rejection(400, 'The body ends in the middle of a string.');
    const ends = [a, b].map((byte) => this.#chunk.indexOf(byte, this.#at)).filter((at) => at >= 0);
    const run = this.#chunk.subarray(this.#at, Math.min(...ends, this.#chunk.length));
    this.#at += run.length;
    return run;
  }

  /** A bracket, or what stands before the next bracket, comma or quote; of one chunk. Throws Rejection at the end. */
  async takeValuePiece(): Promise<Buffer> {
    if ((await this.peek()) === undefined) throw new Rejection(400, 'The body ends too early.');
    let end = this.#at;
    while (end < this.#chunk.length && !isStructural(this.#chunk[end])) end++;
    const piece = this.#chunk.subarray(this.#at, Math.max(end, this.#at + 1));
    this.#at += piece.length;
    return piece;
  }

  /** The next byte that is not white space, which stays. */
  async peekPastSpace(): Promise<number | undefined> {
    for (;;) {
      const byte = await this.peek();
      if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return byte;
      this.#at++;
    }
  }

  async #more(): Promise<void> {
    do {
      const { done, value } = await this.#chunks.next();
      if (done) return;
      this.#chunk = value;
      this.#at = 0;
    } while (this.#chunk.length === 0);
  }
}

/** Brackets, commas and quotes: what a value is divided by. */
function isStructural(byte: number | undefined): boolean {
  return byte === 0x22 || byte === 0x2c || byte === 0x5b || byte === 0x5d || byte === 0x7b || byte === 0x7d;
}
