/** What npm installs to build and test wfr: the lockfile, and the check of known advisories in CI. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/cli.js';
import { ROOT, start } from '../helpers/process.js';
import { LACKS } from '../helpers/system.js';

interface LockedPackage {
  version: string;
  integrity?: string;
  resolved?: string;
}

const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, LockedPackage>;
};
const locked = Object.entries(packages).filter(([path]) => path !== '');

describe('package-lock.json', () => {
  test('package-lock.json: every package has a SHA-512 integrity', () => {
    const isHashed = ({ integrity = '' }: LockedPackage) => /^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity);
    expect(locked.filter(([, entry]) => !isHashed(entry)).map(([path]) => path)).toEqual([]);
  });

  test('package-lock.json: no package has an address, so that each comes from the registry of whoever installs it', () => {
    expect(locked.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
    expect(locked.length).toBeGreaterThan(100);
  });
});

describe.skipIf(LACKS.bash)('.ci/audit', () => {
  /** Runs the check with an npm that prints `output` and exits with `exitCode`. */
  async function audit(output: string, exitCode: number) {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'output'), output);
    const npm = `#!/bin/sh\necho "npm $*" >>"${folder}/calls"\ncat "${folder}/output"\nexit ${exitCode}\n`;
    writeFileSync(join(folder, 'bin/npm'), npm, { mode: 0o755 });
    const env = { PATH: `${join(folder, 'bin')}:${process.env.PATH}` };
    const result = await start('bash', [join(ROOT, '.ci/audit')], env).ended;
    return { ...result, calls: readFileSync(join(folder, 'calls'), 'utf8') };
  }
  const report = (vulnerabilities: object) => JSON.stringify({ auditReportVersion: 2, vulnerabilities });

  test('.ci/audit: passes without advisories, and fails with the name and severity of each vulnerable package', async () => {
    const clean = await audit(report({}), 0);
    expect(clean).toMatchObject({ exitCode: 0, stdout: 'audit: no known advisories\n' });
    expect(clean.calls).toBe('npm audit --json\n');
    const found = await audit(report({ undici: { name: 'undici', severity: 'high', range: '<7.40.0' } }), 1);
    expect(found).toMatchObject({ exitCode: 1, stdout: 'audit: undici <7.40.0: high\n' });
  });

  test('.ci/audit: says that it is skipped where the registry does not answer, and does not fail', async () => {
    for (const output of [
      '{"error":{"summary":"405 Method Not Allowed"}}',
      '{"message":"x"}',
      '',
      '<html>',
    ]) {
      const { exitCode, stdout } = await audit(output, 1);
      expect({ exitCode, stdout }).toEqual({
        exitCode: 0,
        stdout:
          'audit: SKIPPED, because this registry does not answer npm audit; known advisories were not checked\n',
      });
    }
  });

  test('.ci/run checks known advisories', () => {
    expect(readFileSync(join(ROOT, '.ci/run'), 'utf8')).toMatch(/^step 'advisories' \.ci\/audit$/m);
  });
});
