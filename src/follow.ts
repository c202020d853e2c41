/** A run id -> the stream of its changes, to its end, a deadline or a signal. */
import type { Clock } from './context.js';
import {
  LostSightError,
  NetworkError,
  NoSuchRunError,
  RefusedError,
  UnknownStatusError,
  UnreadableAnswerError,
} from './errors.js';
import type { Reading } from './service/get-run.js';
import { backoff, isLasting, isPassing, MAX_RETRY_AFTER } from './service/retry.js';
import { hasEnded, isKnownStatus, type Run } from './service/run.js';

/** Why a poll showed nothing. */
type PollFailure = NetworkError | RefusedError | UnreadableAnswerError;

/** All times in milliseconds. */
export interface FollowOptions {
  /** Reads the run once; ends with the signal. */
  poll(signal: AbortSignal): Promise<Reading>;
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
  isPaced?: boolean;
  /** Called for each poll that failed and will be tried again after `delay`. */
  onFailedPoll?(failure: PollFailure, delay: number): void;
}

const SLOWER = 1.5;
/** A run that has been seen may stay out of sight so long. */
const MAX_OUT_OF_SIGHT = 5 * 60_000;
/** How often a run that was never seen is asked for again. */
const MAX_FIRST_RETRIES = 3;
/** A service with several copies may not know at once what one of them has created. */
const CREATION_LAG = 60_000;
const MAX_UNKNOWN_STATUS = 5 * 60_000;
/** A poll that is under way when the time is up has so much longer. */
const LAST_POLL = 5_000;

/**
 * Yields the run whenever its JSON has changed, and returns when it has ended or the timeout has passed; one last poll
 * precedes giving up. Throws LostSightError, NoSuchRunError, RefusedError, UnknownStatusError, and the signal's reason.
 */
export async function* follow(id: string, options: FollowOptions): AsyncGenerator<Run, void, void> {
  const { clock, signal } = options;
  if (options.accepted !== undefined && hasEnded(options.accepted)) return;
  const watch = new Observation(id, options);
  let delay = options.accepted === undefined ? 0 : options.interval;
  for (;;) {
    await clock.sleep(Math.min(delay, watch.timeLeft()), signal);
    const isLast = watch.timeLeft() <= 0;
    const seen = await watch.look(isLast);
    if (seen.changed !== undefined) yield seen.changed;
    // A look during which the time ran out was the last one.
    if (watch.ended || isLast || watch.timeLeft() <= 0) return;
    delay = seen.delay;
  }
}

/** What is known of one run that is being followed. */
class Observation {
  readonly #id: string;
  readonly #options: FollowOptions;
  readonly #started: number;
  readonly #deadline: number;
  #run: Run | undefined;
  #interval: number;
  #failures = 0;
  #outOfSightSince: number | undefined;
  #statusSince: number;
  #absentSince: number | undefined;

  constructor(id: string, options: FollowOptions) {
    this.#id = id;
    this.#options = options;
    this.#started = options.clock.monotonic();
    this.#statusSince = this.#started;
    this.#deadline = this.#started + (options.timeout ?? Number.POSITIVE_INFINITY);
    this.#run = options.accepted;
    this.#interval = options.interval;
  }

  get ended(): boolean {
    return this.#run !== undefined && hasEnded(this.#run);
  }

  timeLeft(): number {
    return Math.max(0, this.#deadline - this.#options.clock.monotonic());
  }

  /** One poll: the run if it has changed, and how long to wait for the next. */
  async look(isLast: boolean): Promise<{ changed?: Run; delay: number }> {
    try {
      return this.#take(await this.#poll());
    } catch (error) {
      this.#options.signal.throwIfAborted();
      if (!isPollFailure(error)) throw error;
      return { delay: this.#endure(error, isLast || this.timeLeft() <= 0) };
    }
  }

  async #poll(): Promise<Reading> {
    const { clock, signal, poll, timeout } = this.#options;
    const cut = new AbortController();
    const stop = () => cut.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    const tooLate = new NetworkError('no-answer', { host: 'the service', after: LAST_POLL });
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

  #take({ run, retryAfter }: Reading): { changed?: Run; delay: number } {
    const before = this.#run;
    const now = this.#options.clock.monotonic();
    const changed = before === undefined || Buffer.compare(before.json, run.json) !== 0;
    if (before?.status !== run.status) this.#statusSince = now;
    this.#run = run;
    this.#failures = 0;
    this.#outOfSightSince = undefined;
    this.#absentSince = undefined;
    this.#giveUpOnUnknownStatus(run, now);
    this.#interval = changed
      ? this.#options.interval
      : Math.min(this.#interval * SLOWER, this.#options.maxInterval);
    const delay = Math.max(this.#interval, Math.min(retryAfter ?? 0, MAX_RETRY_AFTER));
    return changed ? { changed: run, delay } : { delay };
  }

  #giveUpOnUnknownStatus(run: Run, now: number): void {
    const { status = '' } = run;
    const forMs = now - this.#statusSince;
    if (!isKnownStatus(status) && forMs >= MAX_UNKNOWN_STATUS) throw new UnknownStatusError(status, forMs);
  }

  /** How long to wait after a failed poll. Throws where waiting is of no use. */
  #endure(failure: PollFailure, isLast: boolean): number {
    const { clock, onFailedPoll } = this.#options;
    const now = clock.monotonic();
    this.#outOfSightSince ??= now;
    const forMs = now - this.#outOfSightSince;
    const isMissing = failure instanceof RefusedError && failure.refusal.status === 404;
    if (!isMissing) this.#absentSince = undefined;
    this.#throwIfFinal(failure, now, forMs);
    const seen = this.#run !== undefined;
    if (isLast && seen) return 0;
    const isPaced = this.#isPaced(failure);
    const tooLong =
      seen || isPaced || isMissing ? forMs >= MAX_OUT_OF_SIGHT : this.#failures >= MAX_FIRST_RETRIES;
    if (isLast || tooLong) throw new LostSightError(this.#id, failure, seen, forMs);
    const asked = failure instanceof RefusedError ? (failure.refusal.retryAfter ?? 0) : 0;
    const own = isPaced ? this.#interval : backoff(this.#failures++, clock.random());
    const delay = Math.max(own, Math.min(asked, MAX_RETRY_AFTER));
    onFailedPoll?.(failure, delay);
    return delay;
  }

  /** Whether the pace takes care of it: of many runs, one would wait ever longer for what concerns all of them. */
  #isPaced(failure: PollFailure): boolean {
    return (
      this.#options.isPaced === true && failure instanceof RefusedError && failure.refusal.status === 429
    );
  }

  #throwIfFinal(failure: PollFailure, now: number, forMs: number): void {
    const seen = this.#run !== undefined;
    if (failure instanceof NetworkError) {
      const { fault } = failure;
      if (fault === 'too-large' || (!seen && isLasting(fault)))
        throw new LostSightError(this.#id, failure, seen, forMs);
    }
    if (!(failure instanceof RefusedError) || isPassing(failure.refusal.status)) return;
    const { status } = failure.refusal;
    if (status === 401 || status === 403) throw failure;
    if (status === 404 && this.#isLag(now)) return;
    if (!seen) throw status === 404 ? new NoSuchRunError(this.#id, failure.refusal) : failure;
    // To a script, a refusal means that no run was created; this one exists.
    throw new LostSightError(this.#id, failure, seen, forMs);
  }

  /** Whether a 404 may mean that a copy of the service does not know the run yet. */
  #isLag(now: number): boolean {
    const { accepted, exists = false } = this.#options;
    if (accepted !== undefined) return now - this.#started < CREATION_LAG;
    this.#absentSince ??= now;
    return exists && now - this.#absentSince < CREATION_LAG;
  }
}

function isPollFailure(error: unknown): error is PollFailure {
  return (
    error instanceof NetworkError || error instanceof RefusedError || error instanceof UnreadableAnswerError
  );
}
