/** How a run is followed: what tests of commands cannot time. */
import { expect, test } from 'vitest';
import { NetworkError } from '../../src/service/errors.js';
import { followRun } from '../../src/service/follow-run.js';
import { parseRun } from '../../src/service/parse-run.js';
import { NO_ROOM, type ResponsePlace } from '../../src/service/response-memory.js';
import { VirtualClock } from '../helpers/clock.js';
import { aFinishedRun, aRun } from '../helpers/service.js';

const responseOf = (run: object) => ({
  status: 200,
  headers: {},
  body: Buffer.from(JSON.stringify(run)),
});

test('the wait for room in memory does not count as time in which a run cannot be read', async () => {
  const clock = new VirtualClock();
  const lost = () => new NetworkError('reset', { host: 'service.test:443' });
  const failures = [lost(), NO_ROOM, lost()];
  const poll = async () => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return { run: parseRun(responseOf(aFinishedRun())), retryAfter: undefined };
  };
  const place = { waitForRoom: () => clock.sleep(6 * 60_000), hold() {}, end() {} };
  const changes = followRun('run-1', {
    poll,
    place: place as unknown as ResponsePlace,
    clock,
    signal: new AbortController().signal,
    accepted: parseRun(responseOf(aRun())),
    ...{ interval: 1_000, maxInterval: 1_000, timeout: undefined },
  });
  const statuses: (string | undefined)[] = [];
  for await (const { status } of changes) statuses.push(status);
  expect(statuses).toEqual(['FINISHED']);
});
