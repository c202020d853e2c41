/** Polls one run and yields its changes, until it ends, a timeout or a signal. */
import { WfrError } from '../errors.js';
import type { Clock } from '../platform/context.js';
import { formatDuration } from '../text/quantity.js';
import { NetworkError, type PollFailure, UnreadableResponseError, unreachableRun } from './errors.js';
import type { RunResponse } from './get-run.js';
import { HttpError } from './http-error.js';
import { NoRoomError, type ResponsePlace } from './response-memory.js';
import { backoff, MAX_RETRY_AFTER } from './retry.js';
import { hasEnded, isKnownStatus, type Run } from './run.js';
import { AwakeTime, Deadline } from './time-limits.js';

/** All times in milliseconds. */
export interface FollowOptions {
  /** Reads the run once; aborted by the signal. */
  poll(signal: AbortSignal): Promise<RunResponse>;
  /** Where the run waits to be printed once it has ended. The timeout does not include the wait for room in it. */
  place: ResponsePlace;
  clock: Clock;
  /** Ends the stream, which throws the signal's reason. */
  signal: AbortSignal;
  interval: number;
  /** The interval grows by this factor, up to `maxInterval`, while the run does not change. */
  growth: number;
  maxInterval: number;
  /** How long to follow; no limit if undefined. */
  timeout: number | undefined;
  /** The run in the response to our own trigger. */
  accepted?: Run;
  /** Whether an earlier trigger of ours created the run, so that it exists although it has not been read yet. */
  exists?: boolean;
  /** Whether a rate limiter slows all requests down after a 429, so that followRun need not. */
  isRateLimited?: boolean;
  /** Called after each failed poll that is retried after `delay`; `tries` is such as 1/3 where retries are limited. */
  onFailedPoll?(failure: PollFailure, delay: number, tries: string | undefined): void;
}

/** How long a status may be unknown, how long a run that exists may be unreachable, and how long unexpected statuses are retried (ms). */
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
  const { clock, signal } = options;
  if (options.accepted !== undefined && hasEnded(options.accepted)) return;
  const follower = new RunFollower(id, options);
  let delay = options.accepted === undefined ? 0 : options.interval;
  try {
    for (;;) {
      await clock.sleep(Math.min(delay, follower.timeLeft()), signal);
      const { changed, nextDelay } = await follower.poll();
      if (changed !== undefined) yield changed;
      if (nextDelay === undefined) return;
      delay = nextDelay;
    }
  } finally {
    follower.end();
  }
}

/** The state of one run that is being followed. */
class RunFollower {
  readonly #awake: AwakeTime;
  #deadline: number;
  #run: Run | undefined;
  #interval: number;
  /** When the status last changed, and when polls began to fail and to have an unexpected status (ms of `#awake`). */
  #statusSince = 0;
  #failingSince: number | undefined;
  #unexpectedSince: number | undefined;
  #retries = 0;

  constructor(
    private readonly id: string,
    private readonly options: FollowOptions,
  ) {
    this.#awake = new AwakeTime(options.clock);
    this.#deadline = options.clock.monotonic() + (options.timeout ?? Number.POSITIVE_INFINITY);
    this.#run = options.accepted;
    this.#interval = options.interval;
  }

  timeLeft(): number {
    return Math.max(0, this.#deadline - this.options.clock.monotonic());
  }

  end(): void {
    this.#awake.end();
  }

  /** Returns the run if it has changed, and the milliseconds to the next poll; undefined after the last one. */
  async poll(): Promise<{ changed?: Run | undefined; nextDelay: number | undefined }> {
    const { clock, signal, place } = this.options;
    try {
      return this.#onResponse(await this.#pollInTime());
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NoRoomError) {
        const since = clock.monotonic();
        await place.waitForRoom(signal);
        this.#deadline += clock.monotonic() - since;
        // The run could be read before the wait.
        this.#failingSince = undefined;
        return { nextDelay: 0 };
      }
      if (isPollFailure(error)) return { nextDelay: this.#onPollFailure(error) };
      throw error;
    }
  }

  async #pollInTime(): Promise<RunResponse> {
    const { clock, signal, poll, timeout } = this.options;
    const deadline = new Deadline('the service', signal, clock);
    // With a timeout of 0, the only poll has the limits of its request.
    const grace = timeout === 0 ? Number.POSITIVE_INFINITY : LAST_POLL_GRACE;
    deadline.allow(this.timeLeft() + grace, 'no-response', LAST_POLL_GRACE);
    try {
      return await poll(deadline.signal);
    } finally {
      deadline.end();
    }
  }

  #onResponse({ run, retryAfter }: RunResponse) {
    const { interval, growth, maxInterval, place } = this.options;
    const previous = this.#run;
    const now = this.#awake.elapsed();
    const hasChanged = previous === undefined || Buffer.compare(previous.json, run.json) !== 0;
    if (previous?.status !== run.status) this.#statusSince = now;
    this.#run = run;
    this.#failingSince = undefined;
    this.#unexpectedSince = undefined;
    this.#retries = 0;
    // Only a stop after this poll excuses a failure of the next one.
    this.#awake.consumeStop();
    assertKnownStatus(run, now - this.#statusSince);
    // A run that has not ended is small, and soon replaced by the next response.
    if (hasEnded(run)) place.hold();
    else place.end();
    this.#interval = hasChanged ? interval : Math.min(this.#interval * growth, maxInterval);
    const delay = Math.max(this.#interval, Math.min(retryAfter ?? 0, MAX_RETRY_AFTER));
    // A poll during which the timeout passed is the last one.
    const nextDelay = hasEnded(run) || this.timeLeft() <= 0 ? undefined : delay;
    return { changed: hasChanged ? run : undefined, nextDelay };
  }

  /** Returns the milliseconds to the next poll, undefined after the last one. Throws when the failure is final. */
  #onPollFailure(failure: PollFailure): number | undefined {
    const { clock, isRateLimited, onFailedPoll } = this.options;
    const now = this.#awake.elapsed();
    const http = failure instanceof HttpError ? failure.info : undefined;
    const isUnexpected = isUnexpectedStatus(failure);
    this.#failingSince ??= now;
    this.#unexpectedSince = isUnexpected ? (this.#unexpectedSince ?? now) : undefined;
    this.#throwIfFinal(failure);
    const isSeen = this.#run !== undefined;
    // The shared rate limiter handles a 429: a backoff of its own would delay one of many runs.
    const isLimited = isRateLimited === true && http?.status === 429;
    const exists = isSeen || isUnexpected || isLimited;
    // A stop of the process may have caused this failure, so the next poll decides.
    if (!this.#awake.consumeStop()) {
      const isLast = this.timeLeft() <= 0;
      if (isLast && isSeen) return undefined;
      const isTooLong = exists
        ? now - this.#failingSince >= MAX_UNREACHABLE || this.#isUnexpectedTooLong(now)
        : this.#retries >= MAX_FIRST_RETRIES;
      if (isLast || isTooLong) throw this.#finalError(failure, now);
    }
    const ownDelay = isLimited ? this.#interval : backoff(this.#retries++, clock.random());
    const delay = Math.max(ownDelay, Math.min(http?.retryAfter ?? 0, MAX_RETRY_AFTER));
    onFailedPoll?.(failure, delay, exists ? undefined : `${this.#retries}/${MAX_FIRST_RETRIES}`);
    return delay;
  }

  /** Throws for a failure that no other poll can change. */
  #throwIfFinal(failure: PollFailure): void {
    const isSeen = this.#run !== undefined;
    if (
      failure instanceof NetworkError &&
      (failure.fault === 'too-large' || (!isSeen && failure.isPermanent))
    )
      throw this.#unreachable(failure);
    if (!(failure instanceof HttpError)) return;
    const { status } = failure.info;
    if (status === 401 || status === 403) throw failure;
    // Of a run that exists, polls are retried: exit code 5 would tell a script that there is none.
    if (isSeen || this.options.exists === true || !isUnexpectedStatus(failure)) return;
    throw failure;
  }

  /** Returns the error of the last failure. A run that was never read, after 404s for 60 s, does not exist. */
  #finalError(failure: PollFailure, now: number): WfrError {
    const isMissing = failure.code === 'no-such-run' && this.#run === undefined;
    return isMissing && this.#isUnexpectedTooLong(now) ? failure : this.#unreachable(failure);
  }

  #unreachable(failure: PollFailure): WfrError {
    const now = this.#awake.elapsed();
    return unreachableRun(this.id, failure, this.#run !== undefined, now - (this.#failingSince ?? now));
  }

  /** Returns whether every poll of the last 60 s had an unexpected status. */
  #isUnexpectedTooLong(now: number): boolean {
    return this.#unexpectedSince !== undefined && now - this.#unexpectedSince >= MAX_UNEXPECTED;
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

/** Returns whether a status blames the request (400, 404, a redirect), which is unexpected for a run that exists. */
function isUnexpectedStatus(failure: PollFailure): boolean {
  return failure instanceof HttpError && !failure.facts.isTemporary;
}

function isPollFailure(error: unknown): error is PollFailure {
  return (
    error instanceof NetworkError || error instanceof HttpError || error instanceof UnreadableResponseError
  );
}
