/** Folders, and those they lie in. */
import { promises } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from './system-error.js';

/**
 * Makes the folder at an absolute path, and those above it that are missing, with `mode`. Throws the system's error.
 * mkdir's own `recursive` tries for ever where ENOENT is the answer although the parent exists, as in /proc.
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
