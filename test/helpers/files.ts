/** Folders with files for one test file; they are removed after it. */
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './cli.js';

/** Creates a folder with text files: names and contents. */
export function folderWith(files: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** Creates a folder with a sparse file `large.pdf` of `bytes` bytes, which takes no space on the disk. */
export function folderWithSparseFile(bytes: number): string {
  const folder = folderWith({ 'large.pdf': '' });
  truncateSync(join(folder, 'large.pdf'), bytes);
  return folder;
}
