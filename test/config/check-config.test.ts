import { describe, expect, test } from 'vitest';
import { runCli } from '../helpers/cli.js';
import { writeTestConfig } from '../helpers/config.js';
import { problemBlock } from '../helpers/error-data.js';
import { aFinishedRun, scriptedService } from '../helpers/service.js';

const UUID = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';

/** Returns a config file with one profile `p` with these settings. */
const profile = (settings: string) => `{"profiles": {"p": ${settings}}}`;
const AT_SERVICE = '"baseUrl": "https://h.example"';

const SECRET =
  'appears to contain a secret; set "tokenFile" to a file that contains it, or "tokenCommand" to a command that prints it';

type InvalidFile = [name: string, text: string | Buffer, ...errors: string[]];

const INVALID_FILES: InvalidFile[] = [
  ['an empty file', '', '1:1: the file is empty; expected a JSON object'],
  ['a list', '[]', '1:1: the file must be an object with profiles, such as {"profiles": {}}; found a list'],
  ['a truncated file', '{\n  "profiles": {', '2:16: not JSON: unexpected end'],
  [
    'a comment',
    '{\n  // mine\n}',
    '2:3: not JSON: expected a name in double quotes, or }; JSON has no comments: remove this one',
  ],
  [
    'a trailing comma',
    '{\n  "profiles": {},\n}',
    '3:1: not JSON: expected a name in double quotes; remove this bracket or the comma before it, or add what is missing',
  ],
  ['a missing comma', '{"$schema": "x" "profiles": {}}', '1:17: not JSON: expected a comma or }'],
  ['a missing comma of a list', '{"profiles": [{"a": 1} 2]}', '1:24: not JSON: expected a comma or ]'],
  ['a missing comma after a list', '{"profiles": [{}] 2}', '1:19: not JSON: expected a comma or }'],
  [
    'single quotes',
    "{'profiles': {}}",
    '1:2: not JSON: expected a name in double quotes, or }; write text and names in double quotes',
  ],
  [
    'a bare word',
    '{profiles: {}}',
    '1:2: not JSON: expected a name in double quotes, or }; write text and names in double quotes',
  ],
  ['a second value', '{}\n{}', '2:1: not JSON: expected the end'],
  ['an unterminated string', '{"$schema": "x}', '1:13: not JSON: unterminated string'],
  [
    'a Windows path with single backslashes',
    '{"$schema": "C:\\wfr"}',
    '1:16: not JSON: invalid escape in a string; write \\\\ for a backslash',
  ],
  ['Latin-1', Buffer.from('{\n "$schema": "\xe4"}', 'latin1'), '2:14: not UTF-8; save the file as UTF-8'],
  ['an unpaired surrogate', '{"$schema": "\\ud800"}', '1:13: unpaired surrogate in a string'],
  [
    'a duplicate name',
    '{\n  "profiles": {},\n  "profiles": {}\n}',
    '3:3: duplicate name "profiles"; remove one of the two',
  ],
  [
    'an unknown setting',
    profile('{\n"color": 1}'),
    '2:1: unknown key "color"; expected baseUrl, tokenFile, tokenCommand, allowHttp, headerFile, caFile, certFile, keyFile, runUrl, workflowIdField, resend503, interval, maxInterval, timeout, workflows',
  ],
  [
    'a misspelled setting',
    profile('{"base_url": ""}'),
    '1:21: unknown key "base_url"; did you mean "baseUrl"?',
  ],
  [
    'a setting outside a profile',
    '{"interval": "2s"}',
    '1:2: unknown key "interval"; expected $schema, defaultProfile, profiles',
  ],
  [
    'a setting with a typo',
    profile('{"timout": "1m"}'),
    '1:21: unknown key "timout"; did you mean "timeout"?',
  ],
  [
    'an unknown setting named like an object property',
    '{"constructor": 1, "__proto__": 2}',
    '1:2: unknown key "constructor"; expected $schema, defaultProfile, profiles',
    '1:20: unknown key "__proto__"; expected $schema, defaultProfile, profiles',
  ],
  [
    'an unknown default profile',
    '{"defaultProfile": "q", "profiles": {"a": {}, "b": {}}}',
    '1:20: unknown profile "q"; choose one of a, b',
  ],
  [
    'a default profile in a file without profiles',
    '{"defaultProfile": "toString"}',
    '1:20: unknown profile "toString"; the file has no profiles',
  ],
  [
    'a default profile that is not a string',
    '{"defaultProfile": 1}',
    '1:20: "defaultProfile" must be the name of a profile; found a number',
  ],
  [
    'a profile that is not an object',
    profile('"x"'),
    '1:20: "p" must be a profile, such as {"baseUrl": "https://workflows.example.com/api/v1"}; found a string',
  ],
  [
    'a profile name that looks like a flag',
    '{"profiles": {"-p": {}}}',
    '1:15: "-p" must be a profile name that is not empty and does not start with "-"',
  ],
  [
    'a base URL without a scheme',
    profile('{"baseUrl": "h.example/v1"}'),
    '1:32: "baseUrl" h.example/v1: has no scheme; use https://h.example/v1',
  ],
  ['an empty base URL', profile('{"baseUrl": ""}'), '1:32: "baseUrl" "": has no scheme; use https://'],
  [
    'a base URL with http to another host',
    profile('{"baseUrl": "http://10.0.0.1"}'),
    '1:32: "baseUrl" http://10.0.0.1: would send the token unencrypted; use https://, or "allowHttp": true on a private network',
  ],
  [
    'a base URL with user info',
    profile('{"baseUrl": "https://joe:s3cret@h"}'),
    '1:32: "baseUrl" https://…@h: must not contain a user name or password',
  ],
  ['a setting named token', profile('{"token": "s3cret"}'), `1:21: "token" ${SECRET}`],
  ['a setting named accessToken', `{"accessToken": "s3cret"}`, `1:2: "accessToken" ${SECRET}`],
  ['a setting named password', profile('{"password": "s3cret"}'), `1:21: "password" ${SECRET}`],
  ['a setting named api-key', '{"api-key": "s3cret"}', `1:2: "api-key" ${SECRET}`],
  ['a workflow named token', profile('{"workflows": {"token": "s3cret"}}'), `1:44: "token" ${SECRET}`],
  [
    'a misspelled tokenFile',
    profile('{"token-file": "x"}'),
    '1:21: unknown key "token-file"; did you mean "tokenFile"?',
  ],
  [
    'a profile that is a number',
    '{"profiles": {"1": 2}}',
    '1:20: "1" must be a profile, such as {"baseUrl": "https://workflows.example.com/api/v1"}; found a number',
  ],
  [
    'a setting named Authorization',
    profile('{"Authorization": "Bearer s3cret"}'),
    `1:21: "Authorization" ${SECRET}`,
  ],
  [
    'headers that include Authorization',
    profile('{"headers": {"authorization": "s3cret"}}'),
    `1:21: "headers" ${SECRET}`,
  ],
  [
    'a JWT as tokenFile',
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
  ].flatMap((secret): InvalidFile[] => [
    [
      `${secret} as tokenFile`,
      profile(`{${AT_SERVICE}, "tokenFile": "${secret}"}`),
      `1:66: "tokenFile" ${SECRET}`,
    ],
    [
      `${secret} in tokenCommand`,
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
    (script): InvalidFile => [
      `a token in a script of tokenCommand (${script})`,
      profile(`{${AT_SERVICE}, "tokenCommand": ["sh", "-c", "${script}"]}`),
      `1:82: "tokenCommand" ${SECRET}`,
    ],
  ),
  [
    'an Authorization header in tokenCommand',
    profile(`{${AT_SERVICE}, "tokenCommand": ["curl", "-H", "Authorization: s3cret"]}`),
    `1:84: "tokenCommand" ${SECRET}`,
  ],
  [
    'an empty tokenCommand',
    profile(`{${AT_SERVICE}, "tokenCommand": []}`),
    '1:69: "tokenCommand" must be a list of a command and its arguments, such as ["pass", "show", "workflows"]; found []',
  ],
  [
    'a tokenCommand that is a string',
    profile(`{${AT_SERVICE}, "tokenCommand": "pass show s3cret"}`),
    '1:69: "tokenCommand" must be a list of a command and its arguments, such as ["pass", "show", "workflows"]; found a string',
  ],
  [
    'a number in tokenCommand',
    profile(`{${AT_SERVICE}, "tokenCommand": ["pass", 3]}`),
    '1:78: each of "tokenCommand" must be a string; found a number',
  ],
  [
    'both tokenFile and tokenCommand',
    profile(`{${AT_SERVICE}, "tokenCommand": ["x"], "tokenFile": "y"}`),
    '1:76: "tokenFile" and "tokenCommand" cannot be used together',
  ],
  [
    'a tokenFile without a baseUrl',
    profile('{"tokenFile": "x"}'),
    '1:21: "tokenFile" requires "baseUrl" in the same profile',
  ],
  [
    'a resend503 without a base URL',
    profile('{"resend503": true}'),
    '1:21: "resend503" requires "baseUrl" in the same profile',
  ],
  [
    'an invalid interval',
    profile('{"interval": "2 s"}'),
    '1:33: "interval" must be a duration of at least 1ms, such as "2s"; found "2 s"',
  ],
  [
    'an interval of zero',
    profile('{"maxInterval": "0s"}'),
    '1:36: "maxInterval" must be a duration of at least 1ms, such as "10s"; found "0s"',
  ],
  [
    'a timeout that is a number',
    profile('{"timeout": 60}'),
    '1:32: "timeout" must be a duration, such as "10m"; found a number',
  ],
  [
    'a timeout that is null',
    profile('{"timeout": null}'),
    '1:32: "timeout" must be a duration, such as "10m"; found null',
  ],
  [
    'an unknown workflowIdField',
    profile('{"workflowIdField": "id"}'),
    '1:40: "workflowIdField" must be auto, worfklowId, workflowId or both; found "id"',
  ],
  [
    'a string for allowHttp',
    profile(`{${AT_SERVICE}, "allowHttp": "yes"}`),
    '1:66: "allowHttp" must be true or false; found a string',
  ],
  [
    'a workflow that is not a UUID',
    profile('{"workflows": {"a": "b"}}'),
    `1:40: "a" must be the UUID of a workflow, such as "${UUID}"; found "b"`,
  ],
  [
    'a workflow name that is a UUID',
    profile(`{"workflows": {"${UUID.replaceAll('-', '')}": "${UUID}"}}`),
    `1:35: "${UUID.replaceAll('-', '')}" must be a workflow name, which is not empty, does not start with "-", and contains neither a UUID nor a URL`,
  ],
  [
    'a workflow name that is a URL',
    profile(`{"workflows": {"https://h/w": "${UUID}"}}`),
    '1:35: "https://h/w" must be a workflow name, which is not empty, does not start with "-", and contains neither a UUID nor a URL',
  ],
  [
    'a workflow name with punctuation',
    profile('{"workflows": {"a/b~c d%23#ä": 1}}'),
    `1:51: "a/b~c d%23#ä" must be the UUID of a workflow, or an object with "id" and "parameters"; found a number`,
  ],
  [
    'a workflow object without an id and with an unknown key',
    profile('{"workflows": {\n"a": {"params": {}}}}'),
    '2:1: "a" requires "id"',
    '2:7: unknown key "params"; expected id, parameters',
  ],
  [
    'a workflow object whose id is not a UUID',
    profile('{"workflows": {"a": {"id": "b", "parameters": []}}}'),
    `1:47: "id" must be the UUID of a workflow, such as "${UUID}"; found "b"`,
    '1:66: "parameters" must be an object of types by parameter name, such as {"invoice": "document", "amount?": "number"}; found a list',
  ],
  [
    'declared parameters with mistakes',
    profile(`{"workflows": {"a": {"id": "${UUID}", "parameters": {
"n": "nmuber",
"m": 5,
"": "string",
"x": "string", "x?": "string",
"d": {"accept": ["pdf"], "type": "document"},
"s": {"type": "string", "accept": ["application/pdf"], "description": "", "typ": 1},
"o": {}
}}}}`),
    '2:6: "n" must be one of string, document, number, boolean, object, array; found "nmuber"',
    '3:6: "m" must be one of string, document, number, boolean, object, array, or an object with "type"; found a number',
    '4:1: "" must be a name that is not empty',
    '5:16: "x?" is declared twice',
    '6:18: each of "accept" must be a media type, such as "application/pdf"; found "pdf"',
    '7:25: "accept" requires the type document',
    '7:71: "description" must be a text that is not empty; found ""',
    '7:75: unknown key "typ"; did you mean "type"?',
    '8:1: "o" requires "type"',
  ],
  [
    'several mistakes',
    '{\r\n"x": 1,\r\n"profiles": {"p": {"timeout": "",\r\n "timeout": "x", "color": 1}}\r\n}',
    '2:1: unknown key "x"; expected $schema, defaultProfile, profiles',
    '4:2: duplicate name "timeout"; remove one of the two',
    '4:13: "timeout" must be a duration, such as "10m"; found "x"',
    '4:18: unknown key "color"; expected baseUrl, tokenFile, tokenCommand, allowHttp, headerFile, caFile, certFile, keyFile, runUrl, workflowIdField, resend503, interval, maxInterval, timeout, workflows',
  ],
];

describe('the checks of a config file', () => {
  test.each(INVALID_FILES)(
    'config file: %s is reported with its position and a fix, and nothing is sent',
    async (_name, text, ...errors) => {
      const service = await scriptedService((_request, reply) => reply.send(200, aFinishedRun()));
      const { env, path } = writeTestConfig(text, { WFR_BASE_URL: service.baseUrl });
      const lines = errors.map((error) => `${path}:${error}`);
      const checked = await runCli(['config', 'check'], { env });
      const count = errors.length === 1 ? '1 problem' : `${errors.length} problems`;
      const stderr = `${count}\n`;
      expect(checked).toMatchObject({ stdout: `${lines.join('\n')}\n`, stderr, exitCode: 2 });
      for (const args of [
        ['run', 'w'],
        ['run', 'w', '--dry-run'],
        ['status', 'run-1'],
        ['watch', 'run-1'],
        ['config', 'show'],
      ]) {
        const { stdout, stderr, exitCode } = await runCli(args, { env });
        expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
        expect(stderr).toBe(`wfr: error: ${problemBlock(lines)}\n  See: wfr help config\n`);
        expect(stderr).not.toContain('s3cret');
      }
      expect(service.requests).toEqual([]);
    },
  );

  test('config check: a terminal wraps its problems at words, and a file has one line for each', async () => {
    const { env, path } = writeTestConfig('{"x": 1, "profiles": {"p": {"color": 1}}}');
    const whole = await runCli(['config', 'check'], { env });
    expect(whole.stdout.split('\n')).toHaveLength(3);
    const { stdout } = await runCli(['config', 'check'], { env, stdoutTerminal: path.length + 20 });
    expect(stdout.split('\n').every((line) => line.length <= path.length + 20)).toBe(true);
    expect(stdout.replaceAll('\n  ', ' ')).toBe(whole.stdout);
  });

  test.each([
    '--help',
    '--version',
    'help run',
    'help environment',
    'config path',
    'config --help',
    'sandbox --list',
  ])('config file: an invalid one does not stop wfr %s', async (line) => {
    const { env } = writeTestConfig('{');
    expect((await runCli(line.split(' '), { env })).exitCode).toBe(0);
  });

  test.each([
    ...[
      'pass show github_pat_workflows',
      'cat /secrets/sk-prod-2024-workflow-service-1',
      'task-force-1-of-the-very-many-3',
      "sed 's/^[Bb]earer //'",
      'curl https://user:$PASSWORD@h.example/ https://h.example:8080/x@y',
    ].map((word) => [
      `an argument that only resembles a token (${word})`,
      profile(`{${AT_SERVICE}, "tokenCommand": ["sh", "-c", "${word}"]}`),
    ]),
    [
      'a tokenFile whose name resembles a token',
      profile(`{${AT_SERVICE}, "tokenFile": "~/.secrets/ghp_0123456789ab"}`),
    ],
    ['an empty object', '{}'],
    ['a file with a byte order mark', '\ufeff{"profiles": {}}'],
    ['a file with $schema', '{"$schema": "./config.schema.json"}'],
    [
      'a profile named like an object property',
      '{"defaultProfile": "constructor", "profiles": {"constructor": {}, "__proto__": {}}}',
    ],
    [
      'a file with every setting',
      profile(
        `{${AT_SERVICE}, "tokenFile": "x", "allowHttp": false, "workflowIdField": "both", "interval": ".5", "maxInterval": "1.5m", "timeout": "0", "workflows": {"a": "${UUID.toUpperCase()}"}}`,
      ),
    ],
  ])('config file: %s is valid', async (_name, text) => {
    const { env, folder: home } = writeTestConfig(text);
    const valid = {
      stdout: '',
      stderr: expect.stringMatching(/^.*\.json is valid\.\n$/),
      exitCode: 0,
    };
    expect(await runCli(['config', 'check'], { env, home })).toMatchObject(valid);
    expect(await runCli(['config', 'check', '--profile', 'nope'], { env })).toMatchObject({
      stderr: expect.stringMatching(/--profile nope: there is no such profile in/),
      exitCode: 2,
    });
    expect((await runCli(['config', 'show'], { env })).exitCode).toBe(0);
  });
});
