/** Polls one run and yields its changes, until it ends, a timeout or a signal. */
import { WfrError } from '../errors.js';
import type { Clock } from '../platform/context.js';
import { formatDuration } from '../text/quantity.js';
import { startAwakeTime } from './awake-time.js';
import { NetworkError, type PollFailure, UnreadableResponseError, unreachableRun } from './errors.js';
import type { RunResponse } from './get-run.js';
import { HttpError } from './http-error.js';
import { NO_ROOM, type ResponsePlace } from './response-memory.js';
import { backoff, MAX_RETRY_AFTER } from './retry.js';
import { hasEnded, isKnownStatus, type Run } from './run.js';
import { startDeadline } from './time-limits.js';

/** All times in milliseconds. */
export interface FollowOptions {
  /** Reads the run once; aborted by the signal. */
  poll(signal: AbortSignal): Promise<RunResponse>;
  /** Where the run waits to be printed once it has ended. The timeout does not include the wait for room in it. */
  place: ResponsePlace;
  clock: Clock;
  /** Ends the stream, which throws the signal's reason. */
  signal: AbortSignal;
  /** Grows, up to `maxInterval`, while the run does not change. */
  interval: number;
  maxInterval: number;
  /** How long to follow; no limit if undefined. */
  timeout?: number | undefined;
  /** The run in the response to our own trigger. */
  accepted?: Run | undefined;
  /** Whether an earlier trigger of ours created the run, so that it exists although it has not been read yet. */
  exists?: boolean | undefined;
  /** Whether a rate limiter slows all requests down after a 429, so that followRun need not. */
  isRateLimited?: boolean;
  /** Called after each failed poll that is retried after `delay`; `tries` is such as 1/3 where retries are limited. */
  onFailedPoll?(failure: PollFailure, delay: number, tries: string | undefined): void;
}

/** How much the interval grows with each poll. */
const GROWTH = 1.5;
/**
 * How long a status may be unknown, how long a run that exists may be unreachable, and how long unexpected statuses are
 * retried (ms).
 */
const MAX_UNKNOWN_STATUS = 5 * 60_000;
const MAX_UNREACHABLE = 5 * 60_000;
const MAX_UNEXPECTED = 60_000;
/** Retries for a run that was never read. */
const MAX_FIRST_RETRIES = 3;
/** Extra time for a poll that is in flight when the timeout passes. */
const LAST_POLL_GRACE = 5_000;

/**
 * Yields the run whenever its JSON has changed, and returns when it has ended or the timeout has passed, after one last
 * poll. Only the timeout counts time in which the process was stopped. Throws HttpError, another WfrError
 * if it can no longer be read or keeps an unknown status, and the signal's reason.
 */
export async function* followRun(id: string, options: FollowOptions): AsyncGenerator<Run, void, void> {
  const { accepted, place, clock, signal, timeout = Number.POSITIVE_INFINITY } = options;
  if (hasEnded(accepted)) return;
  const awake = startAwakeTime(clock);
  let deadline = clock.monotonic() + timeout;
  let run = accepted;
  let interval = options.interval;
  let retries = 0;
  // When the status last changed, and when polls began to fail and to have an unexpected status (ms of `awake`).
  let statusSince = 0;
  let failingSince: number | undefined;
  let unexpectedSince: number | undefined;
  let delay: number | undefined = accepted ? interval : 0;
  try {
    while (delay !== undefined) {
      await clock.sleep(Math.min(delay, timeLeft()), signal);
      const { changed, nextDelay } = await poll();
      if (changed) yield changed;
      delay = nextDelay;
    }
  } finally {
    awake.end();
  }

  function timeLeft(): number {
    return Math.max(0, deadline - clock.monotonic());
  }

  /** Returns the run if it has changed, and the milliseconds to the next poll; undefined after the last one. */
  async function poll(): Promise<{ changed?: Run | undefined; nextDelay: number | undefined }> {
    try {
      return onResponse(await pollInTime());
    } catch (error) {
      signal.throwIfAborted();
      const isUnreadable = error instanceof NetworkError || error instanceof UnreadableResponseError;
      if (isUnreadable || error instanceof HttpError) return { nextDelay: onPollFailure(error) };
      if (error !== NO_ROOM) throw error;
      const since = clock.monotonic();
      await place.waitForRoom(signal);
      deadline += clock.monotonic() - since;
      // The run could be read before the wait.
      failingSince = undefined;
      return { nextDelay: 0 };
    }
  }

  async function pollInTime(): Promise<RunResponse> {
    const limit = startDeadline('the service', signal, clock);
    // With a timeout of 0, the only poll has the limits of its request.
    const grace = timeout === 0 ? Number.POSITIVE_INFINITY : LAST_POLL_GRACE;
    limit.restart(timeLeft() + grace, 'no-response', LAST_POLL_GRACE);
    try {
      return await options.poll(limit.signal);
    } finally {
      limit.end();
    }
  }

  function onResponse({ run: next, retryAfter = 0 }: RunResponse) {
    const previous = run;
    const now = awake.elapsed();
    const hasChanged = !previous || Buffer.compare(previous.json, next.json) !== 0;
    if (previous?.status !== next.status) statusSince = now;
    run = next;
    failingSince = undefined;
    unexpectedSince = undefined;
    retries = 0;
    // Only a stop after this poll excuses a failure of the next one.
    awake.consumeStop();
    assertKnownStatus(next, now - statusSince);
    // A run that has not ended is small, and soon replaced by the next response.
    if (hasEnded(next)) place.hold();
    else place.end();
    interval = hasChanged ? options.interval : Math.min(interval * GROWTH, options.maxInterval);
    // A poll during which the timeout passed is the last one.
    const isLast = hasEnded(next) || timeLeft() <= 0;
    return {
      changed: hasChanged ? next : undefined,
      nextDelay: isLast ? undefined : Math.max(interval, Math.min(retryAfter, MAX_RETRY_AFTER)),
    };
  }

  /** Returns the milliseconds to the next poll, undefined after the last one. Throws when the failure is final. */
  function onPollFailure(failure: PollFailure): number | undefined {
    const now = awake.elapsed();
    const { status, retryAfter = 0 } = failure.facts.response ?? {};
    const isSeen = Boolean(run);
    // A status that blames the request (400, 404, a redirect), which is unexpected for a run that exists.
    const isUnexpected = status !== undefined && !failure.facts.isTemporary;
    failingSince ??= now;
    unexpectedSince = isUnexpected ? (unexpectedSince ?? now) : undefined;
    const unreachable = unreachableRun(id, failure, isSeen ? now - failingSince : 0);
    const isHopeless = failure instanceof NetworkError && !failure.facts.isTemporary && !isSeen;
    if (isHopeless || failure.facts.code === 'output-not-written') throw unreachable;
    // Of a run that exists, polls are retried: exit code 5 would tell a script that there is none.
    const mustExist = isSeen || options.exists;
    if (status === 401 || status === 403 || (isUnexpected && !mustExist)) throw failure;
    // The shared rate limiter handles a 429: a backoff of its own would delay one of many runs.
    const isLimited = options.isRateLimited && status === 429;
    const exists = isSeen || isUnexpected || isLimited;
    // A stop of the process may have caused this failure, so the next poll decides.
    if (!awake.consumeStop()) {
      const isLast = timeLeft() <= 0;
      if (isLast && isSeen) return undefined;
      const isUnexpectedTooLong = unexpectedSince !== undefined && now - unexpectedSince >= MAX_UNEXPECTED;
      const isTooLong = exists
        ? isUnexpectedTooLong || now - failingSince >= MAX_UNREACHABLE
        : retries >= MAX_FIRST_RETRIES;
      // A run that was never read, after 404s for 60 s, does not exist.
      const isMissing = isUnexpectedTooLong && !isSeen && failure.facts.code === 'no-such-run';
      if (isLast || isTooLong) throw isMissing ? failure : unreachable;
    }
    const ownDelay = isLimited ? interval : backoff(retries++, clock.random());
    const delay = Math.max(ownDelay, Math.min(retryAfter, MAX_RETRY_AFTER));
    options.onFailedPoll?.(failure, delay, exists ? undefined : `${retries}/${MAX_FIRST_RETRIES}`);
    return delay;
  }
}

/** Throws where a status that wfr does not know has not changed for `forMs`, and for too long. */
function assertKnownStatus({ status = '' }: Run, forMs: number): void {
  if (isKnownStatus(status) || forMs < MAX_UNKNOWN_STATUS) return;
  const summary = `the status ${status} is unknown to wfr and has not changed for ${formatDuration(forMs)}`;
  throw new WfrError('unknown-status', [summary], {
    hints: ["Check the service's documentation; a newer wfr may know this status."],
    isTemporary: true,
  });
}
