/**
 * The results file of a batch: one JSON line for each event, appended, never changed. It is what the user reads and what a
 * later call goes on from, so it is always ahead of what it is about: a row is *sent* on the disk before its request is
 * complete.
 */
import { promises } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { OutputError } from '../errors.js';

/** What happened to a row, or to the batch; written with the time at which it did. */
export type BatchEvent =
  | { event: 'batch'; workflow: string; baseUrl: string; shard: string }
  /** `place` is where the row stands, for people: `rows.csv:12`, or the path of its file. */
  | { event: 'intent'; row: number; place: string; digest: string }
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
  /** Resolves once all events are written. Throws OutputError. */
  close(): Promise<void>;
}

interface Queued {
  bytes: Uint8Array[];
  onDisk?: { resolve(): void; reject(error: unknown): void };
}

/** Events that come while others are being written are written together, with one fsync for all that ask for it. */
export class FileJournal implements Journal {
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #now: () => number;
  readonly #expectOurs: () => Promise<void>;
  #queue: Queued[] = [];
  #writing: Promise<void> | undefined;
  #failure: OutputError | undefined;

  private constructor(file: FileHandle, path: string, now: () => number, expectOurs: () => Promise<void>) {
    this.#expectOurs = expectOurs;
    this.#file = file;
    this.#path = path;
    this.#now = now;
  }

  /**
   * Opens the file to append to it; `expectOurs` is asked before anything that somebody waits for is written, and throws
   * where the file is another process's. Throws the system's error.
   */
  static async open(path: string, now: () => number, expectOurs: () => Promise<void>): Promise<FileJournal> {
    const file = await promises.open(path, 'a', 0o644);
    await syncFolder(dirname(path));
    return new FileJournal(file, path, now, expectOurs);
  }

  append(event: BatchEvent): void {
    this.#queue.push({ bytes: lineOf(event, this.#now()) });
    this.#start();
  }

  commit(event: BatchEvent): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ bytes: lineOf(event, this.#now()), onDisk: { resolve, reject } });
      this.#start();
    });
  }

  async close(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    // The ends and ids that nobody waited for.
    if (this.#failure === undefined) await this.#file.datasync().catch((error) => this.#fail(error));
    await this.#file.close();
    if (this.#failure !== undefined) throw this.#failure;
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
      try {
        // After one failure the file may end in half a line: nothing more may be written behind it.
        if (this.#failure !== undefined) throw this.#failure;
        const isWaitedFor = queue.some(({ onDisk }) => onDisk !== undefined);
        if (isWaitedFor) await this.#expectOurs();
        await this.#file.appendFile(Buffer.concat(queue.flatMap(({ bytes }) => bytes)));
        if (isWaitedFor) await this.#file.datasync();
        for (const { onDisk } of queue) onDisk?.resolve();
      } catch (error) {
        this.#fail(error);
        for (const { onDisk } of queue) onDisk?.reject(this.#failure);
      }
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= error instanceof OutputError ? error : new OutputError(error as Error, this.#path);
  }
}

/** Puts a new file's name on the disk, too; not every system can. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await promises.open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

/** One line of a results file. */
export function lineOf(event: BatchEvent, now: number): Uint8Array[] {
  const time = new Date(now).toISOString();
  if (event.event !== 'ended') return [Buffer.from(`${JSON.stringify({ ...event, time })}\n`)];
  const { run, ...rest } = event;
  const head = JSON.stringify({ ...rest, time }).slice(0, -1);
  // The text of a run on one line ends with a line feed, which belongs behind our brace.
  const text = Buffer.concat([...run]);
  return [Buffer.from(`${head},"run":`), text.subarray(0, text.lastIndexOf(0x0a)), Buffer.from('}\n')];
}
