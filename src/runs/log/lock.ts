/**
 * The lock of a journal: one process writes to it at a time. The lock consists of lines in the journal itself, so it also
 * holds across hard links, bind mounts of the single file, and containers.
 *
 * - To claim the journal, a process appends an `open` line with its own identity and, in `after`, the token of the dead
 *   owner that it replaces. It then reads the journal: the order of appended lines is the same for everybody, so the
 *   first of several rival claims wins, and each process sees whether that is its own.
 * - An owner that ends appends a `close` line. An owner that was killed is dead if its process id is gone. Where that
 *   cannot be checked (another container, a copy of the file), it is presumed dead if the file stays unchanged for 10 s.
 * - A presumed dead owner may only be stalled, and resume later. So an owner reads what others have appended after each
 *   write (owned-file.ts), in particular after `sent` is on disk and before the last bytes of the request. If no claim is
 *   there, any later claim follows the `sent` line, and its process reads that line. If one is, the request is not
 *   completed, and readers ignore the lines after that claim that carry the token of the old owner (`by`).
 * - Nothing is ever truncated: it might be another process's claim. A killed owner may leave an incomplete line; the next
 *   claim then begins with a line feed and has `torn` set, so that readers ignore the line before it. The new owner
 *   overwrites that line.
 *
 * This needs atomic appends: local file systems have them, NFS between machines does not. So an owner on another machine
 * is never presumed dead; the user may continue with a copy of the file.
 */

import type { FileHandle } from 'node:fs/promises';
import { BatchFileError } from '../../errors.js';
import type { Clock } from '../../platform/context.js';
import { isBlank, type Line, readLines } from '../../text/read-lines.js';
import { type Claim, followsTornLine, isOwnershipLine, type Owner, Ownership } from './ownership.js';

export interface LockOptions {
  owner: Owner;
  isAlive(pid: number): boolean;
  clock: Clock;
  /** Ends the wait for signs of life of another owner, with its reason. */
  signal?: AbortSignal;
}

/** Another process that may be alive owns the journal. */
export class JournalInUseError extends BatchFileError {
  constructor(
    readonly owner: Owner,
    /** Whether the owner is on this machine, where its end will be noticed. */
    readonly isLocal: boolean,
  ) {
    super(
      `process ${owner.pid} on ${owner.host} is using it; if that process has ended, continue with a copy of the file`,
    );
  }
}

/** An owner is presumed dead if the file stays unchanged for so long (ms). */
const OWNER_TIMEOUT = 10_000;
/** Claims of one process before it gives up: each lost to a rival, or was appended to an incomplete line. */
const MAX_ATTEMPTS = 20;
const CHUNK = 256 * 1024;

/** Part of a file, in bytes. */
export interface ByteRange {
  start: number;
  length: number;
}

/**
 * Claims a journal that is open for reading and appending; `file` is its `device:inode`. Returns the offset up to which
 * the ownership was read, at the beginning of a line, and the incomplete lines to overwrite. Throws JournalInUseError if
 * another process owns it.
 */
export async function acquireLock(
  handle: FileHandle,
  file: string,
  options: LockOptions,
): Promise<{ end: number; torn: readonly ByteRange[] }> {
  const { owner, clock } = options;
  for (let attempts = 0; ; attempts++) {
    const { claim, end, isTorn, torn } = await readOwnership(handle);
    if (claim?.owner.token === owner.token) return { end, torn };
    if (claim !== undefined) await assertOwnerDead(claim, handle, file, options);
    if (attempts === MAX_ATTEMPTS)
      throw new BatchFileError('other processes keep claiming it; run the same command again');
    const ours: Claim = {
      owner,
      file,
      ...(claim !== undefined && { after: claim.owner.token }),
      // Our previous claim may have been appended to an incomplete line.
      ...((isTorn || attempts > 0) && { torn: true }),
    };
    const line = JSON.stringify({ event: 'open', ...ours, time: new Date(clock.now()).toISOString() });
    await handle.appendFile(`${isTorn ? '\n' : ''}${line}\n`);
  }
}

/** Reads an open file from its start to its current end. */
export async function* readBytes(handle: FileHandle): AsyncGenerator<Buffer, void, void> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Parses a line; returns undefined if it is not JSON. */
export function parseLine(line: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(line).toString('utf8'));
  } catch {
    return undefined;
  }
}

async function readOwnership(handle: FileHandle) {
  const ownership = new Ownership();
  const torn: ByteRange[] = [];
  let end = 0;
  let isTorn = false;
  let previous: Line | undefined;
  for await (const line of readLines(readBytes(handle))) {
    isTorn = !line.isComplete;
    if (isTorn) break;
    const { bytes, start } = line;
    end = start + bytes.length + 1;
    if (isOwnershipLine(bytes)) {
      const parsed = parseLine(bytes);
      ownership.apply(parsed);
      if (previous !== undefined && followsTornLine(parsed) && parseLine(previous.bytes) === undefined)
        torn.push({ start: previous.start, length: previous.bytes.length });
    }
    if (!isBlank(bytes)) previous = line;
  }
  return { claim: ownership.claim, end, isTorn, torn };
}

/** Throws JournalInUseError if the owner may be alive. */
async function assertOwnerDead(
  claim: Claim,
  handle: FileHandle,
  file: string,
  options: LockOptions,
): Promise<void> {
  if (!(await mayBeAlive(claim, handle, file, options))) return;
  throw new JournalInUseError(claim.owner, isSameMachine(claim.owner, options.owner));
}

async function mayBeAlive(claim: Claim, handle: FileHandle, file: string, options: LockOptions) {
  const { owner } = claim;
  const self = options.owner;
  const isSameSpace = owner.space === self.space && (self.space !== '' || owner.host === self.host);
  if (isSameSpace) {
    if (owner.pid === self.pid || !options.isAlive(owner.pid)) return false;
    if (claim.file === file) return true;
  }
  // The device number of a network file system may differ between machines.
  if (!isSameMachine(owner, self) && inodePart(claim.file) === inodePart(file)) return true;
  // The file may be a copy, or the owner may be in another container.
  return isFileChanging(handle, options);
}

function isSameMachine(owner: Owner, self: Owner): boolean {
  return owner.host === self.host || (self.space !== '' && bootId(owner) === bootId(self));
}

const bootId = ({ space }: Owner) => space.split(' ', 1)[0];
const inodePart = (file: string) => file.split(':')[1];

async function isFileChanging(handle: FileHandle, { clock, signal }: LockOptions): Promise<boolean> {
  const before = await handle.stat({ bigint: true });
  await clock.sleep(OWNER_TIMEOUT, signal);
  const after = await handle.stat({ bigint: true });
  return after.mtimeNs !== before.mtimeNs || after.size !== before.size;
}
