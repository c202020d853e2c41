/** Time without the periods in which the process was stopped. */
import type { Clock } from '../platform/context.js';

/** Milliseconds between ticks, and the lateness of a tick that a busy machine explains. */
const TICK = 5_000;
const MAX_LATENESS = 5_000;

export type AwakeTime = ReturnType<typeof startAwakeTime>;

/** Measures how long the process has run since the call. Keeps a timer until `end` is called. */
export function startAwakeTime(clock: Clock) {
  let measuredAt = clock.monotonic();
  let elapsed = 0;
  let wasStopped = false;
  let cancelTick = () => {};
  /** Also called between ticks, because after a stop the caller's own timer may run before the tick does. */
  const measure = () => {
    const now = clock.monotonic();
    const passed = now - measuredAt;
    measuredAt = now;
    if (passed > TICK + MAX_LATENESS) wasStopped = true;
    else elapsed += passed;
  };
  const tick = () => {
    measure();
    cancelTick = clock.after(TICK, tick);
  };
  tick();
  return {
    /** Returns the milliseconds so far, without stops. */
    elapsed() {
      measure();
      return elapsed;
    },
    /** Returns whether the process was stopped since the last call of this function, and resets that. */
    consumeStop() {
      measure();
      const result = wasStopped;
      wasStopped = false;
      return result;
    },
    end: () => cancelTick(),
  };
}
