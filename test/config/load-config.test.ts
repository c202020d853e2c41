/** Where the config file is. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CliOptions, NO_HOME, runCli, temporaryFolder } from '../helpers/cli.js';
import { CLOSED_URL } from '../helpers/closed-port.js';

describe('the location of the config file', () => {
  const file = { profiles: { p: { timeout: '1m' } } };
  const usesIt = async (world: CliOptions) =>
    (await runCli(['config', 'show', '--profile', 'p'], world)).exitCode === 0;

  /** A home folder with a config file at `parts`. */
  function homeWith(...parts: string[]) {
    const home = temporaryFolder();
    const path = join(home, ...parts);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(file));
    return { home, path };
  }

  test('config file: found in ~/.config, in an absolute XDG_CONFIG_HOME, and in APPDATA on Windows only', async () => {
    const { home } = homeWith('.config/wfr/config.json');
    expect(await usesIt({ home })).toBe(true);
    expect(await usesIt({ home, env: { XDG_CONFIG_HOME: '' } })).toBe(true);
    expect(await usesIt({ home, cwd: home, env: { XDG_CONFIG_HOME: 'relative' } })).toBe(true);
    expect(await usesIt({ home, env: { XDG_CONFIG_HOME: join(home, 'other') } })).toBe(false);
    expect(await usesIt({ env: { XDG_CONFIG_HOME: join(home, '.config') } })).toBe(true);
    expect(await usesIt({ env: { APPDATA: join(home, '.config') } })).toBe(false);
    expect(await usesIt({ platform: 'win32', env: { APPDATA: join(home, '.config') } })).toBe(true);
    expect(await usesIt({ platform: 'win32', home: homeWith('AppData/Roaming/wfr/config.json').home })).toBe(
      true,
    );
  });

  test('config file: never read from the working folder, even for a user without a home folder', async () => {
    const { home } = homeWith('.config/wfr/config.json');
    expect(await usesIt({ home: '', cwd: home })).toBe(false);
    const { exitCode, stderr } = await runCli(['config', 'path'], { home: '', cwd: home });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('no home folder to find the config file in; set HOME or WFR_CONFIG');
  });

  test('config file: WFR_CONFIG names it, and then it must exist', async () => {
    const { home, path } = homeWith('mine.json');
    expect(await usesIt({ env: { WFR_CONFIG: path } })).toBe(true);
    expect(await usesIt({ cwd: home, env: { WFR_CONFIG: 'mine.json' } })).toBe(true);
    expect(await usesIt({ home, env: { WFR_CONFIG: '~/mine.json' } })).toBe(true);
    const none = { WFR_CONFIG: join(home, 'none'), WFR_BASE_URL: CLOSED_URL };
    for (const args of [
      ['status', 'x'],
      ['config', 'check'],
      ['config', 'show'],
    ]) {
      const { exitCode, stderr } = await runCli(args, { env: none });
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`WFR_CONFIG ${none.WFR_CONFIG}: no such file (ENOENT)`);
    }
  });

  test('config file: a folder in its place exits 2', async () => {
    const home = temporaryFolder();
    mkdirSync(join(home, '.config/wfr/config.json'), { recursive: true });
    const { exitCode, stderr } = await runCli(['status', 'x'], {
      home,
      env: { WFR_BASE_URL: CLOSED_URL },
    });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('config.json: it is a folder (EISDIR)');
  });

  test('config path: prints the path to stdout and whether the file exists to stderr', async () => {
    const { home, path } = homeWith('.config/wfr/config.json');
    expect(await runCli(['config', 'path'], { home })).toMatchObject({
      stdout: `${path}\n`,
      stderr: 'The file exists.\n',
      exitCode: 0,
    });
    const missing = join(NO_HOME, '.config', 'wfr', 'config.json');
    const { stdout, stderr, exitCode } = await runCli(['config', 'path']);
    expect({ stdout, stderr, exitCode }).toEqual({
      stdout: `${missing}\n`,
      stderr: 'The file does not exist.\n',
      exitCode: 0,
    });
    expect(await runCli(['config', 'check'])).toMatchObject({
      stdout: '',
      stderr: `There is no config file at ${missing}; none is required.\n`,
      exitCode: 0,
    });
  });
});
