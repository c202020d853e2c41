/** --header-file and headerFile: request headers that are in no argument list. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli, temporaryFolder } from '../helpers/cli.js';
import { writeTestConfig } from '../helpers/config.js';
import { folderWith } from '../helpers/files.js';
import { acceptThenShow, aFinishedRun, aRun, scriptedService } from '../helpers/service.js';

const KEY = 'MARK-key-4711';
const FILE = `\uFEFF# keys\r\n\r\nX-Key: ${KEY}\n  # more\nX-Other:  two words \n`;

describe('--header-file', () => {
  test('--header-file: its headers are sent with every request, and -H overrides them', async () => {
    const service = await scriptedService(acceptThenShow(aRun(), aFinishedRun()));
    const cwd = folderWith({ 'my keys.txt': FILE });
    const args = ['run', 'w', '-v', '--header-file', 'my keys.txt', '-H', 'x-other: three'];
    const { stderr, exitCode } = await runCli(args, { env: { WFR_BASE_URL: service.baseUrl }, cwd });
    expect(exitCode).toBe(0);
    expect(service.requests.length).toBe(3);
    for (const { headers } of service.requests)
      expect(headers).toMatchObject({ 'x-key': KEY, 'x-other': 'three' });
    expect(stderr).toContain("--header-file 'my keys.txt'");
    expect(stderr).not.toContain('MARK');
  });

  test.each<[string, string, string]>([
    ['a line without a name', `ok: 1\n\n${KEY}\n`, 'keys:3: expected "name: value" (the value is not shown'],
    [
      'a header of wfr',
      `Authorization: Bearer ${KEY}\n`,
      'keys:1 Authorization: wfr sets this header itself',
    ],
    [
      'a value that is not ASCII',
      `X-Key: ${KEY}é\n`,
      'keys:1 X-Key: the value contains a line break or a non-ASCII',
    ],
  ])(
    '--header-file: %s exits 2 with the file and line, without the value',
    async (_name, content, message) => {
      const cwd = folderWith({ keys: content });
      const { stderr, exitCode } = await runCli(
        ['run', 'w', '--base-url', 'https://h.example', '--header-file', 'keys'],
        { cwd },
      );
      expect({ exitCode, stderr }).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(message) });
      expect(stderr).not.toContain('MARK');
    },
  );

  test('--header-file: a file that does not exist, and standard input, exit 2', async () => {
    const run = (path: string) =>
      runCli(['run', 'w', '--base-url', 'https://h.example', '--header-file', path]);
    expect(await run('none')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--header-file none: '),
    });
    expect(await run('-')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('the path of a file is required'),
    });
  });
});

describe('headerFile', () => {
  test("headerFile: a profile's headers are read relative to the config file, and sent only to the origin of its base URL", async () => {
    const own = await scriptedService((_request, reply) => reply.send(200, aFinishedRun()));
    const other = await scriptedService((_request, reply) => reply.send(200, aFinishedRun()));
    const profiles = { p: { baseUrl: own.baseUrl, headerFile: 'keys' } };
    const { env, folder, path } = writeTestConfig({ defaultProfile: 'p', profiles });
    writeFileSync(join(folder, 'keys'), FILE);
    const cwd = temporaryFolder();
    await runCli(['status', 'run-1'], { env, cwd });
    await runCli(['status', 'run-1', '--base-url', other.baseUrl], { env, cwd });
    expect(own.requests[0]?.headers).toMatchObject({ 'x-key': KEY });
    expect(other.requests[0]?.headers['x-key']).toBeUndefined();
    writeFileSync(join(folder, 'keys'), KEY);
    const { stderr, exitCode } = await runCli(['status', 'run-1'], { env, cwd });
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('keys:1: expected'),
    });
    expect((await runCli(['config', 'show'], { env })).stdout).toContain(`headerFile`);
    expect(path).toContain(folder);
  });

  test('headerFile: the key itself in place of a path is rejected without being shown', async () => {
    const { env } = writeTestConfig({
      profiles: { p: { baseUrl: 'https://h.example', headerFile: `Bearer ${KEY}` } },
    });
    const { stderr, stdout, exitCode } = await runCli(['config', 'check'], { env });
    expect(exitCode).toBe(2);
    expect(stderr + stdout).not.toContain('MARK');
  });
});
