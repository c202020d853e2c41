/** Decides what may be sent again and when: pure functions over the attempts so far. */

import { NetworkError, type NetworkFault, type SendState } from './errors.js';
import type { HttpError } from './http-error.js';

/** A request that failed: without a usable response, or with a status that is not 2xx. */
export interface Attempt {
  failure: NetworkError | HttpError;
  sendState: SendState;
}

/** Most re-sends of one body, for all causes together. */
export const MAX_RESENDS = 3;
/** Longest Retry-After that is obeyed, in milliseconds. */
export const MAX_RETRY_AFTER = 5 * 60_000;

/** Faults of a service that is still starting: retried sooner. */
const STARTUP_FAULTS: readonly NetworkFault[] = ['refused', 'unreachable', 'connect-reset'];

/** Returns 0.5 to 1 times min(base x 2^n, 30 s), in milliseconds; `random` is 0 to 1, `n` counts from 0. */
export function backoff(n: number, random: number, base = 1_000): number {
  return Math.min(base * 2 ** n, 30_000) * (0.5 + random / 2);
}

/**
 * Decides whether a trigger is sent again whose last attempt created nothing, as `classify` says. `earlier` are the
 * attempts with this body before `last`. Returns the milliseconds after which to send again, if at all; `retryAfter` is
 * set if the service asked for too long a wait.
 */
export function decideResend({ failure, sendState }: Attempt, earlier: readonly Attempt[], random: number) {
  if (earlier.length >= MAX_RESENDS) return {};
  if (failure instanceof NetworkError) {
    const { fault, facts } = failure;
    const isConnectionLost = fault === 'reset' || fault === 'stalled';
    const wasLost = (one: Attempt) => one.failure instanceof NetworkError && one.sendState === 'partial';
    const isFirstLoss = sendState === 'partial' && isConnectionLost && !earlier.some(wasLost);
    if (!(sendState === 'unsent' ? facts.isTemporary : isFirstLoss)) return {};
    return { delay: backoff(earlier.length, random, STARTUP_FAULTS.includes(fault) ? 250 : 1_000) };
  }
  const { status, retryAfter = 0 } = failure.info;
  const wasTimeout = (one: Attempt) => one.failure.facts.response?.status === 408;
  if (![408, 429, 503].includes(status) || (status === 408 && earlier.some(wasTimeout))) return {};
  if (retryAfter > MAX_RETRY_AFTER) return { retryAfter };
  return { delay: Math.max(retryAfter, backoff(earlier.length, random)) };
}

/**
 * Returns what the last attempt means: it was rejected, it created nothing, or it may have created a run. After a complete
 * body, 408 and 503 may mean that: gateways send them when a service accepted the request and then failed or timed out.
 * With `resend503`, a 503 with Retry-After proves that nothing was created, even then.
 */
export function classify({ failure, sendState }: Attempt, resend503: boolean) {
  const isComplete = sendState === 'complete';
  if (failure instanceof NetworkError) {
    // A TLS alert in response to plain text, or for want of a client certificate, shows that the request was not read.
    const isUnread = failure.fault === 'expects-tls' || failure.fault === 'client-certificate';
    return isComplete && !isUnread ? 'unknown' : 'not-triggered';
  }
  const { status, retryAfter, isRunLocation } = failure.info;
  if (status === 429) return 'not-triggered';
  if (status === 408 || status >= 500) {
    const isGuaranteed = resend503 && status === 503 && retryAfter !== undefined;
    return isComplete && !isGuaranteed ? 'unknown' : 'not-triggered';
  }
  const mayLeadToRun = status === 303 || (status <= 399 && isRunLocation);
  return isComplete && mayLeadToRun ? 'unknown' : 'rejected';
}
