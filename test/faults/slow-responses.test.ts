/** The response to a trigger arrives slowly: it has a time limit, and an id in it is known as soon as it can be read. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runCli, Signals, temporaryFolder } from '../helpers/cli.js';
import { AutoAdvancingClock, VirtualClock } from '../helpers/clock.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from '../helpers/service.js';

const PARTIAL = '{"id":"run-1","status":"RUNNING","x":"';
const HEAD = 'HTTP/1.1 201 Created\r\ncontent-type: application/json\r\n';

/** Answers the trigger with `post`, and polls with a finished run. */
const serve = (post: Handler) =>
  scriptedService(async (request, reply) => {
    await request.body();
    if (request.method === 'POST') await post(request, reply);
    else reply.send(200, aFinishedRun());
  });

const tableOf = (cwd: string) => writeFileSync(join(cwd, 'rows.csv'), 'a\n1\n');

test('run: a response that drips ends after 5 minutes, and the run whose id it has is watched (fault 116)', async () => {
  const clock = new VirtualClock();
  let bytes = 0;
  const { baseUrl, posts } = await serve(async (_request, { raw, socket }) => {
    raw(`${HEAD}content-length: 100000\r\n\r\n${PARTIAL}`);
    for (; bytes < 100 && !socket.destroyed; bytes++) {
      raw('x');
      await setTimeout(5);
      clock.advance(20_000);
    }
  });
  const { exitCode, stdout, stderr } = await runCli(['run', 'w', '-o', 'id'], {
    env: { WFR_BASE_URL: baseUrl },
    clock,
  });
  expect({ exitCode, stdout, posts: posts().length }).toEqual({ exitCode: 0, stdout: 'run-1\n', posts: 1 });
  expect(stderr.match(/The response names/g)).toHaveLength(1);
  expect(bytes).toBeGreaterThan(10);
  expect(bytes).toBeLessThan(25);
});

test('run: a response that drips without an id exits 6 after 5 minutes, and says so (fault 116)', async () => {
  const clock = new VirtualClock();
  const { baseUrl } = await serve(async (_request, { raw, socket }) => {
    raw(`${HEAD}content-length: 100000\r\n\r\n{"x":"`);
    while (!socket.destroyed) {
      raw('x');
      await setTimeout(5);
      clock.advance(20_000);
    }
  });
  const { exitCode, stderr } = await runCli(['run', 'w'], { env: { WFR_BASE_URL: baseUrl }, clock });
  expect(exitCode).toBe(6);
  expect(stderr).toMatch(/the response from 127\.0\.0\.1:\d+ did not end within 5m, after the status 201\n/);
});

test('run: a response of 60 MB at 100 kB/s takes 10 minutes, and is read', async () => {
  const clock = new VirtualClock();
  const run = JSON.stringify(aFinishedRun('x'.repeat(60_000_000)));
  const { baseUrl, requests } = await serve(async (_request, { raw, socket }) => {
    raw(`${HEAD}content-length: ${run.length}\r\n\r\n`);
    for (let from = 0; from < run.length; from += 1_000_000) {
      if (!socket.write(run.slice(from, from + 1_000_000)))
        await new Promise((resolve) => socket.once('drain', resolve));
      await setTimeout(5);
      clock.advance(10_000);
    }
  });
  const { exitCode } = await runCli(['run', 'w', '-o', 'id'], { env: { WFR_BASE_URL: baseUrl }, clock });
  expect(exitCode).toBe(0);
  // The run is read from the response itself, and not looked up by an id in the part that has arrived.
  expect(requests).toHaveLength(1);
});

test.each<[string, string]>([
  ['a body', `${HEAD}content-length: 1000\r\n\r\n${PARTIAL}`],
  ['a chunked body', `${HEAD}transfer-encoding: chunked\r\n\r\n10\r\n{"id":"run-1","x`],
  ['a head', `${HEAD}location: /runs/run-1\r\nx`],
])(
  'run: the id in %s that stops is printed at once, and with each signal (fault 116)',
  async (_name, bytes) => {
    const signals = new Signals();
    let first = '';
    const { baseUrl } = await serve((_request, { raw }) => raw(bytes));
    const { exitCode, stderr } = await runCli(['run', 'w'], {
      env: { WFR_BASE_URL: baseUrl },
      clock: new AutoAdvancingClock(),
      signals,
      onOutput: (text, stream) => {
        if (stream !== 'stderr' || first !== '') return;
        first = text;
        for (const signal of ['SIGTERM', 'SIGTERM'] as const) signals.raise(signal);
      },
    });
    expect(first).toBe(
      'The response names the run run-1, and has not ended; to look for the run: wfr status run-1\n',
    );
    expect(exitCode).toBe(143);
    expect(stderr).toContain('  the response names the id run-1, which the service did not confirm\n');
  },
);

test.each([
  ['batch', ['batch', 'w', '--rows', 'rows.csv', '--results', 'file.jsonl']],
  ['run --once', ['run', 'w', 'a=1', '--once', 'file.jsonl']],
])('wfr %s: the id in a response that has not ended is recorded at once (fault 116)', async (_name, args) => {
  const cwd = temporaryFolder();
  tableOf(cwd);
  const recorded = () => readFileSync(join(cwd, 'file.jsonl'), 'utf8');
  let before = '';
  const { baseUrl } = await serve(async (_request, { raw }) => {
    const run = JSON.stringify(aRun());
    raw(`${HEAD}content-length: ${run.length}\r\n\r\n${run.slice(0, 30)}`);
    while (!recorded().includes('run-1')) await setImmediate();
    before = recorded();
    raw(run.slice(30));
  });
  const { exitCode } = await runCli(args, {
    cwd,
    env: { WFR_BASE_URL: baseUrl },
    clock: new AutoAdvancingClock(),
  });
  expect(exitCode).toBe(0);
  expect(before).toMatch(/"unknown".*the response names the id run-1,/);
  expect(recorded()).toMatch(/"accepted".*"id":"run-1"/);
});

test('batch: a row whose response names a run and has not ended counts as running', async () => {
  const cwd = temporaryFolder();
  tableOf(cwd);
  const clock = new VirtualClock();
  let screen = '';
  const { baseUrl } = await serve(async (_request, { raw }) => {
    const run = JSON.stringify(aRun());
    raw(`${HEAD}content-length: ${run.length}\r\n\r\n${run.slice(0, 30)}`);
    while (!/names the run.*1 (running|unknown)/s.test(screen)) {
      await setTimeout(5);
      clock.advance(1_000);
    }
    raw(run.slice(30));
  });
  await runCli(['batch', 'w', '--rows', 'rows.csv', '--results', 'file.jsonl'], {
    cwd,
    env: { WFR_BASE_URL: baseUrl, TERM: 'xterm' },
    clock,
    terminal: 100,
    onOutput: (text) => (screen = text),
  });
  expect(screen).not.toContain('1 unknown');
});

test('batch: the token in the id of a response that has not ended is not recorded', async () => {
  const cwd = temporaryFolder();
  tableOf(cwd);
  const recorded = () => readFileSync(join(cwd, 'file.jsonl'), 'utf8');
  let before = '';
  const { baseUrl } = await serve(async (_request, { raw, socket }) => {
    raw(`${HEAD}content-length: 1000\r\n\r\n{"id":"run-of-the-token","x`);
    while (!recorded().includes('"unknown"')) await setImmediate();
    before = recorded();
    socket.destroy();
  });
  const env = { WFR_BASE_URL: baseUrl, WFR_TOKEN: 'of-the-token' };
  await runCli(['batch', 'w', '--rows', 'rows.csv', '--results', 'file.jsonl'], {
    cwd,
    env,
    clock: new AutoAdvancingClock(),
  });
  expect(before).toContain('"candidateId":"run-(the token)"');
  expect(recorded()).not.toContain('of-the-token');
});

test('run --once: an id that was read before a signal is named by the next command (fault 116)', async () => {
  const cwd = temporaryFolder();
  const { baseUrl } = await serve((_request, { raw }) =>
    raw(`${HEAD}content-length: 1000\r\n\r\n${PARTIAL}`),
  );
  const options = { cwd, env: { WFR_BASE_URL: baseUrl } };
  const args = ['run', 'w', 'a=1', '--once', 'file.jsonl'];
  const signals = new Signals();
  await runCli(args, {
    ...options,
    clock: new AutoAdvancingClock(),
    signals,
    onOutput: (text) => {
      if (text.includes('The response names')) for (const _ of [1, 2]) signals.raise('SIGTERM');
    },
  });
  const { exitCode, stderr } = await runCli(args, options);
  expect(exitCode).toBe(6);
  expect(stderr).toContain('  the response names the id run-1, which the service did not confirm\n');
});
