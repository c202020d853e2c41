/**
 * Decides when a batch may send: how many requests a second, whether to wait for a service that cannot be reached or is too
 * busy, and when to send no further rows.
 */
import type { Facts } from '../errors.js';
import { type Exit, ExitCode } from '../exit-code.js';
import { factsOf } from '../outcome/describe-error.js';
import type { Clock } from '../platform/context.js';
import { NetworkError, NotTriggeredError, RESEND_503_HINT } from '../service/errors.js';
import { HttpError } from '../service/http-error.js';
import { backoff } from '../service/retry.js';
import type { RequestGate } from '../service/service.js';
import { type AwakeTime, startAwakeTime } from '../service/time-limits.js';
import { formatDuration } from '../text/quantity.js';
import { isTooBusy, RateLimiter } from './rate-limiter.js';

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

/** The wait for the next request. */
export interface ServiceWait {
  /** The status of a service that is too busy; undefined if it cannot be reached. */
  status: number | undefined;
  /** When the next request is sent (ms, monotonic). */
  until: number;
}

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

/** The time since the first of the latest responses, all of which say that the service is too busy. */
interface Busy {
  status: number;
  awake: AwakeTime;
}

export class Gate implements RequestGate {
  readonly #limiter: RateLimiter;
  readonly #givenUp = new AbortController();
  /** Aborts with an error after five minutes without a connection or a normal response, or after a permanent fault. */
  readonly givenUp = this.#givenUp.signal;
  #outage: Outage | undefined;
  #busy: Busy | undefined;
  #cause: WaitCause | undefined;
  #until = 0;
  #noticedAt = Number.NEGATIVE_INFINITY;
  /** The latest rows that were not accepted, all for the same reason: the status of the rejection, or the code. */
  #streak: { why: number | string | undefined; count: number } = { why: undefined, count: 0 };
  #unreachableRows = 0;
  /** Why no further row may be sent, as lines for the summary; undefined while rows may be sent. */
  stopReason: readonly string[] | undefined;

  constructor(private readonly options: GateOptions) {
    this.#limiter = new RateLimiter(options.rate, options.clock);
  }

  /** What requests wait for; undefined while they need not. */
  get wait(): ServiceWait | undefined {
    const status = this.#busy?.status;
    return this.#cause === undefined && status === undefined ? undefined : { status, until: this.#until };
  }

  acquire(signal: AbortSignal): Promise<void> {
    return this.#limiter.acquire(signal);
  }

  onResponse(status: number, retryAfter: number | undefined): void {
    this.#limiter.onResponse(status, retryAfter);
    if (isTooBusy(status, retryAfter)) this.#stayBusy(status);
    else if (status < 500) this.#endBusy();
  }

  /** Rows continue to be sent until one of them has failed to connect several times. */
  onRetry(why: NetworkError | HttpError, delay: number): void {
    if (why instanceof HttpError) this.#startWait(why, delay);
  }

  /** Waits for the end of an outage, and resolves with whether a row may be sent. */
  async waitUntilReachable(): Promise<boolean> {
    await this.#outage?.over;
    return !this.#isEnding();
  }

  /**
   * Calls `send`, and again after each failed connection or while the service is too busy, and returns its result. Throws
   * what `send` throws; the NotTriggeredError of such a failure only if no further attempt is made.
   */
  async send<T>(send: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const result = await send();
        this.#endOutage();
        this.#triggerEnded(undefined);
        return result;
      } catch (error) {
        const cause = findOutageCause(error);
        if (cause === undefined) this.#endOutage();
        else if (cause instanceof NetworkError && cause.isPermanent) this.#giveUp(error);
        // The next row would be sent before the time that the service asks for.
        if (error instanceof NotTriggeredError && error.retryAfter !== undefined) this.#giveUp(error);
        if (cause !== undefined && !this.givenUp.aborted) {
          this.#outage ??= startOutage(send, this.options.clock);
          const { probe, over } = this.#outage;
          await (probe === send ? this.#pause(this.#outage, cause, error) : over);
          if (!this.#isEnding()) continue;
        }
        this.#triggerEnded(factsOf(error));
        throw error;
      }
    }
  }

  /** Takes the end of a row into account; the first reason to stop counts. */
  rowEnded(exit: Exit, error: Facts | undefined): void {
    const isUnreachable = exit === ExitCode.unreachable && error?.code !== 'no-such-run';
    this.#unreachableRows = isUnreachable ? this.#unreachableRows + 1 : 0;
    this.stopReason ??= this.#reasonAfterRow(exit, error);
  }

  /** Ends the timers. */
  close(): void {
    this.#endBusy();
    this.#endOutage();
  }

  // When to stop

  /** Counts consecutive unknown outcomes and rejections; `error` is undefined for a row that was accepted. */
  #triggerEnded(error: Facts | undefined): void {
    const isUnknown = error?.code === 'unknown-outcome';
    const why = isUnknown ? error.code : isRejection(error) ? error?.response?.status : undefined;
    this.#streak = { why, count: why === this.#streak.why ? this.#streak.count + 1 : 1 };
    if (!isUnknown || this.#streak.count < MAX_UNKNOWN) return;
    const hints = error.hints.filter((hint) => hint === RESEND_503_HINT);
    this.stopReason ??= stop(`The outcomes of ${MAX_UNKNOWN} consecutive rows are unknown`, ...hints);
  }

  #reasonAfterRow(exit: Exit, error: Facts | undefined): readonly string[] | undefined {
    const { failFast, keepGoing } = this.options;
    const hints = error?.hints ?? [];
    const status = error?.response?.status;
    const reason: unknown = this.givenUp.reason;
    if (!keepGoing && exit === ExitCode.unauthorized) return stop('The service rejected the token', ...hints);
    if (!keepGoing && isRejection(error) && status === 404)
      return stop('The service does not know the workflow or the address', ...hints, KEEP_GOING);
    const isRepeated = status !== undefined && status === this.#streak.why;
    if (!keepGoing && isRepeated && this.#streak.count >= MAX_REJECTED)
      return stop(
        `The service rejected ${MAX_REJECTED} consecutive rows with ${status}`,
        ...hints,
        KEEP_GOING,
      );
    if (reason instanceof NotTriggeredError && reason.retryAfter !== undefined)
      return stop(`The service asks to wait ${formatDuration(reason.retryAfter)}`);
    if (this.givenUp.aborted && status !== undefined) return stop('The service was too busy for 5 minutes');
    if (this.givenUp.aborted || this.#unreachableRows >= MAX_UNREACHABLE)
      return stop('The service cannot be reached', ...hints);
    return failFast && exit !== ExitCode.ok ? stop('A row failed, and --fail-fast is set') : undefined;
  }

  // Waiting for the service

  #startWait(cause: WaitCause, delay: number): void {
    const now = this.options.clock.monotonic();
    this.#cause = cause;
    this.#until = now + delay;
    if (now - this.#noticedAt < NOTICE_INTERVAL) return;
    this.#noticedAt = now;
    this.options.onWait(cause, delay);
  }

  #stayBusy(status: number): void {
    if (this.givenUp.aborted) return;
    this.#busy ??= { status, awake: startAwakeTime(this.options.clock) };
    if (this.#busy.awake.elapsed() >= MAX_OUTAGE) this.#giveUp(tooBusy(this.#cause, status));
  }

  #endBusy(): void {
    this.#busy?.awake.end();
    this.#busy = undefined;
    this.#cause = undefined;
  }

  #endOutage(): void {
    this.#outage?.awake.end();
    this.#outage?.end();
    this.#outage = undefined;
    if (this.#busy === undefined) this.#cause = undefined;
  }

  #giveUp(error: unknown): void {
    this.#givenUp.abort(error);
    this.#limiter.stop(error);
    this.#endBusy();
    this.#endOutage();
  }

  /** Whether no further attempt is made. */
  #isEnding(): boolean {
    return this.givenUp.aborted || this.options.signal.aborted;
  }

  /** Waits for the backoff, or gives up. */
  async #pause(outage: Outage, cause: WaitCause, error: unknown): Promise<void> {
    const { clock, signal } = this.options;
    // A suspended machine may have caused this failure, so another attempt decides. How long a service may be busy is
    // decided by all responses.
    const isOver =
      cause instanceof NetworkError && !outage.awake.consumeStop() && outage.awake.elapsed() >= MAX_OUTAGE;
    if (isOver) return this.#giveUp(error);
    const delay = backoff(outage.attempts++, clock.random());
    this.#startWait(cause, delay);
    await clock.sleep(delay, AbortSignal.any([signal, this.givenUp])).catch(() => this.#endOutage());
  }
}

function stop(why: string, ...more: readonly string[]): readonly string[] {
  return [`${why}: no further rows were sent.`, ...more];
}

const KEEP_GOING = '--keep-going sends the remaining rows anyway.';

function isRejection(error: Facts | undefined): boolean {
  return error?.code === 'rejected' || error?.code === 'unauthorized' || error?.code === 'forbidden';
}

function startOutage(probe: Outage['probe'], clock: Clock): Outage {
  let end = () => {};
  const over = new Promise<void>((resolve) => (end = resolve));
  return { probe, awake: startAwakeTime(clock), attempts: 0, over, end };
}

/** Returns the error of the rows that wait when the batch gives up. */
function tooBusy(cause: WaitCause | undefined, status: number): NotTriggeredError {
  const known = cause ?? new HttpError({ url: '', status, request: { workflowId: '', length: 0 } });
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
  const isConnectionFault = sendState === 'unsent' && cause.fault !== 'local';
  return cause.isPermanent || isConnectionFault ? cause : undefined;
}
