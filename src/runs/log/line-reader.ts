/** Reads single lines of a file, most of them near the one before. */
import { type FileHandle, open } from 'node:fs/promises';

/** Bytes that are read at once; a line may be longer. */
const WINDOW_SIZE = 32 * 1024;
const LINE_FEED = 0x0a;

export class LineReader {
  #window = Buffer.alloc(0);
  #start = 0;

  private constructor(
    private readonly file: FileHandle,
    readonly path: string,
  ) {}

  /** Opens a file. Throws the system's error. */
  static async open(path: string): Promise<LineReader> {
    return new LineReader(await open(path, 'r'), path);
  }

  /** Returns the line that begins at an offset, without its line feed. Throws the system's error. */
  async read(offset: number): Promise<Buffer> {
    const start = offset - this.#start;
    const feed = start < 0 ? -1 : this.#window.indexOf(LINE_FEED, start);
    return feed < 0 ? this.#load(offset, WINDOW_SIZE) : this.#window.subarray(start, feed);
  }

  async close(): Promise<void> {
    await this.file.close();
  }

  /** Reads a window from an offset on, of twice the size until the line fits. */
  async #load(offset: number, size: number): Promise<Buffer> {
    const { buffer, bytesRead } = await this.file.read(Buffer.allocUnsafe(size), 0, size, offset);
    this.#window = buffer.subarray(0, bytesRead);
    this.#start = offset;
    const feed = this.#window.indexOf(LINE_FEED);
    if (feed >= 0) return this.#window.subarray(0, feed);
    return bytesRead < size ? this.#window : this.#load(offset, size * 2);
  }
}
