/** The clocks of the tests. */
import { expect, test } from 'vitest';
import { runCli } from './cli.js';
import { AutoAdvancingClock } from './clock.js';
import { aFinishedRun, scriptedService } from './service.js';

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
