/** What becomes of the documents in an output. */

import { UsageError } from '../../errors.js';
import type { DocumentFolder } from '../../output-documents/document-folder.js';
import type { Context } from '../../platform/context.js';

export interface DocumentFlags {
  saveDocuments?: string;
  force?: boolean;
}

/** The folder to save documents to, made now; undefined where none was asked for. Throws UsageError. */
export async function documentFolder(
  { saveDocuments, force }: DocumentFlags,
  severalRuns: boolean,
  context: Context,
): Promise<DocumentFolder | undefined> {
  if (saveDocuments === undefined) {
    if (force === true) throw new UsageError(['--force goes with --save-documents']);
    return undefined;
  }
  const { DocumentFolder } = await import('../../output-documents/document-folder.js');
  return DocumentFolder.open({ folder: saveDocuments, force: force === true, severalRuns }, context);
}
