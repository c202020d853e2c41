/** Which profile is used, and what it sets. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli } from '../helpers/cli.js';
import { writeTestConfig } from '../helpers/config.js';
import { acceptThenShow, aFinishedRun, aRun, scriptedService } from '../helpers/service.js';

const UUID = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';

describe('the profile', () => {
  test('profile: chosen by --profile, then WFR_PROFILE, then defaultProfile, else none', async () => {
    const { env } = writeTestConfig({ defaultProfile: 'a', profiles: { a: {}, b: {}, c: {} } });
    const chosen = async (args: string[], more = {}) =>
      JSON.parse((await runCli([...args, 'config', 'show', '--json'], { env: { ...env, ...more } })).stdout)
        .profile;
    expect(await chosen([])).toEqual({
      value: 'a',
      source: expect.stringMatching(/^defaultProfile in .*config\.json:2$/),
    });
    expect(await chosen([], { WFR_PROFILE: '' })).toMatchObject({ value: 'a' });
    expect(await chosen([], { WFR_PROFILE: 'b' })).toEqual({ value: 'b', source: 'WFR_PROFILE' });
    expect(await chosen(['--profile', 'c'], { WFR_PROFILE: 'b' })).toEqual({
      value: 'c',
      source: '--profile',
    });
    const none = writeTestConfig({ profiles: { a: { baseUrl: 'https://h.example' } } });
    const { exitCode, stderr } = await runCli(['status', 'x'], { env: none.env });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('no base URL: set WFR_BASE_URL or pass --base-url');
    expect(stderr).toContain('--profile');
  });

  test('profile: a beginning of a workflow name suggests the one that has it, and none of several', async () => {
    const suggestFor = async (...names: string[]) => {
      const workflows = Object.fromEntries(names.map((name) => [name, UUID]));
      const profile = { baseUrl: 'https://h.example', workflows };
      const { env } = writeTestConfig({ defaultProfile: 'a', profiles: { a: profile } });
      return (await runCli(['run', 'inv', 'x=1'], { env })).stderr;
    };
    expect(await suggestFor('invoice-germany', 'claims')).toContain('did you mean invoice-germany?');
    expect(await suggestFor('invoice-germany', 'invoice-france')).toContain(
      'choose one of invoice-germany, invoice-france',
    );
  });

  test.each([
    ['invoce', 'did you mean invoice?'],
    ['Claims', 'did you mean claims?'],
    ['constructor', 'choose one of invoice, claims'],
    ['__proto__', 'choose one of invoice, claims'],
    ['https://h.example/invoice', 'choose one of invoice, claims'],
    [`${UUID}0`, 'choose one of invoice, claims'],
  ])('profile: the unknown workflow name %s exits 2 and sends nothing', async (workflow, suggestion) => {
    const { baseUrl, requests } = await scriptedService(acceptThenShow(aFinishedRun()));
    const workflows = { invoice: UUID, claims: { id: UUID } };
    const { env } = writeTestConfig({ defaultProfile: 'a', profiles: { a: { baseUrl, workflows } } });
    const message = `wfr: error: ${workflow}: no workflow of profile a, and no UUID; ${suggestion}\n`;
    const commands = [
      ['run', workflow, '-q'],
      ['run', workflow, '--dry-run'],
      ['batch', workflow, '--each', 'x', '/dev/null'],
      ['batch', workflow, '--each', 'x', '/dev/null', '--check'],
    ];
    for (const args of commands)
      expect(await runCli(args, { env })).toMatchObject({ stderr: message, exitCode: 2 });
    expect(requests).toEqual([]);
  });

  test('profile: a name, an object with it, a UUID and a URL with one are sent as UUID', async () => {
    const workflows = { invoice: UUID, claims: { id: UUID.toUpperCase() } };
    const profile = { baseUrl: 'https://h.example', workflows };
    const { env } = writeTestConfig({ defaultProfile: 'a', profiles: { a: profile } }, { WFR_TOKEN: 't' });
    const other = '0b8f6c1e-2f57-4a53-9a8e-3d2f4c5b6a79';
    for (const [workflow, id] of [
      ['invoice', UUID],
      ['claims', UUID.toUpperCase()],
      [other, other],
      [other.toUpperCase(), other.toUpperCase()],
      [`https://h.example/w/${other}/edit`, other],
    ] as const) {
      const { stdout, stderr } = await runCli(['run', '--dry-run', workflow], { env });
      expect({ id: JSON.parse(stdout).body.workflowId, stderr }).toEqual({ id, stderr: '' });
    }
  });

  test.each(['run', 'status', 'watch'])(
    'profile: an unknown one makes wfr %s exit 2 and list the profiles of the file',
    async (command) => {
      const { env, path } = writeTestConfig({ profiles: { a: {}, b: {} } });
      const stderrOf = async (args: string[], more = {}) => {
        const { exitCode, stderr } = await runCli([command, 'x', ...args], { env: { ...env, ...more } });
        expect(exitCode).toBe(2);
        return stderr;
      };
      expect(await stderrOf(['--profile', 'nope'])).toBe(
        `wfr: error: --profile nope: there is no such profile in ${path}; it has a, b\n`,
      );
      expect(await stderrOf([], { WFR_PROFILE: 'toString' })).toBe(
        `wfr: error: WFR_PROFILE toString: there is no such profile in ${path}; it has a, b\n`,
      );
      expect(await stderrOf(['--profile', ''])).toContain('--profile "": there is no such profile');
      const missing = join('/no-such-folder', 'wfr', 'config.json');
      expect(await stderrOf(['--profile', 'a'], { XDG_CONFIG_HOME: '/no-such-folder' })).toBe(
        `wfr: error: --profile a: there is no config file ${missing}; see wfr help config\n`,
      );
      expect(await stderrOf(['--profile', 'a'], writeTestConfig({}).env)).toMatch(
        /--profile a: there is no such profile in .*config\.json; it has none/,
      );
    },
  );

  test('profile: sets the base URL, the workflow id field, the intervals and the workflow names', async () => {
    const service = await scriptedService(acceptThenShow(aRun(), aRun(), aFinishedRun()));
    const { env } = writeTestConfig({
      defaultProfile: 'p',
      profiles: {
        p: {
          baseUrl: service.baseUrl,
          workflowIdField: 'workflowId',
          interval: '3s',
          maxInterval: '4s',
          workflows: { invoice: UUID },
        },
      },
    });
    const { exitCode, clock } = await runCli(['run', 'invoice', 'a=1'], { env });
    expect(exitCode).toBe(0);
    expect(JSON.parse(String(await service.requests[0]?.body()))).toEqual({
      workflowId: UUID,
      inputs: { a: '1' },
    });
    expect(clock.sleeps).toEqual([3000, 3000, 4000]);
  });

  test('profile: its timeout ends the wait, and the resume command repeats --profile only if it was given', async () => {
    const service = await scriptedService((_request, reply) => reply.send(200, aRun()));
    const { env } = writeTestConfig({ profiles: { 'my own': { baseUrl: service.baseUrl, timeout: '5s' } } });
    const flagged = await runCli(['watch', 'run-1', '--profile', 'my own'], { env });
    expect(flagged).toMatchObject({
      exitCode: 8,
      stderr: expect.stringContaining("To watch it: wfr watch --profile 'my own' run-1\n"),
    });
    const named = await runCli(['watch', 'run-1'], { env: { ...env, WFR_PROFILE: 'my own' } });
    expect(named).toMatchObject({
      exitCode: 8,
      stderr: expect.stringContaining('To watch it: wfr watch run-1\n'),
    });
  });

  test('profile: resolves its own workflow names and no others', async () => {
    const { env } = writeTestConfig({
      defaultProfile: 'a',
      profiles: {
        a: { baseUrl: 'https://h.example', workflows: { invoice: UUID } },
        b: { baseUrl: 'https://h.example' },
      },
    });
    const sent = async (...args: string[]) =>
      JSON.parse((await runCli(['run', '--dry-run', ...args], { env })).stdout).body.workflowId;
    expect(await sent('invoice')).toBe(UUID);
    for (const other of ['invoice', 'constructor', '__proto__', 'toString'])
      expect(await sent(other, '--profile', 'b')).toBe(other);
  });
});
