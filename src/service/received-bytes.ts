/** Collects the bytes of a body in one buffer. */

/** From this size on, a buffer of unknown length grows in place: copied to a larger one, the bytes would be held twice. */
const LARGE = 8 * 1024 * 1024;

export class ReceivedBytes {
  #bytes: Uint8Array;
  #size = 0;

  /** `max` is the most bytes that are added; `expected` how many are, if that is known. */
  constructor(
    private readonly max: number,
    expected = 0,
  ) {
    this.#bytes = Buffer.allocUnsafeSlow(expected);
  }

  /** In bytes. */
  get size(): number {
    return this.#size;
  }

  add(chunk: Uint8Array): void {
    const size = this.#size + chunk.length;
    if (size > this.#bytes.length) this.#grow(Math.min(size + Math.min(size, LARGE), this.max));
    this.#bytes.set(chunk, this.#size);
    this.#size = size;
  }

  /** Returns a copy of the first bytes. */
  start(length: number): Buffer {
    return Buffer.from(this.#bytes.subarray(0, Math.min(length, this.#size)));
  }

  /** Returns all bytes, and lets go of them. */
  take(): Buffer {
    const { buffer } = this.#bytes;
    const isResizable = buffer instanceof ArrayBuffer && buffer.resizable;
    const taken = isResizable ? this.#move(buffer) : Buffer.from(buffer, 0, this.#size);
    this.#bytes = Buffer.alloc(0);
    return taken;
  }

  #grow(length: number): void {
    const { buffer } = this.#bytes;
    if (buffer instanceof ArrayBuffer && buffer.resizable) return buffer.resize(length);
    const received = this.#bytes.subarray(0, this.#size);
    this.#bytes =
      length < LARGE
        ? Buffer.allocUnsafeSlow(length)
        : new Uint8Array(new ArrayBuffer(length, { maxByteLength: this.max }));
    this.#bytes.set(received);
  }

  /** Moves the bytes to a buffer of a fixed length, which is faster to read, from the end on, so that none is held twice. */
  #move(buffer: ArrayBuffer): Buffer {
    const moved = Buffer.allocUnsafeSlow(this.#size);
    for (let end = this.#size; end > 0; buffer.resize(end)) {
      const start = Math.max(0, end - LARGE);
      moved.set(new Uint8Array(buffer, start, end - start), start);
      end = start;
    }
    return moved;
  }
}
