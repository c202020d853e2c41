/** Polls one run and yields its changes, until it ends, a timeout or a signal. */

import { WfrError } from '../errors.js';
import type { Clock } from '../platform/context.js';
import { formatDuration } from '../text/quantity.js';
import {
  HttpError,
  NetworkError,
  NoSuchRunError,
  type PollFailure,
  UnreadableResponseError,
  unreachableRun,
} from './errors.js';
import type { RunResponse } from './get-run.js';
import { backoff, MAX_RETRY_AFTER } from './retry.js';
import { hasEnded, isKnownStatus, type Run } from './run.js';
import { AwakeTime, Deadline } from './time-limits.js';

/** All times in milliseconds. */
export interface FollowOptions {
  /** Reads the run once; aborted by the signal. No time limit includes what it waits for with `wait`. */
  poll(signal: AbortSignal, wait: (waiting: Promise<void>) => Promise<void>): Promise<RunResponse>;
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

const MAX_UNKNOWN_STATUS = 5 * 60_000;
/** Extra time for a poll that is in flight when the timeout passes. */
const LAST_POLL_GRACE = 5_000;

/**
 * Yields the run whenever its JSON has changed, and returns when it has ended or the timeout has passed, after one last
 * poll. Only the timeout counts time in which the process was stopped. Throws HttpError, NoSuchRunError, another
 * WfrError if it can no longer be read or keeps an unknown status, and the signal's reason.
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
  readonly #failed: FailedPolls;
  #deadline: number;
  #run: Run | undefined;
  #interval: number;
  /** When the status last changed, in milliseconds of `#awake`. */
  #statusSince = 0;

  constructor(
    private readonly id: string,
    private readonly options: FollowOptions,
  ) {
    this.#awake = new AwakeTime(options.clock);
    this.#failed = new FailedPolls(this.#awake);
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
    try {
      return this.#onResponse(await this.#pollInTime());
    } catch (error) {
      this.options.signal.throwIfAborted();
      if (!isPollFailure(error)) throw error;
      return { nextDelay: this.#onPollFailure(error) };
    }
  }

  async #pollInTime(): Promise<RunResponse> {
    const { clock, signal, poll, timeout } = this.options;
    const deadline = new Deadline(signal, clock);
    const late = () => new NetworkError('no-response', { host: 'the service', after: LAST_POLL_GRACE });
    // With a timeout of 0, the only poll has the limits of its request.
    const grace = timeout === 0 ? Number.POSITIVE_INFINITY : LAST_POLL_GRACE;
    const limit = () => deadline.allow(this.timeLeft() + grace, late);
    limit();
    const wait = async (waiting: Promise<void>) => {
      deadline.suspend();
      const since = clock.monotonic();
      await waiting;
      const waited = clock.monotonic() - since;
      this.#deadline += waited;
      this.#awake.exclude(waited);
      limit();
    };
    try {
      return await poll(deadline.signal, wait);
    } finally {
      deadline.end();
    }
  }

  #onResponse({ run, retryAfter }: RunResponse) {
    const previous = this.#run;
    const now = this.#awake.elapsed();
    const hasChanged = previous === undefined || Buffer.compare(previous.json, run.json) !== 0;
    if (previous?.status !== run.status) this.#statusSince = now;
    this.#run = run;
    this.#failed.reset();
    // Only a stop after this poll excuses a failure of the next one.
    this.#awake.consumeStop();
    this.#throwIfUnknownTooLong(run, now);
    this.#interval = hasChanged
      ? this.options.interval
      : Math.min(this.#interval * this.options.growth, this.options.maxInterval);
    const delay = Math.max(this.#interval, Math.min(retryAfter ?? 0, MAX_RETRY_AFTER));
    // A poll during which the timeout passed is the last one.
    const nextDelay = hasEnded(run) || this.timeLeft() <= 0 ? undefined : delay;
    return { changed: hasChanged ? run : undefined, nextDelay };
  }

  #throwIfUnknownTooLong(run: Run, now: number): void {
    const { status = '' } = run;
    const forMs = now - this.#statusSince;
    if (isKnownStatus(status) || forMs < MAX_UNKNOWN_STATUS) return;
    const summary = `the status ${status} is unknown to wfr and has not changed for ${formatDuration(forMs)}`;
    throw new WfrError('unknown-status', [summary], {
      hints: ["Check the service's documentation; a newer wfr may know this status."],
      isTemporary: true,
    });
  }

  /** Returns the milliseconds to the next poll, undefined after the last one. Throws when the failure is final. */
  #onPollFailure(failure: PollFailure): number | undefined {
    this.#failed.add(failure);
    this.#throwIfFinal(failure);
    // A stop of the process may have caused this failure, so the next poll decides.
    const seen = this.#run !== undefined;
    const exists = seen || isUnexpectedStatus(failure) || this.#isLeftToRateLimiter(failure);
    if (!this.#awake.consumeStop()) {
      const isLast = this.timeLeft() <= 0;
      if (isLast && seen) return undefined;
      if (isLast || this.#failed.shouldGiveUp(exists)) throw this.#toFinalError(failure);
    }
    return this.#delayAfter(failure, exists);
  }

  #delayAfter(failure: PollFailure, exists: boolean): number {
    const { clock, onFailedPoll } = this.options;
    const retryAfter = failure instanceof HttpError ? (failure.info.retryAfter ?? 0) : 0;
    const ownDelay = this.#isLeftToRateLimiter(failure)
      ? this.#interval
      : this.#failed.nextBackoff(clock.random());
    const delay = Math.max(ownDelay, Math.min(retryAfter, MAX_RETRY_AFTER));
    onFailedPoll?.(failure, delay, exists ? undefined : this.#failed.tries);
    return delay;
  }

  /** Returns whether the shared rate limiter handles this 429. A backoff of its own would delay one of many runs. */
  #isLeftToRateLimiter(failure: PollFailure): boolean {
    return this.options.isRateLimited === true && failure instanceof HttpError && failure.info.status === 429;
  }

  #throwIfFinal(failure: PollFailure): void {
    const seen = this.#run !== undefined;
    if (failure instanceof NetworkError) {
      if (failure.fault === 'too-large' || (!seen && failure.isPermanent)) throw this.#unreachable(failure);
    }
    if (!(failure instanceof HttpError)) return;
    const { status } = failure.info;
    if (status === 401 || status === 403) throw failure;
    // Of a run that exists, polls are retried: exit code 5 would tell a script that there is none.
    if (seen || this.options.exists === true || !isUnexpectedStatus(failure)) return;
    throw this.#toNoSuchRunError(failure) ?? failure;
  }

  /** Returns the error of the last failure. A run that was never read, after 404s for 60 s, does not exist. */
  #toFinalError(failure: PollFailure): WfrError {
    const isMissing = this.#run === undefined && this.#failed.areUnexpectedTooLong;
    return (isMissing ? this.#toNoSuchRunError(failure) : undefined) ?? this.#unreachable(failure);
  }

  #toNoSuchRunError(failure: PollFailure): NoSuchRunError | undefined {
    if (!(failure instanceof HttpError) || failure.info.status !== 404) return undefined;
    return new NoSuchRunError(this.id, failure.info);
  }

  #unreachable(failure: PollFailure): WfrError {
    return unreachableRun(this.id, failure, this.#run !== undefined, this.#failed.durationMs);
  }
}

/** How long a run that exists may be unreachable, in milliseconds. */
const MAX_UNREACHABLE = 5 * 60_000;
/** Retries for a run that was never read. */
const MAX_FIRST_RETRIES = 3;
/** How long unexpected statuses are retried, in milliseconds. */
const MAX_UNEXPECTED = 60_000;

class FailedPolls {
  #since: number | undefined;
  #unexpectedSince: number | undefined;
  #retries = 0;

  constructor(private readonly awake: AwakeTime) {}

  add(failure: PollFailure): void {
    const now = this.awake.elapsed();
    this.#since ??= now;
    this.#unexpectedSince = isUnexpectedStatus(failure) ? (this.#unexpectedSince ?? now) : undefined;
  }

  reset(): void {
    this.#since = undefined;
    this.#unexpectedSince = undefined;
    this.#retries = 0;
  }

  /** Milliseconds since the first failure. */
  get durationMs(): number {
    const now = this.awake.elapsed();
    return now - (this.#since ?? now);
  }

  /** Whether every poll of the last 60 s had an unexpected status. */
  get areUnexpectedTooLong(): boolean {
    return (
      this.#unexpectedSince !== undefined && this.awake.elapsed() - this.#unexpectedSince >= MAX_UNEXPECTED
    );
  }

  /** Returns whether to stop polling. A run that is not known to exist has a few retries, any other a time limit. */
  shouldGiveUp(exists: boolean): boolean {
    if (this.areUnexpectedTooLong) return true;
    return exists ? this.durationMs >= MAX_UNREACHABLE : this.#retries >= MAX_FIRST_RETRIES;
  }

  /** Returns the last of the retries of a run that is not known to exist, such as `1/3`. */
  get tries(): string {
    return `${this.#retries}/${MAX_FIRST_RETRIES}`;
  }

  /** Counts a retry and returns its backoff in milliseconds; `random` is 0 to 1. */
  nextBackoff(random: number): number {
    return backoff(this.#retries++, random);
  }
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
