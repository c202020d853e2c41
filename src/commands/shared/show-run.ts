/** Watches a run and shows it: progress on stderr, documents in files, the result on stdout. */
import type { DocumentFolder } from '../../output-documents/document-folder.js';
import { type EndedRun, hasEnded, type Run, withoutJson } from '../../service/run.js';
import type { ProgressView } from '../../view/progress/run-progress.js';
import type { RunPrinter } from './print-run.js';
import type { Session } from './session.js';
import { type WatchOptions, type WatchOutcome, watchRun } from './watch-run.js';

/** Records the end of a run before it is shown. Never throws. */
interface Recorder {
  ended(run: EndedRun): Promise<void>;
}

/** Where a run is shown. */
export interface RunDisplay {
  printer: RunPrinter;
  progress: ProgressView;
  /** The folder of --save-documents; undefined leaves documents in the output. */
  documents: DocumentFolder | undefined;
}

/** Watches a run, shows each change, and records its last state in the history. Never throws. */
export async function watchAndShow(
  { recorder, ...options }: Omit<WatchOptions, 'onChange'> & { recorder?: Recorder },
  { printer, progress, documents }: RunDisplay,
  session: Session,
): Promise<WatchOutcome> {
  const { id } = options;
  const onChange = async (seen: Run) => {
    progress.seen(id, withoutJson(seen));
    if (hasEnded(seen)) await recorder?.ended(seen);
    const { run, error } = await saveDocuments(id, seen, documents, session);
    await printer.printChange(run);
    if (error !== undefined) throw error;
    return run;
  };
  const outcome = await watchRun({ ...options, onChange }, session);
  progress.done(id);
  const { run } = outcome;
  if (run !== undefined) session.history.recordStatus({ ...run, baseUrl: session.service.baseUrl.href });
  return outcome;
}

/** Returns the run with paths in place of its documents; if they cannot be saved, the run unchanged and the error. */
async function saveDocuments(
  id: string,
  seen: Run,
  documents: DocumentFolder | undefined,
  { reporter }: Session,
): Promise<{ run: Run; error?: unknown }> {
  if (documents === undefined || !hasEnded(seen)) return { run: seen };
  try {
    const { run, paths, warnings } = await documents.save(id, seen);
    if (paths.length > 0 || seen.status === 'FINISHED') reporter.savedDocuments(id, paths);
    for (const warning of warnings) reporter.warn(warning);
    return { run };
  } catch (error) {
    return { run: seen, error };
  }
}
