/**
 * Watches a run for an hour at the default intervals, on a faster clock. Usage: node --expose-gc hour.mjs SPEED RUN-ID, with
 * WFR_BASE_URL. Prints `{exit, cpu, early, late}`: seconds of CPU, and megabytes of heap after 20 % of the time and at the end.
 */
import { createRequire } from 'node:module';

const speed = Number(process.argv[2]);
const { main, processContext } = createRequire(import.meta.url)('../dist/main.js');
const context = processContext();
const { clock } = context;
const fast = {
  now: () => clock.now() * speed,
  monotonic: () => clock.monotonic() * speed,
  sleep: (ms, signal) => clock.sleep(ms / speed, signal),
  after: (ms, action) => clock.after(ms / speed, action),
  random: clock.random,
};
const usedHeap = () => {
  globalThis.gc();
  return process.memoryUsage().heapUsed / 1e6;
};
let early;
setTimeout(() => (early = usedHeap()), (3_600_000 / speed) * 0.2).unref();
const before = process.cpuUsage();
const exit = await main(['watch', process.argv[3]], { ...context, clock: fast });
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ exit, cpu: (user + system) / 1e6, early, late: usedHeap() }));
