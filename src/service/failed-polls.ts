/** Tracks the polls of one run that failed since its last successful poll, and decides when to give up. */

import { HttpError, NetworkError, UnreadableResponseError } from '../errors.js';
import type { AwakeTime } from './awake-time.js';
import { backoff } from './retry.js';

export type PollFailure = NetworkError | HttpError | UnreadableResponseError;

/** How long a run that exists may be unreachable, in milliseconds. */
const MAX_UNREACHABLE = 5 * 60_000;
/** Retries for a run that was never read. */
const MAX_FIRST_RETRIES = 3;
/** How long unexpected statuses are retried, in milliseconds. */
const MAX_UNEXPECTED = 60_000;

export class FailedPolls {
  readonly #awake: AwakeTime;
  #since: number | undefined;
  #unexpectedSince: number | undefined;
  #retries = 0;

  constructor(awake: AwakeTime) {
    this.#awake = awake;
  }

  add(failure: PollFailure): void {
    const now = this.#awake.elapsed();
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
    const now = this.#awake.elapsed();
    return now - (this.#since ?? now);
  }

  /** Whether every poll of the last 60 s had an unexpected status. */
  get areUnexpectedTooLong(): boolean {
    return (
      this.#unexpectedSince !== undefined && this.#awake.elapsed() - this.#unexpectedSince >= MAX_UNEXPECTED
    );
  }

  /** Returns whether to stop polling. A run that is not known to exist has a few retries, any other a time limit. */
  shouldGiveUp(exists: boolean): boolean {
    if (this.areUnexpectedTooLong) return true;
    return exists ? this.durationMs >= MAX_UNREACHABLE : this.#retries >= MAX_FIRST_RETRIES;
  }

  /** Counts a retry and returns its backoff in milliseconds; `random` is 0 to 1. */
  nextBackoff(random: number): number {
    return backoff(this.#retries++, random);
  }
}

/** Returns whether a status blames the request (400, 404, a redirect), which is unexpected for a run that exists. */
export function isUnexpectedStatus(failure: PollFailure): boolean {
  return failure instanceof HttpError && !failure.isTransient;
}

export function isPollFailure(error: unknown): error is PollFailure {
  return (
    error instanceof NetworkError || error instanceof HttpError || error instanceof UnreadableResponseError
  );
}
