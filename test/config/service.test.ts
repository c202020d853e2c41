/** Base URL, token, headers and durations, as every command that connects to the service takes them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CliOptions, runCli, temporaryFolder } from '../helpers/cli.js';
import { failLookups } from '../helpers/lookups.js';
import { aFinishedRun, aRun, scriptedService } from '../helpers/service.js';

/** Runs `wfr status run-1` and returns the request that the service received. */
async function status(args: readonly string[] = [], world: CliOptions = {}) {
  const service = await scriptedService((_request, reply) => reply.send(200, aRun()));
  const env = { WFR_BASE_URL: service.baseUrl, ...world.env };
  const result = await runCli(['status', 'run-1', ...args], { ...world, env });
  return { ...result, requests: service.requests, headers: service.requests[0]?.headers ?? {} };
}

describe('the base URL', () => {
  test('base URL: without one, the message says how to set it and how to try the sandbox', async () => {
    for (const env of [{}, { WFR_BASE_URL: '' }]) {
      const { exitCode, stderr } = await runCli(['status', 'x'], { env });
      expect(exitCode).toBe(2);
      expect(stderr).toContain('set WFR_BASE_URL or pass --base-url');
      expect(stderr).toContain('wfr sandbox');
    }
  });

  test.each([
    ['example.com/api', 'WFR_BASE_URL example.com/api: has no scheme; use https://example.com/api'],
    ['localhost:8080/v1', 'has no scheme; use http://localhost:8080/v1'],
    ['ftp://example.com', 'must begin with https://'],
    ['https://', 'is not a URL'],
    ['http://example.com/v1', 'would send the token unencrypted; use https://, or --allow-http'],
    ['http://10.0.0.1', 'would send the token unencrypted'],
    ['https://example.com/?a=1', 'must not have a query or a fragment'],
    ['https://example.com/#x', 'must not have a query or a fragment'],
  ])('base URL: %s is rejected', async (url, message) => {
    const { exitCode, stderr } = await runCli(['status', 'x'], { env: { WFR_BASE_URL: url } });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
  });

  test.each(['https://joe:s3cret@example.com', 'https//joe:s3cret@example.com', 'joe:s3cret@example.com'])(
    'base URL: user info in %s is rejected and not shown (fault 59)',
    async (url) => {
      const { exitCode, stderr } = await runCli(['status', 'x', '--base-url', url]);
      expect(exitCode).toBe(2);
      expect(stderr).not.toContain('s3cret');
    },
  );

  test('base URL: --base-url overrides WFR_BASE_URL, before or after the command name', async () => {
    const service = await scriptedService((_request, reply) => reply.send(200, aRun()));
    const env = { WFR_BASE_URL: 'https://unused.invalid' };
    expect((await runCli(['status', 'run-1', '--base-url', service.baseUrl], { env })).exitCode).toBe(0);
    expect((await runCli(['--base-url', service.baseUrl, 'status', 'run-1'], { env })).exitCode).toBe(0);
  });

  test('base URL: http to another host needs --allow-http or WFR_ALLOW_HTTP=1, and prints a warning (fault 59)', async () => {
    failLookups('ENOTFOUND');
    for (const [args, env] of [
      [['--allow-http'], {}],
      [[], { WFR_ALLOW_HTTP: '1' }],
    ] as const) {
      const all = { WFR_BASE_URL: 'http://host.invalid', WFR_TOKEN: 't', ...env };
      const { exitCode, stderr } = await runCli(['status', 'x', ...args], { env: all });
      expect(exitCode).toBe(7);
      expect(stderr).toContain('warning: the connection to host.invalid is not encrypted');
    }
  });
});

describe('the token', () => {
  test('token: read from WFR_TOKEN, from a file and from standard input', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'token'), 'from-file\n');
    expect((await status([], { env: { WFR_TOKEN: 'from-env' } })).headers.authorization).toBe(
      'Bearer from-env',
    );
    expect((await status([], { env: { WFR_TOKEN_FILE: 'token' }, cwd })).headers.authorization).toBe(
      'Bearer from-file',
    );
    const both = { env: { WFR_TOKEN: 'from-env' }, cwd };
    expect((await status(['--token-file', 'token'], both)).headers.authorization).toBe('Bearer from-file');
    expect((await status(['--token-file', '-'], { stdin: 'piped\r\n' })).headers.authorization).toBe(
      'Bearer piped',
    );
  });

  test('token: not required for this machine, and not sent with --no-token', async () => {
    expect((await status()).headers.authorization).toBeUndefined();
    expect((await status(['--no-token'], { env: { WFR_TOKEN: 'x' } })).headers.authorization).toBeUndefined();
  });

  test('token: none for another host exits 4 and names where it was looked for (fault 58)', async () => {
    const { exitCode, stderr } = await runCli(['run', 'w'], {
      env: { WFR_BASE_URL: 'https://host.invalid', WFR_TOKEN: '' },
    });
    expect(exitCode).toBe(4);
    expect(stderr).toContain('no access token: looked for --token-file, WFR_TOKEN (empty), WFR_TOKEN_FILE');
  });

  test.each(['two words', 'line\nbreak', 'tab\there', 'ümlaut', ' lead'])(
    'token: the invalid %j exits 2 and is never shown (fault 58)',
    async (token) => {
      const { exitCode, stderr, requests } = await status([], { env: { WFR_TOKEN: token } });
      expect(exitCode).toBe(2);
      expect(stderr).toContain('WFR_TOKEN does not contain a valid access token');
      expect(stderr).not.toContain(token);
      expect(requests.length).toBe(0);
    },
  );

  test('token: a missing or empty file exits 2', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'empty'), '\n');
    expect((await status(['--token-file', 'none'], { cwd })).stderr).toContain('none: no such file (ENOENT)');
    const { exitCode, stderr } = await status(['--token-file', 'empty'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--token-file empty is empty');
  });

  test('token: the file is read once more after a 401', async () => {
    const cwd = temporaryFolder();
    const path = join(cwd, 'token');
    writeFileSync(path, 'old');
    const seen: (string | undefined)[] = [];
    const service = await scriptedService((request, reply) => {
      seen.push(request.headers.authorization);
      writeFileSync(path, 'new');
      if (request.headers.authorization === 'Bearer new') reply.send(200, aRun());
      else reply.send(401);
    });
    const env = { WFR_BASE_URL: service.baseUrl, WFR_TOKEN_FILE: 'token' };
    expect((await runCli(['status', 'run-1'], { env, cwd })).exitCode).toBe(0);
    expect(seen).toEqual(['Bearer old', 'Bearer new']);
  });
});

describe('--header', () => {
  test('--header: adds request headers', async () => {
    const { headers } = await status(['-H', 'X-One: 1', '--header', 'x-two:  2 : 3 ']);
    expect(headers).toMatchObject({ 'x-one': '1', 'x-two': '2 : 3' });
  });

  test.each([
    ['Content-Type: text/plain', 'wfr sets this header itself'],
    [' Content-Type : text/plain', '--header Content-Type: wfr sets this header itself'],
    ['authorization: Basic s3cret', 'wfr sets this header itself'],
    ['s3cret', 'expected "name: value"'],
    ['bad name: s3cret', 'expected "name: value"'],
    ['x: s3cret\r\ny: 1', 'contains a line break'],
  ])('--header: %j is rejected and its value not shown', async (header, message) => {
    const { exitCode, stderr } = await status(['-H', header]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('s3cret');
  });

  test('--header: Authorization is allowed with --no-token', async () => {
    const { headers } = await status(['--no-token', '-H', 'Authorization: Basic eA==']);
    expect(headers.authorization).toBe('Basic eA==');
  });
});

describe('run ids', () => {
  test.each(['', '.', '..'])('run id: %j is rejected before anything is sent', async (id) => {
    for (const command of ['status', 'watch']) {
      const { exitCode, stderr } = await runCli([command, id], {
        env: { WFR_BASE_URL: 'https://host.invalid' },
      });
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`${JSON.stringify(id)} is not a run id`);
    }
  });
});

test('durations: parsed with a unit, or as seconds without one', async () => {
  for (const [text, ms] of [
    ['500ms', 500],
    ['2s', 2000],
    ['1.5m', 90000],
    ['1h', 3600000],
    ['3', 3000],
    ['.5', 500],
  ] as const) {
    let polls = 0;
    const service = await scriptedService((_request, reply) =>
      reply.send(200, polls++ === 0 ? aRun() : aFinishedRun()),
    );
    const { clock } = await runCli(['watch', 'run-1', '--interval', text, '--max-interval', '1ms'], {
      env: { WFR_BASE_URL: service.baseUrl },
    });
    expect(clock.sleeps[1]).toBe(ms);
  }
  for (const text of ['', '1d', 'soon', '-1s', '1e3', '0']) {
    const { exitCode, stderr } = await runCli(['watch', 'x', '--interval', text], {
      env: { WFR_BASE_URL: 'https://h.invalid' },
    });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`--interval ${text || '""'}: must be a duration`);
  }
});

test('--header: sent from before and after the command name', async () => {
  const service = await scriptedService((_request, reply) => reply.send(200, aRun()));
  await runCli(['-H', 'a: 1', 'status', 'run-1', '-H', 'b: 2'], { env: { WFR_BASE_URL: service.baseUrl } });
  expect(service.requests[0]?.headers).toMatchObject({ a: '1', b: '2' });
});

test('usage errors: reported all at once, including --color and the token', async () => {
  const { exitCode, stderr } = await runCli([
    'run',
    'w',
    'bad',
    '--color',
    'blue',
    '--token-file',
    'none',
    '--interval',
    'x',
  ]);
  expect(exitCode).toBe(2);
  for (const part of [
    'no base URL',
    '--color blue',
    'none: no such file',
    '--interval x',
    'bad: has no value',
  ]) {
    expect(stderr).toContain(part);
  }
  expect(stderr.trimEnd().split('\n').at(-1)).toContain('no base URL');
});

test('usage errors: the value of an unknown flag and the query of a base URL are not shown', async () => {
  const unknown = await runCli(['status', 'x', '--token=s3cret']);
  const query = await runCli(['status', 'x', '--base-url', 'https://h.example/?key=s3cret']);
  expect(unknown.stderr).toContain('wfr: error: no flag takes the token: set WFR_TOKEN\n');
  expect(unknown.stderr + query.stderr).not.toContain('s3cret');
});

test('run: port 0 in the base URL exits 2', async () => {
  const { exitCode, stderr } = await runCli(['run', 'w', '--base-url', 'http://127.0.0.1:0']);
  expect(exitCode).toBe(2);
  expect(stderr).toContain('--base-url http://127.0.0.1:0: has port 0, to which nothing can connect');
});
