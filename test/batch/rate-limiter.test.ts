/** The rate limiter of a batch, alone and in `wfr batch`. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RateLimiter } from '../../src/batch/rate-limiter.js';
import { BATCH_ARGS, eventNamesByRow, numberedRows, startBatchService } from '../helpers/batch.js';
import { runCli } from '../helpers/cli.js';
import { VirtualClock } from '../helpers/clock.js';
import { folderWith } from '../helpers/files.js';
import { aFinishedRun, aRun, scriptedService } from '../helpers/service.js';

describe('RateLimiter and the rate of a batch', () => {
  test('RateLimiter: turns are granted in order at the rate, which is halved after a 429 or 503 and restored later', async () => {
    const clock = new VirtualClock();
    const limiter = new RateLimiter(10, clock);
    const { signal } = new AbortController();
    const turnsAt = async (count: number) => {
      const at: number[] = [];
      const turns = Array.from({ length: count }, () =>
        limiter.acquire(signal).then(() => at.push(clock.monotonic())),
      );
      await Promise.all(turns);
      return at.map((time) => time - (at[0] ?? 0));
    };
    expect(await turnsAt(4)).toEqual([0, 100, 200, 300]);
    limiter.onResponse(429, undefined);
    limiter.onResponse(503, 2_000);
    expect(limiter.rate).toBe(5);
    const before = clock.monotonic();
    expect(await turnsAt(3)).toEqual([0, 200, 400]);
    expect(clock.monotonic() - before).toBe(2_400);
    for (let second = 0; second < 12; second++) {
      clock.advance(1_000);
      limiter.onResponse(200, undefined);
    }
    expect(limiter.rate).toBe(10);
    for (let rejection = 0; rejection < 9; rejection++) {
      clock.advance(1_000);
      limiter.onResponse(429, undefined);
    }
    // The rate never falls below a tenth, so that a batch still ends.
    expect(limiter.rate).toBe(1);
  });

  test('RateLimiter: an unlimited rate is limited after a 429, and unlimited again after enough successes', async () => {
    const clock = new VirtualClock();
    const limiter = new RateLimiter(Number.POSITIVE_INFINITY, clock);
    for (let turn = 0; turn < 100; turn++) await limiter.acquire(new AbortController().signal);
    clock.advance(1_000);
    limiter.onResponse(429, undefined);
    expect(limiter.rate).toBe(50);
    for (let second = 0; second < 40; second++) {
      clock.advance(1_000);
      limiter.onResponse(200, undefined);
    }
    expect(limiter.rate).toBe(Number.POSITIVE_INFINITY);
  });

  /** Sends `count` requests to a service that rejects some with 429; returns the requests per second and the number of rejections. */
  async function measure(rejects: (at: number, n: number) => boolean, count: number) {
    const clock = new VirtualClock();
    const limiter = new RateLimiter(50, clock);
    let rejections = 0;
    for (let n = 0; n < count; n++) {
      await limiter.acquire(new AbortController().signal);
      const isRejected = rejects(clock.monotonic(), n);
      if (isRejected) rejections++;
      limiter.onResponse(isRejected ? 429 : 200, undefined);
    }
    return { rate: count / (clock.monotonic() / 1_000), rejections };
  }

  test('RateLimiter: a service that rejects every second request still gets more than a third of the rate', async () => {
    expect((await measure((_at, n) => n % 2 === 0, 500)).rate).toBeGreaterThan(50 / 3);
  });

  test('RateLimiter: the rate converges to what the service allows, with few rejections', async () => {
    const accepted: number[] = [];
    const overTwentyPerSecond = (at: number) => {
      while ((accepted[0] ?? at) <= at - 1_000) accepted.shift();
      return accepted.length >= 20 || !accepted.push(at);
    };
    const { rate, rejections } = await measure(overTwentyPerSecond, 800);
    expect(rate).toBeGreaterThan(15);
    expect(rate).toBeLessThan(25);
    expect(rejections).toBeLessThan(80);
  });

  test('RateLimiter: an aborted signal rejects the waiting turn', async () => {
    const clock = new VirtualClock();
    const limiter = new RateLimiter(1, clock);
    const leaving = new AbortController();
    await limiter.acquire(leaving.signal);
    const turn = limiter.acquire(leaving.signal);
    leaving.abort(new Error('left'));
    await expect(turn).rejects.toThrow('left');
    await expect(limiter.acquire(leaving.signal)).rejects.toThrow('left');
  });

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
    const env = { WFR_BASE_URL: 'http://127.0.0.1:1' };
    const { exitCode, stderr } = await runCli(flags, { cwd: elsewhere, env });
    expect(exitCode).toBe(7);
    expect(stderr).toContain('The service cannot be reached: no further rows were sent.');
    expect(Object.keys(eventNamesByRow(join(elsewhere, 'out.jsonl'))).length).toBeLessThan(30);
  });
});
