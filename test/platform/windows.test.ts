/** What is different on Windows, with its platform in the context of a test that runs anywhere. */
import { mkdirSync, promises, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import fsPromises from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { VERSION } from '../../src/platform/context.js';
import { runCli, Signals, temporaryFolder } from '../helpers/cli.js';
import { writeTestConfig } from '../helpers/config.js';
import { folderWith, toPosix } from '../helpers/files.js';
import { startWfr } from '../helpers/process.js';
import { replaceFunction } from '../helpers/replace-function.js';
import { SLOW } from '../helpers/sandbox.js';
import { acceptThenShow, aFinishedRun, aRun, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

const platform = 'win32';

describe('Windows: files', () => {
  test('Windows: a document whose device has more bits by path than by handle is sent', async () => {
    // As libuv 1.49 and 1.50 report it.
    const { stat } = fsPromises;
    const changed = async (...args: Parameters<typeof stat>) => {
      const stats = await stat(...args);
      if (typeof stats.dev === 'bigint') stats.dev |= 0x1234_0000_0000n as never;
      return stats;
    };
    replaceFunction(fsPromises, 'stat', changed as typeof stat);
    const { baseUrl, posts } = await scriptedService(acceptThenShow(aRun(), aFinishedRun()));
    const cwd = folderWith({ 'a.pdf': '%PDF' });
    const options = { env: { WFR_BASE_URL: baseUrl }, cwd, platform } as const;
    expect((await runCli(['run', 'w', 'scan@a.pdf'], options)).exitCode).toBe(0);
    expect(posts().length).toBe(1);
  });

  test('Windows: a path with U+10FFFF, for which Node aborts, is never opened', async () => {
    const { baseUrl, posts } = await scriptedService(acceptThenShow(aRun(), aFinishedRun()));
    const name = '\u{10ffff}.pdf';
    const cwd = folderWith({ 'rows.csv': `note,scan@\n@${name},${name}\n` });
    if (!LACKS.fileNames) writeFileSync(join(cwd, name), '%PDF');
    const options = { env: { WFR_BASE_URL: baseUrl }, cwd, platform } as const;
    const problem = `${name}: contains U+10FFFF, with which Node cannot open a file on Windows`;
    for (const args of [
      ['run', 'w', `scan@${name}`],
      ['batch', 'w', '--rows', 'rows.csv', '--check'],
    ]) {
      const { exitCode, stderr } = await runCli(args, options);
      expect(exitCode).toBe(2);
      expect(stderr).toContain(problem);
    }
    expect(posts()).toEqual([]);
    const { exitCode, stderr } = await runCli(['run', 'w', `note=@${name}`], options);
    expect({ exitCode, warned: stderr.includes('warning') }).toEqual({ exitCode: 0, warned: false });
  });

  test.each([
    ['EPERM', 3, 0],
    ['EBUSY', 20, 0],
    ['EBUSY', 22, 74],
    ['ENOSPC', 1, 74],
  ])(
    'Windows: a report whose file another process holds is replaced once it is free (%s, %i times: exit %i)',
    async (code, failures, exitCode) => {
      const { rename } = promises;
      let attempts = 0;
      promises.rename = async (...args) => {
        if (++attempts <= failures) throw Object.assign(new Error(code), { code });
        return rename(...args);
      };
      onTestFinished(() => {
        promises.rename = rename;
      });
      const { baseUrl } = await scriptedService(acceptThenShow(aRun(), aFinishedRun()));
      const cwd = folderWith({ 'r.json': 'old' });
      const env = { WFR_BASE_URL: baseUrl };
      const result = await runCli(['run', 'w', '--report', 'json=r.json'], { env, cwd, platform });
      expect(result.exitCode).toBe(exitCode);
      expect(readFileSync(join(cwd, 'r.json'), 'utf8')).toMatch(exitCode === 0 ? /run-1/ : /^old$/);
      expect(attempts).toBe(code === 'ENOSPC' ? 1 : Math.min(failures + 1, 21));
    },
  );

  test('Windows: ~\\ is the home folder, and elsewhere a name like any other', async () => {
    const home = temporaryFolder();
    mkdirSync(join(home, 'secrets'));
    writeFileSync(join(home, 'token'), 'of-the-home');
    const { baseUrl, requests } = await scriptedService((_request, reply) => reply.send(200, aRun()));
    const args = ['status', 'run-1', '--token-file', '~\\token', '--base-url', baseUrl];
    expect((await runCli(args, { home, platform })).exitCode).toBe(0);
    expect(requests[0]?.headers.authorization).toBe('Bearer of-the-home');
    expect((await runCli(args, { home })).stderr).toContain('~\\token: no such file');
  });
});

describe('Windows: shells', () => {
  test.for([
    ['C:\\keys\\my keys.txt', '"C:\\keys\\my keys.txt"'],
    ['C:\\keys.txt', 'C:\\keys.txt'],
    ["it's.txt", '"it\'s.txt"'],
    ['$a `b`.txt', "'$a `b`.txt'"],
    ["$it's.txt", "'$it''s.txt'"],
    ['a,b@c.txt', '"a,b@c.txt"'],
    ['typographic’ “marks”.txt', "'typographic’’ “marks”.txt'"],
  ])(
    'Windows: the path %s is printed as %s in the command that continues',
    async ([name = '', quoted], { skip }) => {
      skip(LACKS.fileNames && name.includes(':'));
      const cwd = folderWith({ [name]: 'X-Key: MARK-key-4711\n' });
      const { baseUrl } = await scriptedService(acceptThenShow(aRun(), aRun()));
      const args = ['run', 'w', '--timeout', '0', '--header-file', name];
      const { stderr } = await runCli(args, { env: { WFR_BASE_URL: baseUrl }, cwd, platform });
      expect(stderr).toContain(`To watch it: wfr watch --header-file ${quoted} run-1\n`);
    },
  );

  test('Windows: a folder that ends in a backslash does not escape the closing quotation mark', async () => {
    const { baseUrl } = await scriptedService(acceptThenShow(aRun(), aRun()));
    const args = ['run', 'w', '--timeout', '0', '--save-documents', 'my out\\'];
    const options = { env: { WFR_BASE_URL: baseUrl }, cwd: temporaryFolder(), platform } as const;
    const { stderr } = await runCli(args, options);
    expect(stderr).toMatch(/--save-documents (out|"[^"]*[^\\](\\\\)*") run-1\n/);
  });

  test('Windows: an id that would be a command of a CI log is printed as one that cannot be copied', async () => {
    const id = 'x ##vso[task] y';
    const { baseUrl } = await scriptedService((_request, reply) => reply.send(200, aRun({ id })));
    const args = ['run', 'w', '--timeout', '0'];
    const { stderr } = await runCli(args, { env: { WFR_BASE_URL: baseUrl }, platform });
    expect(stderr).not.toContain('##vso[');
    expect(stderr).toContain('(this command cannot be copied');
  });

  test('Windows: sandbox prints lines for PowerShell and for cmd', async () => {
    const signals = new Signals();
    const onOutput = (text: string) => text.includes('To try it') && signals.raise('SIGINT');
    const { stdout } = await runCli(['sandbox'], { platform, signals, onOutput });
    const [, port, token] =
      /^\$env:WFR_BASE_URL = 'http:\/\/127.0.0.1:(\d+).*\n.*'(.*)'\n/.exec(stdout) ?? [];
    const url = `http://127.0.0.1:${port}`;
    expect(stdout.replaceAll(/(127\.0\.0\.1:\d+)[^'"\n]*/g, '$1')).toBe(
      `$env:WFR_BASE_URL = '${url}'\n$env:WFR_TOKEN = '${token}'\nset "WFR_BASE_URL=${url}"\nset "WFR_TOKEN=${token}"\n`,
    );
  });
});

// Their cmd.exe is a shell script.
describe.skipIf(LACKS.bash)('Windows: processes', () => {
  /** Returns the environment of a process that takes itself to be on Windows, with a cmd.exe that notes its arguments. */
  function windowsWithCmd(prints: string) {
    const folder = temporaryFolder();
    writeFileSync(
      join(folder, 'windows.cjs'),
      "Object.defineProperty(process, 'platform', { value: 'win32' });",
    );
    const cmd = join(folder, 'cmd.exe');
    writeFileSync(cmd, `#!/bin/sh\nprintf '%s\\n' "$@" >'${folder}/words'\necho ${prints}\n`, {
      mode: 0o755,
    });
    const env = { NODE_OPTIONS: `--require "${folder}/windows.cjs"`, comspec: cmd };
    return { env, words: () => readFileSync(join(folder, 'words'), 'utf8').trimEnd().split('\n') };
  }
  const QUOTED = '^"a^ ^&^ b^" ^"100^%^" ^"\\^"q\\^"^"';

  test('Windows: a tokenCommand that is a .cmd file is run by cmd, with quoted arguments', async () => {
    const { env, words } = windowsWithCmd('of-the-command');
    const { baseUrl, requests } = await scriptedService((_request, reply) => reply.send(200, aRun()));
    const tokenCommand = ['token.cmd', 'a & b', '100%', '"q"'];
    const { path, folder } = writeTestConfig({
      defaultProfile: 'p',
      profiles: { p: { baseUrl, tokenCommand } },
    });
    writeFileSync(join(folder, 'token.cmd'), '@echo off');
    const { exitCode } = await startWfr(['status', 'run-1'], { ...env, WFR_CONFIG: path }).ended;
    expect(exitCode).toBe(0);
    expect(words()).toEqual(['/d', '/s', '/c', `"token.cmd ${QUOTED}"`]);
    expect(requests[0]?.headers.authorization).toBe('Bearer of-the-command');
  });

  test('Windows: sandbox runs a .cmd file by cmd, with quoted arguments', async () => {
    const { env, words } = windowsWithCmd('done');
    const cwd = folderWith({ 'build.cmd': '@echo off' });
    const args = ['sandbox', '--', 'build.cmd', 'a & b', '100%', '"q"'];
    const { stdout, exitCode } = await startWfr(args, env, { cwd }).ended;
    expect({ stdout, exitCode }).toEqual({ stdout: 'done\n', exitCode: 0 });
    expect(words()).toEqual(['/d', '/s', '/c', `"build.cmd ${QUOTED}"`]);
  });
});

describe.skipIf(LACKS.cmd)('Windows: real processes', () => {
  test('Windows: sandbox runs a .cmd file, which gets its arguments unchanged', async () => {
    const script = `@"${process.execPath}" -p "JSON.stringify(process.argv.slice(1))" %*\r\n`;
    const cwd = folderWith({ 'build.cmd': script });
    const words = ['a & b', '"q"', "it's", 'x^y|z'];
    const { stdout, exitCode } = await startWfr(['sandbox', '--', 'build.cmd', ...words], {}, { cwd }).ended;
    expect({ exitCode, words: JSON.parse(stdout) }).toEqual({ exitCode: 0, words });
  });

  test('Windows: a tokenCommand that is a .cmd file prints the token', async () => {
    const { baseUrl, requests } = await scriptedService((_request, reply) => reply.send(200, aRun()));
    const profile = { baseUrl, tokenCommand: ['token.cmd', 'x'] };
    const { path, folder } = writeTestConfig({ defaultProfile: 'p', profiles: { p: profile } });
    writeFileSync(join(folder, 'token.cmd'), '@echo token-for-%~1\r\n');
    const { exitCode } = await startWfr(['status', 'run-1'], { WFR_CONFIG: path }).ended;
    expect({ exitCode, token: requests[0]?.headers.authorization }).toEqual({
      exitCode: 0,
      token: 'Bearer token-for-x',
    });
  });
});

test.each(['EPIPE', 'EOF'])(
  'run: a reader of stdout that is gone (%s) does not change the exit code',
  async (code) => {
    const { baseUrl } = await scriptedService(acceptThenShow(aRun(), aFinishedRun()));
    const stdout = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })),
    });
    const { exitCode } = await runCli(['run', 'w'], { env: { WFR_BASE_URL: baseUrl }, stdout });
    expect(exitCode).toBe(0);
  },
);

test('sandbox: the command wfr is this wfr, also without one on PATH', async () => {
  const args = ['sandbox', '--slow', '0.01', '--', 'wfr', 'run', SLOW, 'label=x y'];
  const { stdout, exitCode } = await startWfr(args, { PATH: '/nonexistent' }).ended;
  expect({ exitCode, output: JSON.parse(stdout) }).toMatchObject({ exitCode: 0, output: { label: 'x y' } });
});

test('sandbox: wfr is this wfr for what the command starts, from a folder that is removed with it', async () => {
  const TMPDIR = temporaryFolder();
  const inner = "require('child_process').execSync('wfr --version', { stdio: 'inherit' })";
  const args = ['sandbox', '--', process.execPath, '-e', inner];
  const { stdout, exitCode } = await startWfr(args, { TMPDIR, TEMP: TMPDIR }).ended;
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${VERSION}\n` });
  await startWfr(['sandbox', '--', 'none'], { TMPDIR, TEMP: TMPDIR }).ended;
  expect(readdirSync(TMPDIR)).toEqual([]);
});

describe('patterns that the shell has not expanded', () => {
  const FILES = [
    'b.pdf',
    'a.pdf',
    'a1.pdf',
    '.hidden.pdf',
    'scans/x (1) {a}.pdf',
    'scans/deep/y.pdf',
    '[z].pdf',
  ];

  /** Returns the documents that are sent for the arguments. */
  async function documents(args: string[], options: { platform?: 'win32'; home?: string } = {}) {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'scans/deep'), { recursive: true });
    for (const file of FILES) writeFileSync(join(cwd, file), `%PDF ${file}`);
    const { baseUrl, posts } = await scriptedService(acceptThenShow(aRun(), aFinishedRun()));
    const batch = ['batch', 'w', '--each', 'scan', '--results', 'r.jsonl', '--concurrency', '1'];
    const world = { env: { WFR_BASE_URL: baseUrl }, cwd, ...options };
    const { exitCode } = await runCli([...batch, ...args.map((arg) => arg.replace('<cwd>', cwd))], world);
    const labels = [...readFileSync(join(cwd, 'r.jsonl'), 'utf8').matchAll(/"label":"(.*?)"/g)];
    const files = [...new Set(labels.map(([, label]) => label?.replace(toPosix(cwd), '<cwd>')))];
    return { exitCode, posts: posts().length, files };
  }

  test.each<[string[], string[], { platform?: 'win32' }?]>([
    [['*.pdf'], ['[z].pdf', 'a.pdf', 'a1.pdf', 'b.pdf']],
    [
      ['a?.pdf', 'b.pdf'],
      ['a1.pdf', 'b.pdf'],
    ],
    [['[ab].pdf'], ['a.pdf', 'b.pdf']],
    [['[z].pdf'], ['[z].pdf']],
    [['scans/x (1) {a}*'], ['scans/x (1) {a}.pdf']],
    [['./scans/*/*.pdf'], ['scans/deep/y.pdf']],
    [['<cwd>/scans/*.pdf'], ['<cwd>/scans/x (1) {a}.pdf'], process.platform === platform ? { platform } : {}],
    [['scans\\deep\\*.pdf'], ['scans/deep/y.pdf'], { platform: 'win32' }],
  ])('batch: --each expands %j to %j', async (args, files, options) => {
    expect(await documents(args, options)).toMatchObject({ exitCode: 0, files, posts: files.length });
  });

  test('batch: --each expands a pattern in the home folder', async () => {
    const home = folderWith({ 'q.pdf': '%PDF q', 'p.pdf': '%PDF p' });
    expect(await documents(['~/*.pdf'], { home })).toMatchObject({ files: ['~/p.pdf', '~/q.pdf'], posts: 2 });
  });

  test('results: a pattern is expanded', async () => {
    const { baseUrl } = await scriptedService(acceptThenShow(aRun(), aFinishedRun()));
    const cwd = folderWith({ 'rows.jsonl': '{"a":1}\n{"a":2}\n' });
    const batch = (shard: string) =>
      runCli(
        ['batch', 'w', '--rows', 'rows.jsonl', '--shard', `${shard}/2`, '--results', `out-${shard}.jsonl`],
        { env: { WFR_BASE_URL: baseUrl }, cwd },
      );
    await batch('1');
    await batch('2');
    const { stdout, exitCode } = await runCli(['results', 'out-*.jsonl'], { cwd });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringContaining('2 rows') });
  });
});

test.each([
  ['win32', 'Ctrl-Z and Enter'],
  ['linux', 'Ctrl-D'],
] as const)('standard input: on %s, a person is told to end it with %s', async (platform, keys) => {
  const stdin = Object.assign(new PassThrough().end('{}'), { isTTY: true });
  const { baseUrl } = await scriptedService(acceptThenShow(aRun(), aFinishedRun()));
  const { stderr } = await runCli(['run', 'w', '--inputs-file', '-', '--base-url', baseUrl], {
    stdin,
    platform,
  });
  expect(stderr).toContain(`to end it, press ${keys} at the start of a line\n`);
});
