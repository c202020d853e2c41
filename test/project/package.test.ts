/** The package as people install it: one tarball, nothing else, from a folder that is not this repository. */
import { copyFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/cli.js';
import { toPosix } from '../helpers/files.js';
import { ROOT, start } from '../helpers/process.js';

interface Packed {
  filename: string;
  size: number;
  files: { path: string }[];
}

const folder = temporaryFolder();
let packed: Packed;

/** Without scripts: what is in dist/ has just been built, and other tests are using it. */
beforeAll(async () => {
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const { stdout } = await start('npm', args, {}, { cwd: ROOT }).ended;
  packed = (JSON.parse(stdout) as Packed[])[0] as Packed;
});

describe('npm package', () => {
  test('npm package: contains only what it needs, with the licences of its dependencies', () => {
    const paths = packed.files.map(({ path }) => path);
    for (const path of [
      'LICENSE',
      'README.md',
      'CHANGELOG.md',
      'bin/wfr.js',
      'dist/main.js',
      'dist/LICENSES.txt',
      'examples/invoice.pdf',
      'config.schema.json',
      'error.schema.json',
      'skills/wfr/SKILL.md',
    ]) {
      expect(paths).toContain(path);
    }
    expect(
      paths.filter(
        (path) =>
          !/^(bin|dist|docs|examples|skills)\/|^(LICENSE|[A-Z]+\.md|package\.json|(config|error)\.schema\.json)$/.test(
            path,
          ),
      ),
    ).toEqual([]);
    // What the pages for users point to is there.
    const pages = paths.filter((path) => /^(README|docs\/.*|skills\/.*)\.md$/.test(path));
    const targets = pages.flatMap((page) =>
      [...readFileSync(join(ROOT, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(
        ([, target = '']) => join(dirname(page), target),
      ),
    );
    expect(targets.length).toBeGreaterThan(30);
    const isPacked = (target: string) => paths.some((path) => `${path}/`.startsWith(`${toPosix(target)}/`));
    expect(targets.filter((target) => !isPacked(target) && !/^test\b/.test(target))).toEqual([]);
    const licences = readFileSync(join(ROOT, 'dist/LICENSES.txt'), 'utf8');
    for (const name of ['undici', 'commander', 'ora', 'chalk', 'mime-types', 'mime-db'])
      expect(licences).toMatch(new RegExp(`^${name} \\d`, 'm'));
    expect(packed.size).toBeLessThan(605_000);
  });

  test('npm package: has no dependencies and no install scripts', () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(manifest.dependencies).toBeUndefined();
    for (const script of ['preinstall', 'install', 'postinstall'])
      expect(manifest.scripts[script]).toBeUndefined();
  });

  test('npm package: its manifest has no scripts, about which npm would warn at each installation', async () => {
    const clone = temporaryFolder();
    for (const name of ['package.json', 'scripts', 'bin'])
      cpSync(join(ROOT, name), join(clone, name), { recursive: true });
    writeFileSync(join(clone, 'build.mjs'), '');
    const manifest = () => readFileSync(join(clone, 'package.json'), 'utf8');
    const before = manifest();
    const { exitCode } = await start('npm', ['pack', '--silent'], {}, { cwd: clone }).ended;
    expect({ exitCode, after: manifest() }).toEqual({ exitCode: 0, after: before });
    const { version } = JSON.parse(before);
    await start('tar', ['-xzf', `wfr-${version}.tgz`], {}, { cwd: clone }).ended;
    const published = JSON.parse(readFileSync(join(clone, 'package/package.json'), 'utf8'));
    expect(published).toMatchObject({ name: 'wfr', version, bin: { wfr: 'bin/wfr.js' } });
    expect(published).not.toHaveProperty('scripts');
    expect(published).not.toHaveProperty('devDependencies');
    expect(readdirSync(join(clone, 'package'))).toEqual(['bin', 'package.json']);
  });

  test('npm package: an installed copy sends a document to its own sandbox', async () => {
    const home = temporaryFolder();
    const install = [
      'install',
      '--offline',
      '--no-audit',
      '--no-fund',
      '--prefix',
      home,
      join(folder, packed.filename),
    ];
    expect((await start('npm', install, {}, { cwd: home }).ended).exitCode).toBe(0);
    const wfr = join(home, 'node_modules/wfr/bin/wfr.js');
    copyFileSync(join(home, 'node_modules/wfr/examples/invoice.pdf'), join(home, 'scan.pdf'));
    const run = [
      'run',
      '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e',
      'invoice@scan.pdf',
      'customer=x',
      '--interval',
      '200ms',
    ];
    const { stdout, exitCode } = await start(
      process.execPath,
      [wfr, 'sandbox', '--', process.execPath, wfr, ...run],
      {},
      { cwd: home },
    ).ended;
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout).document.mediaType).toBe('application/pdf');
  });

  test('npm package: a stack trace names source files', async () => {
    const script = `require(${JSON.stringify(join(ROOT, 'dist/main.js'))}).main(['status', 'x'], { env: null })`;
    const { stderr } = await start(process.execPath, [
      '--enable-source-maps',
      '-e',
      `${script}.catch((error) => console.error(error.stack))`,
    ]).ended;
    expect(toPosix(stderr)).toContain('src/main.ts');
  });
});
