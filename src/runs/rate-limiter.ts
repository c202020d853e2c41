/**
 * The rate limiter for all requests of a batch: a first-in, first-out queue, so that neither triggers nor polls starve.
 * When the service limits the rate (429, or 503 with Retry-After), the rate is halved, then rises slowly again.
 */
import type { Clock } from '../platform/context.js';
import { untilAborted } from '../platform/until-aborted.js';
import { MAX_RETRY_AFTER } from '../service/retry.js';

/** The rate never falls below this share of the normal rate, so that a batch still ends. */
const MIN_RATE_SHARE = 1 / 10;
/** Seconds without a rejection until the rate is normal again: slow enough to cause few more, fast enough to use the capacity. */
const RECOVERY_SECONDS = 4;
/** Rejections within this time (ms) count as one. */
const SAME_REJECTION = 1_000;

/** Returns whether a response says that the service receives too many requests. */
export function isTooBusy(status: number, retryAfter: number | undefined): boolean {
  return status === 429 || (status === 503 && retryAfter !== undefined);
}

export class RateLimiter {
  /** The current rate, in requests a second. */
  rate: number;
  /** The normal rate; without a limit, the rate measured at the first rejection. */
  #normalRate: number;
  #nextAt = 0;
  #lastRejection = Number.NEGATIVE_INFINITY;
  #lastRise = 0;
  #sent = 0;
  readonly #countedSince: number;
  /** Settles when the last request in the queue has had its turn. */
  #last: Promise<void> = Promise.resolve();
  /** Wakes the first request in the queue, which sleeps while all others wait for it. */
  #wake = new AbortController();
  /** Aborts with the reason why no further request is sent. */
  readonly #stopped = new AbortController();

  /** Allows `limit` requests a second (Infinity: no limit). */
  constructor(
    private readonly limit: number,
    private readonly clock: Clock,
  ) {
    this.rate = limit;
    this.#normalRate = limit;
    this.#countedSince = clock.monotonic();
  }

  /** Resolves when a request may be sent; rejects once the signal aborts, or with the reason of `stop`. */
  async acquire(signal: AbortSignal): Promise<void> {
    const turn = this.#last.then(() => this.#waitForTurn(signal));
    this.#last = turn.catch(() => {});
    await untilAborted(turn, signal).catch((error) => {
      this.#wake.abort();
      throw error;
    });
  }

  /** Rejects all requests that wait, and those that come, with `reason`. */
  stop(reason: unknown): void {
    this.#stopped.abort(reason);
    this.#wake.abort();
  }

  onResponse(status: number, retryAfter: number | undefined): void {
    const now = this.clock.monotonic();
    if (isTooBusy(status, retryAfter)) this.#slowDown(now, Math.min(retryAfter ?? 0, MAX_RETRY_AFTER));
    else this.#recover(now);
  }

  #slowDown(now: number, pause: number): void {
    this.#nextAt = Math.max(this.#nextAt, now + pause);
    if (now - this.#lastRejection < SAME_REJECTION) return;
    this.#lastRejection = now;
    // During the pause nothing is sent, so its end says nothing about the rate.
    this.#lastRise = now + pause;
    if (!Number.isFinite(this.rate)) {
      this.#normalRate = Math.max(1, (this.#sent / Math.max(1, now - this.#countedSince)) * 1_000);
      this.rate = this.#normalRate;
    }
    this.rate = Math.max(this.rate / 2, this.#normalRate * MIN_RATE_SHARE);
  }

  #recover(now: number): void {
    if (this.rate >= this.limit || now < this.#lastRise) return;
    const seconds = (now - this.#lastRise) / 1_000;
    this.#lastRise = now;
    this.rate = Math.min(this.rate + (this.#normalRate / RECOVERY_SECONDS) * seconds, this.limit);
    if (!Number.isFinite(this.limit) && this.rate > this.#normalRate * 2)
      this.rate = Number.POSITIVE_INFINITY;
  }

  async #waitForTurn(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      this.#stopped.signal.throwIfAborted();
      const now = this.clock.monotonic();
      if (this.#nextAt <= now) {
        this.#sent++;
        this.#nextAt = now + (Number.isFinite(this.rate) ? 1_000 / this.rate : 0);
        return;
      }
      this.#wake = new AbortController();
      await this.clock.sleep(this.#nextAt - now, this.#wake.signal).catch(() => {});
    }
  }
}
