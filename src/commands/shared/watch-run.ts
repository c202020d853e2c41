/** Following one run to its end and saying how it ended: what `run` and `watch` share. */
import type { WaitSettings } from '../../config/wait.js';
import type { History } from '../../history/history.js';
import type { DocumentFolder } from '../../output-documents/document-folder.js';
import type { Interruption } from '../../platform/signals.js';
import { followRun } from '../../service/follow-run.js';
import { getRun } from '../../service/get-run.js';
import { hasEnded, isKnownStatus, type Run } from '../../service/run.js';
import type { Service } from '../../service/service.js';
import type { ProgressView } from '../../view/progress/run-progress.js';
import type { Reporter } from '../../view/reporter.js';
import type { RunPrinter } from './print-run.js';

/** How the observation of a run ended. */
export interface WatchOutcome {
  id: string;
  /** As it was seen last. */
  run: Run | undefined;
  /** Whether our own trigger created it. */
  accepted: boolean;
  /** Whether it was seen before it had ended. */
  wasUnderWay: boolean;
  /** What ended the observation before the run did; undefined where a timeout or the run itself did. */
  error: unknown;
  /** Milliseconds since 1970 at which the observation began. */
  startedAt: number;
  /** Milliseconds of observation. */
  durationMs: number;
}

export interface WatchRunOptions {
  id: string;
  accepted?: Run;
  wait: WaitSettings;
  service: Service;
  interruption: Interruption;
  reporter: Reporter;
  progress: ProgressView;
  results: RunPrinter;
  history: History;
  /** Where the documents in the output are to be saved. */
  documents: DocumentFolder | undefined;
}

/** Follows a run and shows each change. Never throws what ended the observation: it is in the outcome. */
export async function watchRun(observed: WatchRunOptions): Promise<WatchOutcome> {
  const { id, accepted, wait, service, interruption, progress, results, reporter } = observed;
  const { history, documents } = observed;
  const { clock } = service;
  const startedAt = clock.now();
  const started = clock.monotonic();
  const warned = new Set<string>();
  let run = accepted;
  let error: unknown;
  let wasUnderWay = false;
  const saveDocuments = async (seen: Run) => {
    if (documents === undefined || !hasEnded(seen)) return;
    const { run: saved, paths, warnings } = await documents.save(id, seen);
    run = saved;
    reporter.savedDocuments(paths);
    for (const warning of warnings) reporter.warn(warning);
  };
  const show = async (seen: Run) => {
    warnOfStatus(seen, warned, reporter);
    run = seen;
    wasUnderWay ||= !hasEnded(seen);
    progress.seen(id, seen);
    const failure = await saveDocuments(seen).catch((thrown) => thrown);
    await results.changed(run);
    if (failure !== undefined) throw failure;
  };
  try {
    if (accepted !== undefined) await show(accepted);
    for await (const seen of followRun(id, {
      poll: (signal) => getRun(id, service, signal),
      clock,
      signal: interruption.signal,
      ...wait,
      ...(accepted && { accepted }),
      onFailedPoll: (failure, delay) =>
        reporter.retryingPoll(failure, delay, results.severalRuns ? id : undefined),
    })) {
      await show(seen);
    }
  } catch (thrown) {
    error = thrown;
  }
  progress.left(id);
  if (run !== undefined) history.seen({ ...run, baseUrl: service.baseUrl.href });
  const durationMs = clock.monotonic() - started;
  return { id, run, accepted: accepted !== undefined, wasUnderWay, error, startedAt, durationMs };
}

/** Warns of a status that the interface does not name, once for each. */
function warnOfStatus({ status }: Run, warned: Set<string>, reporter: Reporter): void {
  if (status === undefined || isKnownStatus(status) || warned.has(status)) return;
  warned.add(status);
  reporter.warn(`the status ${status} is unknown to wfr; waiting while it changes`);
}
