/** `wfr completion`, and `wfr __complete`, which its scripts call on every Tab. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { REPORT_KINDS } from '../../../src/report/formats.js';
import { type CliOptions, runCli, temporaryFolder } from '../../helpers/cli.js';
import { COMMANDS } from '../../helpers/commands.js';
import { writeTestConfig } from '../../helpers/config.js';
import { ROOT, start } from '../../helpers/process.js';
import { scriptedService } from '../../helpers/service.js';

const BASE_URL = 'https://workflows.example.com/v1';
const INVOICE = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';
const REPORT = '11111111-2222-3333-4444-555555555555';
const ORDER = {
  id: '0b8f6c1e-2f57-4a53-9a8e-3d2f4c5b6a79',
  parameters: {
    scan: { type: 'document', accept: ['application/pdf'], description: 'The order' },
    'a=b': 'string',
    'amount?': 'number',
    'count?': { type: 'array' },
  },
};
const CONFIG = {
  defaultProfile: 'production',
  profiles: {
    production: { baseUrl: BASE_URL, workflows: { invoice: INVOICE, 'my report': REPORT } },
    test: {
      baseUrl: 'https://test.example.com',
      tokenCommand: ['false'],
      workflows: { trial: REPORT, order: ORDER },
    },
  },
};
const TIME = '2026-01-02T03:04:05.000Z';
const RUN = { workflow: INVOICE, baseUrl: BASE_URL, triggered: TIME, inputs: [], status: 'FINISHED' };
const HISTORY = [
  { ...RUN, id: 'abc-1', workflow: 'w', status: undefined },
  { ...RUN, id: 'elsewhere', baseUrl: 'https://test.example.com/' },
  { ...RUN, id: 'ABC-2', workflow: INVOICE.toUpperCase(), status: 'FAILED' },
  { ...RUN, id: 'xyz' },
  // A batch is no run.
  { ...RUN, id: '5c9d0a7e-2f57-4a53-9a8e-3d2f4c5b6a79', rows: { finished: 1 } },
];

/** Returns options with a config file and a history. */
function optionsWith(config: object | string = CONFIG, history: readonly object[] | string = HISTORY) {
  const state = temporaryFolder();
  mkdirSync(join(state, 'wfr'));
  const lines = typeof history === 'string' ? history : history.map((run) => JSON.stringify(run)).join('\n');
  writeFileSync(join(state, 'wfr', 'history.jsonl'), lines);
  return { env: { ...writeTestConfig(config).env, XDG_STATE_HOME: state } as Record<string, string> };
}

/** Returns the lines for fish, which are the same for zsh. Asserts that nothing else is printed. */
async function complete(args: readonly string[], options: CliOptions = optionsWith()) {
  const { stdout, stderr, exitCode } = await runCli(['__complete', 'fish', '--', ...args], options);
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
  return stdout.split('\n').slice(0, -1);
}

const valuesIn = (lines: readonly string[]) => lines.map((line) => line.split('\t')[0]);
describe('completion: candidates', () => {
  test.each<[string[], string[]]>([
    [[''], [...COMMANDS]],
    [[], [...COMMANDS]],
    [['s'], ['status', 'sandbox']],
    [['--profile', 'test', '-v', 'wa'], ['watch']],
    [['nonsense', ''], []],
    [['-'], ['--version', '--help']],
    [['help', 'watch', ''], []],
    [
      ['help', ''],
      [...COMMANDS, 'inputs', 'exit-codes', 'environment'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish', 'powershell'],
    ],
    [['completion', 'bash', ''], []],
    [
      ['config', ''],
      ['path', 'show', 'check', 'init'],
    ],
    [['config', 'show', '--p'], ['--profile']],
    [
      ['history', '-'],
      [
        '--limit',
        '--status',
        '--workflow',
        '--output',
        '--json',
        '--profile',
        '--quiet',
        '--verbose',
        '--color',
        '--help',
      ],
    ],
    [
      ['history', '--status', 'f'],
      ['FINISHED', 'FAILED'],
    ],
    [['run', '--exit'], []],
    [['status', '--exit'], ['--exit-status']],
    [
      ['run', 'w', 'a=1', '--in'],
      ['--input', '--inputs-file', '--interval'],
    ],
    [['run', '--', '--in'], []],
    [
      ['run', '--output', ''],
      ['text', 'json', 'jsonl', 'id'],
    ],
    [
      ['run', '-o', 'js'],
      ['json', 'jsonl'],
    ],
    [
      ['run', '-ojs'],
      ['-ojson', '-ojsonl'],
    ],
    [['run', '-vo', 't'], ['text']],
    [
      ['run', '--output=js'],
      ['--output=json', '--output=jsonl'],
    ],
    [
      ['--color', 'a'],
      ['auto', 'always'],
    ],
    [
      ['run', '--workflow-id-field', ''],
      ['auto', 'worfklowId', 'workflowId', 'both'],
    ],
    [
      ['run', '--workflow-id-field='],
      ['auto', 'worfklowId', 'workflowId', 'both'].map((one) => `--workflow-id-field=${one}`),
    ],
    [['sandbox', '--from-profile', 't'], ['test']],
    [['run', '--report', ''], [...REPORT_KINDS]],
    [['run', '--timeout', ''], []],
    [['run', '--get', ''], []],
    [
      ['results', '-o', ''],
      ['text', 'json', 'jsonl', 'csv', 'id'],
    ],
    [
      ['help', '--'],
      ['--json', '--skill', '--help'],
    ],
    [['status', '--ge'], ['--get']],
    [
      ['run', '--profile', ''],
      ['production', 'test'],
    ],
    [['run', '--profile=t'], ['--profile=test']],
    [
      ['run', ''],
      ['invoice', 'my report'],
    ],
    [['run', '--timeout', '5m', 'MY'], ['my report']],
    [
      ['run', '--profile', 'test', ''],
      ['trial', 'order'],
    ],
    [['--profile=test', 'run', 't'], ['trial']],
    [
      ['--profile=test', 'run', 'order', ''],
      ['scan@', 'a\\=b=', 'amount:=', 'count:='],
    ],
    [['--profile=test', 'run', ORDER.id, 'S'], ['scan@']],
    [['--profile=test', 'run', 'order', 'a\\'], ['a\\=b=']],
    [['--profile=test', 'run', 'order', 'scan'], ['scan@']],
    [['--profile=test', 'run', 'order', 'scan='], []],
    [
      ['--profile=test', 'run', 'order', 'amount:=1', '-i', 'a\\=b=x', '--input=scan@x', 'other=1', ''],
      ['count:='],
    ],
    [['--profile=test', 'run', 'order', 'amount=1', '-iscan@x', 'a'], ['a\\=b=']],
    [['--profile=test', 'run', 'trial', ''], []],
    [
      ['--profile=test', 'batch', 'order', '-i', 'a'],
      ['a\\=b=', 'amount:='],
    ],
    [
      ['--profile=test', 'batch', 'order', '--input=a'],
      ['--input=a\\=b=', '--input=amount:='],
    ],
    [['--profile=test', 'batch', 'order', '--each', ''], ['scan']],
    [['--profile=test', 'batch', '--each', ''], []],
    [['sandbox', '--', 'wfr', '--profile=test', 'run', 'order', 'am'], ['amount:=']],
    [['run', '--profile', 'none', ''], []],
    [['run', 'w', ''], []],
    [['sandbox', '--', 'wfr', 'run', 'w', '--dry'], ['--dry-run']],
    [
      ['watch', ''],
      ['@last', '@last:invoice', '@last:w', 'xyz', 'ABC-2', 'abc-1'],
    ],
    [
      ['status', '--', ''],
      ['@last', '@last:invoice', '@last:w', 'xyz', 'ABC-2', 'abc-1'],
    ],
    [
      ['watch', 'xyz', 'abc'],
      ['ABC-2', 'abc-1'],
    ],
    [['watch', 'abc-1', 'abc'], ['ABC-2']],
    [
      ['watch', '@last:'],
      ['@last:invoice', '@last:w'],
    ],
    [['watch', '--base-url', 'https://test.example.com', 'e'], ['elsewhere']],
  ])('completion: %j offers the words %j', async (args, expected) => {
    expect(valuesIn(await complete(args))).toEqual(expected);
  });

  test.each<[string[], string[]]>([
    [['run', 'w', 'invoice@'], ['\tfiles\tinvoice@']],
    [['run', 'w', 'invoice@my sc'], ['\tfiles\tinvoice@']],
    [['run', 'w', 'note@=a@=b'], ['\tfiles\tnote@=']],
    [['run', 'w', 'lines@:=~/l'], ['\tfiles\tlines@:=']],
    [['run', 'w', 'lines@:'], ['\tfiles\tlines@']],
    [['run', 'w', 'note=@a'], []],
    [['run', 'w', 'lines:=@a'], []],
    [['run', 'w', 'a\\=b\\@c@d'], ['\tfiles\ta\\=b\\@c@']],
    [['run', 'w', '-i', 'invoice@s'], ['\tfiles\tinvoice@']],
    [['run', 'w', '--input=invoice@s'], ['\tfiles\t--input=invoice@']],
    [['run', 'w', '-iinvoice@s'], ['\tfiles\t-iinvoice@']],
    [['run', 'w', 'text=a@b'], []],
    [['run', 'w', 'json:=1'], []],
    [['run', 'w', '--inputs-file', 'x'], ['\tfiles\t']],
    [['run', 'w', '--token-file=x'], ['\tfiles\t--token-file=']],
    [['run', 'w', '--header-file', 'h'], ['\tfiles\t']],
    [['run', 'w', '--save-documents', ''], ['\tfolders\t']],
    [['batch', 'w', '--files-under', ''], ['\tfolders\t']],
    [['run', 'w', '--report', 'junit=a/b'], ['\tfiles\tjunit=']],
    [['run', 'w', '--report=json='], ['\tfiles\t--report=json=']],
    [['sandbox', '--workflows', ''], ['\tfiles\t']],
    [
      ['sandbox', '--', ''],
      ['wfr', '\tfiles\t'],
    ],
    [['sandbox', '--', 'cat', '-n', ''], ['\tfiles\t']],
    [['sandbox', 'cat', '-'], ['\tfiles\t']],
  ])('completion: %j asks the shell for files with %j', async (args, expected) => {
    expect(await complete(args)).toEqual(expected);
  });

  test('completion: candidates have descriptions, except for bash, which does not show them', async () => {
    expect(await complete(['watch', '@'])).toEqual([
      '@last\tFINISHED invoice 2026-01-02T03:04:05Z xyz',
      '@last:invoice\tFINISHED 2026-01-02T03:04:05Z xyz',
      '@last:w\taccepted 2026-01-02T03:04:05Z abc-1',
    ]);
    expect(await complete(['watch', 'ABC'])).toEqual([
      'ABC-2\tFAILED invoice 2026-01-02T03:04:05Z',
      'abc-1\taccepted w 2026-01-02T03:04:05Z',
    ]);
    expect(await complete(['run', 'i'])).toEqual([`invoice\t${INVOICE}`]);
    expect(await complete(['--profile=test', 'run', 'order', ''])).toEqual([
      'scan@\tdocument (application/pdf): The order',
      'a\\=b=\tstring',
      'amount:=\tnumber, optional',
      'count:=\tarray, optional',
    ]);
    expect(await complete(['--profile', 'p'])).toEqual([`production\t${BASE_URL}`]);
    expect(await complete(['run', '--det'])).toEqual([expect.stringMatching(/^--detach\tprint the id/)]);
    const { stdout } = await runCli(['__complete', 'bash', '--', 'run', 'i'], optionsWith());
    expect(stdout).toBe('invoice\n');
  });

  test('completion: the twenty latest runs are offered, and older ones by their prefix', async () => {
    const runs = Array.from({ length: 30 }, (_, index) => ({ ...RUN, id: `run-${index}` }));
    const all = valuesIn(await complete(['watch', ''], optionsWith(CONFIG, runs)));
    expect([all.length, all[2], all.at(-1)]).toEqual([22, 'run-29', 'run-10']);
    expect(valuesIn(await complete(['watch', 'run-0'], optionsWith(CONFIG, runs)))).toEqual(['run-0']);
  });

  test('completion: runs of every service are offered if no service is configured', async () => {
    const { env } = optionsWith({});
    expect(valuesIn(await complete(['watch', 'e'], { env }))).toEqual(['elsewhere']);
    expect(valuesIn(await complete(['watch', 'e'], { env: { ...env, WFR_BASE_URL: BASE_URL } }))).toEqual([]);
  });
});

describe('completion: errors and side effects', () => {
  test.each([
    ['{"profiles": ', '{"id":"torn'],
    ['{"profile": {}}', 'null\n[]\n5\n"x"\n{"id":1}'],
    ['\u0000', '\u0000'],
  ])('completion: the invalid config file %j and history %j cause no message', async (config, history) => {
    const options = optionsWith(config, history);
    expect(await complete(['run', ''], options)).toEqual([]);
    expect(await complete(['run', '--profile', ''], options)).toEqual([]);
    expect(await complete(['watch', ''], options)).toEqual([]);
    expect(await complete(['watch', '--verb'], options)).toHaveLength(1);
  });

  test('completion: an invalid config file does not hide the history, and missing files offer nothing', async () => {
    expect(valuesIn(await complete(['watch', 'x'], optionsWith('{')))).toEqual(['xyz']);
    const nowhere = { env: { WFR_CONFIG: '/no-such-folder/config.json', XDG_STATE_HOME: '/no-such-folder' } };
    for (const args of [
      ['run', ''],
      ['watch', ''],
      ['--profile', ''],
    ])
      expect(await complete(args, nowhere)).toEqual([]);
  });

  test.each([
    [[]],
    [['tcsh']],
    [['tcsh', '--', 'nonsense', '--nonsense', '']],
    [['--nonsense']],
    [['bash', '--', '--', '--', '']],
  ])('completion: the invalid arguments %j exit 0 without a message', async (args) => {
    expect(await runCli(['__complete', ...args])).toMatchObject({ stderr: '', exitCode: 0 });
  });

  test('completion: no request is sent, and no token command is run', async () => {
    const service = await scriptedService((_request, reply) => reply.send(500, {}));
    const trace = join(temporaryFolder(), 'trace');
    const profile = { baseUrl: service.baseUrl, tokenCommand: ['touch', trace] };
    const { env } = optionsWith({ defaultProfile: 'p', profiles: { p: profile } });
    for (const args of [
      ['watch', ''],
      ['run', ''],
      ['run', 'w', 'a@'],
      ['--profile', ''],
    ])
      await complete(args, { env, canExec: true });
    expect(service.requests).toEqual([]);
    expect(existsSync(trace)).toBe(false);
  });

  test('completion: ids with control characters or a leading dash are not offered, and descriptions are sanitized', async () => {
    const ids = ['a\u001b[2J', 'b\nc', 'd\te', '\u202ef', '', '--base-url=http://evil', 'good'];
    const history = ids.map((id) => ({ ...RUN, id, status: 'X\u001b[2J\tY\n' }));
    expect(await complete(['watch', ''], optionsWith({}, history))).toEqual([
      `@last\tX\\u001b[2J\\u0009Y\\u000a ${INVOICE} 2026-01-02T03:04:05Z good`,
      `@last:${INVOICE}\tX\\u001b[2J\\u0009Y\\u000a 2026-01-02T03:04:05Z good`,
      `good\tX\\u001b[2J\\u0009Y\\u000a ${INVOICE} 2026-01-02T03:04:05Z`,
    ]);
    const workflows = { 'a\u001bb': INVOICE, ok: INVOICE };
    const config = { defaultProfile: 'p', profiles: { p: { workflows } } };
    expect(valuesIn(await complete(['run', ''], optionsWith(config)))).toEqual(['ok']);
  });

  test('completion: no module for HTTP or child processes is loaded', async () => {
    const { env } = optionsWith();
    const script = `require(${JSON.stringify(join(ROOT, 'dist/main.js'))}).main(
        ['__complete', 'zsh', '--', 'watch', ''], require(${JSON.stringify(join(ROOT, 'dist/main.js'))}).processContext())
      .then(() => console.log(Object.keys(require.cache).join(' '), process.moduleLoadList.join(' ')))`;
    const { stdout } = await start(process.execPath, ['-e', script], env).ended;
    expect(stdout).toMatch(/^@last\t.*\n(.*\n)*.*dist[\\/]+complete\.js/);
    expect(stdout).not.toMatch(
      /dist[\\/]+(transport|live|reports|sandbox-options)\.js|NativeModule (tls|http|child_process)\b/,
    );
  });
});

describe('completion: the command', () => {
  test.each([
    ['bash', 'bash'],
    ['zsh', 'zsh'],
    ['fish', 'fish'],
    ['powershell', 'ps1'],
  ])('completion: the script for %s is printed unchanged', async (shell, extension) => {
    const { stdout, stderr, exitCode } = await runCli(['completion', shell]);
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    expect(stdout).toBe(readFileSync(join(ROOT, `src/commands/completion/wfr.${extension}`), 'utf8'));
    expect(stdout).toMatch(new RegExp(`(command|&) wfr __complete ${shell} '?--'? `));
  });

  test('completion: an unknown shell exits 2, and no help mentions __complete', async () => {
    const { exitCode, stderr } = await runCli(['completion', 'tcsh']);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining('bash, zsh, fish, powershell'),
    });
    for (const args of [['--help'], ['help', 'nothing'], ['__complet']]) {
      const { stdout, stderr } = await runCli(args);
      expect(stdout + stderr).not.toContain('__complete');
    }
  });
});
