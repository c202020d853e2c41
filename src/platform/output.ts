/** Our two output streams. */
import { OutputError } from '../errors.js';

type OutputStream = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

/**
 * One of our two output streams. A reader that has gone away (EPIPE) is no error: what follows is dropped. Any other
 * failure is, on stdout, an OutputError; on stderr it is ignored, for a run matters more than the talk about it.
 */
export class Output {
  #gone = false;
  #failure: Error | undefined;

  constructor(
    readonly stream: OutputStream,
    readonly isRequired: boolean,
  ) {
    stream.on('error', (error: NodeJS.ErrnoException) => this.#fail(error));
  }

  /** Whether its reader has gone away, so that what is written is dropped. */
  get isClosed(): boolean {
    return this.#gone;
  }

  get isTerminal(): boolean {
    return this.stream.isTTY === true;
  }

  /** Columns of the terminal; 0 where it has no size. */
  get columns(): number {
    return this.stream.columns ?? 0;
  }

  /** Resolves once the system has taken all of `chunk`. Throws OutputError. */
  async write(chunk: string | Uint8Array): Promise<void> {
    if (!this.#gone) {
      await new Promise<void>((resolve) => {
        this.stream.write(chunk, (error) => {
          if (error) this.#fail(error);
          resolve();
        });
      });
    }
    if (this.#failure !== undefined && this.isRequired) throw new OutputError(this.#failure);
  }

  #fail(error: NodeJS.ErrnoException): void {
    this.#gone = true;
    if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') this.#failure ??= error;
  }
}
