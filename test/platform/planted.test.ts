/** Files and folders that another user of the machine could have planted. Windows has neither modes nor owners. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  promises,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type CliOptions, runCli, temporaryFolder } from '../helpers/cli.js';
import { CLOSED_URL } from '../helpers/closed-port.js';
import { writeTestConfig } from '../helpers/config.js';
import { EXECUTABLE, startWfr } from '../helpers/process.js';
import { replaceFunction } from '../helpers/replace-function.js';
import { SLOW, startTestSandbox } from '../helpers/sandbox.js';
import { aFinishedRun, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

const uid = process.getuid?.() ?? 0;
const modeOf = (path: string) => (lstatSync(path).mode & 0o777).toString(8);

/** Makes a file foreign to the returned user, also if the tests run as root, to whom nothing else is. */
function giveAway(path: string): { uid: number } {
  if (uid === 0) chownSync(path, 65_534, 65_534);
  return { uid: 4_321 };
}

/** What wfr would make with an empty home folder, if it is there: other programs may use the root folder, too. */
const inRootFolder = () => ['/wfr', '/.cache', '/.local', '/.config'].filter((path) => existsSync(path));

/** Makes a folder with a mode that the umask does not change. */
function makeFolder(path: string, mode: number): void {
  mkdirSync(path);
  chmodSync(path, mode);
}

/** Sets the umask of this process until the test ends. */
function withUmask(umask: number): void {
  const before = process.umask(umask);
  onTestFinished(() => void process.umask(before));
}

describe.skipIf(LACKS.fileModes)('history: a folder that others could have planted', () => {
  async function startWithState() {
    const { env: service, clock } = await startTestSandbox();
    const state = temporaryFolder();
    const env = { ...service, XDG_STATE_HOME: state };
    const trigger = (options: CliOptions = {}) =>
      runCli(['run', '--detach', SLOW, 'label=x'], { env, clock, terminal: 200, ...options });
    const list = (options: CliOptions = {}) => runCli(['history', '-o', 'id'], { env, ...options });
    return { folder: join(state, 'wfr'), file: join(state, 'wfr', 'history.jsonl'), env, trigger, list };
  }

  test('history: a folder that is a link, or that others can write to, is skipped with the reason', async () => {
    const { folder, file, trigger, list } = await startWithState();
    const target = temporaryFolder();
    symlinkSync(target, folder);
    const linked = await trigger();
    expect(linked).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining(`${folder} is a symbolic link`),
    });
    expect(readdirSync(target)).toEqual([]);

    for (const mode of [0o770, 0o707, 0o777]) {
      const other = await startWithState();
      await other.trigger();
      chmodSync(other.folder, mode);
      const size = statSync(other.file).size;
      const { exitCode, stderr } = await other.trigger();
      expect({ exitCode, size: statSync(other.file).size }).toEqual({ exitCode: 0, size });
      expect(stderr).toContain(`others can write to ${other.folder} (mode 0${mode.toString(8)})`);
      expect(await other.list()).toMatchObject({
        exitCode: 0,
        stdout: '',
        stderr: `The history is skipped: others can write to ${other.folder} (mode 0${mode.toString(8)}).\n`,
      });
    }
    expect(existsSync(file)).toBe(false);
    expect((await list()).stderr).toContain('is a symbolic link');
  });

  test('history: a folder of another user is skipped with the reason', async () => {
    const { folder, file, trigger, list } = await startWithState();
    await trigger();
    const other = giveAway(folder);
    const size = statSync(file).size;
    expect((await trigger(other)).stderr).toContain(`${folder} belongs to another user`);
    expect(statSync(file).size).toBe(size);
    expect(await list(other)).toMatchObject({ stdout: '', stderr: expect.stringContaining('another user') });
  });

  test('history: a folder that another user can replace, as one above it is theirs or shared, is skipped with the reason', async () => {
    const { folder, file, trigger, list } = await startWithState();
    const above = dirname(folder);
    for (const mode of [0o770, 0o707]) {
      chmodSync(above, mode);
      const { exitCode, stderr } = await trigger();
      expect({ exitCode, isMade: existsSync(folder) }).toEqual({ exitCode: 0, isMade: false });
      expect(stderr).toContain(`others can write to ${above} (mode 0${mode.toString(8)})`);
    }
    chmodSync(above, 0o755);
    await trigger();
    const size = statSync(file).size;
    chmodSync(above, 0o777);
    expect((await trigger()).stderr).toContain(`others can write to ${above}`);
    expect(statSync(file).size).toBe(size);
    expect(await list()).toMatchObject({ stdout: '', stderr: expect.stringContaining('is skipped: others') });
    // In a sticky folder, nobody else can rename it.
    chmodSync(above, 0o1777);
    expect((await trigger()).stderr).not.toContain('others can write');
    expect(statSync(file).size).toBeGreaterThan(size);
  });

  test.skipIf(uid !== 0)('history: root uses none in the home folder of another user', async () => {
    const { folder, trigger } = await startWithState();
    chownSync(dirname(folder), 65_534, 65_534);
    const { exitCode, stderr } = await trigger();
    expect({ exitCode, isMade: existsSync(folder) }).toEqual({ exitCode: 0, isMade: false });
    expect(stderr).toContain(`${dirname(folder)}, which ${folder} is in, belongs to another user`);
  });

  test('history: a link in place of its file is neither followed to write nor to read', async () => {
    const { folder, file, trigger, list } = await startWithState();
    const target = join(temporaryFolder(), 'precious');
    const record = { id: 'planted', workflow: 'w', baseUrl: 'x', triggered: 'x', inputs: [] };
    writeFileSync(target, JSON.stringify(record));
    mkdirSync(folder, { mode: 0o700 });
    symlinkSync(target, file);
    expect(await trigger()).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('ELOOP') });
    expect(readFileSync(target, 'utf8')).toBe(JSON.stringify(record));
    expect((await list()).stdout).toBe('');
  });

  test('history: its folder is made with mode 0700 and its files with 0600, and existing modes stay', async () => {
    withUmask(0);
    const { folder, file, trigger } = await startWithState();
    await trigger();
    expect([modeOf(folder), modeOf(file)]).toEqual(['700', '600']);
    chmodSync(folder, 0o755);
    chmodSync(file, 0o644);
    await trigger();
    expect([modeOf(folder), modeOf(file)]).toEqual(['755', '644']);
  });
});

test('history: LOCALAPPDATA counts on Windows alone, and only if it is absolute', async () => {
  const { env: service } = await startTestSandbox();
  const history = async (LOCALAPPDATA: string, platform: NodeJS.Platform, cwd = '/') =>
    (await runCli(['history'], { env: { ...service, LOCALAPPDATA }, platform, home: '', cwd })).stderr;
  const folder = temporaryFolder();
  expect(await history(folder, 'linux')).toContain('there is no home folder');
  expect(await history(folder, 'win32')).toContain(`no runs yet (${join(folder, 'wfr')})`);
  expect(await history('relative', 'win32')).toContain('there is no home folder');
});

describe.skipIf(LACKS.fileModes)('config file: one that others could have written', () => {
  const withCommand = { profiles: { p: { baseUrl: CLOSED_URL, tokenCommand: ['false'] } } };
  const without = { profiles: { p: { baseUrl: CLOSED_URL } } };
  const show = (world: CliOptions) => runCli(['config', 'show', '--profile', 'p'], world);
  const status = (world: CliOptions) => runCli(['status', '--profile', 'p', '--no-token', 'x'], world);
  const runCheck = (world: CliOptions) => runCli(['config', 'check', '--profile', 'p'], world);

  test('config file: one that everybody can write to exits 2 with its mode, also behind a link', async () => {
    const { env, path } = writeTestConfig(without);
    chmodSync(path, 0o646);
    const link = join(temporaryFolder(), 'config.json');
    symlinkSync(path, link);
    for (const [world, name] of [
      [{ env }, path],
      [{ env: { WFR_CONFIG: link } }, link],
    ] as const) {
      const { exitCode, stderr } = await show(world);
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`${name}: every user can write to it (mode 0646); run chmod go-w on it`);
    }
    expect((await runCli(['config', 'check'], { env })).exitCode).toBe(2);
  });

  test.each([
    ['tokenCommand', ['false']],
    ['tokenFile', 'hosts.yml'],
    ['headerFile', 'hosts.yml'],
  ])(
    'config file: one of another user with a %s exits 2, also for root, and nothing is sent',
    async (setting, value) => {
      const service = await scriptedService((_request, reply) => reply.send(200, aFinishedRun()));
      const profiles = { p: { baseUrl: service.baseUrl, [setting]: value } };
      const { env, path } = writeTestConfig({ profiles });
      writeFileSync(join(dirname(path), 'hosts.yml'), 'x-key: precious\n');
      const other = giveAway(path);
      for (const world of uid === 0 ? [other, {}] : [other])
        for (const command of [show, status, runCheck]) {
          const { exitCode, stderr } = await command({ env, ...world });
          expect(exitCode).toBe(2);
          expect(stderr).toContain(`${path}: belongs to another user and has a ${setting}, `);
        }
      expect(service.requests).toEqual([]);
    },
  );

  test('config file: one of another user without such settings is used', async () => {
    const plain = writeTestConfig(without);
    const used = await status({ env: plain.env, ...giveAway(plain.path) });
    expect({ exitCode: used.exitCode, warned: used.stderr.includes('warning') }).toEqual({
      exitCode: 7,
      warned: false,
    });
  });

  test('config file: one that its group can write to, or of another user for root, is used with a warning', async () => {
    const { env, path } = writeTestConfig(withCommand);
    chmodSync(path, 0o664);
    const group = await status({ env });
    expect(group.exitCode).toBe(7);
    expect(group.stderr).toContain(`${path}: its group can write to it (mode 0664); run chmod go-w on it`);
    expect((await runCli(['config', 'check', '--profile', 'p'], { env })).stderr).toContain('(mode 0664)');
    const plain = writeTestConfig(without);
    giveAway(plain.path);
    const foreign = await status({ env: plain.env, uid: 0 });
    expect(foreign.exitCode).toBe(7);
    expect(foreign.stderr).toContain(`${plain.path}: belongs to another user (mode 0600)`);
  });

  test('config file: root may own it, private modes give no warning, and Windows has no modes', async () => {
    const { env, path } = writeTestConfig(withCommand);
    chmodSync(path, 0o644);
    expect((await status({ env })).stderr).not.toContain('mode');
    if (uid === 0) expect((await show({ env, uid: 4_321 })).exitCode).toBe(0);
    chmodSync(path, 0o666);
    const windows = { platform: 'win32', uid: undefined, env: { WFR_CONFIG: path } } as const;
    expect((await show(windows)).exitCode).toBe(0);
  });
});

describe.skipIf(LACKS.fileModes)('token file: one that others could have written', () => {
  function tokenFile(mode: number) {
    const path = join(temporaryFolder(), 'token');
    writeFileSync(path, 'secret-token');
    chmodSync(path, mode);
    return path;
  }
  const status = (path: string, world: CliOptions = {}) =>
    runCli(['status', 'x', '--token-file', path], { env: { WFR_BASE_URL: CLOSED_URL }, ...world });

  test('token file: one that everybody can write to exits 2 with its mode, also behind a link', async () => {
    const path = tokenFile(0o602);
    const link = join(temporaryFolder(), 'link');
    symlinkSync(path, link);
    for (const name of [path, link]) {
      const { exitCode, stderr } = await status(name);
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`--token-file ${name}: every user can write to it (mode 0602)`);
    }
  });

  test('token file: one that its group can write to is used with a warning', async () => {
    const group = await status(tokenFile(0o660));
    expect(group).toMatchObject({
      exitCode: 7,
      stderr: expect.stringContaining('its group can write to it (mode 0660)'),
    });
    expect((await status(tokenFile(0o640))).stderr).not.toContain('mode');
  });

  test('token file: one of another user exits 2, also for root, as documents would go to their account', async () => {
    const path = tokenFile(0o600);
    const other = giveAway(path);
    for (const world of uid === 0 ? [other, {}] : [other]) {
      const { exitCode, stderr } = await status(path, world);
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`--token-file ${path}: belongs to another user (mode 0600)`);
    }
  });

  test('token file: a link that leads to the file of another user only when it is read exits 2', async () => {
    const [own, link] = [tokenFile(0o600), join(temporaryFolder(), 'link')];
    const theirs = tokenFile(0o600);
    const other = giveAway(theirs);
    if (uid === 0) chownSync(own, other.uid, other.uid);
    symlinkSync(theirs, link);
    const { stat } = promises;
    replaceFunction(promises, 'stat', (async (path: string, ...rest: []) =>
      stat(path === link ? own : path, ...rest)) as typeof stat);
    const { exitCode, stderr } = await status(link, uid === 0 ? other : {});
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`--token-file ${link}: belongs to another user (mode 0600)`);
  });

  test.skipIf(uid !== 0)('token file: one of root is used by others', async () => {
    expect((await status(tokenFile(0o644), { uid: 4_321 })).exitCode).toBe(7);
  });
});

test.skipIf(LACKS.fileModes)(
  'batch: a new results file has mode 0600, and an existing one keeps its mode',
  async () => {
    withUmask(0);
    const { env, clock } = await startTestSandbox();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'rows.jsonl'), '{"label":"x"}\n');
    const batch = () =>
      runCli(['batch', SLOW, '--rows', 'rows.jsonl', '--results', 'results.jsonl'], { env, clock, cwd });
    expect((await batch()).exitCode).toBe(0);
    expect(modeOf(join(cwd, 'results.jsonl'))).toBe('600');
    chmodSync(join(cwd, 'results.jsonl'), 0o644);
    expect((await batch()).exitCode).toBe(0);
    expect(modeOf(join(cwd, 'results.jsonl'))).toBe('644');
  },
);

test.skipIf(LACKS.fileModes)(
  'run: a new file of --once has mode 0600, and an existing one keeps its mode',
  async () => {
    withUmask(0);
    const { env, clock } = await startTestSandbox();
    const cwd = temporaryFolder();
    const once = () => runCli(['run', SLOW, 'label=x', '--once', 'once'], { env, clock, cwd });
    expect((await once()).exitCode).toBe(0);
    expect(modeOf(join(cwd, 'once'))).toBe('600');
    chmodSync(join(cwd, 'once'), 0o644);
    expect((await once()).exitCode).toBe(0);
    expect(modeOf(join(cwd, 'once'))).toBe('644');
  },
);

/** Makes a folder like /tmp, and a folder of the victim's. */
function makePublic() {
  const open = temporaryFolder();
  chmodSync(open, 0o1777);
  return { open, own: temporaryFolder() };
}

// Only root can give files away.
describe.skipIf(uid !== 0)('a folder like /tmp, in which another user has planted a file or a link', () => {
  const give = (path: string) => lchownSync(path, 65_534, 65_534);

  test('run --once: the file of another user is not used, and nothing is sent', async () => {
    const { env, clock, posts } = await startTestSandbox();
    const { open: cwd, own } = makePublic();
    const once = (options: CliOptions = {}) =>
      runCli(['run', SLOW, 'label=x', '--once', 'once'], { env, clock, cwd, ...options });
    expect((await once({ cwd: own })).exitCode).toBe(0);
    copyFileSync(join(own, 'once'), join(cwd, 'once'));
    give(join(cwd, 'once'));
    const { exitCode, stdout, stderr } = await once();
    expect({ exitCode, stdout, posts: posts() }).toEqual({ exitCode: 2, stdout: '', posts: 1 });
    expect(stderr).toContain('--once once: belongs to another user, in a folder that everybody can write to');
    // It is used where the folder is not like /tmp, as a host's folder in a container, or if its folder's owner wrote it.
    for (const [mode, owner] of [
      [0o777, 0],
      [0o755, 0],
      [0o1777, 65_534],
    ] as const) {
      chownSync(cwd, owner, owner);
      chmodSync(cwd, mode);
      expect(await once()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('{') });
    }
    expect(posts()).toBe(1);
  });

  test('batch: the results file of another user, and one behind their link, get no result, and nothing is sent', async () => {
    const { env, clock, posts } = await startTestSandbox();
    const { open: cwd, own } = makePublic();
    writeFileSync(join(own, 'rows.jsonl'), '{"label":"x"}\n');
    const rows = join(own, 'rows.jsonl');
    const batch = (results: string) =>
      runCli(['batch', SLOW, '--rows', rows, '--results', results], { env, clock, cwd });
    writeFileSync(join(cwd, 'file'), '', { mode: 0o666 });
    give(join(cwd, 'file'));
    // protected_regular makes the kernel refuse it first where that is on.
    expect(await batch('file')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/--results file: (belongs to another user|permission denied)/),
    });
    symlinkSync(join(own, 'victim'), join(cwd, 'link'));
    symlinkSync(own, join(cwd, 'folder'));
    for (const link of ['link', 'folder']) {
      give(join(cwd, link));
      const results = link === 'folder' ? 'folder/victim' : link;
      const { exitCode, stderr } = await batch(results);
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`the link ${join(cwd, link)} belongs to another user`);
    }
    expect({ posts: posts(), files: readdirSync(own) }).toEqual({ posts: 0, files: ['rows.jsonl'] });
  });

  test.each<[string, (path: string) => string[]]>([
    ['--report json', (path) => ['--report', `json=${path}`]],
    ['--once', (path) => ['--once', path]],
    ['--report github', () => ['--report', 'github']],
    ['--save-documents', (path) => ['--save-documents', path]],
    ['--save-documents', (path) => ['--save-documents', join(path, 'below')]],
  ])('run %s: a link of another user is not followed, and nothing is sent', async (_flag, flags) => {
    const { env: service, clock, posts } = await startTestSandbox();
    for (const isFolder of [false, true]) {
      const { open: cwd, own } = makePublic();
      const target = isFolder ? own : join(own, 'victim');
      symlinkSync(target, join(cwd, 'link'));
      give(join(cwd, 'link'));
      const path = isFolder ? join('link', 'file') : 'link';
      const output = join(cwd, path);
      const env = { ...service, GITHUB_OUTPUT: output, GITHUB_STEP_SUMMARY: output };
      const { exitCode, stderr } = await runCli(['run', SLOW, 'label=x', ...flags(path)], {
        env,
        clock,
        cwd,
      });
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`the link ${join(cwd, 'link')} belongs to another user`);
      expect(readdirSync(own)).toEqual([]);
    }
    expect(posts()).toBe(0);
  });

  test('results: the results file of another user is not read', async () => {
    const { env, clock } = await startTestSandbox();
    const { open: cwd, own } = makePublic();
    writeFileSync(join(own, 'rows.jsonl'), '{"label":"x"}\n');
    const results = join(cwd, 'results.jsonl');
    const batch = ['batch', SLOW, '--rows', join(own, 'rows.jsonl'), '--results', results];
    expect((await runCli(batch, { env, clock, cwd })).exitCode).toBe(0);
    expect((await runCli(['results', results], { env, cwd })).exitCode).toBe(0);
    give(results);
    const { exitCode, stdout, stderr } = await runCli(['results', results], { env, cwd });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(`${results}: belongs to another user, in a folder that everybody can write to`);
  });

  test.skipIf(LACKS.fifos).each([
    ['json', 'json=pipe'],
    ['github', 'github'],
  ])('run --report %s: a pipe of another user is not opened, and nothing is sent', async (_kind, report) => {
    const { env: service, clock, posts } = await startTestSandbox();
    const { open: cwd } = makePublic();
    const pipe = join(cwd, 'pipe');
    execFileSync('mkfifo', [pipe]);
    give(pipe);
    // Without a check before it, opening the pipe waits for a reader.
    const env = { ...service, GITHUB_OUTPUT: pipe, GITHUB_STEP_SUMMARY: pipe };
    const { exitCode, stderr } = await runCli(['run', SLOW, 'label=x', '--report', report], {
      env,
      clock,
      cwd,
    });
    expect({ exitCode, posts: posts() }).toEqual({ exitCode: 2, posts: 0 });
    expect(stderr).toContain('belongs to another user, in a folder that everybody can write to');
  });

  test('run: links of this user, and of the owner of the folder, are followed', async () => {
    const { env, clock } = await startTestSandbox();
    const { open: cwd, own } = makePublic();
    symlinkSync(own, join(cwd, 'mine'));
    const flags = [
      '--report',
      'json=mine/r.json',
      '--once',
      'mine/once',
      '--save-documents',
      'mine/documents',
    ];
    expect((await runCli(['run', SLOW, 'label=x', ...flags], { env, clock, cwd })).exitCode).toBe(0);
    expect(readdirSync(own).sort()).toEqual(['documents', 'once', 'r.json']);
  });
});

describe.skipIf(LACKS.symlinks)('a folder that becomes a link while a file in it is opened', () => {
  /** Replaces a folder by a link whenever a file in it is opened, and puts it back. */
  function swapWhenOpened(folder: string, target: string) {
    const { open } = promises;
    replaceFunction(promises, 'open', (async (path: string, ...rest: []) => {
      if (dirname(String(path)) !== folder) return open(path, ...rest);
      renameSync(folder, `${folder}.kept`);
      symlinkSync(target, folder);
      return open(path, ...rest).finally(() => {
        rmSync(folder);
        renameSync(`${folder}.kept`, folder);
      });
    }) as typeof open);
  }

  test.each([
    ['--report', ['--report', 'json=swapped/r.json'], 2],
    ['--save-documents', ['--save-documents', 'swapped'], 74],
  ])('run %s: nothing is written to where the link leads', async (_flag, flags, expected) => {
    const output = { document: 'data:text/plain;base64,aGVsbG8=' };
    const service = await scriptedService((_request, reply) =>
      reply.send(200, { ...aFinishedRun(), output }),
    );
    const cwd = realpathSync(temporaryFolder());
    const own = temporaryFolder();
    mkdirSync(join(cwd, 'swapped'));
    swapWhenOpened(join(cwd, 'swapped'), own);
    const env = { WFR_BASE_URL: service.baseUrl };
    const { exitCode, stderr } = await runCli(['run', 'w', 'a=1', ...flags], { env, cwd });
    expect(exitCode).toBe(expected);
    expect(stderr).toContain('was replaced while it was opened');
    for (const name of readdirSync(own)) expect(readFileSync(join(own, name), 'utf8')).toBe('');
  });
});

test.skipIf(LACKS.fileModes)(
  'run: reports and saved documents that the user names follow the umask',
  async () => {
    withUmask(0o022);
    const { env, clock } = await startTestSandbox();
    const cwd = temporaryFolder();
    const args = ['run', SLOW, 'label=x', '--report', 'json=report.json', '--save-documents', 'documents'];
    expect((await runCli(args, { env, clock, cwd })).exitCode).toBe(0);
    expect(modeOf(join(cwd, 'report.json'))).toBe('644');
  },
);

describe.skipIf(LACKS.fileModes)('bin: the compile cache', () => {
  /** Runs `wfr --version` with a stand-in for Node's compile cache, and returns the folders that it was given. */
  async function enabledFolders(env: Record<string, string>, prelude = '') {
    const folder = temporaryFolder();
    const preload = join(folder, 'preload.cjs');
    writeFileSync(
      preload,
      `${prelude}\nrequire('node:module').enableCompileCache = (path) => console.error('cache ' + path + ' ' + process.umask().toString(8));`,
    );
    const cleared = { HOME: '', XDG_CACHE_HOME: '', LOCALAPPDATA: '' };
    const { stderr } = await startWfr(['--version'], {
      ...cleared,
      ...env,
      NODE_OPTIONS: `--require "${preload}"`,
    }).ended;
    return stderr.split('\n').filter((line) => line !== '');
  }

  // An executable has what V8 compiled inside it.
  test.skipIf(EXECUTABLE)(
    'bin: a new compile cache has mode 0700 whatever the umask, and is used again',
    async () => {
      const home = temporaryFolder();
      const folder = join(home, '.cache', 'wfr');
      for (let time = 0; time < 2; time++)
        expect(await enabledFolders({ HOME: home })).toEqual([`cache ${folder} 77`]);
      expect([modeOf(join(home, '.cache')), modeOf(folder)]).toEqual(['700', '700']);
    },
  );

  test('bin: a compile cache that is a link, is a file, or that others can write to is skipped silently', async () => {
    for (const plant of [
      (path: string) => symlinkSync(temporaryFolder(), path),
      (path: string) => writeFileSync(path, ''),
      (path: string) => makeFolder(path, 0o770),
      (path: string) => makeFolder(path, 0o702),
    ]) {
      const caches = temporaryFolder();
      plant(join(caches, 'wfr'));
      expect(await enabledFolders({ XDG_CACHE_HOME: caches })).toEqual([]);
    }
  });

  test('bin: a compile cache that another user can replace, as a folder above it is theirs or shared, is skipped silently', async () => {
    for (const mode of [0o770, 0o707, 0o777]) {
      const home = temporaryFolder();
      const caches = join(home, 'caches');
      makeFolder(caches, 0o700);
      makeFolder(join(caches, 'wfr'), 0o700);
      chmodSync(home, mode);
      expect(await enabledFolders({ XDG_CACHE_HOME: caches })).toEqual([]);
      expect(await enabledFolders({ XDG_CACHE_HOME: join(home, 'new') })).toEqual([]);
      expect(readdirSync(home)).toEqual(['caches']);
    }
    if (uid !== 0) return;
    // As with sudo -E: the home folder of the user who calls root.
    const home = temporaryFolder();
    chownSync(home, 65_534, 65_534);
    expect(await enabledFolders({ HOME: home })).toEqual([]);
    expect(readdirSync(home)).toEqual([]);
  });

  test.skipIf(EXECUTABLE)('bin: a compile cache behind a link is used by its real path', async () => {
    const [real, other] = [temporaryFolder(), temporaryFolder()];
    symlinkSync(real, join(other, 'link'));
    expect(await enabledFolders({ XDG_CACHE_HOME: join(other, 'link') })).toEqual([
      `cache ${join(realpathSync(real), 'wfr')} 77`,
    ]);
  });

  test('bin: a compile cache of another user is skipped silently', async () => {
    const caches = temporaryFolder();
    mkdirSync(join(caches, 'wfr'), { mode: 0o700 });
    const asOther = 'process.geteuid = () => 4321;';
    expect(await enabledFolders({ XDG_CACHE_HOME: caches }, asOther)).toEqual([]);
  });

  test('bin: LOCALAPPDATA and an empty or relative HOME name no compile cache, and nothing is made in the root folder', async () => {
    const folder = temporaryFolder();
    const before = inRootFolder();
    expect(await enabledFolders({ LOCALAPPDATA: folder })).toEqual([]);
    expect(await enabledFolders({ HOME: 'relative', XDG_CACHE_HOME: 'relative' })).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
    expect(inRootFolder()).toEqual(before);
  });
});

test.skipIf(LACKS.homelessUsers)(
  'wfr: with an empty HOME nothing is written to the root folder, and ~/ is rejected',
  async () => {
    const { env } = await startTestSandbox({
      clock: { now: Date.now, monotonic: () => performance.now() * 100 },
    });
    const cwd = temporaryFolder();
    const own = { ...env, HOME: '', XDG_STATE_HOME: '', XDG_CONFIG_HOME: '', XDG_CACHE_HOME: '' };
    const before = inRootFolder();
    const run = ['run', SLOW, 'label=x', '--interval', '20ms'];
    expect((await startWfr(run, own, { cwd }).ended).exitCode).toBe(0);
    const { exitCode, stderr } = await startWfr(['run', SLOW, 'label@~/x.pdf'], own, { cwd }).ended;
    expect(exitCode).toBe(2);
    expect(stderr).toContain('~/x.pdf: there is no home folder; set HOME, or give an absolute path');
    expect(inRootFolder()).toEqual(before);
    expect(readdirSync(cwd)).toEqual([]);
  },
);
