/** Following one run until it ends, the time is up or an error stops it: the same for run, watch, status and batch. */
import type { WaitSettings } from '../../config/wait.js';
import { followRun } from '../../service/follow-run.js';
import { getRun } from '../../service/get-run.js';
import { hasEnded, isKnownStatus, type Run } from '../../service/run.js';
import type { Session } from './session.js';

/** How the watching of a run ended. */
export interface WatchOutcome {
  id: string;
  /** As it was seen last, or as `onChange` returned it. */
  run: Run | undefined;
  /** Whether our own trigger created it. */
  accepted: boolean;
  /** Whether it was seen before it had ended. */
  wasUnderWay: boolean;
  /** What ended the watching before the run did; undefined where a timeout or the run itself did. */
  error: unknown;
  /** Milliseconds since 1970 at which the watching began. */
  startedAt: number;
  /** Milliseconds of watching. */
  durationMs: number;
}

export interface WatchOptions {
  id: string;
  /** The run as our own trigger showed it, just now. */
  accepted?: Run;
  wait: WaitSettings;
  /** Return the run as it is at the first readable response. */
  once?: boolean;
  /** What failed polls are reported under; nothing is reported of them where it is null. */
  label?: string | null;
  /** Whether a shared rate limiter slows all requests down when the service asks for it. */
  isRateLimited?: boolean;
  /** Whether the run is known to exist, though this process has not seen it. */
  exists?: boolean;
  /** Ends the watching by throwing its reason; the session's interruption by default. */
  signal?: AbortSignal;
  /** Called with the run whenever it has changed; returns it as it is to be remembered. What it throws ends the watching. */
  onChange?(run: Run): Promise<Run>;
}

/** Follows a run. Never throws what ended the watching: that is the outcome's `error`. */
export async function watchRun(options: WatchOptions, session: Session): Promise<WatchOutcome> {
  const { id, accepted, onChange = async (run: Run) => run } = options;
  const { clock } = session.service;
  const startedAt = clock.now();
  const started = clock.monotonic();
  let run: Run | undefined;
  let wasUnderWay = false;
  let error: unknown;
  try {
    for await (const seen of changesOf(options, session)) {
      warnOfUnknownStatus(seen, session);
      wasUnderWay ||= !hasEnded(seen);
      run = seen;
      run = await onChange(seen);
      if (options.once) break;
    }
  } catch (thrown) {
    error = thrown;
  }
  const durationMs = clock.monotonic() - started;
  return { id, run, accepted: accepted !== undefined, wasUnderWay, error, startedAt, durationMs };
}

/** Reads a run until its first readable response. Never throws. `label` is as in WatchOptions. */
export function pollOnce(id: string, label: string | undefined, session: Session): Promise<WatchOutcome> {
  const wait = { interval: 0, maxInterval: 0, timeout: undefined };
  return watchRun({ id, wait, once: true, ...(label !== undefined && { label }) }, session);
}

/** The run as it was accepted, if it was, and whenever it has changed. */
async function* changesOf(
  { id, accepted, wait, label, isRateLimited = false, exists = false, signal }: WatchOptions,
  { service, interruption, reporter }: Session,
): AsyncGenerator<Run, void, void> {
  if (accepted !== undefined) yield accepted;
  yield* followRun(id, {
    poll: (ends) => getRun(id, service, ends),
    clock: service.clock,
    signal: signal ?? interruption.signal,
    ...wait,
    isPaced: isRateLimited,
    exists,
    ...(accepted && { accepted }),
    ...(label !== null && {
      onFailedPoll: (failure, delay) => reporter.retryingPoll(failure, delay, label),
    }),
  });
}

/** Warns of a status that the interface does not name, once for each. */
function warnOfUnknownStatus({ status }: Run, { reporter }: Session): void {
  if (status === undefined || isKnownStatus(status)) return;
  reporter.warnOnce(`the status ${status} is unknown to wfr; waiting while it changes`);
}
