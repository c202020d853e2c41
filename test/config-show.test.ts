/** `wfr config show`: what holds, and where it comes from. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import schema from '../config.schema.json' with { type: 'json' };
import { runCli } from './helpers/cli.js';
import { configWorld } from './helpers/config.js';

const UUID = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';

const FILE = {
  defaultProfile: 'prod',
  profiles: {
    prod: {
      baseUrl: 'https://h.example/v1',
      allowHttp: false,
      tokenCommand: ['pass', 'show', 'my token'],
      workflowIdField: 'both',
      resend503: true,
      interval: '3s',
      maxInterval: '30s',
      timeout: '1h',
      workflows: { invoice: UUID },
    },
    bare: {},
  },
};

describe('wfr config show', () => {
  const shown = async (args: string[] = [], env = {}) => {
    const world = configWorld(FILE, env);
    const { stdout, stderr, exitCode } = await runCli(['config', 'show', '--json', ...args], world);
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    return { settings: JSON.parse(stdout), path: world.path };
  };

  test('gives the lines of the profile', async () => {
    const { settings, path } = await shown();
    const at = (value: string, line: number) => ({ value, source: `profile prod in ${path}:${line}` });
    expect(settings).toEqual({
      configFile: { value: path, source: 'exists' },
      profile: { value: 'prod', source: `defaultProfile in ${path}:2` },
      baseUrl: at('https://h.example/v1', 5),
      allowHttp: at('false', 6),
      token: {
        value: '(hidden, printed by pass with 2 arguments)',
        source: `tokenCommand of profile prod in ${path}:7`,
      },
      workflowIdField: at('both', 12),
      resend503: at('true', 13),
      interval: at('3s', 14),
      maxInterval: at('30s', 15),
      timeout: at('1h', 16),
      'workflows.invoice': at(UUID, 18),
    });
  });

  test('gives the defaults where nothing is said', async () => {
    const { settings } = await shown(['--profile', 'bare']);
    const byDefault = (value: string | null) => ({ value, source: 'default' });
    expect(settings).toMatchObject({
      profile: { value: 'bare', source: 'flag --profile' },
      baseUrl: byDefault(null),
      allowHttp: byDefault('false'),
      token: byDefault(null),
      workflowIdField: byDefault('auto'),
      resend503: byDefault('false'),
      interval: byDefault('2s'),
      maxInterval: byDefault('10s'),
      timeout: byDefault(null),
    });
    const { stdout, exitCode } = await runCli(['config', 'show']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^configFile {7}\/dev\/null\/home\/\.config\/wfr\/config\.json {2}there is no such file\n/,
    );
    expect(stdout).toMatch(/^baseUrl {10}- +default$/m);
  });

  test('lets a flag win over a variable, and a variable over the profile', async () => {
    const env = {
      WFR_BASE_URL: 'https://e.example',
      WFR_ALLOW_HTTP: '1',
      WFR_WORKFLOW_ID_FIELD: 'auto',
      WFR_TOKEN: 'MARK',
    };
    const inEnvironment = await shown([], env);
    expect(inEnvironment.settings).toMatchObject({
      baseUrl: { value: 'https://e.example', source: 'WFR_BASE_URL' },
      allowHttp: { value: 'true', source: 'WFR_ALLOW_HTTP' },
      workflowIdField: { value: 'auto', source: 'WFR_WORKFLOW_ID_FIELD' },
      token: { value: '(hidden)', source: 'WFR_TOKEN' },
    });
    const flags = ['--base-url', 'https://f.example', '--allow-http', '--workflow-id-field', 'workflowId'];
    const waits = ['--interval', '1s', '--max-interval', '5s', '--timeout', '9s', '--token-file', 'x'];
    expect((await shown([...flags, ...waits], env)).settings).toMatchObject({
      baseUrl: { value: 'https://f.example', source: 'flag --base-url' },
      allowHttp: { value: 'true', source: 'flag --allow-http' },
      workflowIdField: { value: 'workflowId', source: 'flag --workflow-id-field' },
      interval: { value: '1s', source: 'flag --interval' },
      maxInterval: { value: '5s', source: 'flag --max-interval' },
      timeout: { value: '9s', source: 'flag --timeout' },
      token: { value: '(hidden, in x)', source: 'flag --token-file x' },
    });
    const empty = { WFR_BASE_URL: '', WFR_ALLOW_HTTP: '', WFR_WORKFLOW_ID_FIELD: '', WFR_TOKEN: '' };
    expect((await shown([], empty)).settings.baseUrl.value).toBe('https://h.example/v1');
  });

  test('resend503 of a profile does not apply to another service, and no variable sets it', async () => {
    const elsewhere = await shown([], { WFR_BASE_URL: 'https://e.example', WFR_RESEND_503: '1' });
    expect(elsewhere.settings.resend503).toEqual({ value: 'false', source: 'default' });
  });

  test('hides what may be secret, and says why a token is not sent', async () => {
    const { settings } = await shown(['-H', 'x: MARK'], { WFR_BASE_URL: 'https://joe:MARK@e.example/?MARK' });
    expect(JSON.stringify(settings)).not.toContain('MARK');
    expect(settings.token).toEqual({
      value: null,
      source:
        'the token of profile prod belongs to https://h.example, and is not sent to where WFR_BASE_URL leads',
    });
    expect((await shown(['--no-token'])).settings.token).toEqual({ value: null, source: 'flag --no-token' });
  });

  test('shows nothing that a terminal would act on', async () => {
    const { env } = configWorld({
      defaultProfile: '\u001b[2J',
      profiles: { '\u001b[2J': { workflows: { 'a\u202eb': UUID } } },
    });
    const { stdout, exitCode } = await runCli(['config', 'show'], { env });
    expect(exitCode).toBe(0);
    expect(stdout).not.toMatch(/[\u001b\u202e]/);
  });
});

test.each([['wfr config'], ['wfr config what'], ['wfr config path extra']])(
  '%s is a mistake',
  async (line) => {
    const { exitCode, stderr } = await runCli(line.split(' ').slice(1));
    expect(exitCode).toBe(2);
    expect(stderr).toContain('See: wfr help config');
  },
);

describe('the schema', () => {
  test('explains every setting to an editor', () => {
    const settings = schema.properties.profiles.additionalProperties.properties;
    for (const node of [...Object.values(schema.properties), ...Object.values(settings)]) {
      expect(node.description.length).toBeGreaterThan(20);
    }
  });

  test('the file in wfr help config is right', async () => {
    const { stdout } = await runCli(['help', 'config']);
    const [text = ''] = /^ {2}\{\n[\s\S]*?^ {2}\}$/m.exec(stdout) ?? [];
    const { env } = configWorld(text);
    expect(await runCli(['config', 'check'], { env })).toMatchObject({ stdout: '', exitCode: 0 });
  });

  test('and what is checked at every start are of one mind', async () => {
    const text = fc.constantFrom(
      '',
      'x',
      '-x',
      '2s',
      '0s',
      '0.0001s',
      '1e3',
      '.5m',
      '1234567890s',
      'auto',
      'both',
      UUID,
      'a b',
      'https://h',
      'http://h',
      'http://[::1]:8/',
      'https://h?x',
      'ftp://h',
      'Bearer x',
      'eyJx.y',
      'x "eyJx.y"',
      'Bearer s3cret-token',
      'k=ghp_0123456789ab',
      'sk-0123456789-0123456789',
      'https://u:p@h',
      'x https://u:$P@h/',
      ' authorization: x',
      'a\u0000b',
      '\n',
      'true',
    );
    const value = fc.oneof(
      { weight: 4, arbitrary: text },
      fc.constantFrom(null, 0, 1, true, false),
      fc.array(fc.oneof(text, fc.constant(1)), { maxLength: 2 }),
      fc.dictionary(text, fc.oneof(text, fc.constant(UUID)), { maxKeys: 2 }),
    );
    const good = {
      baseUrl: 'https://h',
      tokenFile: 'x',
      allowHttp: true,
      workflowIdField: 'both',
      resend503: true,
      interval: '2s',
      maxInterval: '.5',
      timeout: '0',
      workflows: { a: UUID },
    };
    const names = [...Object.keys(good), 'tokenCommand', 'other', '__proto__', 'constructor'];
    const changes = fc.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 1 });
    // As text, since an object could have no name twice and no own __proto__.
    const object = (members: [name: string, json: string][]) =>
      `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join()}}`;
    const optional = (name: string, json: string | null): [string, string][] =>
      json === null ? [] : [[name, json]];
    const profile = fc.tuple(fc.subarray(Object.entries(good)), changes).map(([kept, changed]) => {
      const members = new Map<string, unknown>([...kept, ...changed]);
      return object([...members].map(([name, member]) => [name, JSON.stringify(member)]));
    });
    const file = fc
      .tuple(
        fc.constantFrom('p', 'p', 'p', '-p', ''),
        profile,
        fc.option(fc.constantFrom('"p"', '"p"', '"p"', '"q"', 'null')),
        fc.option(
          value.map((any) => JSON.stringify(any)),
          { freq: 1 },
        ),
      )
      .map(([name, content, chosen, $schema]) =>
        object([
          ['profiles', object([[name, content]])],
          ...optional('defaultProfile', chosen),
          ...optional('$schema', $schema),
        ]),
      );
    let right = 0;
    await fc.assert(
      fc.asyncProperty(file, async (written) => {
        const { env } = configWorld(written);
        const checked = await runCli(['config', 'check'], { env });
        const shown = await runCli(['config', 'show'], { env });
        expect({ written, exit: shown.exitCode }).toEqual({ written, exit: checked.exitCode });
        expect(checked.exitCode === 0).toBe(checked.stdout === '');
        if (checked.exitCode === 0) right++;
      }),
      { numRuns: 400 },
    );
    expect(right).toBeGreaterThan(20);
  });
});
