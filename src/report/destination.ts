/** Where reports are written: stdout, a file that is replaced atomically, an open descriptor, a pipe, a device. */
import { randomUUID } from 'node:crypto';
import {
  constants,
  createWriteStream,
  fstat,
  open as openDescriptor,
  write as writeDescriptor,
} from 'node:fs';
import { access, open, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { UsageError } from '../errors.js';
import type { CommandResult } from '../outcome/error-data.js';
import type { Context } from '../platform/context.js';
import { createFile, renameFile, resolvePath } from '../platform/files.js';
import { resolveTrusted } from '../platform/ownership.js';
import { describeSystemError, errorCode } from '../platform/system-error.js';

/** An opened report: written once, or closed. */
export interface Report {
  /** How errors name it, such as `--report json=r.json`. */
  name: string;
  /** Throws the system error. */
  write(result: CommandResult): Promise<void>;
  /** Removes what was not written completely. Never throws. */
  close(): Promise<void>;
}

/** Writes all chunks. Throws the system error. */
type Write = (chunks: Iterable<string | Uint8Array>) => Promise<void>;

/** An opened target: written once, or closed, which removes what was not written completely and never throws. */
type Destination = Pick<Report, 'close'> & { write: Write };

const direct = (write: Write): Destination => ({ write, close: async () => {} });

/**
 * Opens what a user named, `-` for stdout. A file keeps its old content until the new one is complete; pipes, character
 * devices and descriptors, such as /dev/stdout, are written to directly. Throws an error that says why it cannot be written.
 */
export async function openDestination(name: string, context: Context): Promise<Destination> {
  const { stdout, cwd, uid } = context;
  if (name === '-')
    return direct(async (chunks) => {
      for (const chunk of chunks) await stdout.write(chunk);
    });
  const path = resolvePath(name, cwd, context);
  const writeToDescriptor = await findDescriptor(path);
  if (writeToDescriptor !== undefined) return direct(writeToDescriptor);
  const target = await resolveTrusted(path, uid);
  const { mode, write } = await findTarget(target);
  if (write !== undefined) return direct(write);
  const temporary = join(dirname(target), `.wfr-${randomUUID()}`);
  const handle = await createFile(temporary, mode).catch((error) => throwForFolder(error, target));
  return {
    async write(chunks) {
      await writeFile(handle, chunks);
      await handle.close();
      await renameFile(temporary, target, context);
    },
    async close() {
      await handle.close().catch(() => {});
      await rm(temporary, { force: true }).catch(() => {});
    },
  };
}

/** As many symbolic links as Linux follows. */
const MAX_LINKS = 40;

/**
 * Returns how to write to a descriptor of this process that a path names, such as /dev/stdout or /dev/fd/3, through any
 * links. The shell has opened what is behind it, so that replacing or truncating that file would destroy a log. Undefined
 * for another path, and for a pipe or device, which can be opened again.
 */
async function findDescriptor(path: string, links = 0): Promise<Write | undefined> {
  const [, number] = /^\/(?:dev\/fd|proc\/self\/fd)\/(\d+)$/.exec(path) ?? [];
  if (number === undefined) {
    const link = links < MAX_LINKS ? await readlink(path).catch(() => undefined) : undefined;
    return link === undefined ? undefined : findDescriptor(resolve(dirname(path), link), links + 1);
  }
  const fd = Number(number);
  const stats = await promisify(fstat)(fd).catch(() => undefined);
  if (stats?.isFile() !== true) return undefined;
  // Nothing is written, but a descriptor that was opened for reading fails.
  await promisify(writeDescriptor)(fd, Buffer.alloc(0));
  return (chunks) => pipeline(Readable.from(chunks), createWriteStream('', { fd, autoClose: false }));
}

/** Returns the mode of the file at a path without links, if it exists; or how to write to a pipe or device. */
async function findTarget(path: string): Promise<{ mode?: number; write?: Write }> {
  try {
    const stats = await stat(path);
    if (stats.isDirectory()) throw new Error('it is a folder');
    const write = stats.isFIFO() ? writeToPipe : stats.isCharacterDevice() ? writeToDevice : undefined;
    if (write !== undefined) {
      // Checked without opening: opening a device may have side effects.
      await access(path, constants.W_OK);
      return { write: (chunks) => write(path, chunks) };
    }
    if (!stats.isFile()) throw new Error('it is neither a file nor a pipe');
    // rename() would replace a read-only file; that must fail like writing to it.
    await (await open(path, constants.O_WRONLY)).close();
    return { mode: stats.mode };
  } catch (error) {
    // A missing folder is reported when the temporary file is created.
    if (errorCode(error) === 'ENOENT') return {};
    throw error;
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

/** Throws the error of an attempt to create a file: ENOENT is about its folder. */
export function throwForFolder(error: unknown, path: string): never {
  if (errorCode(error) !== 'ENOENT') throw error;
  throw new Error(`the folder ${dirname(path)} does not exist (ENOENT)`);
}

/** Returns the error of a report that cannot be opened. */
export function toUsageError(name: string, error: unknown): UsageError {
  return error instanceof UsageError ? error : new UsageError([`${name}: ${describeSystemError(error)}`]);
}
