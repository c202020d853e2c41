/** The GitHub action as a job uses it: a checkout that builds itself, with the real npm. */
import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/cli.js';
import { ROOT, start } from '../helpers/process.js';

test('GitHub action: builds itself in a job with NODE_ENV=production', async () => {
  const checkout = temporaryFolder();
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' });
  for (const path of tracked.split('\0').filter((name) => name !== ''))
    cpSync(join(ROOT, path), join(checkout, path));
  const job = {
    NODE_ENV: 'production',
    NPM_CONFIG_OMIT: 'dev',
  };
  const inputs = { INPUT_WORKFLOW: 'w', INPUT_INPUTS: 'a', INPUT_REPORT: '' };
  expect((await start('bash', [join(checkout, 'action/install.sh')], job).ended).exitCode).toBe(0);
  const { exitCode, stderr } = await start('bash', [join(checkout, 'action/run.sh')], { ...job, ...inputs })
    .ended;
  expect(stderr).toContain('a: has no value; write a=text, a@file or a:=json');
  expect(exitCode).toBe(2);
});
