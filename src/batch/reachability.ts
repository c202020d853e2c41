/**
 * Whether the service of a batch can be reached. While it refuses connections, one row is sent again and again with
 * backoff, and all others wait; after five minutes the batch gives up.
 */

import { NetworkError, type NetworkFault, NotTriggeredError } from '../errors.js';
import type { Clock } from '../platform/context.js';
import { AwakeTime } from '../service/awake-time.js';
import { backoff, isPermanent } from '../service/retry.js';

const MAX_OUTAGE = 5 * 60_000;
/** Milliseconds between two notices to the user. */
const NOTICE_INTERVAL = 60_000;

/** Faults of a connection that another attempt may not meet. */
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
  /** What is called again meanwhile, while all other rows wait. */
  probe: () => Promise<unknown>;
  awake: AwakeTime;
  attempts: number;
  /** Resolves with whether rows may be sent again. */
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
   * `signal` ends an outage without another attempt. `onOutage` is told, at most once a minute, why rows wait and in how
   * many milliseconds the next attempt is made.
   */
  constructor(clock: Clock, signal: AbortSignal, onOutage: (cause: NetworkError, delay: number) => void) {
    this.#clock = clock;
    this.#signal = signal;
    this.#onOutage = onOutage;
  }

  /** Whether no further row is to be sent: after five minutes without a connection, or a fault that lasts. */
  get hasGivenUp(): boolean {
    return this.#hasGivenUp;
  }

  /** Resolves, after an outage if there is one, with whether a row may be sent. */
  async isReachable(): Promise<boolean> {
    if (this.#hasGivenUp) return false;
    return this.#outage === undefined || this.#outage.over;
  }

  /**
   * Returns what `send` returns, calling it again after each missing connection. Throws what it throws; the
   * NotTriggeredError of a missing connection only when there is to be no further attempt.
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

  /** Waits for the next attempt; resolves with whether there is to be one. */
  async #pause(outage: Outage, cause: NetworkError): Promise<boolean> {
    // The stop may be all that was wrong with this attempt, so another one decides.
    if (!outage.awake.takeStop() && outage.awake.elapsed() >= MAX_OUTAGE) {
      this.#giveUp();
      return false;
    }
    const delay = backoff(outage.attempts++, this.#clock.random());
    this.#notify(cause, delay);
    try {
      await this.#clock.sleep(delay, this.#signal);
      return true;
    } catch {
      this.#end(false);
      return false;
    }
  }

  #notify(cause: NetworkError, delay: number): void {
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

/** Why nothing of a trigger was sent, where that was for want of a connection and not of this machine's resources. */
function findConnectionFault(error: unknown): NetworkError | undefined {
  if (!(error instanceof NotTriggeredError && error.cause instanceof NetworkError)) return undefined;
  const { fault } = error.cause;
  const isMissing = isPermanent(fault) || (error.phase === 0 && TRANSIENT.includes(fault));
  return isMissing ? error.cause : undefined;
}
