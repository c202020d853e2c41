/** Watching a run for a person: progress on stderr, documents into files, the result on stdout. */
import type { DocumentFolder } from '../../output-documents/document-folder.js';
import { hasEnded, type Run } from '../../service/run.js';
import type { ProgressView } from '../../view/progress/run-progress.js';
import type { RunPrinter } from './print-run.js';
import type { Session } from './session.js';
import { type WatchOptions, type WatchOutcome, watchRun } from './watch-run.js';

/** What shows a run. */
export interface RunDisplay {
  printer: RunPrinter;
  progress: ProgressView;
  /** Where the documents in the output are saved; undefined where they stay in the output. */
  documents: DocumentFolder | undefined;
}

/** Watches a run, shows each of its changes, and records in the history how it was seen last. Never throws. */
export async function watchAndShow(
  options: Omit<WatchOptions, 'onChange'>,
  { printer, progress, documents }: RunDisplay,
  session: Session,
): Promise<WatchOutcome> {
  const { id } = options;
  const onChange = async (seen: Run) => {
    progress.seen(id, seen);
    const { run, failure } = await saveDocuments(id, seen, documents, session);
    await printer.changed(run);
    if (failure !== undefined) throw failure;
    return run;
  };
  const outcome = await watchRun({ ...options, onChange }, session);
  progress.left(id);
  const { run } = outcome;
  if (run !== undefined) session.history.recordStatus({ ...run, baseUrl: session.service.baseUrl.href });
  return outcome;
}

/** The run with paths in place of its documents; where they cannot be saved, the run as it came, and why. */
async function saveDocuments(
  id: string,
  seen: Run,
  documents: DocumentFolder | undefined,
  { reporter }: Session,
): Promise<{ run: Run; failure?: unknown }> {
  if (documents === undefined || !hasEnded(seen)) return { run: seen };
  try {
    const { run, paths, warnings } = await documents.save(id, seen);
    reporter.savedDocuments(paths);
    for (const warning of warnings) reporter.warn(warning);
    return { run };
  } catch (failure) {
    return { run: seen, failure };
  }
}
