/** The files of folders, for `--each`. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { describeSystemError } from '../platform/system-error.js';

/** Returns which of the paths are folders. */
export async function findFolders(paths: readonly string[], context: Context): Promise<ReadonlySet<string>> {
  const folders = new Set<string>();
  for (const path of paths) {
    const stats = await stat(resolvePath(path, context.cwd, context)).catch(() => undefined);
    if (stats?.isDirectory()) folders.add(path);
  }
  return folders;
}

/**
 * Returns the files in a folder and below, sorted, without hidden ones and links. Throws UsageError for a folder that cannot be
 * read, and the reason of the signal.
 */
export async function filesInFolder(
  folder: string,
  signal: AbortSignal,
  context: Context,
): Promise<string[]> {
  const files: string[] = [];
  const add = async (path: string): Promise<void> => {
    signal.throwIfAborted();
    const absolute = resolvePath(path, context.cwd, context);
    const entries = await readdir(absolute, { withFileTypes: true }).catch((error) => {
      throw new UsageError([`${path}: ${describeSystemError(error)}`]);
    });
    for (const entry of entries) {
      if (entry.name.startsWith('.')) continue;
      const name = join(path, entry.name);
      if (entry.isDirectory()) await add(name);
      else if (entry.isFile()) files.push(name);
    }
  };
  await add(folder);
  return files.sort();
}
