/** A program that knows nothing but the data of errors sends nothing too early and nothing twice. */
import { describe, expect, test } from 'vitest';
import schema from '../../error.schema.json' with { type: 'json' };
import type { ErrorData } from '../../src/outcome/error-data.js';
import { type CliOptions, runCli } from '../helpers/cli.js';
import { VirtualClock } from '../helpers/clock.js';
import { argumentsOf, errorData } from '../helpers/error-data.js';
import { folderWith } from '../helpers/files.js';
import {
  acceptThenShow,
  aFinishedRun,
  aRun,
  type Handler,
  inTurn,
  scriptedService,
} from '../helpers/service.js';

/** Time between two commands if the service asks for none. */
const PAUSE = 1_000;
const RESUMABLE = ['still-running', 'unreachable', 'unknown-status', 'interrupted'];

/** The program: docs/scripting.md has its rules. Returns the errors in order; the last command ended well if `isDone`. */
async function follow(command: readonly string[], world: CliOptions & { clock: VirtualClock }) {
  const errors: ErrorData[] = [];
  let next = command;
  while (errors.length < 10) {
    const { exitCode, stderr } = await runCli(next, world);
    if (exitCode === 0) return { errors, isDone: true };
    const error = errorData(stderr);
    errors.push(error);
    if (error.runMayExist) break;
    if (error.resume !== null && RESUMABLE.includes(error.code)) next = argumentsOf(error.resume);
    else if (error.retryable) next = command;
    else break;
    world.clock.advance(error.retryAfterMs ?? PAUSE);
  }
  return { errors, isDone: false };
}

/** The format of results files, and the length of a digest in it, as this version writes them. */
const FORMAT = 3;
const DIGEST = '0'.repeat(16);

const HOUR = 3_600_000;

/** Rejects triggers for an hour from the first one on; `early` are those that come before its end. */
function busyForAnHour(clock: VirtualClock, handler: Handler, retryAfter: (end: number) => string) {
  let end: number | undefined;
  const early: number[] = [];
  const busy: Handler = async (request, reply) => {
    if (request.method !== 'POST') return handler(request, reply);
    await request.body();
    const isFirst = end === undefined;
    end ??= clock.now() + HOUR;
    if (clock.now() >= end) return handler(request, reply);
    if (!isFirst) early.push(clock.now());
    reply.send(429, { message: 'quota' }, { 'Retry-After': retryAfter(end) });
  };
  return { busy, early };
}

describe('errors as data: a program that follows them', () => {
  test.each([
    ['in seconds', () => '3600'],
    ['as a date', (end: number) => new Date(end).toUTCString()],
  ])('wfr run: after a 429 for an hour, %s, it waits and sends once more', async (_form, retryAfter) => {
    const clock = new VirtualClock();
    const { busy, early } = busyForAnHour(clock, acceptThenShow(aFinishedRun()), retryAfter);
    const service = await scriptedService(busy);
    const env = { WFR_BASE_URL: service.baseUrl };
    const { errors, isDone } = await follow(['run', 'w', '--json'], { env, clock });
    expect({ isDone, early, posts: service.posts().length }).toEqual({ isDone: true, early: [], posts: 2 });
    expect(errors).toEqual([
      expect.objectContaining({
        code: 'not-triggered',
        retryable: true,
        retryAfterMs: HOUR,
        attempts: 1,
        runCount: 1,
        runs: [{ id: null, code: 'not-triggered' }],
      }),
    ]);
  });

  test('wfr run --once: after a 429 for an hour, it waits and sends once more', async () => {
    const clock = new VirtualClock();
    const { busy, early } = busyForAnHour(clock, acceptThenShow(aFinishedRun()), () => '3600');
    const service = await scriptedService(busy);
    const world = { env: { WFR_BASE_URL: service.baseUrl }, cwd: folderWith({}), clock };
    const { isDone } = await follow(['run', 'w', '--once', 'f', '--json'], world);
    expect({ isDone, early, posts: service.posts().length }).toEqual({ isDone: true, early: [], posts: 2 });
  });

  test('wfr batch: after a 429 for an hour, it sends no row before that', async () => {
    const clock = new VirtualClock();
    let ids = 0;
    const accept: Handler = (_request, reply) => reply.send(201, { ...aFinishedRun(), id: `run-${++ids}` });
    const { busy, early } = busyForAnHour(clock, accept, () => '3600');
    const service = await scriptedService(busy);
    const cwd = folderWith({ 'rows.csv': 'a\n1\n2\n3\n4\n5\n6\n' });
    const flags = ['--rows', 'rows.csv', '--results', 'o.jsonl', '--concurrency', '1', '--json'];
    const world = { env: { WFR_BASE_URL: service.baseUrl }, cwd, clock };
    const { errors, isDone } = await follow(['batch', 'w', ...flags], world);
    expect({ isDone, early, ids }).toEqual({ isDone: true, early: [], ids: 6 });
    expect(errors.map(({ retryAfterMs }) => retryAfterMs)).toEqual([HOUR]);
  });

  test('wfr run: after an unknown outcome, it stops, and has the id that the run may have', async () => {
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      if (request.method === 'POST')
        reply.raw('HTTP/1.1 201 Created\r\nContent-Length: 99\r\n\r\n{"id":"run-9","sta');
      reply.reset();
    });
    const world = { env: { WFR_BASE_URL: service.baseUrl }, cwd: folderWith({}), clock: new VirtualClock() };
    for (const flags of [[], ['--once', 'f'], ['--once', 'f']]) {
      const { errors } = await follow(['run', 'w', '--json', ...flags], world);
      const known = { code: 'unknown-outcome', runMayExist: true, retryable: false, resume: null };
      expect(errors).toEqual([expect.objectContaining({ ...known, candidateId: 'run-9' })]);
    }
    expect(service.posts()).toHaveLength(2);
  });

  test('wfr run: while the run goes on, it is watched, and no other one is sent', async () => {
    const running = Array.from({ length: 30 }, () => aRun());
    const service = await scriptedService(acceptThenShow(...running, aFinishedRun()));
    const world = { env: { WFR_BASE_URL: service.baseUrl }, clock: new VirtualClock() };
    const { errors, isDone } = await follow(['run', 'w', '--timeout', '20s', '--json'], world);
    expect({ isDone, posts: service.posts().length }).toEqual({ isDone: true, posts: 1 });
    expect(errors.length).toBeGreaterThan(1);
    expect(errors[0]).toMatchObject({ runs: [{ id: 'run-1', code: 'still-running' }], runId: 'run-1' });
  });

  test('wfr run: after a wrong input, it stops', async () => {
    const service = await scriptedService((_request, reply) => reply.send(422, { message: 'no x' }));
    const world = { env: { WFR_BASE_URL: service.baseUrl }, clock: new VirtualClock() };
    const rejected = await follow(['run', 'w', '--json', '--workflow-id-field', 'both'], world);
    expect(rejected.errors).toEqual([expect.objectContaining({ code: 'rejected', attempts: 1 })]);
    const invalid = await follow(['run', 'w', '--json', 'broken'], world);
    expect(invalid.errors).toEqual([expect.objectContaining({ code: 'usage', attempts: null, runs: [] })]);
    expect(service.posts()).toHaveLength(1);
  });

  test('wfr run --once: with other inputs, it stops, and knows the run and the inputs that differ', async () => {
    const service = await scriptedService(acceptThenShow(aFinishedRun()));
    const world = { env: { WFR_BASE_URL: service.baseUrl }, cwd: folderWith({}), clock: new VirtualClock() };
    const once = ['run', 'w', '--once', 'f', '--json'];
    expect(await follow([...once, 'a=1', 'b=1'], world)).toEqual({ errors: [], isDone: true });
    const { errors } = await follow([...once, 'a=1', 'b=2', 'c d=3'], world);
    expect(errors).toEqual([
      expect.objectContaining({ code: 'usage', retryable: false, runId: 'run-1', differs: ['b', 'c d'] }),
    ]);
    expect(service.posts()).toHaveLength(1);
  });

  test('wfr batch: with three kinds of failures, it sends again only what it may, and names every row', async () => {
    const created: string[] = [];
    const service = await scriptedService(async (request, reply) => {
      const body = (await request.body()).toString();
      const [, name = ''] = /"a":"(\w+)"/.exec(body) ?? [];
      if (request.method !== 'POST') return reply.send(200, aFinishedRun());
      if (name === 'rejected') return reply.send(422, { message: 'no' });
      created.push(name);
      const id = `run-${name}`;
      if (name === 'lost') return reply.reset();
      if (name === 'failed') return reply.send(201, aRun({ id, status: 'FAILED', error: { message: 'x' } }));
      reply.send(201, { ...aFinishedRun(), id });
    });
    const cwd = folderWith({ 'rows.csv': 'a\nfailed\nfine\nlost\nrejected\n' });
    const flags = ['--rows', 'rows.csv', '--results', 'o.jsonl', '--concurrency', '1', '--json'];
    const world = { env: { WFR_BASE_URL: service.baseUrl }, cwd, clock: new VirtualClock() };
    const runs = [
      { row: 2, label: 'rows.csv:2', id: 'run-failed', code: 'run-failed' },
      { row: 4, label: 'rows.csv:4', id: null, code: 'unknown-outcome' },
      { row: 5, label: 'rows.csv:5', id: null, code: 'rejected' },
    ];
    for (const args of [
      ['batch', 'w', ...flags],
      ['batch', 'w', ...flags],
      ['results', 'o.jsonl', '--json'],
    ]) {
      const { errors } = await follow(args, world);
      expect(errors).toEqual([expect.objectContaining({ runMayExist: true, runCount: 3, runs })]);
    }
    expect(created.sort()).toEqual(['failed', 'fine', 'lost']);
  });
});

describe('errors as data: the line', () => {
  test('errors as data: has the same members in the same order, however the command ends', async () => {
    const service = await scriptedService(inTurn(acceptThenShow(aRun({ status: 'FAILED' }))));
    const world = { env: { WFR_BASE_URL: service.baseUrl } };
    const keys = Object.keys(schema.$defs.error.properties);
    for (const args of [['run', 'w'], ['run'], ['watch', 'a', 'b'], ['run', 'w', '--bogus']]) {
      const { stderr } = await runCli([...args, '--json'], world);
      expect(Object.keys(errorData(stderr))).toEqual(keys);
    }
  });

  test('errors as data: is valid Unicode, and has the text of the service, escaped once', async () => {
    const text = 'a\tb\\u0007 \u0007 \u202e é 😀';
    const failed = aRun({ status: 'FAILED', error: { message: text, step: text } });
    const handler: Handler = async (request, reply) => {
      await request.body();
      if (request.path.endsWith('runs')) return reply.send(422, { message: text });
      // As JSON.stringify writes it, a lone surrogate is an escape.
      const body = JSON.stringify({ ...failed, error: { message: `${text}\ud800`, step: text } });
      reply.send(200, body, { 'Content-Type': 'application/json' });
    };
    const service = await scriptedService(handler);
    const world = { env: { WFR_BASE_URL: service.baseUrl } };
    const { stderr } = await runCli(['watch', 'run-1', '--json'], world);
    expect(stderr).not.toMatch(/\\ud[89a-f]|[\u0000-\u0009\u202e]/i);
    expect(errorData(stderr)).toMatchObject({
      message: `the run failed at step ${text}`,
      step: text,
      service: { message: `${text}\ufffd` },
    });
    const rejected = await runCli(['run', 'w', '--json', '--workflow-id-field', 'both'], world);
    expect(errorData(rejected.stderr).service?.message).toBe(text);
    const usage = await runCli(['run', 'w', '--json', '--timeout', '\t\ud800x'], world);
    expect(errorData(usage.stderr).message).toMatch(/^--timeout \t\ufffdx: /);
  });

  test('errors as data: lists the first 1,000 rows, and counts all', async () => {
    const rows = Array.from({ length: 1_200 }, (_, n) => n + 1);
    const event = (members: object) => `${JSON.stringify(members)}\n`;
    const head = {
      event: 'batch',
      format: FORMAT,
      workflow: 'w',
      baseUrl: 'http://127.0.0.1:1/',
      shard: '1/1',
    };
    const lines = rows.map((row) => {
      const run = aRun({ id: `run-${row}`, status: 'FAILED', error: { message: 'x' } });
      const intent = { event: 'intent', row, label: `r:${row}`, digest: DIGEST };
      return (
        event(intent) + event({ event: 'accepted', row, id: run.id }) + event({ event: 'ended', row, run })
      );
    });
    const cwd = folderWith({ 'o.jsonl': event(head) + lines.join('') });
    const { stderr } = await runCli(['results', 'o.jsonl', '--json'], { cwd });
    const { runCount, runs } = errorData(stderr);
    expect({ runCount, listed: runs.length, last: runs.at(-1) }).toEqual({
      runCount: 1_200,
      listed: 1_000,
      last: { row: 1_000, label: 'r:1000', id: 'run-1000', code: 'run-failed' },
    });
  });
});

describe('errors as data: the command that resumes', () => {
  test('errors as data: repeats every flag that holds no secret, and names the others', async () => {
    const service = await scriptedService(acceptThenShow(aRun()));
    const cwd = folderWith({ token: 'secret-token', headers: 'X-File: 1\n' });
    const kept = [
      ...[
        '--base-url',
        service.baseUrl,
        '--header-file',
        'headers',
        '--output',
        'json',
        '--get',
        '/output/a',
      ],
      ...['--interval', '3s', '--max-interval', '4s', '--color', 'never', '--timeout', '20s', '--quiet'],
      ...['--verbose', '--report', 'json=r.json', '--report', 'junit=r.xml', '--save-documents', 'docs'],
    ];
    const secret = ['-H', 'X-Key: secret-1', '-H', 'X-Other:secret-2', '--token-file', '-'];
    const world = { cwd, clock: new VirtualClock(), stdin: 'secret-token' };
    const { stderr } = await runCli(['run', 'w', ...kept, ...secret], world);
    const { resume, hints } = errorData(stderr);
    const words = argumentsOf(resume ?? '');
    expect([words[0], words.at(-1), [...words.slice(1, -1)].sort()]).toEqual(['watch', 'run-1', kept.sort()]);
    expect(hints).toEqual([
      'To resume, add --token-file -, with the token on standard input.',
      'To resume, add -H X-Key, with its value.',
      'To resume, add -H X-Other, with its value.',
    ]);
    expect(stderr).not.toContain('secret-');
  });
});
