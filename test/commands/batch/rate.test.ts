/** `wfr batch`: the rate of its requests and the number of runs in progress. */
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { BATCH_ARGS, eventNamesByRow, numberedRows, startBatchService } from '../../helpers/batch.js';
import { runCli, Signals } from '../../helpers/cli.js';
import { VirtualClock } from '../../helpers/clock.js';
import { CLOSED_URL } from '../../helpers/closed-port.js';
import { folderWith } from '../../helpers/files.js';
import { aFinishedRun, aRun, scriptedService } from '../../helpers/service.js';

describe('batch: rate and concurrency', () => {
  test('batch: triggers and polls together stay within --rate', async () => {
    const clock = new VirtualClock();
    const at: number[] = [];
    const { baseUrl } = await scriptedService(
      async (request, reply) => {
        at.push(request.at);
        await request.body();
        reply.send(
          200,
          request.method === 'POST' ? aRun({ id: 'x', status: 'PENDING' }) : { ...aFinishedRun(), id: 'x' },
        );
      },
      { clock },
    );
    const cwd = folderWith({ 'rows.jsonl': numberedRows(30) });
    const args = [...BATCH_ARGS, '--rate', '5', '--concurrency', '30'];
    expect((await runCli(args, { cwd, clock, env: { WFR_BASE_URL: baseUrl } })).exitCode).toBe(0);
    expect(at).toHaveLength(60);
    // 60 requests at 5 per second take little more than 12 s.
    expect(clock.monotonic()).toBeGreaterThanOrEqual(11_700);
    expect(clock.monotonic()).toBeLessThan(20_000);
  });

  test('batch: a 429 with Retry-After delays all requests by that time, and no row is lost', async () => {
    const clock = new VirtualClock();
    const posts: number[] = [];
    const { baseUrl } = await scriptedService(
      async (request, reply) => {
        await request.body();
        if (request.method === 'GET')
          return reply.send(200, { ...aFinishedRun(), id: request.path.slice(6) });
        posts.push(request.at);
        if (posts.length === 5) return reply.send(429, { message: 'too many' }, { 'retry-after': '30' });
        reply.send(201, aRun({ id: `r${posts.length}`, status: 'PENDING' }));
      },
      { clock },
    );
    const cwd = folderWith({ 'rows.jsonl': numberedRows(12) });
    const args = [...BATCH_ARGS, '--rate', '10', '--concurrency', '2'];
    expect((await runCli(args, { cwd, clock, env: { WFR_BASE_URL: baseUrl } })).exitCode).toBe(0);
    expect(posts).toHaveLength(13);
    const gaps = posts.slice(1).map((time, n) => time - (posts[n] ?? 0));
    expect(Math.max(...gaps)).toBeGreaterThanOrEqual(29_000);
  });

  test('batch: polls that get 429 are retried at the rate of the batch, not with growing backoff', async () => {
    const clock = new VirtualClock();
    const enough = new Map<string, number>();
    const { baseUrl } = await scriptedService(
      async (request, reply) => {
        await request.body();
        if (request.method === 'POST') return reply.send(201, aRun({ id: 'x', status: 'PENDING' }));
        const count = (enough.get(request.path) ?? 0) + 1;
        enough.set(request.path, count);
        if (count <= 8) return reply.send(429, { message: 'too many' });
        reply.send(200, { ...aFinishedRun(), id: 'x' });
      },
      { clock },
    );
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    const { exitCode } = await runCli([...BATCH_ARGS, '--rate', '10'], {
      cwd,
      clock,
      env: { WFR_BASE_URL: baseUrl },
    });
    expect(exitCode).toBe(0);
    // Eight intervals of 2 s, not a backoff of 1, 2, 4, … 30 s.
    expect(clock.monotonic()).toBeLessThan(25_000);
  });

  test('batch: --concurrency limits the number of runs in progress', async () => {
    let inProgress = 0;
    let most = 0;
    let count = 0;
    const { baseUrl } = await scriptedService(async (request, reply) => {
      await request.body();
      if (request.method === 'POST') {
        most = Math.max(most, ++inProgress);
        return reply.send(201, aRun({ id: `r${++count}`, status: 'PENDING' }));
      }
      inProgress--;
      reply.send(200, { ...aFinishedRun(), id: request.path.slice(6) });
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(30) });
    await runCli([...BATCH_ARGS, '--concurrency', '3'], { cwd, env: { WFR_BASE_URL: baseUrl } });
    expect(count).toBe(30);
    expect(most).toBe(3);
  });

  test('batch: polls continue while large documents are being sent', async () => {
    const clock = new VirtualClock();
    const enough = 5;
    let polls = 0;
    let onEnoughPolls = () => {};
    const enoughPolls = new Promise<void>((resolve) => (onEnoughPolls = resolve));
    const { baseUrl, posts } = await scriptedService(
      async (request, reply) => {
        if (request.method === 'GET') {
          const id = request.path.slice(6);
          if (id === 'small' && ++polls < enough) return reply.send(200, aRun({ id }));
          onEnoughPolls();
          return reply.send(200, { ...aFinishedRun(), id });
        }
        const isLarge = Number(request.headers['content-length']) > 1e6;
        if (isLarge) reply.socket.pause();
        if (isLarge) await enoughPolls;
        reply.socket.resume();
        await request.body();
        reply.send(201, aRun({ id: isLarge ? 'large' : 'small', status: 'PENDING' }));
      },
      { clock },
    );
    const large = '{"file":{"$document":"large.bin","type":"application/pdf"}}\n'.repeat(12);
    const cwd = folderWith({ 'rows.jsonl': `{"n":1}\n${large}`, 'large.bin': 'x'.repeat(8e6) });
    const { exitCode } = await runCli([...BATCH_ARGS, '--concurrency', '13'], {
      cwd,
      clock,
      env: { WFR_BASE_URL: baseUrl },
    });
    expect(exitCode).toBe(0);
    expect(polls).toBe(enough);
    expect(posts()).toHaveLength(13);
  });

  test('batch: a rejected token or an unreachable service stops the sending of rows', async () => {
    const refusing = await startBatchService((_request, reply) => reply.send(401, { message: 'who?' }));
    const cwd = folderWith({ 'rows.jsonl': numberedRows(200) });
    const flags = [...BATCH_ARGS, '--concurrency', '2', '--workflow-id-field', 'workflowId'];
    const refused = await refusing.wfr(flags, { cwd });
    expect(refused.exitCode).toBe(4);
    expect(refused.stderr).toContain('The service rejected the token: no further rows were sent.');
    expect(refusing.posts().length).toBeLessThan(5);
    const elsewhere = folderWith({ 'rows.jsonl': numberedRows(200) });
    const env = { WFR_BASE_URL: CLOSED_URL };
    const { exitCode, stderr } = await runCli(flags, { cwd: elsewhere, env });
    expect(exitCode).toBe(7);
    expect(stderr).toContain('The service cannot be reached: no further rows were sent.');
    expect(Object.keys(eventNamesByRow(join(elsewhere, 'out.jsonl'))).length).toBeLessThan(30);
  });
});

describe('batch: a service that is too busy', () => {
  const MINUTE = 60_000;

  /** Starts a service that answers triggers with `status` until `isFree`, and counts them. */
  async function startBusyService(status: number, headers: Record<string, string>) {
    const clock = new VirtualClock();
    const state = { isFree: false, posts: 0 };
    const { baseUrl } = await scriptedService(
      async (request, reply) => {
        await request.body();
        if (request.method === 'GET')
          return reply.send(200, { ...aFinishedRun(), id: request.path.slice(6) });
        state.posts++;
        if (!state.isFree) return reply.send(status, { message: 'busy' }, headers);
        reply.send(201, aRun({ id: `r${state.posts}`, status: 'PENDING' }));
      },
      { clock },
    );
    return { clock, state, env: { WFR_BASE_URL: baseUrl } };
  }

  const waits = (stderr: string) => stderr.split('\n').filter((line) => line.includes('service busy'));

  test.each([
    [429, {}, []],
    [503, { 'retry-after': '4' }, ['--resend-503']],
  ] as const)(
    'batch: %i for 5 minutes stops the batch with exit 7 after few requests, and the same command continues',
    async (status, headers, flags) => {
      const { clock, state, env } = await startBusyService(status, headers);
      const cwd = folderWith({ 'rows.jsonl': numberedRows(30) });
      const args = [...BATCH_ARGS, '--concurrency', '2', ...flags];
      const { exitCode, stderr } = await runCli(args, { cwd, clock, env });
      expect(exitCode).toBe(7);
      expect(stderr).toContain('The service was too busy for 5 minutes: no further rows were sent.');
      expect(stderr).toContain('30 rows: 2 unreachable, 28 waiting; took ');
      expect(clock.monotonic()).toBeGreaterThanOrEqual(5 * MINUTE);
      expect(clock.monotonic()).toBeLessThan(5.6 * MINUTE);
      expect(state.posts).toBeLessThan(100);
      expect(waits(stderr)[0]).toMatch(
        new RegExp(`wfr: service busy \\(${status}\\); no row is sent for \\S+s$`),
      );
      expect(waits(stderr).filter((line) => !line.includes('/30')).length).toBeLessThanOrEqual(6);
      state.isFree = true;
      expect((await runCli(args, { cwd, clock, env })).exitCode).toBe(0);
      expect(Object.values(eventNamesByRow(join(cwd, 'out.jsonl'))).map((events) => events.at(-1))).toEqual(
        Array(30).fill('ended'),
      );
    },
  );

  test('batch: rows that wait for a busy service are waiting, in the live line, which says why', async () => {
    const { clock, env } = await startBusyService(503, { 'retry-after': '4' });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(30) });
    const args = [...BATCH_ARGS, '--concurrency', '2', '--resend-503'];
    const terminal = { terminal: 100, env: { ...env, TERM: 'xterm', NO_COLOR: '1' } };
    const { stderr } = await runCli(args, { cwd, clock, ...terminal });
    expect(stripVTControlCharacters(stderr)).toMatch(
      /0\/30 {2}\d+s\n {2}service busy \(503\): retry in [1-4]s\n {2}30 waiting/,
    );
    expect(stderr).not.toMatch(/0\/30 {2}\d+ unknown/);
  });

  test('batch: a request that is answered normally starts the 5 minutes again', async () => {
    const clock = new VirtualClock();
    let posts = 0;
    const { baseUrl } = await scriptedService(
      async (request, reply) => {
        await request.body();
        const id = request.path.slice(6);
        // One run is polled for 9 minutes, while the trigger of the other row is answered with 429.
        if (request.method === 'GET')
          return reply.send(200, clock.monotonic() < 9 * MINUTE ? aRun({ id }) : { ...aFinishedRun(), id });
        posts++;
        if (posts > 1 && clock.monotonic() < 8 * MINUTE) return reply.send(429, { message: 'busy' });
        reply.send(201, aRun({ id: `r${posts}`, status: 'PENDING' }));
      },
      { clock },
    );
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const { exitCode, stderr } = await runCli(BATCH_ARGS, { cwd, clock, env: { WFR_BASE_URL: baseUrl } });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: expect.stringContaining('2 rows: 2 finished'),
    });
  });

  test('batch: polls that a gateway answers with 500 do not start the 5 minutes again', async () => {
    const clock = new VirtualClock();
    let posts = 0;
    const { baseUrl } = await scriptedService(async (request, reply) => {
      await request.body();
      if (request.method === 'GET') return reply.send(500, { message: 'oops' });
      if (++posts === 1) reply.send(201, aRun());
      else reply.send(429, { message: 'busy' });
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(3) });
    const args = [...BATCH_ARGS, '--concurrency', '2'];
    const { stderr } = await runCli(args, { cwd, clock, env: { WFR_BASE_URL: baseUrl } });
    expect(stderr).toContain('too busy for 5 minutes');
    expect(clock.monotonic()).toBeLessThan(5.6 * MINUTE);
  });

  test('batch: no request that waits for its turn is sent once the service asks to wait for an hour', async () => {
    const { clock, state, env } = await startBusyService(429, { 'retry-after': '3600' });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(5) });
    const args = [...BATCH_ARGS, '--rate', '1', '--concurrency', '3'];
    const { exitCode, stderr } = await runCli(args, { cwd, clock, env });
    expect({ exitCode, posts: state.posts }).toEqual({ exitCode: 7, posts: 1 });
    expect(stderr).toContain('The service asks to wait 1h: no further rows were sent.\n');
    expect(clock.monotonic()).toBeLessThan(MINUTE);
  });

  test('batch: a 429 after the batch has given up is that of a busy service, not of an unreachable one', async () => {
    const answers: (() => void)[] = [];
    const { baseUrl } = await scriptedService(async (request, reply) => {
      await request.body();
      answers.push(() => reply.send(429, { message: 'busy' }));
      if (answers.length === 2) reply.send(429, {}, { 'retry-after': '3600' });
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const { stderr } = await runCli(BATCH_ARGS, {
      cwd,
      terminal: 100,
      env: { WFR_BASE_URL: baseUrl, TERM: 'xterm' },
      onOutput: (text) => text.includes('1 unreachable') && answers.shift()?.(),
    });
    expect(stderr).toContain('service busy (429)');
    expect(stderr).not.toContain('service unreachable');
  });

  test('batch: while no run can be read for want of a connection, the live line says so, until a response comes', async () => {
    let polls = 0;
    const { baseUrl } = await scriptedService(async (request, reply) => {
      await request.body();
      if (request.method === 'POST') return reply.send(201, aRun());
      const poll = ++polls;
      if (poll > 1 && poll < 4) return reply.reset();
      reply.send(200, poll < 6 ? aRun({ stepsCompleted: poll }) : aFinishedRun());
    });
    const { exitCode, stderr } = await runCli(BATCH_ARGS, {
      cwd: folderWith({ 'rows.jsonl': numberedRows(1) }),
      clock: new VirtualClock(),
      terminal: 100,
      env: { WFR_BASE_URL: baseUrl, TERM: 'xterm', NO_COLOR: '1' },
    });
    expect(exitCode).toBe(0);
    const lines = stderr.match(/service unreachable|0\/1 {2}\d+s/g) ?? [];
    const shown = lines
      .map((line) => line.replace(/\d+/g, 'N'))
      .filter((line, at, all) => line !== all[at - 1]);
    expect(shown.slice(0, 2)).toEqual(['N/N  Ns', 'service unreachable']);
    expect(lines.findLastIndex((line) => line.startsWith('service'))).toBeLessThan(lines.length - 3);
  });

  test('batch: a row that waits after a 429 is recorded as not triggered', async () => {
    const { clock, env } = await startBusyService(429, {});
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    const signals = new Signals();
    const onOutput = (text: string) => text.includes('service busy') && signals.raise('SIGINT');
    const { exitCode, stderr } = await runCli(BATCH_ARGS, { cwd, clock, env, signals, onOutput });
    expect(exitCode).toBe(130);
    expect(stderr).not.toContain('unknown');
    expect(eventNamesByRow(join(cwd, 'out.jsonl'))[1]?.at(-1)).toBe('refused');
  });
});
