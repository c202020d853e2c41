/**
 * One budget of requests for everything that a batch sends: each waits for its turn, first come, first served, so that
 * neither triggers nor polls starve. The rate falls by half when the service asks for less, and rises slowly again.
 */
import type { Clock } from '../platform/context.js';
import { MAX_RETRY_AFTER } from '../service/retry.js';
import type { RequestLimiter } from '../service/service.js';

/** A rate falls no lower than this share of what it was, so that a batch still ends. */
const MIN_RATE_SHARE = 1 / 10;
/** It is back after so many seconds without a complaint: slow enough to meet few of them, quick enough to use what there is. */
const RECOVERY_SECONDS = 4;
/** Milliseconds of a pause that a person wants to know of. */
const LONG_PAUSE = 5_000;
/** Complaints within so many milliseconds are one. */
const SAME_REJECTION = 1_000;

interface Waiter {
  go(): void;
}

export class RateLimiter implements RequestLimiter {
  readonly #limit: number;
  readonly #clock: Clock;
  readonly #queue: Waiter[] = [];
  #rate: number;
  /** The rate that a complaint was about, where there is no limit. */
  #usual: number;
  #next = 0;
  #lastComplaint = Number.NEGATIVE_INFINITY;
  #lastRise = 0;
  /** While nobody may go; ends early when nobody waits any longer. */
  #pause: AbortController | undefined;
  #sent = 0;
  #countedSince: number;

  readonly #onPause: (ms: number) => void;

  /** At most `limit` requests a second; Infinity is none. `onPause` is told of a long wait that the service asks for. */
  constructor(limit: number, clock: Clock, onPause: (ms: number) => void = () => {}) {
    this.#onPause = onPause;
    this.#limit = limit;
    this.#rate = limit;
    this.#usual = limit;
    this.#clock = clock;
    this.#countedSince = clock.monotonic();
  }

  /** Requests a second that may be sent now. */
  get rate(): number {
    return this.#rate;
  }

  async acquire(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const waiting: Waiter = {
        go: () => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      const leave = () => {
        const place = this.#queue.indexOf(waiting);
        if (place >= 0) this.#queue.splice(place, 1);
        if (this.#queue.length === 0) this.#pause?.abort();
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#queue.push(waiting);
      this.#serve();
    });
  }

  onResponse(status: number, retryAfter: number | undefined): void {
    const now = this.#clock.monotonic();
    const isComplaint = status === 429 || (status === 503 && retryAfter !== undefined);
    if (isComplaint) this.#slowDown(now, Math.min(retryAfter ?? 0, MAX_RETRY_AFTER));
    else this.#recover(now);
  }

  #slowDown(now: number, pause: number): void {
    this.#next = Math.max(this.#next, now + pause);
    if (now - this.#lastComplaint < SAME_REJECTION) return;
    this.#lastComplaint = now;
    if (pause >= LONG_PAUSE) this.#onPause(pause);
    this.#lastRise = now;
    if (!Number.isFinite(this.#rate)) {
      this.#usual = Math.max(1, (this.#sent / Math.max(1, now - this.#countedSince)) * 1_000);
      this.#rate = this.#usual;
    }
    this.#rate = Math.max(this.#rate / 2, this.#usual * MIN_RATE_SHARE);
  }

  #recover(now: number): void {
    if (this.#rate >= this.#limit) return;
    const seconds = (now - this.#lastRise) / 1_000;
    this.#lastRise = now;
    this.#rate = Math.min(this.#rate + (this.#usual / RECOVERY_SECONDS) * seconds, this.#limit);
    if (!Number.isFinite(this.#limit) && this.#rate > this.#usual * 2) this.#rate = Number.POSITIVE_INFINITY;
  }

  #serve(): void {
    if (this.#pause !== undefined) return;
    while (this.#queue.length > 0) {
      const now = this.#clock.monotonic();
      if (this.#next > now) return this.#waitFor(this.#next - now);
      this.#next = Math.max(this.#next, now) + (Number.isFinite(this.#rate) ? 1_000 / this.#rate : 0);
      this.#sent++;
      this.#queue.shift()?.go();
    }
  }

  #waitFor(ms: number): void {
    const pause = new AbortController();
    this.#pause = pause;
    const goOn = () => {
      this.#pause = undefined;
      this.#serve();
    };
    this.#clock.sleep(ms, pause.signal).then(goOn, goOn);
  }
}
