/** Whether two paths lead to one file. */
import { readlink, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { UsageError } from '../errors.js';

/** A file that a command line names. */
export interface NamedFile {
  /** As the user wrote it, with its flag. */
  name: string;
  /** Absolute. */
  path: string;
  /** Whether the command writes to it. */
  isWritten: boolean;
}

/** Files that are looked at together. */
const CONCURRENCY = 1_000;
/** As many symbolic links in a row as Linux follows. */
const MAX_LINKS = 40;

/** Throws UsageError where a file that is written is another of the files, too, through whatever links. */
export async function assertDistinctFiles(files: readonly NamedFile[]): Promise<void> {
  const known = new Map<string, NamedFile>();
  const problems: string[] = [];
  // What is written comes first: files that are only read may be the same.
  const sorted = [...files.filter(({ isWritten }) => isWritten), ...files.filter((file) => !file.isWritten)];
  for (let from = 0; from < sorted.length; from += CONCURRENCY) {
    const some = sorted.slice(from, from + CONCURRENCY);
    const identities = await Promise.all(some.map(({ path }) => findIdentity(path)));
    for (const [index, file] of some.entries()) {
      const identity = identities[index];
      if (identity === undefined) continue;
      const other = known.get(identity);
      if (other?.isWritten) problems.push(`${file.name}: the same file as that of ${other.name}`);
      else known.set(identity, file);
    }
  }
  if (problems.length > 0) throw new UsageError(problems);
}

/** Device and inode; of what does not exist yet, those of its folder, and its name. Undefined for what is no file. */
async function findIdentity(path: string, links = 0): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found !== undefined) return found.isFile() ? `${found.dev}:${found.ino}` : undefined;
  const link = links < MAX_LINKS ? await readlink(path).catch(() => undefined) : undefined;
  if (link !== undefined) return findIdentity(resolve(dirname(path), link), links + 1);
  const folder = await stat(dirname(path), { bigint: true }).catch(() => undefined);
  return folder === undefined ? path : `${folder.dev}:${folder.ino}/${basename(path)}`;
}
