/** Paths as people write them. */
import { isAbsolute, join, resolve } from 'node:path';
import { UsageError } from '../errors.js';

/** `~/` stands for the home folder; other paths are relative to `base`. Throws UsageError as `absolutePath` does. */
export function resolvePath(path: string, base: string, { home }: { home: string }): string {
  return path.startsWith('~/') ? join(home, path.slice(2)) : absolutePath(path, base);
}

/** A path relative to `base`. Throws UsageError for a relative path where `base` is empty: see Context.cwd. */
export function absolutePath(path: string, base: string): string {
  if (base !== '' || isAbsolute(path)) return resolve(base, path);
  throw new UsageError([
    `${path}: is a relative path, and the working folder no longer exists; give an absolute path`,
  ]);
}
