/**
 * Opens and checks the files that inputs name, before anything is sent, and keeps the paths in a table inside certain
 * folders: the table may be from somebody else.
 */
import { type BigIntStats, promises, type Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join, parse } from 'node:path';
import { Readable } from 'node:stream';
import { BatchFileError, InputError, rewordInputError, WfrError } from '../errors.js';
import type { Context } from '../platform/context.js';
import {
  EXACT,
  isFile,
  isInside,
  readFromStart,
  realPathOf,
  resolvePath,
  statOf,
} from '../platform/files.js';
import { describeSystemError, errorCode, isMissingFile, systemError } from '../platform/system-error.js';
import type { Source } from '../service/body.js';
import { findNearest } from '../text/nearest.js';
import { createFileSource, createHandleSource, FileReadError, isResourceExhaustion } from './file-source.js';

/** Returns an InputError; a FileReadError if the machine lacks resources, which is not the fault of the file. */
function toFileError(path: string, error: unknown, subject = formatPath(path), hint = ''): Error {
  if (error instanceof WfrError) return error;
  if (isResourceExhaustion(error)) return new FileReadError(formatPath(path), error);
  return new InputError(`${subject}: ${describeSystemError(error)}${hint}`, isMissingFile(error));
}

/** Bytes. Text is kept in memory; anything larger should be sent as a document. */
const MAX_TEXT_SIZE = 64 * 1024 * 1024;

/** Reads a whole file, or standard input for `-`. Throws InputError. */
export async function readBytes(path: string, rules: PathRules, context: Context): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const handle = await openFile(path, rules, context);
  try {
    for await (const chunk of readChunks(handle, path, context)) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_TEXT_SIZE)
        throw new InputError(
          `${formatPath(path)} is larger than 64 MiB; send it as a document with name@path`,
        );
    }
  } finally {
    await handle?.close();
  }
  return Buffer.concat(chunks);
}

/**
 * Opens a document. Anything but a regular file of known size (a pipe, standard input, /proc) is first copied to an
 * unlinked temporary file. Throws InputError, also for nothing from a pipe: what should have written to it has probably failed.
 */
export async function openDocument(path: string, rules: PathRules, context: Context): Promise<Source> {
  const handle = await openFile(path, rules, context);
  try {
    const identity = await handle?.stat(EXACT);
    if (handle && identity?.isFile() && (await hasByteAt(handle, Number(identity.size) - 1)))
      return createFileSource(resolvePath(path, context, rules.base), path, identity);
    const copy = await copyToTemporaryFile(handle, path, context);
    const { size } = await copy.stat();
    const isPiped = identity === undefined || identity.isFIFO();
    if (size > 0 || !isPiped) return createHandleSource(copy, size, formatPath(path));
    await copy.close();
    throw new InputError(`${formatPath(path)} is empty; the command that writes to it may have failed`);
  } catch (error) {
    throw toFileError(path, error);
  } finally {
    await handle?.close();
  }
}

/** Returns whether a file is as long as its size: files in /proc report 0 and files in /sys 4096. */
async function hasByteAt(handle: FileHandle, offset: number): Promise<boolean> {
  return offset >= 0 && (await handle.read(Buffer.alloc(1), 0, 1, offset)).bytesRead === 1;
}

/**
 * Opens the table of --rows, which can be read from the start several times. A pipe or standard input is first copied to an
 * unlinked temporary file. Throws UsageError. A read throws BatchFileError, also if the file was written since it was opened,
 * and the reason of `signal` once that is aborted.
 */
export async function openRows(path: string, context: Context, signal: AbortSignal) {
  const fail = rewordInputError('--rows ');
  const handle = await openFile(path, {}, context).catch(fail);
  const stats = await handle?.stat(EXACT);
  const copying = () => copyToTemporaryFile(handle, path, context).finally(() => handle?.close());
  const file = handle && stats?.isFile() ? handle : await copying().catch(fail);
  const assertUnchanged = async () => {
    signal.throwIfAborted();
    if (stats && file === handle && (await isWritten(file, stats)))
      throw new BatchFileError(
        `${path} changed while wfr read it; run the same command again once it is complete`,
      );
  };
  async function* read(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of readFromStart(file)) {
        await assertUnchanged();
        yield chunk;
      }
    } catch (error) {
      throw errorCode(error) === undefined ? error : new BatchFileError(toFileError(path, error).message);
    }
    await assertUnchanged();
  }
  return {
    /** What messages call it. */
    name: formatPath(path),
    open: () => Readable.from(read(), { objectMode: false }),
    close: () => file.close(),
  };
}

/** A new link changes the time as well, and so does a new file at the path, which leaves the open one as it is. */
async function isWritten(handle: FileHandle, before: BigIntStats): Promise<boolean> {
  const now = await handle.stat(EXACT);
  const isTouched = now.ctimeNs !== before.ctimeNs && now.nlink === before.nlink;
  return now.size !== before.size || now.mtimeNs !== before.mtimeNs || isTouched;
}

/** Opens a file; undefined for `-`, which is standard input. Throws InputError. */
async function openFile(
  path: string,
  { base, within, checkOwner }: PathRules,
  context: Context,
): Promise<FileHandle | undefined> {
  if (path === '-') return undefined;
  const absolute = resolvePath(path, context, base);
  let handle: FileHandle | undefined;
  try {
    const stats: Stats = await promises.stat(absolute);
    if (stats.isDirectory()) throw systemError('EISDIR');
    handle = await promises.open(absolute, 'r');
    // Only now: before, a link in the path could still be changed.
    if (within) assertInside(await realPathOf(handle, absolute), path, within);
    checkOwner?.(await handle.stat());
    return handle;
  } catch (error) {
    await handle?.close();
    const isTyped = within === undefined;
    const meant = isTyped && isMissingFile(error) && (await findSimilarFile(absolute));
    const isFolder = isTyped && errorCode(error) === 'EISDIR';
    const other = isFolder ? '; wfr batch --each takes folders' : describeBase(base, context);
    const hint = meant ? `; did you mean ${join(dirname(path), meant)}?` : other;
    throw toFileError(path, error, path, hint);
  }
}

/** Returns the name of the file in the same folder that is meant by the path of none; undefined if none is similar. */
async function findSimilarFile(path: string): Promise<string | undefined> {
  const names = await promises.readdir(dirname(path)).catch(() => []);
  const nearest = findNearest(basename(path), names) ?? '';
  // Names that differ in all but their extension are other names.
  const isSimilar = findNearest(parse(path).name, [parse(nearest).name]) !== undefined;
  return isSimilar && (await isFile(join(dirname(path), nearest))) ? nearest : undefined;
}

/** Says what paths are relative to, unless it is the working folder. */
const describeBase = (base: string | undefined, { cwd }: Context) =>
  base === undefined || base === cwd ? '' : `; paths are relative to ${base}`;

/**
 * Yields the chunks of a file; without one, of standard input, and tells a person at a terminal that wfr reads it. Throws
 * InputError if it cannot be read.
 */
async function* readChunks(
  handle: FileHandle | undefined,
  path: string,
  context: Context,
): AsyncGenerator<Buffer, void, void> {
  try {
    if (handle) return yield* handle.createReadStream({ autoClose: false });
    const { stdin, stderr, platform } = context;
    const keys = platform === 'win32' ? 'Ctrl-Z and Enter' : 'Ctrl-D';
    if (stdin.isTTY)
      await stderr.write(`wfr: reading standard input; to end it, press ${keys} at the start of a line\n`);
    // It has no encoding, so that its chunks are bytes.
    yield* stdin as unknown as AsyncIterable<Buffer>;
  } catch (error) {
    throw toFileError(path, error);
  }
}

/** Copies a file, or standard input, to an unlinked temporary file that only this user can read. Throws InputError. */
async function copyToTemporaryFile(
  handle: FileHandle | undefined,
  path: string,
  context: Context,
): Promise<FileHandle> {
  const { tmpdir } = context;
  const name = join(tmpdir, `.wfr-${crypto.randomUUID()}.tmp`);
  let copy: FileHandle | undefined;
  try {
    copy = await promises.open(name, 'wx+', 0o600);
    // Windows cannot unlink an open file, and removes temporary files itself.
    await promises.unlink(name).catch(() => {});
    await promises.writeFile(copy, readChunks(handle, path, context));
    return copy;
  } catch (error) {
    await copy?.close();
    const hint = '; set TMPDIR to another folder';
    throw toFileError(path, error, `${formatPath(path)} cannot be copied to ${tmpdir}`, hint);
  }
}

function formatPath(path: string): string {
  return path === '-' ? 'standard input' : path;
}

export interface PathRules {
  /** What the paths of an input are relative to; by default the working folder. */
  base?: string;
  /** Which folders they must stay in; undefined: they may be anywhere. */
  within?: Boundary | undefined;
  /** Throws for an open file that another user could have written. */
  checkOwner?(stats: Stats): void;
}

export interface Boundary {
  /** Real paths. */
  folders: readonly string[];
  /** What is wrong with a path outside all of them, for messages. */
  problem: string;
}

/** Throws InputError for the real path of a file that is outside of the folders. */
function assertInside(target: string, name: string, boundary: Boundary): void {
  if (boundary.folders.some((folder) => isInside(target, folder))) return;
  throw new InputError(`${name}: ${boundary.problem}`);
}

/**
 * Returns the absolute path of a file that may be read, and what is there; with `mustReread`, no pipe or device is one. Throws
 * InputError, but for a folder or a missing file, which is found when it is opened.
 */
export async function assertReadable(
  path: string,
  { base, within }: PathRules,
  mustReread: boolean,
  context: Context,
) {
  const absolute = resolvePath(path, context, base);
  // Before anything there is opened, which could be a pipe or a device.
  if (within) {
    const target = await promises.realpath(absolute).catch((error) => {
      throw toFileError(path, error, path, describeBase(base, context));
    });
    assertInside(target, path, within);
  }
  const stats = await statOf(absolute);
  if (mustReread && stats && !stats.isFile() && !stats.isDirectory())
    throw new InputError(
      `${path}: is not a regular file, and cannot be read again for another row or command`,
    );
  return { absolute, stats };
}
