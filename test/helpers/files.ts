/** Folders with files for one test file; they are removed after it. */
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { temporaryFolder } from './cli.js';

/** Creates a folder with files: paths in it, and contents. */
export function folderWith(files: Record<string, string | Buffer>): string {
  const folder = temporaryFolder();
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

/** Returns a path with the separators of a URL. */
export const toPosix = (path: string) => path.replaceAll(sep, '/');

/** Creates a folder with a sparse file of `bytes` bytes, which takes no space on the disk. */
export function folderWithSparseFile(bytes: number, name = 'large.pdf'): string {
  const folder = folderWith({ [name]: '' });
  truncateSync(join(folder, name), bytes);
  return folder;
}
