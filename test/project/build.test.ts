/** The build: what it makes depends on the project alone, not on where it lies. */
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../helpers/cli.js';
import { BIN, ROOT, start } from '../helpers/process.js';
import { aFinishedRun, aRun, scriptedService, showRun } from '../helpers/service.js';

const LEFT_OUT = ['.git', 'dist', 'node_modules', 'release', 'test'];

/** A copy of the project with only those packages that are bundled; each test moves it to where it builds. */
let project = join(temporaryFolder(), 'project');

beforeAll(() => {
  const licences = readFileSync(join(ROOT, 'dist/LICENSES.txt'), 'utf8');
  const packages = Array.from(
    licences.matchAll(/^(\S+) \d+\.\d+\.\S+$/gm),
    ([, name]) => `node_modules/${name}`,
  );
  const sources = readdirSync(ROOT).filter((name) => !LEFT_OUT.includes(name));
  for (const path of [...sources, ...packages]) {
    cpSync(join(ROOT, path), join(project, path), { recursive: true });
  }
  // A junction needs no privilege on Windows.
  symlinkSync(join(ROOT, 'node_modules/rolldown'), join(project, 'node_modules/rolldown'), 'junction');
});

/** The SHA-256 of each file in a folder. */
function digestsIn(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  );
}

describe('the build', () => {
  test('gives the same bytes in any folder', async () => {
    // Each name in this path is one that the build looks for, or that needs to be escaped.
    const moved = join(
      temporaryFolder(),
      'node_modules/undici/lib/commander/project/Ein Ordner für alles/src/wfr',
    );
    mkdirSync(dirname(moved), { recursive: true });
    renameSync(project, moved);
    project = moved;
    const { exitCode, stderr } = await start(process.execPath, ['build.mjs'], {}, { cwd: moved }).ended;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(digestsIn(join(moved, 'dist'))).toEqual(digestsIn(join(ROOT, 'dist')));
  });

  test.each([
    ['--version', []],
    ['--help', []],
    ['--bad', ['errors.js']],
  ])('wfr %s loads no more than the start and %j', async (flag, others) => {
    const hook = join(temporaryFolder(), 'hook.cjs');
    writeFileSync(hook, `process.on('exit', () => console.log(Object.keys(require.cache).join('\\n')));`);
    const { stdout } = await start(process.execPath, ['--require', hook, BIN, flag]).ended;
    const loaded = stdout.split('\n').filter((line) => line.startsWith(join(ROOT, 'dist')));
    const expected = ['main.js', 'start.js', 'rolldown-runtime.js', ...others];
    expect(loaded.map((path) => basename(path)).sort()).toEqual(expected.sort());
  });

  // The flag is one of V8 for this architecture alone.
  test.skipIf(process.arch !== 'x64')('on a processor without SIMD, wfr reads responses', async () => {
    const { baseUrl } = await scriptedService(showRun(aFinishedRun()));
    const command = ['--no-enable-sse4-1', BIN, 'status', aRun().id as string];
    const { exitCode, stdout } = await start(process.execPath, command, { WFR_BASE_URL: baseUrl }).ended;
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('FINISHED') });
  });

  test('the one file of an executable reads a table, which needs a class of Node', async () => {
    const bundle = temporaryFolder();
    const args = ['build.mjs', bundle, 'scripts/executable-main.cjs'];
    expect((await start(process.execPath, args, {}, { cwd: ROOT }).ended).exitCode).toBe(0);
    const table = join(bundle, 'rows.csv');
    writeFileSync(table, 'customer\nACME\n');
    const check = [join(bundle, 'main.js'), 'batch', 'w', '--rows', table, '--check'];
    const { exitCode, stdout } = await start(process.execPath, check, { WFR_BASE_URL: 'http://localhost:1' })
      .ended;
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: '1 row valid; nothing sent; no declared parameters to check: wfr help config\n',
    });
  });

  test('status loads at most 545 kB, and nothing that only other commands need', async () => {
    const { baseUrl } = await scriptedService(showRun(aFinishedRun()));
    const hook = join(temporaryFolder(), 'hook.cjs');
    const print = 'console.error(JSON.stringify([Object.keys(require.cache), process.moduleLoadList]))';
    writeFileSync(hook, `process.on('exit', () => ${print});`);
    const env = { WFR_BASE_URL: baseUrl, WFR_HISTORY: '0' };
    const command = ['--require', hook, BIN, 'status', aRun().id as string];
    const { stderr } = await start(process.execPath, command, env).ended;
    const [files, modules] = JSON.parse(stderr.trim()) as [string[], string[]];
    const loaded = files.filter((path) => path.startsWith(join(ROOT, 'dist')));
    const texts = loaded.map((path) => readFileSync(path, 'utf8'));
    expect(texts.join('').length).toBeLessThanOrEqual(545_000);
    // The expressions for the widths of characters take 10 ms to compile.
    expect(texts.filter((text) => text.includes('RGI_Emoji'))).toEqual([]);
    expect(modules.filter((name) => /^NativeModule (dns|fs\/promises|tls|zlib)$/.test(name))).toEqual([]);
  });

  test('no file asks for its own path, which it does not have inside an executable', () => {
    const files = readdirSync(join(ROOT, 'dist')).filter((name) => name.endsWith('.js'));
    const asking = files.filter((name) =>
      /\b__(filename|dirname)\b|import\.meta/.test(readFileSync(join(ROOT, 'dist', name), 'utf8')),
    );
    expect(asking).toEqual([]);
  });

  test('lists the bundled packages with versions, licences and digests, and no addresses to download from', () => {
    const { components, dependencies } = JSON.parse(readFileSync(join(ROOT, 'dist/sbom.cdx.json'), 'utf8'));
    const names = components.map(({ name, version }: Record<string, string>) => `${name} ${version}`);
    const licences = readFileSync(join(ROOT, 'dist/LICENSES.txt'), 'utf8');
    expect(names).toEqual(licences.match(/^\S+ \d+\.\d+\.\S+$/gm));
    for (const component of components) {
      expect(component.licenses).toHaveLength(1);
      expect(component.hashes).toEqual([
        { alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) },
      ]);
      expect(dependencies[0].dependsOn).toContain(component.purl);
    }
    expect(JSON.stringify(components)).not.toContain('http');
  });

  test('fails without the licence of a bundled package', async () => {
    const licence = join(project, 'node_modules/undici/LICENSE');
    renameSync(licence, `${licence}.away`);
    onTestFinished(() => renameSync(`${licence}.away`, licence));
    const { exitCode, stderr } = await start(process.execPath, ['build.mjs'], {}, { cwd: project }).ended;
    expect(exitCode).toBe(1);
    expect(stderr).toContain('node_modules/undici is bundled, but has no licence file');
  });

  test('without the development dependencies, an installation succeeds and says how to build', async () => {
    const clone = temporaryFolder();
    for (const path of ['build.mjs', 'scripts'])
      cpSync(join(ROOT, path), join(clone, path), { recursive: true });
    const build = (event: string) =>
      start(process.execPath, ['build.mjs'], { npm_lifecycle_event: event }, { cwd: clone }).ended;
    const stderr =
      'wfr is not built: the build needs the development dependencies. To build it: npm ci --include=dev\n';
    expect(await build('prepare')).toMatchObject({ exitCode: 0, stderr });
    expect(await build('build')).toMatchObject({ exitCode: 1, stderr });
  });
});
