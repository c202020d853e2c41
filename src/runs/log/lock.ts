/**
 * The lock of a journal: one process writes to it at a time. The lock consists of lines in the journal itself, so it also
 * holds across hard links, bind mounts of the single file, and containers.
 *
 * - To claim the journal, a process appends an `open` line with its own identity and, in `after`, the token of the dead
 *   owner that it replaces. It then reads the journal: the order of appended lines is the same for everybody, so the
 *   first of several rival claims wins, and each process sees whether that is its own.
 * - An owner that ends appends a `close` line. An owner that was killed is dead if its process id is gone, or belongs to a
 *   process with another start time. Where that cannot be checked (another container, a system without start times), it is
 *   presumed dead if the file stays unchanged for 10 s; for a copy of the file, or the file on another mount, which may
 *   show changes late, for 26 s.
 * - A presumed dead owner may only be stalled, and resume later. So an owner reads what others have appended after each
 *   write (owned-file.ts), in particular after `sent` is on disk and before the last bytes of the request. If no claim is
 *   there, any later claim follows the `sent` line, and its process reads that line. If one is, the request is not
 *   completed, and readers ignore the lines after that claim that carry the token of the old owner (`by`).
 * - Nothing is ever truncated: it might be another process's claim. A killed owner may leave an incomplete line; the next
 *   claim then begins with a line feed and has `torn` set, so that readers ignore the line before it.
 *
 * This needs atomic appends: local file systems have them, NFS between machines does not. So an owner on another machine
 * is never presumed dead; the user may continue with a copy of the file.
 */
import { type BigIntStats, promises } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { BatchFileError } from '../../errors.js';
import { type Clock, type Context, isAliveHere } from '../../platform/context.js';
import { EXACT, readFromStart } from '../../platform/files.js';
import { parseJson } from '../../text/json/json-file.js';
import { formatIso } from '../../text/quantity.js';
import { readLines } from '../../text/utf8.js';

export interface LockOptions {
  /** Absolute. */
  path: string;
  /** This process; JSON leaves out the function that tells which others are alive. */
  owner: Owner & Pick<Context['self'], 'isAlive'>;
  clock: Clock;
  /** Ends the wait for signs of life of another owner, with its reason. */
  signal?: AbortSignal | undefined;
}

/** Another process that may be alive owns the journal. */
export class JournalInUseError extends BatchFileError {
  constructor(
    readonly owner: Owner,
    /** Whether the owner is on this machine, where its end will be noticed. */
    readonly isLocal: boolean,
  ) {
    super(
      `process ${owner.pid} on ${owner.host} is using it; if that process has ended, copy the file and use the copy${isLocal ? '' : ': this lock cannot be checked from here'}`,
    );
  }
}

/** Heartbeat interval of an owner (ms). */
export const HEARTBEAT = 2_000;
/** An owner is presumed dead if the file stays unchanged for so long (ms). */
const OWNER_TIMEOUT = 10_000;
/** The same on another mount: sshfs keeps attributes for 20 s. */
const OTHER_MOUNT_TIMEOUT = 20_000 + 3 * HEARTBEAT;
/** Claims of one process before it gives up: each lost to a rival, or was appended to an incomplete line. */
const MAX_ATTEMPTS = 20;

/**
 * Claims a journal: `id` is its `device:inode`, `handle` is open for reading and appending. Returns the offset up to which
 * the ownership was read, at the beginning of a line. Throws JournalInUseError if another process owns it.
 */
export async function acquireLock(handle: FileHandle, id: string, options: LockOptions): Promise<number> {
  const { owner, clock } = options;
  for (let attempts = 0; ; attempts++) {
    const { ownership, end, isTorn } = await readOwnership(handle);
    const { claim } = ownership;
    if (claim?.owner.token === owner.token) return end;
    if (claim && (await mayBeAlive(claim, id, options)))
      throw new JournalInUseError(claim.owner, isSameMachine(claim.owner, owner));
    if (attempts === MAX_ATTEMPTS)
      throw new BatchFileError('other processes keep locking it; run the same command again');
    const ours: Claim = {
      owner,
      file: id,
      after: claim?.owner.token,
      // Our previous claim may have been appended to an incomplete line.
      torn: isTorn || attempts > 0 || undefined,
    };
    const line = JSON.stringify({ event: 'open', ...ours, time: formatIso(clock.now()) });
    await appendAtOnce(handle, Buffer.from(`${isTorn ? '\n' : ''}${line}\n`));
  }
}

/**
 * Appends with one system call, so that no claim of another process comes between two parts. Throws if only a part could
 * be written: the rest might follow the claim of another process, which could not repair the line.
 */
export async function appendAtOnce(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  const { bytesWritten } = await handle.write(bytes);
  if (bytesWritten < bytes.length)
    throw new Error(`only ${bytesWritten} of ${bytes.length} bytes could be written; the disk may be full`);
}

/** Matches the first bytes of an `open` or `close` line. */
const OWNERSHIP_LINE = /^\{"event":"(open|close)"/;

/** Reads who owns a journal, up to the end of its last complete line. */
export async function readOwnership(handle: FileHandle) {
  const ownership = createOwnership();
  let end = 0;
  let isTorn = false;
  for await (const lines of readLines(readFromStart(handle))) {
    for (const { bytes, start, isComplete } of lines) {
      isTorn = !isComplete;
      if (isTorn) break;
      end = start + bytes.length + 1;
      if (OWNERSHIP_LINE.test(bytes.toString('latin1', 0, 16))) ownership.apply(parseJson(bytes));
    }
  }
  return { ownership, end, isTorn };
}

async function mayBeAlive(claim: Claim, id: string, options: LockOptions) {
  const { owner } = claim;
  const { owner: self } = options;
  const isSameFile = claim.file === id;
  const isRunning = isAliveHere(owner, self);
  // An earlier process had the id of this one.
  if (isRunning === false || (isRunning && owner.pid === self.pid)) return false;
  if (isRunning && isSameFile) return true;
  // The device number of a network file system may differ between machines.
  if (!isSameMachine(owner, self) && inodePart(claim.file) === inodePart(id)) return true;
  // The file may be a copy, or the owner may be in another container.
  return isFileChanging(isSameFile ? OWNER_TIMEOUT : OTHER_MOUNT_TIMEOUT, options);
}

function isSameMachine(owner: Owner, self: Owner): boolean {
  return owner.host === self.host || (self.space !== '' && bootId(owner) === bootId(self));
}

const bootId = ({ space }: Owner) => space.split(' ', 1)[0];
const inodePart = (file: string) => file.split(':')[1];

async function isFileChanging(timeout: number, { path, clock, signal }: LockOptions) {
  const before = await readAttributes(path);
  for (let waited = 0; waited < timeout; waited += HEARTBEAT) {
    await clock.sleep(HEARTBEAT, signal);
    const after = await readAttributes(path);
    if (after.mtimeNs !== before.mtimeNs || after.size !== before.size) return true;
  }
  return false;
}

/** Opens the file again: network file systems then ask the server, and answer from a cache otherwise. */
async function readAttributes(path: string): Promise<BigIntStats> {
  const handle = await promises.open(path, 'r');
  return handle.stat(EXACT).finally(() => handle.close());
}

/** A process that opened a journal for writing. */
export interface Owner {
  host: string;
  pid: number;
  /** The scope of process ids: the boot of the machine and the PID namespace. */
  space: string;
  /** When it started, so that a later process with its id is told from it; undefined if its system does not say. */
  started?: string | undefined;
  /** Eight random hexadecimal digits. */
  token: string;
}

/** The `open` line of an owner. */
export interface Claim {
  owner: Owner;
  /** `device:inode` of the claimed file; differs in a copy of it. */
  file: string;
  /** The token of the dead owner that this one replaces. */
  after?: string | undefined;
  /** Set if the line before it may be incomplete. */
  torn?: boolean | undefined;
}

/** Returns the owner of a journal after each of its lines, which are applied in order. */
export function createOwnership() {
  let current: Claim | undefined;
  const replaced: unknown[] = [];
  return {
    /** The claim of the current owner; undefined if there is none. */
    get claim() {
      return current;
    },

    /** Applies a parsed line; ignores all but `open` and `close`. */
    apply(line: unknown): void {
      const { event, by } = (line ?? {}) as Record<string, unknown>;
      const owner = current?.owner.token;
      if (event === 'close' && by === owner) current = undefined;
      if (event !== 'open' || !isClaim(line)) return;
      // The first of several rival claims wins: the others name an owner that is already replaced.
      if (owner !== undefined && line.after !== owner) return;
      if (owner !== undefined) replaced.push(owner);
      current = line;
    },

    /** Returns whether the owner with this token was replaced: its later lines are ignored. */
    isReplaced: (token: unknown) => replaced.includes(token),
  };
}

/** Returns whether a value has the members of a claim. */
export function isClaim(value: unknown): value is Claim {
  const { owner, file, after } = (value ?? {}) as Partial<Claim>;
  const { host, pid, space, token } = (owner ?? {}) as Partial<Owner>;
  const texts = [host, space, token, file, after ?? ''];
  return texts.every((text) => typeof text === 'string') && Number.isSafeInteger(pid);
}
