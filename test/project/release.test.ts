/** `npm run release`: the files that it makes. Executables take a Node from npm, so .ci/executable tests them. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/cli.js';
import { ROOT, start } from '../helpers/process.js';

const release = (...args: string[]) =>
  start(process.execPath, ['scripts/release.mjs', ...args], {}, { cwd: ROOT }).ended;

// It uses GNU tar and npm, which is no program on Windows but a script.
describe.skipIf(process.platform === 'win32')('npm run release', () => {
  test('makes the package, its bill of materials and the sums of both', async () => {
    const out = join(temporaryFolder(), 'release');
    const { exitCode } = await release('--dry-run', '--targets', '', '--out', out);
    expect(exitCode).toBe(0);
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const files = [`wfr-${version}.cdx.json`, `wfr-${version}.tgz`];
    expect(readdirSync(out).sort()).toEqual(['SHA256SUMS', ...files]);
    const sums = files.map((file) => {
      const digest = createHash('sha256').update(readFileSync(join(out, file)));
      return `${digest.digest('hex')}  ${file}\n`;
    });
    expect(readFileSync(join(out, 'SHA256SUMS'), 'utf8')).toBe(sums.join(''));
    // npm warns about scripts of a package when it is installed.
    const published = await start('tar', ['-xzOf', join(out, `wfr-${version}.tgz`), 'package/package.json'])
      .ended;
    const { name, bin, scripts, devDependencies } = JSON.parse(published.stdout);
    expect({ name, bin }).toEqual({ name: 'wfr', bin: { wfr: 'bin/wfr.js' } });
    expect({ scripts, devDependencies }).toEqual({});
    const install = await start('tar', ['-xzOf', join(out, `wfr-${version}.tgz`), 'package/docs/install.md'])
      .ended;
    const { repository } = JSON.parse(published.stdout);
    const [, named] = /github\.com\/(.*)\.git/.exec(repository.url) ?? [];
    expect(install.stdout).toContain(`--repo ${named}`);
    expect(install.stdout).toContain(`ghcr.io/${named?.toLowerCase()}:${version}`);
  });

  test('a tag of another version stops it before anything is made', async () => {
    const out = join(temporaryFolder(), 'release');
    const env = { GITHUB_REF_TYPE: 'tag', GITHUB_REF_NAME: 'v0.0.0' };
    const args = ['scripts/release.mjs', '--targets', '', '--out', out];
    const { exitCode, stderr } = await start(process.execPath, args, env, { cwd: ROOT }).ended;
    expect(exitCode).toBe(1);
    expect(stderr).toContain('error: the tag is v0.0.0, the version in package.json ');
    expect(existsSync(out)).toBe(false);
  });
});
