/**
 * A file that this process alone appends to. After each write, and every two seconds, it is checked that the file is
 * still ours (lock.ts) and still what its path leads to; if not, nothing more is written.
 */
import { setMaxListeners } from 'node:events';
import { type BigIntStats, promises } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BatchFileError, OutputError } from '../../errors.js';
import { describeSystemError, errorCode } from '../../platform/system-error.js';
import { acquireLock, type ByteRange, type LockOptions, parseLine, readBytes } from './lock.js';
import { isClaim, isOwnershipLine } from './ownership.js';

/** Heartbeat interval (ms). */
const HEARTBEAT = 2_000;
const LINE_FEED = 0x0a;
const RESTORE = 'put it back before you run the command again, or rows are sent twice';
const TORN = '{"event":"torn"}';

/** Where the file is, and who opens it. */
export interface OwnedFileOptions extends LockOptions {
  /** Absolute. */
  path: string;
  /** As the user wrote it. */
  name: string;
}

export class OwnedFile {
  readonly #handle: FileHandle;
  readonly #place: OwnedFileOptions;
  readonly #failed = new AbortController();
  /** Up to here, all that others have appended was read. */
  #end: number;
  #turn: Promise<void> = Promise.resolve();
  #isClosed = false;
  #stopHeartbeat = () => {};

  private constructor(handle: FileHandle, place: OwnedFileOptions, end: number) {
    this.#handle = handle;
    this.#place = place;
    this.#end = end;
    setMaxListeners(0, this.#failed.signal);
  }

  /** Opens or creates the file. Throws BatchFileError where another process has it, and the system's error. */
  static async open(place: OwnedFileOptions): Promise<OwnedFile> {
    const handle = await promises.open(place.path, 'a+', 0o644);
    try {
      const found = await handle.stat({ bigint: true });
      if (!found.isFile()) throw new BatchFileError('it is not a regular file');
      await syncDirectory(dirname(place.path));
      const { end, torn } = await acquireLock(handle, inodeKey(found), place);
      await repairTornLines(torn, found, place.path);
      const file = new OwnedFile(handle, place, end);
      file.#scheduleHeartbeat();
      return file;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Tells what this owner wrote from what others did. */
  get token(): string {
    return this.#place.owner.token;
  }

  /** Aborts with an OutputError when nothing more can be written: the file is not ours any more, or the disk is full. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  /** All bytes of the file. */
  read(): AsyncIterable<Buffer> {
    return readBytes(this.#handle);
  }

  /**
   * Appends whole lines. Resolves when they are written (with `isDurable`, on the disk), and the file was found to be ours
   * after that. Throws OutputError, now and from then on.
   */
  append(bytes: Uint8Array, isDurable: boolean): Promise<void> {
    return this.#inTurn(async () => {
      await this.#handle.appendFile(bytes);
      if (isDurable) await this.#handle.datasync();
      await this.#assertOurs(bytes);
    });
  }

  /** Gives the file up; all that was appended is on the disk. Throws OutputError. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopHeartbeat();
    const time = new Date(this.#place.clock.now()).toISOString();
    const line = `${JSON.stringify({ event: 'close', by: this.token, time })}\n`;
    try {
      await this.append(Buffer.from(line), true);
    } finally {
      await this.#handle.close();
    }
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(async () => {
      this.failed.throwIfAborted();
      await work().catch((error) => this.#fail(error));
    });
    this.#turn = done.catch(() => {});
    return done;
  }

  /** After one failure the file may end in half a line, or be another's: nothing may be written behind it. */
  #fail(error: Error): never {
    this.#failed.abort(error instanceof OutputError ? error : new OutputError(error, this.#place.name));
    throw this.failed.reason;
  }

  #scheduleHeartbeat(): void {
    if (this.#isClosed) return;
    this.#stopHeartbeat = this.#place.clock.after(HEARTBEAT, () => {
      // A failure shows in `failed`.
      this.#inTurn(() => this.#beat()).then(
        () => this.#scheduleHeartbeat(),
        () => {},
      );
    });
  }

  async #beat(): Promise<void> {
    const now = new Date(this.#place.clock.now());
    // Not everybody who may write to a file may set its times.
    await this.#handle.utimes(now, now).catch(() => {});
    await this.#assertOurs(Buffer.alloc(0));
  }

  /** `written` is what we have appended since the last time. Throws OutputError. */
  async #assertOurs(written: Uint8Array): Promise<void> {
    const [ours, there] = await Promise.all([this.#handle.stat({ bigint: true }), this.#lookAtPath()]);
    if (inodeKey(ours) !== inodeKey(there)) this.#lose(`another file has taken its place; ${RESTORE}`);
    const size = Number(ours.size);
    const expected = this.#end + written.length;
    if (size < expected)
      this.#lose('it was truncated by another program; rows that it no longer has would be sent again');
    if (size > expected) await this.#readAppended(size, written);
    else this.#end = size;
  }

  async #lookAtPath(): Promise<BigIntStats> {
    return promises
      .stat(this.#place.path, { bigint: true })
      .catch((error) =>
        this.#lose(
          errorCode(error) === 'ENOENT'
            ? `it was removed or renamed; ${RESTORE}`
            : describeSystemError(error),
        ),
      );
  }

  /** Reads what others have appended, before and after what we have `written`. Throws OutputError. */
  async #readAppended(size: number, written: Uint8Array): Promise<void> {
    const region = Buffer.alloc(size - this.#end);
    const { bytesRead } = await this.#handle.read(region, 0, region.length, this.#end);
    const appended = region.subarray(0, bytesRead);
    const at = appended.indexOf(written);
    // Behind half a line of another, ours could not be read.
    if (at < 0 || (at > 0 && appended[at - 1] !== LINE_FEED)) this.#lose('another program writes to it');
    this.#assertNotTakenOver(appended.subarray(0, at));
    const rest = appended.subarray(at + written.length);
    // Half a line is read again, with its end.
    const whole = rest.subarray(0, rest.lastIndexOf(LINE_FEED) + 1);
    this.#assertNotTakenOver(whole);
    this.#end += at + written.length + whole.length;
  }

  #assertNotTakenOver(lines: Buffer): void {
    for (let from = 0; from < lines.length; ) {
      const end = lines.indexOf(LINE_FEED, from) + 1 || lines.length;
      const bytes = lines.subarray(from, end);
      from = end;
      const line = isOwnershipLine(bytes) ? parseLine(bytes) : undefined;
      if (!isClaim(line) || line.after !== this.token) continue;
      this.#lose(`process ${line.owner.pid} on ${line.owner.host} has taken it over`);
    }
  }

  #lose(reason: string): never {
    throw new OutputError(new Error(reason), this.#place.name);
  }
}

const inodeKey = ({ dev, ino }: BigIntStats) => `${dev}:${ino}`;

/** Makes half lines readable, in place, so that the file is JSON Lines for everybody: an event that says nothing. */
async function repairTornLines(torn: readonly ByteRange[], file: BigIntStats, path: string): Promise<void> {
  if (torn.length === 0) return;
  // What is open to append to can be written to only at its end.
  const handle = await promises.open(path, 'r+');
  try {
    if (inodeKey(await handle.stat({ bigint: true })) !== inodeKey(file)) return;
    for (const { start, length } of torn) {
      const text = TORN.length <= length ? TORN.padEnd(length) : ' '.repeat(length);
      await handle.write(Buffer.from(text), 0, length, start);
    }
  } finally {
    await handle.close();
  }
}

/** Puts a new file's name on the disk, too; not every system can. */
async function syncDirectory(path: string): Promise<void> {
  const handle = await promises.open(path, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
