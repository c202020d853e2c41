/** The polls of one run that have failed since it was last read, and how long that may go on. */

import { HttpError, NetworkError, UnreadableResponseError } from '../errors.js';
import type { AwakeTime } from './awake-time.js';
import { backoff, isTransient } from './retry.js';

/** Why a poll showed nothing. */
export type PollFailure = NetworkError | HttpError | UnreadableResponseError;

/** How long a run that has been seen may be unreachable, in milliseconds. */
const MAX_UNREACHABLE = 5 * 60_000;
/** How often a run that was never seen is asked for again. */
const MAX_FIRST_RETRIES = 3;
/** How long odd answers about a run that exists are retried, in milliseconds. */
const MAX_ODD_ANSWERS = 60_000;

export class FailedPolls {
  readonly #awake: AwakeTime;
  #since: number | undefined;
  #oddSince: number | undefined;
  #retries = 0;

  constructor(awake: AwakeTime) {
    this.#awake = awake;
  }

  add(failure: PollFailure): void {
    const now = this.#awake.elapsed();
    this.#since ??= now;
    this.#oddSince = isOdd(failure) ? (this.#oddSince ?? now) : undefined;
  }

  clear(): void {
    this.#since = undefined;
    this.#oddSince = undefined;
    this.#retries = 0;
  }

  /** Milliseconds since the first of them. */
  get durationMs(): number {
    const now = this.#awake.elapsed();
    return now - (this.#since ?? now);
  }

  /** Whether there were nothing but odd answers for 60 s. */
  get areOdd(): boolean {
    return this.#oddSince !== undefined && this.#awake.elapsed() - this.#oddSince >= MAX_ODD_ANSWERS;
  }

  /** Returns whether the run is to be given up; one that is not known to exist after a few retries, whatever the time. */
  isTooMuch(exists: boolean): boolean {
    if (this.areOdd) return true;
    return exists ? this.durationMs >= MAX_UNREACHABLE : this.#retries >= MAX_FIRST_RETRIES;
  }

  /** Counts a retry and returns its backoff in milliseconds; `random` is 0 to 1. */
  retry(random: number): number {
    return backoff(this.#retries++, random);
  }
}

/** Whether an answer blames the request (400, 404, a redirect), which is odd for a run that exists. */
export function isOdd(failure: PollFailure): boolean {
  return failure instanceof HttpError && !isTransient(failure.info.status);
}

export function isPollFailure(error: unknown): error is PollFailure {
  return (
    error instanceof NetworkError || error instanceof HttpError || error instanceof UnreadableResponseError
  );
}
