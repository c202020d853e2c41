/** What may be sent again, and when: pure decisions over what has happened. */
import type { NetworkFault, Phase } from '../errors.js';

/** How one request ended: without a usable answer, or with a status that is not a 2xx. */
export type Attempt = { phase: Phase; fault: NetworkFault } | AnsweredAttempt;

interface AnsweredAttempt {
  phase: Phase;
  status: number;
  retryAfter: number | undefined;
  /** Whether it is a redirect to where a run may be. */
  isRunLocation: boolean;
}

/** Whether to send again after `delay` milliseconds; `asked` is a wait that was too long to be obeyed. */
export type Decision = { resend: true; delay: number } | { resend: false; asked?: number };

/** What the user has allowed. */
export interface ResendPolicy {
  /** A 503 with Retry-After means that nothing was created, also after a complete body. */
  resend503: boolean;
}

/** How often one body is sent again at most, all causes together. */
export const MAX_RESENDS = 3;
/** The longest wait that a service may ask for, in milliseconds. */
export const MAX_RETRY_AFTER = 5 * 60_000;

/** Faults before anything left this machine that will not go away by themselves. */
const PERMANENT_FAULTS: readonly NetworkFault[] = ['certificate', 'not-tls', 'proxy-refused'];
/** Faults that a service which is just starting shows: worth trying again soon. */
const STARTUP_FAULTS: readonly NetworkFault[] = ['refused', 'unreachable', 'connect-reset'];

/** Random 0.5 to 1 times min(base x 2^n, 30 s), in milliseconds; `random` is 0 to 1, `n` counts from 0. */
export function backoff(n: number, random: number, base = 1_000): number {
  return Math.min(base * 2 ** n, 30_000) * (0.5 + random / 2);
}

/**
 * Whether a trigger may be sent again: only where the last attempt cannot have been taken. `earlier` are the attempts
 * with this body before `last`.
 */
export function decideResend(
  last: Attempt,
  earlier: readonly Attempt[],
  policy: ResendPolicy,
  random: number,
): Decision {
  if (earlier.length >= MAX_RESENDS || !isRetryable(last, earlier, policy)) return { resend: false };
  if ('fault' in last) {
    return {
      resend: true,
      delay: backoff(earlier.length, random, STARTUP_FAULTS.includes(last.fault) ? 250 : 1_000),
    };
  }
  const asked = last.retryAfter ?? 0;
  if (asked > MAX_RETRY_AFTER) return { resend: false, asked };
  return { resend: true, delay: Math.max(asked, backoff(earlier.length, random)) };
}

function isRetryable(last: Attempt, earlier: readonly Attempt[], policy: ResendPolicy): boolean {
  if ('fault' in last) {
    if (last.phase === 0) return !PERMANENT_FAULTS.includes(last.fault);
    const isTransport = last.fault === 'reset' || last.fault === 'stalled';
    return (
      last.phase === 1 && isTransport && !earlier.some((attempt) => 'fault' in attempt && attempt.phase === 1)
    );
  }
  const isSecondTimeout =
    last.status === 408 && earlier.some((attempt) => 'status' in attempt && attempt.status === 408);
  return asksToComeBack(last, policy) && !isSecondTimeout;
}

/**
 * Whether a status says that nothing was created and that the request may be sent again. After a complete body, 408 and
 * 503 do not: gateways answer so when a service has taken the request and then fails or times out.
 */
function asksToComeBack(
  { status, phase, retryAfter }: AnsweredAttempt,
  { resend503 }: ResendPolicy,
): boolean {
  if (status === 429) return true;
  if (phase < 2) return status === 408 || status === 503;
  return resend503 && status === 503 && retryAfter !== undefined;
}

/** What the last attempt at a trigger means: the service refused it, nothing was created, or nobody here can tell. */
export function classify(last: Attempt, policy: ResendPolicy): 'refused' | 'not-triggered' | 'unknown' {
  if ('fault' in last) {
    // A peer that answered plain text with a TLS alert has not understood it.
    return last.phase === 2 && last.fault !== 'speaks-tls' ? 'unknown' : 'not-triggered';
  }
  if (asksToComeBack(last, policy)) return 'not-triggered';
  const { status, phase, isRunLocation } = last;
  if (status === 408 || status >= 500 || status < 200) return phase === 2 ? 'unknown' : 'not-triggered';
  const mayLeadToRun = status === 303 || (status >= 300 && status <= 399 && isRunLocation);
  return mayLeadToRun && phase === 2 ? 'unknown' : 'refused';
}

/** Whether a status that answers a poll says nothing about the run itself. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

/** Whether a poll that failed so will fail again. */
export function isPermanent(fault: NetworkFault): boolean {
  return PERMANENT_FAULTS.includes(fault) || fault === 'speaks-tls';
}

/**
 * Milliseconds that a Retry-After header asks for (RFC 9110, section 10.2.3): seconds, or a date held against the
 * answer's own Date. 0 where it names the past or nothing that can be understood; undefined where there is none.
 */
export function parseRetryAfter(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const value = headers['retry-after']?.trim();
  if (value === undefined) return undefined;
  if (/^\d+(\.\d+)?(e\+?\d+)?$/i.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  const then = Date.parse(headers.date ?? '');
  return Number.isNaN(date) ? 0 : Math.max(0, date - (Number.isNaN(then) ? now : then));
}
