/** Errors as data: whatever ends a command with another exit code than 0 is one valid line of JSON at the end of stderr. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import schema from '../../error.schema.json' with { type: 'json' };
import { ERROR_CODES } from '../../src/exit-code.js';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/server.js';
import { BUILT_IN_WORKFLOWS } from '../../src/sandbox/workflow.js';
import { type CliOptions, NO_HOME, runCli, Signals, temporaryFolder } from '../helpers/cli.js';
import { AutoAdvancingClock, VirtualClock } from '../helpers/clock.js';
import { CLOSED_URL } from '../helpers/closed-port.js';
import { argumentsOf, errorData } from '../helpers/error-data.js';
import { folderWith } from '../helpers/files.js';
import { FAILING, SLOW } from '../helpers/sandbox.js';
import {
  acceptThenShow,
  aFinishedRun,
  aRun,
  type Handler,
  inTurn,
  scriptedService,
  showRun,
} from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

/** Starts a sandbox whose faults end with `heal`. */
async function startFaultySandbox(faults: Partial<SandboxOptions>, workflow: string) {
  const clock = new VirtualClock();
  const created: string[] = [];
  const log = (line: string) => {
    if (line.startsWith('201 POST /v1/runs')) created.push(line);
  };
  const base = { token: 'sandbox-token', port: 0, clock, log } as const;
  const options: SandboxOptions = { ...base, workflows: BUILT_IN_WORKFLOWS, ...faults };
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.stop());
  const env = { WFR_BASE_URL: sandbox.baseUrl, WFR_TOKEN: 'sandbox-token' };
  const cwd = folderWith({ 'rows.csv': `${workflow === FAILING ? 'customer' : 'label'}\nx\n` });
  return {
    created,
    heal() {
      options.reject = undefined;
      options.dropAnswer = false;
    },
    wfr: (args: readonly string[], world: CliOptions = {}) =>
      runCli(args, { cwd, clock, ...world, env: { ...env, ...world.env } }),
  };
}

type Fault = [
  name: string,
  faults: Partial<SandboxOptions>,
  workflow: string,
  flags?: string[],
  world?: CliOptions,
];

const FAULTS: readonly Fault[] = [
  ...[400, 401, 403, 404, 408, 409, 413, 418, 422, 429, 500, 501, 502, 503, 504, 599].map(
    (reject): Fault => [`--reject ${reject}`, { reject }, SLOW],
  ),
  ['--drop-answer', { dropAnswer: true }, SLOW],
  ['a run that fails', {}, FAILING],
  ['a run that takes too long', {}, SLOW, ['--timeout', '0']],
  ['a token that is wrong', {}, SLOW, [], { env: { WFR_TOKEN: 'another-token' } }],
  ['no token', {}, SLOW, ['--base-url', 'https://wfr.invalid'], { env: { WFR_TOKEN: '' } }],
  ['an input that is missing', {}, SLOW, ['-i', 'other=x']],
];

describe('errors as data: faults of the sandbox', () => {
  const commands = [
    ['wfr run', ['run']],
    ['wfr run --once', ['run', '--once', 'run.once']],
    ['wfr batch', ['batch', '--rows', 'rows.csv', '--results', 'out.jsonl']],
    ['wfr batch without results', ['batch', '--rows', 'rows.csv']],
  ] as const;
  const cases = commands.flatMap(([command, args]) =>
    FAULTS.map((fault) => [command, fault[0], args, fault] as const),
  );
  test.each(cases)(
    'errors as data: %s with %s says what a program may do next, and that is true',
    async (_command, _name, args, [, faults, workflow, flags = [], world = {}]) => {
      const { created, heal, wfr } = await startFaultySandbox(faults, workflow);
      const input = args[0] === 'batch' ? [] : [workflow === FAILING ? 'customer=x' : 'label=x'];
      const command = [...args, workflow, ...input, '--json', ...flags];
      const first = await wfr(command, world);
      const error = errorData(first.stderr);
      expect(error.exitCode).toBe(first.exitCode);
      expect(error.runMayExist).toBe(first.exitCode === 6);
      expect(error.message).not.toBe('');

      heal();
      if (error.resume !== null) {
        const resumed = await wfr(argumentsOf(error.resume));
        expect({ exitCode: resumed.exitCode, runs: created.length }).toEqual({ exitCode: 0, runs: 1 });
      }
      if (error.retryable) {
        const second = await wfr(
          command.filter((word) => word !== '--timeout' && word !== '0'),
          world,
        );
        expect({ exitCode: second.exitCode, runs: created.length }).toEqual({ exitCode: 0, runs: 1 });
      }
    },
  );

  test.each<[ending: string, exit: number, isRetryable: boolean, handler: Handler]>([
    ['was rejected', 5, true, (_request, reply) => reply.send(422, { message: 'no' })],
    ['was not authorized', 4, false, (_request, reply) => reply.send(401)],
    ['may exist', 6, false, (_request, reply) => reply.reset()],
  ])(
    'errors as data: a batch that stops because a row %s exits %i; to run it again may help with the others: %s',
    async (_ending, exit, isRetryable, handler) => {
      const { baseUrl } = await scriptedService(async (request, reply) => {
        await request.body();
        await handler(request, reply);
      });
      const cwd = folderWith({ 'rows.jsonl': '{"n":1}\n{"n":2}\n{"n":3}\n' });
      const flags = [
        '--fail-fast',
        '--concurrency',
        '1',
        '--results',
        'o.jsonl',
        '--workflow-id-field',
        'both',
      ];
      const { stderr, exitCode } = await runCli(['batch', 'w', '--rows', 'rows.jsonl', ...flags, '--json'], {
        cwd,
        env: { WFR_BASE_URL: baseUrl, WFR_TOKEN: 't' },
      });
      const { retryable, runMayExist } = errorData(stderr);
      expect({ exitCode, retryable, runMayExist }).toEqual({
        exitCode: exit,
        retryable: isRetryable,
        runMayExist: exit === 6,
      });
    },
  );

  test.each<[ending: string, exit: number, handler: Handler]>([
    ['still runs', 8, acceptThenShow(aRun())],
    ['was unreachable', 7, (_request, reply) => reply.send(429, {}, { 'Retry-After': '3600' })],
  ])(
    'errors as data: a batch whose only row %s exits %i, and may be run again',
    async (_ending, exit, handler) => {
      const { baseUrl } = await scriptedService(handler);
      const args = ['batch', 'w', '--rows', 'rows.jsonl', '--results', 'o.jsonl', '--timeout', '0', '--json'];
      const cwd = folderWith({ 'rows.jsonl': '{"n":1}\n' });
      const { stderr } = await runCli(args, { cwd, env: { WFR_BASE_URL: baseUrl } });
      expect(errorData(stderr)).toMatchObject({ exitCode: exit, retryable: true, runMayExist: false });
    },
  );

  test('errors as data: a batch that is interrupted before the table was read may be run again', async () => {
    const signals = new Signals();
    const args = ['batch', 'w', '--rows', 'rows.jsonl', '--results', 'o.jsonl', '-v', '--json'];
    const { stderr } = await runCli(args, {
      cwd: folderWith({ 'rows.jsonl': '{"n":1}\n' }),
      signals,
      env: { WFR_BASE_URL: CLOSED_URL, TRACEPARENT: 'invalid' },
      onOutput: (text) => text.includes('TRACEPARENT') && signals.raise('SIGINT'),
    });
    expect(errorData(stderr)).toMatchObject({ exitCode: 130, retryable: true, runMayExist: false });
  });

  test('errors as data: after a run failed, still runs or may exist, the same command is never retryable', async () => {
    for (const [, faults, workflow, flags = [], world = {}] of FAULTS) {
      const { created, wfr } = await startFaultySandbox(faults, workflow);
      const input = workflow === FAILING ? 'customer=x' : 'label=x';
      const { stderr } = await wfr(['run', workflow, input, '-ojsonl', ...flags], world);
      if (created.length > 0) expect(errorData(stderr).retryable).toBe(false);
    }
  });
});

const refuses: Handler = (_request, reply) => reply.send(422, { message: 'customer is missing' });
const answers =
  (status: number): Handler =>
  (_request, reply) =>
    reply.send(status);
const vanishes: Handler = async (request, reply) => {
  await request.body();
  reply.reset();
};
const failed = aRun({ status: 'FAILED', error: { message: 'no total', step: 'Extract' } });

interface Expected {
  exitCode: number;
  code: string;
  message: string | RegExp;
  retryable?: boolean;
  runMayExist?: boolean;
  runId?: string;
  resume?: string;
  step?: string | null;
  service?: { status: number | null; message: string | null };
}

const ENDINGS: readonly [name: string, args: string[], handler: Handler, expected: Expected][] = [
  [
    'a run that failed',
    ['run', 'w'],
    acceptThenShow(failed),
    {
      exitCode: 1,
      code: 'run-failed',
      message: 'the run failed at step Extract',
      step: 'Extract',
      runId: 'run-1',
      service: { status: null, message: 'no total' },
    },
  ],
  [
    'a run that failed without a reason',
    ['watch', 'run-1'],
    showRun({ status: 'FAILED' }),
    {
      exitCode: 1,
      code: 'run-failed',
      message: 'the run failed',
      step: null,
      runId: 'run-1',
      service: { status: null, message: null },
    },
  ],
  [
    'a run that continues',
    ['run', 'w', '--timeout', '0'],
    acceptThenShow(aRun()),
    {
      exitCode: 8,
      code: 'still-running',
      message: /RUNNING/,
      runId: 'run-1',
      resume: 'wfr watch --output json run-1',
    },
  ],
  [
    'a status',
    ['status', '--exit-status', 'run-1'],
    showRun(),
    {
      exitCode: 8,
      code: 'still-running',
      message: /RUNNING/,
      retryable: true,
      runId: 'run-1',
      resume: 'wfr watch --output json run-1',
    },
  ],
  [
    'a rejected trigger',
    ['run', 'w', '--workflow-id-field', 'both'],
    refuses,
    {
      exitCode: 5,
      code: 'rejected',
      message: 'the service rejected the trigger (422)',
      service: { status: 422, message: 'customer is missing' },
    },
  ],
  [
    'a rejected token',
    ['run', 'w'],
    answers(401),
    {
      exitCode: 4,
      code: 'unauthorized',
      message: 'the service requires an access token (401), and none was sent',
      service: { status: 401, message: null },
    },
  ],
  [
    'a token without permission',
    ['watch', 'run-1'],
    answers(403),
    {
      exitCode: 4,
      code: 'forbidden',
      message: /\(403\)/,
      runId: 'run-1',
      resume: 'wfr watch --output json run-1',
      service: { status: 403, message: null },
    },
  ],
  [
    'a missing token',
    ['run', 'w', '--base-url', 'https://wfr.invalid'],
    answers(500),
    { exitCode: 4, code: 'no-token', message: /^no access token/ },
  ],
  [
    'an unknown run',
    ['status', 'run-1'],
    answers(404),
    {
      exitCode: 5,
      code: 'no-such-run',
      message: 'the service has no run run-1 (404)',
      runId: 'run-1',
      service: { status: 404, message: null },
    },
  ],
  [
    'a lost answer',
    ['run', 'w'],
    vanishes,
    { exitCode: 6, code: 'unknown-outcome', message: /a run may have been created/, runMayExist: true },
  ],
  [
    'a gateway that gives up',
    ['run', 'w'],
    answers(504),
    {
      exitCode: 6,
      code: 'unknown-outcome',
      message: /a run may have been created/,
      runMayExist: true,
      service: { status: 504, message: null },
    },
  ],
  [
    'a busy service',
    ['run', 'w'],
    answers(429),
    {
      exitCode: 7,
      code: 'not-triggered',
      message: /^the service rejected the trigger \(429\)/,
      retryable: true,
      service: { status: 429, message: null },
    },
  ],
  [
    'a service that is down while a run is watched',
    ['watch', 'run-1'],
    inTurn(showRun(), answers(502)),
    {
      exitCode: 7,
      code: 'unreachable',
      message: /^run run-1 could not be read for 5m/,
      retryable: true,
      runId: 'run-1',
      resume: 'wfr watch --output json run-1',
      service: { status: 502, message: null },
    },
  ],
  [
    'a service that is down after the trigger',
    ['run', 'w'],
    inTurn(acceptThenShow(), answers(502)),
    {
      exitCode: 7,
      code: 'unreachable',
      message: /^run run-1 could not be read for 5m/,
      runId: 'run-1',
      resume: 'wfr watch --output json run-1',
      service: { status: 502, message: null },
    },
  ],
  [
    'an unknown status',
    ['watch', 'run-1'],
    showRun({ status: 'PAUSED' }),
    {
      exitCode: 7,
      code: 'unknown-status',
      message: /^the status PAUSED is unknown to wfr/,
      retryable: true,
      runId: 'run-1',
      resume: 'wfr watch --output json run-1',
    },
  ],
  [
    'a document that exists',
    ['watch', 'run-1', '--save-documents', NO_HOME],
    showRun(),
    {
      exitCode: 2,
      code: 'usage',
      message: new RegExp(`^--save-documents ${NO_HOME.replace(/[\\()]/g, '\\$&')}: `),
    },
  ],
  [
    'two runs that failed',
    ['watch', 'a', 'b'],
    (request, reply) => reply.send(200, { ...failed, id: request.path.split('/').at(-1) }),
    {
      exitCode: 1,
      code: 'run-failed',
      message: '2 of 2 runs did not succeed',
      step: 'Extract',
    },
  ],
  [
    'two runs that ended differently',
    ['status', '--exit-status', 'a', 'b'],
    (request, reply) => {
      const id = request.path.split('/').at(-1);
      reply.send(200, id === 'a' ? { ...failed, id } : { ...aFinishedRun(), id });
    },
    { exitCode: 3, code: 'mixed', message: '1 of 2 runs did not succeed' },
  ],
];

describe('errors as data: rows', () => {
  const batch = ['batch', '--rows', 'rows.csv', '--results', 'out.jsonl'];
  test.each<
    [name: string, code: string, faults: Partial<SandboxOptions>, flags: string[], world: CliOptions]
  >([
    ['are rejected with 401', 'unauthorized', { reject: 401 }, [], {}],
    ['are rejected with 403', 'forbidden', { reject: 403 }, [], {}],
    ['are busy', 'not-triggered', { reject: 429 }, [], {}],
    ['are never connected', 'not-triggered', {}, ['--base-url', CLOSED_URL], {}],
  ])(
    'errors as data: a batch whose rows %s has the code %s, as has wfr results',
    async (_name, code, faults, flags, world) => {
      const { wfr } = await startFaultySandbox(faults, SLOW);
      const { stderr } = await wfr([...batch, SLOW, '--json', ...flags], world);
      expect(errorData(stderr).code).toBe(code);
      expect(errorData((await wfr(['results', 'out.jsonl', '--json'])).stderr).code).toBe(code);
    },
  );

  test('errors as data: a batch whose runs may not be read has the code forbidden', async () => {
    for (const body of ['', { message: 'no' }]) {
      const service = await scriptedService(
        inTurn(acceptThenShow(), (_request, reply) => reply.send(403, body)),
      );
      const world = { cwd: folderWith({ 'rows.csv': 'a\n1\n' }), env: { WFR_BASE_URL: service.baseUrl } };
      const { stderr } = await runCli([...batch, 'w', '--json'], { ...world, clock: new VirtualClock() });
      expect(errorData(stderr)).toMatchObject({ exitCode: 4, code: 'forbidden' });
    }
  });

  test('errors as data: a batch whose rows failed for different reasons has the general code', async () => {
    let status = 401;
    const service = await scriptedService((_request, reply) => {
      reply.send(status, { message: 'no' });
      status = 403;
    });
    const cwd = folderWith({ 'rows.csv': 'a\n1\n2\n' });
    const args = [...batch, 'w', '--json', '--keep-going', '--concurrency', '1'];
    const { stderr } = await runCli(args, {
      cwd,
      clock: new VirtualClock(),
      env: { WFR_BASE_URL: service.baseUrl },
    });
    expect(errorData(stderr)).toMatchObject({ exitCode: 4, code: 'unauthorized' });
  });
});

describe('errors as data: each way to end', () => {
  test.each(ENDINGS)('errors as data: %s is described', async (_name, args, handler, expected) => {
    const service = await scriptedService(handler);
    const env = { WFR_BASE_URL: service.baseUrl };
    const { stderr, exitCode } = await runCli([...args, '--json'], { env });
    const { message, service: response, ...error } = errorData(stderr);
    const { message: text, service: answer, ...members } = expected;
    expect(error).toMatchObject({
      retryable: false,
      runMayExist: false,
      runId: null,
      resume: null,
      ...members,
    });
    expect(message).toMatch(text);
    expect(response).toEqual(answer === undefined ? null : { ...answer, requestId: null });
    expect(exitCode).toBe(expected.exitCode);
    expect(stderr).not.toMatch(/^wfr: (?!warning)|^Failed|^Still/m);
  });

  test('errors as data: nothing listens at the base URL, so the same command may be run again', async () => {
    const env = { WFR_BASE_URL: CLOSED_URL };
    const { stderr } = await runCli(['run', 'w', '--json'], { env });
    expect(errorData(stderr)).toMatchObject({
      exitCode: 7,
      code: 'not-triggered',
      retryable: true,
      service: null,
    });
  });

  test.each([
    ['before the request is complete', '> POST', true],
    ['while the answer is awaited', 'The request has been sent', false],
  ])('errors as data: a signal %s tells whether a run may exist', async (_name, moment, retryable) => {
    const signals = new Signals();
    const service = await scriptedService(async (request) => {
      await request.body();
      signals.raise('SIGTERM');
    });
    const env = { WFR_BASE_URL: service.baseUrl };
    const clock = new AutoAdvancingClock();
    const { stderr } = await runCli(['run', 'w', '-v', '--json'], {
      env,
      signals,
      clock,
      onOutput: (text) => text.endsWith('bytes)\n') && text.includes(moment) && signals.raise('SIGTERM'),
    });
    expect(errorData(stderr)).toMatchObject({
      exitCode: 143,
      code: 'interrupted',
      retryable,
      runMayExist: !retryable,
      resume: null,
    });
  });

  test('errors as data: a signal while a run is watched gives the command that continues', async () => {
    const signals = new Signals();
    const service = await scriptedService(
      inTurn(acceptThenShow(), (_request, reply) => {
        signals.raise('SIGINT');
        reply.send(200, aRun());
      }),
    );
    const env = { WFR_BASE_URL: service.baseUrl };
    const { stderr } = await runCli(['run', 'w', '--json'], { env, signals });
    expect(errorData(stderr)).toMatchObject({
      exitCode: 130,
      code: 'interrupted',
      retryable: false,
      runId: 'run-1',
      resume: 'wfr watch --output json run-1',
    });
  });

  test('errors as data: the schema lists exactly the codes that wfr has', () => {
    const codes = schema.$defs.error.properties.code.oneOf.map((code) => code.const);
    expect(codes).toEqual(Object.keys(ERROR_CODES));
  });
});

describe('errors as data: what wfr itself cannot do', () => {
  const fullDisk = () =>
    new Writable({
      write: (_chunk, _encoding, callback) => callback(Object.assign(new Error('write'), { code: 'ENOSPC' })),
    });

  test.each([
    ['the output', ['run', 'w', '--json']],
    ['the id, with --detach', ['run', 'w', '--json', '--detach']],
  ])(
    'errors as data: when %s cannot be written, the run is named and can be resumed',
    async (_name, args) => {
      const service = await scriptedService(acceptThenShow(aFinishedRun()));
      const env = { WFR_BASE_URL: service.baseUrl };
      const { stderr, exitCode } = await runCli(args, { env, stdout: fullDisk() });
      expect(exitCode).toBe(74);
      const error = errorData(stderr);
      expect(error).toMatchObject({
        exitCode: 74,
        code: 'output-not-written',
        message: 'cannot write the result: no space left on the disk (ENOSPC)',
        retryable: false,
        runId: 'run-1',
      });
      const resumed = await runCli(argumentsOf(error.resume ?? ''), { env });
      expect({ exitCode: resumed.exitCode, posts: service.posts().length }).toEqual({
        exitCode: 0,
        posts: 1,
      });
    },
  );

  test('watch: when the table of several runs cannot be written, the report still has the status of each', async () => {
    const { baseUrl } = await scriptedService(({ path }, reply) =>
      reply.send(200, { ...aFinishedRun(), id: path.split('/').at(-1) }),
    );
    const cwd = temporaryFolder();
    const args = ['watch', 'a', 'b', '--report', 'json=report.json'];
    const world = { env: { WFR_BASE_URL: baseUrl }, cwd, stdout: fullDisk() };
    const { stderr, exitCode } = await runCli(args, world);
    expect(exitCode).toBe(74);
    expect(stderr.match(/cannot write the result/g)).toHaveLength(1);
    const { runs } = JSON.parse(readFileSync(join(cwd, 'report.json'), 'utf8'));
    const row = { outcome: 'not written', exitCode: 74, run: { status: 'FINISHED' } };
    expect(runs).toMatchObject([row, row]);
  });

  test.skipIf(LACKS.fullDevice)(
    'errors as data: a report that cannot be written is told beside the end of the run',
    async () => {
      const service = await scriptedService(acceptThenShow(failed));
      const env = { WFR_BASE_URL: service.baseUrl };
      const { stderr } = await runCli(['run', 'w', '--json', '--report', 'json=/dev/full'], { env });
      const error = errorData(stderr);
      expect(error).toMatchObject({
        exitCode: 74,
        code: 'output-not-written',
        retryable: false,
        runId: 'run-1',
      });
      expect(error.details).toEqual([
        'run-1: run-failed: the run failed at step Extract; no total',
        expect.stringMatching(/^output-not-written: cannot write --report json=\/dev\/full/),
      ]);
    },
  );

  test('errors as data: an internal error after the request was sent may have created a run', async () => {
    const service = await scriptedService(acceptThenShow(aFinishedRun()));
    const clock = new VirtualClock();
    clock.now = () => {
      if (service.posts().length > 0) throw new Error('broken \u001b[31m clock');
      return 0;
    };
    const env = { WFR_BASE_URL: service.baseUrl };
    const { stderr } = await runCli(['run', 'w', '--json'], { env, clock });
    const error = errorData(stderr);
    expect(error).toMatchObject({ exitCode: 70, code: 'internal', retryable: false, runMayExist: true });
    expect(error.details[0]).toBe('Error: broken \u001b[31m clock');
  });
});

describe('errors as data: text from outside', () => {
  test('errors as data: text from outside is sanitized, and secrets are masked, without breaking the line', async () => {
    const secret = '","code":"usage","exitCode":0,"x":"';
    const message = `\u001b]0;x\u0007\n::error::x\n##[group]\u202e ${secret} unauthorized not-triggered`;
    const service = await scriptedService((_request, reply) => reply.send(422, { message }));
    const env = { WFR_BASE_URL: service.baseUrl };
    for (const header of [secret, '"exitCode":', 'rejected', 'the service rejected the trigger']) {
      const args = ['run', 'w', '--json', '-H', `X-Key: ${header}`, '--workflow-id-field', 'both'];
      const { stderr } = await runCli(args, { env });
      const error = errorData(stderr);
      expect(error).toMatchObject({ code: 'rejected', exitCode: 5 });
      if (header === secret) expect([error.message, error.service?.message].join()).not.toContain(secret);
      expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]|##\[/);
    }
  });

  test('errors as data: a command that the token is part of is not given', async () => {
    const id = 'run-of-the-customer';
    const service = await scriptedService(showRun({ id }));
    const env = { WFR_BASE_URL: service.baseUrl };
    const watch = (WFR_TOKEN: string) =>
      runCli(['watch', id, '--timeout', '0', '--json'], { env: { ...env, WFR_TOKEN } });
    expect(errorData((await watch('another-token-4711')).stderr).resume).toBe(
      `wfr watch --output json ${id}`,
    );
    expect(errorData((await watch(id)).stderr).resume).toBe(null);
  });
});

describe('errors as data: usage errors', () => {
  test.each([
    [['run', '--json']],
    [['--json', 'run']],
    [['run', 'w', '--json', '--bogus']],
    [['run', 'w', '--bogus', '-ojson']],
    [['run', 'w', '-qojsonl', '--timeout']],
    [['run', 'w', '--timeout', 'x', '--output=json']],
    [['run', 'w', '--output', 'jsonl', '--interval', 'x', 'broken']],
    [['run', 'w', '--json', '-o', 'text']],
    [['nonsense', '--json']],
    [['watch', '--json']],
    [['watch', '', '--json']],
    [['status', '--json', '--color', 'x', 'a']],
    [['batch', 'w', '--json', '--rows', 'missing.csv']],
    [['history', '--json', '--limit', 'x']],
    [['results', '--json', 'missing.jsonl']],
    [['config', 'edit', '--json']],
    [['run', 'w', '--json', '--once', 'f', '--adopt', 'a', '--resend-unknown']],
  ])('errors as data: %j is one line', async (args) => {
    const { stdout, stderr, exitCode } = await runCli(args, { env: { WFR_BASE_URL: CLOSED_URL } });
    const error = errorData(stderr);
    expect(error).toMatchObject({ code: 'usage', exitCode: 2, retryable: false, runMayExist: false });
    expect(stderr.split('\n')).toHaveLength(2);
    expect({ stdout, exitCode, message: error.message !== '' }).toEqual({
      stdout: '',
      exitCode: 2,
      message: true,
    });
  });

  test('errors as data: the message of a usage error is that of its error block', async () => {
    const { stdout, stderr, exitCode } = await runCli(['status', 'x', '--json', '-o', 'id']);
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
    const { message, details } = errorData(stderr);
    expect([message, ...details]).toContain('--json and --output id exclude each other');
  });

  test('errors as data: all mistakes of a command line are in it', async () => {
    const args = ['run', 'w', '--timeout', 'x', '--interval', 'y', '--json'];
    const { stderr } = await runCli(args, { env: { WFR_BASE_URL: CLOSED_URL } });
    const { message, details } = errorData(stderr);
    expect([message, ...details]).toEqual([
      expect.stringMatching(/^--interval y: /),
      expect.stringMatching(/^--timeout x: /),
    ]);
  });

  test.each([[['run', 'w', '--bogus', '--', '--json']], [['run', 'w', 'a=\n--json\n', '--bogus']]])(
    'errors as data: %j is an error block',
    async (args) => {
      const { stderr } = await runCli(args);
      expect(stderr).toMatch(/^wfr: error: --bogus: there is no such flag/);
    },
  );
});

describe('errors as data: --report json', () => {
  const report = (cwd: string) => JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8'));

  test.each([
    ['commander', ['run', 'w', '--report', 'json=r.json', '--bogus']],
    ['wfr', ['run', 'w', '--report', 'json=r.json', '--timeout', 'x']],
    ['wfr, before the reports were opened', ['run', 'w', '--report', 'json=r.json', '--profile', 'x']],
    ['wfr, about another report', ['watch', 'a', '--report', 'pdf=x', '--report', 'json=r.json']],
  ])('--report json: a mistake that %s finds is in it', async (_name, args) => {
    const cwd = temporaryFolder();
    const { stderr, exitCode } = await runCli([...args, '--json'], { cwd });
    expect(exitCode).toBe(2);
    expect(report(cwd)).toEqual({ exitCode: 2, error: errorData(stderr), runs: [] });
  });

  test('--report json: a mistake replaces an earlier report, and never another file', async () => {
    const cwd = temporaryFolder();
    const args = ['run', 'w', '--report', 'json=r.json'];
    await runCli([...args, '--timeout', 'x'], { cwd });
    await runCli([...args, '--interval', 'y'], { cwd });
    const { message, details } = report(cwd).error;
    expect([message, ...details].join('\n')).toMatch('--interval y');

    const document = '{"customer": "x"}';
    writeFileSync(join(cwd, 'inputs.json'), document);
    const { exitCode } = await runCli(
      ['run', 'w', '--inputs-file', 'inputs.json', '--report', 'json=inputs.json', '--timeout', 'x'],
      { cwd },
    );
    expect({ exitCode, text: readFileSync(join(cwd, 'inputs.json'), 'utf8') }).toEqual({
      exitCode: 2,
      text: document,
    });
  });

  test('--report json: a command that ran nothing has its error, whatever the exit code', async () => {
    const head =
      '{"event":"batch","format":3,"workflow":"w","baseUrl":"http://127.0.0.1:1/","shard":"1/1"}\n';
    const cwd = folderWith({ 'none.jsonl': head });
    const args = [
      'results',
      'none.jsonl',
      '--report',
      'json=r.json',
      '--report',
      'junit=r.xml',
      '-o',
      'json',
    ];
    const { stderr, exitCode } = await runCli(args, { cwd });
    expect(exitCode).toBe(8);
    expect(report(cwd)).toEqual({ exitCode: 8, error: errorData(stderr), runs: [] });
    expect(readdirSync(cwd)).not.toContain('r.xml');
  });

  test('--report json: has the error that ends stderr', async () => {
    const cwd = temporaryFolder();
    const service = await scriptedService(vanishes);
    const env = { WFR_BASE_URL: service.baseUrl };
    const { stderr } = await runCli(['run', 'w', '--json', '--report', 'json=r.json'], { env, cwd });
    expect(report(cwd).error).toEqual(errorData(stderr));
  });
});
