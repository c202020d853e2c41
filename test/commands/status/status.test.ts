/** `wfr status`: what it prints of one run and of several, and its exit codes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type CliOptions, runCli, temporaryFolder } from '../../helpers/cli.js';
import { VirtualClock } from '../../helpers/clock.js';
import { errorData } from '../../helpers/error-data.js';
import {
  aFinishedRun,
  aRun,
  type Handler,
  scriptedService,
  showRun,
  stillRunning,
} from '../../helpers/service.js';

const UUID = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';

describe('status', () => {
  const status = async (
    handler: Handler,
    args: readonly string[],
    options: CliOptions = {},
    command = 'status',
  ) => {
    const clock = new VirtualClock();
    const service = await scriptedService(handler, { clock });
    const env = { WFR_BASE_URL: service.baseUrl };
    const result = await runCli([command, ...args], { env, clock, ...options });
    return { ...result, ...service };
  };

  test('status: a run is printed in a few lines after one request', async () => {
    const { stdout, exitCode, requests } = await status(showRun(), ['run-1']);
    expect(exitCode).toBe(0);
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /runs/run-1']);
    expect(stdout).toBe(
      'run        run-1\nstatus     RUNNING\nsteps      1 of 4\ncreated    now (2026-01-02 03:04:05 UTC)\nworkflow   v1\n',
    );
  });

  test('status: a FINISHED run has the beginning of its output, and the command that prints the whole', async () => {
    const output = { total: 12.5, lines: Array.from({ length: 50 }, (_, line) => `line ${line} \u001b[2J`) };
    const { baseUrl } = await scriptedService(showRun({ ...aFinishedRun(), output }));
    const { stdout, stderr } = await runCli(['status', 'run-1'], { env: { WFR_BASE_URL: baseUrl } });
    const [, beginning = ''] = /^output +(.*)$/m.exec(stdout) ?? [];
    expect(beginning).toMatch(/^\{"total":12\.5,"lines":\["line 0 \\u001b.*…$/);
    expect(beginning).toHaveLength(60);
    expect(stderr).toBe('To print the whole output: wfr watch run-1\n');
    expect((await runCli(['status', '-q', 'run-1'], { env: { WFR_BASE_URL: baseUrl } })).stderr).toBe('');
    const short = await scriptedService(showRun({ ...aFinishedRun(), output: { total: 1 } }));
    const whole = await runCli(['status', 'run-1'], { env: { WFR_BASE_URL: short.baseUrl } });
    expect([whole.stdout, whole.stderr]).toEqual([expect.stringContaining('output     {"total":1}\n'), '']);
    const wide = await runCli(['status', 'run-1'], { env: { WFR_BASE_URL: baseUrl }, stdoutTerminal: 120 });
    const shown = wide.stdout.slice(wide.stdout.indexOf('output ')).split('\n').slice(0, -1);
    expect(shown.map((line) => line.slice(11))).toEqual([
      '{',
      '  "total": 12.5,',
      '  "lines": [',
      ...Array.from({ length: 11 }, (_, line) => `    "line ${line} \\u001b[2J",`),
      '…',
    ]);
    const { stdout: fitting } = await runCli(['status', 'run-1'], {
      env: { WFR_BASE_URL: short.baseUrl },
      stdoutTerminal: 40,
    });
    expect(fitting).toContain('output     {"total":1}\n');
  });

  test('status: on a terminal, a run that has not ended is followed by the command that watches it', async () => {
    const { baseUrl } = await scriptedService(showRun());
    const { stderr } = await runCli(['status', 'run-1'], { env: { WFR_BASE_URL: baseUrl }, terminal: 80 });
    expect(stripVTControlCharacters(stderr)).toBe('To watch it: wfr watch run-1\n');
  });

  test('status: a FAILED run is printed with its step and message, and exits 0', async () => {
    const { stdout, exitCode } = await status(
      showRun({ status: 'FAILED', error: { message: 'm\n  File "a.py"', step: 's' } }),
      ['run-1'],
    );
    expect(exitCode).toBe(0);
    // The lines of a traceback are indented.
    expect(stdout).toContain('failed at  s\nmessage    m\n             File "a.py"\n');
  });

  test('status: a run of the history has the name of its workflow, or its id', async () => {
    const { baseUrl } = await scriptedService(showRun());
    const [state, config] = [temporaryFolder(), temporaryFolder()];
    const past = { id: 'run-1', workflow: UUID, baseUrl: `${baseUrl}/`, triggered: 't', inputs: [] };
    mkdirSync(join(state, 'wfr'), { mode: 0o700 });
    writeFileSync(join(state, 'wfr', 'history.jsonl'), `${JSON.stringify(past)}\n`);
    mkdirSync(join(config, 'wfr'));
    const profiles = { p: { baseUrl, workflows: { invoice: UUID } } };
    writeFileSync(join(config, 'wfr', 'config.json'), JSON.stringify({ profiles }));
    const env = { XDG_STATE_HOME: state, XDG_CONFIG_HOME: config };
    const named = await runCli(['status', '--profile', 'p', 'run-1'], { env });
    expect(named.stdout).toContain('\nworkflow   invoice (v1)\n');
    const unnamed = await runCli(['status', '--base-url', baseUrl, 'run-1'], { env });
    expect(unnamed.stdout).toContain(`\nworkflow   v1 (${UUID})\n`);
    const narrow = ['status', '--base-url', baseUrl, 'run-1'];
    const { stdout } = await runCli(narrow, { env: { ...env, NO_COLOR: '1' }, stdoutTerminal: 40 });
    expect(stdout).toContain(`\nworkflow\n  v1\n  (${UUID})\n`);
  });

  const CREATED = Date.parse('2026-01-02T03:04:05Z');

  test.each([
    [CREATED + 754_000, '12m ago (2026-01-02 03:04:05 UTC)'],
    [CREATED - 30_000, 'now (2026-01-02 03:04:05 UTC)'],
    [CREATED - 3_600_000, '2026-01-02T03:04:05Z'],
  ])('status: at %i, a run that was created at 03:04:05 is shown as created %s', async (now, created) => {
    const { baseUrl } = await scriptedService(showRun());
    const { stdout } = await runCli(['status', 'run-1'], {
      env: { WFR_BASE_URL: baseUrl },
      clock: new VirtualClock(now),
    });
    expect(stdout).toContain(`created    ${created}\n`);
    const narrow = await runCli(['status', 'run-1'], {
      env: { WFR_BASE_URL: baseUrl, NO_COLOR: '1' },
      clock: new VirtualClock(now),
      stdoutTerminal: 40,
    });
    expect(narrow.stdout).not.toContain('\n           UTC)');
  });

  test.each([40, 80])(
    'status: in a window of %i columns, a long value of an output is cut at its end',
    async (columns) => {
      const output = { text: 'long '.repeat(40) };
      const { baseUrl } = await scriptedService((_request, reply) =>
        reply.send(200, { ...aFinishedRun(), output }),
      );
      const env = { WFR_BASE_URL: baseUrl, NO_COLOR: '1' };
      const { stdout } = await runCli(['status', 'run-1'], { env, stdoutTerminal: columns });
      const [, line = ''] = /^output {5}\{\n(.*)\n {11}\}$/m.exec(stdout) ?? [];
      expect(line).toMatch(/^ {13}"text": "long .*…$/);
      expect(line).toHaveLength(columns);
    },
  );

  test.each([
    [['run-1'], 30],
    [['run-1'], 80],
    [['run-1', 'run-2'], 40],
  ])(
    'status: of %j, the message wraps between words in a window of %i columns, and the status has a color',
    async (ids, columns) => {
      const message = `${'The customer has no account. '.repeat(8)}\nSecond line.`;
      const { baseUrl } = await scriptedService((request, reply) =>
        reply.send(
          200,
          aRun({ id: request.path.slice('/runs/'.length), status: 'FAILED', error: { step: 's', message } }),
        ),
      );
      const { stdout } = await runCli(['status', ...ids], {
        env: { WFR_BASE_URL: baseUrl, TERM: 'xterm' },
        stdoutTerminal: columns,
      });
      expect(stdout).toMatch(/\u001b\[31mFAILED(?: 1\/4)?\u001b\[39m/);
      const lines = stripVTControlCharacters(stdout).split('\n');
      expect(lines.filter((line) => line.length > columns)).toEqual([]);
      const words = (text: string) => text.split(/[\s;]+/).filter((word) => word !== '');
      expect(words(lines.join('\n')).join(' ')).toContain(words(message).join(' '));
    },
  );

  test.each([
    ['FINISHED', 0],
    ['FAILED', 1],
    ['RUNNING', 8],
    ['PENDING', 8],
    ['PAUSED', 8],
  ])('status --exit-status: a run that is %s exits %i', async (state, code) => {
    expect((await status(showRun({ status: state }), ['run-1', '--exit-status'])).exitCode).toBe(code);
  });

  test('status --exit-status: says how long the run has existed', async () => {
    const created = { createdAt: '2026-01-02T01:00:00Z' };
    const { stderr } = await status(showRun(created), ['run-1', '--exit-status', '--json']);
    expect(errorData(stderr).message).toContain(stillRunning(7_440_000));
  });

  test('status: the output formats json, jsonl and id', async () => {
    expect(JSON.parse((await status(showRun(), ['run-1', '--json'])).stdout)).toEqual(aRun());
    expect((await status(showRun(), ['run-1', '-o', 'jsonl'])).stdout).toBe(`${JSON.stringify(aRun())}\n`);
    expect((await status(showRun(), ['run-1', '-o', 'id'])).stdout).toBe('run-1\n');
  });

  test('status: after 3 s without a response, stderr says once which service it waits for', async () => {
    const clock = new VirtualClock();
    const { baseUrl } = await scriptedService((_request, reply) => {
      clock.advance(7_000);
      reply.send(200, aRun());
    });
    const { stderr } = await runCli(['status', 'run-1'], { env: { WFR_BASE_URL: baseUrl }, clock });
    expect(stderr).toBe(`Waiting for ${new URL(baseUrl).host}\n`);
  });

  test('status: after a line about a retry, stderr does not say which service it waits for', async () => {
    const clock = new VirtualClock();
    const { baseUrl } = await scriptedService((_request, reply) => {
      clock.advance(2_900);
      if (clock.now() - clock.start < 5_000) return reply.send(503);
      reply.send(200, aRun());
    });
    const { stderr } = await runCli(['status', 'run-1'], { env: { WFR_BASE_URL: baseUrl }, clock });
    expect(stderr).toMatch(/^\S+ wfr: .* \(503\); retrying in 1\.0s \(1\/3\)\n$/);
  });

  test('status: on a terminal, the cause of several retries is printed once', async () => {
    const answer: Handler = (_request, reply) => reply.send(503);
    const one = await status(answer, ['a'], { terminal: 100 });
    expect(one.stderr.split('with an error (503)')).toHaveLength(3);
    expect(one.stderr).toMatch(
      /\(503\); retrying in 1\.0s \(1\/3\).*\n.*wfr: retrying in 2\.0s \(2\/3\).*\n.*wfr: retrying in 4\.0s/,
    );
    let polls = 0;
    const recovering: Handler = (_request, reply) => {
      polls++;
      reply.send(polls === 1 || polls === 3 ? 503 : 200, polls > 3 ? aFinishedRun() : aRun());
    };
    const watched = await status(recovering, ['run-1'], { terminal: 100 }, 'watch');
    expect(watched.stderr.split('with an error (503)')).toHaveLength(3);
    const two = await status(answer, ['a', 'b'], { terminal: 100 });
    expect(two.stderr.split('retrying in')).toHaveLength(2);
    expect(two.stderr.split('with an error (503)')).toHaveLength(3);
    expect(two.stderr).toContain('Run a could not be read.\nRun b could not be read.\n');
    expect(two.stderr).toMatch(/wfr: the service answered the request with an error \(503\); retrying/);
    const both = await status(answer, ['a', 'b'], { terminal: 100 }, 'watch');
    expect(both.stderr.split('the run could not be read')).toHaveLength(2);
    for (const id of ['a', 'b']) expect(both.stderr).toContain(`Run ${id} may still be running.`);
  });

  test('status: in a window of 40 columns, an id is whole on a line of its own', async () => {
    const id = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';
    const { baseUrl } = await scriptedService((_request, reply) => reply.send(200, aRun({ id })));
    const { stdout } = await runCli(['status', id], { env: { WFR_BASE_URL: baseUrl }, stdoutTerminal: 40 });
    expect(stripVTControlCharacters(stdout)).toMatch(new RegExp(`^run\\n {2}${id}\\nstatus {5}RUNNING\\n`));
  });

  test('status: several runs are printed as a table, in the order of the arguments, and counted on a terminal', async () => {
    const handler: Handler = (request, reply) => {
      reply.send(200, aRun({ id: request.path.slice('/runs/'.length) }));
    };
    const { stdout } = await status(handler, ['c', 'a', 'b']);
    const lines = ['c', 'a', 'b'].map((id) => `${id}   RUNNING   1/4    v1    now\n`);
    expect(stdout).toBe(['ID  STATUS    STEPS  NAME  AGE\n', ...lines].join(''));
    expect((await status(handler, ['c', 'a'])).stderr).toBe('');
    const shown = await status(handler, ['c', 'a'], { terminal: 80 });
    expect(stripVTControlCharacters(shown.stderr)).toBe('2 runs: 2 RUNNING\nTo watch them: wfr watch c a\n');
    const ended: Handler = (request, reply) => {
      reply.send(200, { ...aFinishedRun(), id: request.path.slice('/runs/'.length) });
    };
    expect((await status(ended, ['c', 'a'])).stderr).toBe('');
    expect(stripVTControlCharacters((await status(ended, ['c', 'a'], { terminal: 80 })).stderr)).toBe(
      '2 runs: 2 FINISHED\nTo print an output: wfr watch c\n',
    );
    const absent = await status((_request, reply) => reply.send(404), ['c', 'a'], { terminal: 80 });
    expect(stripVTControlCharacters(absent.stderr)).toMatch(/^2 runs: 2 not found\nwfr: error: /);
    const json = (await status(handler, ['c', 'a', '--json'])).stdout.trimEnd().split('\n');
    expect(json.map((line) => JSON.parse(line).id)).toEqual(['c', 'a']);
  });

  test('status: runs that cannot be read are named in every message, and retries have a time stamp', async () => {
    const handler: Handler = (request, reply) => {
      const id = request.path.slice('/runs/'.length);
      if (id === 'a') reply.send(200, aRun({ id }));
      else reply.send(id === 'b' ? 500 : 400);
    };
    const { stderr, exitCode } = await status(handler, ['a', 'b', 'c']);
    expect(exitCode).toBe(7);
    expect(stderr).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ wfr: b: the service answered the request with an error \(500\); retrying in 1\.0s \(1\/3\)$/m,
    );
    expect(stderr).toContain('wfr: error: the run could not be read\n');
    expect(stderr).toContain('with an error (500)\nRun b could not be read.\n');
    expect(stderr).toContain('the service rejected the request (400)\nRun c could not be read.\n');
    expect(stderr).not.toContain('Run a');
    const one = await status(handler, ['b']);
    expect(one.stderr).toMatch(/Z wfr: the service answered .*; retrying in 1\.0s \(1\/3\)$/m);
    expect((await status(handler, ['c'])).stderr).not.toContain('Run c');
    const equal = await status(handler, ['c', 'd']);
    expect(equal.stderr.split('the service rejected the request (400)')).toHaveLength(2);
    expect(equal.stderr).toContain('Run c could not be read.\nRun d could not be read.\n');
  });

  test('status: ids that the service does not know are one error below the table, which they do not widen', async () => {
    const unknown = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';
    const handler: Handler = (request, reply) => {
      const id = request.path.slice('/runs/'.length);
      if (id === 'a') reply.send(200, aRun({ id }));
      else reply.send(404, { message: `no run ${id}` });
    };
    const { baseUrl } = await scriptedService(handler);
    const env = { WFR_BASE_URL: baseUrl };
    const order = new Set<string>();
    const onOutput: CliOptions['onOutput'] = (_text, stream) => order.add(stream);
    const { exitCode, stdout, stderr } = await runCli(['status', 'typo', 'a', unknown], { env, onOutput });
    expect({ exitCode, order: [...order] }).toEqual({ exitCode: 3, order: ['stdout', 'stderr'] });
    expect(stdout + stderr).toBe(
      [
        'ID        STATUS     STEPS  NAME  AGE',
        'typo      not found',
        'a         RUNNING    1/4    v1    now',
        '5b1f0c3e  not found',
        `wfr: error: the service has none of these runs (404): typo ${unknown}`,
        `  Check the id (wfr history has no run with it), and the base URL: ${baseUrl}/`,
        '',
      ].join('\n'),
    );
    const found: Handler = (request, reply) =>
      reply.send(200, aRun({ id: request.path.slice('/runs/'.length) }));
    expect((await status(found, ['a', unknown])).stdout).toContain(`\n${unknown}  RUNNING `);
    const one = await status(handler, ['a', 'typo']);
    expect(one.stderr).toContain('wfr: error: the service has no run typo (404)\n| no run typo\n');
    const data = errorData((await status(handler, ['a', 'typo', unknown, '--json'])).stderr);
    expect(data).toMatchObject({ code: 'mixed', runCount: 2 });
  });

  test('status: an unknown id exits 5 after one request (fault 38)', async () => {
    const { exitCode, stderr, requests } = await status(
      (_request, reply) => reply.send(404, { message: 'gone' }),
      ['run-9'],
    );
    expect(exitCode).toBe(5);
    expect(stderr).toContain('the service has no run run-9 (404)\n| gone\n');
    expect(requests.length).toBe(1);
  });

  test('status: an id is percent-encoded in the path, and the path of the base URL is kept', async () => {
    const { baseUrl, requests } = await scriptedService((_request, reply) => reply.send(404));
    await runCli(['status', 'a/b ?#%ä', '--base-url', `${baseUrl}/api/v1/`], {});
    expect(requests[0]?.path).toBe('/api/v1/runs/a%2Fb%20%3F%23%25%C3%A4');
  });
});
