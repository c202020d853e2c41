/** A short soak run, for every run of the tests. */
import { expect, test } from 'vitest';
import { runCli } from '../helpers/cli.js';
import { AutoAdvancingClock } from '../helpers/clock.js';
import { aFinishedRun, scriptedService } from '../helpers/service.js';
import { soak } from './soak.js';

test('run: 150 invocations against a chaotic service report nothing that its record contradicts', async () => {
  const { violations, runsCreated } = await soak(1, 150);
  expect(violations).toEqual([]);
  expect(runsCreated).toBeGreaterThan(50);
});

test('AutoAdvancingClock: a response that has arrived is read before time advances, however busy the machine is', async () => {
  const clock = new AutoAdvancingClock(25);
  const service = await scriptedService((_request, reply) => {
    reply.send(201, aFinishedRun());
    const busy = new Int32Array(new SharedArrayBuffer(4));
    Atomics.wait(busy, 0, 0, 3 * clock.idleMs);
  });
  const { exitCode } = await runCli(['run', 'w', '-q'], { env: { WFR_BASE_URL: service.baseUrl }, clock });
  expect(exitCode).toBe(0);
});
