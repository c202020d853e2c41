/** `wfr watch`: the interval of its polls, several runs, output and signals. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { runCli, Signals, temporaryFolder } from '../../helpers/cli.js';
import { VirtualClock } from '../../helpers/clock.js';
import { readPageRows } from '../../helpers/page.js';
import { parseTableRows, runWithReports } from '../../helpers/reports.js';
import {
  aFinishedRun,
  aRun,
  type Handler,
  inTurn,
  scriptedService,
  showRun,
  stillRunning,
} from '../../helpers/service.js';

const finished: Handler = (_request, reply) => reply.send(200, aFinishedRun());

async function watch(handler: Handler, args: readonly string[] = [], options = {}) {
  const clock = new VirtualClock();
  const service = await scriptedService(handler, { clock });
  const env = { WFR_BASE_URL: service.baseUrl };
  const result = await runCli(['watch', ...(args.includes('--') ? [] : ['run-1']), ...args], {
    env,
    clock,
    ...options,
  });
  return { ...result, ...service, gaps: gapsOf(service.requests.map(({ at }) => at)) };
}

const gapsOf = (times: number[]) => times.slice(1).map((time, index) => time - (times[index] ?? 0));

test('watch: what ends the watching is printed once, with how to continue, and nothing else', async () => {
  const { exitCode, stderr } = await watch((_request, reply) => reply.send(400, { message: 'no' }));
  expect(exitCode).toBe(5);
  expect(stderr).toBe(
    'wfr: error: the service rejected the request (400)\n| no\n' +
      'Run run-1 may still be running.\nTo watch it: wfr watch run-1\n',
  );
});

test.each([
  { status: 'RUNNING', createdAt: '2026-01-02T03:04:00Z', facts: '4 of 4 steps in 7s' },
  { status: 'FINISHED', createdAt: '2026-01-02T03:04:00Z', facts: '4 of 4 steps' },
  // As some services write an unknown time.
  { status: 'RUNNING', createdAt: '0001-01-01T00:00:00Z', facts: '4 of 4 steps in 2s' },
])('watch: of a run that was $status and created at $createdAt, the last line has $facts', async (run) => {
  const { status, createdAt, facts } = run;
  const end = { ...aFinishedRun(), createdAt };
  const { stderr } = await watch(inTurn(showRun({ ...end, status }), showRun(end)));
  expect(stderr).toMatch(/^Run run-1 \(version v1\)\n/);
  expect(stderr).toContain(`Z FINISHED  4 of 4 steps\nFinished: ${facts}\n`);
});

describe('watch: the interval of polls', () => {
  test('watch: the interval grows by 1.5 up to --max-interval while nothing changes, and a change resets it', async () => {
    const same = showRun();
    const { gaps, exitCode } = await watch(
      inTurn(
        same,
        same,
        same,
        same,
        same,
        same,
        showRun({ stepsCompleted: 2 }),
        showRun({ stepsCompleted: 2 }),
        finished,
      ),
    );
    expect(exitCode).toBe(0);
    expect(gaps).toEqual([2000, 3000, 4500, 6750, 10000, 10000, 2000, 3000]);
  });

  test('watch: the shipped interval is 2 s, and grows to 10 s; the help says so', async () => {
    const { gaps } = await watch(inTurn(...Array.from({ length: 6 }, () => showRun()), finished));
    expect(gaps).toEqual([2000, 3000, 4500, 6750, 10000, 10000]);
    const { stdout } = await runCli(['help', 'watch']);
    expect(stdout).toMatch(/--interval .*\(default: 2s\)/);
    expect(stdout).toMatch(/--max-interval [\s\S]*?\(default:\s+10s\)/);
  });

  test('watch: --interval and --max-interval set the interval; the maximum is never below the interval', async () => {
    const handler = () => inTurn(showRun(), showRun(), showRun(), finished);
    expect((await watch(handler(), ['--interval', '500ms', '--max-interval', '600ms'])).gaps).toEqual([
      500, 600, 600,
    ]);
    expect((await watch(handler(), ['--interval', '1m'])).gaps).toEqual([60000, 60000, 60000]);
  });

  test('watch: Retry-After on a successful poll is the minimum of the next wait, at most five minutes', async () => {
    const { gaps } = await watch(
      inTurn(
        (_request, reply) => reply.send(200, aRun(), { 'retry-after': '7' }),
        (_request, reply) => reply.send(200, aRun(), { 'retry-after': '86400' }),
        finished,
      ),
    );
    expect(gaps).toEqual([7000, 300000]);
  });

  test('watch, status and reports: a run of an unknown status is not said to continue', async () => {
    const { baseUrl } = await scriptedService((request, reply) =>
      reply.send(200, aRun({ id: request.path.slice('/runs/'.length), status: 'finished' })),
    );
    const cwd = temporaryFolder();
    const wfr = (...args: string[]) => runCli(args, { env: { WFR_BASE_URL: baseUrl }, cwd });
    const watched = await wfr(
      'watch',
      '--timeout',
      '0',
      'run-1',
      '--report',
      'html=run.html',
      '--report',
      'markdown=run.md',
    );
    expect(watched.exitCode).toBe(8);
    expect(watched.stderr).toContain(`${stillRunning(0, 'the run', { status: 'finished' })}.\n`);
    const status = await wfr('status', '--exit-status', '--json', 'run-1');
    expect(status.stderr).toContain('; the run may still be running"');
    const signals = new Signals();
    const onOutput = (text: string) => text.includes('finished') && signals.raise('SIGINT');
    const one = await runCli(['watch', 'run-1'], { env: { WFR_BASE_URL: baseUrl }, signals, onOutput });
    expect(one.stderr).toContain('Interrupted; the run may still be running.\n');
    const texts = [
      watched.stderr,
      status.stderr,
      one.stderr,
      ...['run.html', 'run.md'].map((name) => readFileSync(join(cwd, name), 'utf8')),
    ];
    for (const text of texts) expect(text).not.toContain('continues');
    for (const text of texts.slice(3)) expect(text).toContain('the run may still be running');
  });

  test('watch: --timeout shortens the last wait, and one more poll is made at its end', async () => {
    const { gaps, exitCode, stderr } = await watch(inTurn(showRun()), ['--timeout', '6s']);
    expect(exitCode).toBe(8);
    expect(gaps).toEqual([2000, 3000, 1000]);
    expect(stderr).toContain(`${stillRunning(6_000, 'the run')}.\nTo watch it: wfr watch run-1\n`);
  });

  test('watch: --timeout 0 makes one poll', async () => {
    const { requests, exitCode } = await watch(inTurn(showRun()), ['--timeout', '0']);
    expect(exitCode).toBe(8);
    expect(requests.length).toBe(1);
  });

  test('watch: a run that has ended at the last poll of --timeout exits 0', async () => {
    const { exitCode } = await watch(inTurn(showRun(), finished), ['--timeout', '1s']);
    expect(exitCode).toBe(0);
  });
});

test.each([
  ['900ms', '900ms'],
  ['9.96s', '9s'],
  ['59.4s', '59s'],
  ['60s', '1m'],
  ['125s', '2m 5s'],
  ['3599.6s', '59m 59s'],
  ['63m', '1h 3m'],
  ['25h', '25h'],
  ['51h', '2d 3h'],
])('watch: a run that took %s is reported as having taken %s', async (interval, duration) => {
  let polls = 0;
  const { markdown } = await runWithReports(
    (_request, reply) => reply.send(200, polls++ === 0 ? aRun() : aFinishedRun()),
    ['watch', 'run-1', '--interval', interval, '--max-interval', interval],
  );
  expect(parseTableRows(markdown)[0]?.[3]).toBe(duration);
});

describe('watch: a run that has ended', () => {
  test('watch: a run that has ended gives the same exit code and output as a live one', async () => {
    expect(await watch(inTurn(finished))).toMatchObject({ exitCode: 0, stdout: '{\n  "total": 1\n}\n' });
    const failed = await watch(
      inTurn(showRun({ status: 'FAILED', error: { message: 'broken', step: 'Two' } })),
    );
    expect(failed).toMatchObject({ exitCode: 1, stdout: '' });
    expect(failed.stderr).toContain('Failed at step Two (1 of 4 steps)\n| broken\n');
  });
});

test('watch --save-outputs: each output is a file, and the command that continues has the same flags', async () => {
  const cwd = temporaryFolder();
  const args = ['--timeout', '0', '--save-outputs', 'out', '--force'];
  const running = await watch(showRun(), args, { cwd });
  expect(running.stderr).toContain('To watch it: wfr watch --save-outputs out --force run-1\n');
  expect((await watch(finished, args, { cwd })).exitCode).toBe(0);
  expect(readFileSync(join(cwd, 'out/run-1.json'), 'utf8')).toBe((await watch(finished)).stdout);
});

test('watch: a FINISHED run without an output prints null, which is JSON', async () => {
  for (const output of [undefined, null]) {
    expect(await watch(inTurn(showRun({ status: 'FINISHED', output })))).toMatchObject({
      exitCode: 0,
      stdout: 'null\n',
    });
  }
});

describe('watch: several runs', () => {
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

  test('watch: several runs print a table once all have ended, and exit 0 if all are FINISHED', async () => {
    const { stdout, exitCode } = await watchAll('a', 'b');
    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      'ID  STATUS    STEPS  NAME  AGE\na   FINISHED  4/4    v1    now\nb   FINISHED  4/4    v1    now\n',
    );
  });

  test('watch: a run that could not be read has a line in the table, too', async () => {
    const { stdout } = await watchAll('missing', 'a');
    expect(stdout.split('\n')).toEqual([
      'ID       STATUS     STEPS  NAME  AGE',
      'missing  not found',
      'a        FINISHED   4/4    v1    now',
      '',
    ]);
  });

  test('watch and status: a table that cannot be written exits 74, and the runs can be watched again', async () => {
    const { baseUrl } = await scriptedService(byPath);
    for (const command of ['watch', 'status']) {
      const stdout = new Writable({
        write: (_chunk, _encoding, callback) => callback(Object.assign(new Error(), { code: 'ENOSPC' })),
      });
      const env = { WFR_BASE_URL: baseUrl };
      const { exitCode, stderr } = await runCli([command, 'a', 'b'], { env, stdout });
      expect(exitCode).toBe(74);
      expect(stderr.split('error: cannot write the result: no space left on the disk (ENOSPC)')).toHaveLength(
        2,
      );
      if (command === 'watch') expect(stderr).toContain('To watch them: wfr watch a b\n');
    }
  });

  test.each([
    [['failed', 'failed'], 1],
    [['a', 'failed'], 3],
    [['a', 'missing'], 3],
    [['missing', 'missing'], 5],
    [['failed', 'missing'], 3],
    [['a', 'running', '--timeout', '0'], 8],
    [['failed', 'running', '--timeout', '0'], 8],
  ])('watch: %j exits %i', async (args, code) => {
    expect((await watchAll(...args)).exitCode).toBe(code);
  });

  test('watch: with several runs, json prints a Run on one line as each ends, jsonl each change, and id the ids', async () => {
    const lines = (text: string) => text.trimEnd().split('\n').sort();
    const json = lines((await watchAll('a', 'failed', '--json')).stdout).map((line) => JSON.parse(line).id);
    expect(json.sort()).toEqual(['a', 'failed']);
    expect(
      lines((await watchAll('a', 'b', '-o', 'jsonl')).stdout).map((line) => JSON.parse(line).id),
    ).toEqual(['a', 'b']);
    expect(lines((await watchAll('a', 'b', '-o', 'id')).stdout)).toEqual(['a', 'b']);
  });

  test.each([
    ['that had ended before', [aFinishedRun()], null],
    ['that ends while it is watched', [aRun(), aFinishedRun()], 602_000],
  ])(
    'watch: the reports of a run %s have its own times, not those of the watching',
    async (_, runs, duration) => {
      const cwd = temporaryFolder();
      const clock = new VirtualClock(Date.parse('2026-01-02T03:14:05Z'));
      const { baseUrl } = await scriptedService(
        inTurn(
          ...runs.map(
            (run): Handler =>
              (_request, reply) =>
                reply.send(200, run),
          ),
        ),
        { clock },
      );
      const args = ['watch', 'run-1', '--report', 'html=r.html'];
      await runCli(args, { env: { WFR_BASE_URL: baseUrl }, cwd, clock });
      const [row] = readPageRows(readFileSync(join(cwd, 'r.html'), 'utf8'));
      expect(row?.started).toBe(Date.parse('2026-01-02T03:04:05Z'));
      expect(row?.duration).toBe(duration);
      expect(row?.words).toBe(duration === null ? 'not observed' : '10m 2s');
    },
  );

  test('watch: an id that is given twice is watched once', async () => {
    expect((await watchAll('a', 'a')).stdout).toBe('{\n  "total": 1\n}\n');
  });
});

test('watch: the outputs of several runs never mix, however slowly stdout is read', async () => {
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

/** Most connections for polls at a time. */
const CONNECTIONS = 8;

test('watch: more runs than connections are all watched, and each poll has its own timeout', async () => {
  const ids = Array.from({ length: 44 }, (_, n) => `run-${n}`);
  const clock = new VirtualClock();
  const waiting: (() => void)[] = [];
  let answered = 0;
  const { baseUrl } = await scriptedService((request, reply) => {
    waiting.push(() => reply.send(200, { ...aFinishedRun(), id: request.path.slice('/runs/'.length) }));
    if (waiting.length < Math.min(CONNECTIONS, ids.length - answered)) return;
    // All connections are in use. Each poll takes less than its limit of 30 s, and all of them together more.
    clock.advance(20_000);
    answered += waiting.length;
    for (const answer of waiting.splice(0)) answer();
  });
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  const { exitCode, stderr } = await runCli(['watch', ...ids], { env: { WFR_BASE_URL: baseUrl }, clock });
  process.off('warning', onWarning);
  expect({ exitCode, answered }).toEqual({ exitCode: 0, answered: ids.length });
  expect(stderr).not.toContain('no response');
  expect(warnings).toEqual([]);
});

test('watch and status: Ctrl-C exits 130 while the reader of stdout does not read', async () => {
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

test('watch: Ctrl-C while several runs are watched exits 130 with one watch command for all of them', async () => {
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
  expect(stderr).toContain('Interrupted; 2 of 2 runs may still be running.\nTo watch them: wfr watch a b\n');
});

test('watch: without a terminal, an unchanged run prints one line each minute', async () => {
  const { stderr } = await watch(inTurn(showRun()), ['--timeout', '150s', '--interval', '150s']);
  expect(stderr.split('\n').filter((line) => line.includes('Z RUNNING  1 of 4 steps'))).toEqual([
    '2026-01-02T03:04:05Z RUNNING  1 of 4 steps',
    '2026-01-02T03:05:05Z RUNNING  1 of 4 steps  1m',
    '2026-01-02T03:06:05Z RUNNING  1 of 4 steps  2m',
  ]);
});
