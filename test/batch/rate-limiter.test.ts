/** The pace of a batch. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RateLimiter } from '../../src/batch/rate-limiter.js';
import { BATCH_ARGS, eventNamesByRow, numberedRows, startBatchService } from '../helpers/batch.js';
import { runCli } from '../helpers/cli.js';
import { VirtualClock } from '../helpers/clock.js';
import { folderWith } from '../helpers/files.js';
import { aFinishedRun, aRun, scriptedService } from '../helpers/service.js';

describe('the pace', () => {
  test('gives turns in their order, as many as fit, half as many after a complaint, and all of them again later', async () => {
    const clock = new VirtualClock();
    const pace = new RateLimiter(10, clock);
    const { signal } = new AbortController();
    const turnsAt = async (count: number) => {
      const at: number[] = [];
      const turns = Array.from({ length: count }, () =>
        pace.acquire(signal).then(() => at.push(clock.monotonic())),
      );
      await Promise.all(turns);
      return at.map((time) => time - (at[0] ?? 0));
    };
    expect(await turnsAt(4)).toEqual([0, 100, 200, 300]);
    pace.onResponse(429, undefined);
    pace.onResponse(503, 2_000);
    expect(pace.rate).toBe(5);
    const before = clock.monotonic();
    expect(await turnsAt(3)).toEqual([0, 200, 400]);
    expect(clock.monotonic() - before).toBe(2_400);
    for (let second = 0; second < 12; second++) {
      clock.advance(1_000);
      pace.onResponse(200, undefined);
    }
    expect(pace.rate).toBe(10);
    for (let complaint = 0; complaint < 9; complaint++) {
      clock.advance(1_000);
      pace.onResponse(429, undefined);
    }
    // It falls no lower than a tenth, so that a batch still ends.
    expect(pace.rate).toBe(1);
  });

  test('without a limit is found when the service complains, and lost again when it no longer does', async () => {
    const clock = new VirtualClock();
    const pace = new RateLimiter(Number.POSITIVE_INFINITY, clock);
    for (let turn = 0; turn < 100; turn++) await pace.acquire(new AbortController().signal);
    clock.advance(1_000);
    pace.onResponse(429, undefined);
    expect(pace.rate).toBe(50);
    for (let second = 0; second < 40; second++) {
      clock.advance(1_000);
      pace.onResponse(200, undefined);
    }
    expect(pace.rate).toBe(Number.POSITIVE_INFINITY);
  });

  /** Sends `count` requests in turn to a service that complains of some; how many a second, and how many it complained of. */
  async function against(complains: (at: number, n: number) => boolean, count: number) {
    const clock = new VirtualClock();
    const pace = new RateLimiter(50, clock);
    let complaints = 0;
    for (let n = 0; n < count; n++) {
      await pace.acquire(new AbortController().signal);
      const isComplaint = complains(clock.monotonic(), n);
      if (isComplaint) complaints++;
      pace.onResponse(isComplaint ? 429 : 200, undefined);
    }
    return { rate: count / (clock.monotonic() / 1_000), complaints };
  }

  test('of a service that complains of every second request, whatever the rate, stays above a third of what it may be', async () => {
    expect((await against((_at, n) => n % 2 === 0, 500)).rate).toBeGreaterThan(50 / 3);
  });

  test('finds what a service allows, with few complaints', async () => {
    const taken: number[] = [];
    const overTwentyASecond = (at: number) => {
      while ((taken[0] ?? at) <= at - 1_000) taken.shift();
      return taken.length >= 20 || !taken.push(at);
    };
    const { rate, complaints } = await against(overTwentyASecond, 800);
    expect(rate).toBeGreaterThan(15);
    expect(rate).toBeLessThan(25);
    expect(complaints).toBeLessThan(80);
  });

  test('lets go of who no longer wants a turn', async () => {
    const clock = new VirtualClock();
    const pace = new RateLimiter(1, clock);
    const leaving = new AbortController();
    await pace.acquire(leaving.signal);
    const turn = pace.acquire(leaving.signal);
    leaving.abort(new Error('left'));
    await expect(turn).rejects.toThrow('left');
    await expect(pace.acquire(leaving.signal)).rejects.toThrow('left');
  });

  test('is at most --rate requests a second for triggers and polls together', async () => {
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
    // 60 requests at 5 a second take 12 s and little more: nobody starves.
    expect(clock.monotonic()).toBeGreaterThanOrEqual(11_700);
    expect(clock.monotonic()).toBeLessThan(20_000);
  });

  test('slows down for all when the service asks for it, waits as long as it says, and no row is lost', async () => {
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

  test('polls that are refused for their number are tried again at the pace of all, not ever later', async () => {
    const clock = new VirtualClock();
    const looks = new Map<string, number>();
    const { baseUrl } = await scriptedService(
      async (request, reply) => {
        await request.body();
        if (request.method === 'POST') return reply.send(201, aRun({ id: 'x', status: 'PENDING' }));
        const look = (looks.get(request.path) ?? 0) + 1;
        looks.set(request.path, look);
        if (look <= 8) return reply.send(429, { message: 'too many' });
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
    // Eight times the interval of 2 s, not 1 + 2 + 4 and so on to 30 s.
    expect(clock.monotonic()).toBeLessThan(25_000);
  });

  test('--concurrency is how many runs are under way at most', async () => {
    let underWay = 0;
    let most = 0;
    let count = 0;
    const { baseUrl } = await scriptedService(async (request, reply) => {
      await request.body();
      if (request.method === 'POST') {
        most = Math.max(most, ++underWay);
        return reply.send(201, aRun({ id: `r${++count}`, status: 'PENDING' }));
      }
      underWay--;
      reply.send(200, { ...aFinishedRun(), id: request.path.slice(6) });
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(30) });
    await runCli([...BATCH_ARGS, '--concurrency', '3'], { cwd, env: { WFR_BASE_URL: baseUrl } });
    expect(count).toBe(30);
    expect(most).toBe(3);
  });

  test('polls go on while large documents are being sent', async () => {
    const clock = new VirtualClock();
    const looks = 5;
    let looked = 0;
    let letGo = () => {};
    const enoughLooks = new Promise<void>((resolve) => (letGo = resolve));
    const { baseUrl, posts } = await scriptedService(
      async (request, reply) => {
        if (request.method === 'GET') {
          const id = request.path.slice(6);
          if (id === 'small' && ++looked < looks) return reply.send(200, aRun({ id }));
          letGo();
          return reply.send(200, { ...aFinishedRun(), id });
        }
        const isLarge = Number(request.headers['content-length']) > 1e6;
        if (isLarge) reply.socket.pause();
        if (isLarge) await enoughLooks;
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
    expect(looked).toBe(looks);
    expect(posts()).toHaveLength(13);
  });

  test('stops where no other row can be triggered: a refused token, a service that is not there', async () => {
    const refusing = await startBatchService((_request, reply) => reply.send(401, { message: 'who?' }));
    const cwd = folderWith({ 'rows.jsonl': numberedRows(200) });
    const flags = [...BATCH_ARGS, '--concurrency', '2', '--workflow-id-field', 'workflowId'];
    const refused = await refusing.wfr(flags, { cwd });
    expect(refused.exitCode).toBe(4);
    expect(refused.stderr).toContain('The service rejected the token: no further rows were sent.');
    expect(refusing.posts().length).toBeLessThan(5);
    const elsewhere = folderWith({ 'rows.jsonl': numberedRows(200) });
    const env = { WFR_BASE_URL: 'http://127.0.0.1:1' };
    const { exitCode, stderr } = await runCli(flags, { cwd: elsewhere, env });
    expect(exitCode).toBe(7);
    expect(stderr).toContain('The service cannot be reached: no further rows were sent.');
    expect(Object.keys(eventNamesByRow(join(elsewhere, 'out.jsonl'))).length).toBeLessThan(30);
  });
});
