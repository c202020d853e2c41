/** A journal that nothing can be gone on from. */
import type { Output } from '../output.js';
import { type BatchEvent, type Journal, lineOf } from './journal.js';

/** Events as lines on an output, or nowhere; they are said to be on the disk once they are written. */
export class OutputJournal implements Journal {
  readonly #output: Output | undefined;
  readonly #now: () => number;
  #turn: Promise<void> = Promise.resolve();

  constructor(output: Output | undefined, now: () => number) {
    this.#output = output;
    this.#now = now;
  }

  append(event: BatchEvent): void {
    void this.commit(event).catch(() => {});
  }

  commit(event: BatchEvent): Promise<void> {
    const bytes = Buffer.concat(lineOf(event, this.#now()));
    const written = this.#turn.then(() => this.#output?.write(bytes));
    this.#turn = written.catch(() => {});
    return written;
  }

  async close(): Promise<void> {
    await this.#turn;
    await this.#output?.write('');
  }
}
