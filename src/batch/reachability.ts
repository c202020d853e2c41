/**
 * Tracks whether the service of a batch can take requests. While it cannot be reached, or is too busy, one row is retried
 * with backoff and all others wait; after five minutes the batch gives up.
 */

import { HttpError, NetworkError, type NetworkFault, NotTriggeredError } from '../errors.js';
import type { Clock } from '../platform/context.js';
import { AwakeTime } from '../service/awake-time.js';
import { backoff, isPermanent } from '../service/retry.js';

const MAX_OUTAGE = 5 * 60_000;
/** Between two messages to the user (ms). */
const NOTICE_INTERVAL = 60_000;

/** Connection faults that may disappear on a retry. */
const TRANSIENT: readonly NetworkFault[] = [
  'dns-not-found',
  'dns-unavailable',
  'refused',
  'unreachable',
  'connect-timeout',
  'connect-reset',
  'proxy-closed',
];

/** Why no request is sent now: the service refuses connections, or answers with 429 or 503. */
export type WaitCause = NetworkError | HttpError;

/** The wait for the next request. */
export interface ServiceWait {
  /** The status of a service that is too busy; undefined if it cannot be reached. */
  status: number | undefined;
  /** When the next request is sent (ms, monotonic). */
  until: number;
}

interface Outage {
  /** The send function that is retried while all other rows wait. */
  probe: () => Promise<unknown>;
  awake: AwakeTime;
  attempts: number;
  /** Resolves at the end of the outage with whether rows may be sent again. */
  over: Promise<boolean>;
  end(isReachable: boolean): void;
}

/** The time since the first of the latest responses, all of which say that the service is too busy. */
interface Busy {
  status: number;
  awake: AwakeTime;
  cancelTimer(): void;
}

export class Reachability {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #onWait: (cause: WaitCause, delay: number) => void;
  readonly #givenUp = new AbortController();
  #outage: Outage | undefined;
  #busy: Busy | undefined;
  #cause: WaitCause | undefined;
  #until = 0;
  #noticedAt = Number.NEGATIVE_INFINITY;

  /**
   * `signal` ends an outage without another attempt. `onWait` is called at most once a minute, with the cause and the
   * delay of the next attempt (ms).
   */
  constructor(clock: Clock, signal: AbortSignal, onWait: (cause: WaitCause, delay: number) => void) {
    this.#clock = clock;
    this.#signal = signal;
    this.#onWait = onWait;
  }

  /** Whether no further row is sent: after five minutes without a connection or a normal response, or a permanent fault. */
  get hasGivenUp(): boolean {
    return this.#givenUp.signal.aborted;
  }

  /** Aborts with a NotTriggeredError after five minutes in which every response said that the service is too busy. */
  get givenUp(): AbortSignal {
    return this.#givenUp.signal;
  }

  /** What requests wait for; undefined while they need not. */
  get wait(): ServiceWait | undefined {
    const status = this.#busy?.status;
    return this.#cause === undefined && status === undefined ? undefined : { status, until: this.#until };
  }

  /** Waits for the end of an outage, and resolves with whether a row may be sent. */
  async isReachable(): Promise<boolean> {
    if (this.hasGivenUp) return false;
    return this.#outage === undefined || this.#outage.over;
  }

  /**
   * Calls `send`, and again after each failed connection or while the service is too busy, and returns its result.
   * `onFailure` is called before it waits. Throws what `send` throws; the NotTriggeredError of such a failure only if no
   * further attempt is made.
   */
  async send<T>(send: () => Promise<T>, onFailure: (error: unknown) => void): Promise<T> {
    for (;;) {
      try {
        const result = await send();
        this.#end(true);
        return result;
      } catch (error) {
        const cause = findOutageCause(error);
        if (cause === undefined) this.#end(!this.#signal.aborted);
        else if (cause instanceof NetworkError && isPermanent(cause.fault)) this.#giveUp(error);
        if (cause === undefined || this.hasGivenUp) throw error;
        onFailure(error);
        this.#outage ??= startOutage(send, this.#clock);
        const { probe, over } = this.#outage;
        const mayRetry = await (probe === send ? this.#pause(this.#outage, cause, error) : over);
        if (!mayRetry) throw error;
      }
    }
  }

  /** Takes a request into account that is sent again after `delay` ms. */
  onRetry(cause: WaitCause, delay: number): void {
    const now = this.#clock.monotonic();
    this.#cause = cause;
    this.#until = now + delay;
    if (now - this.#noticedAt < NOTICE_INTERVAL) return;
    this.#noticedAt = now;
    this.#onWait(cause, delay);
  }

  /** Takes a response to any request of the batch into account. */
  onResponse(status: number, isTooBusy: boolean): void {
    if (isTooBusy) this.#startBusy(status);
    else if (status < 500) this.#endBusy();
  }

  /** Ends the timers. */
  close(): void {
    this.#endBusy();
    this.#end(false);
  }

  #startBusy(status: number): void {
    if (this.#busy !== undefined || this.hasGivenUp) return;
    const busy = { status, awake: new AwakeTime(this.#clock), cancelTimer: () => {} };
    this.#busy = busy;
    const check = () => {
      const left = MAX_OUTAGE - busy.awake.elapsed();
      // A suspended process has not waited.
      if (left > 0) busy.cancelTimer = this.#clock.after(left, check);
      else this.#giveUp(tooBusy(this.#cause, status));
    };
    check();
  }

  #endBusy(): void {
    this.#busy?.awake.end();
    this.#busy?.cancelTimer();
    this.#busy = undefined;
    this.#cause = undefined;
  }

  #end(isReachable: boolean): void {
    this.#outage?.awake.end();
    this.#outage?.end(isReachable);
    this.#outage = undefined;
    if (this.#busy === undefined) this.#cause = undefined;
  }

  #giveUp(error: unknown): void {
    this.#givenUp.abort(error);
    this.#endBusy();
    this.#end(false);
  }

  /** Waits for the backoff; resolves with whether to make another attempt. */
  async #pause(outage: Outage, cause: WaitCause, error: unknown): Promise<boolean> {
    // A suspended machine may have caused this failure, so another attempt decides. How long a service may be busy is
    // decided by all responses.
    const isOver =
      cause instanceof NetworkError && !outage.awake.consumeStop() && outage.awake.elapsed() >= MAX_OUTAGE;
    if (isOver) {
      this.#giveUp(error);
      return false;
    }
    const delay = backoff(outage.attempts++, this.#clock.random());
    this.onRetry(cause, delay);
    try {
      await this.#clock.sleep(delay, AbortSignal.any([this.#signal, this.givenUp]));
      return true;
    } catch {
      this.#end(false);
      return false;
    }
  }
}

function startOutage(probe: Outage['probe'], clock: Clock): Outage {
  let end = (_isReachable: boolean) => {};
  const over = new Promise<boolean>((resolve) => {
    end = resolve;
  });
  return { probe, awake: new AwakeTime(clock), attempts: 0, over, end };
}

/** Returns the error of the rows that wait when the batch gives up. */
function tooBusy(cause: WaitCause | undefined, status: number): NotTriggeredError {
  const known = cause ?? new HttpError({ method: 'POST', url: '', status });
  return new NotTriggeredError(known, 'unsent', 1, 0);
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
  const { fault } = cause;
  const isConnectionFault = isPermanent(fault) || (sendState === 'unsent' && TRANSIENT.includes(fault));
  return isConnectionFault ? cause : undefined;
}
