/** Where reports are written: a file that is replaced atomically or appended to, an open descriptor, a pipe, a device. */
import {
  constants,
  createWriteStream,
  fstat,
  open as openDescriptor,
  write as writeDescriptor,
} from 'node:fs';
import { access, type FileHandle, open, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import type { CommandResult } from '../outcome/error-data.js';
import type { Context } from '../platform/context.js';
import { createFile, renameFile } from '../platform/files.js';
import { openTrusted, resolveTrusted } from '../platform/ownership.js';
import { describeSystemError, errorCode } from '../platform/system-error.js';

/** An opened report: written once, or discarded. */
export interface Report {
  /** How errors name it, such as `--report json=r.json`. */
  name: string;
  /** Throws the system error. */
  write(result: CommandResult): Promise<void>;
  /** Removes what was not written completely. Never throws. */
  discard(): Promise<void>;
}

/** Opens one report. Throws UsageError if it cannot be written. */
export type Opener = () => Promise<Report>;

/** An opened target: written once, or discarded. */
export interface Destination {
  /** Writes all chunks. Throws the system error. */
  write(chunks: Iterable<string | Uint8Array>): Promise<void>;
  /** Removes what was not written completely. Never throws. */
  discard(): Promise<void>;
}

export interface AppendFile extends Destination {
  /** Returns the current size in bytes. */
  size(): Promise<number>;
}

/** A report cannot be written to this path; the message says why. */
export class DestinationError extends Error {}

/**
 * Opens a file that keeps its old content until the new one is complete. Pipes, character devices and descriptors, such
 * as /dev/stdout, are written to directly. Throws DestinationError.
 */
export async function openAtomicFile(
  path: string,
  uuid: string,
  context: Pick<Context, 'platform' | 'clock' | 'uid'>,
): Promise<Destination> {
  const descriptor = await findDescriptor(path);
  if (descriptor !== undefined) return descriptor;
  const resolved = await resolveTarget(await resolveLinks(path, context));
  if ('write' in resolved) return { write: resolved.write, discard: async () => {} };
  const { target, mode } = resolved;
  const temporary = join(dirname(target), `.wfr-${uuid}`);
  const handle = await openHandle(createFile(temporary, mode), target);
  return {
    async write(chunks) {
      await writeFile(handle, chunks);
      await handle.close();
      await renameFile(temporary, target, context);
    },
    async discard() {
      await handle.close().catch(() => {});
      await rm(temporary, { force: true }).catch(() => {});
    },
  };
}

/** Opens a file that other programs append to as well. Throws DestinationError. */
export async function openAppendFile(path: string, context: Pick<Context, 'uid'>): Promise<AppendFile> {
  const handle = await openHandle(openTrusted(path, 'a', 0o666, context.uid), path);
  return {
    size: async () => (await handle.stat()).size,
    write: (chunks) => writeFile(handle, chunks),
    discard: () => handle.close().catch(() => {}),
  };
}

/** Resolves the links of a path. Throws DestinationError for one that another user has planted. */
async function resolveLinks(path: string, { uid }: Pick<Context, 'uid'>): Promise<string> {
  return resolveTrusted(path, uid).catch((error) => {
    throw new DestinationError(describeSystemError(error));
  });
}

/** As many symbolic links as Linux follows. */
const MAX_LINKS = 40;

/**
 * Returns how to write to a descriptor of this process that a path names, such as /dev/stdout or /dev/fd/3, through any
 * links. The shell has opened what is behind it, so that replacing or truncating that file would destroy a log. Undefined
 * for another path, and for a pipe or device, which can be opened again.
 */
async function findDescriptor(path: string, links = 0): Promise<Destination | undefined> {
  const [, number] = /^\/(?:dev\/fd|proc\/self\/fd)\/(\d+)$/.exec(path) ?? [];
  if (number === undefined) {
    const link = links < MAX_LINKS ? await readlink(path).catch(() => undefined) : undefined;
    return link === undefined ? undefined : findDescriptor(resolve(dirname(path), link), links + 1);
  }
  const fd = Number(number);
  const stats = await promisify(fstat)(fd).catch(() => undefined);
  if (stats?.isFile() !== true) return undefined;
  try {
    // Nothing is written, but a descriptor that was opened for reading fails.
    await promisify(writeDescriptor)(fd, Buffer.alloc(0));
  } catch (error) {
    throw new DestinationError(describeSystemError(error));
  }
  return {
    write: (chunks) => pipeline(Readable.from(chunks), createWriteStream('', { fd, autoClose: false })),
    discard: async () => {},
  };
}

/** Returns the file at a path without links, with its mode if it exists; or how to write to a pipe or device. */
async function resolveTarget(
  path: string,
): Promise<{ target: string; mode?: number } | { write: Destination['write'] }> {
  try {
    const stats = await stat(path);
    if (stats.isDirectory()) throw new DestinationError('it is a folder');
    const write = stats.isFIFO() ? writeToPipe : stats.isCharacterDevice() ? writeToDevice : undefined;
    if (write !== undefined) {
      // Checked without opening: opening a device may have side effects.
      await access(path, constants.W_OK);
      return { write: (chunks) => write(path, chunks) };
    }
    if (!stats.isFile()) throw new DestinationError('it is neither a file nor a pipe');
    // rename() would replace a read-only file; that must fail like writing to it.
    await (await open(path, constants.O_WRONLY)).close();
    return { target: path, mode: stats.mode };
  } catch (error) {
    // A missing folder is reported when the temporary file is created.
    if (errorCode(error) === 'ENOENT') return { target: path };
    throw error instanceof DestinationError ? error : new DestinationError(describeSystemError(error));
  }
}

/**
 * Opens the pipe only when the report is written, as its reader may start late. O_NONBLOCK makes a pipe without a reader
 * fail (ENXIO) instead of blocking forever; a Socket waits for a slow reader without blocking a thread.
 */
async function writeToPipe(path: string, chunks: Iterable<string | Uint8Array>): Promise<void> {
  const fd = await promisify(openDescriptor)(path, constants.O_WRONLY | constants.O_NONBLOCK);
  await pipeline(Readable.from(chunks), new Socket({ fd, readable: false, writable: true }));
}

async function writeToDevice(path: string, chunks: Iterable<string | Uint8Array>): Promise<void> {
  const handle = await open(path, constants.O_WRONLY);
  await writeFile(handle, chunks).finally(() => handle.close());
}

/** Awaits an open(). Throws DestinationError. */
async function openHandle(opening: Promise<FileHandle>, path: string): Promise<FileHandle> {
  try {
    return await opening;
  } catch (error) {
    if (errorCode(error) === 'ENOENT')
      throw new DestinationError(`the folder ${dirname(path)} does not exist (ENOENT)`);
    throw new DestinationError(describeSystemError(error));
  }
}
