/** The command line and the help of `wfr config`. */
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SETTINGS } from '../../../src/config/settings-table.js';
import { runCli, temporaryFolder } from '../../helpers/cli.js';
import { CLOSED_URL } from '../../helpers/closed-port.js';
import { writeTestConfig } from '../../helpers/config.js';
import { LACKS } from '../../helpers/system.js';

test.each([['wfr config what'], ['wfr config path extra']])(
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

describe('config init', () => {
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

  /** Runs `wfr config init` in a new folder, below which the config file belongs. */
  async function init(args: readonly string[], env: Record<string, string> = {}) {
    const root = temporaryFolder();
    const options = { env: { XDG_CONFIG_HOME: join(root, 'new', 'settings'), ...env }, cwd: root };
    const path = join(root, 'new', 'settings', 'wfr', 'config.json');
    return { root, path, options, ...(await runCli(['config', 'init', ...args], options)) };
  }

  test('config init: writes a file with the settings of its flags, which only its owner can read', async () => {
    const { root, path, options, ...result } = await init([
      ...['--profile', 'test', '--base-url', 'http://service.internal/v1', '--allow-http'],
      ...['--token-file', 'token', '--header-file', '~/headers', '--timeout', '5m'],
    ]);
    expect(result).toMatchObject({ stdout: `${path}\n`, exitCode: 0 });
    expect(result.stderr).toBe('Created. To add workflows and their parameters, see: wfr help config\n');
    expect(readFileSync(path, 'utf8')).toBe(`{
  "defaultProfile": "test",
  "profiles": {
    "test": {
      "baseUrl": "http://service.internal/v1",
      "tokenFile": ${JSON.stringify(join(root, 'token'))},
      "allowHttp": true,
      "headerFile": "~/headers",
      "timeout": "5m",
      "workflows": {}
    }
  }
}
`);
    const folders = ['new', 'new/settings', 'new/settings/wfr'].map((name) => modeOf(join(root, name)));
    if (!LACKS.fileModes) expect([modeOf(path), ...folders]).toEqual(['600', '700', '700', '700']);
    expect(await runCli(['config', 'check'], options)).toMatchObject({ exitCode: 0, stdout: '' });
    const { stdout } = await runCli(['config', 'show'], options);
    expect(stdout).toMatch(/^baseUrl +http:\/\/service\.internal\/v1 +\(config\.json:\d+\)$/m);
  });

  test('config init: without flags, the file is valid and its base URL is to be set', async () => {
    const { path, options, stderr } = await init([], {
      WFR_BASE_URL: CLOSED_URL,
      WFR_PROFILE: 'x',
    });
    expect(stderr).toContain('Created. Set its baseUrl to the address of your service. ');
    const baseUrl = 'https://workflows.example.com/api/v1';
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      defaultProfile: 'default',
      profiles: { default: { baseUrl, workflows: {} } },
    });
    const env = { XDG_CONFIG_HOME: options.env.XDG_CONFIG_HOME };
    expect(await runCli(['config', 'check'], { env })).toMatchObject({ exitCode: 0 });
  });

  test('config init: WFR_CONFIG names the file', async () => {
    const path = join(temporaryFolder(), 'my.json');
    const { stdout } = await init([], { WFR_CONFIG: path });
    expect(stdout).toBe(`${path}\n`);
    if (!LACKS.fileModes) expect(modeOf(path)).toBe('600');
  });

  test('config init: an existing file is never overwritten, not even an empty one or a link to nothing', async () => {
    const root = temporaryFolder();
    const files = ['full', 'empty', 'folder', 'link'].map((name) => join(root, name));
    const [full = '', empty = '', folder = '', link = ''] = files;
    writeFileSync(full, 'mine');
    writeFileSync(empty, '');
    mkdirSync(folder);
    if (LACKS.symlinks) files.pop();
    else symlinkSync(join(root, 'nothing'), link);
    for (const path of files) {
      const { exitCode, stdout, stderr } = await init([], { WFR_CONFIG: path });
      expect({ exitCode, stdout, stderr }).toEqual({
        exitCode: 2,
        stdout: '',
        stderr: `wfr: error: the config file ${path}: it already exists\n`,
      });
    }
    expect([readFileSync(full, 'utf8'), readFileSync(empty, 'utf8')]).toEqual(['mine', '']);
    expect(() => statSync(join(root, 'nothing'))).toThrow('ENOENT');
  });

  test('config init: a folder that cannot be made exits 2, and an existing one keeps its mode', async () => {
    const root = temporaryFolder();
    writeFileSync(join(root, 'file'), '');
    if (!LACKS.symlinks) symlinkSync('nothing', join(root, 'link'));
    for (const name of LACKS.symlinks ? ['file'] : ['file', 'link']) {
      for (const path of [join(root, name, 'config.json'), join(root, name, 'wfr', 'config.json')]) {
        const { exitCode, stderr } = await init([], { WFR_CONFIG: path });
        expect(exitCode).toBe(2);
        expect(stderr).toContain('a part of the path is not a folder (ENOTDIR)');
      }
    }
    const folder = temporaryFolder();
    chmodSync(folder, 0o755);
    await init([], { WFR_CONFIG: join(folder, 'config.json') });
    if (!LACKS.fileModes) expect(modeOf(folder)).toBe('755');
  });

  test.each<[string[], string]>([
    [['--base-url', 'ftp://h'], '"baseUrl" ftp://h: must begin with https://'],
    [['--base-url', 'https://u:secret@h'], '"baseUrl" https://…@h: must not contain a user name or password'],
    [
      ['--base-url', 'http://h'],
      '"baseUrl" http://h: would send the token unencrypted; use https://, or "allowHttp": true',
    ],
    [['--base-url', ''], '"baseUrl" "": has no scheme'],
    [['--profile', '-x'], '"-x" must be a profile name that is not empty'],
    [['--profile', ''], '"" must be a profile name that is not empty'],
    [['--token-file', '-'], '--token-file -: a profile requires a file'],
    [['--token-file', ''], '"tokenFile" must be the path of a file with the access token'],
    [['--interval', 'soon'], '"interval" must be a duration of at least 1ms, such as "2s"; found "soon"'],
    [
      ['--workflow-id-field', 'x'],
      '"workflowIdField" must be auto, worfklowId, workflowId or both; found "x"',
    ],
  ])('config init: %j exits 2 and writes nothing', async (args, message) => {
    const { exitCode, stderr, path } = await init(args);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(message) });
    expect(() => statSync(path)).toThrow('ENOENT');
  });
});
