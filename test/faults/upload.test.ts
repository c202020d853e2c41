/** Faults while the body of a trigger is being sent: an incomplete request cannot create a run. */
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import promises from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { listenForSignals } from '../../src/platform/signals.js';
import { systemError } from '../../src/platform/system-error.js';
import { createTriggerBody } from '../../src/service/body.js';
import { EACH_SCAN, readEvents } from '../helpers/batch.js';
import { type CliOptions, runCli, Signals } from '../helpers/cli.js';
import { AutoAdvancingClock, realClock, VirtualClock } from '../helpers/clock.js';
import { effort } from '../helpers/effort.js';
import { startTimer } from '../helpers/elapsed.js';
import { folderWith, folderWithSparseFile } from '../helpers/files.js';
import { startProxy } from '../helpers/proxy.js';
import { replaceFunction } from '../helpers/replace-function.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';
import { certificate } from '../helpers/tls.js';

const LARGE = folderWithSparseFile(200_000_000);
const SMALLER = folderWithSparseFile(20_000_000);

const run = (baseUrl: string, options: CliOptions = {}) =>
  runCli(['run', 'w', 'doc@large.pdf', '--allow-http'], {
    cwd: LARGE,
    ...options,
    env: { WFR_BASE_URL: baseUrl, WFR_TOKEN: 't', ...options.env },
  });

describe('run: the connection is lost during the upload', () => {
  test('run: a connection lost during the upload is retried once, then exits 7 with the progress (fault 9)', async () => {
    const service = await scriptedService(async (request, reply) => {
      await request.atLeast(30_000_000);
      reply.reset();
    });
    const { exitCode, stderr, clock } = await run(service.baseUrl);
    expect(exitCode).toBe(7);
    expect(stderr).toContain('was lost');
    expect(stderr).toContain('; the request was incomplete, so no run can exist; retrying in 1.0s\n');
    expect(stderr).toMatch(
      /wfr: error: the connection to 127\.0\.0\.1:\d+ was lost(?: \(\w+\))? at 1\d % of the body, 2 tries; no run was created/,
    );
    expect(clock.sleeps).toEqual([1000]);
    expect(service.posts().length).toBe(2);
    for (const { received, headers } of service.posts())
      expect(received).toBeLessThan(Number(headers['content-length']));
  });

  test('run: a write that fails while the connection stays open ends the upload after 1 s', async () => {
    const { _writev } = Socket.prototype;
    replaceFunction(Socket.prototype, '_writev', function (this: Socket, chunks, callback) {
      const isRequest = chunks.some(({ chunk }) => String(chunk).startsWith('POST '));
      if (isRequest) callback(systemError('EPIPE'));
      else _writev?.call(this, chunks, callback);
    });
    const service = await scriptedService(() => {});
    const clock = new AutoAdvancingClock();
    const { exitCode, stderr } = await run(service.baseUrl, { clock, limits: { stall: 2_000 } });
    expect({ exitCode, connections: service.connections() }).toEqual({ exitCode: 7, connections: 2 });
    expect(stderr).toMatch(/ was lost \(EPIPE\) at \d+ % of the body, 2 tries; no run was created\n/);
  });

  test('run: the retry of a lost upload sends the whole body (fault 9)', async () => {
    let attempts = 0;
    const service = await scriptedService(async (request, reply) => {
      if (attempts++ === 0) {
        await request.atLeast(1_000_000);
        return reply.reset();
      }
      await request.body();
      reply.send(200, aRun({ status: 'FINISHED' }));
    });
    const { exitCode } = await run(service.baseUrl, { cwd: SMALLER });
    expect(exitCode).toBe(0);
    const [, second] = service.posts();
    expect(second?.received).toBe(Number(second?.headers['content-length']));
  });
});

describe.skipIf(LACKS.dataBeforeReset)('run: a response while the body is still being sent', () => {
  /** Rejects and, once the response was `forwarded`, closes with unread data, which makes the kernel send a reset. */
  const rejectEarly =
    (forwarded: () => Promise<void> = async () => {}): Handler =>
    async (request, reply) => {
      await request.atLeast(1);
      const isForwarded = forwarded();
      const body = '{"message":"too large for us"}';
      reply.raw(
        `HTTP/1.1 413 Payload Too Large\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      );
      reply.socket.pause();
      await isForwarded;
      setImmediate(() => reply.socket.destroy());
    };

  const TRIES = effort(25);

  async function assertReadEachTime(...target: Parameters<typeof run>) {
    for (let n = 0; n < TRIES; n++) {
      const { exitCode, stderr } = await run(...target);
      expect({ n, exitCode, stderr }).toEqual({
        n,
        exitCode: 5,
        stderr: expect.stringContaining('| too large for us\n'),
      });
    }
  }

  test('run: an early 413 is read each time over plain TCP (fault 10)', async () => {
    const service = await scriptedService(rejectEarly());
    await assertReadEachTime(service.baseUrl);
    expect(service.posts().length).toBe(TRIES);
  });

  test('run: an early 413 is read each time over TLS (fault 10)', async () => {
    const service = await scriptedService(rejectEarly(), { tls: certificate('good') });
    await assertReadEachTime(service.baseUrl);
    expect(service.posts().length).toBe(TRIES);
  });

  test('run: an early 413 is read each time through a proxy (fault 10)', async () => {
    const proxy = await startProxy();
    const service = await scriptedService(rejectEarly(proxy.forwarded));
    await assertReadEachTime(`http://service.test:${service.port}`, {
      env: { http_proxy: proxy.url },
    });
    expect(proxy.tunnels.length).toBe(TRIES);
  });

  test('run: an early 413 is read each time over TLS through a proxy (fault 10)', async () => {
    const proxy = await startProxy();
    const service = await scriptedService(rejectEarly(proxy.forwarded), { tls: certificate('good') });
    await assertReadEachTime(`https://service.test:${service.port}`, {
      env: { https_proxy: proxy.url },
    });
  });

  test.each([
    [401, 4, 'the service rejected the access token (401); it came from WFR_TOKEN'],
    [403, 4, 'the service rejected the access token (403)'],
    [413, 5, 'the service rejected a body of 267 MB as too large (413)'],
    [404, 5, 'the service does not know the workflow, or has nothing at http://127.0.0.1'],
    [500, 7, 'the service answered the trigger with an error (500); no run was created'],
  ])('run: an early %i response exits %i after one POST (fault 10)', async (status, code, message) => {
    const service = await scriptedService(async (request, reply) => {
      await request.atLeast(100_000);
      reply.send(status, '', { connection: 'close' });
      reply.socket.destroySoon();
    });
    const { exitCode, stderr } = await run(service.baseUrl);
    expect(exitCode).toBe(code);
    expect(stderr).toContain(message);
    expect(service.posts().length).toBe(1);
  });

  test('batch: a row that is rejected while its document is checked is not recorded as sent', async () => {
    const cwd = folderWith({ 'a.pdf': 'a', 'b.pdf': 'b' });
    const results = join(cwd, 'out.jsonl');
    const isRecorded = (event: string) =>
      existsSync(results) && readFileSync(results, 'utf8').includes(`"event":"${event}"`);
    const { stat } = promises;
    let [isHeld, isChecked] = [false, false];
    replaceFunction(promises, 'stat', (async (...args: Parameters<typeof stat>) => {
      if (args[0] === join(cwd, 'a.pdf') && isRecorded('intent')) {
        isHeld = true;
        while (!isRecorded('refused')) await delay(1);
        isChecked = true;
      }
      return stat(...args);
    }) as typeof stat);
    const service = await scriptedService(async (request, reply) => {
      const length = Number(request.headers['content-length']);
      if (service.posts().length === 1) {
        await request.atLeast(length - 2);
        while (!isHeld) await delay(1);
        return reply.send(400, { message: 'too late' });
      }
      while (!isChecked) await delay(1);
      await request.atLeast(length);
      reply.send(201, aFinishedRun());
    });
    const args = [...EACH_SCAN, 'a.pdf', 'b.pdf', '--concurrency', '1', '--results', 'out.jsonl'];
    const { exitCode } = await runCli(args, { cwd, env: { WFR_BASE_URL: service.baseUrl } });
    const events = readEvents(results).filter(({ row }) => row === 1);
    expect({ exitCode, events: events.map(({ event }) => event) }).toEqual({
      exitCode: 3,
      events: ['recorded', 'intent', 'refused'],
    });
  });
});

test.skipIf(LACKS.dataBeforeReset).each([
  ['a 408 (fault 21)', 408, {}, 2],
  ['a 503 with Retry-After (fault 27)', 503, { 'retry-after': '2' }, 4],
  ['a 503 without Retry-After (fault 27)', 503, {}, 4],
] as const)(
  'run: %s before the body is complete is retried, then exits 7',
  async (_name, status, headers, posts) => {
    const service = await scriptedService(async (request, reply) => {
      await request.atLeast(100_000);
      reply.send(status, '', { connection: 'close', ...headers });
      reply.socket.destroySoon();
    });
    const { exitCode, stderr } = await run(service.baseUrl);
    expect({ exitCode, posts: service.posts().length }).toEqual({ exitCode: 7, posts });
    expect(stderr).toContain('no run was created');
    expect(stderr).toMatch(/so no run can exist; retrying in \S+ \(1\/3\)\n/);
    for (const { received, headers } of service.posts())
      expect(received).toBeLessThan(Number(headers['content-length']));
  },
);

describe('run: a service that stops reading', () => {
  test('run: an upload without progress is aborted after the stall timeout and retried once, then exits 7 (fault 11)', async () => {
    const service = await scriptedService((_request, reply) => void reply.socket.pause());
    const { exitCode, stderr } = await run(service.baseUrl, { limits: { stall: 1_000 } });
    expect(exitCode).toBe(7);
    expect(stderr).toMatch(
      /wfr: error: no data could be sent to 127\.0\.0\.1:\d+ for 1\.0s at \d+ % of the body, 2 tries; no run was created/,
    );
    expect(service.posts().length).toBe(2);
  });

  test('run: an upload without progress over TLS is retried once, then exits 7 (fault 11)', async () => {
    const service = await scriptedService((_request, reply) => void reply.socket.pause(), {
      tls: certificate('good'),
    });
    const { exitCode, stderr } = await run(service.baseUrl, { limits: { stall: 1_000 } });
    expect(exitCode).toBe(7);
    expect(stderr).toContain('no data could be sent');
    expect(service.posts().length).toBe(2);
  });

  test('run: an upload that is read slowly but steadily is not aborted (fault 11)', async () => {
    let reads = 0;
    const service = await scriptedService(async (request, reply) => {
      // Each interval reads a little; all of them together take longer than the limit.
      reply.socket.pause();
      const timer = setInterval(() => {
        reads++;
        reply.socket.resume();
        setImmediate(() => reads < 12 && reply.socket.pause());
        if (reads >= 12) clearInterval(timer);
      }, 100);
      await request.body();
      reply.send(200, aRun({ status: 'FINISHED' }));
    });
    const { exitCode } = await run(service.baseUrl, { cwd: SMALLER, limits: { stall: 900 } });
    expect(exitCode).toBe(0);
    expect(service.posts().length).toBe(1);
  });

  test('run: the limit of an upload without progress is none for the response', async () => {
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      await delay(1_000);
      reply.send(201, aFinishedRun());
    });
    const cwd = folderWith({ 'large.pdf': 'small' });
    const { exitCode } = await run(service.baseUrl, { cwd, limits: { stall: 400 } });
    expect({ exitCode, posts: service.posts().length }).toEqual({ exitCode: 0, posts: 1 });
  });

  test('run: the 5 minutes for the response begin when an upload that takes longer has ended', async () => {
    const clock = new VirtualClock();
    const response = JSON.stringify(aFinishedRun());
    const service = await scriptedService(async (request, reply) => {
      await request.atLeast(1_000_000);
      clock.advance(6 * 60_000);
      await request.body();
      reply.raw(`HTTP/1.1 201 Created\r\ncontent-length: ${response.length}\r\n\r\n`);
      await delay(20);
      clock.advance(1_000);
      reply.raw(response);
    });
    const { exitCode } = await run(service.baseUrl, { cwd: SMALLER, clock });
    expect({ exitCode, posts: service.posts().length }).toEqual({ exitCode: 0, posts: 1 });
  });
});

describe('run: Ctrl-C before the request is complete', () => {
  test('run: Ctrl-C during the upload exits 130 within 100 ms, and reports that no run was created (fault 61)', async () => {
    const signals = new Signals();
    let elapsed = () => 0;
    const service = await scriptedService(async (request, reply) => {
      await request.atLeast(1_000_000);
      reply.socket.pause();
      elapsed = startTimer();
      signals.raise('SIGINT');
    });
    const { exitCode, stderr, stdout } = await run(service.baseUrl, { signals, clock: realClock });
    expect(elapsed()).toBeLessThan(100);
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: '' });
    expect(stderr).toBe('wfr: cancelled; no run was created\n');
    expect(service.posts().length).toBe(1);
  });

  test('TriggerBody: an interruption before the closing bytes keeps them back (fault 61)', async () => {
    // The signal arrives after the last document, before the closing bytes: only the body can detect this.
    const signals = new Signals();
    const commits: string[] = [];
    const inputs = [{ name: 'a', parts: [Buffer.from('1')] }];
    const body = createTriggerBody({ workflowId: 'w' }, inputs);
    const interruption = listenForSignals({
      onSignal: (listener) => signals.listen(listener),
      clock: realClock,
    });
    const sent: string[] = [];
    const sending = (async () => {
      const hooks = {
        beforeLastBytes: async () => {
          commits.push(body.sendState);
          interruption.signal.throwIfAborted();
        },
        onProgress: () => signals.raise('SIGINT'),
        onSent: () => {},
      };
      for await (const chunk of body.chunks(hooks)) sent.push(chunk.toString());
    })();
    await expect(sending).rejects.toMatchObject({ signal: 'SIGINT' });
    expect(commits).toEqual(['partial']);
    expect(body.sendState).toBe('partial');
    expect(sent.join('')).toBe('{"workflowId":"w","inputs":{"a":1');
  });

  test('TriggerBody: a request counts as complete from when its closing bytes are handed over', async () => {
    const body = createTriggerBody({ workflowId: 'w' }, []);
    const hooks = { beforeLastBytes: async () => {}, onProgress() {}, onSent() {} };
    const states: string[] = [];
    for await (const _chunk of body.chunks(hooks)) states.push(body.sendState);
    expect(states).toEqual(['partial', 'complete']);
  });

  test('run: Ctrl-C while waiting for a retry exits 130, and reports that no run was created (fault 61)', async () => {
    const signals = new Signals();
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      reply.send(429, '', { 'retry-after': '100' });
    });
    const { exitCode, stderr } = await run(service.baseUrl, {
      signals,
      cwd: SMALLER,
      clock: realClock,
      onOutput: (text) => text.includes('retrying in') && signals.raise('SIGINT'),
    });
    expect(exitCode).toBe(130);
    expect(stderr).toContain('wfr: cancelled; no run was created\n');
    expect(service.posts().length).toBe(1);
  });
});

describe('run: a document that changes while it is read', () => {
  const setTime = (path: string) => utimesSync(path, 1_700_000_000, 1_700_000_000);
  const overwrite = (path: string) => {
    const file = openSync(path, 'r+');
    writeSync(file, 'x', 0);
    closeSync(file);
  };
  const testChange = (change: (path: string) => void) => async () => {
    const cwd = folderWithSparseFile(20_000_000);
    const path = join(cwd, 'large.pdf');
    setTime(path);
    const service = await scriptedService(async (request, reply) => {
      await request.atLeast(2_000_000);
      reply.socket.pause();
      change(path);
      reply.socket.resume();
    });
    const { exitCode, stderr } = await run(service.baseUrl, { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('wfr: error: large.pdf changed while being read; no run was created\n');
    // The closing bytes were held back, so no run can exist.
    const [request] = service.posts();
    expect(request?.received).toBeLessThan(Number(request?.headers['content-length']));
    expect((await request?.body())?.toString('latin1').endsWith('}}')).toBe(false);
    // Nothing but bytes of the file was sent: buffers may have those of others.
    const { size } = statSync(path, { throwIfNoEntry: false }) ?? { size: 20_000_000 };
    expect(request?.received).toBeLessThan(1_000 + (size / 3) * 4);
    expect(service.posts().length).toBe(1);
  };

  test(
    'run: a document that grows during the upload exits 2, and creates no run (fault 54)',
    testChange((path) => appendFileSync(path, 'more')),
  );
  test(
    'run: a document that shrinks during the upload exits 2, and creates no run (fault 54)',
    testChange((path) => truncateSync(path, 15_000_000)),
  );
  test(
    'run: a document that is overwritten at the same size exits 2, and creates no run (fault 54)',
    testChange(overwrite),
  );
  test(
    'run: a document that is overwritten at the same size and modification time exits 2, and creates no run (faults 54, 92)',
    testChange((path) => {
      const statusChanged = () => statSync(path, { bigint: true }).ctimeNs;
      const before = statusChanged();
      overwrite(path);
      // The clock of a file system may be coarse.
      do setTime(path);
      while (statusChanged() === before);
    }),
  );
  test.skipIf(LACKS.removalOfOpenFiles)(
    'run: a document that is replaced during the upload exits 2, and creates no run (fault 54)',
    testChange((path) => {
      const other = `${path}.other`;
      copyFileSync(path, other);
      setTime(other);
      renameSync(other, path);
    }),
  );
  test.skipIf(LACKS.removalOfOpenFiles)(
    'run: a document that is removed during the upload exits 2, and creates no run (fault 54)',
    testChange((path) => rmSync(path)),
  );
});
