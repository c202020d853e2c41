/** Checks that a command does not write to a file that it also uses otherwise, such as an input. */
import { readlink, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { UsageError } from '../errors.js';
import { fileId } from './files.js';

/** A file that a command line names. */
export interface NamedFile {
  /** As the user wrote it, with its flag. */
  name: string;
  /** Absolute. */
  path: string;
  /** Whether the command writes to it. */
  isWritten: boolean;
}

/** How many files are examined at the same time. */
const CONCURRENCY = 1_000;
/** As many symbolic links as Linux follows. */
const MAX_LINKS = 40;

/** Throws UsageError if a file that the command writes to is also another of the files, by any path or link. */
export async function assertDistinctFiles(files: readonly NamedFile[]): Promise<void> {
  const known = new Map<string, NamedFile>();
  const problems: string[] = [];
  // Written files come first; files that are only read may be the same.
  const sorted = [...files.filter(({ isWritten }) => isWritten), ...files.filter((file) => !file.isWritten)];
  for (let from = 0; from < sorted.length; from += CONCURRENCY) {
    const batch = sorted.slice(from, from + CONCURRENCY);
    const identities = await Promise.all(batch.map(({ path }) => findIdentity(path)));
    for (const [index, file] of batch.entries()) {
      const identity = identities[index];
      if (identity === undefined) continue;
      const other = known.get(identity);
      if (other?.isWritten) problems.push(`${file.name}: same file as ${other.name}; use another file`);
      else known.set(identity, file);
    }
  }
  if (problems.length > 0) throw new UsageError(problems);
}

/**
 * Returns the device and inode of a file; those of its folder, and its name, if it does not exist yet. Undefined for
 * anything else, such as a device or a folder.
 */
async function findIdentity(path: string, links = 0): Promise<string | undefined> {
  const stats = await stat(path, { bigint: true }).catch(() => undefined);
  if (stats !== undefined) return stats.isFile() ? fileId(stats) : undefined;
  const link = links < MAX_LINKS ? await readlink(path).catch(() => undefined) : undefined;
  if (link !== undefined) return findIdentity(resolve(dirname(path), link), links + 1);
  const folder = await stat(dirname(path), { bigint: true }).catch(() => undefined);
  return folder === undefined ? path : `${fileId(folder)}/${basename(path)}`;
}
