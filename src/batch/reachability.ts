/**
 * Tracks whether the service of a batch can be reached. While it cannot, one row is retried with backoff and all others
 * wait; after five minutes the batch gives up.
 */

import { NetworkError, type NetworkFault, NotTriggeredError } from '../errors.js';
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

interface Outage {
  /** The send function that is retried while all other rows wait. */
  probe: () => Promise<unknown>;
  awake: AwakeTime;
  attempts: number;
  /** Resolves at the end of the outage with whether rows may be sent again. */
  over: Promise<boolean>;
  end(isReachable: boolean): void;
}

export class Reachability {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #onOutage: (cause: NetworkError, delay: number) => void;
  #outage: Outage | undefined;
  #hasGivenUp = false;
  #noticedAt = Number.NEGATIVE_INFINITY;

  /**
   * `signal` ends an outage without another attempt. `onOutage` is called at most once a minute, with the cause and the
   * delay of the next attempt (ms).
   */
  constructor(clock: Clock, signal: AbortSignal, onOutage: (cause: NetworkError, delay: number) => void) {
    this.#clock = clock;
    this.#signal = signal;
    this.#onOutage = onOutage;
  }

  /** Whether no further row is sent: after five minutes without a connection, or a permanent fault. */
  get hasGivenUp(): boolean {
    return this.#hasGivenUp;
  }

  /** Waits for the end of an outage, and resolves with whether a row may be sent. */
  async isReachable(): Promise<boolean> {
    if (this.#hasGivenUp) return false;
    return this.#outage === undefined || this.#outage.over;
  }

  /**
   * Calls `send`, and again after each failed connection, and returns its result. Throws what `send` throws; the
   * NotTriggeredError of a failed connection only if no further attempt is made.
   */
  async send<T>(send: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const result = await send();
        this.#end(true);
        return result;
      } catch (error) {
        const cause = findConnectionFault(error);
        if (cause === undefined) this.#end(!this.#signal.aborted);
        else if (isPermanent(cause.fault)) this.#giveUp();
        if (cause === undefined || this.#hasGivenUp) throw error;
        this.#outage ??= startOutage(send, this.#clock);
        const { probe, over } = this.#outage;
        const mayRetry = await (probe === send ? this.#pause(this.#outage, cause) : over);
        if (!mayRetry) throw error;
      }
    }
  }

  #end(isReachable: boolean): void {
    this.#outage?.awake.end();
    this.#outage?.end(isReachable);
    this.#outage = undefined;
  }

  #giveUp(): void {
    this.#hasGivenUp = true;
    this.#end(false);
  }

  /** Waits for the backoff; resolves with whether to make another attempt. */
  async #pause(outage: Outage, cause: NetworkError): Promise<boolean> {
    // A suspended machine may have caused this failure, so another attempt decides.
    if (!outage.awake.consumeStop() && outage.awake.elapsed() >= MAX_OUTAGE) {
      this.#giveUp();
      return false;
    }
    const delay = backoff(outage.attempts++, this.#clock.random());
    this.#reportOutage(cause, delay);
    try {
      await this.#clock.sleep(delay, this.#signal);
      return true;
    } catch {
      this.#end(false);
      return false;
    }
  }

  #reportOutage(cause: NetworkError, delay: number): void {
    const now = this.#clock.monotonic();
    if (now - this.#noticedAt < NOTICE_INTERVAL) return;
    this.#noticedAt = now;
    this.#onOutage(cause, delay);
  }
}

function startOutage(probe: Outage['probe'], clock: Clock): Outage {
  let end = (_isReachable: boolean) => {};
  const over = new Promise<boolean>((resolve) => {
    end = resolve;
  });
  return { probe, awake: new AwakeTime(clock), attempts: 0, over, end };
}

/** Returns the fault that kept a trigger from connecting; undefined for other errors, such as a lack of local resources. */
function findConnectionFault(error: unknown): NetworkError | undefined {
  if (!(error instanceof NotTriggeredError && error.cause instanceof NetworkError)) return undefined;
  const { fault } = error.cause;
  const isConnectionFault = isPermanent(fault) || (error.sendState === 'unsent' && TRANSIENT.includes(fault));
  return isConnectionFault ? error.cause : undefined;
}
