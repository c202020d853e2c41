/** Where reports are written: a file that is replaced atomically, an open descriptor, a pipe, a device. */
import { constants, createWriteStream, openSync, promises, type Stats, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { CommandResult } from '../outcome/error-data.js';
import type { Context } from '../platform/context.js';
import { createHidden, resolvePath, statIfExists } from '../platform/files.js';
import { resolveTrusted } from '../platform/ownership.js';

/** An opened report: written once, or closed. */
export interface Report {
  /** How errors name it, such as `--report json=r.json`. */
  name: string;
  /** Throws the system error. */
  write(result: CommandResult): Promise<void>;
  /** Removes what was not written completely. Never throws. */
  close(): Promise<void>;
}

/** An opened target: written once, which throws the system error, or closed. */
type Destination = Pick<Report, 'close'> & { write(chunks: Iterable<string | Uint8Array>): Promise<void> };

/**
 * Opens what a user named. A file keeps its old content until the new one is complete; pipes, character devices and
 * descriptors, such as /dev/stdout, are written to directly. Throws an error that says why it cannot be written.
 */
export async function openDestination(name: string, context: Context): Promise<Destination> {
  const target = await resolveTrusted(resolvePath(name, context), context.uid);
  const stats = await statIfExists(target);
  const openDirectly = stats && (await findDirectWay(target, stats));
  if (openDirectly)
    return { write: async (chunks) => pipeline(chunks, openDirectly()), close: async () => {} };
  // rename() would replace a read-only file; that must fail like writing to it.
  if (stats) await (await promises.open(target, constants.O_WRONLY)).close();
  return createHidden(target, context, stats?.mode);
}

/** Returns what opens a target that is not replaced; undefined for a file. */
async function findDirectWay(path: string, stats: Stats): Promise<(() => NodeJS.WritableStream) | undefined> {
  if (stats.isFIFO() || stats.isCharacterDevice()) {
    // Checked without opening: opening a device may have side effects, and the reader of a pipe may start late.
    await promises.access(path, constants.W_OK);
    if (stats.isCharacterDevice()) return () => createWriteStream(path, { flags: 'a' });
    // O_NONBLOCK makes a pipe without a reader fail (ENXIO) instead of blocking forever; a Socket waits for a slow reader
    // without blocking a thread.
    const flags = constants.O_WRONLY | constants.O_NONBLOCK;
    return () => new Socket({ fd: openSync(path, flags), readable: false, writable: true });
  }
  if (stats.isDirectory()) throw new Error('it is a folder');
  if (!stats.isFile()) throw new Error('it is neither a file nor a pipe');
  const own = await promises.realpath('/proc/self').catch(() => '/dev');
  if (dirname(path) !== join(own, 'fd')) return undefined;
  // The shell has opened the file, which may be a log: it is neither replaced nor truncated.
  const fd = Number(basename(path));
  // Nothing is written, but a descriptor that was opened for reading fails.
  writeSync(fd, '');
  return () => createWriteStream('', { fd, autoClose: false });
}
