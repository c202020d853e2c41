/** Keeps the paths in a table inside certain folders: the table may be from somebody else. */
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Context } from '../platform/context.js';
import { isInside, resolvePath } from '../platform/files.js';
import { errorCode } from '../platform/system-error.js';
import { assertRegular, FileError, type FileRules, toFileError } from './files.js';

/** What the paths of an input are relative to, and which folders they must stay in; undefined: they may be anywhere. */
export interface PathRules {
  base: string;
  within: Boundary | undefined;
}

export interface Boundary {
  /** Real paths. */
  folders: readonly string[];
  /** What is wrong with a path outside all of them, for messages. */
  problem: string;
}

/**
 * Throws FileError if an absolute path leads out of the folders, after resolving links: before anything there is opened,
 * which could be a pipe or a device. `name` is the path as written.
 */
async function assertLeadsInside(absolute: string, name: string, boundary: Boundary): Promise<void> {
  const target = await resolveLinks(absolute).catch((error) => {
    throw toFileError(name, error);
  });
  assertInside(target, name, boundary);
}

/** Throws FileError for the real path of a file that is outside of the folders. */
function assertInside(target: string, name: string, boundary: Boundary): void {
  if (boundary.folders.some((folder) => isInside(target, folder))) return;
  throw new FileError(`${name}: ${boundary.problem}`);
}

/** Returns the real path of a file; of a missing one, the real path of the part that exists, and the rest as it is. */
async function resolveLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '');
    // Links such as /dev/fd/0 can be opened, although their targets are not paths.
    if (!isMissing || dirname(path) === path || (await isLink(path))) throw error;
    return join(await resolveLinks(dirname(path)), basename(path));
  }
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  );
}

/** Returns the absolute path of a file that may be read. Throws FileError. */
export async function assertReadable(
  path: string,
  { base, within }: PathRules,
  mustReread: boolean,
  context: Context,
): Promise<string> {
  const absolute = resolvePath(path, base, context);
  if (within !== undefined) await assertLeadsInside(absolute, path, within);
  if (mustReread) await assertRegular(absolute, path);
  return absolute;
}

/** Returns the rules with which a file is opened. */
export function fileRules({ base, within }: PathRules): FileRules {
  return { base, ...(within && { check: (real, name) => assertInside(real, name, within) }) };
}
