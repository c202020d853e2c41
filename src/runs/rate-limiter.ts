/**
 * The rate limiter for all requests of a batch: a first-in, first-out queue, so that neither triggers nor polls starve.
 * When the service limits the rate (429, or 503 with Retry-After), the rate is halved, then rises slowly again.
 */
import type { Clock } from '../platform/context.js';
import { createQueue, onAbort, untilAborted } from '../platform/until-aborted.js';
import { MAX_RETRY_AFTER } from '../service/retry.js';

/** The rate never falls below this share of the normal rate, so that a batch still ends. */
const MIN_RATE_SHARE = 1 / 10;
/** Seconds without a rejection until the rate is normal again: slow enough to cause few more, fast enough to use the capacity. */
const RECOVERY_SECONDS = 4;
/** Rejections within this time (ms) count as one. */
const SAME_REJECTION = 1_000;

/** Returns a limiter that allows `limit` requests a second (Infinity: no limit), and none once `stopped` has aborted. */
export function createRateLimiter(limit: number, clock: Clock, stopped?: AbortSignal) {
  let rate = limit;
  /** The normal rate; without a limit, the rate measured at the first rejection. */
  let normalRate = limit;
  let nextAt = 0;
  let lastRejection = Number.NEGATIVE_INFINITY;
  let lastRise = 0;
  let sent = 0;
  const countedSince = clock.monotonic();
  const inTurn = createQueue();
  /** Wakes the first request in the queue, which sleeps while all others wait for it. */
  let wake = new AbortController();
  if (stopped) onAbort(stopped, () => wake.abort());

  return {
    /** The current rate, in requests a second. */
    get rate() {
      return rate;
    },

    /** Resolves when a request may be sent; rejects once the signal aborts, or with the reason of `stopped`. */
    async acquire(signal: AbortSignal): Promise<void> {
      const turn = inTurn(() => waitForTurn(signal));
      await untilAborted(turn, signal).catch((error) => {
        wake.abort();
        throw error;
      });
    },

    /** Adapts the rate to a response, and returns whether it says that the service receives too many requests. */
    onResponse(status: number, retryAfter: number | undefined): boolean {
      const now = clock.monotonic();
      const isTooBusy = status === 429 || (status === 503 && retryAfter !== undefined);
      if (isTooBusy) slowDown(now, Math.min(retryAfter ?? 0, MAX_RETRY_AFTER));
      else recover(now);
      return isTooBusy;
    },
  };

  function slowDown(now: number, pause: number): void {
    nextAt = Math.max(nextAt, now + pause);
    if (now - lastRejection < SAME_REJECTION) return;
    lastRejection = now;
    // During the pause nothing is sent, so its end says nothing about the rate.
    lastRise = now + pause;
    if (!Number.isFinite(rate)) {
      normalRate = Math.max(1, (sent / Math.max(1, now - countedSince)) * 1_000);
      rate = normalRate;
    }
    rate = Math.max(rate / 2, normalRate * MIN_RATE_SHARE);
  }

  function recover(now: number): void {
    if (rate >= limit || now < lastRise) return;
    const seconds = (now - lastRise) / 1_000;
    lastRise = now;
    rate = Math.min(rate + (normalRate / RECOVERY_SECONDS) * seconds, limit);
    // Only without a limit does it rise above the normal rate.
    if (rate > normalRate * 2) rate = limit;
  }

  async function waitForTurn(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      stopped?.throwIfAborted();
      const now = clock.monotonic();
      if (nextAt <= now) {
        sent++;
        nextAt = now + 1_000 / rate;
        return;
      }
      wake = new AbortController();
      await clock.sleep(nextAt - now, wake.signal).catch(() => {});
    }
  }
}
