/** The failures that `wfr sandbox` forces, as a script sees them. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CliOptions, type CliResult, runCli, Signals } from '../../helpers/cli.js';
import { VirtualClock } from '../../helpers/clock.js';
import { writeTestConfig } from '../../helpers/config.js';
import { effort } from '../../helpers/effort.js';
import { errorData } from '../../helpers/error-data.js';
import { folderWith } from '../../helpers/files.js';
import { FAILING, INVOICE, SLOW, startTestSandbox } from '../../helpers/sandbox.js';

const LABELLED = [SLOW, 'label=x'];
const DOCUMENTED = [INVOICE, 'invoice@-;type=text/plain', 'customer=x'];

/** Runs `wfr` as the command of a `wfr sandbox` with these flags, on one clock. */
async function under(flags: readonly string[], args: readonly string[], env = {}): Promise<CliResult> {
  const clock = new VirtualClock();
  let result: Promise<CliResult> | undefined;
  const { exitCode, stderr } = await runCli(['sandbox', ...flags, '--', 'wfr'], {
    clock,
    spawn: async (_command, _args, settings) => {
      result = runCli(args, { clock, stdin: 'x', env: { ...settings, ...env } });
      return { exited: result.then((inner) => inner.exitCode), kill: () => {} };
    },
  });
  if (result === undefined) throw new Error(`nothing was started: ${stderr}`);
  expect(exitCode).toBe((await result).exitCode);
  return result;
}

describe('--fail-step', () => {
  test('wfr sandbox --fail-step: every run fails at that step, with a message that names the flag', async () => {
    const { exitCode, stdout, stderr } = await under(
      ['--fail-step', 'Check totals'],
      ['run', ...DOCUMENTED, '-o', 'json'],
    );
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'FAILED',
      steps: 4,
      stepsCompleted: 2,
      output: null,
      error: {
        step: 'Check totals',
        message: 'The sandbox fails this step (--fail-step Check totals).',
      },
    });
    expect(errorData(stderr).message).toBe('the run failed at step Check totals');
  });

  test('wfr sandbox --fail-step: overrides the failure of a workflow, and workflows without that step are unchanged', async () => {
    const flags = ['--fail-step', 'Write result'];
    const { stderr } = await under(flags, ['run', FAILING, 'customer=x']);
    expect(stderr).toContain('Failed at step Write result');
    expect((await under(flags, ['run', ...LABELLED])).exitCode).toBe(0);
  });

  test('wfr sandbox --fail-step: an unknown step exits 2 and lists the known steps, if none is similar', async () => {
    const typo = await runCli(['sandbox', '--fail-step', 'chek totals', '--', 'true']);
    expect(typo).toMatchObject({
      exitCode: 2,
      stderr:
        'wfr: error: --fail-step "chek totals": no workflow has this step; did you mean "Check totals"?\n  See: wfr help sandbox\n',
    });
    const { exitCode, stderr } = await runCli(['sandbox', '--fail-step', 'Sort', '--', 'true']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      '--fail-step "Sort": no workflow has this step; choose one of "Write greeting", "Read document", ' +
        '"Extract fields", "Check totals", "Write result", "Find customer", "Check credit", "Part 1", ',
    );
  });

  test('wfr sandbox --fail-step: --list shows the forced failure', async () => {
    const { stdout } = await runCli(['sandbox', '--list', '--fail-step', 'Check totals']);
    expect(stdout).toContain('invoice v3 (fails at Check totals)\n  wfr run ');
    expect(stdout).toContain('slow v1 (1m)\n  wfr run ');
  });

  test('wfr sandbox --list: a workflow that fails for some inputs has the duration of the others', async () => {
    const workflow = {
      ...{ id: '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e', versionName: 'v1', output: {} },
      ...{ parameters: { n: 'string' }, steps: [{ name: 'Check', duration: '2s' }] },
      failure: { step: 'Check', message: 'no', when: { n: 'x' } },
    };
    const cwd = folderWith({ 'w.json': JSON.stringify({ workflows: [workflow] }) });
    const { stdout } = await runCli(['sandbox', '--list', '--workflows', 'w.json'], { cwd });
    expect(stdout).toContain('v1 (2.0s, fails for some inputs at Check)\n');
  });

  test('wfr sandbox --list: commands name the example document where it is there, and --slow changes their durations', async () => {
    const cwd = folderWith({ 'examples/invoice.pdf': '%PDF' });
    const { stdout } = await runCli(['sandbox', '--list', '--slow', '10'], { cwd });
    expect(stdout).toMatch(
      /\ninvoice v3 \(36s\)\n {2}wfr run \S+ invoice@examples\/invoice\.pdf customer=text\n/,
    );
  });

  test('wfr sandbox --list: elsewhere, commands name the example document of the package, and a shell takes its path', async () => {
    const folder = folderWith({ 'a b/examples/invoice.pdf': '%PDF', 'c/d': '' });
    const list = (cwd: string) => runCli(['sandbox', '--list'], { cwd, docs: join(folder, 'a b/docs') });
    expect((await list(join(folder, 'c'))).stdout).toContain(
      " 'invoice@../a b/examples/invoice.pdf' customer=",
    );
    expect((await list('')).stdout).toContain(` 'invoice@${folder}/a b/examples/invoice.pdf' customer=`);
    // An executable has no such path, and the working folder may no longer exist.
    expect((await runCli(['sandbox', '--list'], { cwd: '' })).stdout).toContain(' invoice@your.pdf ');
  });
});

describe('--from-profile', () => {
  const ORDER = '0b8f6c1e-2f57-4a53-9a8e-3d2f4c5b6a79';
  const { env } = writeTestConfig({
    defaultProfile: 'other',
    profiles: {
      other: { workflows: { claims: FAILING } },
      'my test': {
        baseUrl: 'https://test.example.com',
        tokenCommand: ['false'],
        workflows: {
          order: { id: ORDER, parameters: { scan: 'document', 'copy?': 'document', 'amount?': 'number' } },
          purchase: ORDER,
          free: SLOW,
        },
      },
    },
  });
  const FLAGS = ['--from-profile', 'my test'];
  const SCAN = 'scan@-;type=text/plain';

  test('wfr sandbox --from-profile: a command runs the workflows by their names, and their inputs must match', async () => {
    const run = (...args: string[]) => underProfile(['run', '-q', ...args]);
    const { stdout, exitCode } = await run('order', SCAN, 'amount:=5');
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      scan: { mediaType: 'text/plain', bytes: 1 },
      copy: { mediaType: null },
      amount: 5,
    });
    expect((await run('order', 'amount=5')).stderr).toContain('missing input scan (document)');
    const unchecked = await run('order', 'amount=5', '--no-check-parameters');
    expect(unchecked).toMatchObject({
      exitCode: 5,
      stderr: expect.stringContaining('Start Node: missing input scan'),
    });
    expect(await run('free', 'anything:=1')).toMatchObject({ exitCode: 0 });
    expect((await run('claims')).stderr).toContain('no workflow of profile my test');
  });

  test('wfr sandbox --from-profile: --list shows each id once, with its names and parameters', async () => {
    const { stdout } = await runCli(['sandbox', ...FLAGS, '--list'], { env });
    expect(stdout).toBe(
      `order, purchase (1.0s)\n  wfr run ${ORDER} scan@your.pdf\n  optional: copy@your.pdf amount:=1\n` +
        `\nfree (1.0s)\n  wfr run ${SLOW}\n`,
    );
  });

  test.each([80, 40])(
    'wfr sandbox: in %i columns, Ctrl-C ends it with a line that says so',
    async (terminal) => {
      const signals = new Signals();
      const { stderr, exitCode } = await runCli(['sandbox'], {
        signals,
        terminal,
        onOutput: (text) => text.includes('All workflows') && signals.raise('SIGINT'),
      });
      expect(exitCode).toBe(130);
      expect(stderr).toMatch(/--list.*\n\n\nThe sandbox has ended, and so have its\s+runs\.\n$/);
    },
  );

  test('wfr sandbox --list: says on a terminal alone where the commands work', async () => {
    const list = (...args: string[]) => runCli(['sandbox', '--list', ...args], { env, stdoutTerminal: 80 });
    expect((await list()).stderr).toBe('\nThey run in: wfr sandbox -- bash\n');
    const forced = await list('--fail-step', 'Check totals', '--slow', '2');
    expect(forced.stderr).toBe("\nThey run in: wfr sandbox --fail-step 'Check totals' --slow 2 -- bash\n");
    expect((await list(...FLAGS)).stderr).toBe(
      `\nThey run in: wfr sandbox --from-profile 'my test' -- bash\n`,
    );
    expect((await runCli(['sandbox', '--list'])).stderr).toBe('');
    const narrow = await runCli(['sandbox', '--list', '--slow', '2'], { terminal: 40, stdoutTerminal: 40 });
    // A command is one line, so that it can be copied.
    expect(narrow.stderr).toBe('\nThey run in:\n  wfr sandbox --slow 2 -- bash\n');
  });

  test('wfr sandbox --from-profile: the settings to paste name the profile, and more than two workflows the command that lists them', async () => {
    const serve = (settings: CliOptions) => {
      const signals = new Signals();
      const onOutput = (text: string) => text.includes('  wfr run') && signals.raise('SIGINT');
      return runCli(['sandbox', ...FLAGS], { ...settings, signals, onOutput });
    };
    const { stdout, stderr } = await serve({ env });
    const workflows = { a: SLOW, b: ORDER, c: 'aaaaaaaa-2222-3333-4444-555555555555' };
    const three = await serve(writeTestConfig({ profiles: { 'my test': { workflows } } }));
    expect(three.stderr).toMatch(/\n\nAll workflows: wfr sandbox --from-profile 'my test' --list\n\n$/);
    expect(stderr).toMatch(
      /^Sandbox at http:\S+ until Ctrl-C\.\n\nSettings for another shell:\n\nTo try it there:\n\norder, purchase .*\n {2}wfr run .*\n {2}optional: .*\n\nfree .*\n {2}wfr run .*\n\n$/,
    );
    expect(stdout).toMatch(/^export WFR_BASE_URL=.*\nexport WFR_TOKEN=.*\nexport WFR_PROFILE='my test'\n$/);
  });

  test.each([
    [['--from-profile', 'none'], '--from-profile none: there is no such profile in '],
    [
      ['--from-profile', 'other', '--workflows', 'w.json'],
      '--workflows w.json and --from-profile other exclude',
    ],
    [['--from-profile', 'empty'], '--from-profile empty: this profile has no workflows'],
  ])('wfr sandbox: %j exits 2', async (flags, message) => {
    const config = writeTestConfig({ profiles: { other: { workflows: { a: SLOW } }, empty: {} } });
    const { exitCode, stderr } = await runCli(['sandbox', ...flags, '--list'], config);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(message) });
  });

  /** Runs `wfr` as the command of a sandbox of the profile. */
  async function underProfile(args: readonly string[]): Promise<CliResult> {
    const clock = new VirtualClock();
    let result: Promise<CliResult> | undefined;
    await runCli(['sandbox', ...FLAGS, '--', 'wfr'], {
      env,
      clock,
      spawn: async (_command, _args, settings) => {
        result = runCli(args, { clock, stdin: 'x', env: { ...env, ...settings } });
        return { exited: result.then((inner) => inner.exitCode), kill: () => {} };
      },
    });
    if (result === undefined) throw new Error('nothing was started');
    return result;
  }
});

describe('--reject', () => {
  test.each([
    [400, 5, 1],
    [401, 4, 1],
    [403, 4, 1],
    [404, 5, 1],
    [408, 6, 1],
    [413, 5, 1],
    [422, 5, 1],
    [429, 7, 4],
    [500, 6, 1],
    [503, 6, 1],
    [599, 6, 1],
  ])(
    'wfr sandbox --reject %i: a trigger exits %i after %i requests, and no run exists',
    async (status, code, requests) => {
      const result = await under(['--reject', `${status}`], ['run', ...LABELLED, '--verbose']);
      expect({ exitCode: result.exitCode, stdout: result.stdout }).toEqual({ exitCode: code, stdout: '' });
      expect(result.stderr).toContain(
        `| The sandbox rejects every trigger, whatever its inputs (--reject ${status}).`,
      );
      expect(result.stderr).not.toContain('--workflow-id-field');
      expect(result.stderr.match(/POST/g)?.length).toBe(requests);
      const { sandbox, env, posts, clock } = await startTestSandbox({ reject: status });
      await runCli(['run', ...LABELLED], { env, clock });
      expect({ posts: posts(), runs: sandbox.runCount() }).toEqual({ posts: requests, runs: 0 });
    },
  );

  test.each([429, 503])(
    'wfr sandbox --reject %i: the response has a Retry-After of one second',
    async (status) => {
      const { sandbox } = await startTestSandbox({ reject: status });
      const answer = await fetch(`${sandbox.baseUrl}/runs`, {
        method: 'POST',
        headers: { authorization: 'Bearer sandbox-token' },
        body: 'x'.repeat(1_000_000),
      });
      expect({ status: answer.status, retryAfter: answer.headers.get('retry-after') }).toEqual({
        status,
        retryAfter: '1',
      });
      expect(await answer.json()).toEqual({
        error: { message: `The sandbox rejects every trigger, whatever its inputs (--reject ${status}).` },
      });
    },
  );

  test('wfr sandbox --reject 500: the whole document is read before the response, so the outcome is unknown', async () => {
    const { env, clock } = await startTestSandbox({ reject: 500 });
    const { exitCode } = await runCli(['run', ...DOCUMENTED], {
      env,
      clock,
      stdin: Buffer.alloc(20_000_000),
    });
    expect(exitCode).toBe(6);
  });

  test('wfr sandbox --reject: a wrong token is still answered with 401', async () => {
    expect((await under(['--reject', '503'], ['run', ...LABELLED], { WFR_TOKEN: 'other' })).exitCode).toBe(4);
  });
});

describe('the log of requests', () => {
  test('wfr sandbox: on a terminal, a rejection and a failed run have a color, their reasons are below, and lines are wrapped at words', async () => {
    const [signals, clock] = [new Signals(), new VirtualClock()];
    const { stderr } = await runCli(['sandbox'], {
      ...{ signals, clock, terminal: 85, env: { TERM: 'xterm' } },
      async onOutput(text, stream) {
        const [, baseUrl, token] = /WFR_BASE_URL=(\S+)\nexport WFR_TOKEN=(\S+)/.exec(text) ?? [];
        if (stream !== 'stdout' || baseUrl === undefined || token === undefined) return;
        const env = { WFR_BASE_URL: baseUrl, WFR_TOKEN: token };
        await runCli(['run', INVOICE], { env });
        await runCli(['run', FAILING, 'customer=ACME'], { env, clock });
        signals.raise('SIGINT');
      },
    });
    expect(stderr).toMatch(
      /\dZ \u001b\[31m422\u001b\[39m POST \/v1\/runs invoice v3\n {2}The inputs do not match the Start Node: missing input invoice \(document\)\n {2}missing/,
    );
    expect(stderr).toMatch(
      /\dZ 200 GET {2}\S+ \u001b\[31mFAILED\u001b\[39m\n {2}Check credit: The credit service does not know the customer\.\n/,
    );
  });

  test('wfr sandbox: the log has the time of a request, the workflow of a run, its status, and why a request was rejected', async () => {
    const [signals, clock] = [new Signals(), new VirtualClock()];
    const { stderr } = await runCli(['sandbox'], {
      signals,
      clock,
      async onOutput(text, stream) {
        const [, baseUrl, token] = /WFR_BASE_URL=(\S+)\nexport WFR_TOKEN=(\S+)/.exec(text) ?? [];
        if (stream !== 'stdout' || baseUrl === undefined || token === undefined) return;
        const env = { WFR_BASE_URL: baseUrl, WFR_TOKEN: token };
        await runCli(['run', INVOICE], { env, clock });
        await runCli(['run', ...LABELLED], { env, clock });
        signals.raise('SIGINT');
      },
    });
    const lines = stderr.split('\n').filter((line) => line.includes('/v1/runs'));
    const [rejected = '', created = '', ...looks] = lines.map((line) => line.replace(/^[\d:]{8}Z /, ''));
    expect(lines.every((line) => /^([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ /.test(line))).toBe(true);
    expect(rejected).toBe('422 POST /v1/runs invoice v3');
    expect(stderr).toMatch(
      /--list\n\n\S+ 422 POST \/v1\/runs invoice v3\n {2}The inputs .*missing input invoice \(document\)\n {2}missing input customer/,
    );
    expect(created).toMatch(/^201 POST \/v1\/runs [0-9a-f-]{36} slow v1$/);
    expect(looks.at(-1)).toMatch(/^200 GET {2}\/v1\/runs\/[0-9a-f-]{36} FINISHED$/);
  });
});

describe('--drop-answer', () => {
  test('wfr sandbox --drop-answer: the run exists, and wfr run exits 6 after one request', async () => {
    const { sandbox, env, posts, log, clock } = await startTestSandbox({ dropAnswer: true });
    const { exitCode, stdout, stderr } = await runCli(['run', ...LABELLED], { env, clock });
    expect({ exitCode, stdout, posts: posts(), runs: sandbox.runCount() }).toEqual({
      exitCode: 6,
      stdout: '',
      posts: 1,
      runs: 1,
    });
    expect(stderr).toContain('the outcome is unknown: a run may have been created');
    const [, id = ''] = /^201 POST \/v1\/runs (\S+) slow v1, response dropped$/.exec(log[0] ?? '') ?? [];
    expect((await runCli(['watch', id], { env, clock })).exitCode).toBe(0);
  });

  test('wfr sandbox --drop-answer: the log of the sandbox names the run', async () => {
    expect((await under(['--drop-answer', '--slow', '2'], ['run', ...LABELLED])).exitCode).toBe(6);
    const signals = new Signals();
    const { stderr } = await runCli(['sandbox', '--drop-answer'], {
      signals,
      async onOutput(text, stream) {
        const [, baseUrl, token] = /WFR_BASE_URL=(\S+)\nexport WFR_TOKEN=(\S+)/.exec(text) ?? [];
        if (stream !== 'stdout' || baseUrl === undefined || token === undefined) return;
        await runCli(['run', ...LABELLED], { env: { WFR_BASE_URL: baseUrl, WFR_TOKEN: token } });
        signals.raise('SIGINT');
      },
    });
    expect(stderr).toMatch(/^[\d:]{8}Z 201 POST \/v1\/runs [0-9a-f-]{36} slow v1, response dropped$/m);
  });

  test('wfr sandbox --drop-answer: a rejected trigger still gets its response', async () => {
    expect((await under(['--drop-answer'], ['run', SLOW, 'other=x'])).exitCode).toBe(5);
  });
});

describe('--slow', () => {
  test.each([
    ['0.01', 603],
    ['.5', 30_150],
    ['1', 60_300],
    ['1000', 60_300_000],
  ])('wfr sandbox --slow %s: a run of 60.3 s takes %i ms', async (factor, ms) => {
    for (const [timeout, code] of [
      [ms - 1, 8],
      [ms, 0],
    ]) {
      const wait = ['--interval', `${ms * 2}ms`, '--timeout', `${timeout}ms`];
      expect([factor, (await under(['--slow', factor], ['run', ...LABELLED, ...wait])).exitCode]).toEqual([
        factor,
        code,
      ]);
    }
  });
});

describe('wfr sandbox: mistakes in flags', () => {
  test.each([
    [['--slow', '0'], '--slow 0: expected a factor from 0.01 to 1000'],
    [['--slow', '1001'], '--slow 1001: expected a factor'],
    [['--slow', '1e2'], '--slow 1e2: expected a factor'],
    [['--slow', ''], '--slow "": expected a factor'],
    [['--reject', '399'], '--reject 399: expected a status from 400 to 599'],
    [['--reject', '600'], '--reject 600: expected'],
    [['--reject', ''], '--reject "": expected'],
    [['--fail-step', ''], '--fail-step "": no workflow has this step'],
    [['--reject', '500', '--drop-answer'], '--reject starts no run: it excludes --drop-answer'],
    [['--reject', '500', '--fail-step', 'Read document'], '--reject starts no run: it excludes'],
  ])('wfr sandbox: the flags %j exit 2 with the reason', async (flags, message) => {
    const { exitCode, stdout, stderr } = await runCli(['sandbox', ...flags, '--', 'true']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).toContain('wfr help sandbox');
  });

  test('wfr sandbox: all mistakes in its flags are reported together', async () => {
    const { stderr } = await runCli([
      'sandbox',
      '--slow',
      'x',
      '--reject',
      'y',
      '--fail-step',
      'z',
      '--list',
    ]);
    for (const flag of ['--slow x: ', '--reject y: ', '--fail-step "z": ']) expect(stderr).toContain(flag);
  });
});

test('sandbox: many runs are served independently', async () => {
  const { sandbox, env, clock } = await startTestSandbox();
  const headers = { authorization: `Bearer ${env.WFR_TOKEN}`, 'content-type': 'application/json' };
  const speak = async (path: string, init = {}) => {
    const answer = await fetch(`${sandbox.baseUrl}${path}`, { headers, ...init });
    return (await answer.json()) as { id: string; output: unknown };
  };
  const hundreds = effort(16);
  const ids: string[] = [];
  for (let hundred = 0; hundred < hundreds; hundred++) {
    const start = async (_: unknown, n: number) => {
      const body = JSON.stringify({ worfklowId: SLOW, inputs: { label: `${hundred * 100 + n}` } });
      return (await speak('/runs', { method: 'POST', body })).id;
    };
    ids.push(...(await Promise.all(Array.from({ length: 100 }, start))));
  }
  expect([new Set(ids).size, sandbox.runCount()]).toEqual([hundreds * 100, hundreds * 100]);
  clock.advance(60_300);
  for (const [n, id] of ids.entries()) expect((await speak(`/runs/${id}`)).output).toEqual({ label: `${n}` });
});
