/** The folders of --save-outputs and --save-documents: opened before anything is sent. */
import { promises } from 'node:fs';
import { collectUsageErrors, UsageError } from '../../errors.js';
import { openDocumentFolder } from '../../output-documents/document-folder.js';
import { createRowFiles, nameRows, type RowFiles } from '../../output-documents/row-files.js';
import { openSaveFolder } from '../../output-documents/save-folder.js';
import type { Context } from '../../platform/context.js';
import { isInside, resolvePath } from '../../platform/files.js';
import type { DocumentFlags } from './output-flags.js';

/** Creates the folders of --save-outputs and --save-documents; undefined without these flags. Throws UsageError. */
export async function openFolders(
  { saveDocuments, saveOutputs, force = false }: DocumentFlags,
  context: Context,
) {
  if (force && saveDocuments === undefined && saveOutputs === undefined)
    throw new UsageError('--force requires --save-documents or --save-outputs');
  return collectUsageErrors({
    outputs: () =>
      saveOutputs === undefined
        ? undefined
        : openSaveFolder({ flag: '--save-outputs', folder: saveOutputs, force }, context),
    documents: () =>
      saveDocuments === undefined ? undefined : openDocumentFolder({ folder: saveDocuments, force }, context),
  });
}

/**
 * Opens the folders for the files of rows with these labels; undefined without a flag for them. `files` are those of --each, or
 * patterns, if they are known. Throws UsageError, also for a folder inside that one: its files would be inputs of a later command.
 */
export async function openRowFiles(
  flags: DocumentFlags,
  labels: () => Promise<readonly string[]>,
  files: readonly string[] | undefined,
  context: Context,
): Promise<RowFiles | undefined> {
  const folders = await openFolders(flags, context);
  const roots = Object.values(folders).flatMap((folder) => folder?.root ?? []);
  if (roots.length === 0) return undefined;
  const names = nameRows(await labels(), files);
  for (const name of names.inputFolders) {
    const inputs = await promises.realpath(resolvePath(name, context)).catch(() => undefined);
    if (inputs !== undefined && roots.some((root) => isInside(root, inputs)))
      throw new UsageError(
        `--save-outputs and --save-documents: the folder must not be inside ${name}, which has the files of --each`,
      );
  }
  return createRowFiles(folders, names);
}
