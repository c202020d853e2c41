/** Faults after the request has been sent completely, and responses that reject it. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type CliOptions, runCli, Signals } from '../helpers/cli.js';
import { AutoAdvancingClock, VirtualClock } from '../helpers/clock.js';
import { writeTestConfig } from '../helpers/config.js';
import { startTimer } from '../helpers/elapsed.js';
import { errorData } from '../helpers/error-data.js';
import { aFinishedRun, aRun, type Handler, scriptedService, showRun } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

/** Runs `wfr run w a=1 --workflow-id-field both` against a service that answers each trigger with `handler`. */
async function runAgainst(handler: Handler, options: CliOptions = {}, args: readonly string[] = []) {
  const clock = (options.clock ?? new VirtualClock()) as VirtualClock;
  const service = await scriptedService(
    async (request, reply) => {
      await request.body();
      await handler(request, reply);
    },
    { clock },
  );
  const result = await runCli(['run', 'w', 'a=1', '--workflow-id-field', 'both', ...args], {
    ...options,
    clock,
    env: { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: 'the-token', ...options.env },
  });
  const times = service.posts().map(({ at }) => at);
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  return { ...result, posts: service.posts().length, gaps, requests: service.requests };
}

const respond =
  (status: number, body: unknown = '', headers: Record<string, string> = {}): Handler =>
  (_request, reply) =>
    reply.send(status, body, headers);

const UNKNOWN = 'wfr: error: the outcome is unknown: a run may have been created\n';
const WARNING = 'Check the service before you run the command again: a second run may cost a second time.';

describe('run: the outcome of a trigger is unknown', () => {
  test('run: a lost answer says when the request was sent, what it was, and how --once would settle it', async () => {
    const { baseUrl } = await scriptedService((_request, reply) => reply.reset());
    const clock = new VirtualClock();
    const env = { WFR_BASE_URL: baseUrl };
    const { stderr } = await runCli(['run', 'w', 'b=2', 'a=1'], { env, clock });
    expect(stderr.split('\n').slice(2)).toEqual([
      '  Sent 2026-01-02 03:04:05 UTC: workflow w, inputs b, a',
      `  ${WARNING}`,
      '  Next time, add --once <file>: --adopt <id> can then settle this.',
      '',
    ]);
    expect((await runCli(['run', 'w'], { env, clock })).stderr).toContain('workflow w, inputs none\n');
    const many = Array.from({ length: 99 }, (_, index) => `n${index}=1`);
    expect((await runCli(['run', 'w', ...many], { env, clock })).stderr).toMatch(/ n8, n9 and 89 more\n/);
  });

  test.each<[string, Handler, string]>([
    ['the connection is reset (fault 12)', (_request, reply) => reply.reset(), 'was lost'],
    ['the connection is closed (fault 12)', (_request, reply) => void reply.socket.end(), 'was lost'],
    [
      'the response is cut off (fault 14)',
      (_request, reply) => {
        reply.raw('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"id":');
        setImmediate(() => (LACKS.dataBeforeReset ? reply.socket.end() : reply.reset()));
      },
      'was lost during its response',
    ],
    [
      'the response without a length is cut off (fault 14)',
      (_request, reply) => void reply.socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{"id":"r'),
      'is not a run: not JSON: unterminated string at byte 7',
    ],
    [
      'the response is not JSON (fault 15)',
      respond(200, 'hello'),
      'the response (200, content type application/json) is not a run: not JSON',
    ],
    [
      'the response has no media type (fault 15)',
      (_request, reply) => reply.raw('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'),
      'the response (200, content type none) is not a run: not JSON',
    ],
    [
      'the response is a web page (fault 15)',
      respond(200, '<html>Sign in</html>', { 'content-type': 'text/html' }),
      '| <html>Sign in</html>\n  Sent ',
    ],
    [
      'the response has no id (fault 16)',
      respond(201, { runId: 'x', state: 'y' }),
      'no usable run id in it; its fields are runId, state',
    ],
    ['the id is not a string (fault 16)', respond(201, { id: 7 }), 'its fields are id'],
    ['the id is empty (fault 16)', respond(201, { id: '' }), 'no usable run id'],
    ['the id is ".." (fault 16)', respond(201, { id: '..' }), 'no usable run id'],
    [
      'the response is not a JSON object (fault 16)',
      respond(201, '[1]'),
      'a JSON value that is not an object',
    ],
    ['the response is empty (fault 16)', respond(204, ''), 'is not a run'],
    [
      'a 303 redirect after a complete body (fault 17)',
      respond(303, '', { location: 'https://other.example/runs/7?key=secret' }),
      'redirects the trigger to https://other.example (303)',
    ],
    ...[301, 302, 307, 308].map((status): [string, Handler, string] => [
      `a ${status} redirect to a target below /runs/ (fault 17)`,
      respond(status, '', { location: '/runs/7?key=secret' }),
      `/runs/7 (${status})`,
    ]),
    [
      'a 302 redirect to a target below /runs/ of the host behind a gateway (fault 17)',
      respond(302, '', { location: 'http://internal.example/runs/7' }),
      'redirects the trigger to http://internal.example (302)',
    ],
    [
      'a 500 response (fault 26)',
      respond(500, { message: 'oops' }),
      'answered the trigger with an error (500)\n| oops\n',
    ],
    ['a 502 response (fault 26)', respond(502), 'answered the trigger with an error (502)'],
    ['a 504 response (fault 26)', respond(504), 'answered the trigger with an error (504)'],
    [
      'a 503 without Retry-After after a complete body (fault 79)',
      respond(503),
      'answered the trigger with an error (503)',
    ],
    [
      'a 503 with Retry-After after a complete body, as Varnish sends by default (fault 79)',
      respond(503, { message: 'Backend fetch failed' }, { 'retry-after': '5' }),
      'answered the trigger with an error (503)\n| Backend fetch failed\n',
    ],
    [
      'a 503 with an invalid Retry-After after a complete body (fault 79)',
      respond(503, '', { 'retry-after': 'soon' }),
      '(503)',
    ],
    [
      'a 408 after a complete body, as NestJS sends on a timeout (fault 80)',
      respond(408, { message: 'Request Timeout' }, { 'retry-after': '5' }),
      'answered the trigger with an error (408)\n| Request Timeout\n',
    ],
    [
      'an unrequested 100 Continue and nothing else (fault 28)',
      (_request, reply) => void reply.socket.end('HTTP/1.1 100 Continue\r\n\r\n'),
      'was lost',
    ],
    [
      'a 101 response (fault 29)',
      (_request, reply) =>
        reply.raw('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
      'not an HTTP response',
    ],
    [
      'a 101 response without an upgrade, and nothing else (fault 29)',
      (_request, reply) => void reply.socket.end('HTTP/1.1 101 X\r\n\r\n'),
      'was lost',
    ],
    [
      'more than 100 responses of 1xx (fault 29)',
      (_request, reply) => reply.raw('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(101)),
      'sent something that is not an HTTP response',
    ],
    [
      'an invalid status code (fault 29)',
      (_request, reply) => reply.raw('HTTP/1.1 099 X\r\n\r\n'),
      'sent something that is not',
    ],
    [
      'a response that is not HTTP (fault 30)',
      (_request, reply) => void reply.socket.end('SSH-2.0-OpenSSH_9.2\r\n'),
      'sent something that is not an HTTP response',
    ],
    [
      'response headers of more than 128 kB (fault 30)',
      (_request, reply) => reply.raw(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(140_000)}\r\n\r\n`),
      'sent something that is not an HTTP response',
    ],
    [
      'a response that claims to be gzip but is not (fault 45)',
      respond(200, 'hello', { 'content-encoding': 'gzip' }),
      'a content encoding that wfr cannot read (Z_DATA_ERROR), after the status 200',
    ],
    [
      'a content encoding with the name of a member of every object',
      respond(201, '{}', { 'content-encoding': 'constructor' }),
      'a content encoding that wfr cannot read (constructor), after the status 201',
    ],
    [
      'a response with a Content-Length of 600 MB (fault 44)',
      (_request, reply) => reply.raw('HTTP/1.1 200 OK\r\ncontent-length: 629145600\r\n\r\n{'),
      'is larger than 512 MiB (629145600 bytes), after the status 200',
    ],
  ])('run: %s: exits 6 after exactly one POST', async (_name, handler, message) => {
    const { exitCode, stderr, stdout, posts, clock } = await runAgainst(handler);
    expect({ exitCode, stdout, posts, sleeps: clock.sleeps }).toEqual({
      exitCode: 6,
      stdout: '',
      posts: 1,
      sleeps: [],
    });
    expect(stderr).toContain(UNKNOWN);
    expect(stderr).toContain(message);
    expect(stderr).toContain(WARNING);
    expect(stderr).not.toContain('secret');
  });

  test('run: a 503 with Retry-After after a complete body suggests --resend-503 and states its condition (fault 79)', async () => {
    const hint = '--resend-503 sends it again: only if the operator of the service guarantees';
    expect((await runAgainst(respond(503, '', { 'retry-after': '5' }))).stderr).toContain(hint);
    for (const status of [408, 500, 503])
      expect((await runAgainst(respond(status))).stderr).not.toContain('503 s');
  });

  test.each<[string, number, Record<string, string>]>([
    ['a 408 with Retry-After', 408, { 'retry-after': '0' }],
    ['a 503 without Retry-After', 503, {}],
    ['a 502 with Retry-After', 502, { 'retry-after': '0' }],
  ])('run --resend-503: %s still exits 6 after exactly one POST', async (_name, status, headers) => {
    const { exitCode, posts } = await runAgainst(respond(status, '', headers), {}, ['--resend-503']);
    expect({ exitCode, posts }).toEqual({ exitCode: 6, posts: 1 });
  });

  test('run: no response within 5 minutes exits 6 after exactly one POST (fault 13)', async () => {
    const { exitCode, stderr, posts } = await runAgainst(() => {}, { clock: new AutoAdvancingClock() });
    expect({ exitCode, posts }).toEqual({ exitCode: 6, posts: 1 });
    expect(stderr).toMatch(/no response from 127\.0\.0\.1:\d+ for 5m\n/);
  });

  test('run: a response that stops in the middle exits 6 after 30 s of silence (fault 14)', async () => {
    const { exitCode, stderr } = await runAgainst(
      (_request, reply) => reply.raw('HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\n{"id"'),
      { clock: new AutoAdvancingClock() },
    );
    expect(exitCode).toBe(6);
    expect(stderr).toMatch(/no response from 127\.0\.0\.1:\d+ for 30s, after the status 201/);
  });
});

describe('run: responses that accept a trigger', () => {
  test.each([200, 201, 202, 299])('run: a %i response with an id is accepted', async (status) => {
    expect(await runAgainst(respond(status, aFinishedRun()))).toMatchObject({ exitCode: 0, posts: 1 });
  });

  test('run: a response with a byte order mark is accepted', async () => {
    expect((await runAgainst(respond(200, `\ufeff${JSON.stringify(aFinishedRun())}`))).exitCode).toBe(0);
  });

  test('run: a chunked response after early hints is accepted', async () => {
    const { exitCode } = await runAgainst((_request, reply) => {
      reply.raw('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const text = JSON.stringify(aFinishedRun());
      reply.raw(
        `5\r\n${text.slice(0, 5)}\r\n${(text.length - 5).toString(16)}\r\n${text.slice(5)}\r\n0\r\n\r\n`,
      );
    });
    expect(exitCode).toBe(0);
  });
});

describe('run: responses that reject a trigger', () => {
  test.each<[string, Handler, number, string]>([
    [
      'a 307 redirect to another origin (fault 17)',
      respond(307, '', { location: 'https://other.example/runs?key=secret' }),
      5,
      'redirects the trigger to https://other.example (307); wfr does not follow redirects',
    ],
    [
      'a 301 redirect within the service (fault 17)',
      respond(301, '', { location: '/elsewhere' }),
      5,
      'redirects the trigger to http://127.0.0.1',
    ],
    [
      'a 307 redirect to the same path with a slash (fault 17)',
      respond(307, '', { location: '/runs/' }),
      5,
      '/runs/ (307)',
    ],
    [
      'a 400 response (fault 18)',
      respond(400, { message: 'bad amount' }),
      5,
      'rejected the trigger (400); no run was created\n| bad amount\n',
    ],
    [
      'a 422 response (fault 18)',
      respond(422, { errors: ['x'] }),
      5,
      'rejected the trigger (422); no run was created\n| x\n',
    ],
    [
      'a 401 response (fault 19)',
      respond(401, { error: 'expired' }),
      4,
      'rejected the access token (401); it came from WFR_TOKEN; no run was created\n| expired\n',
    ],
    [
      'a 403 response (fault 19)',
      respond(403),
      4,
      'rejected the access token (403); it came from WFR_TOKEN; no run was created\n',
    ],
    [
      'a 404 response (fault 20)',
      respond(404),
      5,
      '/runs (404); no run was created\n  "w" is neither a UUID nor a URL with one; workflow names come from a profile: see wfr help config',
    ],
    [
      'a 404 response about something else (fault 20)',
      respond(404, 'not found'),
      5,
      '/runs (404); no run was created\n| not found\n',
    ],
    [
      'a 404 response about the workflow (fault 20)',
      respond(404, 'There is no workflow "w".'),
      5,
      'the service does not know the workflow (404); no run was created\n| There is no workflow "w".\n',
    ],
    [
      'a 409 response (fault 22)',
      respond(409, 'in use'),
      5,
      'rejected the trigger (409); no run was created\n| in use\n',
    ],
    [
      'a 413 response (fault 23)',
      respond(413),
      5,
      'rejected a body of 54 bytes as too large (413); no run was created',
    ],
  ])('run: %s is final after one POST', async (_name, handler, code, message) => {
    const { exitCode, stderr, stdout, posts } = await runAgainst(handler);
    expect({ exitCode, stdout, posts }).toEqual({ exitCode: code, stdout: '', posts: 1 });
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/secret|the-token/);
  });

  test.each([
    [404, [expect.stringMatching('^Check the workflow, and the base URL: http://127.0.0.1:[0-9]+$')]],
    [
      422,
      [
        'wfr run --dry-run shows what would be sent. If the field of the workflow is wrong, choose it with --workflow-id-field.',
      ],
    ],
  ])('run: a %i of a workflow that is a UUID suggests what to check (fault 20)', async (status, hints) => {
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      reply.send(status);
    });
    const args = ['run', '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e', '--workflow-id-field', 'both', '--json'];
    const { exitCode, stderr } = await runCli(args, { env: { WFR_BASE_URL: service.baseUrl } });
    expect(exitCode).toBe(5);
    expect(errorData(stderr).hints).toEqual(hints);
  });

  test('run: a 429 with Retry-After is retried three times after that wait, then exits 7 (fault 24)', async () => {
    const { exitCode, posts, stderr, gaps } = await runAgainst(
      respond(429, { message: 'slow down' }, { 'retry-after': '17' }),
    );
    expect({ exitCode, posts, gaps }).toEqual({ exitCode: 7, posts: 4, gaps: [17000, 17000, 17000] });
    expect(stderr).toContain('retrying in 17s (1/3)');
    expect(stderr).toContain('(429), 4 tries; no run was created\n| slow down');
  });

  test('run: a redirect within the service is shown with its path, but without its query (fault 17)', async () => {
    const { stderr } = await runAgainst(respond(308, '', { location: '/v2/runs?key=secret' }));
    expect(stderr).toMatch(/redirects the trigger to http:\/\/127\.0\.0\.1:\d+\/v2\/runs \(308\)/);
    expect(stderr).not.toContain('secret');
  });

  test('run: a 429 without Retry-After is retried with exponential backoff (fault 24)', async () => {
    expect((await runAgainst(respond(429))).gaps).toEqual([1000, 2000, 4000]);
  });

  test('run: a Retry-After that is shorter than the backoff does not shorten it (fault 24)', async () => {
    const { gaps } = await runAgainst(respond(429, '', { 'retry-after': '1' }));
    expect(gaps).toEqual([1000, 2000, 4000]);
  });

  test.each([
    ['three days', '259200', 1, '3 days'],
    ['1e12', '1e12', 1, ''],
    ['a date in the past', 'Thu, 01 Jan 2026 00:00:00 GMT', 4, ''],
    ['nonsense', 'soon', 4, ''],
    ['a negative number', '-5', 4, ''],
  ])(
    'run: a 429 with a Retry-After of %s (%j) exits 7 (POSTs: %i) (fault 25)',
    async (_name, value, posts) => {
      const result = await runAgainst(respond(429, '', { 'retry-after': value }));
      expect(result).toMatchObject({ exitCode: 7, posts });
      if (posts === 1) expect(result.stderr).toMatch(/The service asks to wait \d+d; wfr waits 5m at most\./);
      else expect(result.gaps).toEqual([1000, 2000, 4000]);
    },
  );

  test('run: a Retry-After date is compared with the Date header of the service (fault 25)', async () => {
    const headers = { date: 'Thu, 01 Jan 2015 00:00:00 GMT', 'retry-after': 'Thu, 01 Jan 2015 00:01:30 GMT' };
    expect((await runAgainst(respond(429, '', headers))).gaps).toEqual([90000, 90000, 90000]);
  });

  test('run: a response that is not valid UTF-8 is one warning, and is printed with replacement characters', async () => {
    // Characters of three bytes, one of which is in two of the pieces that are repaired.
    const text = '\u20ac'.repeat(50_000);
    const run = JSON.stringify(aFinishedRun({ name: 'caf@' })).replace(
      '@',
      `\u00e9${Buffer.from(text).toString('latin1')}`,
    );
    const { baseUrl } = await scriptedService(async (request, reply) => {
      await request.body();
      reply.raw(`HTTP/1.1 200 OK\r\ncontent-length: ${run.length}\r\n\r\n${run}`);
    });
    for (const args of [
      ['run', 'w'],
      ['watch', 'run-1'],
      ['status', 'run-1', '--get', ''],
    ]) {
      const { stdout, stderr, exitCode } = await runCli(args, { env: { WFR_BASE_URL: baseUrl } });
      expect({ exitCode, output: JSON.parse(stdout) }).toEqual({
        exitCode: 0,
        output: { name: `caf\ufffd${text}` },
      });
      expect(stderr.match(/warning: .*/g)).toEqual([
        'warning: the response is not valid UTF-8; invalid bytes were replaced by U+FFFD',
      ]);
    }
  });

  describe.each(['UTC', 'Asia/Tokyo', 'America/Los_Angeles'])('dates without a zone, in %s', (zone) => {
    beforeEach(() => void vi.stubEnv('TZ', zone));
    afterEach(() => void vi.unstubAllEnvs());

    test.each([
      ['Fri Jan  2 03:05:35 2026', undefined],
      ['Friday, 02-Jan-26 03:05:35 GMT', undefined],
      ['Fri, 02 Jan 2026 03:05:35', undefined],
      ['Fri, 02 Jan 2026 05:05:35 +0200', undefined],
      ['Thu Jan  1 00:01:30 2015', 'Thu Jan  1 00:00:00 2015'],
      ['Thu, 01 Jan 2015 00:01:30 GMT', 'Thu Jan  1 00:00:00 2015'],
    ])('run: a Retry-After of %s (Date: %s) is GMT (fault 107)', async (value, date) => {
      const headers = { 'retry-after': value, ...(date !== undefined && { date }) };
      expect((await runAgainst(respond(429, '', headers))).gaps[0]).toBe(90_000);
    });

    test.each([
      ['2026-01-02T03:03:05', '1m ago'],
      ['2026-01-02 03:03:05.123456', '59s ago'],
      ['2026-01-02T12:03:05+09:00', '1m ago'],
      ['2026-01-02 12:03:05+09', '1m ago'],
      ['2026-01-02', '3h ago'],
    ])('status: a createdAt of %s is %s (fault 107)', async (createdAt, shown) => {
      const { baseUrl } = await scriptedService(showRun({ createdAt }));
      const { stdout } = await runCli(['status', 'run-1'], { env: { WFR_BASE_URL: baseUrl } });
      expect(stdout).toContain(`created    ${shown} (2026-01-02 0`);
    });

    test('run: a Sunset without a zone is GMT (fault 107)', async () => {
      const ends = async (sunset: string) =>
        (await runAgainst(respond(200, aFinishedRun(), { sunset }))).stderr;
      expect(await ends('Fri Jan  1 00:00:00 2027')).toContain('ends on 2027-01-01');
      expect(await ends('Thu, 31 Dec 2026 23:59:59')).toContain('ends on 2026-12-31');
    });
  });

  test('run --resend-503: a 503 with Retry-After is retried until the service accepts one run', async () => {
    let attempts = 0;
    const handler: Handler = (request, reply) => {
      if (attempts++ < 2) return respond(503, '', { 'retry-after': '3' })(request, reply);
      return reply.send(200, aFinishedRun());
    };
    const { exitCode, posts, gaps } = await runAgainst(handler, {}, ['--resend-503']);
    expect({ exitCode, posts, gaps }).toEqual({ exitCode: 0, posts: 3, gaps: [3000, 3000] });
  });

  test('run --resend-503: a persistent 503 with Retry-After exits 7 after three retries', async () => {
    const busy = respond(503, '', { 'retry-after': '3' });
    const { exitCode, posts, stderr } = await runAgainst(busy, {}, ['--resend-503']);
    expect({ exitCode, posts }).toEqual({ exitCode: 7, posts: 4 });
    expect(stderr).toContain('no run was created');
    const long = respond(503, '', { 'retry-after': '301' });
    expect(await runAgainst(long, {}, ['--resend-503'])).toMatchObject({ exitCode: 7, posts: 1 });
  });

  test.each([
    ['is retried at the service of the profile', '127.0.0.1', { exitCode: 7, posts: 4 }],
    ['exits 6 at any other service', 'localhost', { exitCode: 6, posts: 1 }],
  ])(
    'run: with "resend503": true in the profile, a 503 with Retry-After %s',
    async (_name, host, expected) => {
      const service = await scriptedService(async (request, reply) => {
        await request.body();
        reply.send(503, '', { 'retry-after': '1' });
      });
      const { env } = writeTestConfig({
        defaultProfile: 'p',
        profiles: { p: { baseUrl: service.baseUrl, resend503: true } },
      });
      const { exitCode } = await runCli(['run', 'w', '--base-url', `http://${host}:${service.port}`], {
        env,
      });
      expect({ exitCode, posts: service.posts().length }).toEqual(expected);
    },
  );

  test('run --resend-503: at most three retries are made, whatever their causes', async () => {
    const statuses = [503, 429, 503, 429, 429];
    let attempts = 0;
    const handler: Handler = (request, reply) =>
      respond(statuses[attempts++] ?? 429, '', { 'retry-after': '0' })(request, reply);
    const { exitCode, posts } = await runAgainst(handler, {}, ['--resend-503']);
    expect({ exitCode, posts }).toEqual({ exitCode: 7, posts: 4 });
  });

  test('run: an error body that stalls is cut after 10 s and marked, and its status decides the exit code (fault 47)', async () => {
    const { exitCode, stderr } = await runAgainst(
      (_request, reply) => {
        reply.raw('HTTP/1.1 422 Unprocessable\r\ncontent-length: 1000\r\n\r\nthe amount is miss');
      },
      { clock: new AutoAdvancingClock() },
    );
    expect(exitCode).toBe(5);
    expect(stderr).toContain(
      'rejected the trigger (422); no run was created\n| the amount is miss… (there is more)\n',
    );
  });

  test('run: an error body that drips is cut after 10 s, too', async () => {
    const clock = new VirtualClock();
    const drip: Handler = async (_request, reply) => {
      reply.raw('HTTP/1.1 422 Unprocessable\r\ncontent-length: 200\r\n\r\n');
      for (let n = 0; n < 200 && !reply.socket.destroyed; n++) {
        reply.raw('x');
        await delay(5);
        clock.advance(4_000);
      }
    };
    const { exitCode, stderr } = await runAgainst(drip, { clock });
    expect(exitCode).toBe(5);
    expect(stderr).toMatch(/^\| x{1,20}… \(there is more\)$/m);
  });

  test('run: an endless error body is read up to 64 KiB, and its excerpt says that there is more', async () => {
    const { exitCode, stderr } = await runAgainst((_request, reply) => {
      reply.raw('HTTP/1.1 409 Conflict\r\n\r\n');
      const fill = () => {
        while (!reply.socket.destroyed && reply.socket.write('x'.repeat(65536)));
        if (!reply.socket.destroyed) reply.socket.once('drain', fill);
      };
      fill();
    });
    expect(exitCode).toBe(5);
    expect(stderr).toMatch(/^\| x{1500}… \(there is more\)$/m);
  });
});

describe('run: Ctrl-C after the request has been sent', () => {
  test('run: Ctrl-C after a complete request waits up to 10 s for the id, and prints the command that watches the run (fault 62)', async () => {
    const signals = new Signals();
    const { exitCode, stderr, stdout, posts, requests } = await runAgainst(
      (_request, reply) => {
        signals.raise('SIGINT');
        setTimeout(() => reply.send(201, aRun()), 20);
      },
      { signals },
    );
    expect({ exitCode, stdout, posts }).toEqual({ exitCode: 130, stdout: '', posts: 1 });
    expect(stderr).toContain(
      'The request was sent; waiting up to 10s for the run id; Ctrl-C again exits at once\n',
    );
    expect(stderr).toContain('Run run-1 (version v1)\n');
    expect(stderr).toContain('Interrupted; the run continues.\nTo watch it: wfr watch run-1\n');
    expect(requests.length).toBe(1);
  });

  test('run: after Ctrl-C, a run whose status the response does not have may still be running', async () => {
    const signals = new Signals();
    const { stderr } = await runAgainst(
      (_request, reply) => {
        signals.raise('SIGINT');
        reply.send(201, { id: 'run-1' });
      },
      { signals },
    );
    expect(stderr).toContain('Interrupted; the run may still be running.\nTo watch it: wfr watch run-1\n');
  });

  test('run --detach: Ctrl-C after a complete request waits for the id (fault 62)', async () => {
    const signals = new Signals();
    const { exitCode, stderr } = await runAgainst(
      (_request, reply) => {
        signals.raise('SIGINT');
        setTimeout(() => reply.send(201, aRun()), 20);
      },
      { signals },
      ['--detach'],
    );
    expect(exitCode).toBe(130);
    expect(stderr).toContain('Run run-1');
  });

  test('run: Ctrl-C after a complete request exits 130 after 10 s without a response, and warns that a run may exist (fault 62)', async () => {
    const signals = new Signals();
    const { exitCode, stderr, posts } = await runAgainst(() => signals.raise('SIGINT'), {
      signals,
      clock: new AutoAdvancingClock(),
    });
    expect({ exitCode, posts }).toEqual({ exitCode: 130, posts: 1 });
    expect(stderr).toContain(
      'wfr: error: interrupted after the request had been sent: a run may have been created\n',
    );
    expect(stderr).toContain(WARNING);
  });

  test('run: Ctrl-C while the body of a rejection is read waits for the rest of it, and exits 5', async () => {
    const signals = new Signals();
    const { exitCode, stderr, posts } = await runAgainst(
      (_request, reply) => {
        reply.raw('HTTP/1.1 422 No\r\ncontent-length: 25\r\n\r\n{"message":');
        setImmediate(() => {
          signals.raise('SIGINT');
          reply.raw('"no customer"} ');
        });
      },
      { signals },
    );
    expect({ exitCode, posts }).toEqual({ exitCode: 5, posts: 1 });
    expect(stderr).toContain('rejected the trigger (422); no run was created\n| no customer\n');
  });

  test('run: a second Ctrl-C while the body of a rejection is read exits 130 at once', async () => {
    const signals = new Signals();
    const { exitCode, posts, clock } = await runAgainst(
      (_request, reply) => {
        reply.raw('HTTP/1.1 422 No\r\ncontent-length: 25\r\n\r\n{"message":');
        void delay(20).then(() => {
          signals.raise('SIGINT');
          signals.raise('SIGINT');
        });
      },
      { signals },
    );
    expect({ exitCode, posts, elapsed: clock.monotonic() }).toEqual({ exitCode: 130, posts: 1, elapsed: 0 });
  });

  test('status: Ctrl-C while the body of a rejection is read exits 130 at once', async () => {
    const signals = new Signals();
    const clock = new VirtualClock();
    const { baseUrl, requests } = await scriptedService((_request, reply) => {
      reply.raw('HTTP/1.1 422 No\r\ncontent-length: 25\r\n\r\n{"message":');
      void delay(20).then(() => signals.raise('SIGINT'));
    });
    const { exitCode } = await runCli(['status', 'run-1'], {
      signals,
      clock,
      env: { WFR_BASE_URL: baseUrl },
    });
    expect({ exitCode, requests: requests.length, elapsed: clock.monotonic() }).toEqual({
      exitCode: 130,
      requests: 1,
      elapsed: 0,
    });
  });

  test('run: a second Ctrl-C exits at once (fault 64)', async () => {
    const signals = new Signals();
    let elapsed = () => 0;
    const { exitCode, stderr } = await runAgainst(
      () => {
        signals.raise('SIGINT');
        elapsed = startTimer();
        signals.raise('SIGINT');
      },
      { signals },
    );
    expect(elapsed()).toBeLessThan(100);
    expect(exitCode).toBe(130);
    expect(stderr).toContain('a run may have been created');
  });

  describe.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('run: %s after the request has been sent', (signal, code) => {
    test(`run: ${signal} after a complete request waits up to 2 s for the id, and prints the command that watches the run (faults 65, 94)`, async () => {
      const signals = new Signals();
      const { exitCode, stderr, posts, requests } = await runAgainst(
        (_request, reply) => {
          signals.raise(signal);
          setTimeout(() => reply.send(201, aRun()), 20);
        },
        { signals },
      );
      expect({ exitCode, posts, requests: requests.length }).toEqual({
        exitCode: code,
        posts: 1,
        requests: 1,
      });
      expect(stderr).toContain(
        `The request was sent; waiting up to 2.0s for the run id; ${signal} again exits at once\n`,
      );
      expect(stderr).toContain('Interrupted; the run continues.\nTo watch it: wfr watch run-1\n');
    });

    test(`run: ${signal} after a complete request ends wfr after 2 s without a response, and warns that a run may exist`, async () => {
      const signals = new Signals();
      const clock = new AutoAdvancingClock();
      const { exitCode, stderr, posts } = await runAgainst(() => signals.raise(signal), { signals, clock });
      expect({ exitCode, posts, elapsed: clock.monotonic() }).toEqual({
        exitCode: code,
        posts: 1,
        elapsed: 2_000,
      });
      expect(stderr).toContain('interrupted after the request had been sent: a run may have been created\n');
      expect(stderr).toContain(WARNING);
    });

    test(`run: ${signal} and a second signal end wfr at once`, async () => {
      const signals = new Signals();
      const raiseTwice = () => {
        signals.raise(signal);
        signals.raise('SIGTERM');
      };
      const { exitCode, stderr, clock } = await runAgainst(raiseTwice, { signals });
      expect({ exitCode, elapsed: clock.monotonic() }).toEqual({ exitCode: code, elapsed: 0 });
      expect(stderr).toContain('a run may have been created');
    });
  });
});

test('run: a 401 with a Location exits 4, and the token is redacted from the message of the service (fault 19)', async () => {
  const unauthorized = respond(
    401,
    { message: 'the-token is not valid' },
    { location: 'https://login.example' },
  );
  const { exitCode, stderr } = await runAgainst(unauthorized);
  expect(exitCode).toBe(4);
  expect(stderr).toContain('rejected the access token (401)');
  expect(stderr).toContain('| (the token) is not valid\n');
});
