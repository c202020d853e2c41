import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { runCli, Signals } from '../../helpers/cli.js';
import { realClock, VirtualClock } from '../../helpers/clock.js';
import { acceptsAndShows, aFinishedRun, aRun, type Handler, scriptedService } from '../../helpers/service.js';

/** Shows each of `answers` once, the last for ever. */
function shows(...answers: ((reply: Parameters<Handler>[1]) => void)[]): Handler {
  let looks = 0;
  return (_request, reply) => answers[Math.min(looks++, answers.length - 1)]?.(reply);
}

const run =
  (changes = {}) =>
  (reply: Parameters<Handler>[1]) =>
    reply.send(200, aRun(changes));
const finished = (reply: Parameters<Handler>[1]) => reply.send(200, aFinishedRun());

async function watch(handler: Handler, args: readonly string[] = [], world = {}) {
  const clock = new VirtualClock();
  const service = await scriptedService(handler, { clock });
  const env = { WFR_BASE_URL: service.baseUrl };
  const result = await runCli(['watch', ...(args.includes('--') ? [] : ['run-1']), ...args], {
    env,
    clock,
    ...world,
  });
  return { ...result, ...service, gaps: gapsOf(service.requests.map(({ at }) => at)) };
}

const gapsOf = (times: number[]) => times.slice(1).map((time, index) => time - (times[index] ?? 0));

describe('the pace of polls', () => {
  test('looks at once, then slows down by 1.5 to --max-interval while nothing changes, and a change resets', async () => {
    const same = run();
    const { gaps, exitCode } = await watch(
      shows(
        same,
        same,
        same,
        same,
        same,
        same,
        run({ stepsCompleted: 2 }),
        run({ stepsCompleted: 2 }),
        finished,
      ),
    );
    expect(exitCode).toBe(0);
    expect(gaps).toEqual([2000, 3000, 4500, 6750, 10000, 10000, 2000, 3000]);
  });

  test('--interval and --max-interval set it; the maximum is never below the interval', async () => {
    const handler = () => shows(run(), run(), run(), finished);
    expect((await watch(handler(), ['--interval', '500ms', '--max-interval', '600ms'])).gaps).toEqual([
      500, 600, 600,
    ]);
    expect((await watch(handler(), ['--interval', '1m'])).gaps).toEqual([60000, 60000, 60000]);
  });

  test('Retry-After on a readable answer is a lower bound, cut to five minutes', async () => {
    const { gaps } = await watch(
      shows(
        (reply) => reply.send(200, aRun(), { 'retry-after': '7' }),
        (reply) => reply.send(200, aRun(), { 'retry-after': '86400' }),
        finished,
      ),
    );
    expect(gaps).toEqual([7000, 300000]);
  });

  test('--timeout clips the last sleep and looks once more before giving up', async () => {
    const { gaps, exitCode, stderr } = await watch(shows(run()), ['--timeout', '6s']);
    expect(exitCode).toBe(8);
    expect(gaps).toEqual([2000, 3000, 1000]);
    expect(stderr).toContain(
      'Still RUNNING (1 of 4 steps) after 6.0s; run run-1 continues.\nTo watch it: wfr watch run-1\n',
    );
  });

  test('--timeout 0 looks once', async () => {
    const { requests, exitCode } = await watch(shows(run()), ['--timeout', '0']);
    expect(exitCode).toBe(8);
    expect(requests.length).toBe(1);
  });

  test('a run that ends at the last look counts as ended', async () => {
    const { exitCode } = await watch(shows(run(), finished), ['--timeout', '1s']);
    expect(exitCode).toBe(0);
  });
});

describe('an ended run', () => {
  test('gives the same code and output as watching it live', async () => {
    expect(await watch(shows(finished))).toMatchObject({ exitCode: 0, stdout: '{\n  "total": 1\n}\n' });
    const failed = await watch(shows(run({ status: 'FAILED', error: { message: 'broken', step: 'Two' } })));
    expect(failed).toMatchObject({ exitCode: 1, stdout: '' });
    expect(failed.stderr).toContain(
      'Failed at step Two\n| broken\nRun run-1, 1 of 4 steps completed, version v1\n',
    );
  });
});

describe('several runs', () => {
  const byPath: Handler = (request, reply) => {
    const id = request.path.slice('/runs/'.length);
    if (id === 'missing') reply.send(404, { message: 'no such run' });
    else if (id === 'failed')
      reply.send(200, aRun({ id, status: 'FAILED', error: { message: 'm', step: 's' } }));
    else if (id === 'running') reply.send(200, aRun({ id }));
    else reply.send(200, { ...aFinishedRun(), id });
  };
  const watchAll = async (...args: string[]) => {
    const { baseUrl } = await scriptedService(byPath);
    return runCli(['watch', ...args], { env: { WFR_BASE_URL: baseUrl } });
  };

  test('a summary line for each, and 0 if all are FINISHED', async () => {
    const { stdout, exitCode } = await watchAll('a', 'b');
    expect(exitCode).toBe(0);
    expect(stdout.trimEnd().split('\n').sort()).toEqual(['a  FINISHED  4/4', 'b  FINISHED  4/4']);
  });

  test.each([
    [['failed', 'failed'], 1],
    [['a', 'failed'], 3],
    [['a', 'missing'], 3],
    [['missing', 'missing'], 5],
    [['failed', 'missing'], 3],
    [['a', 'running', '--timeout', '0'], 8],
    [['failed', 'running', '--timeout', '0'], 8],
  ])('%j exits with %i', async (args, code) => {
    expect((await watchAll(...args)).exitCode).toBe(code);
  });

  test('json is a Run a line, as each ends; jsonl each change; id the ids', async () => {
    const lines = (text: string) => text.trimEnd().split('\n').sort();
    const json = lines((await watchAll('a', 'failed', '--json')).stdout).map((line) => JSON.parse(line).id);
    expect(json.sort()).toEqual(['a', 'failed']);
    expect(
      lines((await watchAll('a', 'b', '-o', 'jsonl')).stdout).map((line) => JSON.parse(line).id),
    ).toEqual(['a', 'b']);
    expect(lines((await watchAll('a', 'b', '-o', 'id')).stdout)).toEqual(['a', 'b']);
  });

  test('an id that is given twice is watched once', async () => {
    expect((await watchAll('a', 'a')).stdout).toBe('{\n  "total": 1\n}\n');
  });
});

describe('status', () => {
  const status = async (handler: Handler, args: readonly string[]) => {
    const clock = new VirtualClock();
    const service = await scriptedService(handler, { clock });
    const result = await runCli(['status', ...args], { env: { WFR_BASE_URL: service.baseUrl }, clock });
    return { ...result, ...service };
  };

  test('shows a run in a few lines, with one request', async () => {
    const { stdout, exitCode, requests } = await status(shows(run()), ['run-1']);
    expect(exitCode).toBe(0);
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /runs/run-1']);
    expect(stdout).toBe(
      'run        run-1\nstatus     RUNNING\nsteps      1 of 4\nversion    v1\ncreated    2026-01-02T03:04:05Z\n',
    );
  });

  test('shows the step and message of a failed one, and still exits with 0', async () => {
    const { stdout, exitCode } = await status(
      shows(run({ status: 'FAILED', error: { message: 'm', step: 's' } })),
      ['run-1'],
    );
    expect(exitCode).toBe(0);
    expect(stdout).toContain('failed at  s\nmessage    m\n');
  });

  test.each([
    ['FINISHED', 0],
    ['FAILED', 1],
    ['RUNNING', 8],
    ['PENDING', 8],
    ['PAUSED', 8],
  ])('--exit-status of %s is %i', async (state, code) => {
    expect((await status(shows(run({ status: state })), ['run-1', '--exit-status'])).exitCode).toBe(code);
  });

  test('json, jsonl and id', async () => {
    expect(JSON.parse((await status(shows(run()), ['run-1', '--json'])).stdout)).toEqual(aRun());
    expect((await status(shows(run()), ['run-1', '-o', 'jsonl'])).stdout).toBe(`${JSON.stringify(aRun())}\n`);
    expect((await status(shows(run()), ['run-1', '-o', 'id'])).stdout).toBe('run-1\n');
  });

  test('several are shown a line each, in the order asked', async () => {
    const handler: Handler = (request, reply) => {
      reply.send(200, aRun({ id: request.path.slice('/runs/'.length) }));
    };
    const { stdout } = await status(handler, ['c', 'a', 'b']);
    expect(stdout).toBe('c  RUNNING  1/4\na  RUNNING  1/4\nb  RUNNING  1/4\n');
    const json = (await status(handler, ['c', 'a', '--json'])).stdout.trimEnd().split('\n');
    expect(json.map((line) => JSON.parse(line).id)).toEqual(['c', 'a']);
  });

  test('each of several that could not be read is named, also where it is looked at again, with the time', async () => {
    const handler: Handler = (request, reply) => {
      const id = request.path.slice('/runs/'.length);
      if (id === 'a') reply.send(200, aRun({ id }));
      else reply.send(id === 'b' ? 500 : 400);
    };
    const { stderr, exitCode } = await status(handler, ['a', 'b', 'c']);
    expect(exitCode).toBe(7);
    expect(stderr).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ wfr: b: the service answered the request with an error \(500\); retrying in 1\.0s$/m,
    );
    expect(stderr).toContain('wfr: run b could not be read\n');
    expect(stderr).toContain('the service rejected the request (400)\nRun c could not be read.\n');
    expect(stderr).not.toContain('Run a');
    const one = await status(handler, ['b']);
    expect(one.stderr).toMatch(/Z wfr: the service answered .*; retrying in 1\.0s$/m);
    expect((await status(handler, ['c'])).stderr).not.toContain('Run c');
  });

  test('38: an unknown id is exit 5, with one request', async () => {
    const { exitCode, stderr, requests } = await status(
      (_request, reply) => reply.send(404, { message: 'gone' }),
      ['run-9'],
    );
    expect(exitCode).toBe(5);
    expect(stderr).toContain('the service has no run run-9 (404)\n| gone\n');
    expect(requests.length).toBe(1);
  });
});

test('run repeats the flags that name the service in the command that resumes, quoted for a shell', async () => {
  const clock = new VirtualClock();
  const { baseUrl } = await scriptedService((request, reply) =>
    request.method === 'POST' ? reply.send(200, aRun({ id: "it's 1" })) : undefined,
  );
  const { stderr } = await runCli(['run', 'w', '--base-url', baseUrl, '--no-token', '--detach'], { clock });
  expect(stderr).toContain(`To watch it: wfr watch --base-url ${baseUrl} --no-token 'it'\\''s 1'\n`);
});

test('an id is percent-encoded in the path, and the path of the base URL is kept', async () => {
  const { baseUrl, requests } = await scriptedService((_request, reply) => reply.send(404));
  await runCli(['status', 'a/b ?#%ä', '--base-url', `${baseUrl}/api/v1/`], {});
  expect(requests[0]?.path).toBe('/api/v1/runs/a%2Fb%20%3F%23%25%C3%A4');
});

test('answers of several runs never mix, however slowly they are read', async () => {
  const { baseUrl } = await scriptedService((request, reply) => {
    reply.send(200, { ...aFinishedRun('y'.repeat(400_000)), id: request.path.slice('/runs/'.length) });
  });
  for (const format of ['json', 'jsonl']) {
    let written = '';
    const stdout = new Writable({
      write(chunk: Buffer, _encoding, callback) {
        written += chunk.toString();
        setImmediate(callback);
      },
    });
    const { exitCode } = await runCli(['watch', 'a', 'b', 'c', '-o', format], {
      env: { WFR_BASE_URL: baseUrl },
      stdout,
    });
    expect(exitCode).toBe(0);
    const ids = written
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).id);
    expect(ids.sort()).toEqual(['a', 'b', 'c']);
  }
});

test('more runs than there are connections are all watched, and each poll has its own limit of time', async () => {
  const { baseUrl } = await scriptedService((request, reply) => {
    setTimeout(() => reply.send(200, { ...aFinishedRun(), id: request.path.slice('/runs/'.length) }), 150);
  });
  const ids = Array.from({ length: 44 }, (_, n) => `run-${n}`);
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  // Shorter than all of them take together, and long for a busy machine.
  const limits = { silence: 700 };
  const { exitCode, stderr } = await runCli(['watch', ...ids], {
    env: { WFR_BASE_URL: baseUrl },
    clock: realClock,
    limits,
  });
  process.off('warning', onWarning);
  expect(exitCode).toBe(0);
  expect(stderr).not.toContain('no answer');
  expect(warnings).toEqual([]);
});

test('Ctrl-C ends a command whose reader does not read', async () => {
  for (const args of [
    ['watch', 'a'],
    ['status', 'a', '--json'],
  ]) {
    const { baseUrl } = await scriptedService((_request, reply) => {
      reply.send(200, { ...aFinishedRun('y'.repeat(400_000)), id: 'a' });
    });
    const signals = new Signals();
    const stdout = new Writable({ write: () => void setImmediate(() => signals.raise('SIGINT')) });
    const { exitCode } = await runCli(args, { env: { WFR_BASE_URL: baseUrl }, stdout, signals });
    expect(exitCode).toBe(130);
  }
});

test('Ctrl-C while watching several ends all of them, with one command for them', async () => {
  const signals = new Signals();
  const { baseUrl } = await scriptedService((request, reply) => {
    reply.send(200, aRun({ id: request.path.slice('/runs/'.length) }));
  });
  const { exitCode, stderr } = await runCli(['watch', 'a', 'b'], {
    env: { WFR_BASE_URL: baseUrl },
    signals,
    onOutput: (text) => text.includes('a  RUNNING') && text.includes('b  RUNNING') && signals.raise('SIGINT'),
  });
  expect(exitCode).toBe(130);
  expect(stderr).toContain('Interrupted; the runs continue.\nTo watch them: wfr watch a b\n');
});

test('where there is no terminal, one line a minute shows that a quiet run is still watched', async () => {
  const { stderr } = await watch(shows(run()), ['--timeout', '150s', '--interval', '150s']);
  expect(stderr.split('\n').filter((line) => line.endsWith('RUNNING  1 of 4 steps'))).toEqual([
    '2026-01-02T03:04:05Z RUNNING  1 of 4 steps',
    '2026-01-02T03:05:05Z RUNNING  1 of 4 steps',
    '2026-01-02T03:06:05Z RUNNING  1 of 4 steps',
  ]);
});

test('--quiet leaves the id, warnings and errors; --verbose adds the requests', async () => {
  const world = async () => {
    const { baseUrl } = await scriptedService(acceptsAndShows(aRun(), aFinishedRun()));
    return { env: { WFR_BASE_URL: baseUrl } };
  };
  expect((await runCli(['run', 'w', '-q'], await world())).stderr).toBe('Run run-1 (version v1)\n');
  const { stderr } = await runCli(['run', 'w', '-v'], await world());
  expect(stderr).toMatch(/> POST http:\/\/127\.0\.0\.1:\d+\/runs \(47 bytes\)\n< 201 \(\d+m?s\)\n/);
  expect(stderr).toContain('> GET http://');
  expect(stderr).toContain('accepted with --workflow-id-field both');
});
