/** The time limits of one request, and time without the periods in which the process was stopped. */
import type { Socket } from 'node:net';
import type { Clock } from '../platform/context.js';
import { NetworkError, type NetworkFault } from './errors.js';

/** Aborts its signal when an outer signal aborts, or when the time that was allowed has passed. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;
  readonly #forward = () => this.#controller.abort(this.outer.reason);
  #cancel = () => {};

  /** `host`, as `name:port`, is the one that errors name. */
  constructor(
    readonly host: string,
    private readonly outer: AbortSignal,
    private readonly clock: Clock,
  ) {
    // AbortSignal.any would leave a reference on the long-lived outer signal after every request.
    outer.addEventListener('abort', this.#forward, { once: true });
    if (outer.aborted) this.#forward();
  }

  /** Whether the outer signal has aborted. */
  get isInterrupted(): boolean {
    return this.outer.aborted;
  }

  /** Restarts the limit: aborts after `ms` with this fault, whose limit is `after`. */
  allow(ms: number, fault: NetworkFault, after = ms): void {
    this.#cancel();
    this.#cancel = this.clock.after(ms, () => this.expire(fault, after));
  }

  /** Aborts now. */
  expire(fault: NetworkFault, after: number): void {
    this.#controller.abort(new NetworkError(fault, { host: this.host, after }));
  }

  end(): void {
    this.#cancel();
    this.outer.removeEventListener('abort', this.#forward);
  }
}

/** Milliseconds for a process that was stopped past the limit to notice bytes that moved meanwhile. */
const STALL_GRACE = 1_000;

/** Detects that no byte has moved on a socket for a time. */
export class StallTimer {
  #isInGrace = false;

  /** Expires the deadline when no byte has moved for `limit` ms and a grace period. */
  constructor(
    private readonly socket: Socket,
    private readonly limit: number,
    deadline: Deadline,
  ) {
    socket.on('timeout', () => {
      if (this.#isInGrace) return deadline.expire('stalled', limit);
      this.#isInGrace = true;
      socket.setTimeout(Math.min(limit, STALL_GRACE));
    });
    socket.setTimeout(limit);
  }

  /** Reports that bytes have moved. */
  onProgress(): void {
    if (!this.#isInGrace) return;
    this.#isInGrace = false;
    this.socket.setTimeout(this.limit);
  }

  end(): void {
    this.socket.setTimeout(0);
  }
}

/** Milliseconds between ticks, and the lateness of a tick that a busy machine explains. */
const TICK = 5_000;
const MAX_LATENESS = 5_000;

/** Measures how long the process has run since construction. Keeps a timer until `end` is called. */
export class AwakeTime {
  #measuredAt: number;
  #elapsed = 0;
  #wasStopped = false;
  #cancelTick = () => {};

  constructor(private readonly clock: Clock) {
    this.#measuredAt = clock.monotonic();
    this.#tick();
  }

  /** Returns the milliseconds so far, without stops. */
  elapsed(): number {
    this.#measure();
    return this.#elapsed;
  }

  /** Returns whether the process was stopped since the last call of this method, and resets that. */
  consumeStop(): boolean {
    this.#measure();
    const wasStopped = this.#wasStopped;
    this.#wasStopped = false;
    return wasStopped;
  }

  end(): void {
    this.#cancelTick();
  }

  #tick(): void {
    this.#measure();
    this.#cancelTick = this.clock.after(TICK, () => this.#tick());
  }

  /** Also called between ticks, because after a stop the caller's own timer may run before the tick does. */
  #measure(): void {
    const now = this.clock.monotonic();
    const passed = now - this.#measuredAt;
    this.#measuredAt = now;
    if (passed > TICK + MAX_LATENESS) this.#wasStopped = true;
    else this.#elapsed += passed;
  }
}
