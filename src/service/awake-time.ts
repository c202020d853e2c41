/** Measures time without the periods in which the process was stopped: Ctrl-Z, SIGSTOP, a paused container, sleep. */
import type { Clock } from '../platform/context.js';

/** Milliseconds between ticks, and the lateness of a tick that a busy machine explains. */
const TICK = 5_000;
const MAX_LATENESS = 5_000;

/** Measures how long the process has run since construction. Keeps a timer until `end` is called. */
export class AwakeTime {
  readonly #clock: Clock;
  #measuredAt: number;
  #elapsed = 0;
  #wasStopped = false;
  #cancelTick = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
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

  /** Takes a wait of `ms` milliseconds out of the time so far. */
  exclude(ms: number): void {
    this.#measure();
    this.#elapsed -= ms;
  }

  end(): void {
    this.#cancelTick();
  }

  #tick(): void {
    this.#measure();
    this.#cancelTick = this.#clock.after(TICK, () => this.#tick());
  }

  /** Also called between ticks, because after a stop the caller's own timer may run before the tick does. */
  #measure(): void {
    const now = this.#clock.monotonic();
    const passed = now - this.#measuredAt;
    this.#measuredAt = now;
    if (passed > TICK + MAX_LATENESS) this.#wasStopped = true;
    else this.#elapsed += passed;
  }
}
