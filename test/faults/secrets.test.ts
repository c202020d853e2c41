/** No output contains a secret, whatever fails and whatever the verbosity. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createSecretMask } from '../../src/text/secret-mask.js';
import { BATCH_ARGS, numberedRows } from '../helpers/batch.js';
import { runCli, temporaryFolder } from '../helpers/cli.js';
import { CLOSED_PORT } from '../helpers/closed-port.js';
import { writeTestConfig } from '../helpers/config.js';
import { effort } from '../helpers/effort.js';
import { startTimer } from '../helpers/elapsed.js';
import { folderWith } from '../helpers/files.js';
import { startProxy } from '../helpers/proxy.js';
import { REPORT_FILES } from '../helpers/reports.js';
import { SLOW, startTestSandbox } from '../helpers/sandbox.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

const TOKEN = 'MARK-token-4711';
const PASSWORD = 'MARK-password-4711';
const HEADER = 'MARK-header-4711';
/** Every character that something escapes. */
const TOKEN_OF_SIGNS = `MARK/a"b'c\\d<e>f&g%h?i=4711`;
const MARK = /MARK|TUFSSy/; // also in base64

const handlers: Record<string, Handler> = {
  reset: (_request, reply) => reply.reset(),
  finished: (_request, reply) => reply.send(200, aFinishedRun()),
  'not a run': (_request, reply) => reply.send(200, {}),
  'a web page': (_request, reply) => reply.send(200, '<html>'),
  'not HTTP': (_request, reply) => void reply.socket.end('hello\r\n\r\n'),
  'an unknown status': (_request, reply) => reply.send(200, aRun({ status: 'ODD' })),
};
for (const status of [302, 303, 400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 503]) {
  handlers[status] = (_request, reply) =>
    reply.send(status, { message: 'no' }, { location: 'https://x.example' });
}

describe('the token, a header and the proxy password', () => {
  test.each(Object.keys(handlers))(
    'run, status and watch: no secret is printed after a response of kind "%s"',
    async (name) => {
      const handler = handlers[name] as Handler;
      for (const args of [
        ['run', 'w', 'a=1'],
        ['status', 'run-1'],
        ['watch', 'run-1'],
        ['run', 'w', '--dry-run'],
      ]) {
        for (const verbosity of [['-v'], ['-q'], []]) {
          const service = await scriptedService(async (request, reply) => {
            await request.body();
            await handler(request, reply);
          });
          const proxy = await startProxy();
          const timeout = args[0] === 'status' ? [] : ['--timeout', '1s'];
          const { stdout, stderr } = await runCli(
            [...args, ...verbosity, ...timeout, '--allow-http', '-H', `X-Key: ${HEADER}`],
            {
              env: {
                WFR_BASE_URL: `http://service.test:${service.port}`,
                WFR_TOKEN: TOKEN,
                HTTP_PROXY: proxy.url.replace('//', `//joe:${PASSWORD}@`),
              },
            },
          );
          expect(stdout + stderr).not.toMatch(MARK);
          // The secrets were sent to the service.
          for (const { headers } of service.requests)
            expect(headers).toMatchObject({ authorization: `Bearer ${TOKEN}`, 'x-key': HEADER });
        }
      }
    },
  );

  test.each(['status', 'watch'])(
    '%s: a token in the versions and errors of several runs is redacted before they are cut to a narrow window',
    async (command) => {
      const token = 'secret-0123456789-abcdefghijklmnopqrstuvwxyz';
      const { baseUrl } = await scriptedService(({ path }, reply) =>
        reply.send(200, {
          ...{ id: path.split('/').at(-1), status: 'FAILED', versionName: `v ${token}` },
          error: { step: 'One', message: `rejected ${token}` },
        }),
      );
      const env = { WFR_BASE_URL: baseUrl, WFR_TOKEN: token, TERM: 'xterm', NO_COLOR: '1' };
      const { stdout, stderr } = await runCli([command, 'a', 'b'], { env, terminal: 40, stdoutTerminal: 40 });
      expect(stdout).toContain('a   FAILED');
      expect(stdout + stderr).not.toMatch(/0123456789|abcdef|uvwxyz/);
    },
  );

  test.each([40, 50, 60, 70, 80])(
    'batch, watch, run: in %i columns, a header in a reason, status or error is redacted before it is wrapped or cut',
    async (terminal) => {
      const header = 'MARK-4711 one-4712 two-4713 three-4714';
      const service = await scriptedService(async (request, reply) => {
        const body = (await request.body()).toString();
        const status = `WAITS FOR ${header}`;
        if (body === '') return reply.send(200, aRun({ status }));
        if (JSON.parse(body).inputs.n === 1)
          return reply.send(422, { message: `${'no '.repeat(15)}${header}` });
        reply.send(201, aRun({ status }));
      });
      const env = { WFR_BASE_URL: service.baseUrl, TERM: 'xterm', WFR_HISTORY: '0' };
      for (const args of [BATCH_ARGS, ['watch', 'run-1'], ['run', 'w', 'n:=1']]) {
        const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
        const flags = ['-H', `X-Key: ${header}`, '--timeout', '3s', '--max-interval', '1s'];
        const { stderr } = await runCli([...args, ...flags], { env, cwd, terminal });
        expect(stderr).toContain('(hidden)');
        expect(stderr).not.toMatch(/MARK|471/);
      }
    },
  );

  test('watch: a token that an unreadable response to a poll repeats is redacted', async () => {
    const service = await scriptedService((request, reply) =>
      reply.send(200, { message: request.headers.authorization, [`the ${TOKEN}`]: 1 }),
    );
    const env = { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: TOKEN };
    for (const args of [
      ['watch', 'run-1', '-v'],
      ['status', 'run-1'],
      ['run', 'w'],
    ]) {
      const { stdout, stderr } = await runCli(args, { env });
      expect(stdout + stderr).not.toMatch(MARK);
      expect(stderr).toContain('(the token)');
    }
  });

  test.each<[string, Record<string, string>, string[]?]>([
    ['a proxy that does not listen', { HTTPS_PROXY: `http://joe:${PASSWORD}@127.0.0.1:${CLOSED_PORT}` }],
    ['a malformed proxy', { HTTPS_PROXY: `http://joe:${PASSWORD}@:x` }],
    ['a proxy of another kind', { HTTPS_PROXY: `socks5://joe:${PASSWORD}@127.0.0.1:${CLOSED_PORT}` }],
    ['credentials in the base URL', { WFR_BASE_URL: `https://joe:${PASSWORD}@service.test` }],
    ['credentials in an invalid base URL', { WFR_BASE_URL: `joe:${PASSWORD}@service.test` }],
    ['credentials in a base URL with a typo', { WFR_BASE_URL: `https:/joe:${PASSWORD}@service.test:x` }],
    ['a token with a line break', { WFR_TOKEN: `${TOKEN}\nx` }],
    ['a token file with two lines', { WFR_TOKEN: '', WFR_TOKEN_FILE: 'token' }],
    ['a header without a name', {}, ['-H', HEADER]],
    ['a header with a line break', {}, ['-H', `x: ${HEADER}\n`]],
    ['a header that wfr sets itself', {}, ['-H', `authorization: ${HEADER}`]],
  ])('run and status: no secret is printed by the error about %s', async (_name, env, flags = []) => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'token'), `${TOKEN}\n${TOKEN}\n`);
    const all = { WFR_BASE_URL: 'https://service.test', WFR_TOKEN: TOKEN, ...env };
    for (const args of [
      ['run', 'w'],
      ['status', 'x'],
    ]) {
      const { stdout, stderr, exitCode } = await runCli([...args, '-v', ...flags], { env: all, cwd });
      expect([2, 7]).toContain(exitCode);
      expect(stdout + stderr).not.toMatch(MARK);
    }
  });

  test('run and status: no secret is part of an error', async () => {
    const proxy = `http://joe:${PASSWORD}@127.0.0.1:${CLOSED_PORT}`;
    const cases: [string[], Record<string, string>][] = [
      [['status', 'x'], { HTTPS_PROXY: `http://joe:${PASSWORD}@:x` }],
      [['run', 'w'], { HTTPS_PROXY: proxy }],
      [['run', 'w'], { WFR_BASE_URL: `https://joe:${PASSWORD}@service.test` }],
    ];
    for (const [args, env] of cases) {
      const { exitCode, stderr } = await runCli(args, {
        env: { WFR_BASE_URL: 'https://service.test', WFR_TOKEN: TOKEN, ...env },
      });
      expect([2, 7]).toContain(exitCode);
      expect(stderr).not.toMatch(MARK);
    }
  });

  const SECRETS = { token: 'MARK/tok"en\\4711', header: 'MARK/head"er>4711' };
  const STATUSES = [200, 307, 400, 401, 500];
  const ENCODINGS: Record<string, (secret: string) => string> = {
    raw: (secret) => secret,
    'JSON with \\/': (secret) => JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/'),
    '\\u': (secret) => secret.replace(/./g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
    'percent-encoded': encodeURIComponent,
    'HTML-escaped': (secret) => secret.replace(/["/>]/g, (c) => `&#${c.charCodeAt(0)};`),
  };

  test.each(Object.keys(ENCODINGS))(
    'run, status and batch: a service that echoes the token and a header (%s) sees neither in a message or report',
    async (name) => {
      const encode = ENCODINGS[name] as (secret: string) => string;
      const json = name.includes('JSON') || name === '\\u';
      const echo = Object.values(SECRETS).map(encode).join(' ');
      const inJson = json ? echo : JSON.stringify(echo).slice(1, -1);
      const inHeader = encodeURIComponent(Object.values(SECRETS).join('/'));
      const bodies = [
        echo,
        `{"message":"${inJson}"}`,
        `{"${inJson}":1}`,
        `<html><title>${echo}</title>`,
        `${'x'.repeat(168)}${echo}`,
        `${'x'.repeat(1965)} ${echo}`,
        `{"id":"run-1","status":"FAILED","error":{"message":"${inJson}","step":"${inJson}"}}`,
        `{"id":"run-1","status":"${inJson}"}`,
      ];
      for (const [index, body] of bodies.entries()) {
        for (let n = 0; n < effort(STATUSES.length); n++) {
          const status = STATUSES[(index + n) % STATUSES.length] ?? 200;
          const service = await scriptedService(async (request, reply) => {
            await request.body();
            reply.send(status, body, { location: `/runs/${inHeader}`, 'content-type': `text/${inHeader}` });
          });
          const env = { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: SECRETS.token };
          const cwd = folderWith({ 'rows.jsonl': '{"a":1}\n' });
          const flags = ['-v', '--timeout', '0', '-H', `X-Key: ${SECRETS.header}`];
          const args = [
            ['run', 'w', ...REPORT_FILES],
            ['status', 'run-1'],
            ['batch', 'w', '--rows', 'rows.jsonl', '--results', 'out.jsonl', ...REPORT_FILES],
          ][index % 3] as string[];
          const { stderr } = await runCli(
            [...args, ...flags.filter((_, n) => args[0] !== 'status' || n < 1 || n > 2)],
            { env, cwd },
          );
          expect(stderr).not.toContain('internal error');
          expect(stderr).not.toMatch(/MARK|%4[dD]%41|u004d|er.4711/);
          for (const file of readdirSync(cwd)) {
            if (file === 'rows.jsonl') continue;
            const events = readFileSync(join(cwd, file), 'utf8');
            // The run itself, in a journal, is the service's own.
            const text = file === 'out.jsonl' ? events.replace(/,"run":.*|"id":.*/g, '') : events;
            expect(text).not.toMatch(/MARK|u004d|er.4711/);
            if (file === 'r.json') expect(() => JSON.parse(text)).not.toThrow();
          }
        }
      }
    },
  );

  test('run, status and config: a header value that is too short to be masked everywhere is hidden where headers are shown', async () => {
    const service = await scriptedService((_request, reply) => reply.send(200, aFinishedRun()));
    for (const args of [
      ['run', 'w', '-v', ...REPORT_FILES],
      ['run', 'w', '--dry-run', '-v'],
      ['status', 'run-1', '-v'],
      ['config', 'show'],
    ]) {
      const cwd = folderWith({ headers: 'X-Other: MARK2\n' });
      const headers = args[0] === 'config' ? [] : ['-H', 'X-Key: MARK1', '--header-file', 'headers'];
      const env = { WFR_BASE_URL: service.baseUrl };
      const { stdout, stderr, exitCode } = await runCli([...args, ...headers], { env, cwd });
      expect(exitCode).toBe(0);
      const files = readdirSync(cwd).filter((name) => name !== 'headers');
      const written = files.map((name) => readFileSync(join(cwd, name), 'utf8'));
      expect([stdout, stderr, ...written].join('')).not.toMatch(MARK);
      if (args.includes('--dry-run'))
        expect(JSON.parse(stdout).headers).toMatchObject({ 'x-key': '(hidden)', 'x-other': '(hidden)' });
    }
  });

  test('tokenCommand: its arguments are masked in what the service says and in what the command prints', async () => {
    const service = await scriptedService((_request, reply) =>
      reply.send(400, { message: `${PASSWORD} and ${HEADER}, but not --print-token` }),
    );
    const script = `console.log('${TOKEN}'); console.error(process.argv.slice(1).join(' '));`;
    const secrets = ['--print-token', PASSWORD, `--key=${HEADER}`];
    const withCommand = (text: string) => {
      const tokenCommand = [process.execPath, '-e', text, '--', ...secrets];
      const profiles = { p: { baseUrl: service.baseUrl, tokenCommand } };
      return writeTestConfig({ defaultProfile: 'p', profiles }).env;
    };
    const rejected = await runCli(['run', 'w'], { env: withCommand(script), canExec: true });
    expect(rejected.stderr).toContain('(hidden) and (hidden), but not --print-token');
    const failed = await runCli(['run', 'w'], {
      env: withCommand(`${script} process.exit(1)`),
      canExec: true,
    });
    expect(failed.stderr).toContain('--print-token (hidden) --key=(hidden)');
    // The command is not run for it.
    const invalid = await runCli(['run', 'w', `x:=${PASSWORD}`], { env: withCommand(script), canExec: true });
    expect(invalid.stderr).toContain('x:=(hidden): not JSON');
    expect(rejected.stderr + failed.stderr + invalid.stderr).not.toMatch(MARK);
  });

  test('run, status, watch and history: a secret in the status or error of a run is masked in summaries and in the history', async () => {
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      const id = request.method === 'POST' ? 'run-1' : (request.path.split('/').at(-1) ?? '');
      const error = { message: `no ${HEADER}`, step: TOKEN };
      reply.send(200, { ...aRun({ status: id === 'odd' ? TOKEN : 'FAILED', error }), id });
    });
    const state = temporaryFolder();
    const env = { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: TOKEN, XDG_STATE_HOME: state };
    for (const args of [
      ['run', 'w', '--detach'],
      ['status', 'odd'],
      ['status', 'run-1'],
      ['status', 'run-1', 'odd'],
      ['watch', 'run-1', 'odd', '--timeout', '0'],
      ['history'],
    ]) {
      const header = args[0] === 'history' ? [] : ['-H', `X-Key: ${HEADER}`];
      const { stdout, stderr } = await runCli([...args, ...header], { env });
      expect(stdout).not.toBe('');
      expect(stdout + stderr).not.toMatch(MARK);
    }
    const odd = await scriptedService((_request, reply) =>
      reply.send(200, aRun({ id: 'run-2', status: TOKEN })),
    );
    await runCli(['run', 'w', '--detach'], { env: { ...env, WFR_BASE_URL: odd.baseUrl } });
    const history = readFileSync(join(state, 'wfr', 'history.jsonl'), 'utf8');
    expect(history).toContain('"status":"(the token)"');
    expect(history).not.toMatch(MARK);
  });

  test.each([
    ['a status', 'FINISHED', 'FINISHED'],
    ['another status', 'FAILED and so on', 'FAILED'],
    ['a status after a word', 'now FINISHED', 'FINISHED'],
    ['an id', 'run-of-4711', 'FINISHED'],
    ['a code', 'still-running', 'RUNNING'],
    ['a member of the data', 'durationMs', 'RUNNING'],
    ['a date', '2026-11-22', 'FINISHED'],
    ['a number', '1000000000', 'RUNNING'],
  ])(
    'run: a header whose value is also %s alters neither ids nor statuses nor data',
    async (_kind, value, status) => {
      const service = await scriptedService(async (request, reply) => {
        await request.body();
        reply.send(200, { ...aRun({ status }), id: 'run-of-4711' });
      });
      const env = { WFR_BASE_URL: service.baseUrl };
      const run = async (header: string[]) => {
        const cwd = temporaryFolder();
        const args = ['run', 'w', 'a=1', '--timeout', '0', '--json', ...REPORT_FILES, ...header];
        const { stdout, stderr } = await runCli(args, { env, cwd });
        const written = readdirSync(cwd).map((name) => readFileSync(join(cwd, name), 'utf8'));
        return [stdout, stderr, ...written].map((text) =>
          text.replace(/wfr-[\w-]{36}/g, '').replaceAll('"To resume, add -H X-Stage, with its value."', ''),
        );
      };
      const masked = await run(['-H', `X-Stage: ${value}`]);
      expect(masked).toEqual(await run([]));
      expect(masked.join()).toContain('run-of-4711');
    },
  );

  test('run: the value of an Authorization header is masked whatever it looks like', async () => {
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      reply.send(422, { message: `no ${request.headers.authorization?.split(' ')[1]}` });
    });
    const args = ['run', 'w', 'a=1', '--no-token', '-H', 'Authorization: Bearer swordfish'];
    const { stderr } = await runCli(args, { env: { WFR_BASE_URL: service.baseUrl } });
    expect(stderr).toContain('no (hidden)');
  });

  test('run: a header whose value is also the name of the profile leaves the command that continues as it is', async () => {
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      reply.send(200, aRun({ status: 'RUNNING' }));
    });
    for (const name of ['production', 'production-7', 'a.customer-of-ours']) {
      const { env } = writeTestConfig({ profiles: { [name]: { baseUrl: service.baseUrl } } });
      const header = ['-H', `X-Environment: ${name}`, '--profile', name];
      const { stderr } = await runCli(['run', 'w', 'a=1', '--timeout', '0', ...header], { env });
      expect(stderr).toContain(`To watch it: wfr watch --profile ${name} run-1`);
      expect(stderr).not.toContain('(hidden)');
    }
  });

  test.each([
    ['as it is', TOKEN_OF_SIGNS],
    ['in JSON', JSON.stringify(TOKEN_OF_SIGNS).slice(1, -1)],
    ['in JSON in JSON', JSON.stringify(JSON.stringify(TOKEN_OF_SIGNS)).slice(3, -3)],
    ['in JSON with \\/', JSON.stringify(TOKEN_OF_SIGNS).slice(1, -1).replaceAll('/', '\\/')],
    [
      'in JSON of Go',
      JSON.stringify(TOKEN_OF_SIGNS)
        .slice(1, -1)
        .replace(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
    ],
    ['in a URL', encodeURIComponent(TOKEN_OF_SIGNS)],
    [
      'in a URL in lower case',
      encodeURIComponent(TOKEN_OF_SIGNS).replace(/%../g, (byte) => byte.toLowerCase()),
    ],
    ['in HTML', TOKEN_OF_SIGNS.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)],
    [
      'in HTML with hexadecimal numbers',
      TOKEN_OF_SIGNS.replace(/[&<>"'/]/g, (c) => `&#x${c.charCodeAt(0).toString(16).toUpperCase()};`),
    ],
    [
      'in HTML with names',
      TOKEN_OF_SIGNS.replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&apos;'),
    ],
    ['in single quotes of a shell', TOKEN_OF_SIGNS.replaceAll("'", `'\\''`)],
    ['in other quotes of a shell', TOKEN_OF_SIGNS.replaceAll("'", `'"'"'`)],
    ['in double quotes of a shell', TOKEN_OF_SIGNS.replace(/["\\$`]/g, '\\$&')],
  ])('run: the token %s is masked in messages and reports', async (_kind, written) => {
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      reply.send(422, { message: `no ${written} is valid` });
    });
    const cwd = temporaryFolder();
    const env = { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: TOKEN_OF_SIGNS };
    const { stderr } = await runCli(['run', 'w', 'a=1', ...REPORT_FILES], { env, cwd });
    const files = readdirSync(cwd).map((name) => readFileSync(join(cwd, name), 'utf8'));
    for (const text of [stderr, ...files]) {
      expect(text).toContain('(the token)');
      expect(text).not.toMatch(/MARK|4711/);
    }
    expect(stderr).toContain('no (the token) is valid');
  });

  test('run: texts that repeat the beginning of a long token are masked in a moment', async () => {
    for (const token of ['a'.repeat(5_000), `${'ab'.repeat(4_000)}c`]) {
      const texts = [
        '…'.repeat(15_000),
        `${token.slice(0, -1)}…`.repeat(4),
        `${token.slice(0, 8)}…`.repeat(2_000),
        'a'.repeat(100_000),
        '\\'.repeat(50_000),
        '&#'.repeat(20_000),
      ];
      const mask = createSecretMask();
      mask.add(token, '(the token)');
      const elapsed = startTimer();
      for (const text of texts) expect(mask.mask(text)).not.toContain(token.slice(0, 8));
      // It was minutes.
      expect(elapsed()).toBeLessThan(2_000);
    }
  });

  test("run: the output on stdout and in saved documents is the service's own, and is not masked", async () => {
    const document = `data:text/plain;base64,${Buffer.from(TOKEN).toString('base64')}`;
    const output = { echo: TOKEN, header: HEADER, document };
    const service = await scriptedService((_request, reply) =>
      reply.send(200, { ...aFinishedRun(), output }),
    );
    const cwd = temporaryFolder();
    const options = { env: { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: TOKEN }, cwd };
    const args = ['status', 'run-1', '-H', `X-Key: ${HEADER}`, '--json'];
    expect(JSON.parse((await runCli(args, options)).stdout)).toMatchObject({ output });
    const saved = await runCli(['run', 'w', '--save-documents', 'out', '-H', `X-Key: ${HEADER}`], options);
    expect(JSON.parse(saved.stdout)).toMatchObject({ echo: TOKEN, header: HEADER });
    const [file = ''] = readdirSync(join(cwd, 'out'));
    expect(readFileSync(join(cwd, 'out', file), 'utf8')).toBe(TOKEN);
  });

  test('run: a token that is pasted into the arguments is not repeated by the error', async () => {
    for (const args of [
      ['run', 'w', TOKEN],
      ['run', 'w', `--x${TOKEN}`],
      ['status', `a b ${TOKEN}`, '--interval', TOKEN],
    ]) {
      const { stderr, exitCode } = await runCli(args, { env: { WFR_TOKEN: TOKEN } });
      expect(exitCode).toBe(2);
      expect(stderr).not.toMatch(MARK);
    }
  });

  test.each([
    ['as two arguments', ['--token', TOKEN]],
    ['with an equals sign', [`--token=${TOKEN}`]],
  ])('run: --token, %s, is answered with the variable that takes the token', async (_spelling, flags) => {
    expect(await runCli(['run', 'w', ...flags])).toMatchObject({
      stderr: 'wfr: error: no flag takes the token: set WFR_TOKEN\n  See: wfr help environment\n',
      exitCode: 2,
    });
  });

  test('tokenCommand: its arguments are never printed, only the program', async () => {
    for (const tokenCommand of [
      ['false', '--key', HEADER],
      ['true', '-', HEADER],
      ['/nonexistent', HEADER],
    ]) {
      const { env } = writeTestConfig({
        defaultProfile: 'p',
        profiles: { p: { baseUrl: 'https://h.example', tokenCommand } },
      });
      for (const args of [
        ['run', 'w', '-v'],
        ['config', 'show'],
        ['config', 'check'],
      ]) {
        const { stdout, stderr } = await runCli(args, { env, canExec: true });
        expect(stdout + stderr).not.toMatch(MARK);
        if (args[0] === 'run') expect(stderr).toContain(`${tokenCommand[0]} …`);
      }
    }
  });

  test('sandbox: no token is written to the log', async () => {
    const { env, clock, log } = await startTestSandbox({ token: TOKEN });
    await runCli(['run', SLOW, 'label=x', '--detach'], { env: { ...env, WFR_TOKEN: TOKEN }, clock });
    await runCli(['run', SLOW, 'label=x', '--detach'], {
      env: { ...env, WFR_TOKEN: `${TOKEN}-wrong` },
      clock,
    });
    expect(log.length).toBe(2);
    expect(log.join('\n')).not.toMatch(MARK);
  });

  test.skipIf(LACKS.bash)('run: the temporary copy of standard input has no name in TMPDIR', async () => {
    const tmpdir = temporaryFolder();
    mkdirSync(join(tmpdir, 'x'));
    let names: string[] = [];
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      names = readdirSync(tmpdir);
      reply.send(200, aFinishedRun());
    });
    const { bash } = await import('../helpers/process.js');
    await bash('printf hello | wfr run w "x@-;type=a/b"', { WFR_BASE_URL: service.baseUrl, TMPDIR: tmpdir });
    expect(names).toEqual(['x']);
  });
});
