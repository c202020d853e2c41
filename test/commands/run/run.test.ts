/** `wfr run`: triggers a run, watches it to its end, and prints its output. */
import { createHash } from 'node:crypto';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { runCli, Signals, temporaryFolder } from '../../helpers/cli.js';
import { VirtualClock } from '../../helpers/clock.js';
import { CLOSED_URL } from '../../helpers/closed-port.js';
import { writeTestConfig } from '../../helpers/config.js';
import { folderWith } from '../../helpers/files.js';
import { startProxy } from '../../helpers/proxy.js';
import { FAILING, INVOICE, SLOW, startTestSandbox } from '../../helpers/sandbox.js';
import { acceptThenShow, aFinishedRun, aRun, scriptedService } from '../../helpers/service.js';

const INVOICE_PDF = fileURLToPath(new URL('../../../examples/invoice.pdf', import.meta.url));

function folderWithInvoice(): string {
  const folder = temporaryFolder();
  copyFileSync(INVOICE_PDF, join(folder, 'invoice.pdf'));
  return folder;
}

describe('run: in the sandbox', () => {
  test('run: a document is sent, the run is watched, and its output is printed as indented JSON', async () => {
    const { env, clock, posts } = await startTestSandbox();
    const cwd = temporaryFolder();
    const bytes = Buffer.from(Array.from({ length: 1_000_001 }, (_, i) => (i * 7919) % 256));
    writeFileSync(join(cwd, 'scan.pdf'), bytes);
    const result = await runCli(['run', INVOICE, 'invoice@scan.pdf', 'customer=ACME'], { env, clock, cwd });
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    expect(JSON.parse(result.stdout)).toEqual({
      customer: 'ACME',
      document: { mediaType: 'application/pdf', bytes: bytes.length, sha256 },
    });
    expect(result.stdout).toMatch(/^\{\n {2}"customer": "ACME",\n/);
    expect(result.exitCode).toBe(0);
    expect(posts()).toBe(1);
  });

  test('run: stderr has the id and the watch command, then each change, then the outcome', async () => {
    const { env, clock } = await startTestSandbox();
    const { stderr } = await runCli(['run', INVOICE, 'invoice@invoice.pdf', 'customer=ACME'], {
      env,
      clock,
      cwd: folderWithInvoice(),
    });
    const [first, second, ...rest] = stderr.trimEnd().split('\n');
    expect(first).toMatch(/^Run [0-9a-f-]{36} \(version invoice v3\)$/);
    const id = first?.split(' ')[1];
    expect(second).toBe(`To watch it: wfr watch ${id}`);
    expect(rest).toEqual([
      '2026-01-02T03:04:05Z PENDING  0 of 4 steps',
      '2026-01-02T03:04:07Z RUNNING  1 of 4 steps',
      '2026-01-02T03:04:09Z FINISHED  4 of 4 steps',
      'Finished: 4 of 4 steps in 4s',
    ]);
  });

  test('run: a FAILED run exits 1 with its step, completed steps and message, and prints no output', async () => {
    const { env, clock } = await startTestSandbox();
    const result = await runCli(['run', FAILING, 'customer=ACME'], { env, clock });
    expect(result.exitCode).toBe(1);
    expect(result.stdout).toBe('');
    expect(result.stderr).toMatch(/^Failed at step Check credit \(1 of 3 steps in \d\S*\)\n\| .*\n$/m);
    expect(result.stderr).toContain('\n| The credit service does not know the customer.\n');
  });

  test('run --detach: only the id is printed, and watch follows the run to its end', async () => {
    const { env, clock } = await startTestSandbox();
    const cwd = folderWithInvoice();
    const started = await runCli(['run', INVOICE, 'invoice@invoice.pdf', 'customer=A', '--detach'], {
      env,
      clock,
      cwd,
    });
    expect(started.exitCode).toBe(0);
    expect(started.stdout).toMatch(/^[0-9a-f-]{36}\n$/);
    const watched = await runCli(['watch', started.stdout.trim()], { env, clock });
    expect(watched.exitCode).toBe(0);
    expect(JSON.parse(watched.stdout).customer).toBe('A');
  });

  test('run --timeout: the wait ends with exit 8, the status and the watch command', async () => {
    const { env, clock } = await startTestSandbox();
    const result = await runCli(['run', SLOW, 'label=x', '--timeout', '7s'], { env, clock });
    expect(result.exitCode).toBe(8);
    expect(result.stdout).toBe('');
    expect(result.stderr).toMatch(/RUNNING \(1 of 10 steps\) after 7\.0s; the run continues\.\n/);
    expect(result.stderr).toMatch(/To watch it: wfr watch [0-9a-f-]{36}\n$/);
    // The last sleep is limited to the remaining time.
    expect(result.clock.sleeps).toEqual([2000, 2000, 3000]);
  });

  test('run: a wrong token exits 4 with its source, but not its value', async () => {
    const { env, clock } = await startTestSandbox();
    const result = await runCli(['run', SLOW, 'label=x'], {
      env: { ...env, WFR_TOKEN: 'wrong-and-secret' },
      clock,
    });
    expect(result.exitCode).toBe(4);
    expect(result.stderr).toContain('rejected the access token (401); it came from WFR_TOKEN');
    expect(result.stderr).not.toContain('wrong-and-secret');
  });

  test('run: inputs that do not match exit 5 with the message of the service, after one request', async () => {
    const { env, clock, posts, sandbox } = await startTestSandbox();
    const result = await runCli(['run', INVOICE, 'customer:=5', 'extra=x'], { env, clock });
    expect(result.exitCode).toBe(5);
    expect(result.stderr).toContain(
      '| The inputs do not match the Start Node: missing input invoice (document)\n| inputs.customer: must be a string, found a number\n| unknown parameter "extra"; expected invoice, customer',
    );
    expect(posts()).toBe(1);
    expect(sandbox.runCount()).toBe(0);
  });

  test('run: an unknown workflow exits 5', async () => {
    const { env, clock } = await startTestSandbox();
    const result = await runCli(['run', 'no-such-workflow'], { env, clock });
    expect(result.exitCode).toBe(5);
    expect(result.stderr).toContain('| There is no workflow "no-such-workflow"; see wfr sandbox --list\n');
    const short = INVOICE.slice(0, -1);
    expect((await runCli(['run', short], { env, clock })).stderr).toContain(
      `  "${short}" has 35 characters, a UUID 36.\n`,
    );
  });

  test('run: the workflow can be given as its URL', async () => {
    const { env, clock } = await startTestSandbox();
    const url = `https://workflows.example.com/w/${SLOW.toUpperCase()}/edit?of=${SLOW}`;
    const result = await runCli(['run', url, 'label=x', '--detach'], { env, clock });
    expect(result.exitCode).toBe(0);
  });

  test('run: a workflow URL with several UUIDs exits 2 and lists them', async () => {
    const { env, clock, posts } = await startTestSandbox();
    const url = `https://workflows.example.com/${SLOW}/${INVOICE}`;
    const result = await runCli(['run', url, 'label=x'], { env, clock });
    expect(result.exitCode).toBe(2);
    expect(result.stderr).toContain(`${SLOW} or ${INVOICE}`);
    expect(posts()).toBe(0);
  });
});

describe('run: signals', () => {
  test('run: Ctrl-C exits 130 with the watch command, which follows the run to its end', async () => {
    const { env, clock } = await startTestSandbox();
    const signals = new Signals();
    const result = await runCli(['run', SLOW, 'label=x'], {
      env,
      clock,
      signals,
      onOutput: (text) => text.includes('RUNNING  1 of 10') && signals.raise('SIGINT'),
    });
    expect(result.exitCode).toBe(130);
    const id = /^Interrupted; the run continues\.\nTo watch it: wfr watch (\S+)\n$/m.exec(result.stderr)?.[1];
    const watched = await runCli(['watch', id ?? ''], { env, clock });
    expect(watched.exitCode).toBe(0);
    expect(JSON.parse(watched.stdout)).toEqual({ label: 'x' });
  });

  test.each<[flags: string[], columns: number]>([
    [[], 120],
    [[], 40],
    [['-q'], 120],
  ])(
    'run: Ctrl-C on a terminal (%j) of %i columns leaves the watch command once',
    async (flags, terminal) => {
      const { env, clock } = await startTestSandbox();
      const signals = new Signals();
      const { exitCode, stderr } = await runCli(['run', SLOW, 'label=x', ...flags], {
        env,
        clock,
        signals,
        terminal,
        onOutput: (text) => text.includes('Run ') && setImmediate(() => signals.raise('SIGINT')),
      });
      expect(exitCode).toBe(130);
      // Without the lines that go with the live line.
      const left = stripVTControlCharacters(stderr.replaceAll(/\u001b\[\?7l.*?\u001b\[\?7h/g, ''));
      expect(left.match(/To watch it:(?: |\n {2})wfr watch/g)).toHaveLength(1);
      expect(left).toMatch(/Interrupted; the run .*\n/);
    },
  );
});

describe('run: output formats', () => {
  const run = async (...flags: string[]) => {
    const clock = new VirtualClock();
    const { baseUrl } = await scriptedService(acceptThenShow(aRun(), aRun(), aFinishedRun()));
    return runCli(['run', 'w', ...flags], { env: { WFR_BASE_URL: baseUrl }, clock });
  };

  test('run -o text: only the output is printed', async () => {
    expect((await run()).stdout).toBe('{\n  "total": 1\n}\n');
  });

  test('run -o json: the last Run object is printed with indentation', async () => {
    const { stdout } = await run('--json');
    expect(JSON.parse(stdout)).toEqual(aFinishedRun());
    expect(stdout).toMatch(/^\{\n {2}"id": "run-1",/);
    expect((await run('-o', 'json')).stdout).toBe(stdout);
  });

  test('run -o json: the last Run is printed even if --timeout ends the wait', async () => {
    const { stdout, exitCode } = await run('--json', '--timeout', '2s');
    expect(exitCode).toBe(8);
    expect(JSON.parse(stdout)).toEqual(aRun());
  });

  test('run -o jsonl: every changed Run is printed on one line', async () => {
    const lines = (await run('-o', 'jsonl')).stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toEqual([aRun({ status: 'PENDING', stepsCompleted: 0 }), aRun(), aFinishedRun()]);
  });

  test('run -o id: the id is printed once', async () => {
    expect((await run('-o', 'id')).stdout).toBe('run-1\n');
  });

  test('run --detach: the id is printed, or the accepted Run with a JSON format', async () => {
    const accepted = aRun({ status: 'PENDING', stepsCompleted: 0 });
    expect((await run('--detach')).stdout).toBe('run-1\n');
    expect((await run('--detach', '-o', 'id')).stdout).toBe('run-1\n');
    const json = (await run('--detach', '--json')).stdout;
    expect(JSON.parse(json)).toEqual(accepted);
    expect(json.split('\n').length).toBeGreaterThan(3);
    expect((await run('--detach', '-o', 'jsonl')).stdout).toBe(`${JSON.stringify(accepted)}\n`);
  });

  test('run --detach: on a terminal, the id is not printed on stderr besides stdout', async () => {
    const { baseUrl } = await scriptedService(acceptThenShow(aRun()));
    const world = { env: { WFR_BASE_URL: baseUrl }, clock: new VirtualClock(), terminal: 80 };
    const onTerminal = await runCli(['run', 'w', '--detach'], { ...world, stdoutTerminal: 80 });
    expect(onTerminal.stdout).toBe('run-1\n');
    expect(onTerminal.stderr).not.toMatch(/^Run /m);
    expect(onTerminal.stderr).toContain('To watch it: wfr watch run-1');
    const inPipe = await runCli(['run', 'w', '--detach'], world);
    expect(inPipe.stderr).toMatch(/^.*Run .*run-1/m);
  });

  test('run --dry-run: a token that the run would lack is a warning, and none is where it needs no token', async () => {
    const dryRun = (env: Record<string, string>, ...flags: string[]) =>
      runCli(['run', 'w', '--dry-run', ...flags], { env });
    const remote = { WFR_BASE_URL: 'https://workflows.example.com' };
    const { stderr, exitCode } = await dryRun(remote);
    expect(exitCode).toBe(0);
    expect(stderr).toContain(
      'wfr: warning: no access token: looked for --token-file, WFR_TOKEN, WFR_TOKEN_FILE; without --dry-run, this command would exit with code 4\n',
    );
    for (const [given, ...flags] of [
      [{ ...remote, WFR_TOKEN: 't' }],
      [remote, '--no-token'],
      [{ WFR_BASE_URL: CLOSED_URL }],
    ] as const)
      expect((await dryRun(given, ...flags)).stderr).toBe('');
  });

  test('run: an unknown --output format exits 2', async () => {
    const result = await run('-o', 'xml');
    expect(result.exitCode).toBe(2);
    expect(result.stderr).toContain('--output xml: choose one of text, json, jsonl, id');
  });
});

test('run: a trigger whose response is FINISHED needs no poll', async () => {
  const { baseUrl, requests } = await scriptedService(async (request, reply) => {
    await request.body();
    reply.send(200, aFinishedRun('done'));
  });
  const result = await runCli(['run', 'w'], { env: { WFR_BASE_URL: baseUrl } });
  expect(result).toMatchObject({ exitCode: 0, stdout: '"done"\n' });
  expect(requests.length).toBe(1);
});

test('run: a trigger whose response is FAILED exits 1 without a poll', async () => {
  const { baseUrl, requests } = await scriptedService(async (request, reply) => {
    await request.body();
    reply.send(200, aRun({ status: 'FAILED', error: { message: 'no', step: 'One' } }));
  });
  expect(await runCli(['run', 'w'], { env: { WFR_BASE_URL: baseUrl } })).toMatchObject({
    exitCode: 1,
    stdout: '',
  });
  expect(requests.length).toBe(1);
});

test('run: the JSON of the service is printed token for token', async () => {
  const output =
    '{"b":9007199254740993,"a":1.0,"c":1e400,"a":-0,"d":[],"e":{},"f":"\\u0041/\\/ä","":[1,[2]]}';
  const { baseUrl } = await scriptedService(async (request, reply) => {
    await request.body();
    reply.send(200, `{"id":"r","status":"FINISHED","x":1,"output":${output}}`);
  });
  const { stdout } = await runCli(['run', 'w'], { env: { WFR_BASE_URL: baseUrl } });
  expect(stdout).toBe(`{
  "b": 9007199254740993,
  "a": 1.0,
  "c": 1e400,
  "a": -0,
  "d": [],
  "e": {},
  "f": "\\u0041/\\/ä",
  "": [
    1,
    [
      2
    ]
  ]
}
`);
  const { stdout: line } = await runCli(['run', 'w', '-o', 'jsonl'], { env: { WFR_BASE_URL: baseUrl } });
  expect(line).toBe(`{"id":"r","status":"FINISHED","x":1,"output":${output}}\n`);
});

test('run: the watch command repeats the flags that select the service, quoted for a shell', async () => {
  const clock = new VirtualClock();
  const { baseUrl } = await scriptedService((request, reply) =>
    request.method === 'POST' ? reply.send(200, aRun({ id: "it's 1" })) : undefined,
  );
  const { stderr } = await runCli(['run', 'w', '--base-url', baseUrl, '--no-token', '--detach'], { clock });
  expect(stderr).toContain(`To watch it: wfr watch --base-url ${baseUrl} --no-token 'it'"'"'s 1'\n`);
});

test('run: the watch command repeats --allow-http, --token-file, --header-file and --profile, so that it can be pasted', async () => {
  const service = await scriptedService(acceptThenShow());
  const proxy = await startProxy();
  const { env } = writeTestConfig({ profiles: { p: { baseUrl: 'https://example.com' } } });
  const cwd = folderWith({ token: 't\n', headers: 'X-Team: a\n' });
  const flags = ['--base-url', `http://service.test:${service.port}`, '--profile', 'p', '--allow-http'];
  const files = ['--token-file', 'token', '--header-file', 'headers'];
  const { stderr } = await runCli(['run', 'w', '--detach', ...flags, ...files], {
    cwd,
    env: { ...env, HTTP_PROXY: proxy.url },
  });
  expect(stderr).toContain(`To watch it: wfr watch ${[...flags, ...files].join(' ')} run-1\n`);
});

test('run: --quiet prints only the id, and --verbose adds the requests', async () => {
  const startService = async () => {
    const { baseUrl } = await scriptedService(acceptThenShow(aRun(), aFinishedRun()));
    return { env: { WFR_BASE_URL: baseUrl } };
  };
  expect((await runCli(['run', 'w', '-q'], await startService())).stderr).toBe('Run run-1 (version v1)\n');
  const { stderr } = await runCli(['run', 'w', '-v'], await startService());
  expect(stderr).toMatch(/> POST http:\/\/127\.0\.0\.1:\d+\/runs \(47 bytes\)\n< 201 \(\d+m?s\)\n/);
  expect(stderr).toContain('> GET http://');
  expect(stderr).toContain('accepted with --workflow-id-field both');
});
