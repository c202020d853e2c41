/** Watches a run until it ends, a timeout or an error, and shows it: for run, watch, status and batch. */

import type { WaitSettings } from '../../config/resolve-setting.js';
import { factsOf } from '../../outcome/describe-error.js';
import { type Outcome, stateOfRun } from '../../outcome/outcome.js';
import type { DocumentFolder } from '../../output-documents/document-folder.js';
import { NoSuchRunError } from '../../service/errors.js';
import { followRun } from '../../service/follow-run.js';
import { getRun, getRunInPlace } from '../../service/get-run.js';
import type { ResponsePlace } from '../../service/response-memory.js';
import {
  type EndedRun,
  hasEnded,
  isKnownStatus,
  outputOf,
  type Run,
  withoutJson,
} from '../../service/run.js';
import type { ProgressView } from '../../view/progress/run-progress.js';
import type { RunPrinter } from './print-run.js';
import type { Session } from './session.js';

/** How the watching of a run ended; its `error` is what stopped it before the run's end or the timeout. */
export interface WatchOutcome extends Outcome {
  id: string;
  /** What was thrown, of which `error` has the facts. */
  thrown: unknown;
  /** Whether this command triggered it. */
  wasTriggered: boolean;
  /** Whether it was seen before it had ended. */
  wasRunning: boolean;
}

export interface WatchOptions {
  id: string;
  /** The run as this command's trigger returned it. */
  accepted?: Run;
  wait: WaitSettings;
  /** Of a run among others: its response is in memory until the caller ends this, or the run has not ended. */
  place?: ResponsePlace;
  /** Whether to stop after the first readable response. */
  stopAtFirst?: boolean;
  /** The prefix of messages about failed polls; null turns them off. */
  label?: string | null;
  /** Whether the run is known to exist, although this process has not seen it. */
  exists?: boolean;
  /** Stops the watching; by default the session's interruption. */
  signal?: AbortSignal;
  /** Called whenever the run has changed; returns the run to remember. What it throws stops the watching. */
  onChange?(run: Run): Promise<Run>;
}

/** Watches a run. Never throws. */
export async function watchRun(options: WatchOptions, session: Session): Promise<WatchOutcome> {
  const { id, accepted, onChange = async (run: Run) => run } = options;
  const { clock } = session.service;
  const startedAt = clock.now();
  const started = clock.monotonic();
  let run: Run | undefined;
  let wasRunning = false;
  let thrown: unknown;
  try {
    for await (const seen of runChanges(options, session)) {
      warnAboutUnknownStatus(seen, session);
      wasRunning ||= !hasEnded(seen);
      run = seen;
      run = await onChange(seen);
      if (options.stopAtFirst) break;
      if (!hasEnded(run)) options.place?.end();
    }
  } catch (error) {
    thrown = error instanceof NoSuchRunError ? await withOtherService(error, session) : error;
  }
  const durationMs = clock.monotonic() - started;
  const watched = { id, workflowId: undefined, run, wasTriggered: accepted !== undefined, wasRunning };
  return withError(thrown, { ...watched, state: 'running', thrown, startedAt, durationMs });
}

/** Returns the error with the other service that the history has the run of, if there is one. */
async function withOtherService(error: NoSuchRunError, { history, service }: Session) {
  const known = await history.serviceOf(error.id);
  return known === service.baseUrl.href ? error : new NoSuchRunError(error.id, error.info, known);
}

/** Returns the outcome with another error than it had, if there is one, and with the state that follows. */
export function withError(thrown: unknown, outcome: WatchOutcome): WatchOutcome {
  const error = thrown === undefined ? undefined : factsOf(thrown);
  return { ...outcome, thrown, error, state: stateOfRun(outcome.run, error) };
}

/** Polls a run until the first readable response. Never throws. */
export function pollOnce(
  id: string,
  label: string | undefined,
  session: Session,
  place?: ResponsePlace,
): Promise<WatchOutcome> {
  const wait = { interval: 0, maxInterval: 0, growth: 1, timeout: undefined };
  const options = { ...(label !== undefined && { label }), ...(place && { place }) };
  return watchRun({ id, wait, stopAtFirst: true, ...options }, session);
}

/** Yields the accepted run, if any, then the run whenever it has changed. */
async function* runChanges(
  { id, accepted, wait, label, exists = false, signal, place }: WatchOptions,
  { service, interruption, reporter }: Session,
): AsyncGenerator<Run, void, void> {
  if (accepted !== undefined) yield accepted;
  yield* followRun(id, {
    poll: (ends, whileWaiting) =>
      place === undefined ? getRun(id, service, ends) : getRunInPlace(id, service, ends, place, whileWaiting),
    clock: service.clock,
    signal: signal ?? interruption.signal,
    ...wait,
    isRateLimited: service.gate !== undefined,
    exists,
    ...(accepted && { accepted }),
    ...(label !== null && {
      onFailedPoll: (failure, delay, tries) => reporter.retryingPoll(failure, delay, tries, label),
    }),
  });
}

/** Warns once about each status that the interface does not define. */
function warnAboutUnknownStatus({ status }: Run, { reporter }: Session): void {
  if (status === undefined || isKnownStatus(status)) return;
  reporter.warnOnce(`the status ${status} is unknown to wfr, which waits up to 5m for it to change`);
}

/** Where a run is shown: progress on stderr, documents in files, the result on stdout. */
export interface RunDisplay {
  printer: RunPrinter;
  progress: ProgressView;
  /** The folder of --save-documents; undefined leaves documents in the output. */
  documents: DocumentFolder | undefined;
  /** Saves the output of a finished run; undefined without --save-outputs. Throws UnsavedDocumentError. */
  saveOutput?: ((id: string, output: Uint8Array) => Promise<void>) | undefined;
}

/**
 * Watches a run, shows each change, and records its last state in the history; `onEnd` gets it as the service sent it.
 * Never throws.
 */
export async function watchAndShow(
  { onEnd, ...options }: Omit<WatchOptions, 'onChange'> & { onEnd?(run: EndedRun): void },
  { printer, progress, documents, saveOutput }: RunDisplay,
  session: Session,
): Promise<WatchOutcome> {
  const { id } = options;
  const onChange = async (seen: Run) => {
    progress.seen(id, withoutJson(seen));
    if (hasEnded(seen)) onEnd?.(seen);
    const { run, error } = await saveDocuments(id, seen, documents, session);
    await printer.printChange(run);
    if (error !== undefined) throw error;
    if (run.status === 'FINISHED') await saveOutput?.(id, outputOf(run));
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
