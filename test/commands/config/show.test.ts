/** `wfr config show`: the effective settings and where each comes from. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli, temporaryFolder } from '../../helpers/cli.js';
import { writeTestConfig } from '../../helpers/config.js';

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
    const world = writeTestConfig(FILE, env);
    const { stdout, stderr, exitCode } = await runCli(['config', 'show', '--json', ...args], world);
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    return { settings: JSON.parse(stdout), path: world.path };
  };

  test('config show: lists the declared parameters of a workflow with their lines', async () => {
    const parameters = {
      scan: { type: 'document', accept: ['application/pdf', 'image/*'], description: 'The \u001b[2Jinvoice' },
      'amount?': 'number',
    };
    const world = writeTestConfig({
      defaultProfile: 'p',
      profiles: { p: { workflows: { invoice: { id: UUID, parameters } } } },
    });
    const { stdout } = await runCli(['config', 'show', '--json'], world);
    const at = (value: string, line: number) => ({ value, source: `profile p in ${world.path}:${line}` });
    expect(JSON.parse(stdout)).toMatchObject({
      'workflows.invoice': at(UUID, 6),
      'workflows.invoice.parameters.scan': at('document (application/pdf, image/*): The \u001b[2Jinvoice', 9),
      'workflows.invoice.parameters.amount': at('number, optional', 17),
    });
    const { stdout: text } = await runCli(['config', 'show'], world);
    expect(text).toMatch(
      /\n\nWorkflows:\ninvoice .*\n {2}scan .*\n {2}amount +number, optional +\(config\.json:17\)\n\n/,
    );
    expect(text).toContain('The \\u001b[2Jinvoice');
  });

  test('config show: names the line of each setting of the profile', async () => {
    const { settings, path } = await shown();
    const at = (value: string, line: number) => ({ value, source: `profile prod in ${path}:${line}` });
    expect(settings).toEqual({
      configFile: { value: path, source: 'exists' },
      profile: { value: 'prod', source: `defaultProfile in ${path}:2` },
      baseUrl: at('https://h.example/v1', 5),
      allowHttp: at('false', 6),
      token: {
        value: '(hidden, printed by pass …)',
        source: `profile prod in ${path}:7`,
      },
      headerFile: { value: null, source: 'default' },
      caFile: { value: null, source: 'default' },
      certFile: { value: null, source: 'default' },
      keyFile: { value: null, source: 'default' },
      runUrl: { value: null, source: 'default' },
      workflowIdField: at('both', 12),
      resend503: at('true', 13),
      interval: at('3s', 14),
      maxInterval: at('30s', 15),
      timeout: at('1h', 16),
      'workflows.invoice': at(UUID, 18),
      proxy: { value: null, source: 'default' },
      headers: { value: null, source: 'default' },
      history: { value: expect.stringMatching(/wfr$/), source: 'default' },
    });
  });

  test('config show: the proxy, the names of headers and the history are shown without a secret', async () => {
    const env = { HTTPS_PROXY: 'http://user:secret-4711@proxy.example:3128', WFR_HISTORY: '0' };
    const { settings } = await shown(
      ['--header', 'X-Team: secret-4711', '--header', 'X-Key: secret-4711'],
      env,
    );
    expect(settings).toMatchObject({
      proxy: { value: 'http://proxy.example:3128', source: 'HTTPS_PROXY' },
      headers: { value: 'x-team, x-key', source: '--header' },
      history: { value: 'off', source: 'WFR_HISTORY' },
    });
    expect(JSON.stringify(settings)).not.toContain('secret-4711');
    const inState = await shown([], { XDG_STATE_HOME: '/state' });
    expect(inState.settings.history).toEqual({ value: join('/state/wfr'), source: 'XDG_STATE_HOME' });
    const hasAuto = await shown([], {
      https_proxy: 'proxy.example',
      TRACEPARENT: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
    });
    expect(hasAuto.settings.proxy).toEqual({ value: 'http://proxy.example:80', source: 'https_proxy' });
    expect(hasAuto.settings.headers).toEqual({ value: 'traceparent', source: 'TRACEPARENT' });
    const ipv6 = await shown([], { HTTPS_PROXY: 'http://[fd00::1]:8080' });
    expect(ipv6.settings.proxy.value).toBe('http://[fd00::1]:8080');
  });

  test.each([
    ['an invalid proxy', [], { HTTPS_PROXY: '::secret-4711' }, /^HTTPS_PROXY is not a supported proxy URL; /],
    ['a malformed header', ['--header', 'secret-4711'], {}, /^--header: expected "name: value" /],
  ])('config show: %s is not shown, but what is wrong with it', async (_, args, env, source) => {
    const { settings } = await shown([...args], env);
    const unset = { value: null, source: expect.stringMatching(source) };
    expect(settings).toMatchObject({ proxy: unset, headers: unset });
    expect(JSON.stringify(settings)).not.toContain('secret-4711');
  });

  test('config show: with --profile, the token of the profile is shown with the variable that it overrides', async () => {
    const env = { WFR_TOKEN: 'secret-4711' };
    const { settings, path } = await shown(['--profile', 'prod'], env);
    expect(settings.token).toEqual({
      value: '(hidden, printed by pass …)',
      source: `profile prod in ${path}:7`,
      overridden: [{ value: '(hidden)', source: 'WFR_TOKEN' }],
    });
    expect((await shown([], env)).settings.token).toMatchObject({ value: '(hidden)', source: 'WFR_TOKEN' });
  });

  test('config show: the profiles of the file are named, and values begin in the same column', async () => {
    const workflows = { 'long-name': UUID };
    const world = writeTestConfig({ profiles: { prod: { workflows }, bare: {} } }, {});
    const { stdout } = await runCli(['config', 'show', '--profile', 'prod'], world);
    expect(stdout).toMatch(/^Config file: .* \(profiles prod, bare\)\n/);
    const columns = stdout.split('\n').flatMap((line) => /^[\w-]+ +(?=\S+ +\()/.exec(line)?.[0].length ?? []);
    expect(columns).toHaveLength(8);
    expect(new Set(columns)).toEqual(new Set(['workflowIdField  '.length]));
    expect(stdout).toMatch(/\nprofile {10}prod +\(--profile\)\n/);
    expect(stdout).toContain(`\n\nWorkflows:\nlong-name        ${UUID} `);
  });

  test('config show: an empty profile leaves the defaults', async () => {
    const { settings } = await shown(['--profile', 'bare']);
    const fromDefault = (value: string | null) => ({ value, source: 'default' });
    expect(settings).toMatchObject({
      profile: { value: 'bare', source: '--profile' },
      baseUrl: fromDefault(null),
      allowHttp: fromDefault('false'),
      token: fromDefault(null),
      workflowIdField: fromDefault('auto'),
      resend503: fromDefault('false'),
      interval: fromDefault('2s'),
      maxInterval: fromDefault('10s'),
      timeout: fromDefault(null),
    });
    const home = temporaryFolder();
    const { stdout, exitCode } = await runCli(['config', 'show'], { home });
    expect(exitCode).toBe(0);
    const path = join(home, '.config', 'wfr', 'config.json');
    expect(stdout.split('\n')[0]).toBe(`Config file: ${path} (does not exist)`);
    expect(stdout).toMatch(/\nNot set: profile, headerFile, .*\n$/);
  });

  test('config show: a value has those that it overrides, and the path of the file is there once', async () => {
    const env = { WFR_BASE_URL: 'https://e.example' };
    const { settings, path } = await shown(['--base-url', 'https://f.example'], env);
    expect(settings.baseUrl).toEqual({
      value: 'https://f.example',
      source: '--base-url',
      overridden: [
        { value: 'https://e.example', source: 'WFR_BASE_URL' },
        { value: 'https://h.example/v1', source: `profile prod in ${path}:5` },
      ],
    });
    const world = writeTestConfig(FILE, env);
    const { stdout } = await runCli(['config', 'show'], world);
    expect(stdout.split(world.path)).toHaveLength(2);
    expect(stdout).toMatch(
      /^baseUrl +https:\/\/e\.example +\(WFR_BASE_URL\)\n {2}overrides +https:\/\/h\.example\/v1 +\(config\.json:5\)\n/m,
    );
  });

  test('config show: each source of a token is listed, the one in use first, and none twice', async () => {
    const world = writeTestConfig(FILE, { WFR_TOKEN: 'secret-4711', WFR_TOKEN_FILE: '/tok' });
    const sources = async (...args: string[]) => {
      const { stdout } = await runCli(['config', 'show', ...args], world);
      return /^token .*\n(?: .*\n)*/m.exec(stdout)?.[0].replaceAll(/ +/g, ' ').split('\n').slice(0, -1);
    };
    const variables = [
      ['WFR_TOKEN', '(hidden)'],
      ['WFR_TOKEN_FILE', '(hidden, in /tok, which does not exist)'],
    ];
    const profile = ['config.json:7', '(hidden, printed by pass …)'];
    const overridden = ([source, value]: string[]) => ` overrides ${value} (${source})`;
    expect(await sources()).toEqual([
      'token (hidden) (WFR_TOKEN)',
      ...[...variables.slice(1), profile].map(overridden),
    ]);
    expect(await sources('--profile', 'prod')).toEqual([
      `token ${profile[1]} (${profile[0]})`,
      ...variables.map(overridden),
    ]);
    expect(await sources('--token-file', 'x')).toEqual([
      'token (hidden, in x, which does not exist) (--token-file)',
      ...[...variables, profile].map(overridden),
    ]);
    expect((await sources('--token-file', world.path))?.[0]).toBe(
      `token (hidden, in ${world.path}) (--token-file)`,
    );
    const { stdout } = await runCli(['config', 'show', '--no-token'], world);
    expect(stdout).toMatch(/^token +not set +\(--no-token\)$/m);
  });

  test('config show: each setting has a line with its source, the defaults after those that were set', async () => {
    const { stdout } = await runCli(['config', 'show'], writeTestConfig(FILE));
    const [, settings = ''] = stdout.split('\n\n');
    expect(settings.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['profile', 'prod', '(config.json:2)'],
      ['baseUrl', 'https://h.example/v1', '(config.json:5)'],
      ['token', '(hidden, printed by pass …)', '(config.json:7)'],
      ['allowHttp', 'false', '(config.json:6)'],
      ['workflowIdField', 'both', '(config.json:12)'],
      ['resend503', 'true', '(config.json:13)'],
      ['interval', '3s', '(config.json:14)'],
      ['maxInterval', '30s', '(config.json:15)'],
      ['timeout', '1h', '(config.json:16)'],
      ['history', expect.stringMatching(/wfr$/), '(default)'],
    ]);
    expect(stdout).toMatch(/\n\nNot set: headerFile, caFile, certFile, keyFile, runUrl, proxy, headers\n$/);
  });

  test('config show: what is missing but required is red, and a token is required except on this machine', async () => {
    const show = async (env: Record<string, string>, ...args: string[]) => {
      const options = { ...writeTestConfig({ profiles: {} }, env), stdoutTerminal: 80 };
      return (await runCli(['config', 'show', '--color', 'always', ...args], options)).stdout;
    };
    const plain = (text: string) => text.replaceAll('\u001b', '^');
    const none = plain(await show({}));
    expect(none).toMatch(/^baseUrl +\^\[31mnot set *\^\[39m +\^\[2m\(required\)/m);
    expect(none).toMatch(/^token +\^\[31mnot set *\^\[39m +\^\[2m\(required\)/m);
    expect(none).not.toMatch(/Not set:.*(baseUrl|token)/);
    // Without a base URL, they are unknown, and the reason is said above.
    expect(none).not.toMatch(/^(proxy|headers) /m);
    const unusable = plain(await show({ WFR_BASE_URL: 'http://h.example' }));
    expect(unusable).toMatch(/^baseUrl +\^\[31mhttp:\/\/h\.example *\^\[39m/m);
    expect(unusable).not.toMatch(/^(proxy|headers) /m);
    const gone = plain(await show({ WFR_BASE_URL: 'https://h.example', WFR_TOKEN_FILE: '/none' }));
    expect(gone).toMatch(/^token +\^\[31m\(hidden, in \/none, which does not exist\)\^/m);
    expect(await show({ WFR_BASE_URL: 'http://127.0.0.1:1' })).toMatch(/Not set: profile, token,/);
    expect(plain(await show({ WFR_BASE_URL: 'https://h.example' }, '--no-token'))).toMatch(
      /^token +not set +\^\[2m\(--no-token\)/m,
    );
  });

  test.each([120, 80, 40])(
    'config show: in %i columns, no value is cut, and what is used most is first',
    async (stdoutTerminal) => {
      const world = writeTestConfig(FILE, { WFR_BASE_URL: 'https://other.example.com/v1/with/a/path' });
      const { stdout } = await runCli(['config', 'show', '--color', 'never'], { ...world, stdoutTerminal });
      for (const value of [UUID, 'https://other.example.com/v1/with/a/path', 'https://h.example/v1'])
        expect(stdout).toContain(value);
      const lines = stdout.slice(stdout.indexOf('\nprofile')).split('\n');
      expect(lines.filter((line) => line.length > Math.max(stdoutTerminal, 44))).toEqual([]);
      const names = lines.flatMap((line) => /^[a-z]\w*/.exec(line)?.[0] ?? []);
      expect(names.slice(0, 5)).toEqual(['profile', 'baseUrl', 'token', 'workflowIdField', 'interval']);
      expect(lines.filter((line) => line.startsWith('Not set: '))).toHaveLength(1);
      expect(stdout).not.toContain('…');
    },
  );

  test('config show: a flag overrides a variable, and a variable overrides the profile', async () => {
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
      baseUrl: { value: 'https://f.example', source: '--base-url' },
      allowHttp: { value: 'true', source: '--allow-http' },
      workflowIdField: { value: 'workflowId', source: '--workflow-id-field' },
      interval: { value: '1s', source: '--interval' },
      maxInterval: { value: '5s', source: '--max-interval' },
      timeout: { value: '9s', source: '--timeout' },
      token: { value: '(hidden, in x, which does not exist)', source: '--token-file' },
    });
    const empty = { WFR_BASE_URL: '', WFR_ALLOW_HTTP: '', WFR_WORKFLOW_ID_FIELD: '', WFR_TOKEN: '' };
    expect((await shown([], empty)).settings.baseUrl.value).toBe('https://h.example/v1');
  });

  test("config show: a profile's resend503 is off for another service, and no variable sets it", async () => {
    const { settings } = await shown([], { WFR_BASE_URL: 'https://e.example', WFR_RESEND_503: '1' });
    expect(settings.resend503).toEqual({ value: 'false', source: 'default' });
  });

  test('config show: says why a setting of the profile is not used for another service', async () => {
    const settings = { baseUrl: 'https://h.example', caFile: 'ca.pem' };
    const world = writeTestConfig({ defaultProfile: 'p', profiles: { p: settings } });
    const show = (...flags: string[]) => runCli(['config', 'show', ...flags], world);
    expect((await show()).stdout).toMatch(/^caFile .*ca\.pem +\(config\.json:\d+\)$/m);
    const { stdout } = await show('--base-url', 'https://e.example');
    expect(stdout).toMatch(/^caFile +not set +\(that of profile p is for its own base URL\)$/m);
  });

  test('config show: hides possible secrets and says why a token is not sent', async () => {
    const { settings } = await shown(['-H', 'x: MARK'], { WFR_BASE_URL: 'https://joe:MARK@e.example/?MARK' });
    expect(JSON.stringify(settings)).not.toContain('MARK');
    expect(settings.token).toEqual({
      value: null,
      source:
        'the token of profile prod is for https://h.example and is not sent to the base URL from WFR_BASE_URL',
    });
    expect((await shown(['--no-token'])).settings.token).toEqual({ value: null, source: '--no-token' });
  });

  test('config show: prints no control characters', async () => {
    const { env } = writeTestConfig({
      defaultProfile: '\u001b[2J',
      profiles: { '\u001b[2J': { workflows: { 'a\u202eb': UUID } } },
    });
    const { stdout, exitCode } = await runCli(['config', 'show'], { env });
    expect(exitCode).toBe(0);
    expect(stdout).not.toMatch(/[\u001b\u202e]/);
  });
});
