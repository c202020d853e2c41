/**
 * Decides when a batch may send: how many requests a second, whether to wait for a service that cannot be reached or is too
 * busy, and when to send no further rows.
 */
import type { Facts } from '../errors.js';
import { type Exit, ExitCode } from '../exit-code.js';
import { factsOf, isRejection } from '../outcome/describe-error.js';
import type { Clock } from '../platform/context.js';
import { type AwakeTime, startAwakeTime } from '../service/awake-time.js';
import { NetworkError, NotTriggeredError, type PollFailure, RESEND_503_HINT } from '../service/errors.js';
import { HttpError } from '../service/http-error.js';
import { backoff } from '../service/retry.js';
import { formatDuration } from '../text/quantity.js';
import { createRateLimiter } from './rate-limiter.js';

/** How long a service may be unreachable or too busy before the batch gives up (ms). */
const MAX_OUTAGE = 5 * 60_000;
/** Between two messages to the user (ms). */
const NOTICE_INTERVAL = 60_000;
/** If so many consecutive rows could not be triggered although the service was reached, the next ones will not be either. */
const MAX_UNREACHABLE = 20;
/** After so many consecutive unknown outcomes, further rows would only create more runs without a known id. */
const MAX_UNKNOWN = 5;
/** After so many consecutive rows that were rejected with the same status, the next ones will be as well. */
const MAX_REJECTED = 11;

/** Why no request is sent now: the service refuses connections, or answers with 429 or 503. */
export type WaitCause = NetworkError | HttpError;

export interface GateOptions {
  /** Requests a second; Infinity for no limit. */
  rate: number;
  /** Whether to stop after the first row that does not succeed. */
  failFast: boolean;
  /** Whether to send all rows although the service rejects them. */
  keepGoing: boolean;
  clock: Clock;
  /** Ends an outage without another attempt. */
  signal: AbortSignal;
  /** Called at most once a minute, with the cause and the delay of the next attempt (ms). */
  onWait(cause: WaitCause, delay: number): void;
}

interface Outage {
  /** The send function that is retried while all other rows wait. */
  probe: () => Promise<unknown>;
  awake: AwakeTime;
  attempts: number;
  /** Resolves at the end of the outage. */
  over: Promise<void>;
  end(): void;
}

/** Why no further row may be sent. */
interface StopReason {
  why: string;
  hints?: readonly string[];
}

export type Gate = ReturnType<typeof createGate>;

/** Returns the gate of a batch. */
export function createGate({ rate, failFast, keepGoing, clock, signal, onWait }: GateOptions) {
  const givingUp = new AbortController();
  /** Aborts with an error after five minutes without a connection or a normal response, or after a permanent fault. */
  const givenUp = givingUp.signal;
  const limiter = createRateLimiter(rate, clock, givenUp);
  /** Aborts once no further attempt is made. */
  const ending = AbortSignal.any([signal, givenUp]);
  let outage: Outage | undefined;
  /** The status of the first of the latest responses, all of which say that the service is too busy, and the time since. */
  let busy: { status: number; awake: AwakeTime } | undefined;
  let waitCause: WaitCause | undefined;
  let until = 0;
  /** When a run that could not be read for want of a connection is read again. */
  let readAgain: number | undefined;
  let noticedAt = Number.NEGATIVE_INFINITY;
  /** How many of the latest rows were not accepted, all for the same reason: the status of the rejection, or the code. */
  let streak = 0;
  let streakReason: number | string | undefined;
  let unreachableRows = 0;
  let stopReason: StopReason | undefined;

  return {
    givenUp,

    /** Why no further row may be sent; undefined while rows may be sent. */
    get stopReason() {
      return stopReason;
    },

    /**
     * Until when requests wait (ms, monotonic), with the status of a service that is too busy; undefined while they need not.
     */
    get wait() {
      const next = waitCause || busy ? until : readAgain;
      return next === undefined ? undefined : { status: busy?.status, until: next };
    },

    acquire: limiter.acquire,

    onResponse(status: number, retryAfter: number | undefined): void {
      readAgain = undefined;
      if (limiter.onResponse(status, retryAfter)) stayBusy(status);
      else if (status < 500) endBusy();
    },

    onFailedPoll(why: PollFailure, delay: number): void {
      if (why instanceof NetworkError) readAgain = clock.monotonic() + delay;
    },

    /** Rows continue to be sent until one of them has failed to connect several times. */
    onRetry(why: WaitCause, delay: number): void {
      if (why instanceof HttpError) startWait(why, delay);
    },

    /** Waits for the end of an outage, and resolves with whether a row may be sent. */
    async waitUntilReachable(): Promise<boolean> {
      await outage?.over;
      return !ending.aborted;
    },

    /**
     * Calls `send`, and again after each failed connection or while the service is too busy, and returns its result. Throws
     * what `send` throws; the NotTriggeredError of such a failure only if no further attempt is made.
     */
    async send<T>(send: () => Promise<T>): Promise<T> {
      for (;;) {
        try {
          const result = await send();
          endOutage();
          triggerEnded(undefined);
          return result;
        } catch (error) {
          const cause = findOutageCause(error);
          if (!cause) endOutage();
          else if (cause instanceof NetworkError && !cause.facts.isTemporary) giveUp(error);
          // The next row would be sent before the time that the service asks for.
          if (error instanceof NotTriggeredError && error.retryAfter !== undefined) giveUp(error);
          if (cause && !givenUp.aborted) {
            outage ??= startOutage(send, clock);
            await (outage.probe === send ? pause(outage, cause, error) : outage.over);
            if (!ending.aborted) continue;
          }
          triggerEnded(factsOf(error));
          throw error;
        }
      }
    },

    /** Takes the end of a row into account; the first reason to stop counts. */
    rowEnded(exit: Exit, error: Facts | undefined): void {
      const isUnreachable = exit === ExitCode.unreachable && error?.code !== 'no-such-run';
      unreachableRows = isUnreachable ? unreachableRows + 1 : 0;
      stopReason ??= reasonAfterRow(exit, error);
    },

    close,
  };

  // When to stop

  /** Counts consecutive unknown outcomes and rejections; `error` is undefined for a row that was accepted. */
  function triggerEnded(error: Facts | undefined): void {
    const isUnknown = error?.code === 'unknown-outcome';
    const why = isUnknown ? error.code : isRejection(error?.code) ? error?.response?.status : undefined;
    streak = why === streakReason ? streak + 1 : 1;
    streakReason = why;
    if (!isUnknown || streak < MAX_UNKNOWN) return;
    const hints = error.hints.filter((hint) => hint === RESEND_503_HINT);
    stopReason ??= { why: `The last ${MAX_UNKNOWN} rows that were sent are unknown`, hints };
  }

  function reasonAfterRow(exit: Exit, error: Facts | undefined): StopReason | undefined {
    const { hints = [], response } = error ?? {};
    const status = response?.status;
    // Only such an error ends the attempts.
    const failure: NotTriggeredError | undefined = givenUp.reason;
    if (!keepGoing) {
      if (exit === ExitCode.unauthorized) return { why: 'The service rejected the token', hints };
      if (isRejection(error?.code) && status === 404)
        return { why: 'The service does not know the workflow or the address', hints };
      const why = `The service rejected ${MAX_REJECTED} consecutive rows with ${status}, and --keep-going is not set`;
      if (status !== undefined && status === streakReason && streak >= MAX_REJECTED) return { why, hints };
    }
    if (failure?.retryAfter !== undefined)
      return { why: `The service asks to wait ${formatDuration(failure.retryAfter)}` };
    if (failure && status !== undefined) return { why: 'The service was too busy for 5 minutes' };
    if (failure || unreachableRows >= MAX_UNREACHABLE) return { why: 'The service cannot be reached', hints };
    if (!failFast || exit === ExitCode.ok) return undefined;
    // The same command would stop at it again.
    const ways = exit === ExitCode.usage ? ['Correct it, or omit --fail-fast.'] : [];
    return { why: 'A row did not finish, and --fail-fast is set', hints: ways };
  }

  // Waiting for the service

  function startWait(cause: WaitCause, delay: number): void {
    const now = clock.monotonic();
    waitCause = cause;
    until = now + delay;
    if (now - noticedAt < NOTICE_INTERVAL) return;
    noticedAt = now;
    onWait(cause, delay);
  }

  function stayBusy(status: number): void {
    busy ??= { status, awake: startAwakeTime(clock) };
    if (busy.awake.elapsed() < MAX_OUTAGE) return;
    // The rows that wait have no response of their own.
    const cause = waitCause ?? new HttpError({ url: '', status, request: { workflowId: '', length: 0 } });
    giveUp(new NotTriggeredError(cause, 'unsent', 1, 0));
  }

  function endBusy(): void {
    busy?.awake.end();
    busy = undefined;
    waitCause = undefined;
  }

  function endOutage(): void {
    outage?.awake.end();
    outage?.end();
    outage = undefined;
    if (!busy) waitCause = undefined;
  }

  function giveUp(error: unknown): void {
    givingUp.abort(error);
    close();
  }

  /** Ends the timers. */
  function close(): void {
    endBusy();
    endOutage();
  }

  /** Waits for the backoff, or gives up. */
  async function pause(outage: Outage, cause: WaitCause, error: unknown): Promise<void> {
    // A suspended machine may have caused this failure, so another attempt decides. How long a service may be busy is
    // decided by all responses.
    const isOver =
      cause instanceof NetworkError && !outage.awake.consumeStop() && outage.awake.elapsed() >= MAX_OUTAGE;
    if (isOver) return giveUp(error);
    const delay = backoff(outage.attempts++, clock.random());
    startWait(cause, delay);
    await clock.sleep(delay, ending).catch(endOutage);
  }
}

function startOutage(probe: Outage['probe'], clock: Clock): Outage {
  let end = () => {};
  const over = new Promise<void>((resolve) => (end = resolve));
  return { probe, awake: startAwakeTime(clock), attempts: 0, over, end };
}

/**
 * Returns why a trigger could not be sent, if that may change or holds for all rows: no connection, 429 or 503. Undefined
 * for other errors, such as a lack of local resources or a wait that is too long.
 */
function findOutageCause(error: unknown): WaitCause | undefined {
  if (!(error instanceof NotTriggeredError)) return undefined;
  const { cause, sendState, retryAfter } = error;
  if (cause instanceof HttpError)
    return [429, 503].includes(cause.info.status) && retryAfter === undefined ? cause : undefined;
  const isConnectionFault = sendState === 'unsent' && cause.fault !== 'local';
  return isConnectionFault || !cause.facts.isTemporary ? cause : undefined;
}
