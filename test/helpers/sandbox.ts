/** The built-in sandbox for one test, with the test's clock. */
import { onTestFinished } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/server.js';
import { BUILT_IN_WORKFLOWS } from '../../src/sandbox/workflow.js';
import { VirtualClock } from './clock.js';

/** Clocks of a sandbox for real processes, whose runs take a fiftieth of their time. */
export const fastClock = { now: Date.now, monotonic: () => performance.now() * 50 };

/** Returns a clock that stands still, so that no run ends before `start` is called. */
export function stoppedClock() {
  let started: number | undefined;
  return {
    now: Date.now,
    monotonic: () => (started === undefined ? 0 : fastClock.monotonic() - started),
    start: () => {
      started = fastClock.monotonic();
    },
  };
}

export const INVOICE = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';
export const ARCHIVE = 'a6c4e2f0-1b3d-4f5e-8a7c-9d0b1c2e3f4a';
export const FAILING = 'f7a1c2d3-0b4e-4f5a-8c6d-7e8f9a0b1c2d';
export const SLOW = '51000000-2f3a-4b4c-9d5e-6f7a8b9c0d1e';

/** Starts a sandbox that ends with the test (a concurrent one has an `onEnd` of its own); `env` and `clock` are options for `runCli`. */
export async function startTestSandbox(options: Partial<SandboxOptions> = {}, onEnd = onTestFinished) {
  const clock = new VirtualClock();
  const log: string[] = [];
  const sandbox = await startSandbox({
    workflows: BUILT_IN_WORKFLOWS,
    token: 'sandbox-token',
    port: 0,
    clock,
    log: (line) => log.push(line),
    ...options,
  });
  onEnd(() => sandbox.stop());
  const env = { WFR_BASE_URL: sandbox.baseUrl, WFR_TOKEN: 'sandbox-token' };
  return { sandbox, clock, env, log, posts: () => log.filter((line) => line.includes(' POST ')).length };
}
