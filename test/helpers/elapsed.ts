/** Time that does not depend on what else the machine does. */

/** The time (µs) that this thread has computed: collecting garbage is done by others. Before Node 23.9, that of the process. */
const cpuUsage: NodeJS.Process['cpuUsage'] =
  (process as { threadCpuUsage?: NodeJS.Process['cpuUsage'] }).threadCpuUsage ?? process.cpuUsage;
/** A gap between two ticks counts at most this long (ms): in the rest of it the process did not run. */
const LONGEST_GAP = 4;

/**
 * Starts to measure, and returns a function that ends it and returns the milliseconds in which this process could run: those
 * it waited, and those it computed, without those in which the processor was given to others.
 */
export function startTimer(): () => number {
  const cpuBefore = cpuUsage();
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
    const { user, system } = cpuUsage(cpuBefore);
    return Math.max(waited, (user + system) / 1_000);
  };
}
