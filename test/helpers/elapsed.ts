/** Time that does not depend on what else the machine does. */

/** A gap between two ticks counts at most this long (ms): in the rest of it the process did not run. */
const LONGEST_GAP = 4;

/**
 * Starts to measure, and returns a function that ends it and returns the milliseconds in which this process could run: those
 * it waited, and those it computed, without those in which the processor was given to others.
 */
export function startTimer(): () => number {
  const cpuBefore = process.cpuUsage();
  let waited = 0;
  let last = performance.now();
  const tick = () => {
    const now = performance.now();
    waited += Math.min(now - last, LONGEST_GAP);
    last = now;
  };
  const ticking = setInterval(tick, 1);
  return () => {
    clearInterval(ticking);
    tick();
    const { user, system } = process.cpuUsage(cpuBefore);
    return Math.max(waited, (user + system) / 1_000);
  };
}
