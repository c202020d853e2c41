/** Paths as people write them. */
import { join, resolve } from 'node:path';

/** `~/` stands for the home folder; other paths are relative to `base`. */
export function resolvePath(path: string, base: string, { home }: { home: string }): string {
  return path.startsWith('~/') ? join(home, path.slice(2)) : resolve(base, path);
}
