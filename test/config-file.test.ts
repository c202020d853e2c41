/** The config file: what is wrong in it, which profile is used, and what wins. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli, temporaryFolder, type World } from './helpers/cli.js';
import { configWorld } from './helpers/config.js';
import { acceptsAndShows, aFinishedRun, aRun, scriptedService } from './helpers/service.js';

const UUID = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';

/** A file with one profile `p` that says so much. */
const profile = (settings: string) => `{"profiles": {"p": ${settings}}}`;
const AT_SERVICE = '"baseUrl": "https://h.example"';

const SECRET =
  'holds a secret, and this file is no place for one; keep it in a file of its own and name that in "tokenFile", or let "tokenCommand" print it';

type Mistaken = [name: string, text: string | Buffer, ...mistakes: string[]];

const BROKEN: Mistaken[] = [
  ['an empty file', '', '1:1: the file is empty; write {"profiles": {}}'],
  [
    'a list',
    '[]',
    '1:1: the file holds a list and should hold an object with profiles; write {"profiles":{}}',
  ],
  [
    'a file that was cut off',
    '{\n  "profiles": {',
    '2:16: not JSON: it ends too early; the file may have been cut off: close what is open',
  ],
  [
    'a comment',
    '{\n  // mine\n}',
    '2:3: not JSON: expected a name in double quotes, or }; JSON has no comments: remove this one',
  ],
  [
    'a comma too many',
    '{\n  "profiles": {},\n}',
    '3:1: not JSON: expected a name in double quotes; remove the comma before it, or add what should follow',
  ],
  [
    'a missing comma',
    '{"$schema": "x" "profiles": {}}',
    '1:17: not JSON: expected a comma or the end of the list; write a comma before it',
  ],
  [
    'single quotes',
    "{'profiles': {}}",
    '1:2: not JSON: expected a name in double quotes, or }; write text in double quotes',
  ],
  [
    'a bare word',
    '{profiles: {}}',
    '1:2: not JSON: expected a name in double quotes, or }; write text and names in double quotes',
  ],
  ['a second value', '{}\n{}', '2:1: not JSON: expected nothing more; remove what follows the object'],
  [
    'text without end',
    '{"$schema": "x}',
    '1:13: not JSON: a string without end; close it with a double quote',
  ],
  [
    'a path of Windows',
    '{"$schema": "C:\\wfr"}',
    '1:16: not JSON: an unknown escape in a string; write \\\\ for a backslash',
  ],
  ['Latin-1', Buffer.from('{\n "$schema": "\xe4"}', 'latin1'), '2:14: not UTF-8; save the file as UTF-8'],
  [
    'half a character',
    '{"$schema": "\\ud800"}',
    '1:13: half of a surrogate pair, which is no text; write the whole character',
  ],
  ['a name twice', '{\n  "profiles": {},\n  "profiles": {}\n}', '3:3: "profiles" stands twice; remove one'],
  [
    'an unknown setting',
    profile('{\n"color": 1}'),
    '2:1: unknown setting "color"; there are baseUrl, tokenFile, tokenCommand, allowHttp, workflowIdField, resend503, interval, maxInterval, timeout, workflows',
  ],
  [
    'a setting in another spelling',
    profile('{"base_url": ""}'),
    '1:21: unknown setting "base_url"; did you mean "baseUrl"?',
  ],
  [
    'a setting outside a profile',
    '{"interval": "2s"}',
    '1:2: "interval" belongs into a profile; write {"profiles": {"<name>": {"interval": ...}}}',
  ],
  [
    'names of every object',
    '{"constructor": 1, "__proto__": 2}',
    '1:2: unknown setting "constructor"; there are $schema, defaultProfile, profiles',
    '1:20: unknown setting "__proto__"; there are $schema, defaultProfile, profiles',
  ],
  [
    'an unknown default',
    '{"defaultProfile": "q", "profiles": {"a": {}, "b": {}}}',
    '1:20: there is no profile "q"; there are a, b',
  ],
  [
    'a default without profiles',
    '{"defaultProfile": "toString"}',
    '1:20: there is no profile "toString"; there is none',
  ],
  [
    'a default that is no text',
    '{"defaultProfile": 1}',
    '1:20: "defaultProfile" holds a number and should hold the name of a profile; write "defaultProfile": "production"',
  ],
  [
    'a profile that is no object',
    profile('"x"'),
    '1:20: "p" holds text and should hold a profile; write "p": {"baseUrl":"https://workflows.example.com/api/v1"}',
  ],
  [
    'a profile that looks like a flag',
    '{"profiles": {"-p": {}}}',
    '1:15: "-p" is not a name for a profile (some text that does not begin with -); write one such as "production"',
  ],
  [
    'an address without scheme',
    profile('{"baseUrl": "h.example/v1"}'),
    '1:32: "baseUrl" h.example/v1: has no scheme; write https://h.example/v1',
  ],
  ['an empty address', profile('{"baseUrl": ""}'), '1:32: "baseUrl" "": has no scheme; write https://'],
  [
    'http to elsewhere',
    profile('{"baseUrl": "http://10.0.0.1"}'),
    '1:32: "baseUrl" http://10.0.0.1: would send the token unencrypted; use https://, or "allowHttp": true on a private network',
  ],
  [
    'user info',
    profile('{"baseUrl": "https://joe:s3cret@h"}'),
    '1:32: "baseUrl" https://…@h: must not hold a user name or password; put the token into WFR_TOKEN or a file',
  ],
  ['a token', profile('{"token": "s3cret"}'), `1:21: "token" ${SECRET}`],
  ['an access token', `{"accessToken": "s3cret"}`, `1:2: "accessToken" ${SECRET}`],
  ['a password', profile('{"password": "s3cret"}'), `1:21: "password" ${SECRET}`],
  ['a token in another spelling', '{"api-key": "s3cret"}', `1:2: "api-key" ${SECRET}`],
  ['a token among workflows', profile('{"workflows": {"token": "s3cret"}}'), `1:44: "token" ${SECRET}`],
  [
    'a setting of tokens in another spelling',
    profile('{"token-file": "x"}'),
    '1:21: unknown setting "token-file"; did you mean "tokenFile"?',
  ],
  [
    'a profile of a number',
    '{"profiles": {"1": 2}}',
    '1:20: "1" holds a number and should hold a profile; write "1": {"baseUrl":"https://workflows.example.com/api/v1"}',
  ],
  ['an Authorization', profile('{"Authorization": "Bearer s3cret"}'), `1:21: "Authorization" ${SECRET}`],
  ['headers with a token', profile('{"headers": {"authorization": "s3cret"}}'), `1:21: "headers" ${SECRET}`],
  [
    'a token in place of its file',
    profile(`{${AT_SERVICE}, "tokenFile": "eyJs3cret.x"}`),
    `1:66: "tokenFile" ${SECRET}`,
  ],
  ...[
    'Bearer s3cret',
    'ghp_s3cret0123456789',
    'gho_s3cret0123456789',
    'github_pat_s3cret0123456789_abc',
    'glpat-s3cret0123456789-a',
    'sk-s3cret-0123456789-0123456789',
    'xoxb-s3cret-0123456789',
    'https://user:s3cret@h.example/',
  ].flatMap((secret): Mistaken[] => [
    [
      `${secret} in place of a file`,
      profile(`{${AT_SERVICE}, "tokenFile": "${secret}"}`),
      `1:66: "tokenFile" ${SECRET}`,
    ],
    [
      `${secret} as a word of a command`,
      profile(`{${AT_SERVICE}, "tokenCommand": ["echo", "${secret}"]}`),
      `1:78: "tokenCommand" ${SECRET}`,
    ],
  ]),
  ...[
    '--header=Authorization: Bearer s3cret-token',
    'TOKEN=ghp_s3cret0123456789 x',
    "echo a\\necho 'eyJs3cret.eyJs3cret.s'",
    'curl \\"https://user:s3cret@h.example/\\"',
  ].map(
    (script): Mistaken => [
      `a script with a token (${script})`,
      profile(`{${AT_SERVICE}, "tokenCommand": ["sh", "-c", "${script}"]}`),
      `1:82: "tokenCommand" ${SECRET}`,
    ],
  ),
  [
    'a token in a command',
    profile(`{${AT_SERVICE}, "tokenCommand": ["curl", "-H", "Authorization: s3cret"]}`),
    `1:84: "tokenCommand" ${SECRET}`,
  ],
  [
    'an empty command',
    profile(`{${AT_SERVICE}, "tokenCommand": []}`),
    '1:69: "tokenCommand" is not a list of a command and its arguments; write "tokenCommand": ["pass","show","workflows"]',
  ],
  [
    'a command line',
    profile(`{${AT_SERVICE}, "tokenCommand": "pass show s3cret"}`),
    '1:69: "tokenCommand" holds text and should hold a list of a command and its arguments; write "tokenCommand": ["pass","show","workflows"]',
  ],
  [
    'a number in a command',
    profile(`{${AT_SERVICE}, "tokenCommand": ["pass", 3]}`),
    '1:78: "tokenCommand" holds a number and should hold a word of a command; write "pass"',
  ],
  [
    'two sources of a token',
    profile(`{${AT_SERVICE}, "tokenCommand": ["x"], "tokenFile": "y"}`),
    '1:76: "tokenFile" and "tokenCommand" exclude each other; remove one',
  ],
  [
    'a guarantee of no service',
    profile('{"resend503": true}'),
    '1:21: "resend503" holds for one service alone; write its "baseUrl" beside it',
  ],
  [
    'a token for nobody',
    profile('{"tokenFile": "x"}'),
    '1:21: "tokenFile" holds for one service alone; write its "baseUrl" beside it',
  ],
  [
    'an interval that is none',
    profile('{"interval": "2 s"}'),
    '1:33: "interval": "2 s" is not a duration of at least 1ms; write "interval": "2s"',
  ],
  [
    'an interval of nothing',
    profile('{"maxInterval": "0s"}'),
    '1:36: "maxInterval": "0s" is not a duration of at least 1ms; write "maxInterval": "10s"',
  ],
  [
    'a bare number of seconds',
    profile('{"timeout": 60}'),
    '1:32: "timeout" holds a number and should hold a duration; write "timeout": "10m"',
  ],
  [
    'a null',
    profile('{"timeout": null}'),
    '1:32: "timeout" holds null and should hold a duration; write "timeout": "10m"',
  ],
  [
    'an unknown spelling',
    profile('{"workflowIdField": "id"}'),
    '1:40: "workflowIdField": "id" is not auto, worfklowId, workflowId or both; write "workflowIdField": "auto"',
  ],
  [
    'text for a truth',
    profile(`{${AT_SERVICE}, "allowHttp": "yes"}`),
    '1:66: "allowHttp" holds text and should hold true or false; write "allowHttp": true',
  ],
  [
    'a workflow that is no UUID',
    profile('{"workflows": {"a": "b"}}'),
    `1:40: "a": "b" is not the UUID of a workflow; write "a": "${UUID}"`,
  ],
  [
    'a name like a UUID',
    profile(`{"workflows": {"${UUID.replaceAll('-', '')}": "${UUID}"}}`),
    `1:35: "${UUID.replaceAll('-', '')}" is not a name for a workflow (some text that looks like no UUID, no URL and no flag); write one such as "invoice"`,
  ],
  [
    'a name like a URL',
    profile(`{"workflows": {"https://h/w": "${UUID}"}}`),
    '1:35: "https://h/w" is not a name for a workflow (some text that looks like no UUID, no URL and no flag); write one such as "invoice"',
  ],
  [
    'a name with signs',
    profile('{"workflows": {"a/b~c d%23#ä": 1}}'),
    `1:51: "a/b~c d%23#ä" holds a number and should hold the UUID of a workflow; write "a/b~c d%23#ä": "${UUID}"`,
  ],
  [
    'mistakes everywhere',
    '{\r\n"x": 1,\r\n"profiles": {"p": {"timeout": "",\r\n "timeout": "x", "color": 1}}\r\n}',
    '2:1: unknown setting "x"; there are $schema, defaultProfile, profiles',
    '4:2: "timeout" stands twice; remove one',
    '4:13: "timeout": "x" is not a duration; write "timeout": "10m"',
    '4:18: unknown setting "color"; there are baseUrl, tokenFile, tokenCommand, allowHttp, workflowIdField, resend503, interval, maxInterval, timeout, workflows',
  ],
];

describe('a file with', () => {
  test.each(BROKEN)(
    '%s is answered by place and mend, and nothing is sent',
    async (_name, text, ...mistakes) => {
      const service = await scriptedService((_request, reply) => reply.send(200, aFinishedRun()));
      const { env, path } = configWorld(text, { WFR_BASE_URL: service.baseUrl });
      const lines = mistakes.map((mistake) => `${path}:${mistake}`);
      const checked = await runCli(['config', 'check'], { env });
      expect(checked).toMatchObject({ stdout: `${lines.join('\n')}\n`, stderr: '', exitCode: 2 });
      for (const args of [
        ['run', 'w'],
        ['run', 'w', '--dry-run'],
        ['status', 'run-1'],
        ['watch', 'run-1'],
        ['config', 'show'],
      ]) {
        const { stdout, stderr, exitCode } = await runCli(args, { env });
        expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
        expect(stderr).toBe(`wfr: ${lines.join('\n  ')}\n  See: wfr help config\n`);
        expect(stderr).not.toContain('s3cret');
      }
      expect(service.requests).toEqual([]);
    },
  );

  test.each([
    ['--help'],
    ['--version'],
    ['help', 'run'],
    ['help', 'environment'],
    ['config', 'path'],
    ['config', '--help'],
    ['sandbox', '--list'],
  ])('any mistake does not keep wfr %s %s from answering', async (...args) => {
    const { env } = configWorld('{');
    expect(
      (
        await runCli(
          args.filter((arg) => arg !== undefined),
          { env },
        )
      ).exitCode,
    ).toBe(0);
  });

  test.each([
    ...[
      'pass show github_pat_workflows',
      'cat /secrets/sk-prod-2024-workflow-service-1',
      'task-force-1-of-the-very-many-3',
      "sed 's/^[Bb]earer //'",
      'curl https://user:$PASSWORD@h.example/ https://h.example:8080/x@y',
    ].map((word) => [
      `a word that only looks like a token (${word})`,
      profile(`{${AT_SERVICE}, "tokenCommand": ["sh", "-c", "${word}"]}`),
    ]),
    ['a file named like a token', profile(`{${AT_SERVICE}, "tokenFile": "~/.secrets/ghp_0123456789ab"}`)],
    ['nothing in it', '{}'],
    ['a byte order mark', '\ufeff{"profiles": {}}'],
    ['a schema', '{"$schema": "./config.schema.json"}'],
    [
      'a name of every object',
      '{"defaultProfile": "constructor", "profiles": {"constructor": {}, "__proto__": {}}}',
    ],
    [
      'all there is',
      profile(
        `{${AT_SERVICE}, "tokenFile": "x", "allowHttp": false, "workflowIdField": "both", "resend503": true, "interval": ".5", "maxInterval": "1.5m", "timeout": "0", "workflows": {"a": "${UUID.toUpperCase()}"}}`,
      ),
    ],
  ])('%s is right', async (_name, text) => {
    const { env } = configWorld(text);
    const well = {
      stdout: '',
      stderr: expect.stringMatching(/^There is no mistake in .*\.json\.\n$/),
      exitCode: 0,
    };
    expect(await runCli(['config', 'check'], { env })).toMatchObject(well);
    expect(await runCli(['config', 'check', '--profile', 'nope'], { env })).toMatchObject({
      stderr: expect.stringContaining('--profile nope: there '),
      exitCode: 2,
    });
    expect((await runCli(['config', 'show'], { env })).exitCode).toBe(0);
  });
});

describe('the place of the file', () => {
  const file = { profiles: { p: { timeout: '1m' } } };
  const usesIt = async (world: World) =>
    (await runCli(['config', 'show', '--profile', 'p'], world)).exitCode === 0;

  /** A home folder with a config file at `parts`. */
  function homeWith(...parts: string[]) {
    const home = temporaryFolder();
    const path = join(home, ...parts);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(file));
    return { home, path };
  }

  test('is ~/.config, XDG_CONFIG_HOME if that is absolute, and APPDATA on Windows alone', async () => {
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

  test('is never the working folder, also for a user without a home', async () => {
    const { home } = homeWith('.config/wfr/config.json');
    expect(await usesIt({ home: '', cwd: home })).toBe(false);
    const { exitCode, stderr } = await runCli(['config', 'path'], { home: '', cwd: home });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('there is no home folder to look for a config file in; set HOME or WFR_CONFIG');
  });

  test('is what WFR_CONFIG says, which then has to be there', async () => {
    const { home, path } = homeWith('mine.json');
    expect(await usesIt({ env: { WFR_CONFIG: path } })).toBe(true);
    expect(await usesIt({ cwd: home, env: { WFR_CONFIG: 'mine.json' } })).toBe(true);
    expect(await usesIt({ home, env: { WFR_CONFIG: '~/mine.json' } })).toBe(true);
    const none = { WFR_CONFIG: join(home, 'none'), WFR_BASE_URL: 'http://127.0.0.1:1' };
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

  test('may not be taken by something that cannot be read', async () => {
    const home = temporaryFolder();
    mkdirSync(join(home, '.config/wfr/config.json'), { recursive: true });
    const { exitCode, stderr } = await runCli(['status', 'x'], {
      home,
      env: { WFR_BASE_URL: 'http://127.0.0.1:1' },
    });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('config.json: it is a directory (EISDIR)');
  });

  test('is printed by wfr config path, with a word on whether it exists', async () => {
    const { home, path } = homeWith('.config/wfr/config.json');
    expect(await runCli(['config', 'path'], { home })).toMatchObject({
      stdout: `${path}\n`,
      stderr: 'The file exists.\n',
      exitCode: 0,
    });
    const { stdout, stderr, exitCode } = await runCli(['config', 'path']);
    expect({ stdout, stderr, exitCode }).toEqual({
      stdout: '/dev/null/home/.config/wfr/config.json\n',
      stderr: 'There is no such file yet.\n',
      exitCode: 0,
    });
    expect(await runCli(['config', 'check'])).toMatchObject({
      stdout: '',
      stderr: 'There is no /dev/null/home/.config/wfr/config.json, and none is needed.\n',
      exitCode: 0,
    });
  });
});

describe('the profile', () => {
  test('is the one of --profile, else of WFR_PROFILE, else the default, else none', async () => {
    const { env } = configWorld({ defaultProfile: 'a', profiles: { a: {}, b: {}, c: {} } });
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
      source: 'flag --profile',
    });
    const none = configWorld({ profiles: { a: { baseUrl: 'https://h.example' } } });
    const { exitCode, stderr } = await runCli(['status', 'x'], { env: none.env });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('no base URL: set WFR_BASE_URL or give --base-url');
    expect(stderr).toContain('or choose a --profile');
  });

  test('warns of a workflow that is none of its names, and sends it as it stands', async () => {
    const { baseUrl, posts } = await scriptedService(acceptsAndShows(aFinishedRun()));
    const workflows = { invoice: UUID, claims: UUID };
    const { env } = configWorld({ defaultProfile: 'a', profiles: { a: { baseUrl, workflows } } });
    const said = async (workflow: string) => (await runCli(['run', workflow, '-q'], { env })).stderr;
    expect(await said('invoce')).toContain(
      'warning: invoce is sent as it stands: it is no UUID, and none of the names in profile a (invoice, claims)\n',
    );
    expect(JSON.parse(String(await posts()[0]?.body())).workflowId).toBe('invoce');
    for (const known of ['invoice', UUID, `https://h.example/w/${UUID}`])
      expect(await said(known)).not.toContain('warning');
  });

  test.each(['run', 'status', 'watch'])(
    'that there is not is a mistake of wfr %s that lists those there are',
    async (command) => {
      const { env, path } = configWorld({ profiles: { a: {}, b: {} } });
      const complaint = async (args: string[], more = {}) => {
        const { exitCode, stderr } = await runCli([command, 'x', ...args], { env: { ...env, ...more } });
        expect(exitCode).toBe(2);
        return stderr;
      };
      expect(await complaint(['--profile', 'nope'])).toBe(
        `wfr: --profile nope: there is no such profile in ${path}; choose one of a, b\n`,
      );
      expect(await complaint([], { WFR_PROFILE: 'toString' })).toBe(
        `wfr: WFR_PROFILE toString: there is no such profile in ${path}; choose one of a, b\n`,
      );
      expect(await complaint(['--profile', ''])).toContain('--profile "": there is no such profile');
      expect(await complaint(['--profile', 'a'], { XDG_CONFIG_HOME: '/nonexistent' })).toBe(
        'wfr: --profile a: there is no config file /nonexistent/wfr/config.json; see wfr help config\n',
      );
      expect(await complaint(['--profile', 'a'], configWorld({}).env)).toMatch(
        /--profile a: there are no profiles in .*config\.json/,
      );
    },
  );

  test('says where the service is, how its field is spelled, and how long to wait', async () => {
    const service = await scriptedService(acceptsAndShows(aRun(), aRun(), aFinishedRun()));
    const { env } = configWorld({
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

  test('ends the waiting where it has a timeout, and is named in the command that goes on if a flag named it', async () => {
    const service = await scriptedService((_request, reply) => reply.send(200, aRun()));
    const { env } = configWorld({ profiles: { 'my own': { baseUrl: service.baseUrl, timeout: '5s' } } });
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

  test('gives names to workflows, and only those', async () => {
    const { env } = configWorld({
      defaultProfile: 'a',
      profiles: {
        a: { baseUrl: 'https://h.example', workflows: { invoice: UUID } },
        b: { baseUrl: 'https://h.example' },
      },
    });
    const sent = async (...args: string[]) =>
      JSON.parse((await runCli(['run', '--dry-run', ...args], { env })).stdout).body.workflowId;
    expect(await sent('invoice')).toBe(UUID);
    for (const other of ['Invoice', 'constructor', '__proto__', 'toString'])
      expect(await sent(other)).toBe(other);
    expect(await sent('invoice', '--profile', 'b')).toBe('invoice');
  });
});
