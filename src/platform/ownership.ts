/**
 * Whether another user of the machine could have planted a file or folder. Where the user's id is undefined, on Windows,
 * there are no modes to check. Root is never another user: it can do anything.
 */
import { promises, type Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join, parse, resolve, sep } from 'node:path';
import { closeOnError, UsageError } from '../errors.js';
import { assertOpenedAt, lstatOf, MAX_LINKS, throwForFolder } from './files.js';

const ROOT = 0;
const WRITABLE_BY_GROUP = 0o020;
const WRITABLE_BY_OTHERS = 0o002;
/** In a folder with this bit, only the owner of an entry can rename or remove it. */
const STICKY = 0o1000;

type UserId = number | undefined;

/**
 * Returns why a folder is not this user's alone, as a sentence: another user could write to it, or to a folder above it
 * and so replace it. Undefined if nobody can. What does not exist yet is judged by the folders above it.
 */
export async function findFolderRisk(path: string, uid: UserId): Promise<string | undefined> {
  if (uid === undefined) return undefined;
  const stats = await lstatOf(path);
  if (stats) {
    if (stats.isSymbolicLink()) return `${path} is a symbolic link`;
    if (!stats.isDirectory()) return `${path} is not a folder`;
    if (stats.uid !== uid) return `${path} belongs to another user`;
    if (isShared(stats)) return describeShared(path, stats);
  }
  for (let folder = await realFolder(dirname(path)); ; folder = dirname(folder)) {
    const above = await promises.lstat(folder);
    // Nothing can be in a file or a device.
    if (!above.isDirectory()) continue;
    if (isForeign(above, uid)) return `${folder}, which ${path} is in, belongs to another user`;
    if (isShared(above) && (above.mode & STICKY) === 0) return describeShared(folder, above);
    if (dirname(folder) === folder) return undefined;
  }
}

/** Returns the real path of a folder, or of the nearest one above it that exists. */
async function realFolder(path: string): Promise<string> {
  try {
    return await promises.realpath(path);
  } catch (error) {
    if (dirname(path) === path) throw error;
    return realFolder(dirname(path));
  }
}

function isShared({ mode }: Stats): boolean {
  return (mode & (WRITABLE_BY_GROUP | WRITABLE_BY_OTHERS)) !== 0;
}

function describeShared(path: string, stats: Stats): string {
  return `others can write to ${path} (${formatMode(stats)})`;
}

const PLANTED = 'belongs to another user, in a folder that everybody can write to; use a file of your own';
/** A link to an open file, which is not a path: the system follows it. */
const DESCRIPTOR = /^\/proc\/\d+\/fd\/\d+$/;

/**
 * Resolves the links of an absolute path to write to; its end need not exist. Throws for a link, file or pipe that another
 * user has planted where everybody may create files, such as /tmp: the rules of Linux's fs.protected_symlinks, _regular and
 * _fifos.
 */
export async function resolveTrusted(path: string, uid: UserId, links = 0): Promise<string> {
  const { root } = parse(path);
  if (links > MAX_LINKS || DESCRIPTOR.test(path)) return path;
  const names = path.slice(root.length).split(sep).filter(Boolean);
  let resolved = root;
  for (const [index, name] of names.entries()) {
    const folder = resolved;
    resolved = join(folder, name);
    const stats = await lstatOf(resolved);
    if (!stats) return join(folder, ...names.slice(index));
    if (stats.isDirectory() || DESCRIPTOR.test(resolved)) continue;
    const isLink = stats.isSymbolicLink();
    if (isPlanted(stats, await promises.lstat(folder), uid))
      throw new Error(isLink ? `the link ${resolved} ${PLANTED}` : PLANTED);
    if (!isLink) continue;
    const target = resolve(folder, await promises.readlink(resolved), ...names.slice(index + 1));
    return resolveTrusted(target, uid, links + 1);
  }
  return resolved;
}

/**
 * Opens a file to keep in it what will be trusted. Throws where another user could have planted the file or a link in its
 * path: the rules of Linux's fs.protected_regular and fs.protected_symlinks. Other files of other users are used: those
 * of a container's host, for example.
 */
export async function openTrusted(
  path: string,
  flags: string | number,
  mode: number,
  uid: UserId,
): Promise<FileHandle> {
  const resolved = await resolveTrusted(path, uid);
  const handle = await promises.open(resolved, flags, mode).catch(throwForFolder(resolved));
  return closeOnError(handle, async () => {
    if (DESCRIPTOR.test(resolved)) return handle;
    await assertOpenedAt(handle, resolved);
    if (isPlanted(await handle.stat(), await promises.lstat(dirname(resolved)), uid))
      throw new Error(PLANTED);
    return handle;
  });
}

/** Returns whether an entry of a folder like /tmp belongs neither to this user nor to the owner of the folder. */
function isPlanted(entry: Stats, folder: Stats, uid: UserId): boolean {
  const isOpenToAll = (folder.mode & STICKY) !== 0 && (folder.mode & WRITABLE_BY_OTHERS) !== 0;
  return isOpenToAll && isForeign(entry, uid) && entry.uid !== folder.uid;
}

/**
 * Returns warnings about who else could have written a file, which messages call `name`; `stats` are of a link's target.
 * Throws UsageError where any user could. Pipes and devices are not checked.
 */
export function checkWriters(name: string, stats: Stats, uid: UserId): string[] {
  if (uid === undefined || !stats.isFile()) return [];
  const mode = formatMode(stats);
  const fix = `(${mode}); run chmod go-w on it`;
  if ((stats.mode & WRITABLE_BY_OTHERS) !== 0)
    throw new UsageError(`${name}: every user can write to it ${fix}`);
  if ((stats.mode & WRITABLE_BY_GROUP) !== 0) return [`${name}: its group can write to it ${fix}`];
  return uid === ROOT && isForeign(stats, uid)
    ? [`${name}: belongs to another user (${mode}), and wfr runs as root`]
    : [];
}

/** Throws UsageError for a file that belongs to another user; `harm` completes that sentence. */
export function assertOwn(name: string, stats: Stats, uid: UserId, harm: string): void {
  if (isForeign(stats, uid))
    throw new UsageError(`${name}: belongs to another user${harm}; use a copy of your own`);
}

/** Returns whether a file belongs to a user other than `uid` and root. */
function isForeign(stats: Stats, uid: UserId): boolean {
  return uid !== undefined && stats.uid !== uid && stats.uid !== ROOT;
}

/** Formats the mode of a file for messages. */
export function formatMode({ mode }: Stats): string {
  return `mode 0${(mode & 0o777).toString(8)}`;
}
