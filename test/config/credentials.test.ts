/** Where the token comes from, where it is sent, and the command that prints one. */
import { chmodSync, existsSync, mkdirSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { shellCommand } from '../../src/text/shell-quote.js';
import { type CliOptions, runCli, Signals, temporaryFolder } from '../helpers/cli.js';
import { endingTimeout, VirtualClock } from '../helpers/clock.js';
import { CLOSED_URL } from '../helpers/closed-port.js';
import { writeTestConfig } from '../helpers/config.js';
import { errorData } from '../helpers/error-data.js';
import { waitForEnd } from '../helpers/process.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

const TOKEN = 'MARK-token-4711';
const MARK = /MARK|TUFSSy/; // also in base64

/** A command that runs JavaScript and appends a line to `log` each time it starts. */
const command = (script: string) => [
  process.execPath,
  '-e',
  `const fs = require('fs'); fs.appendFileSync('log', 'started\\n'); ${script}`,
];
const printing = (text: string) => command(`console.log(${JSON.stringify(text)})`);

/** Starts a service, and writes a config file with a profile `p` for it. */
async function profileWorld(
  settings: object,
  handler: Handler = (_request, reply) => reply.send(200, aRun()),
) {
  const service = await scriptedService(handler);
  const { env, path, folder } = writeTestConfig({
    defaultProfile: 'p',
    profiles: { p: { baseUrl: `${service.baseUrl}/v1`, ...settings } },
  });
  const wfr = (args: readonly string[], world: CliOptions = {}) =>
    runCli(args, { canExec: true, ...world, env: { ...env, ...world.env } });
  const starts = () => readFileSync(join(folder, 'log'), 'utf8').split('\n').length - 1;
  const authorizations = () => service.requests.map(({ headers }) => headers.authorization);
  return { service, folder, path, wfr, starts, authorizations };
}

describe('a token that the service rejects', () => {
  test.each<[args: string[], env: Record<string, string>, settings: object, source: string]>([
    [[], { WFR_TOKEN: TOKEN }, {}, 'WFR_TOKEN'],
    [['--token-file', 'token'], {}, {}, '--token-file token'],
    [['--token-file', '-'], {}, {}, '--token-file -'],
    [[], { WFR_TOKEN_FILE: 'token' }, {}, 'WFR_TOKEN_FILE token'],
    [[], {}, { tokenFile: 'token' }, 'tokenFile of profile p in PATH:6'],
    [[], {}, { tokenCommand: printing(TOKEN) }, 'tokenCommand of profile p in PATH:6'],
  ])('status: %j with %j and %j says where it came from', async (args, env, settings, source) => {
    const { wfr, folder, path } = await profileWorld(settings, (_request, reply) => reply.send(401));
    writeFileSync(join(folder, 'token'), TOKEN);
    const result = await wfr(['status', 'run-1', ...args], { env, cwd: folder, stdin: TOKEN });
    expect(result.exitCode).toBe(4);
    expect(result.stderr).toContain(`it came from ${source.replace('PATH', path)}\n`);
  });

  test('status: an empty WFR_TOKEN is said to be empty', async () => {
    const env = { WFR_TOKEN: '', WFR_BASE_URL: 'https://service.test' };
    const { exitCode, stderr } = await runCli(['status', 'run-1'], { env });
    expect(exitCode).toBe(4);
    expect(stderr).toContain('looked for --token-file, WFR_TOKEN (empty), WFR_TOKEN_FILE\n');
  });
});

describe("a profile's token file", () => {
  test('tokenFile: relative to the config file, with ~/ for the home folder', async () => {
    const { wfr, folder, authorizations } = await profileWorld({ tokenFile: 'secrets/token' });
    mkdirSync(join(folder, 'secrets'));
    writeFileSync(join(folder, 'secrets/token'), `${TOKEN}\n`);
    expect((await wfr(['status', 'run-1'])).exitCode).toBe(0);
    expect(authorizations()).toEqual([`Bearer ${TOKEN}`]);
    const other = await profileWorld({ tokenFile: '~/token' });
    writeFileSync(join(folder, 'token'), 'at-home');
    expect((await other.wfr(['status', 'run-1'], { home: folder })).exitCode).toBe(0);
    expect(other.authorizations()).toEqual(['Bearer at-home']);
  });

  test('tokenFile: a missing file is named together with the line that names it', async () => {
    const { wfr, service, folder, path } = await profileWorld({ tokenFile: '-' });
    const { exitCode, stderr } = await wfr(['status', 'run-1'], { stdin: TOKEN });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      `wfr: error: tokenFile of profile p in ${path}:6 ${join(folder, '-')}: no such file (ENOENT)\n`,
    );
    expect(service.requests).toEqual([]);
  });

  test('token: --no-token, --token-file, WFR_TOKEN and WFR_TOKEN_FILE override the profile, in this order', async () => {
    const { wfr, folder, authorizations } = await profileWorld({ tokenCommand: printing('of-profile') });
    writeFileSync(join(folder, 'token'), 'of-file');
    const file = join(folder, 'token');
    await wfr(['status', 'run-1', '--token-file', file], { env: { WFR_TOKEN: 'of-variable' } });
    await wfr(['status', 'run-1'], { env: { WFR_TOKEN: 'of-variable', WFR_TOKEN_FILE: file } });
    await wfr(['status', 'run-1'], { env: { WFR_TOKEN: '', WFR_TOKEN_FILE: file } });
    await wfr(['status', 'run-1', '--no-token']);
    await wfr(['status', 'run-1'], { env: { WFR_TOKEN: '', WFR_TOKEN_FILE: '' } });
    expect(authorizations()).toEqual([
      'Bearer of-file',
      'Bearer of-variable',
      'Bearer of-file',
      undefined,
      'Bearer of-profile',
    ]);
  });
});

describe('--token-file', () => {
  test('--token-file and WFR_TOKEN_FILE: a missing file is named once, after the flag or the variable', async () => {
    const status = ['status', 'run-1', '--base-url', CLOSED_URL];
    const missing = 'none: no such file (ENOENT)\n';
    const ofFlag = await runCli([...status, '--token-file', 'none', '--cacert', 'none']);
    expect(ofFlag.stderr).toBe(`wfr: error: 2 problems\n  --token-file ${missing}  --cacert ${missing}`);
    const ofVariable = await runCli(status, { env: { WFR_TOKEN_FILE: 'none' } });
    expect(ofVariable).toMatchObject({ exitCode: 2, stderr: `wfr: error: WFR_TOKEN_FILE ${missing}` });
  });

  /** Runs wfr at a terminal; returns what it printed and the modes that it set. */
  async function typeToken(keys: string, world: CliOptions = {}, args = ['status', 'run-1']) {
    const service = await scriptedService((_request, reply) => reply.send(200, aRun()));
    const modes: boolean[] = [];
    const stdin = Object.assign(new PassThrough(), {
      isTTY: true,
      setRawMode: (isRaw: boolean) => modes.push(isRaw),
    });
    const result = await runCli([...args, '--token-file', '-', '--base-url', service.baseUrl], {
      stdin,
      ...world,
      onOutput: (text) => {
        if (text === 'Access token (not shown): ') stdin.write(keys);
        world.onOutput?.(text, 'stderr');
      },
    });
    const authorizations = service.requests.map(({ headers }) => headers.authorization);
    return { ...result, modes, authorizations };
  }

  test('--token-file -: on a terminal, the token is asked for, can be corrected, and is not shown', async () => {
    const { stderr, exitCode, modes, authorizations } = await typeToken(`${TOKEN}x\u007f\r`);
    expect({ exitCode, authorizations, modes }).toEqual({
      exitCode: 0,
      authorizations: [`Bearer ${TOKEN}`],
      modes: [true, false],
    });
    expect(stderr).toMatch(/^Access token \(not shown\): \n/);
    expect(stderr).not.toMatch(MARK);
  });

  test.each([
    ['Ctrl-C in wfr status', `${TOKEN}\u0003`, ['status', 'run-1'], 130],
    ['Ctrl-C in wfr run', `${TOKEN}\u0003`, ['run', 'w'], 130],
    ['the end of input', '\u0004', ['status', 'run-1'], 2],
  ])('--token-file -: %s restores the terminal', async (_name, keys, args, code) => {
    const { exitCode, modes, authorizations, stderr } = await typeToken(keys, {}, args);
    expect({ exitCode, modes, authorizations }).toEqual({
      exitCode: code,
      modes: [true, false],
      authorizations: [],
    });
    expect(stderr).not.toMatch(MARK);
  });

  test('--token-file -: a signal restores the terminal before wfr ends', async () => {
    for (const args of [
      ['status', 'run-1'],
      ['run', 'w'],
    ]) {
      const signals = new Signals();
      const raise = (text: string) => text.endsWith(': ') && signals.raise('SIGTERM');
      const { exitCode, modes } = await typeToken(TOKEN, { signals, onOutput: raise }, args);
      expect({ exitCode, modes }).toEqual({ exitCode: 143, modes: [true, false] });
    }
  });

  test('--token-file: a byte order mark is ignored, and UTF-16 is rejected', async () => {
    const { wfr, folder, authorizations } = await profileWorld({});
    const path = join(folder, 'token');
    const run = (bytes: string | Buffer) => {
      writeFileSync(path, bytes);
      return wfr(['status', 'run-1', '--token-file', path]);
    };
    expect((await run(`\uFEFF${TOKEN}\r\n`)).exitCode).toBe(0);
    expect(authorizations()).toEqual([`Bearer ${TOKEN}`]);
    for (const text of [TOKEN, `\uFEFF${TOKEN}\r\n`]) {
      const { exitCode, stderr } = await run(Buffer.from(text, 'utf16le'));
      expect({ exitCode, stderr }).toEqual({
        exitCode: 2,
        stderr: `wfr: error: --token-file ${path} does not contain a valid access token: found a space, a line break or a non-ASCII character\n`,
      });
    }
  });
});

describe('the token of the profile that --profile names', () => {
  const inFlag = ['status', 'run-1', '--profile', 'p'];

  test('--profile: the token of the profile overrides WFR_TOKEN and WFR_TOKEN_FILE, with a warning that names the variable', async () => {
    const { wfr, folder, authorizations } = await profileWorld({ tokenCommand: printing('of-profile') });
    writeFileSync(join(folder, 'token'), 'of-file');
    const file = join(folder, 'token');
    const variable = await wfr(inFlag, { env: { WFR_TOKEN: 'of-variable', WFR_TOKEN_FILE: file } });
    const variableFile = await wfr(inFlag, { env: { WFR_TOKEN_FILE: file } });
    const plain = await wfr(inFlag);
    expect(authorizations()).toEqual(['Bearer of-profile', 'Bearer of-profile', 'Bearer of-profile']);
    const warning = (name: string) => `wfr: warning: ${name} is ignored: --profile p has its own token\n`;
    expect(variable.stderr).toContain(warning('WFR_TOKEN'));
    expect(variableFile.stderr).toContain(warning('WFR_TOKEN_FILE'));
    expect(plain.stderr).not.toContain('warning');
  });

  test('--profile: --token-file and --no-token override the token of the profile without a warning', async () => {
    const { wfr, folder, authorizations } = await profileWorld({ tokenCommand: printing('of-profile') });
    writeFileSync(join(folder, 'token'), 'of-file');
    const env = { WFR_TOKEN: 'of-variable' };
    const fromFile = await wfr([...inFlag, '--token-file', join(folder, 'token')], { env });
    const without = await wfr([...inFlag, '--no-token'], { env });
    expect(authorizations()).toEqual(['Bearer of-file', undefined]);
    expect(fromFile.stderr + without.stderr).not.toContain('warning');
  });

  test('WFR_PROFILE and defaultProfile: WFR_TOKEN still overrides the token of the profile', async () => {
    const { wfr, authorizations } = await profileWorld({ tokenCommand: printing('of-profile') });
    const env = { WFR_TOKEN: 'of-variable' };
    await wfr(['status', 'run-1'], { env: { ...env, WFR_PROFILE: 'p' } });
    await wfr(['status', 'run-1'], { env });
    expect(authorizations()).toEqual(['Bearer of-variable', 'Bearer of-variable']);
  });

  test('--profile: a profile without a token source leaves WFR_TOKEN in use without a warning', async () => {
    const { wfr, authorizations } = await profileWorld({});
    const { stderr } = await wfr(inFlag, { env: { WFR_TOKEN: 'of-variable' } });
    expect(authorizations()).toEqual(['Bearer of-variable']);
    expect(stderr).not.toContain('warning');
  });

  test('--profile: a base URL of another origin gets WFR_TOKEN, and never the token of the profile', async () => {
    const { wfr, authorizations, starts } = await profileWorld({ tokenCommand: printing('of-profile') });
    const other = await scriptedService((_request, reply) => reply.send(200, aRun()));
    const toOther = { WFR_BASE_URL: other.baseUrl };
    await wfr(inFlag, { env: { ...toOther, WFR_TOKEN: 'of-variable' } });
    await wfr([...inFlag, '--base-url', other.baseUrl], { env: { WFR_TOKEN: 'of-variable' } });
    await wfr(inFlag, { env: toOther });
    expect(other.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer of-variable',
      'Bearer of-variable',
      undefined,
    ]);
    expect(authorizations()).toEqual([]);
    expect(starts).toThrow('ENOENT');
  });
});

describe('a token command', () => {
  test('tokenCommand: runs once without a shell in the folder of the config file, and its first line is the token', async () => {
    const script = `console.log(process.argv[1] + '-' + fs.existsSync('config.json')); console.log('second')`;
    const { wfr, authorizations, starts, service } = await profileWorld(
      { tokenCommand: [...command(script), '$HOME;*'] },
      async (request, reply) => {
        await request.body();
        reply.send(200, request.method === 'POST' ? aRun() : aFinishedRun());
      },
    );
    const { exitCode } = await wfr(['run', 'w']);
    expect(exitCode).toBe(0);
    expect(service.requests.length).toBe(2);
    expect(authorizations()).toEqual(['Bearer $HOME;*-true', 'Bearer $HOME;*-true']);
    expect(starts()).toBe(1);
  });

  test.each([
    ['a dry run', ['run', 'w', '--dry-run'], 0],
    ['an invalid command line', ['run', 'w', 'bad'], 2],
    ['config show', ['config', 'show'], 0],
  ])('tokenCommand: does not run for %s', async (_name, args, code) => {
    const { wfr, starts } = await profileWorld({ tokenCommand: printing(TOKEN) });
    expect((await wfr(args)).exitCode).toBe(code);
    expect(starts).toThrow('ENOENT');
  });

  test('tokenCommand: a failure shows the command, its exit code and the end of stderr, never its stdout', async () => {
    // In two parts, because the command itself is shown.
    const script = `const token = 'MA' + 'RK-4711'; console.log(token); console.error('1\\n2\\n3\\ngot ' + token + '\\n5\\u001b[2J\\n\\n7\\n8\\n9\\n10\\n11\\n12\\n13'); process.exitCode = 3`;
    for (const args of [
      ['run', 'w'],
      ['status', 'run-1'],
      ['watch', 'run-1'],
    ]) {
      const shell = LACKS.bash ? [] : ['sh', '-c', 'exec "$@"', 'x'];
      const [program = '', ...more] = [...shell, ...command(script)];
      const { wfr, service, path } = await profileWorld({ tokenCommand: [program, ...more] });
      const { exitCode, stdout, stderr } = await wfr([...args, '-v']);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain(`wfr: error: the token command ${shellCommand([program])} … failed`);
      expect(stderr).toContain(` failed with exit code 3 (tokenCommand of profile p in ${path}:6)\n`);
      expect(stderr).toContain(
        '\n| got (hidden)\n| 5\\u001b[2J\n| \n| 7\n| 8\n| 9\n| 10\n| 11\n| 12\n| 13\n',
      );
      expect(stderr).not.toMatch(MARK);
      expect(service.requests).toEqual([]);
    }
  });

  test.for<[name: string, tokenCommand: string[], message: string, isLacking?: boolean]>([
    [
      'does not exist',
      ['/no-such-folder/command'],
      'the token command /no-such-folder/command cannot be started: no such file (ENOENT)',
    ],
    [
      'was killed',
      command('process.kill(process.pid, "SIGKILL"); setInterval(() => {}, 1000)'),
      'was killed by SIGKILL',
      LACKS.signals,
    ],
    ['prints nothing', command(''), 'is empty; expected the access token'],
    ['prints an empty line first', printing(`\n${TOKEN}`), 'is empty; expected the access token'],
    [
      'prints two words',
      command(`console.log('MA' + 'RK two')`),
      'does not contain a valid access token: found a space',
    ],
  ])(
    'tokenCommand: one that %s exits 2',
    async ([_name, tokenCommand, message, isLacking = false], { skip }) => {
      skip(isLacking);
      const { wfr, service } = await profileWorld({ tokenCommand });
      const { exitCode, stdout, stderr } = await wfr(['status', 'run-1']);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain(message);
      expect(stderr).not.toContain('MARK two');
      expect(service.requests).toEqual([]);
    },
  );

  test.each([
    ['nothing', ''],
    ['two words', `console.log('Bearer MA' + 'RK-4711-0123456789');`],
  ])(
    'tokenCommand: one that prints %s and exits 0 has its stderr shown, never its stdout',
    async (_name, print) => {
      const script = `${print} console.error('log in first, MA' + 'RK-4711-0123456789')`;
      const { wfr } = await profileWorld({ tokenCommand: command(script) });
      const { exitCode, stderr } = await wfr(['status', 'run-1']);
      expect(exitCode).toBe(2);
      expect(stderr).toMatch(print === '' ? /\n\| log in first, MARK/ : /\n\| log in first, \(hidden\)\n/);
    },
  );

  test('tokenCommand: only the end of a long stderr is shown', async () => {
    const script = `for (let n = 1; n <= 20_000; n++) console.error('line ' + n); process.exitCode = 1`;
    const { wfr } = await profileWorld({ tokenCommand: command(script) });
    const { stderr } = await wfr(['status', 'run-1']);
    expect(stderr).toContain('\n| line 19991\n');
    expect(stderr).toContain('\n| line 20000\n');
  });

  test.skipIf(LACKS.fileModes)('tokenCommand: a file without execute permission is named', async () => {
    const { wfr, folder } = await profileWorld({ tokenCommand: ['./token'] });
    writeFileSync(join(folder, 'token'), '#!/bin/sh\necho x\n');
    chmodSync(join(folder, 'token'), 0o600);
    const { exitCode, stderr } = await wfr(['status', 'run-1']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('the token command ./token cannot be started: permission denied (EACCES)');
  });

  test('tokenCommand: with --json, what a command that fails says is among the details of the error', async () => {
    const script = `console.error('not signed in'); console.error('run login'); process.exitCode = 3`;
    const { wfr } = await profileWorld({ tokenCommand: command(script) });
    const { details } = errorData((await wfr(['status', 'run-1', '--json'])).stderr);
    expect(details).toEqual(['not signed in', 'run login']);
  });

  test('tokenCommand: times out after one minute, and is killed', async () => {
    const script = `fs.writeFileSync('new', String(process.pid)); fs.renameSync('new', 'pid'); setInterval(() => {}, 1000)`;
    const { wfr, folder } = await profileWorld({ tokenCommand: command(script) });
    const clock = new VirtualClock();
    const isStarted = new Promise<void>((resolve) => {
      const watcher = watch(folder, (_event, name) => {
        if (name !== 'pid' || !existsSync(join(folder, 'pid'))) return;
        watcher.close();
        resolve();
      });
    });
    const ended = wfr(['status', 'run-1'], { clock });
    await isStarted;
    clock.advance(60_000);
    const { exitCode, stderr } = await ended;
    expect(exitCode).toBe(2);
    expect(stderr).toContain('timed out after 1m');
    await waitForEnd(Number(readFileSync(join(folder, 'pid'), 'utf8')));
  });

  test('tokenCommand: a background process that keeps stdout open does not block it', async () => {
    // Elsewhere than in the folder of the test, which Windows could not remove.
    const options = `{ stdio: 'inherit', detached: true, cwd: require('path').dirname(process.execPath) }`;
    const background = `spawn(process.execPath, ['-e', 'setTimeout(() => {}, 5000)'], ${options})`;
    const script = `require('child_process').${background}.unref(); console.log('${TOKEN}')`;
    const { wfr, authorizations } = await profileWorld({ tokenCommand: command(script) });
    const clock = new VirtualClock();
    const { exitCode } = await wfr(['status', 'run-1'], { clock: endingTimeout(clock, 1_000) });
    expect(exitCode).toBe(0);
    expect(clock.monotonic()).toBe(1_000);
    expect(authorizations()).toEqual([`Bearer ${TOKEN}`]);
  });

  test('tokenCommand: Ctrl-C ends it, and no run was created', async () => {
    const { wfr, service, folder } = await profileWorld({
      tokenCommand: command('setInterval(() => {}, 1000)'),
    });
    const signals = new Signals();
    const watcher = watch(folder, () => signals.raise('SIGINT'));
    const { exitCode, stderr } = await wfr(['run', 'w'], { signals });
    watcher.close();
    expect(exitCode).toBe(130);
    expect(stderr).toBe('wfr: cancelled; no run was created\n');
    expect(service.requests).toEqual([]);
  });

  test('tokenCommand: after Ctrl-C during it, the report has each run that was to be watched', async () => {
    const { wfr, folder } = await profileWorld({ tokenCommand: command('setInterval(() => {}, 1000)') });
    const signals = new Signals();
    const watcher = watch(folder, () => signals.raise('SIGINT'));
    const report = join(temporaryFolder(), 'r.json');
    const { exitCode } = await wfr(['watch', 'run-1', 'run-2', '--report', `json=${report}`], { signals });
    watcher.close();
    expect(exitCode).toBe(130);
    const { runs } = JSON.parse(readFileSync(report, 'utf8')) as { runs: { id: string }[] };
    expect(runs.map(({ id }) => id)).toEqual(['run-1', 'run-2']);
  });

  test('tokenCommand: runs once more when the service rejects the token of a watched run', async () => {
    const script = `console.log('token-' + fs.readFileSync('log', 'utf8').split('\\n').length)`;
    const { wfr, starts, authorizations } = await profileWorld(
      { tokenCommand: command(script) },
      (request, reply) => {
        if (request.headers.authorization === 'Bearer token-3')
          reply.send(200, { ...aFinishedRun(), id: request.path.slice(-5) });
        else reply.send(401);
      },
    );
    // Both are rejected, and share the second run of the command.
    const { exitCode } = await wfr(['watch', 'run-1', 'run-2']);
    expect(exitCode).toBe(0);
    expect(starts()).toBe(2);
    expect(authorizations()).toEqual([
      'Bearer token-2',
      'Bearer token-2',
      'Bearer token-3',
      'Bearer token-3',
    ]);
  });

  test('tokenCommand: does not run a third time when a late 401 arrives after the renewal', async () => {
    let renewed = () => {};
    const afterRenewal = new Promise<void>((resolve) => {
      renewed = resolve;
    });
    const script = `console.log('token-' + fs.readFileSync('log', 'utf8').split('\\n').length)`;
    const { wfr, starts } = await profileWorld({ tokenCommand: command(script) }, async (request, reply) => {
      const id = request.path.slice(-5);
      if (request.headers.authorization === 'Bearer token-3') {
        renewed();
        return reply.send(200, { ...aFinishedRun(), id });
      }
      if (id === 'run-2') await afterRenewal;
      reply.send(401);
    });
    expect((await wfr(['watch', 'run-1', 'run-2'])).exitCode).toBe(0);
    expect(starts()).toBe(2);
  });

  test('tokenCommand: the same token again, or a failure on renewal, exits 4 with its source and the run id', async () => {
    const refuse: Handler = (_request, reply) => reply.send(401);
    const same = await profileWorld({ tokenCommand: printing(TOKEN) }, refuse);
    const refused = await same.wfr(['watch', 'run-1', '-v']);
    expect(refused.exitCode).toBe(4);
    expect(refused.stderr).toContain(
      `the service rejected the access token (401); it came from tokenCommand of profile p in ${same.path}:6\n`,
    );
    expect(refused.stderr).toContain('To watch it: wfr watch run-1');
    expect(same.starts()).toBe(2);
    expect(same.authorizations().length).toBe(1);
    const script = `if (fs.readFileSync('log', 'utf8').length > 9) { console.error('no session\\nfor MA' + 'RK-token-4711'); process.exit(5); } console.log('MA' + 'RK-token-4711')`;
    const failing = await profileWorld({ tokenCommand: command(script) }, refuse);
    const failed = await failing.wfr(['watch', 'run-1']);
    expect(failed.exitCode).toBe(4);
    expect(failed.stderr).toMatch(
      /, and reading it again failed: the token command .* failed with exit code 5 .*; no session; for \(the token\)\n/,
    );
  });
});

describe("a profile's token and another origin", () => {
  const elsewhere = 'https://other.example/v1';

  test.each([
    ['--base-url', ['--base-url', elsewhere], {}],
    ['WFR_BASE_URL', [], { WFR_BASE_URL: elsewhere }],
  ])(
    'token: not sent to another origin from %s, which exits 4 with the reason',
    async (source, args, env) => {
      for (const settings of [{ tokenFile: 'none' }, { tokenCommand: printing(TOKEN) }]) {
        const { wfr, service, starts } = await profileWorld(settings);
        const { exitCode, stderr } = await wfr(['run', 'w', ...args], { env });
        expect(exitCode).toBe(4);
        expect(stderr).toContain(
          'no access token: looked for --token-file, WFR_TOKEN, WFR_TOKEN_FILE, profile p\n',
        );
        expect(stderr).toContain(
          `the token of profile p is for ${service.baseUrl} and is not sent to the base URL from ${source}\n`,
        );
        expect(starts).toThrow('ENOENT');
      }
    },
  );

  test('token: not sent to another origin on this machine, with a warning', async () => {
    const { wfr, service, starts } = await profileWorld({ tokenCommand: printing(TOKEN) });
    for (const other of [
      await scriptedService((_request, reply) => reply.send(200, aRun())),
      { baseUrl: service.baseUrl.replace('127.0.0.1', 'localhost'), requests: service.requests },
    ]) {
      const { exitCode, stderr } = await wfr(['status', 'run-1', '--base-url', other.baseUrl]);
      expect(exitCode).toBe(0);
      expect(stderr).toContain(`warning: the token of profile p is for ${service.baseUrl} and is not sent`);
      expect(other.requests.at(-1)?.headers.authorization).toBeUndefined();
    }
    expect(starts).toThrow('ENOENT');
  });

  test('token: WFR_TOKEN is sent to another origin, and the profile token to another path of its own', async () => {
    const { wfr, service, authorizations } = await profileWorld({ tokenCommand: printing('of-profile') });
    const other = await scriptedService((_request, reply) => reply.send(200, aRun()));
    const env = { WFR_BASE_URL: other.baseUrl, WFR_TOKEN: 'of-variable' };
    expect((await wfr(['status', 'run-1'], { env })).stderr).toBe('');
    expect(other.requests[0]?.headers.authorization).toBe('Bearer of-variable');
    expect((await wfr(['status', 'run-1'], { env: { WFR_BASE_URL: `${service.baseUrl}/v2` } })).stderr).toBe(
      '',
    );
    expect(authorizations()).toEqual(['Bearer of-profile']);
  });

  test('allowHttp: applies only to the origin of the profile', async () => {
    const { env } = writeTestConfig({
      defaultProfile: 'p',
      profiles: { p: { baseUrl: 'http://private.invalid', allowHttp: true } },
    });
    const status = (more = {}) => runCli(['status', 'x', '--no-token'], { env: { ...env, ...more } });
    expect(await status()).toMatchObject({
      exitCode: 7,
      stderr: expect.stringContaining('is not encrypted'),
    });
    expect(await status({ WFR_ALLOW_HTTP: '0' })).toMatchObject({ exitCode: 2 });
    expect(await status({ WFR_BASE_URL: 'http://other.invalid' })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('would send the token unencrypted'),
    });
  });
});

test('token: never appears in any output', async () => {
  for (const answer of [200, 401, 403, 500]) {
    const { wfr, folder } = await profileWorld({ tokenFile: 'token' }, (_request, reply) =>
      reply.send(answer, aFinishedRun()),
    );
    writeFileSync(join(folder, 'token'), TOKEN);
    for (const args of [
      ['status', 'run-1', '-v'],
      ['watch', 'run-1', '-v'],
      ['run', 'w', '-v'],
      ['run', 'w', '--dry-run'],
      ['config', 'show'],
      ['config', 'show', '--json'],
    ]) {
      const { stdout, stderr } = await wfr(args);
      expect(stdout + stderr).not.toMatch(MARK);
    }
  }
});
