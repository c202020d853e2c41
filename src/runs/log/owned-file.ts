/**
 * The locked, append-only file behind a journal. After each write and every two seconds it checks that this process still
 * owns the file (lock.ts) and that the path still leads to it; otherwise nothing more is written.
 */
import { setMaxListeners } from 'node:events';
import { constants, promises } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BatchFileError } from '../../errors.js';
import { fileId } from '../../platform/files.js';
import { openTrusted } from '../../platform/ownership.js';
import { errorCode, OutputError } from '../../platform/system-error.js';
import { untilAborted } from '../../platform/until-aborted.js';
import { acquireLock, appendAtOnce, HEARTBEAT, type LockOptions, readBytes, readOwnership } from './lock.js';

const LINE_FEED = 0x0a;
const RESTORE = 'restore it before you run the command again, or rows will be sent twice';

export interface OwnedFileOptions extends LockOptions {
  /** As the user wrote it, for messages. */
  name: string;
  /** Ends the wait for the disk: what is being written then counts as not written. */
  giveUp: AbortSignal;
  /** The user that must have written the file: see Context.uid. */
  uid: number | undefined;
  /** Whether the file must exist already. */
  mustExist?: boolean;
}

const OPEN_EXISTING = constants.O_RDWR | constants.O_APPEND;

export class OwnedFile {
  readonly #failed = new AbortController();
  /** Aborts with an OutputError when nothing more can be written: the lock was lost, or the disk is full. */
  readonly failed = this.#failed.signal;
  #lastOperation: Promise<void> = Promise.resolve();
  /** What is appended next, and the operation that does it, unless that has begun. */
  readonly #lines: Uint8Array[] = [];
  #append: Promise<void> | undefined;
  #isClosed = false;
  #stopHeartbeat = () => {};

  private constructor(
    private readonly handle: FileHandle,
    private readonly options: OwnedFileOptions,
    /** Offset up to which lines appended by others were checked. */
    private end: number,
  ) {
    setMaxListeners(0, this.failed);
  }

  /** Opens or creates the file, and locks it. Throws JournalInUseError if another process owns it, and the system's error. */
  static async open(options: OwnedFileOptions): Promise<OwnedFile> {
    const handle = await openTrusted(
      options.path,
      options.mustExist ? OPEN_EXISTING : 'a+',
      0o600,
      options.uid,
    );
    try {
      const stats = await handle.stat({ bigint: true });
      if (!stats.isFile()) throw new BatchFileError('it is not a regular file');
      await syncDirectory(dirname(options.path));
      const end = await acquireLock(handle, fileId(stats), options);
      const file = new OwnedFile(handle, options, end);
      file.#scheduleHeartbeat();
      return file;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Identifies the lines of this owner. */
  get token(): string {
    return this.options.owner.token;
  }

  /** Reads the whole file. */
  read(): AsyncIterable<Buffer> {
    return readBytes(this.handle);
  }

  /**
   * Appends whole lines. Resolves when they are on disk and this process still owned the file afterwards. Those that arrive during a write are written together, with one fsync. Throws OutputError, and again on each
   * later call.
   */
  write(lines: readonly Uint8Array[]): Promise<void> {
    this.#lines.push(...lines);
    this.#append ??= this.#enqueue(() => this.#appendLines());
    return this.#append;
  }

  async #appendLines(): Promise<void> {
    const bytes = Buffer.concat(this.#lines.splice(0));
    this.#append = undefined;
    await appendAtOnce(this.handle, bytes);
    await this.handle.datasync();
    await this.#assertOurs(bytes);
  }

  /** Syncs the file to disk and releases the lock. Throws OutputError. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopHeartbeat();
    const time = new Date(this.options.clock.now()).toISOString();
    const line = `${JSON.stringify({ event: 'close', by: this.token, time })}\n`;
    try {
      await this.write([Buffer.from(line)]);
    } finally {
      await this.#unlessGivenUp(this.handle.close()).catch((error) => this.#fail(error));
    }
  }

  /** Settles like the work on the disk, or rejects when nobody waits for it any longer: the disk may never answer. */
  async #unlessGivenUp(work: Promise<void>): Promise<void> {
    const { giveUp } = this.options;
    await untilAborted(work, giveUp).catch((error) => {
      throw error === giveUp.reason ? new Error('the disk does not respond') : error;
    });
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#lastOperation.then(async () => {
      this.failed.throwIfAborted();
      await this.#unlessGivenUp(work()).catch((error) => this.#fail(error));
    });
    this.#lastOperation = done.catch(() => {});
    return done;
  }

  /** After a failure the file may end in an incomplete line or belong to another process: nothing more is written. */
  #fail(error: Error): never {
    this.#failed.abort(new OutputError(error, this.options.name));
    throw this.failed.reason;
  }

  #scheduleHeartbeat(): void {
    if (this.#isClosed) return;
    this.#stopHeartbeat = this.options.clock.after(HEARTBEAT, () => {
      // A failure aborts `failed`.
      this.#enqueue(() => this.#sendHeartbeat()).then(
        () => this.#scheduleHeartbeat(),
        () => {},
      );
    });
  }

  async #sendHeartbeat(): Promise<void> {
    const now = new Date(this.options.clock.now());
    // Write permission does not imply permission to set the times.
    await this.handle.utimes(now, now).catch(() => {});
    await this.#assertOurs(Buffer.alloc(0));
  }

  /** Throws if this process lost the file. `ownBytes` is what it has appended since the last check. */
  async #assertOurs(ownBytes: Uint8Array): Promise<void> {
    const opened = await this.handle.stat({ bigint: true });
    const atPath = await promises.stat(this.options.path, { bigint: true }).catch((error) => {
      const isMissing = errorCode(error) === 'ENOENT';
      throw isMissing ? new Error(`it was removed or renamed; ${RESTORE}`) : error;
    });
    if (fileId(opened) !== fileId(atPath)) throw new Error(`it was replaced by another file; ${RESTORE}`);
    const size = Number(opened.size);
    const expected = this.end + ownBytes.length;
    if (size < expected) throw new Error(`it was truncated by another program; ${RESTORE}`);
    if (size > expected) await this.#readAppended(size, ownBytes);
    else this.end = size;
  }

  /** Checks what others have appended before and after `ownBytes`. Throws if it is another owner. */
  async #readAppended(size: number, ownBytes: Uint8Array): Promise<void> {
    const region = Buffer.alloc(size - this.end);
    const { bytesRead } = await this.handle.read(region, 0, region.length, this.end);
    const appended = region.subarray(0, bytesRead);
    const at = appended.indexOf(ownBytes);
    // After another program's incomplete line, ours would be unreadable.
    if (at < 0 || (at > 0 && appended[at - 1] !== LINE_FEED))
      throw new Error('another program is writing to it');
    const { ownership, end } = await readOwnership(this.handle);
    if (ownership.isReplaced(this.token)) {
      const { owner } = ownership.claim ?? {};
      const other = owner === undefined ? 'another process' : `process ${owner.pid} on ${owner.host}`;
      throw new Error(`${other} has taken it over`);
    }
    // An incomplete line is checked once it is complete.
    this.end = end;
  }
}

/** Syncs the directory entry of a new file, where the system supports it. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await promises.open(path, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
