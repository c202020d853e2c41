/** Watches one run until it ends, a timeout or an error: for run, watch, status and batch. */
import type { WaitSettings } from '../../config/wait.js';
import { followRun } from '../../service/follow-run.js';
import { getRun, getRunInPlace } from '../../service/get-run.js';
import type { ResponsePlace } from '../../service/response-memory.js';
import { hasEnded, isKnownStatus, type Run } from '../../service/run.js';
import type { Session } from './session.js';

/** How the watching of a run ended. */
export interface WatchOutcome {
  id: string;
  /** The run as last seen, or as `onChange` returned it. */
  run: Run | undefined;
  /** Whether this command triggered it. */
  wasTriggered: boolean;
  /** Whether it was seen before it had ended. */
  wasRunning: boolean;
  /** What stopped the watching; undefined where the run ended or the timeout expired. */
  error: unknown;
  /** When the watching began (ms since 1970). */
  startedAt: number;
  durationMs: number;
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
  /** Whether a shared rate limiter handles Retry-After. */
  isRateLimited?: boolean;
  /** Whether the run is known to exist, although this process has not seen it. */
  exists?: boolean;
  /** Stops the watching; by default the session's interruption. */
  signal?: AbortSignal;
  /** Called whenever the run has changed; returns the run to remember. What it throws stops the watching. */
  onChange?(run: Run): Promise<Run>;
}

/** Watches a run. Never throws: what stopped the watching is the outcome's `error`. */
export async function watchRun(options: WatchOptions, session: Session): Promise<WatchOutcome> {
  const { id, accepted, onChange = async (run: Run) => run } = options;
  const { clock } = session.service;
  const startedAt = clock.now();
  const started = clock.monotonic();
  let run: Run | undefined;
  let wasRunning = false;
  let error: unknown;
  try {
    for await (const seen of runChanges(options, session)) {
      warnAboutUnknownStatus(seen, session);
      wasRunning ||= !hasEnded(seen);
      run = seen;
      run = await onChange(seen);
      if (options.stopAtFirst) break;
      if (!hasEnded(run)) options.place?.end();
    }
  } catch (thrown) {
    error = thrown;
  }
  const durationMs = clock.monotonic() - started;
  return { id, run, wasTriggered: accepted !== undefined, wasRunning, error, startedAt, durationMs };
}

/** Polls a run until the first readable response. Never throws. */
export function pollOnce(
  id: string,
  label: string | undefined,
  session: Session,
  place?: ResponsePlace,
): Promise<WatchOutcome> {
  const wait = { interval: 0, maxInterval: 0, timeout: undefined };
  const options = { ...(label !== undefined && { label }), ...(place && { place }) };
  return watchRun({ id, wait, stopAtFirst: true, ...options }, session);
}

/** Yields the accepted run, if any, then the run whenever it has changed. */
async function* runChanges(
  { id, accepted, wait, label, isRateLimited = false, exists = false, signal, place }: WatchOptions,
  { service, interruption, reporter }: Session,
): AsyncGenerator<Run, void, void> {
  if (accepted !== undefined) yield accepted;
  yield* followRun(id, {
    poll: (ends, whileWaiting) =>
      place === undefined ? getRun(id, service, ends) : getRunInPlace(id, service, ends, place, whileWaiting),
    clock: service.clock,
    signal: signal ?? interruption.signal,
    ...wait,
    isRateLimited: isRateLimited,
    exists,
    ...(accepted && { accepted }),
    ...(label !== null && {
      onFailedPoll: (failure, delay) => reporter.retryingPoll(failure, delay, label),
    }),
  });
}

/** Warns once about each status that the interface does not define. */
function warnAboutUnknownStatus({ status }: Run, { reporter }: Session): void {
  if (status === undefined || isKnownStatus(status)) return;
  reporter.warnOnce(`the status ${status} is unknown to wfr, which waits up to 5m for it to change`);
}
