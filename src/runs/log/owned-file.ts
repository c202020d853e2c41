/**
 * The locked, append-only file behind a journal. After each write and every two seconds it checks that this process still
 * owns the file (lock.ts) and that the path still leads to it; otherwise nothing more is written.
 */
import { setMaxListeners } from 'node:events';
import { type BigIntStats, constants, promises } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BatchFileError, closeOnError } from '../../errors.js';
import { EXACT, fileId, lstatOf, readFromStart } from '../../platform/files.js';
import { openTrusted } from '../../platform/ownership.js';
import { errorCode, OutputError } from '../../platform/system-error.js';
import { createQueue, untilAborted } from '../../platform/until-aborted.js';
import { encodeEvent } from './events.js';
import { acquireLock, appendAtOnce, HEARTBEAT, type LockOptions, readOwnership } from './lock.js';

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

/** Opens or creates the file, and locks it. Throws JournalInUseError if another process owns it, and the system's error. */
export async function openOwnedFile(options: OwnedFileOptions) {
  const { path, uid, mustExist } = options;
  const isNew = !(await lstatOf(path));
  const handle = await openTrusted(path, mustExist ? OPEN_EXISTING : 'a+', 0o600, uid);
  return closeOnError(handle, async () => {
    const stats = await handle.stat(EXACT);
    assertRegular(stats);
    await syncDirectory(dirname(path));
    return keepOwned(handle, await acquireLock(handle, fileId(stats), options), isNew, options);
  });
}

/** Returns a locked file, which may be new; what others have appended was checked up to the offset `end`. */
function keepOwned(
  handle: FileHandle,
  end: number,
  isNew: boolean,
  { path, name, owner, clock, giveUp }: OwnedFileOptions,
) {
  const failing = new AbortController();
  /** Aborts with an OutputError when nothing more can be written: the lock was lost, or the disk is full. */
  const failed = failing.signal;
  setMaxListeners(0, failed);
  /** Identifies the lines of this owner. */
  const { token } = owner;
  const inTurn = createQueue();
  /** What is appended next, and the operation that does it, unless that has begun. */
  const queue: Uint8Array[] = [];
  let appending: Promise<void> | undefined;
  let isClosed = false;
  let stopHeartbeat = () => {};

  scheduleHeartbeat();
  return {
    failed,
    token,
    write,

    /** Reads the whole file. */
    read: () => readFromStart(handle),

    /** Syncs the file to disk and releases the lock; removes a new file that is useless. Throws OutputError. */
    async close(isUseless?: boolean): Promise<void> {
      isClosed = true;
      stopHeartbeat();
      try {
        // Still locked, so that no other process continues in it; one that opened it before finds it gone when it writes.
        if (isNew && isUseless) await enqueue(() => promises.unlink(path));
        else await write([encodeEvent({ event: 'close' }, clock.now(), token)]);
      } finally {
        await finish(handle.close());
      }
    },
  };

  /**
   * Appends whole lines. Resolves when they are on disk and this process still owned the file afterwards. Those that arrive
   * during a write are written together, with one fsync. Throws OutputError, and again on each later call.
   */
  function write(lines: readonly Uint8Array[]): Promise<void> {
    queue.push(...lines);
    appending ??= enqueue(appendLines);
    return appending;
  }

  async function appendLines(): Promise<void> {
    const bytes = Buffer.concat(queue.splice(0));
    appending = undefined;
    await appendAtOnce(handle, bytes);
    await handle.datasync();
    await assertOurs(bytes);
  }

  /**
   * Resolves when the work on the disk is done. Throws OutputError if it fails, or when nobody waits for it any longer: the disk
   * may never answer. The file may then end in an incomplete line or belong to another process: nothing more is written.
   */
  async function finish(work: Promise<void>): Promise<void> {
    await untilAborted(work, giveUp).catch((error) => {
      const cause = error === giveUp.reason ? new Error('the disk does not respond') : error;
      failing.abort(new OutputError(cause, name));
      throw failed.reason;
    });
  }

  function enqueue(work: () => Promise<void>): Promise<void> {
    return inTurn(async () => {
      failed.throwIfAborted();
      await finish(work());
    });
  }

  function scheduleHeartbeat(): void {
    if (isClosed) return;
    // A failure aborts `failed`.
    stopHeartbeat = clock.after(HEARTBEAT, () => {
      enqueue(sendHeartbeat).then(scheduleHeartbeat, () => {});
    });
  }

  async function sendHeartbeat(): Promise<void> {
    const now = new Date(clock.now());
    // Write permission does not imply permission to set the times.
    await handle.utimes(now, now).catch(() => {});
    await assertOurs(Buffer.alloc(0));
  }

  /** Throws if this process lost the file. `ownBytes` is what it has appended since the last check. */
  async function assertOurs(ownBytes: Uint8Array): Promise<void> {
    const opened = await handle.stat(EXACT);
    const atPath = await promises.stat(path, EXACT).catch((error) => {
      const isMissing = errorCode(error) === 'ENOENT';
      throw isMissing ? new Error(`it was removed or renamed; ${RESTORE}`) : error;
    });
    if (fileId(opened) !== fileId(atPath)) throw new Error(`it was replaced by another file; ${RESTORE}`);
    const size = Number(opened.size);
    const expected = end + ownBytes.length;
    if (size < expected) throw new Error(`it was truncated by another program; ${RESTORE}`);
    if (size > expected) await readAppended(size, ownBytes);
    else end = size;
  }

  /** Checks what others have appended before and after `ownBytes`. Throws if it is another owner. */
  async function readAppended(size: number, ownBytes: Uint8Array): Promise<void> {
    const region = Buffer.alloc(size - end);
    const { bytesRead } = await handle.read(region, 0, region.length, end);
    const appended = region.subarray(0, bytesRead);
    const at = appended.indexOf(ownBytes);
    // After another program's incomplete line, ours would be unreadable.
    if (at < 0 || (at > 0 && appended[at - 1] !== LINE_FEED))
      throw new Error('another program is writing to it');
    const { ownership, end: checked } = await readOwnership(handle);
    if (ownership.isReplaced(token)) {
      const { owner: next } = ownership.claim ?? {};
      const other = next ? `process ${next.pid} on ${next.host}` : 'another process';
      throw new Error(`${other} has taken it over`);
    }
    // An incomplete line is checked once it is complete.
    end = checked;
  }
}

/** Throws BatchFileError for what exists and is a device, a pipe or a directory: nothing can be continued from it. */
export function assertRegular(stats: BigIntStats | undefined): void {
  if (stats?.isFile() === false) throw new BatchFileError('it is not a regular file');
}

/** Syncs the directory entry of a new file, where the system supports it. */
async function syncDirectory(path: string): Promise<void> {
  const handle = await promises.open(path, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
