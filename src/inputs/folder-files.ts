/** The files of folders, and those that match patterns. */
import { promises } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { isFile, resolvePath } from '../platform/files.js';
import { throwAsUsageError } from '../platform/system-error.js';

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
    const absolute = resolvePath(path, context);
    const reading = promises.readdir(absolute, { withFileTypes: true });
    const entries = await reading.catch(throwAsUsageError(path));
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

/** Only these have a meaning: cmd and PowerShell expand none, and other shells none within quotes. */
const WILDCARD = /[*?[]/;

/**
 * Returns the paths, with the files that match in place of each pattern, sorted. A path of a file that exists is no
 * pattern. Throws UsageError for a pattern that matches nothing.
 */
export async function expandPatterns(paths: readonly string[], context: Context): Promise<string[]> {
  const expanded: string[] = [];
  for (const path of paths) {
    const isPattern = WILDCARD.test(path) && !(await isFile(resolvePath(path, context)));
    const matches = isPattern ? await findMatches(path, context) : [path];
    if (matches.length === 0) throw new UsageError(`${path}: no file matches this pattern`);
    expanded.push(...matches);
  }
  return expanded;
}

async function findMatches(path: string, { cwd, home, platform }: Context): Promise<string[]> {
  // Loaded only for patterns.
  const { glob } = await import('tinyglobby');
  const pattern = platform === 'win32' ? path.replaceAll('\\', '/') : path;
  const isInHome = pattern.startsWith('~/') && home !== '';
  // The library gives a meaning to more characters than shells do.
  const escaped = (isInHome ? pattern.slice(2) : pattern).replace(/[(){}!+@|$^\\]/g, '\\$&');
  const found = await glob(escaped, {
    cwd: isInHome ? home : cwd,
    absolute: /^(?:[A-Za-z]:)?\//.test(pattern),
    expandDirectories: false,
  });
  return found.map((file) => (isInHome ? `~/${file}` : file)).sort();
}
