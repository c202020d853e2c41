/** Opens the table of a batch: --rows with its format, or the files of --each; and the folders that its paths may lead to. */

import { promises } from 'node:fs';
import { dirname } from 'node:path';
import { closeOnError, collectUsageErrors, exclusive, throwProblems, UsageError } from '../../errors.js';
import { type Boundary, openRows } from '../../inputs/files.js';
import type { Context } from '../../platform/context.js';
import { isFolder, resolvePath } from '../../platform/files.js';
import { throwAsUsageError } from '../../platform/system-error.js';
import { type Table, tableOfFile, tableOfFiles } from '../../table/table.js';
import { shellCommand } from '../../text/shell-quote.js';
import { parseDelimiter } from '../shared/output-flags.js';

export interface TableFlags {
  rows?: string;
  filesUnder?: string;
  each?: string;
  tokenFile?: string;
  delimiter?: string;
  label?: string;
}

/**
 * Opens the table of --rows, or that of the files of --each, which were found for `paths`; `signal` ends each reading of
 * it. Throws UsageError.
 */
export async function openTable(
  { paths, files }: { paths: readonly string[]; files: readonly string[] },
  flags: TableFlags,
  context: Context,
  signal: AbortSignal,
): Promise<{ table: Table; close(): Promise<void> }> {
  const { rows, each, tokenFile } = flags;
  if (each !== undefined) {
    if (rows !== undefined) throw exclusive(`--rows ${rows}`, `--each ${each}`);
    if (/^$|@$|;type=/.test(each))
      throw new UsageError(
        `--each ${JSON.stringify(each)}: expected the name of an input, such as invoice; only a column of --rows can have a media type`,
      );
    if (paths.length === 0)
      throw new UsageError(
        `--each ${each}: requires files after the workflow, such as scans/inv-*.pdf, or a folder`,
      );
    return { table: tableOfFiles(each, files), close: async () => {} };
  }
  if (rows === undefined) {
    const table = paths.find((path) => /\.([ct]sv|jsonl?|ndjson)$/i.test(path));
    const how =
      table === undefined
        ? `--rows <file>, or --each <parameter> ${shellCommand(paths.slice(0, 1)) || 'and files'}`
        : `--rows ${table} reads this table`;
    throw new UsageError(`wfr batch requires rows: ${how}`, 'wfr help batch');
  }
  if (files.length > 0) throw new UsageError(`${files[0]}: files require --each <parameter>, not --rows`);
  if (rows === '-' && tokenFile === '-')
    throw new UsageError('--rows -: --token-file - already reads standard input');
  const base = rows === '-' ? context.cwd : dirname(resolvePath(rows, context));
  const { delimiter, file, within } = await collectUsageErrors({
    delimiter: () => parseDelimiter(flags.delimiter),
    file: () => openRows(rows, context, signal),
    within: () => openBoundary(flags, base, context),
  });
  return closeOnError(file, async () => {
    const table = await tableOfFile({
      ...file,
      paths: { base, within },
      delimiter,
      mustHaveDelimiter: true,
      labelColumn: flags.label,
    });
    return { table, close: file.close };
  });
}

/** Returns the boundary of a table in the folder `base`, and in that of --files-under. Throws UsageError. */
async function openBoundary(
  { rows, filesUnder }: TableFlags,
  base: string,
  context: Context,
): Promise<Boundary> {
  const name = rows === '-' ? 'the working folder' : 'the folder of the table';
  // Without a working folder, every path is outside.
  const folders = await promises.realpath(base).then(
    (folder) => [folder],
    () => [],
  );
  if (filesUnder === undefined) {
    const fix = 'to allow files of another folder, use --files-under <folder>';
    return { folders, problem: `is outside ${name}; ${fix}` };
  }
  return {
    folders: [...folders, await findFolder(filesUnder, context)],
    problem: `is outside ${name} and --files-under ${filesUnder}`,
  };
}

/** Throws UsageError for the flags of a table without one. */
export function assertTable({ rows, delimiter, label, filesUnder }: TableFlags): void {
  if (rows !== undefined) return;
  throwProblems([
    delimiter !== undefined && `--delimiter ${delimiter}: requires --rows`,
    label !== undefined && `--label ${label}: requires --rows; the rows of --each are named by their files`,
    filesUnder !== undefined &&
      `--files-under ${filesUnder}: requires --rows; the files of --each may be anywhere`,
  ]);
}

async function findFolder(path: string, context: Context): Promise<string> {
  if (path === '') throw new UsageError('--files-under: is empty; expected a folder');
  const absolute = resolvePath(path, context);
  const folder = await promises.realpath(absolute).catch(throwAsUsageError(`--files-under ${path}`));
  if (await isFolder(folder)) return folder;
  throw new UsageError(`--files-under ${path}: is not a folder`);
}
