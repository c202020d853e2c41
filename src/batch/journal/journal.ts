/**
 * The results file of a batch: one JSON line for each event, appended, never changed. It is what the user reads and what a
 * later call goes on from, so it is always ahead of what it is about: a row is *sent* on the disk before its request is
 * complete.
 */
import type { OwnedFile } from './owned-file.js';

/** What happened to a row, or to the batch; written with the time at which it did. */
export type BatchEvent =
  | { event: 'batch'; workflow: string; baseUrl: string; shard: string }
  /** `label` names the row for people: `rows.csv:12`, or the path of its file. */
  | { event: 'intent'; row: number; label: string; digest: string }
  | { event: 'sent'; row: number }
  | { event: 'accepted'; row: number; id: string }
  /** No run was created; `exit` is the exit code that says why. */
  | { event: 'refused'; row: number; exit: number; reason: string }
  /** The service no longer knows the run of an accepted row. */
  | { event: 'lost'; row: number }
  /** `run` is the service's own JSON, on one line. */
  | { event: 'ended'; row: number; run: Iterable<Uint8Array> }
  /** The table has been read to its end. */
  | { event: 'table'; rows: number };

/** What the events are written to: a file, or stdout. */
export interface Journal {
  /** Writes an event, in its turn, and soon. */
  append(event: BatchEvent): void;
  /** Resolves once the event is on the disk. Throws OutputError. */
  commit(event: BatchEvent): Promise<void>;
  /** Aborts with an OutputError when nothing more can be written, also between two events. */
  readonly failed: AbortSignal;
  /** Resolves once all events are written. Throws OutputError. */
  close(): Promise<void>;
}

interface Queued {
  bytes: Uint8Array[];
  onDisk?: { resolve(): void; reject(error: unknown): void };
}

/** Events that come while others are being written are written together, with one fsync for all that ask for it. */
export class FileJournal implements Journal {
  readonly #file: OwnedFile;
  readonly #now: () => number;
  #queue: Queued[] = [];
  #writing: Promise<void> | undefined;

  constructor(file: OwnedFile, now: () => number) {
    this.#file = file;
    this.#now = now;
  }

  get failed(): AbortSignal {
    return this.#file.failed;
  }

  append(event: BatchEvent): void {
    this.#queue.push({ bytes: this.#lineOf(event) });
    this.#start();
  }

  commit(event: BatchEvent): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ bytes: this.#lineOf(event), onDisk: { resolve, reject } });
      this.#start();
    });
  }

  async close(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    await this.#file.close();
  }

  #lineOf(event: BatchEvent): Uint8Array[] {
    return formatEvent(event, this.#now(), this.#file.token);
  }

  #start(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      if (this.#queue.length > 0) this.#start();
    });
  }

  async #writeAll(): Promise<void> {
    // What else comes in this turn of the event loop goes along.
    await undefined;
    while (this.#queue.length > 0) {
      const queue = this.#queue;
      this.#queue = [];
      const isWaitedFor = queue.some(({ onDisk }) => onDisk !== undefined);
      try {
        await this.#file.append(Buffer.concat(queue.flatMap(({ bytes }) => bytes)), isWaitedFor);
        for (const { onDisk } of queue) onDisk?.resolve();
      } catch (error) {
        for (const { onDisk } of queue) onDisk?.reject(error);
      }
    }
  }
}

/** One line of a results file; `by` is the token of the process that owns the file. */
export function formatEvent(event: BatchEvent, now: number, by?: string): Uint8Array[] {
  const written = { ...(by !== undefined && { by }), time: new Date(now).toISOString() };
  if (event.event !== 'ended') return [Buffer.from(`${JSON.stringify({ ...event, ...written })}\n`)];
  const { run, ...rest } = event;
  const head = JSON.stringify({ ...rest, ...written }).slice(0, -1);
  // The text of a run on one line ends with a line feed, which belongs behind our brace.
  const text = Buffer.concat([...run]);
  return [Buffer.from(`${head},"run":`), text.subarray(0, text.lastIndexOf(0x0a)), Buffer.from('}\n')];
}
