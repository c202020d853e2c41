/**
 * The writer of a batch's results: one JSON line per event, append-only. A later call resumes from these lines, so an
 * event is written before it takes effect: a row is `sent` on disk before its request is complete.
 */
import { OutputError } from '../../errors.js';
import type { Output } from '../../platform/output.js';
import { compactJson } from '../../text/json/format-json.js';
import { sanitizeJson } from '../../text/sanitize.js';
import type { RecordedInputs } from './common-inputs.js';
import type { OwnedFile } from './owned-file.js';

/** An event of a row or of the batch; its line also has the time. */
export type BatchEvent =
  /** `salt` is set in the file of `run --once`: the key of its digests, 32 hexadecimal digits. */
  | {
      event: 'batch';
      workflow: string;
      baseUrl: string;
      shard: string;
      inputs?: RecordedInputs;
      salt?: string;
    }
  /** `label` identifies the row in messages; `inputs` are the names of its inputs, unless they are invalid. */
  | { event: 'intent'; row: number; label: string; digest: string; inputs?: readonly string[] }
  /** `inputs` has the digest of each input, in the file of `run --once`. */
  | { event: 'sent'; row: number; inputs?: Readonly<Record<string, string>> }
  /** A run may have been created: why its id is not known. */
  | { event: 'unknown'; row: number; reason: string; requestId?: string }
  | { event: 'accepted'; row: number; id: string }
  /** No run was created; `exit` is the exit code for the reason. */
  | { event: 'refused'; row: number; exit: number; reason: string; requestId?: string }
  /** The service no longer knows the run of an accepted row (404). */
  | { event: 'lost'; row: number }
  /** `run` is the service's JSON, unchanged, on one line. */
  | { event: 'ended'; row: number; run: Iterable<Uint8Array> }
  /** All rows of the shard were begun; the whole table has this many rows. */
  | { event: 'table'; rows: number }
  /** The batch stopped before that; the whole table has this many rows. */
  | { event: 'stopped'; rows: number };

/** Writes events to a file or to stdout, in the order of the calls. */
export interface Journal {
  /** Queues an event, and returns at once. */
  append(event: BatchEvent): void;
  /** Resolves when the event is on disk. Throws OutputError. */
  commit(event: BatchEvent): Promise<void>;
  /** Aborts with an OutputError when nothing more can be written, even if no event is pending. */
  readonly failed: AbortSignal;
  /** Resolves when all events are written. Throws OutputError. */
  close(): Promise<void>;
}

interface QueuedEvent {
  bytes: Uint8Array[];
  /** Set if somebody waits until the event is on disk. */
  waiter?: { resolve(): void; reject(error: unknown): void };
}

/** A journal in a file. Events that arrive during a write are written together, with one fsync. */
export class FileJournal implements Journal {
  readonly #file: OwnedFile;
  readonly #now: () => number;
  #queue: QueuedEvent[] = [];
  #writing: Promise<void> | undefined;

  constructor(file: OwnedFile, now: () => number) {
    this.#file = file;
    this.#now = now;
  }

  get failed(): AbortSignal {
    return this.#file.failed;
  }

  append(event: BatchEvent): void {
    this.#queue.push({ bytes: this.#format(event) });
    this.#flush();
  }

  commit(event: BatchEvent): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ bytes: this.#format(event), waiter: { resolve, reject } });
      this.#flush();
    });
  }

  async close(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    await this.#file.close();
  }

  #format(event: BatchEvent): Uint8Array[] {
    return formatEvent(event, this.#now(), this.#file.token);
  }

  #flush(): void {
    this.#writing ??= this.#writeQueue().finally(() => {
      this.#writing = undefined;
      if (this.#queue.length > 0) this.#flush();
    });
  }

  async #writeQueue(): Promise<void> {
    // Events of the same turn of the event loop share one write.
    await undefined;
    while (this.#queue.length > 0) {
      const queue = this.#queue;
      this.#queue = [];
      const isDurable = queue.some(({ waiter }) => waiter !== undefined);
      try {
        await this.#file.append(Buffer.concat(queue.flatMap(({ bytes }) => bytes)), isDurable);
        for (const { waiter } of queue) waiter?.resolve();
      } catch (error) {
        for (const { waiter } of queue) waiter?.reject(error);
      }
    }
  }
}

/** A journal on stdout, or discarded without an output: it cannot be resumed. `commit` resolves once written. */
export class OutputJournal implements Journal {
  readonly #output: Output | undefined;
  readonly #now: () => number;
  /** Never aborts: a failed write rejects the `commit` of its row. */
  readonly failed = new AbortController().signal;
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(output: Output | undefined, now: () => number) {
    this.#output = output;
    this.#now = now;
  }

  append(event: BatchEvent): void {
    void this.commit(event).catch(() => {});
  }

  commit(event: BatchEvent): Promise<void> {
    const bytes = Buffer.concat(formatEvent(event, this.#now()));
    const write = this.#lastWrite.then(() => this.#write(bytes));
    this.#lastWrite = write.catch(() => {});
    return write;
  }

  async close(): Promise<void> {
    await this.#lastWrite;
    await this.#output?.write('');
  }

  /** Throws OutputError once the reader is gone: without a record of it, no further row may be sent. */
  async #write(bytes: Uint8Array): Promise<void> {
    const output = this.#output;
    if (output === undefined) return;
    for (const chunk of compactJson(bytes)) await output.write(chunk);
    if (output.isClosed)
      throw new OutputError(new Error('its reader has gone away'), 'the results to stdout');
  }
}

/** Returns the line of an event; `by` is the token of the process that owns the file. */
export function formatEvent(event: BatchEvent, now: number, by?: string): Uint8Array[] {
  const metadata = { ...(by !== undefined && { by }), time: new Date(now).toISOString() };
  if (event.event !== 'ended') return [Buffer.from(`${sanitizeJson({ ...event, ...metadata })}\n`)];
  const { run, ...rest } = event;
  const head = sanitizeJson({ ...rest, ...metadata }).slice(0, -1);
  // The run's line feed is dropped: ours follows the closing brace.
  const text = Buffer.concat([...run]);
  return [Buffer.from(`${head},"run":`), text.subarray(0, text.lastIndexOf(0x0a)), Buffer.from('}\n')];
}
