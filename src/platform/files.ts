/** Paths and folders of the file system. */
import { promises } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { UsageError } from '../errors.js';
import { errorCode } from './system-error.js';

/** Resolves a path as people write it: `~/` is the home folder. Throws UsageError without one, and as `absolutePath`. */
export function resolvePath(path: string, base: string, { home }: { home: string }): string {
  if (!path.startsWith('~/')) return absolutePath(path, base);
  // Joined with an empty home folder, it would be a path in the working folder.
  if (home !== '') return join(home, path.slice(2));
  throw new UsageError([`${path}: there is no home folder; set HOME, or give an absolute path`]);
}

/** Returns a path relative to `base`. Throws UsageError for a relative path where `base` is empty: see Context.cwd. */
export function absolutePath(path: string, base: string): string {
  if (base !== '' || isAbsolute(path)) return resolve(base, path);
  throw new UsageError([
    `${path}: is a relative path, and the working folder no longer exists; give an absolute path`,
  ]);
}

/**
 * Makes the folder at an absolute path, and those above it that are missing, with `mode`. Throws the system's error.
 * mkdir's own `recursive` never returns where ENOENT is the answer although the parent exists, as in /proc.
 */
export async function mkdirp(path: string, mode?: number): Promise<void> {
  if (await isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) await mkdirp(parent, mode);
  try {
    await promises.mkdir(path, mode);
  } catch (error) {
    // Another process may have been faster.
    if (errorCode(error) !== 'EEXIST' || !(await isFolder(path))) throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await promises.stat(path)).isDirectory();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}
