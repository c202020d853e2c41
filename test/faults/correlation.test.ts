/** What connects a command with the service's own logs and traces: request ids, trace context, announcements. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CliOptions, runCli, temporaryFolder } from '../helpers/cli.js';
import { errorData } from '../helpers/error-data.js';
import { folderWith } from '../helpers/files.js';
import { readPageRows } from '../helpers/page.js';
import { acceptThenShow, aFinishedRun, aRun, type Handler, scriptedService } from '../helpers/service.js';

async function runAgainst(handler: Handler, args: readonly string[], options: CliOptions = {}) {
  const service = await scriptedService(handler);
  const env = { WFR_BASE_URL: service.baseUrl, ...options.env };
  return { ...(await runCli(args, { ...options, env })), service };
}

const rejects =
  (headers: Record<string, string>, body: unknown = { message: 'no' }, status = 400): Handler =>
  async (request, reply) => {
    await request.body();
    reply.send(status, body, headers);
  };

const FIELD = ['--workflow-id-field', 'both'];

describe('request ids', () => {
  test.each([
    ['X-Request-Id', 'req-1'],
    ['Request-Id', 'req-2'],
    ['X-Amzn-RequestId', 'f3a1'],
    ['X-Correlation-ID', 'corr-1'],
    ['CF-Ray', '8f1-FRA'],
    ['traceresponse', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
  ])('request ids: that of %s is in the error block, the error data, reports and -v', async (name, id) => {
    const cwd = temporaryFolder();
    const reports = ['json=r.json', 'junit=r.xml', 'markdown=r.md'].flatMap((report) => ['--report', report]);
    const handler = rejects({ [name]: id });
    const { stderr } = await runAgainst(handler, ['run', 'w', '-v', ...FIELD, ...reports], { cwd });
    expect(stderr).toContain(`| no\n  Request id: ${id}\n`);
    expect(stderr).toMatch(new RegExp(`^< 400 \\(.*\\), request id ${id}$`, 'm'));
    const [run] = JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8')).runs;
    expect(run).toMatchObject({ requestId: id, error: 'the service rejected the trigger (400)\nno' });
    expect(readFileSync(join(cwd, 'r.xml'), 'utf8')).toContain(`\nrequest id: ${id}</error>`);
    expect(readFileSync(join(cwd, 'r.md'), 'utf8')).toContain(`request id&#58; ${id}`);

    const asData = await runAgainst(handler, ['run', 'w', '--json', ...FIELD]);
    expect(errorData(asData.stderr).service).toEqual({ status: 400, message: 'no', requestId: id });
  });

  test('request ids: of two headers with the same name, the first counts', async () => {
    const handler = rejects({ 'x-request-id': 'req-1\r\nX-Request-Id: req-2' });
    const { stderr } = await runAgainst(handler, ['run', 'w', '--json', ...FIELD]);
    expect(errorData(stderr).service?.requestId).toBe('req-1');
  });

  test('request ids: the instance of problem details is one, unless it is the path of the request', async () => {
    const problem = { 'content-type': 'application/problem+json' };
    const args = ['run', 'w', '--json', '-v', ...FIELD];
    const id = async (headers: Record<string, string>, instance: unknown) => {
      const { stderr } = await runAgainst(rejects(headers, { detail: 'no', instance }), args);
      const requestId = errorData(stderr).service?.requestId ?? null;
      expect(/^< 400 \(.*\)(?:, request id (.*))?$/m.exec(stderr)?.[1] ?? null).toBe(requestId);
      return requestId;
    };
    expect(await id(problem, '/errors/4711')).toBe('/errors/4711');
    expect(await id(problem, '/runs')).toBe(null);
    expect(await id(problem, 4711)).toBe(null);
    expect(await id({}, '/errors/4711')).toBe(null);
    expect(await id({ ...problem, 'x-request-id': 'req-1' }, '/errors/4711')).toBe('req-1');
  });

  test.each([
    ['a response that is no run', ['run', 'w'], 201, 6],
    ['an unknown outcome', ['run', 'w'], 502, 6],
    ['a busy service', ['run', 'w'], 429, 7],
    ['an unknown run', ['status', 'run-1'], 404, 5],
    ['a run that cannot be read', ['status', 'run-1'], 500, 7],
  ])('request ids: %s has one', async (_name, args, status, exitCode) => {
    const handler = rejects({ 'x-request-id': 'req-1' }, 'nothing', status);
    const text = await runAgainst(handler, args);
    expect(text.stderr).toContain('  Request id: req-1\n');
    const { stderr } = await runAgainst(handler, [...args, '--json']);
    expect(errorData(stderr)).toMatchObject({ exitCode, service: { status, requestId: 'req-1' } });
  });

  test('request ids: one is bounded and sanitized', async () => {
    const hostile = `##[error]${'x'.repeat(10_000)}`;
    const { stderr } = await runAgainst(rejects({ 'x-request-id': hostile }), ['run', 'w', '-v', ...FIELD]);
    expect(stderr).toContain(`  Request id: #\\u0023[error]${'x'.repeat(191)}\n`);
    expect(stderr).not.toMatch(/##\[|x{192}/);
  });

  test('request ids: a secret that the service echoes as one is masked', async () => {
    const args = ['run', 'w', '-v', ...FIELD, '-H', 'X-Key: key-of-the-customer'];
    const { stderr } = await runAgainst(rejects({ 'x-request-id': 'key-of-the-customer' }), args);
    expect(stderr).toContain('  Request id: (hidden)\n');
  });

  test.each([400, 502])(
    'request ids: those of the rows of a batch that are answered with %i are in its results and reports',
    async (status) => {
      const cwd = folderWith({ 'rows.csv': 'a\n1\n' });
      const args = ['batch', 'w', '--rows', 'rows.csv', '--results', 'out.jsonl', '--report', 'json=r.json'];
      const page = ['--report', 'html=r.html'];
      const { stderr } = await runAgainst(
        rejects({ 'x-request-id': 'req-1' }, 'no', status),
        [...args, ...page, ...FIELD, '-v'],
        { cwd },
      );
      expect(stderr).toContain('request id req-1');
      expect(readFileSync(join(cwd, 'out.jsonl'), 'utf8')).toContain('"requestId":"req-1"');
      expect(JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8')).runs[0].requestId).toBe('req-1');
      expect(readPageRows(readFileSync(join(cwd, 'r.html'), 'utf8'))[0]?.requestId).toBe('req-1');
    },
  );
});

describe('trace context', () => {
  const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const sent = async (env: Record<string, string>, flags: string[] = []) => {
    const { service, stderr, exitCode } = await runAgainst(
      acceptThenShow(aFinishedRun()),
      ['run', 'w', ...flags],
      { env },
    );
    expect(exitCode).toBe(0);
    const headers = service.requests.map(({ headers: { traceparent, tracestate } }) => [
      traceparent,
      tracestate,
    ]);
    expect(new Set(headers.map((pair) => pair.join())).size).toBe(1);
    return { headers: headers[0], stderr };
  };

  test.each([
    [PARENT, 'vendor=1,tenant@system=a b'],
    ['cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-09-future', ' k1=v , k2=! '],
  ])(
    'trace context: a valid TRACEPARENT (%s) and TRACESTATE (%s) are sent with every request',
    async (parent, state) => {
      const { headers } = await sent({ TRACEPARENT: parent, TRACESTATE: state });
      expect(headers).toEqual([parent, state.trim()]);
    },
  );

  test.each([
    ['', PARENT.toUpperCase()],
    ['of an unknown form', 'x'],
    ['of version ff', PARENT.replace('00-', 'ff-')],
    ['without a trace', PARENT.replace(/0af\w+/, '0'.repeat(32))],
    ['without a parent', PARENT.replace(/b7a\w+/, '0'.repeat(16))],
    ['with more fields than version 00 has', `${PARENT}-x`],
    ['with a line break', `${PARENT}\nX-Injected: 1`],
    ['with a line break in a later version', `cc${PARENT.slice(2)}-\r\nX-Injected: 1`],
  ])('trace context: a TRACEPARENT %s (%j) is not sent, and -v says so', async (_name, parent) => {
    const { headers, stderr } = await sent({ TRACEPARENT: parent, TRACESTATE: 'a=1' }, ['-v']);
    expect(headers).toEqual([undefined, undefined]);
    expect(stderr).toContain('TRACEPARENT is invalid and not sent\n');
    expect((await sent({ TRACEPARENT: parent })).stderr).not.toContain('TRACEPARENT');
  });

  test.each([
    'x',
    'A=1',
    'a=',
    'a=ü',
    'a=1\r\nX-Injected: 1',
    'a=1\n',
    ',',
    `a=${'x'.repeat(511)}`,
    Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(),
  ])('trace context: the TRACESTATE %j is not sent, and the TRACEPARENT is', async (state) => {
    const { headers, stderr } = await sent({ TRACEPARENT: PARENT, TRACESTATE: state }, ['-v']);
    expect(headers).toEqual([PARENT, undefined]);
    expect(stderr).toContain('TRACESTATE is invalid or too long, and not sent\n');
  });

  test('trace context: nothing is sent without TRACEPARENT, with WFR_TRACE=0, and in place of a header that is given', async () => {
    expect((await sent({ TRACESTATE: 'a=1' })).headers).toEqual([undefined, undefined]);
    expect((await sent({ TRACEPARENT: PARENT, WFR_TRACE: '0' })).headers).toEqual([undefined, undefined]);
    const own = PARENT.replace('0af', 'fff');
    const { headers } = await sent({ TRACEPARENT: PARENT, TRACESTATE: 'a=1' }, ['-H', `traceparent: ${own}`]);
    expect(headers).toEqual([own, undefined]);
  });

  test('trace context: the target of a redirect receives none', async () => {
    const other = await scriptedService((_request, reply) => reply.send(200, aRun()));
    const { service } = await runAgainst(
      rejects({ location: `${other.baseUrl}/runs/run-1` }, '', 307),
      ['status', 'run-1'],
      { env: { TRACEPARENT: PARENT } },
    );
    expect(service.requests[0]?.headers.traceparent).toBe(PARENT);
    expect(other.requests).toEqual([]);
  });
});

describe('Deprecation and Sunset', () => {
  const announced = async (headers: Record<string, string>, flags: string[] = []) => {
    const handler: Handler = async (request, reply) => {
      await request.body();
      const run = request.method === 'POST' ? aRun() : aFinishedRun();
      reply.send(200, run, headers);
    };
    const { stderr, exitCode } = await runAgainst(handler, ['run', 'w', ...flags]);
    expect(exitCode).toBe(0);
    return stderr.split('\n').filter((line) => line.includes('warning: '));
  };

  test.each<[Record<string, string>, string]>([
    [{ Deprecation: '@1767225600' }, 'is deprecated as of 2026-01-01'],
    [{ Sunset: 'Fri, 01 Jan 2027 00:00:00 GMT' }, 'ends on 2027-01-01'],
    [
      { Deprecation: '@1767225600', Sunset: 'Fri, 01 Jan 2027 00:00:00 GMT' },
      'is deprecated as of 2026-01-01 and ends on 2027-01-01',
    ],
  ])('Deprecation and Sunset: %j is one warning for all responses', async (headers, text) => {
    const expected = [`wfr: warning: the service announces that this interface ${text}`];
    expect(await announced(headers)).toEqual(expected);
    expect(await announced(headers, ['--quiet'])).toEqual(expected);
  });

  test.each([
    { Deprecation: '@x' },
    { Deprecation: '@99999999999999' },
    { Sunset: 'soon' },
    { Sunset: '2027' },
  ])('Deprecation and Sunset: %j is ignored', async (headers) => {
    expect(await announced(headers as Record<string, string>)).toEqual([]);
  });
});

describe('Idempotency-Key', () => {
  const KEY = ['-H', 'Idempotency-Key: k-1'];

  test('batch: rejects it, whatever it comes from', async () => {
    const cwd = folderWith({ 'rows.csv': 'a\n1\n', keys: 'idempotency-key: k-1\n' });
    for (const flags of [KEY, ['--header-file', 'keys']]) {
      const args = ['batch', 'w', '--rows', 'rows.csv', '--results', 'out.jsonl', ...flags, ...FIELD];
      const { stderr, exitCode, service } = await runAgainst(() => {}, args, { cwd });
      expect({ exitCode, requests: service.requests }).toEqual({ exitCode: 2, requests: [] });
      expect(stderr).toContain('the header Idempotency-Key cannot be used in a batch');
    }
  });

  test('run: requires the spelling of the workflow field with it', async () => {
    const handler = acceptThenShow(aFinishedRun());
    const rejected = await runAgainst(handler, ['run', 'w', ...KEY]);
    expect({ exitCode: rejected.exitCode, posts: rejected.service.posts() }).toEqual({
      exitCode: 2,
      posts: [],
    });
    expect(rejected.stderr).toContain('the header Idempotency-Key requires --workflow-id-field');
    for (const field of ['both', 'workflowId', 'worfklowId']) {
      const { service, exitCode } = await runAgainst(handler, [
        'run',
        'w',
        ...KEY,
        '--workflow-id-field',
        field,
      ]);
      expect(exitCode).toBe(0);
      expect(service.posts().map(({ headers }) => headers['idempotency-key'])).toEqual(['k-1']);
    }
  });

  test('watch: sends it, as reading a run repeats nothing', async () => {
    const handler: Handler = (_request, reply) => reply.send(200, aFinishedRun());
    expect((await runAgainst(handler, ['watch', 'run-1', ...KEY])).exitCode).toBe(0);
  });
});
