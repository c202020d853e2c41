/** A run id -> the stream of its changes, to its end, a deadline or a signal. */

import {
  HttpError,
  NetworkError,
  NoSuchRunError,
  UnknownStatusError,
  UnreachableRunError,
} from '../errors.js';
import type { Clock } from '../platform/context.js';
import { AwakeTime } from './awake-time.js';
import { FailedPolls, isPollFailure, isUnexpectedStatus, type PollFailure } from './failed-polls.js';
import type { RunResponse } from './get-run.js';
import { isPermanent, MAX_RETRY_AFTER } from './retry.js';
import { hasEnded, isKnownStatus, type Run } from './run.js';

/** All times in milliseconds. */
export interface FollowOptions {
  /** Reads the run once; ends with the signal. */
  poll(signal: AbortSignal): Promise<RunResponse>;
  clock: Clock;
  /** Ends the stream by throwing its reason. */
  signal: AbortSignal;
  interval: number;
  /** Unchanged polls slow down to this. */
  maxInterval: number;
  /** How long to follow; undefined for as long as it takes. */
  timeout: number | undefined;
  /** The run as our own trigger showed it, just now. */
  accepted?: Run;
  /** Whether the run is known to exist although nobody has read it yet: an earlier trigger of ours created it. */
  exists?: boolean;
  /** Whether all requests share a pace that slows down by itself when the service asks for less. */
  isRateLimited?: boolean;
  /** Called for each poll that failed and will be tried again after `delay`. */
  onFailedPoll?(failure: PollFailure, delay: number): void;
}

const INTERVAL_GROWTH = 1.5;
const MAX_UNKNOWN_STATUS = 5 * 60_000;
/** A poll that is under way when the time is up has so much longer. */
const LAST_POLL = 5_000;

/**
 * Yields the run whenever its JSON has changed, and returns when it has ended or the timeout has passed; one last poll
 * precedes giving up. Of the limits, only the timeout counts time in which the process was stopped. Throws LostSightError, NoSuchRunError, RefusedError, UnknownStatusError, and the signal's reason.
 */
export async function* followRun(id: string, options: FollowOptions): AsyncGenerator<Run, void, void> {
  const { clock, signal } = options;
  if (options.accepted !== undefined && hasEnded(options.accepted)) return;
  const watch = new RunFollower(id, options);
  let delay = options.accepted === undefined ? 0 : options.interval;
  try {
    for (;;) {
      await clock.sleep(Math.min(delay, watch.timeLeft()), signal);
      const { changed, next } = await watch.poll();
      if (changed !== undefined) yield changed;
      if (next === undefined) return;
      delay = next;
    }
  } finally {
    watch.end();
  }
}

/** What a poll showed: the run if it has changed, and the milliseconds to the next poll, if there is to be one. */
interface PollResult {
  changed?: Run;
  next: number | undefined;
}

/** What is known of one run that is being followed. */
class RunFollower {
  readonly #id: string;
  readonly #options: FollowOptions;
  readonly #awake: AwakeTime;
  readonly #failed: FailedPolls;
  readonly #deadline: number;
  #run: Run | undefined;
  #interval: number;
  /** On the clock of `#awake`. */
  #statusSince = 0;

  constructor(id: string, options: FollowOptions) {
    this.#id = id;
    this.#options = options;
    this.#awake = new AwakeTime(options.clock);
    this.#failed = new FailedPolls(this.#awake);
    this.#deadline = options.clock.monotonic() + (options.timeout ?? Number.POSITIVE_INFINITY);
    this.#run = options.accepted;
    this.#interval = options.interval;
  }

  timeLeft(): number {
    return Math.max(0, this.#deadline - this.#options.clock.monotonic());
  }

  end(): void {
    this.#awake.end();
  }

  async poll(): Promise<PollResult> {
    try {
      return this.#take(await this.#poll());
    } catch (error) {
      this.#options.signal.throwIfAborted();
      if (!isPollFailure(error)) throw error;
      return { next: this.#endure(error) };
    }
  }

  async #poll(): Promise<RunResponse> {
    const { clock, signal, poll, timeout } = this.#options;
    const cut = new AbortController();
    const stop = () => cut.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    const tooLate = new NetworkError('no-response', { host: 'the service', after: LAST_POLL });
    // With a timeout of 0, the one look is all that is asked for, and has its own limit.
    const grace = timeout === 0 ? Number.POSITIVE_INFINITY : LAST_POLL;
    const cancel = clock.after(this.timeLeft() + grace, () => cut.abort(tooLate));
    try {
      return await poll(cut.signal);
    } finally {
      cancel();
      signal.removeEventListener('abort', stop);
    }
  }

  #take({ run, retryAfter }: RunResponse): PollResult {
    const before = this.#run;
    const now = this.#awake.elapsed();
    const changed = before === undefined || Buffer.compare(before.json, run.json) !== 0;
    if (before?.status !== run.status) this.#statusSince = now;
    this.#run = run;
    this.#failed.reset();
    // Only a stop after this poll excuses the next one.
    this.#awake.consumeStop();
    this.#giveUpOnUnknownStatus(run, now);
    this.#interval = changed
      ? this.#options.interval
      : Math.min(this.#interval * INTERVAL_GROWTH, this.#options.maxInterval);
    const delay = Math.max(this.#interval, Math.min(retryAfter ?? 0, MAX_RETRY_AFTER));
    // A poll during which the time ran out was the last one.
    const next = hasEnded(run) || this.timeLeft() <= 0 ? undefined : delay;
    return changed ? { changed: run, next } : { next };
  }

  #giveUpOnUnknownStatus(run: Run, now: number): void {
    const { status = '' } = run;
    const forMs = now - this.#statusSince;
    if (!isKnownStatus(status) && forMs >= MAX_UNKNOWN_STATUS) throw new UnknownStatusError(status, forMs);
  }

  /** How long to wait after a failed poll; undefined where it was the last. Throws where waiting is of no use. */
  #endure(failure: PollFailure): number | undefined {
    this.#failed.add(failure);
    this.#throwIfFinal(failure);
    // The stop may be all that was wrong with this poll, so another one decides.
    if (!this.#awake.consumeStop()) {
      const seen = this.#run !== undefined;
      const isLast = this.timeLeft() <= 0;
      if (isLast && seen) return undefined;
      const exists = seen || isUnexpectedStatus(failure) || this.#isPaced(failure);
      if (isLast || this.#failed.shouldGiveUp(exists)) throw this.#giveUp(failure);
    }
    return this.#delayAfter(failure);
  }

  #delayAfter(failure: PollFailure): number {
    const { clock, onFailedPoll } = this.#options;
    const asked = failure instanceof HttpError ? (failure.info.retryAfter ?? 0) : 0;
    const own = this.#isPaced(failure) ? this.#interval : this.#failed.nextBackoff(clock.random());
    const delay = Math.max(own, Math.min(asked, MAX_RETRY_AFTER));
    onFailedPoll?.(failure, delay);
    return delay;
  }

  /** Whether the pace takes care of it: of many runs, one would wait ever longer for what concerns all of them. */
  #isPaced(failure: PollFailure): boolean {
    return (
      this.#options.isRateLimited === true && failure instanceof HttpError && failure.info.status === 429
    );
  }

  #throwIfFinal(failure: PollFailure): void {
    const seen = this.#run !== undefined;
    if (failure instanceof NetworkError) {
      const { fault } = failure;
      if (fault === 'too-large' || (!seen && isPermanent(fault))) throw this.#lostSight(failure);
    }
    if (!(failure instanceof HttpError)) return;
    const { status } = failure.info;
    if (status === 401 || status === 403) throw failure;
    // A run that exists may be retried, and to a script a refusal means that there is none.
    if (seen || this.#options.exists === true || !isUnexpectedStatus(failure)) return;
    throw this.#noSuchRun(failure) ?? failure;
  }

  /** What a last failure means: a run that nobody has seen, and that was answered with 404 for 60 s, is gone. */
  #giveUp(failure: PollFailure): NoSuchRunError | UnreachableRunError {
    const isGone = this.#run === undefined && this.#failed.areUnexpectedTooLong;
    return (isGone ? this.#noSuchRun(failure) : undefined) ?? this.#lostSight(failure);
  }

  #noSuchRun(failure: PollFailure): NoSuchRunError | undefined {
    if (!(failure instanceof HttpError) || failure.info.status !== 404) return undefined;
    return new NoSuchRunError(this.#id, failure.info);
  }

  #lostSight(failure: PollFailure): UnreachableRunError {
    return new UnreachableRunError(this.#id, failure, this.#run !== undefined, this.#failed.durationMs);
  }
}
