/** Paths, files and folders of the file system. */
import { type BigIntStats, constants, promises, type Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { closeOnError, throwProblems, UsageError } from '../errors.js';
import type { Context } from './context.js';
import { errorCode, systemError, throwUnlessCode } from './system-error.js';

/** On Windows, Node aborts for a path with this character (libuv before 1.52). */
const UNSAFE_CHARACTER = '\u{10ffff}';

/**
 * Resolves a path as people write it, by default in the working folder: `~/`, and `~\` on Windows, is the home folder. Throws
 * UsageError without one, for a path that Node cannot open, and as `absolutePath`.
 */
export function resolvePath(
  path: string,
  { home, platform, cwd }: Pick<Context, 'home' | 'platform' | 'cwd'>,
  base = cwd,
): string {
  if (platform === 'win32' && path.includes(UNSAFE_CHARACTER))
    throw new UsageError(`${path}: contains U+10FFFF, with which Node cannot open a file on Windows`);
  if (!path.startsWith('~/') && !(platform === 'win32' && path.startsWith('~\\')))
    return absolutePath(path, base);
  // Joined with an empty home folder, it would be a path in the working folder.
  if (home !== '') return join(home, path.slice(2));
  throw new UsageError(`${path}: there is no home folder; set HOME, or give an absolute path`);
}

/** Returns a path relative to `base`. Throws UsageError for a relative path where `base` is empty: see Context.cwd. */
export function absolutePath(path: string, base: string): string {
  if (base !== '' || isAbsolute(path)) return resolve(base, path);
  throw new UsageError(
    `${path}: is a relative path, and the working folder no longer exists; give an absolute path`,
  );
}

/**
 * Returns the shorter of an absolute path and the same relative to the working folder, which may no longer exist: see
 * Context.cwd.
 */
export function shownPath(path: string, cwd: string): string {
  const way = cwd === '' ? path : relative(cwd, path);
  return way.length < path.length ? way : path;
}

/** Returns whether a real path is a folder or in it. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  // On Windows, the way to another drive is absolute.
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * Makes the folder at an absolute path, and those above it that are missing, with `mode`. Throws the system's error, ENOTDIR
 * for what exists and is no folder.
 * mkdir's own `recursive` never returns where ENOENT is the answer although the parent exists, as in /proc.
 */
export async function mkdirp(path: string, mode?: number): Promise<void> {
  if (await isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) await mkdirp(parent, mode);
  // Another process may have been faster.
  await promises.mkdir(path, mode).catch(throwUnlessCode('EEXIST'));
  if (!(await isFolder(path))) throw systemError('ENOTDIR');
}

/** Returns what handles the error of an attempt to open or create a file: ENOENT may be about its folder, which it names then. */
export function throwForFolder(path: string) {
  return async (error: unknown): Promise<never> => {
    const folder = dirname(path);
    if (errorCode(error) !== 'ENOENT' || (await statOf(folder))) throw error;
    throw new Error(`the folder ${folder} does not exist (ENOENT)`);
  };
}

/** Reads the times, sizes and ids of files as integers: rounded ones could be equal for two files. */
export const EXACT = { bigint: true } as const;

/** Returns what is at a path, at the end of links; undefined where nothing can be found. */
export function statOf(path: string): Promise<BigIntStats | undefined> {
  return promises.stat(path, EXACT).catch(() => undefined);
}

/** Returns what is at a path, of a link itself; undefined where nothing can be found. */
export function lstatOf(path: string): Promise<Stats | undefined> {
  return promises.lstat(path).catch(() => undefined);
}

/** Returns whether an absolute path is that of an existing file. */
export async function isFile(path: string): Promise<boolean> {
  return !path.includes(UNSAFE_CHARACTER) && (await statOf(path))?.isFile() === true;
}

/** Bytes that are read at once. */
const CHUNK_SIZE = 256 * 1024;

/** Reads an open file from its start to its current end; unlike a stream of its own, leaves it open. */
export async function* readFromStart(handle: FileHandle): AsyncGenerator<Buffer, void, void> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_SIZE), 0, CHUNK_SIZE, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Returns what is at a path, at the end of links; undefined if nothing is. Throws any other error of the system. */
export function statIfExists(path: string): Promise<Stats | undefined> {
  return promises.stat(path).catch(throwUnlessCode('ENOENT'));
}

/** Returns whether a path is that of an existing folder. */
export async function isFolder(path: string): Promise<boolean> {
  return (await statIfExists(path))?.isDirectory() === true;
}

/**
 * Identifies a file on this machine. Of the device, only the low 32 bits count: on Windows, libuv 1.49 and 1.50 report
 * more of them for a path than for an open file.
 */
export function fileId({ dev, ino }: { dev: bigint; ino: bigint }): string {
  return `${BigInt.asUintN(32, dev)}:${ino}`;
}

/**
 * Returns where an open file is, without links: `path`, by which it was opened, may lead elsewhere by now. Throws if that
 * cannot be told.
 */
export async function realPathOf(handle: FileHandle, path: string): Promise<string> {
  const real = (await pathOfDescriptor(handle)) ?? (await promises.realpath(path));
  await assertOpenedAt(handle, real);
  return real;
}

/** Throws if an open file is not the one at a path without links, as that path has led elsewhere when it was opened. */
export async function assertOpenedAt(handle: FileHandle, path: string): Promise<void> {
  const opened = await pathOfDescriptor(handle);
  const isThere = opened === undefined ? await isSameFile(handle, path) : opened === path;
  if (!isThere) throw new Error('was replaced while it was opened');
}

/** Returns the path of an open file where the system tells it; undefined on others, and for a file without a name. */
async function pathOfDescriptor({ fd }: FileHandle): Promise<string | undefined> {
  const opened = await promises.readlink(`/proc/self/fd/${fd}`).catch(() => '');
  return opened.startsWith('/') && !opened.endsWith(' (deleted)') ? opened : undefined;
}

async function isSameFile(handle: FileHandle, path: string): Promise<boolean> {
  const [file, found] = await Promise.all([handle.stat(EXACT), promises.lstat(path, EXACT)]);
  return fileId(file) === fileId(found);
}

/** On Windows, how long another process, such as a virus scanner, may hold a file, and the time between attempts (ms). */
const HELD_TIMEOUT = 2_000;
const HELD_INTERVAL = 100;

/** Renames a file, replacing `to`; on Windows, waits for a process that holds one of the two. Throws the system's error. */
async function renameFile(
  from: string,
  to: string,
  { platform, clock }: Pick<Context, 'platform' | 'clock'>,
): Promise<void> {
  for (let waited = 0; ; waited += HELD_INTERVAL) {
    try {
      return await promises.rename(from, to);
    } catch (error) {
      const isHeld = platform === 'win32' && ['EPERM', 'EBUSY', 'EACCES'].includes(errorCode(error) ?? '');
      if (!isHeld || waited >= HELD_TIMEOUT) throw error;
    }
    await clock.sleep(HELD_INTERVAL);
  }
}

/** Gives a file another name. Throws the system's error, EEXIST where that is in use. */
async function giveUnusedName(from: string, to: string): Promise<void> {
  // Not every file system has hard links, and each says so differently.
  await promises.link(from, to).catch(() => promises.copyFile(from, to, constants.COPYFILE_EXCL));
}

/**
 * Opens a new file under a hidden name, which becomes the file at a path without links once it is written: a process that is
 * killed leaves no part of a file there, unless giveUnusedName has to copy. It is written once, which throws the system's error,
 * and closed. Throws as assertOpenedAt.
 */
export async function createHidden(path: string, context: Context, mode?: number) {
  const hidden = join(dirname(path), `.wfr-${crypto.randomUUID()}`);
  const file = await promises.open(hidden, 'wx', mode).catch(throwForFolder(path));
  await closeOnError(file, () => assertOpenedAt(file, hidden));
  return {
    /** Throws EEXIST where there is a file, unless it `mayReplace` that. */
    async write(chunks: Iterable<string | Uint8Array>, mayReplace = true): Promise<void> {
      await promises.writeFile(file, chunks);
      await file.close();
      await (mayReplace ? renameFile : giveUnusedName)(hidden, path, context);
    },
    /** Removes the hidden name. Never throws. */
    async close(): Promise<void> {
      await file.close().catch(() => {});
      await promises.rm(hidden, { force: true }).catch(() => {});
    },
  };
}

/** A file that a command line names. */
export interface NamedFile {
  /** As the user wrote it, with its flag. */
  name: string;
  /** Absolute. */
  path: string;
  /** Whether the command writes to it. */
  isWritten: boolean;
}

/** As many symbolic links as Linux follows. */
export const MAX_LINKS = 40;

/** Throws UsageError if a file that the command writes to is also another of the files, by any path or link. */
export async function assertDistinctFiles(files: readonly NamedFile[]): Promise<void> {
  const known = new Map<string | undefined, NamedFile>();
  const problems: string[] = [];
  // Written files come first; files that are only read may be the same.
  const sorted = files.toSorted((a, b) => Number(b.isWritten) - Number(a.isWritten));
  const finding = sorted.map(async (file) => ({ file, identity: await findIdentity(file.path) }));
  for (const { file, identity } of await Promise.all(finding)) {
    const other = known.get(identity);
    if (other?.isWritten) problems.push(`${file.name}: same file as ${other.name}; use another file`);
    else if (identity !== undefined) known.set(identity, file);
  }
  throwProblems(problems);
}

/**
 * Returns the device and inode of a file; those of its folder, and its name, if it does not exist yet. Undefined for
 * anything else, such as a device or a folder.
 */
async function findIdentity(path: string, links = 0): Promise<string | undefined> {
  const stats = await statOf(path);
  if (stats) return stats.isFile() ? fileId(stats) : undefined;
  const link = links < MAX_LINKS ? await promises.readlink(path).catch(() => undefined) : undefined;
  if (link !== undefined) return findIdentity(resolve(dirname(path), link), links + 1);
  const folder = await statOf(dirname(path));
  return folder ? `${fileId(folder)}/${basename(path)}` : path;
}
