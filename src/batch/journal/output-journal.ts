/** A journal that nothing can be gone on from. */

import { OutputError } from '../../errors.js';
import type { Output } from '../../platform/output.js';
import { compactJson } from '../../text/json/format-json.js';
import { type BatchEvent, formatEvent, type Journal } from './journal.js';

/** Events as lines on an output, or nowhere; they are said to be on the disk once they are written. */
export class OutputJournal implements Journal {
  readonly #output: Output | undefined;
  readonly #now: () => number;
  /** Never aborts: what cannot be written shows in the row that it is about. */
  readonly failed = new AbortController().signal;
  #turn: Promise<void> = Promise.resolve();

  constructor(output: Output | undefined, now: () => number) {
    this.#output = output;
    this.#now = now;
  }

  append(event: BatchEvent): void {
    void this.commit(event).catch(() => {});
  }

  commit(event: BatchEvent): Promise<void> {
    const bytes = Buffer.concat(formatEvent(event, this.#now()));
    const written = this.#turn.then(() => this.#write(bytes));
    this.#turn = written.catch(() => {});
    return written;
  }

  async close(): Promise<void> {
    await this.#turn;
    await this.#output?.write('');
  }

  /** What nobody reads is not written down: without a reader, no further row may be sent. */
  async #write(bytes: Uint8Array): Promise<void> {
    const output = this.#output;
    if (output === undefined) return;
    for (const chunk of compactJson(bytes)) await output.write(chunk);
    if (output.isClosed)
      throw new OutputError(new Error('its reader has gone away'), 'the results to stdout');
  }
}
