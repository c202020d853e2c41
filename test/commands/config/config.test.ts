/** The command line and the help of `wfr config`. */
import { expect, test } from 'vitest';
import { SETTINGS } from '../../../src/config/settings-table.js';
import { runCli } from '../../helpers/cli.js';
import { writeTestConfig } from '../../helpers/config.js';

test.each([['wfr config'], ['wfr config what'], ['wfr config path extra']])(
  'config: the command line "%s" exits 2',
  async (line) => {
    const { exitCode, stderr } = await runCli(line.split(' ').slice(1));
    expect(exitCode).toBe(2);
    expect(stderr).toContain('See: wfr help config');
  },
);

test('config: the help names every setting, and its example is valid', async () => {
  const { stdout } = await runCli(['help', 'config']);
  for (const name of Object.keys(SETTINGS)) expect(stdout).toContain(name);
  const [text = ''] = /^ {2}\{\n[\s\S]*?^ {2}\}$/m.exec(stdout) ?? [];
  const { env } = writeTestConfig(text);
  expect(await runCli(['config', 'check'], { env })).toMatchObject({ stdout: '', exitCode: 0 });
});
