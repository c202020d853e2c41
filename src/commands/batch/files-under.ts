/** The folders that the paths in a table may lead to. */
import { realpath, stat } from 'node:fs/promises';
import { UsageError } from '../../errors.js';
import type { Boundary } from '../../inputs/files.js';
import type { Context } from '../../platform/context.js';
import { resolvePath } from '../../platform/files.js';
import { describeSystemError } from '../../platform/system-error.js';

export interface FilesUnderFlags {
  rows?: string;
  filesUnder?: string;
}

/** Returns the boundary of a table in the folder `base`, and in that of --files-under. Throws UsageError. */
export async function openBoundary(
  { rows, filesUnder }: FilesUnderFlags,
  base: string,
  context: Context,
): Promise<Boundary> {
  const name = rows === '-' ? 'the working folder' : 'the folder of the table';
  // Without a working folder, every path is outside.
  const folder = base === '' ? undefined : await realpath(base).catch(() => undefined);
  const folders = folder === undefined ? [] : [folder];
  if (filesUnder === undefined) {
    const fix = 'to allow files of another folder, use --files-under <folder>';
    return { folders, problem: `is outside ${name}; ${fix}` };
  }
  return {
    folders: [...folders, await findFolder(filesUnder, context)],
    problem: `is outside ${name} and --files-under ${filesUnder}`,
  };
}

/** Throws UsageError for --files-under without a table. */
export function assertTable({ rows, filesUnder }: FilesUnderFlags): void {
  if (rows !== undefined || filesUnder === undefined) return;
  throw new UsageError([`--files-under ${filesUnder}: requires --rows; the files of --each may be anywhere`]);
}

async function findFolder(path: string, context: Context): Promise<string> {
  if (path === '') throw new UsageError(['--files-under: is empty; expected a folder']);
  const folder = await realpath(resolvePath(path, context.cwd, context)).catch((error) => {
    throw new UsageError([`--files-under ${path}: ${describeSystemError(error)}`]);
  });
  if ((await stat(folder)).isDirectory()) return folder;
  throw new UsageError([`--files-under ${path}: is not a folder`]);
}
