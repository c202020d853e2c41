/**
 * One process at a time on a journal. The lock is on the file itself, not on its path, so that it also holds across hard
 * links, bind mounts of the single file, and containers: it consists of lines in the journal.
 *
 * - To claim the journal, a process appends an `open` line that names it, and the dead owner that it replaces, if any
 *   (`after`). Then it reads the journal: appended lines have one order for everybody, so of several claims the first one
 *   counts, and each process finds out for itself whether that is its own.
 * - An owner that ends appends a `close` line. One that was killed does not: it is dead if its process id is gone. Where
 *   that cannot be asked (another container, a copy of the file), an owner that has not changed the file's time for a
 *   while is taken for dead.
 * - It may only be stalled, and wake up after it was replaced. So an owner looks at what others have appended after each
 *   write (owned-file.ts), and in particular between `sent` being on the disk and the last bytes of a request. If it
 *   sees no other claim there, then any later claim stands behind the `sent` line, and its process will read that line.
 *   If it sees one, it sends nothing, and what it has written behind that claim is ignored: lines carry their owner (`by`).
 * - Nothing is ever cut off, for it might be another's claim. A killed owner may leave half a line; a claim then begins
 *   with a line feed, and says so (`torn`): readers ignore an unreadable line in front of it. Its owner overwrites that
 *   line.
 *
 * This needs appends that are atomic: those of a local file system are, those of NFS between machines are not. So the
 * owner on another machine is never taken for dead; the user may continue with a copy of the file, in which nothing
 * changes.
 */

import type { FileHandle } from 'node:fs/promises';
import { BatchFileError } from '../../errors.js';
import type { Clock } from '../../platform/context.js';
import { isBlank, type Line, readLines } from '../read-lines.js';
import { type Claim, followsTornLine, isOwnershipLine, type Owner, Ownership } from './ownership.js';

export interface LockOptions {
  owner: Owner;
  isAlive(pid: number): boolean;
  clock: Clock;
}

/** Age of the last sign of life (ms) from which an owner is presumed dead. */
const OWNER_TIMEOUT = 10_000;
/** Claims of one process, each of which another one was faster than, or was torn by half a line of another. */
const MAX_ATTEMPTS = 20;
const CHUNK = 256 * 1024;

/** A part of a file, in bytes. */
export interface ByteRange {
  start: number;
  length: number;
}

/**
 * Claims a journal that is open for reading and appending; `file` is its `device:inode`. Returns the offset, at the
 * beginning of a line, up to which its owner is known, and where half lines are left. Throws BatchFileError where another
 * process has it.
 */
export async function acquireLock(
  handle: FileHandle,
  file: string,
  tools: LockOptions,
): Promise<{ end: number; torn: readonly ByteRange[] }> {
  const { owner, clock } = tools;
  for (let claims = 0; ; claims++) {
    const { claim, end, isTorn, torn } = await readOwnership(handle);
    if (claim?.owner.token === owner.token) return { end, torn };
    if (claim !== undefined) await assertOwnerDead(claim, handle, file, tools);
    if (claims === MAX_ATTEMPTS) throw new BatchFileError('others claim it again and again');
    const ours: Claim = {
      owner,
      file,
      ...(claim !== undefined && { after: claim.owner.token }),
      // An earlier claim of ours may have been glued to half a line.
      ...((isTorn || claims > 0) && { torn: true }),
    };
    const line = JSON.stringify({ event: 'open', ...ours, time: new Date(clock.now()).toISOString() });
    await handle.appendFile(`${isTorn ? '\n' : ''}${line}\n`);
  }
}

/** The bytes of an open file, from its start to its present end. */
export async function* readBytes(handle: FileHandle): AsyncGenerator<Buffer, void, void> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Parses one line; undefined where it is not JSON. */
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
  let before: Line | undefined;
  for await (const line of readLines(readBytes(handle))) {
    isTorn = !line.isComplete;
    if (isTorn) break;
    const { bytes, start } = line;
    end = start + bytes.length + 1;
    if (isOwnershipLine(bytes)) {
      const parsed = parseLine(bytes);
      ownership.apply(parsed);
      if (before !== undefined && followsTornLine(parsed) && parseLine(before.bytes) === undefined)
        torn.push({ start: before.start, length: before.bytes.length });
    }
    if (!isBlank(bytes)) before = line;
  }
  return { claim: ownership.claim, end, isTorn, torn };
}

/** Throws BatchFileError where the owner may be at work. */
async function assertOwnerDead(
  claim: Claim,
  handle: FileHandle,
  file: string,
  tools: LockOptions,
): Promise<void> {
  if (!(await mayBeAlive(claim, handle, file, tools))) return;
  const { pid, host } = claim.owner;
  throw new BatchFileError(
    `process ${pid} on ${host} is at work on it; if that process has ended, continue with a copy of the file`,
  );
}

async function mayBeAlive(claim: Claim, handle: FileHandle, file: string, tools: LockOptions) {
  const { owner } = claim;
  const us = tools.owner;
  const isSameSpace = owner.space === us.space && (us.space !== '' || owner.host === us.host);
  if (isSameSpace) {
    if (owner.pid === us.pid || !tools.isAlive(owner.pid)) return false;
    if (claim.file === file) return true;
  }
  const isSameMachine = owner.host === us.host || (us.space !== '' && bootId(owner) === bootId(us));
  // A network file system may have another device on each machine.
  if (!isSameMachine && inodePart(claim.file) === inodePart(file)) return true;
  // The file may be a copy, or its owner in another container.
  return isFileChanging(handle, tools.clock);
}

const bootId = ({ space }: Owner) => space.split(' ', 1)[0];
const inodePart = (file: string) => file.split(':')[1];

async function isFileChanging(handle: FileHandle, clock: Clock): Promise<boolean> {
  const before = await handle.stat({ bigint: true });
  await clock.sleep(OWNER_TIMEOUT);
  const after = await handle.stat({ bigint: true });
  return after.mtimeNs !== before.mtimeNs || after.size !== before.size;
}
