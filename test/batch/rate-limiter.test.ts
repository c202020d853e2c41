/** The rate limiter that all requests of a batch share. */
import { describe, expect, test } from 'vitest';
import { createRateLimiter } from '../../src/runs/rate-limiter.js';
import { VirtualClock } from '../helpers/clock.js';

describe('RateLimiter', () => {
  test('RateLimiter: turns are granted in order at the rate, which is halved after a 429 or 503 and restored later', async () => {
    const clock = new VirtualClock();
    const limiter = createRateLimiter(10, clock);
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

  test('RateLimiter: a service that asks for an hour is sent the next request after 5 minutes', async () => {
    const clock = new VirtualClock();
    const limiter = createRateLimiter(10, clock);
    limiter.onResponse(429, 3_600_000);
    await limiter.acquire(new AbortController().signal);
    expect(clock.monotonic()).toBe(300_000);
  });

  test('RateLimiter: an unlimited rate is limited after a 429, and unlimited again after enough successes', async () => {
    const clock = new VirtualClock();
    const limiter = createRateLimiter(Number.POSITIVE_INFINITY, clock);
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

  test('RateLimiter: requests after an idle time are spaced like any others, without a burst', async () => {
    const clock = new VirtualClock();
    const limiter = createRateLimiter(10, clock);
    const { signal } = new AbortController();
    await limiter.acquire(signal);
    clock.advance(60_000);
    const at: number[] = [];
    const turns = [1, 2, 3].map(() => limiter.acquire(signal).then(() => at.push(clock.monotonic())));
    await Promise.all(turns);
    expect(at).toEqual([60_000, 60_100, 60_200]);
  });

  test('RateLimiter: a single success does not end the slow-down of an unlimited rate, even after a long pause', async () => {
    const clock = new VirtualClock();
    const limiter = createRateLimiter(Number.POSITIVE_INFINITY, clock);
    for (let turn = 0; turn < 100; turn++) await limiter.acquire(new AbortController().signal);
    clock.advance(1_000);
    limiter.onResponse(429, 60_000);
    clock.advance(30_000);
    limiter.onResponse(200, undefined);
    expect(limiter.rate).toBe(50);
    clock.advance(30_100);
    limiter.onResponse(200, undefined);
    expect(limiter.rate).toBe(52.5);
  });

  /** Sends `count` requests to a service that rejects some with 429; returns the requests per second and the number of rejections. */
  async function measure(rejects: (at: number, n: number) => boolean, count: number) {
    const clock = new VirtualClock();
    // Without sockets, there is nothing to wait for before time passes.
    clock.sleep = async (ms) => clock.advance(ms);
    const limiter = createRateLimiter(50, clock);
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

  test('RateLimiter: an aborted signal rejects the waiting turn, and ends its timer', async () => {
    const clock = new VirtualClock();
    const limiter = createRateLimiter(1, clock);
    const leaving = new AbortController();
    await limiter.acquire(leaving.signal);
    const turn = limiter.acquire(leaving.signal);
    while (clock.pending === 0) await Promise.resolve();
    leaving.abort(new Error('left'));
    await expect(turn).rejects.toThrow('left');
    expect(clock.pending).toBe(0);
    await expect(limiter.acquire(leaving.signal)).rejects.toThrow('left');
  });
});
