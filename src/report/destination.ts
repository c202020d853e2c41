/** Where a report goes: a file that is replaced in one step, one that is only added to, or whoever reads a pipe. */
import { constants, open as openDescriptor } from 'node:fs';
import {
  access,
  type FileHandle,
  open,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { Socket } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { describeSystemError, errorCode } from '../platform/system-error.js';
import type { CommandResult } from './reported-run.js';

/** A report that can be written once, or be left unwritten. */
export interface Report {
  /** As a complaint names it. */
  name: string;
  /** Throws the system's error. */
  write(ended: CommandResult): Promise<void>;
  /** Leaves nothing behind of what was not written. Never throws. */
  discard(): Promise<void>;
}

/** Opens one report. Throws UsageError. */
export type Opener = () => Promise<Report>;

/** Where bytes are written once, or not at all. */
interface Destination {
  /** Throws the system's error. */
  write(chunks: Iterable<string | Uint8Array>): Promise<void>;
  /** Leaves nothing behind of what was not written. Never throws. */
  discard(): Promise<void>;
}

export interface AppendFile extends Destination {
  /** Bytes that it has now. */
  size(): Promise<number>;
}

/** A file cannot be written; the message says why. */
export class DestinationError extends Error {}

/**
 * A file that is there, whole, once it has been written, and as before until then. A pipe or a character device is not
 * replaced but written to. Throws DestinationError.
 */
export async function openAtomicFile(path: string, uuid: string): Promise<Destination> {
  const found = await resolveTarget(path);
  if ('write' in found) return { write: found.write, discard: async () => {} };
  const { target, mode } = found;
  const temporary = join(dirname(target), `.wfr-${uuid}`);
  const handle = await openHandle(open(temporary, 'wx', mode), target);
  return {
    async write(chunks) {
      await writeFile(handle, chunks);
      await handle.close();
      await rename(temporary, target);
    },
    async discard() {
      await handle.close().catch(() => {});
      await rm(temporary, { force: true }).catch(() => {});
    },
  };
}

/** A file that others write to as well. Throws DestinationError. */
export async function openAppendFile(path: string): Promise<AppendFile> {
  const handle = await openHandle(open(path, 'a'), path);
  return {
    size: async () => (await handle.stat()).size,
    write: (chunks) => writeFile(handle, chunks),
    discard: () => handle.close().catch(() => {}),
  };
}

/** The file that a path leads to, with its mode if it is there; or how to write to what is no file. */
async function resolveTarget(
  path: string,
): Promise<{ target: string; mode?: number } | { write: Destination['write'] }> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw new DestinationError('it is a directory');
    const write = found.isFIFO() ? writeToPipe : found.isCharacterDevice() ? writeToDevice : undefined;
    if (write !== undefined) {
      // Opening a device may have effects of its own.
      await access(path, constants.W_OK);
      return { write: (chunks) => write(path, chunks) };
    }
    if (!found.isFile()) throw new DestinationError('it is neither a file nor a pipe');
    const target = await realpath(path);
    // A file that may not be written is not to be replaced either, though its folder would allow it.
    await (await open(target, constants.O_WRONLY)).close();
    return { target, mode: found.mode };
  } catch (error) {
    // There is nothing yet, or not even a folder, which shows when the file is created.
    if (errorCode(error) === 'ENOENT') return { target: await followLinks(path) };
    throw error instanceof DestinationError ? error : new DestinationError(describeSystemError(error));
  }
}

/** Where a path leads at which there is nothing: it may be a link to what is not there yet. */
async function followLinks(path: string): Promise<string> {
  const link = await readlink(path).catch(() => undefined);
  return link === undefined ? path : followLinks(resolve(await realpath(dirname(path)), link));
}

/**
 * Opened only now: with O_NONBLOCK, a pipe that nobody reads is an error (ENXIO) where the opening would wait for ever,
 * and before the run its reader need not be there yet. A socket waits for a slow reader without blocking a thread.
 */
async function writeToPipe(path: string, chunks: Iterable<string | Uint8Array>): Promise<void> {
  const fd = await promisify(openDescriptor)(path, constants.O_WRONLY | constants.O_NONBLOCK);
  await pipeline(Readable.from(chunks), new Socket({ fd, readable: false, writable: true }));
}

async function writeToDevice(path: string, chunks: Iterable<string | Uint8Array>): Promise<void> {
  const handle = await open(path, constants.O_WRONLY);
  await writeFile(handle, chunks).finally(() => handle.close());
}

async function openHandle(opening: Promise<FileHandle>, path: string): Promise<FileHandle> {
  try {
    return await opening;
  } catch (error) {
    if (errorCode(error) === 'ENOENT')
      throw new DestinationError(`there is no folder ${dirname(path)} (ENOENT)`);
    throw new DestinationError(describeSystemError(error));
  }
}
