/** Faults while a run that exists is being watched: its id has been said, and waiting is cheap. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CliOptions, runCli, Signals, temporaryFolder } from '../helpers/cli.js';
import { AutoAdvancingClock, realClock, VirtualClock } from '../helpers/clock.js';
import { folderWith } from '../helpers/files.js';
import { startWfr } from '../helpers/process.js';
import { aFinishedRun, aRun, type Handler, inTurn, scriptedService, showRun } from '../helpers/service.js';

const finish: Handler = (_request, reply) => reply.send(200, aFinishedRun());
const fail =
  (status: number, headers: Record<string, string> = {}): Handler =>
  (_request, reply) =>
    reply.send(status, { message: `words for ${status}` }, headers);
const reset: Handler = (_request, reply) => reply.reset();

/** Runs a command against a service that accepts triggers and then does each of `polls` to a poll, the last for ever. */
async function watchWith(command: readonly string[], polls: readonly Handler[], world: CliOptions = {}) {
  const clock = (world.clock ?? new VirtualClock()) as VirtualClock;
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
    ...world,
    clock,
    env: { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: 'tok', ...world.env },
  });
  const gets = service.requests.filter(({ method }) => method === 'GET');
  const gaps = gets.slice(1).map(({ at }, index) => at - (gets[index]?.at ?? 0));
  return { ...result, polls: gets.length, posts: service.posts().length, gaps };
}

const RUN = ['run', 'w'];
const WATCH = ['watch', 'run-1'];
const RESUME = 'To watch it: wfr watch run-1\n';

describe('35: polls that fail', () => {
  test.each<[string, Handler]>([
    ['a reset', reset],
    ['a closed connection', (_request, reply) => void reply.socket.end()],
    ['502', fail(502)],
    ['500', fail(500)],
    ['503', fail(503)],
    ['408', fail(408)],
    ['425', fail(425)],
    ['429', fail(429)],
    ['bad JSON', (_request, reply) => reply.send(200, '{"id": "run-1", "status": ')],
    ['a web page', (_request, reply) => reply.send(200, '<html>', { 'content-type': 'text/html' })],
    ['40: a missing status', (_request, reply) => reply.send(200, { id: 'run-1' })],
    ['41: another id in the answer', showRun({ id: 'run-2' })],
    [
      'a content coding that wfr cannot read',
      (_request, reply) => reply.send(200, aRun(), { 'content-encoding': 'br' }),
    ],
    ['no HTTP', (_request, reply) => void reply.socket.end('hello\r\n\r\n')],
  ])('35: %s is one line each, with backoff, and the run goes on to its end', async (_name, poll) => {
    const { exitCode, stderr, gaps, posts } = await watchWith(RUN, [showRun(), poll, poll, poll, finish]);
    expect({ exitCode, posts }).toEqual({ exitCode: 0, posts: 1 });
    expect(gaps).toEqual([2000, 1000, 2000, 4000]);
    expect(stderr.split('\n').filter((line) => line.includes('; retrying in ')).length).toBe(3);
  });

  test('35: a run that was seen is given up after five minutes out of sight, with its id and how to go on', async () => {
    const { exitCode, stderr, clock, posts, gaps } = await watchWith(RUN, [showRun(), reset]);
    expect({ exitCode, posts }).toEqual({ exitCode: 7, posts: 1 });
    expect(gaps.slice(0, 8)).toEqual([2000, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(4_000 + 300_000);
    expect(clock.monotonic()).toBeLessThan(4_000 + 340_000);
    expect(stderr).toMatch(
      /wfr: run run-1 could not be read for 5m( \d+s)?\n {2}the connection to .* was lost/,
    );
    expect(stderr.endsWith(`Run run-1 may still be running.\n${RESUME}`)).toBe(true);
  });

  test('35: the five minutes count from the last time it was seen', async () => {
    const trouble = Array<Handler>(11).fill(reset);
    const { exitCode } = await watchWith(RUN, [
      showRun(),
      ...trouble,
      showRun({ stepsCompleted: 2 }),
      ...trouble,
      finish,
    ]);
    expect(exitCode).toBe(0);
  });

  test('35: a run that was never seen is given up after three more tries', async () => {
    for (const command of [WATCH, ['status', 'run-1']]) {
      const { exitCode, polls, gaps, stderr } = await watchWith(command, [reset]);
      expect({ exitCode, polls, gaps }).toEqual({ exitCode: 7, polls: 4, gaps: [1000, 2000, 4000] });
      expect(stderr).toContain('wfr: run run-1 could not be read\n');
    }
  });

  test('35: --timeout ends it earlier: 8 for a run that was seen, 7 for one that never was', async () => {
    expect((await watchWith([...WATCH, '--timeout', '10s'], [showRun(), reset])).exitCode).toBe(8);
    expect((await watchWith([...WATCH, '--timeout', '2s'], [reset])).exitCode).toBe(7);
  });
});

describe('36: 429 with Retry-After', () => {
  test('36: is a lower bound of the next wait, cut to five minutes', async () => {
    const { exitCode, gaps } = await watchWith(RUN, [
      showRun(),
      fail(429, { 'retry-after': '25' }),
      fail(503, { 'retry-after': '9999' }),
      finish,
    ]);
    expect(exitCode).toBe(0);
    expect(gaps).toEqual([2000, 25000, 300000]);
  });
});

describe('37, 38: 404', () => {
  test('37: just after our own trigger it is tolerated, as some services know their runs a little later', async () => {
    const { exitCode, polls } = await watchWith(RUN, [fail(404), fail(404), fail(404), finish]);
    expect({ exitCode, polls }).toEqual({ exitCode: 0, polls: 4 });
  });

  test('37: but for 60 s only; then exit 7 with the id and how to go on', async () => {
    const { exitCode, stderr, clock } = await watchWith(RUN, [fail(404)]);
    expect(exitCode).toBe(7);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(60_000);
    expect(clock.monotonic()).toBeLessThan(100_000);
    expect(stderr).toContain('| words for 404\n');
    expect(stderr).toContain(RESUME);
  });

  test('38: of an id that the user gave it is exit 5 at once', async () => {
    const { exitCode, polls, stderr } = await watchWith(WATCH, [fail(404)]);
    expect({ exitCode, polls }).toEqual({ exitCode: 5, polls: 1 });
    expect(stderr).toContain('the service has no run run-1 (404)');
    expect(stderr).not.toContain(RESUME);
  });

  test('38: of a run that has been seen it is exit 7, after 60 s', async () => {
    const { exitCode, clock } = await watchWith(WATCH, [showRun(), fail(404)]);
    expect(exitCode).toBe(7);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(60_000);
    expect(clock.monotonic()).toBeLessThan(100_000);
  });
});

describe('batch: an accepted row that is resumed', () => {
  /** Runs a batch of one row up to its acceptance, and again; each run is shown as `polls` say, the last for ever. */
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
    const { exitCode, posts } = await resumeBatch([showRun(), fail(404), fail(404), finish]);
    expect(exitCode).toBe(0);
    expect(posts).toBe(1);
  });

  test('batch: 400 for 60 s on resuming an accepted row exits 7, as its run exists (fault 37)', async () => {
    const { exitCode, stderr, clock, posts } = await resumeBatch([showRun(), fail(400)]);
    expect(exitCode).toBe(7);
    expect(stderr).toContain('run-1: the run could not be read; the service refused the request (400)');
    expect(clock.monotonic()).toBeGreaterThanOrEqual(60_000);
    expect(clock.monotonic()).toBeLessThan(100_000);
    expect(posts).toBe(1);
  });
});

describe('95: one odd answer among good polls', () => {
  const ODD = [400, 302, 307, 404, 405, 409, 410, 418, 421, 422, 431, 451];

  test.each(ODD)(
    '95: one %i of a run that was seen is retried and reported like other failed polls',
    async (status) => {
      const { exitCode, stderr, gaps, posts } = await watchWith(RUN, [
        showRun(),
        fail(status),
        showRun(),
        finish,
      ]);
      expect({ exitCode, posts, gaps }).toEqual({ exitCode: 0, posts: 1, gaps: [2000, 1000, 3000] });
      expect(stderr.split('\n').filter((line) => line.includes('; retrying in '))).toEqual([
        expect.stringContaining(`(${status})`),
      ]);
    },
  );

  test.each(ODD)(
    '95: one %i as the first answer about a run that wfr has triggered is retried',
    async (status) => {
      const { exitCode, posts } = await watchWith(RUN, [fail(status), finish]);
      expect({ exitCode, posts }).toEqual({ exitCode: 0, posts: 1 });
    },
  );

  test.each([400, 302, 410])('95: %i for 60 s is exit 7, with the id and how to go on', async (status) => {
    const { exitCode, stderr, clock, gaps } = await watchWith(RUN, [showRun(), fail(status)]);
    expect(exitCode).toBe(7);
    expect(gaps).toEqual([2000, 1000, 2000, 4000, 8000, 16000, 30000]);
    expect(clock.monotonic()).toBeLessThan(70_000);
    expect(stderr).toContain(`(${status})`);
    expect(stderr.endsWith(`Run run-1 may still be running.\n${RESUME}`)).toBe(true);
  });

  test('95: the 60 s count only odd answers in a row: another failure or a good poll starts them again', async () => {
    const odd = Array<Handler>(5).fill(fail(400));
    const { exitCode } = await watchWith(RUN, [
      showRun(),
      ...odd,
      fail(503),
      fail(400),
      fail(400),
      showRun(),
      ...odd,
      finish,
    ]);
    expect(exitCode).toBe(0);
  });

  test('95: odd answers and other failures together are given up after five minutes', async () => {
    const mixed = Array<Handler[]>(20)
      .fill([fail(400), fail(503)])
      .flat();
    const { exitCode, clock } = await watchWith(RUN, [showRun(), ...mixed]);
    expect(exitCode).toBe(7);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(300_000);
    expect(clock.monotonic()).toBeLessThan(350_000);
  });

  test.each([400, 302, 410])('95: %i for an id that was never seen is final', async (status) => {
    const { exitCode, polls } = await watchWith(WATCH, [fail(status)]);
    expect({ exitCode, polls }).toEqual({ exitCode: 5, polls: 1 });
  });

  test('95: --timeout ends the wait during odd answers with exit 8', async () => {
    expect((await watchWith([...WATCH, '--timeout', '10s'], [showRun(), fail(400)])).exitCode).toBe(8);
  });
});

describe('39: the token expires in the middle of a run', () => {
  test.each([401, 403])('39: %i is exit 4, with the id and how to go on', async (status) => {
    const { exitCode, stderr, polls } = await watchWith(RUN, [showRun(), fail(status)]);
    expect({ exitCode, polls }).toEqual({ exitCode: 4, polls: 2 });
    expect(stderr).toContain(
      `rejected the access token (${status}); it came from WFR_TOKEN\n| words for ${status}\n`,
    );
    expect(stderr.endsWith(`Run run-1 may still be running.\n${RESUME}`)).toBe(true);
  });
});

test('39: a token file that was renewed saves every run that is watched, also the one that is refused late', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'token'), 'old');
  let refused: () => void = () => {};
  const bothAsked = new Promise<void>((resolve) => {
    refused = resolve;
  });
  let asked = 0;
  const service = await scriptedService(async (request, reply) => {
    const id = request.path.slice('/runs/'.length);
    if (request.headers.authorization === 'Bearer new') return reply.send(200, { ...aFinishedRun(), id });
    writeFileSync(join(cwd, 'token'), 'new');
    if (++asked === 2) refused();
    await bothAsked;
    // The second one is refused when the first has its new token already.
    if (id === 'b') await new Promise((resolve) => setTimeout(resolve, 50));
    return reply.send(401);
  });
  const { exitCode } = await runCli(['watch', 'a', 'b', '--token-file', 'token'], {
    env: { WFR_BASE_URL: service.baseUrl },
    cwd,
  });
  expect(exitCode).toBe(0);
});

test('42: an error that is a text is the message', async () => {
  const { stderr } = await watchWith(RUN, [showRun({ status: 'FAILED', error: 'just text' })]);
  expect(stderr).toContain('| just text\n');
});

describe('40: statuses that the interface does not name', () => {
  test('40: are shown, warned of once, and waited on while they change', async () => {
    const { exitCode, stderr } = await watchWith(WATCH, [
      showRun({ status: 'PAUSED' }),
      showRun({ status: 'PAUSED' }),
      showRun({ status: 'QUEUED' }),
      finish,
    ]);
    expect(exitCode).toBe(0);
    expect(stderr.split('\n').filter((line) => line.includes('warning: '))).toEqual([
      'wfr: warning: the status PAUSED is unknown to wfr; waiting while it changes',
      'wfr: warning: the status QUEUED is unknown to wfr; waiting while it changes',
    ]);
    expect(stderr).toContain(' PAUSED  1 of 4 steps\n');
  });

  test('40: unchanged for five minutes it is exit 7', async () => {
    const { exitCode, stderr, clock } = await watchWith(WATCH, [showRun({ status: 'PAUSED' })]);
    expect(exitCode).toBe(7);
    expect(stderr).toContain('the status PAUSED is unknown to wfr and has not changed for 5m');
    expect(clock.monotonic()).toBeLessThan(320_000);
  });

  test('40: a missing status for ever is given up as out of sight', async () => {
    expect((await watchWith(WATCH, [(_request, reply) => reply.send(200, { id: 'run-1' })])).exitCode).toBe(
      7,
    );
  });
});

describe('41: answers that make no sense', () => {
  test('41: steps that go backwards are waited on', async () => {
    const { exitCode, stderr } = await watchWith(WATCH, [
      showRun({ stepsCompleted: 3 }),
      showRun({ stepsCompleted: 1 }),
      finish,
    ]);
    expect(exitCode).toBe(0);
    expect(stderr).toContain('RUNNING  1 of 4 steps');
  });

  test('41: another id for ever is given up, never taken for the run', async () => {
    const { exitCode, stdout } = await watchWith(WATCH, [
      (_request, reply) => reply.send(200, { ...aFinishedRun(), id: 'other' }),
    ]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 7, stdout: '' });
  });
});

describe('42: a run that fails', () => {
  test('42: its message is shown safely, and the Run is on stdout with --json', async () => {
    const run = { status: 'FAILED', error: { message: 'a\u001b[31m\n::error::b', step: 'x\u0007' } };
    const { exitCode, stdout, stderr } = await watchWith([...RUN, '--json'], [showRun(run)]);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toEqual(aRun(run));
    expect(stderr).toContain('Failed at step x\\u0007\n');
    expect(stderr).toContain('| a\\u001b[31m\n| ::error::b\n');
  });

  test.each([{}, { error: null }, { error: {} }, { error: { message: 5, step: [] } }])(
    '42: whatever its error is: %j',
    async (changes) => {
      const { exitCode, stderr } = await watchWith(RUN, [showRun({ status: 'FAILED', ...changes })]);
      expect(exitCode).toBe(1);
      expect(stderr).toContain('(the service gave no message)');
    },
  );
});

describe('43: --timeout', () => {
  test('43: a look during which the time runs out is the last one', async () => {
    const { exitCode, clock } = await watchWith([...RUN, '--timeout', '1s'], [() => {}], {
      clock: new AutoAdvancingClock(),
    });
    expect(exitCode).toBe(8);
    expect(clock.monotonic()).toBeLessThanOrEqual(6_000);
  });

  test('43: the one look of --timeout 0 may take its time', async () => {
    const slow: Handler = (_request, reply) => void setTimeout(() => reply.send(200, aRun()), 20);
    const clock = new VirtualClock();
    const { exitCode } = await watchWith(
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

  test('43: says what the run was doing and how to go on', async () => {
    const { exitCode, stderr } = await watchWith([...RUN, '--timeout', '1m'], [showRun()]);
    expect(exitCode).toBe(8);
    expect(stderr).toContain('Still RUNNING (1 of 4 steps) after 1m; run run-1 continues.\n');
    expect(stderr.endsWith(RESUME)).toBe(true);
  });

  test('43: cuts through a service that stays silent', async () => {
    const { exitCode, clock } = await watchWith([...RUN, '--timeout', '4s'], [showRun(), () => {}], {
      clock: new AutoAdvancingClock(),
    });
    expect(exitCode).toBe(8);
    expect(clock.monotonic()).toBeLessThan(40_000);
  });

  test('43: a very long one is no short one', async () => {
    expect((await watchWith([...RUN, '--timeout', '99999h'], [showRun(), showRun(), finish])).exitCode).toBe(
      0,
    );
  });
});

describe('44: an answer of more than 512 MiB', () => {
  test('44: is exit 74 with its size, and the id is kept', async () => {
    const { exitCode, stderr, polls } = await watchWith(RUN, [
      (_request, reply) => reply.raw('HTTP/1.1 200 OK\r\ncontent-length: 629145600\r\n\r\n{'),
    ]);
    expect({ exitCode, polls }).toEqual({ exitCode: 74, polls: 1 });
    expect(stderr).toContain('larger than 512 MiB (629145600 bytes)');
    expect(stderr).toContain(RESUME);
  });
});

describe('48: a service that falls silent', () => {
  test('48: a poll fails after 30 s without a byte, and the next one goes on', async () => {
    const { exitCode, stderr } = await watchWith(RUN, [showRun(), () => {}, finish], {
      clock: new AutoAdvancingClock(),
    });
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/no response from 127\.0\.0\.1:\d+ for 30s; retrying in /);
  });

  test('48: a process that was stopped and continued goes on watching', async () => {
    let stopped = false;
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      if (request.method === 'POST') reply.send(201, aRun());
      else if (stopped) finish(request, reply);
      else {
        stopped = true;
        wfr.child.kill('SIGSTOP');
        // What was being asked is lost while nobody listens.
        setTimeout(() => {
          reply.reset();
          wfr.child.kill('SIGCONT');
        }, 100);
      }
    });
    const wfr = startWfr(['run', 'w', '--interval', '20ms'], { WFR_BASE_URL: service.baseUrl });
    expect(await wfr.ended).toMatchObject({ exitCode: 0, stdout: '{\n  "total": 1\n}\n' });
    expect(service.posts().length).toBe(1);
  });
});

describe('49: a clock that jumps', () => {
  test('49: has no effect: nothing is measured by the time of day', async () => {
    class JumpingClock extends VirtualClock {
      override now(): number {
        return super.now() + (this.sleeps.length % 2 === 0 ? 3_600_000 : -3_600_000);
      }
    }
    const { exitCode, gaps, stderr } = await watchWith([...WATCH, '--timeout', '10s'], [showRun()], {
      clock: new JumpingClock(),
    });
    expect({ exitCode, gaps }).toEqual({ exitCode: 8, gaps: [2000, 3000, 4500, 500] });
    expect(stderr).toContain('after 10s; run run-1 continues.');
  });
});

describe('90: a process that was stopped', () => {
  const HOUR = 3_600_000;

  /** Answers with `look` after the process was stopped for an hour. */
  const stopped =
    (clock: VirtualClock, look: Handler): Handler =>
    (request, reply) => {
      clock.jump(HOUR);
      return look(request, reply);
    };

  test('90: an hour of stop is not time in which the service was unreachable', async () => {
    const clock = new VirtualClock();
    const polls = [showRun(), reset, stopped(clock, reset), reset, reset, finish];
    const { exitCode, gaps } = await watchWith(RUN, polls, { clock });
    expect({ exitCode, gaps }).toEqual({ exitCode: 0, gaps: [2000, 1000, HOUR + 2000, 4000, 8000] });
  });

  test('90: with the five minutes almost over, two polls must fail after the stop', async () => {
    const trouble = Array<Handler>(14).fill(reset);
    const clocks = [new VirtualClock(), new VirtualClock()] as const;
    const before = await watchWith(RUN, [showRun(), ...trouble, reset], { clock: clocks[0] });
    expect({ exitCode: before.exitCode, polls: before.polls }).toEqual({ exitCode: 7, polls: 16 });
    const polls = [showRun(), ...trouble, stopped(clocks[1], reset), finish];
    expect((await watchWith(RUN, polls, { clock: clocks[1] })).exitCode).toBe(0);
  });

  test('90: a service that stays unreachable after the stop is given up all the same', async () => {
    const clock = new VirtualClock();
    const { exitCode } = await watchWith(RUN, [showRun(), reset, stopped(clock, reset), reset], { clock });
    expect(exitCode).toBe(7);
    expect(clock.monotonic()).toBeGreaterThan(HOUR + 290_000);
    expect(clock.monotonic()).toBeLessThan(HOUR + 400_000);
  });

  test('90: the 60 s of odd answers do not count the stop either', async () => {
    const clock = new VirtualClock();
    const polls = [showRun(), fail(404), stopped(clock, fail(404)), fail(404), finish];
    expect((await watchWith(RUN, polls, { clock })).exitCode).toBe(0);
  });

  /** Stops the process for an hour during the `count`-th wait between polls. */
  class StoppedClock extends VirtualClock {
    constructor(readonly count: number) {
      super();
    }

    override sleep(ms: number, signal?: AbortSignal): Promise<void> {
      const slept = super.sleep(ms, signal);
      if (this.sleeps.length === this.count) this.jump(HOUR);
      return slept;
    }
  }

  test('90: nor do the five minutes of an unknown status', async () => {
    const paused = showRun({ status: 'PAUSED' });
    const clock = new StoppedClock(2);
    expect((await watchWith(WATCH, [paused, paused, finish], { clock })).exitCode).toBe(0);
  });

  test('90: --timeout counts the stop, but a poll that failed because of it is made again', async () => {
    const clock = new VirtualClock();
    const polls = [showRun(), stopped(clock, reset), finish];
    const { exitCode, gaps } = await watchWith([...RUN, '--timeout', '1m'], polls, { clock });
    expect({ exitCode, gaps }).toEqual({ exitCode: 0, gaps: [2000, HOUR] });
  });

  test('90: --timeout that ran out between two polls is followed by a last one', async () => {
    const clock = new StoppedClock(2);
    const { exitCode, polls } = await watchWith([...RUN, '--timeout', '1m'], [showRun(), finish], { clock });
    expect({ exitCode, polls }).toEqual({ exitCode: 0, polls: 2 });
    expect(clock.monotonic()).toBeGreaterThanOrEqual(HOUR);
  });
});

describe('63: Ctrl-C while watching', () => {
  test('63: is answered within 100 ms, with the id and how to go on', async () => {
    const signals = new Signals();
    let raised = 0;
    const { exitCode, stderr, stdout } = await watchWith(
      RUN,
      [
        () => {
          raised = performance.now();
          signals.raise('SIGINT');
        },
      ],
      { signals, clock: realClock },
    );
    expect(performance.now() - raised).toBeLessThan(100);
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: '' });
    expect(stderr.endsWith(`Interrupted; run run-1 continues.\n${RESUME}`)).toBe(true);
  });

  test('63: between two polls as well', async () => {
    const signals = new Signals();
    const { exitCode } = await watchWith([...RUN, '--interval', '1h'], [showRun()], {
      signals,
      clock: realClock,
      onOutput: (text) => text.includes('PENDING') && signals.raise('SIGINT'),
    });
    expect(exitCode).toBe(130);
  });

  test('64: a second signal changes nothing, and the first one counts', async () => {
    const signals = new Signals();
    const { exitCode } = await watchWith(
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

describe('66: a process that is killed outright', () => {
  test('66: has said the id already, so nothing is lost', async () => {
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
