/** stdout and stderr of the process, with their errors. */
import { fstatSync } from 'node:fs';
import { OutputError } from '../errors.js';
import type { SecretMask } from '../text/secret-mask.js';

type OutputStream = NodeJS.WritableStream & { isTTY?: boolean; columns?: number; rows?: number };

/** The codes of a pipe without a reader; Windows has EOF for a write that had begun. */
const CLOSED_CODES = ['EPIPE', 'EOF', 'ERR_STREAM_DESTROYED'];

/**
 * One of the two output streams. If its reader is gone, further output is discarded without an error. Any other
 * failure is an OutputError on stdout, and ignored on stderr: a run matters more than the messages about it.
 */
export class Output {
  #isClosed = false;
  #failure: Error | undefined;

  constructor(
    readonly stream: OutputStream,
    readonly isRequired: boolean,
    /** What must not appear in it. */
    private readonly secrets?: SecretMask,
  ) {
    stream.on('error', (error: NodeJS.ErrnoException) => this.#fail(error));
  }

  /** Whether its reader is gone or writing failed, so that further output is discarded. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isTerminal(): boolean {
    return this.stream.isTTY === true;
  }

  /** Whether it is a file, and so neither a terminal, a log nor another program. */
  get isFile(): boolean {
    const { fd } = this.stream as { fd?: unknown };
    return typeof fd === 'number' && fstatSync(fd).isFile();
  }

  /** The columns of the terminal; 0 if its size is unknown. */
  get columns(): number {
    return this.stream.columns ?? 0;
  }

  /** The rows of the terminal; 0 if its size is unknown. */
  get rows(): number {
    return this.stream.rows ?? 0;
  }

  /** Returns the text as `write` writes it, for what is written to the stream itself. */
  mask(text: string): string {
    return this.secrets?.mask(text) ?? text;
  }

  /** Resolves when all of `chunk` was handed to the system, without secrets. Throws OutputError. */
  async write(chunk: string | Uint8Array): Promise<void> {
    if (!this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.stream.write(typeof chunk === 'string' ? this.mask(chunk) : chunk, (error) => {
          if (error) this.#fail(error);
          resolve();
        });
      });
    }
    if (this.#failure !== undefined && this.isRequired) throw new OutputError(this.#failure);
  }

  #fail(error: NodeJS.ErrnoException): void {
    this.#isClosed = true;
    if (!CLOSED_CODES.includes(error.code ?? '')) this.#failure ??= error;
  }
}
