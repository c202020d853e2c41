/** Watches a run until it ends, a timeout or an error, and shows it: for run, watch, status and batch. */
import type { WaitSettings } from '../../config/resolve-setting.js';
import { type Facts, WfrError } from '../../errors.js';
import { factsOf } from '../../outcome/describe-error.js';
import { type Outcome, stateOfRun } from '../../outcome/outcome.js';
import type { DocumentFolder } from '../../output-documents/document-folder.js';
import { followRun } from '../../service/follow-run.js';
import { getRun } from '../../service/get-run.js';
import type { ResponsePlace } from '../../service/response-memory.js';
import {
  type EndedRun,
  hasEnded,
  isFinished,
  isKnownStatus,
  outputOf,
  type Run,
  withoutJson,
} from '../../service/run.js';
import { parseTime } from '../../text/quantity.js';
import { printOutcome, type ResumePlan } from './print-outcome.js';
import { printEnd, printRun } from './print-run.js';
import type { Session } from './session.js';

/** How the watching of a run ended; its `error` is what stopped it before the run's end or the timeout. */
export interface WatchOutcome extends Outcome {
  id: string;
  /** What was thrown, of which `error` has the facts. */
  thrown: unknown;
  /** Set where another command triggered the run, and it had ended before this one first read it: its duration is unknown. */
  late: true | undefined;
}

export interface WatchOptions {
  id: string;
  /** The run as the trigger returned it, or as it ended for an earlier command. */
  known?: Run | undefined;
  /** How often it is polled, and how long; without it, the watching stops after the first readable response. */
  wait?: WaitSettings;
  /** Where its response is in memory, until the caller ends this; by default until this function returns. */
  place?: ResponsePlace | undefined;
  /** The prefix of messages about failed polls; null leaves them to the gate. */
  label?: string | null | undefined;
  /** Whether the run is known to exist, although this process has not seen it. */
  exists?: boolean;
  /** The error if the service does not know it; by default that of its response. */
  lost?: WfrError | undefined;
  /** Stops the watching; by default the session's interruption. */
  signal?: AbortSignal;
  /** Called whenever the run has changed; returns the run to remember. What it throws stops the watching. */
  onChange?(run: Run): Promise<Run>;
}

/** Watches a run. Never throws. */
export async function watchRun(options: WatchOptions, session: Session): Promise<WatchOutcome> {
  const { service, interruption, reporter } = session;
  const { clock } = service;
  const { id, known, wait, label, exists, onChange = async (run: Run) => run } = options;
  const { place = service.openPlace(), lost } = options;
  const startedAt = clock.now();
  const started = clock.monotonic();
  let run: Run | undefined;
  let thrown: unknown;
  let late: true | undefined;
  const see = async (seen: Run) => {
    const { status } = seen;
    if (status !== undefined && !isKnownStatus(status))
      reporter.warnOnce(`the status ${status} is unknown to wfr, which waits up to 5m for it to change`);
    reporter.answered();
    if (!known && !run && hasEnded(seen)) late = true;
    run = seen;
    run = await onChange(seen);
  };
  try {
    if (known) await see(known);
    const changes = followRun(id, {
      poll: (ends) => getRun(id, service, ends, place),
      place,
      clock,
      signal: options.signal ?? interruption.signal,
      ...(wait ?? { interval: 0, maxInterval: 0 }),
      isRateLimited: Boolean(service.gate),
      exists,
      accepted: known,
      onFailedPoll: (failure, delay, tries) =>
        label === null
          ? service.gate?.onFailedPoll(failure, delay)
          : reporter.retrying(failure, delay, tries, label),
    });
    for await (const seen of changes) {
      await see(seen);
      if (!wait) break;
    }
  } catch (error) {
    const facts = factsOf(error);
    thrown = facts.code === 'no-such-run' ? (lost ?? (await withAdvice(facts))) : error;
  }
  if (!options.place) place.end();
  const durationMs = clock.monotonic() - started;
  return withError(thrown, { id, run, late, startedAt, durationMs });

  /** Returns the error of a run that the service does not know, with what the history knows of its id. */
  async function withAdvice(facts: Facts) {
    const { href } = service.baseUrl;
    const services = await session.history.servicesOf(id);
    const known = services?.length ? 'lists yours' : 'has no run with it';
    const aboutId = services ? ` (wfr history ${known})` : '';
    const elsewhere = services?.includes(href) ? undefined : services?.[0];
    const hint = elsewhere
      ? `Triggered at another service: ${elsewhere}`
      : `Check the id${aboutId}, and the base URL: ${href}`;
    return new WfrError(facts.code, facts.summary, { ...facts, hints: [hint] });
  }
}

/** Returns the outcome with what was thrown, if anything was, and with the state that follows. */
function withError(thrown: unknown, outcome: Omit<WatchOutcome, 'state' | 'thrown'>): WatchOutcome {
  const error = thrown === undefined ? undefined : factsOf(thrown);
  return { ...outcome, thrown, error, state: stateOfRun(outcome.run, error) };
}

/** How runs are shown: progress and their ends on stderr, results on stdout, documents and outputs in files. */
export interface RunView extends ResumePlan {
  wait: WaitSettings;
  /** Whether this command triggered the run; undefined where it has not named it either. */
  wasTriggered?: boolean;
  /** The folder of --save-documents; undefined leaves documents in the output. */
  documents?: DocumentFolder | undefined;
  /** Returns the name of a run's folder in that one; undefined where there is only one run. */
  folderOf?: ((id: string) => string) | undefined;
  /** Saves the output of a finished run; undefined without --save-outputs. Throws OutputError. */
  saveOutput?: ((id: string, output: Uint8Array) => Promise<void>) | undefined;
}

/**
 * Watches a run, shows each change and its end, and records its last state in the history; `onEnd` gets it as the service
 * sent it. Returns how it ended, with the times of the run unless this command triggered it. Never throws.
 */
export async function watchAndShow(
  { onEnd, ...options }: Pick<WatchOptions, 'id' | 'known' | 'lost'> & { onEnd?(run: EndedRun): void },
  view: RunView,
  session: Session,
): Promise<WatchOutcome> {
  const { id } = options;
  const { format, wait, documents, severalRuns = false } = view;
  const { reporter, history, service } = session;
  const place = service.openPlace();
  let isFirst = true;
  const onChange = async (seen: Run) => {
    if (isFirst && view.wasTriggered === undefined && !severalRuns) reporter.run(id, seen.versionName);
    reporter.runs?.seen(id, withoutJson(seen));
    if (hasEnded(seen)) onEnd?.(seen);
    let run = seen;
    try {
      if (documents && hasEnded(seen)) {
        const saved = await documents.save(seen, view.folderOf?.(id));
        run = saved.run;
        if (saved.paths.length > 0 || isFinished(seen)) reporter.savedDocuments(id, saved.paths);
        for (const warning of saved.warnings) reporter.warn(warning);
      }
    } finally {
      if (format === 'jsonl' || (format === 'id' && isFirst))
        await printRun(run, format, severalRuns, session);
      isFirst = false;
    }
    if (isFinished(run)) await view.saveOutput?.(id, outputOf(run));
    return run;
  };
  const exists = view.wasTriggered === false;
  const label = severalRuns ? id : undefined;
  const watched = await watchRun({ ...options, wait, exists, label, place, onChange }, session);
  const { run } = watched;
  // Another command may have seen its end.
  const late = watched.late ?? (hasEnded(options.known) || undefined);
  const timed = view.wasTriggered ? watched : withRunTimes({ ...watched, late }, service);
  reporter.runs?.done(timed);
  const isEnd = hasEnded(run) && !late;
  if (run) history.recordStatus({ ...run, baseUrl: service.baseUrl.href }, { isEnd });
  if (!severalRuns) reporter.stopProgress();
  const outputError: unknown = run && (await printEnd(run, view, session).catch((error) => error));
  const outcome = withError(watched.thrown ?? outputError, timed);
  printOutcome(outcome, watched.durationMs, view, session);
  place.end();
  return outcome;
}

/**
 * Returns the outcome with the times of the run for reports, rather than those of the watching: it began when it was created,
 * and has no duration where nobody saw its end.
 */
export function withRunTimes(outcome: WatchOutcome, { clock }: Session['service']): WatchOutcome {
  const { run, late } = outcome;
  const startedAt = parseTime(run?.createdAt ?? '');
  const durationMs = clock.now() - startedAt;
  const times = durationMs >= 0 && { startedAt, durationMs };
  return { ...outcome, ...times, ...(late && { durationMs: undefined }) };
}
