/** Faults while an existing run is watched: its id has been printed, so wfr can wait and retry. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CliOptions, runCli, Signals, temporaryFolder } from '../helpers/cli.js';
import { AutoAdvancingClock, realClock, VirtualClock } from '../helpers/clock.js';
import { startTimer } from '../helpers/elapsed.js';
import { errorData } from '../helpers/error-data.js';
import { folderWith } from '../helpers/files.js';
import { startWfr } from '../helpers/process.js';
import {
  aFinishedRun,
  aRun,
  type Handler,
  inTurn,
  scriptedService,
  showRun,
  stillRunning,
} from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

const finished: Handler = (_request, reply) => reply.send(200, aFinishedRun());
const fail =
  (status: number, headers: Record<string, string> = {}): Handler =>
  (_request, reply) =>
    reply.send(status, { message: `words for ${status}` }, headers);
const reset: Handler = (_request, reply) => reply.reset();

/** Runs a command against a service that accepts triggers and answers polls with `polls` in turn, the last repeatedly. */
async function runAgainst(command: readonly string[], polls: readonly Handler[], options: CliOptions = {}) {
  const clock = (options.clock ?? new VirtualClock()) as VirtualClock;
  const poll = inTurn(...polls);
  const service = await scriptedService(
    async (request, reply) => {
      await request.body();
      if (request.method === 'POST') return reply.send(201, aRun({ status: 'PENDING' }));
      return poll(request, reply);
    },
    { clock },
  );
  const result = await runCli(command, {
    ...options,
    clock,
    env: { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: 'tok', ...options.env },
  });
  const gets = service.requests.filter(({ method }) => method === 'GET');
  const gaps = gets.slice(1).map(({ at }, index) => at - (gets[index]?.at ?? 0));
  return { ...result, polls: gets.length, posts: service.posts().length, gaps };
}

const RUN = ['run', 'w'];
const WATCH = ['watch', 'run-1'];
const RESUME = 'To watch it: wfr watch run-1\n';

describe('run: polls that fail', () => {
  test.each<[string, Handler]>([
    ['a reset', reset],
    ['a closed connection', (_request, reply) => void reply.socket.end()],
    ['a 502', fail(502)],
    ['a 500', fail(500)],
    ['a 503', fail(503)],
    ['a 408', fail(408)],
    ['a 425', fail(425)],
    ['a 429', fail(429)],
    ['bad JSON', (_request, reply) => reply.send(200, '{"id": "run-1", "status": ')],
    ['a web page', (_request, reply) => reply.send(200, '<html>', { 'content-type': 'text/html' })],
    ['a missing status (like fault 40)', (_request, reply) => reply.send(200, { id: 'run-1' })],
    ['another id in the response (like fault 41)', showRun({ id: 'run-2' })],
    [
      'a content coding that wfr cannot read',
      (_request, reply) => reply.send(200, aRun(), { 'content-encoding': 'br' }),
    ],
    ['a response that is not HTTP', (_request, reply) => void reply.socket.end('hello\r\n\r\n')],
    ['an alert of TLS', (_request, reply) => void reply.socket.end('\u0015\u0003\u0001\0\u0002\u0002F')],
  ])(
    'run: a poll that fails with %s is reported on one line and retried with backoff (fault 35)',
    async (_name, poll) => {
      const { exitCode, stderr, gaps, posts } = await runAgainst(RUN, [
        showRun(),
        poll,
        poll,
        poll,
        finished,
      ]);
      expect({ exitCode, posts }).toEqual({ exitCode: 0, posts: 1 });
      expect(gaps).toEqual([2000, 1000, 2000, 4000]);
      expect(stderr.split('\n').filter((line) => line.includes('; retrying in ')).length).toBe(3);
    },
  );

  test('run: a run that is unreachable for five minutes exits 7, with its id and the watch command (fault 35)', async () => {
    const { exitCode, stderr, clock, posts, gaps } = await runAgainst(RUN, [showRun(), reset]);
    expect({ exitCode, posts }).toEqual({ exitCode: 7, posts: 1 });
    expect(gaps.slice(0, 8)).toEqual([2000, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(4_000 + 300_000);
    expect(clock.monotonic()).toBeLessThan(4_000 + 340_000);
    expect(stderr).toMatch(
      /wfr: error: run run-1 could not be read for 5m( \d+s)?\n {2}the connection to .* was lost/,
    );
    expect(stderr.endsWith(`Run run-1 may still be running.\n${RESUME}`)).toBe(true);
  });

  test('run: the five minutes of an unreachable run start at its last successful poll (fault 35)', async () => {
    const resets = Array<Handler>(11).fill(reset);
    const { exitCode } = await runAgainst(RUN, [
      showRun(),
      ...resets,
      showRun({ stepsCompleted: 2 }),
      ...resets,
      finished,
    ]);
    expect(exitCode).toBe(0);
  });

  test('watch and status: an id that was never read exits 7 after three retries (fault 35)', async () => {
    for (const [command, poll] of [
      [WATCH, reset],
      [WATCH, fail(425)],
      [['status', 'run-1'], reset],
    ] as const) {
      const { exitCode, polls, gaps, stderr } = await runAgainst(command, [poll]);
      expect({ exitCode, polls, gaps }).toEqual({ exitCode: 7, polls: 4, gaps: [1000, 2000, 4000] });
      expect(stderr).toContain('wfr: error: run run-1 could not be read\n');
    }
  });

  test('watch: --timeout during failed polls exits 8 for a run that was read before, otherwise 7 (fault 35)', async () => {
    expect((await runAgainst([...WATCH, '--timeout', '10s'], [showRun(), reset])).exitCode).toBe(8);
    expect((await runAgainst([...WATCH, '--timeout', '2s'], [reset])).exitCode).toBe(7);
  });
});

describe('run: polls that are rate limited', () => {
  test('run: Retry-After on a failed poll is the minimum of the next wait, at most five minutes (fault 36)', async () => {
    const { exitCode, gaps } = await runAgainst(RUN, [
      showRun(),
      fail(429, { 'retry-after': '25' }),
      fail(503, { 'retry-after': '9999' }),
      finished,
    ]);
    expect(exitCode).toBe(0);
    expect(gaps).toEqual([2000, 25000, 300000]);
  });
});

describe('run and watch: polls that get 404', () => {
  test('run: a 404 right after the trigger is retried, as replicas may lag (fault 37)', async () => {
    const { exitCode, polls } = await runAgainst(RUN, [fail(404), fail(404), fail(404), finished]);
    expect({ exitCode, polls }).toEqual({ exitCode: 0, polls: 4 });
  });

  test('run: 404 for 60 s after the trigger exits 7, with the id and the watch command (fault 37)', async () => {
    const { exitCode, stderr, clock } = await runAgainst(RUN, [fail(404)]);
    expect(exitCode).toBe(7);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(60_000);
    expect(clock.monotonic()).toBeLessThan(100_000);
    expect(stderr).toMatch(/\| words for 404\n {2}Check the base URL: http:\/\/127\.0\.0\.1:\d+\n/);
    expect(stderr).toContain(RESUME);
  });

  test('watch: a 404 for an id from the command line exits 5 after one request (fault 38)', async () => {
    const { exitCode, polls, stderr } = await runAgainst(WATCH, [fail(404)]);
    expect({ exitCode, polls }).toEqual({ exitCode: 5, polls: 1 });
    expect(stderr).toContain('the service has no run run-1 (404)');
    expect(stderr).not.toContain(RESUME);
  });

  test('watch: 404 for 60 s for a run that was read before exits 7 (fault 38)', async () => {
    const { exitCode, clock, stderr } = await runAgainst(WATCH, [showRun(), fail(404)]);
    expect(exitCode).toBe(7);
    expect(stderr).toContain('  Check the base URL: http://');
    expect(clock.monotonic()).toBeGreaterThanOrEqual(60_000);
    expect(clock.monotonic()).toBeLessThan(100_000);
  });
});

describe('batch: an accepted row that is resumed', () => {
  /** Runs a batch of one row until it is accepted, then resumes it; polls are answered with `polls` in turn. */
  async function resumeBatch(polls: readonly Handler[]) {
    const poll = inTurn(...polls);
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      if (request.method === 'POST') reply.send(201, aRun({ status: 'PENDING' }));
      else await poll(request, reply);
    });
    const options = {
      cwd: folderWith({ 'rows.jsonl': '{"n":1}\n' }),
      env: { WFR_BASE_URL: service.baseUrl },
    };
    const args = ['batch', 'w', '--rows', 'rows.jsonl', '--results', 'out.jsonl'];
    expect((await runCli([...args, '--timeout', '0'], options)).exitCode).toBe(8);
    return { ...(await runCli(args, options)), posts: service.posts().length };
  }

  test('batch: a 404 on resuming an accepted row is retried, and no second run is created (fault 37)', async () => {
    const { exitCode, posts } = await resumeBatch([showRun(), fail(404), fail(404), finished]);
    expect(exitCode).toBe(0);
    expect(posts).toBe(1);
  });

  test('batch: 400 for 60 s on resuming an accepted row exits 7, as its run exists (fault 37)', async () => {
    const { exitCode, stderr, clock, posts } = await resumeBatch([showRun(), fail(400)]);
    expect(exitCode).toBe(7);
    expect(stderr).toContain('run-1  the run could not be read; the service rejected the request (400)');
    expect(stderr).toContain(
      '\n  1 running, rows.jsonl:1: the run could not be read; the service rejected the request (400); words for 400\n',
    );
    expect(clock.monotonic()).toBeGreaterThanOrEqual(60_000);
    expect(clock.monotonic()).toBeLessThan(100_000);
    expect(posts).toBe(1);
  });
});

describe('run and watch: an unexpected status among successful polls', () => {
  const ODD = [400, 302, 307, 404, 405, 409, 410, 418, 421, 422, 431, 451];

  test.each(ODD)(
    'run: a single %i for a run that was read before is reported and retried like other failed polls (fault 95)',
    async (status) => {
      const { exitCode, stderr, gaps, posts } = await runAgainst(RUN, [
        showRun(),
        fail(status),
        showRun(),
        finished,
      ]);
      expect({ exitCode, posts, gaps }).toEqual({ exitCode: 0, posts: 1, gaps: [2000, 1000, 3000] });
      expect(stderr.split('\n').filter((line) => line.includes('; retrying in '))).toEqual([
        expect.stringContaining(`(${status})`),
      ]);
    },
  );

  test.each(ODD)(
    'run: a single %i as the first response about a triggered run is retried (fault 95)',
    async (status) => {
      const { exitCode, posts } = await runAgainst(RUN, [fail(status), finished]);
      expect({ exitCode, posts }).toEqual({ exitCode: 0, posts: 1 });
    },
  );

  test.each([400, 302, 410])(
    'run: %i for 60 s exits 7, with the id and the watch command (fault 95)',
    async (status) => {
      const { exitCode, stderr, clock, gaps } = await runAgainst(RUN, [showRun(), fail(status)]);
      expect(exitCode).toBe(7);
      expect(gaps).toEqual([2000, 1000, 2000, 4000, 8000, 16000, 30000]);
      expect(clock.monotonic()).toBeLessThan(70_000);
      expect(stderr).toContain(`(${status})`);
      expect(stderr.endsWith(`Run run-1 may still be running.\n${RESUME}`)).toBe(true);
    },
  );

  test('run: the 60 s count consecutive unexpected statuses only; any other poll restarts them (fault 95)', async () => {
    const unexpected = Array<Handler>(5).fill(fail(400));
    const { exitCode } = await runAgainst(RUN, [
      showRun(),
      ...unexpected,
      fail(503),
      fail(400),
      fail(400),
      showRun(),
      ...unexpected,
      finished,
    ]);
    expect(exitCode).toBe(0);
  });

  test('run: unexpected statuses mixed with other failures exit 7 after five minutes (fault 95)', async () => {
    const mixed = Array<Handler[]>(20)
      .fill([fail(400), fail(503)])
      .flat();
    const { exitCode, clock } = await runAgainst(RUN, [showRun(), ...mixed]);
    expect(exitCode).toBe(7);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(300_000);
    expect(clock.monotonic()).toBeLessThan(350_000);
  });

  test.each([400, 302, 410])(
    'watch: %i for an id that was never read exits 5 after one request (fault 95)',
    async (status) => {
      const { exitCode, polls } = await runAgainst(WATCH, [fail(status)]);
      expect({ exitCode, polls }).toEqual({ exitCode: 5, polls: 1 });
    },
  );

  test('watch: --timeout during unexpected statuses exits 8 (fault 95)', async () => {
    expect((await runAgainst([...WATCH, '--timeout', '10s'], [showRun(), fail(400)])).exitCode).toBe(8);
  });
});

describe('run: a token that expires while a run is watched', () => {
  test.each([401, 403])(
    'run: %i on a poll exits 4, with the id and the watch command (fault 39)',
    async (status) => {
      const { exitCode, stderr, polls } = await runAgainst(RUN, [showRun(), fail(status)]);
      expect({ exitCode, polls }).toEqual({ exitCode: 4, polls: 2 });
      expect(stderr).toContain(
        `rejected the access token (${status}); it came from WFR_TOKEN\n| words for ${status}\n`,
      );
      expect(stderr.endsWith(`Run run-1 may still be running.\n${RESUME}`)).toBe(true);
    },
  );
});

test('watch: a renewed token file is used for every watched run, even one that is rejected late (fault 39)', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'token'), 'old');
  let onBothRejected: () => void = () => {};
  const bothRejected = new Promise<void>((resolve) => {
    onBothRejected = resolve;
  });
  let rejections = 0;
  const service = await scriptedService(async (request, reply) => {
    const id = request.path.slice('/runs/'.length);
    if (request.headers.authorization === 'Bearer new') return reply.send(200, { ...aFinishedRun(), id });
    writeFileSync(join(cwd, 'token'), 'new');
    if (++rejections === 2) onBothRejected();
    await bothRejected;
    // The second one is rejected after the first one has its new token.
    if (id === 'b') await new Promise((resolve) => setTimeout(resolve, 50));
    return reply.send(401);
  });
  const { exitCode } = await runCli(['watch', 'a', 'b', '--token-file', 'token'], {
    env: { WFR_BASE_URL: service.baseUrl },
    cwd,
  });
  expect(exitCode).toBe(0);
});

test('run: a run whose error is a string shows it as the message (fault 42)', async () => {
  const { stderr } = await runAgainst(RUN, [showRun({ status: 'FAILED', error: 'just text' })]);
  expect(stderr).toContain('| just text\n');
});

describe('watch: statuses that wfr does not know', () => {
  test('watch: an unknown status is shown, warned about once, and waited for while it changes (fault 40)', async () => {
    const { exitCode, stderr } = await runAgainst(WATCH, [
      showRun({ status: 'PAUSED' }),
      showRun({ status: 'PAUSED' }),
      showRun({ status: 'QUEUED' }),
      finished,
    ]);
    expect(exitCode).toBe(0);
    expect(stderr.split('\n').filter((line) => line.includes('warning: '))).toEqual([
      'wfr: warning: the status PAUSED is unknown to wfr, which waits up to 5m for it to change',
      'wfr: warning: the status QUEUED is unknown to wfr, which waits up to 5m for it to change',
    ]);
    expect(stderr).toContain(' PAUSED  1 of 4 steps\n');
  });

  test('watch: an unknown status that is unchanged for five minutes exits 7 (fault 40)', async () => {
    const { exitCode, stderr, clock } = await runAgainst(WATCH, [showRun({ status: 'PAUSED' })]);
    expect(exitCode).toBe(7);
    expect(stderr).toContain('the status PAUSED is unknown to wfr and has not changed for 5m');
    expect(clock.monotonic()).toBeLessThan(320_000);
  });

  test('watch: a run whose status is always missing exits 7 (fault 40)', async () => {
    expect((await runAgainst(WATCH, [(_request, reply) => reply.send(200, { id: 'run-1' })])).exitCode).toBe(
      7,
    );
  });
});

describe('watch: responses that are inconsistent', () => {
  test('watch: a run whose completed steps decrease is still watched (fault 41)', async () => {
    const { exitCode, stderr } = await runAgainst(WATCH, [
      showRun({ stepsCompleted: 3 }),
      showRun({ stepsCompleted: 1 }),
      finished,
    ]);
    expect(exitCode).toBe(0);
    expect(stderr).toContain('RUNNING  1 of 4 steps');
  });

  test('watch: responses that always show another id exit 7 and print no output (fault 41)', async () => {
    const { exitCode, stdout } = await runAgainst(WATCH, [
      (_request, reply) => reply.send(200, { ...aFinishedRun(), id: 'other' }),
    ]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 7, stdout: '' });
  });
});

describe('run: a run that fails', () => {
  test('run: the message of a failed run is sanitized on stderr, and --json prints the Run (fault 42)', async () => {
    const run = { status: 'FAILED', error: { message: 'a\u001b[31m\n::error::b', step: 'x\u0007' } };
    const { exitCode, stdout, stderr } = await runAgainst([...RUN, '--json'], [showRun(run)]);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toEqual(aRun(run));
    const { step, service } = errorData(stderr);
    expect([step, service?.message]).toEqual(['x\u0007', 'a\u001b[31m\n::error::b']);
    expect(stderr).not.toMatch(/[\u0007\u001b]|^::/m);
    const text = await runAgainst(RUN, [showRun(run)]);
    expect(text.stderr).toContain('Failed at step x\\u0007 (');
    expect(text.stderr).toContain('| a\\u001b[31m\n| ::error::b\n');
  });

  test.each([{}, { error: null }, { error: {} }, { error: { message: 5, step: [] } }])(
    'run: a failed run with %j exits 1 and reports that there is no message (fault 42)',
    async (changes) => {
      const { exitCode, stderr } = await runAgainst(RUN, [showRun({ status: 'FAILED', ...changes })]);
      expect(exitCode).toBe(1);
      expect(stderr).toContain('(the service gave no message)');
    },
  );
});

describe('run and watch: --timeout', () => {
  test('run: a poll in flight when --timeout ends is the last one (fault 43)', async () => {
    const { exitCode, clock } = await runAgainst([...RUN, '--timeout', '1s'], [() => {}], {
      clock: new AutoAdvancingClock(),
    });
    expect(exitCode).toBe(8);
    expect(clock.monotonic()).toBeLessThanOrEqual(6_000);
  });

  test('watch: the single poll of --timeout 0 may take longer than the timeout (fault 43)', async () => {
    const slow: Handler = (_request, reply) => void setTimeout(() => reply.send(200, aRun()), 20);
    const clock = new VirtualClock();
    const { exitCode } = await runAgainst(
      [...WATCH, '--timeout', '0'],
      [
        (request, reply) => {
          clock.advance(7_000);
          return slow(request, reply);
        },
      ],
      { clock },
    );
    expect(exitCode).toBe(8);
  });

  test('run: --timeout prints the status of the run and the watch command (fault 43)', async () => {
    const { exitCode, stderr } = await runAgainst([...RUN, '--timeout', '1m'], [showRun()]);
    expect(exitCode).toBe(8);
    expect(stderr).toContain(`${stillRunning(60_000)}.\n`);
    expect(stderr.endsWith(RESUME)).toBe(true);
  });

  test('run: --timeout ends the wait for a service that does not respond (fault 43)', async () => {
    const { exitCode, clock } = await runAgainst([...RUN, '--timeout', '4s'], [showRun(), () => {}], {
      clock: new AutoAdvancingClock(),
    });
    expect(exitCode).toBe(8);
    expect(clock.monotonic()).toBeLessThan(40_000);
  });

  test('run: a --timeout of 99999h does not overflow to a short one (fault 43)', async () => {
    expect(
      (await runAgainst([...RUN, '--timeout', '99999h'], [showRun(), showRun(), finished])).exitCode,
    ).toBe(0);
  });
});

describe('run: a response of more than 512 MiB', () => {
  test('run: a poll response of more than 512 MiB exits 74 with its size, and keeps the id (fault 44)', async () => {
    const { exitCode, stderr, polls } = await runAgainst(RUN, [
      (_request, reply) => reply.raw('HTTP/1.1 200 OK\r\ncontent-length: 629145600\r\n\r\n{'),
    ]);
    expect({ exitCode, polls }).toEqual({ exitCode: 74, polls: 1 });
    expect(stderr).toContain('larger than 512 MiB (629145600 bytes)');
    expect(stderr).toContain(RESUME);
  });
});

describe('run: a service that stops responding', () => {
  test('run: a poll fails after 30 s without a byte, and the next one succeeds (fault 48)', async () => {
    const { exitCode, stderr } = await runAgainst(RUN, [showRun(), () => {}, finished], {
      clock: new AutoAdvancingClock(),
    });
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/no response from 127\.0\.0\.1:\d+ for 30s; retrying in /);
  });

  test.skipIf(LACKS.signals)(
    'run: a process that is stopped and continued watches its run to the end (fault 48)',
    async () => {
      let afterSuspension = false;
      const service = await scriptedService(async (request, reply) => {
        await request.body();
        if (request.method === 'POST') reply.send(201, aRun());
        else if (afterSuspension) finished(request, reply);
        else {
          afterSuspension = true;
          wfr.child.kill('SIGSTOP');
          // The request in flight is lost while the process is stopped.
          setTimeout(() => {
            reply.reset();
            wfr.child.kill('SIGCONT');
          }, 100);
        }
      });
      const wfr = startWfr(['run', 'w', '--interval', '20ms'], { WFR_BASE_URL: service.baseUrl });
      expect(await wfr.ended).toMatchObject({ exitCode: 0, stdout: '{\n  "total": 1\n}\n' });
      expect(service.posts().length).toBe(1);
    },
  );
});

describe('watch: a clock that jumps', () => {
  test('watch: a change of the wall clock affects neither polls nor --timeout (fault 49)', async () => {
    class JumpingClock extends VirtualClock {
      override now(): number {
        return super.now() + (this.sleeps.length % 2 === 0 ? 3_600_000 : -3_600_000);
      }
    }
    const { exitCode, gaps, stderr } = await runAgainst([...WATCH, '--timeout', '10s'], [showRun()], {
      clock: new JumpingClock(),
    });
    expect({ exitCode, gaps }).toEqual({ exitCode: 8, gaps: [2000, 3000, 4500, 500] });
    expect(stderr).toContain('after 10s; the run continues.');
  });
});

describe('run and watch: a process that was suspended', () => {
  const HOUR = 3_600_000;

  /** Answers with `handler` after the process was suspended for an hour. */
  const afterSuspension =
    (clock: VirtualClock, handler: Handler): Handler =>
    (request, reply) => {
      clock.jump(HOUR);
      return handler(request, reply);
    };

  test('run: an hour of suspension does not count as unreachable time (fault 90)', async () => {
    const clock = new VirtualClock();
    const polls = [showRun(), reset, afterSuspension(clock, reset), reset, reset, finished];
    const { exitCode, gaps } = await runAgainst(RUN, polls, { clock });
    expect({ exitCode, gaps }).toEqual({ exitCode: 0, gaps: [2000, 1000, HOUR + 2000, 4000, 8000] });
  });

  test('run: with the five minutes almost over, two polls must fail after a suspension (fault 90)', async () => {
    const resets = Array<Handler>(14).fill(reset);
    const clocks = [new VirtualClock(), new VirtualClock()] as const;
    const before = await runAgainst(RUN, [showRun(), ...resets, reset], { clock: clocks[0] });
    expect({ exitCode: before.exitCode, polls: before.polls }).toEqual({ exitCode: 7, polls: 16 });
    const polls = [showRun(), ...resets, afterSuspension(clocks[1], reset), finished];
    expect((await runAgainst(RUN, polls, { clock: clocks[1] })).exitCode).toBe(0);
  });

  test('run: a service that stays unreachable after a suspension still exits 7 (fault 90)', async () => {
    const clock = new VirtualClock();
    const { exitCode } = await runAgainst(RUN, [showRun(), reset, afterSuspension(clock, reset), reset], {
      clock,
    });
    expect(exitCode).toBe(7);
    expect(clock.monotonic()).toBeGreaterThan(HOUR + 290_000);
    expect(clock.monotonic()).toBeLessThan(HOUR + 400_000);
  });

  test('run: the 60 s of unexpected statuses do not include a suspension (fault 90)', async () => {
    const clock = new VirtualClock();
    const polls = [showRun(), fail(404), afterSuspension(clock, fail(404)), fail(404), finished];
    expect((await runAgainst(RUN, polls, { clock })).exitCode).toBe(0);
  });

  /** Suspends the process for an hour during the `count`-th wait between polls. */
  class SuspendedClock extends VirtualClock {
    constructor(readonly count: number) {
      super();
    }

    override sleep(ms: number, signal?: AbortSignal): Promise<void> {
      const slept = super.sleep(ms, signal);
      if (this.sleeps.length === this.count) this.jump(HOUR);
      return slept;
    }
  }

  test('watch: the five minutes of an unknown status do not include a suspension (fault 90)', async () => {
    const paused = showRun({ status: 'PAUSED' });
    const clock = new SuspendedClock(2);
    expect((await runAgainst(WATCH, [paused, paused, finished], { clock })).exitCode).toBe(0);
  });

  test('run: --timeout includes a suspension, but a poll that failed because of it is repeated (fault 90)', async () => {
    const clock = new VirtualClock();
    const polls = [showRun(), afterSuspension(clock, reset), finished];
    const { exitCode, gaps } = await runAgainst([...RUN, '--timeout', '1m'], polls, { clock });
    expect({ exitCode, gaps }).toEqual({ exitCode: 0, gaps: [2000, HOUR] });
  });

  test('run: a --timeout that ends during a suspension is followed by one last poll (fault 90)', async () => {
    const clock = new SuspendedClock(2);
    const { exitCode, polls } = await runAgainst([...RUN, '--timeout', '1m'], [showRun(), finished], {
      clock,
    });
    expect({ exitCode, polls }).toEqual({ exitCode: 0, polls: 2 });
    expect(clock.monotonic()).toBeGreaterThanOrEqual(HOUR);
  });
});

describe('run: Ctrl-C while watching', () => {
  test('run: Ctrl-C during a poll exits 130 within 100 ms, with the id and the watch command (fault 63)', async () => {
    const signals = new Signals();
    let elapsed = () => 0;
    const { exitCode, stderr, stdout } = await runAgainst(
      RUN,
      [
        () => {
          elapsed = startTimer();
          signals.raise('SIGINT');
        },
      ],
      { signals, clock: realClock },
    );
    expect(elapsed()).toBeLessThan(100);
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: '' });
    expect(stderr.endsWith(`Interrupted; the run continues.\n${RESUME}`)).toBe(true);
  });

  test('run: Ctrl-C between two polls exits 130 (fault 63)', async () => {
    const signals = new Signals();
    const { exitCode } = await runAgainst([...RUN, '--interval', '1h'], [showRun()], {
      signals,
      clock: realClock,
      onOutput: (text) => text.includes('PENDING') && signals.raise('SIGINT'),
    });
    expect(exitCode).toBe(130);
  });

  test('run: the first of two signals while watching decides the exit code (fault 64)', async () => {
    const signals = new Signals();
    const { exitCode } = await runAgainst(
      RUN,
      [
        () => {
          signals.raise('SIGINT');
          signals.raise('SIGTERM');
        },
      ],
      { signals },
    );
    expect(exitCode).toBe(130);
  });
});

describe('run: a process that is killed with SIGKILL', () => {
  test('run: a killed process has already printed the id and the watch command (fault 66)', async () => {
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      if (request.method === 'POST') reply.send(201, aRun());
    });
    const wfr = startWfr(['run', 'w'], { WFR_BASE_URL: service.baseUrl });
    await wfr.waitForOutput(RESUME);
    wfr.child.kill('SIGKILL');
    expect((await wfr.ended).stderr).toContain('Run run-1');
  });
});
