/** The table of `wfr history`: what fits the window, and which runs it lists. */
import { appendFileSync, mkdirSync, promises, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type CliOptions, runCli, temporaryFolder } from '../../helpers/cli.js';
import { VirtualClock } from '../../helpers/clock.js';
import { folderWith } from '../../helpers/files.js';
import { aFinishedRun, aRun, scriptedService } from '../../helpers/service.js';

const INVOICE = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';
const BILLING = 'a6c4e2f0-1b3d-4f5e-8a7c-9d0b1c2e3f4a';
const OTHER = 'f7a1c2d3-0b4e-4f5a-8c6d-7e8f9a0b1c2d';
const BASE = 'http://127.0.0.1:1/';
const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

interface Recorded {
  id: string;
  ago?: number;
  workflow?: string;
  baseUrl?: string;
  status?: string;
  ended?: string;
  label?: string;
  version?: string;
  inputs?: string[];
  batch?: string;
  results?: string | undefined;
  owner?: object;
  rows?: unknown;
}

/** Writes a history (the oldest run first) and a config file that names a workflow. */
function past(runs: readonly Recorded[], baseUrl = BASE) {
  const [state, config] = [temporaryFolder(), temporaryFolder()];
  mkdirSync(join(state, 'wfr'), { mode: 0o700 });
  const records = runs.map(({ ago = 0, ...run }) => ({
    workflow: INVOICE,
    baseUrl,
    inputs: ['invoice'],
    triggered: new Date(NOW - ago).toISOString(),
    ...run,
  }));
  for (const record of records) {
    const name = record.batch === undefined ? 'history.jsonl' : 'history-rows.jsonl';
    appendFileSync(join(state, 'wfr', name), `${JSON.stringify(record)}\n`);
  }
  mkdirSync(join(config, 'wfr'));
  const profiles = { p: { baseUrl, workflows: { invoice: INVOICE } } };
  writeFileSync(join(config, 'wfr', 'config.json'), JSON.stringify({ defaultProfile: 'p', profiles }));
  const env = { XDG_STATE_HOME: state, XDG_CONFIG_HOME: config };
  const history = (args: readonly string[] = [], options: CliOptions = {}) =>
    runCli(['history', ...args], { ...options, env: { ...env, ...options.env }, clock: new VirtualClock() });
  return { env, history, list: async (...args: string[]) => linesOf((await history(args)).stdout) };
}

const linesOf = (text: string) => text.trimEnd().split('\n');
const uuid = (start: string) => `${start}-2f57-4a53-9a8e-3d2f4c5b6a79`;

const RUNS: readonly Recorded[] = [
  { id: uuid('10fa8c1e'), ago: 3 * 86_400_000, status: 'FINISHED' },
  { id: uuid('20fa8c1e'), ago: 2 * 3_600_000, status: 'FAILED', workflow: OTHER },
  { id: uuid('30fa8c1e'), ago: 754_000, status: 'RUNNING', label: 'rows.csv:12 (Smith & Sons, Inc.)' },
  { id: uuid('40fa8c1e'), ago: 12_000, status: 'PENDING', workflow: BILLING, version: 'billing v2' },
  { id: 'order-1' },
];

describe('history: the table', () => {
  test('the table has short ids, ages, workflows by their names, versions or ids, and labels', async () => {
    expect(await past(RUNS).list()).toEqual([
      'ID        STATUS    NAME                                       AGE',
      'order-1   accepted  invoice                                    now',
      '40fa8c1e  PENDING   billing v2                                 12s',
      '30fa8c1e  RUNNING   invoice: rows.csv:12 (Smith & Sons, Inc.)  12m',
      '20fa8c1e  FAILED    f7a1c2d3…                                  2h',
      '10fa8c1e  FINISHED  invoice                                    3d',
    ]);
  });

  test.each([200, 120, 80, 60, 40])(
    'in a window of %i columns, no line of the table is wider',
    async (stdoutTerminal) => {
      const wide = [...RUNS, { id: 'x', label: '請求書'.repeat(20), workflow: '👩‍👩‍👧'.repeat(30) }];
      const { stdout } = await past(wide).history([], { stdoutTerminal });
      const lines = linesOf(stdout);
      expect(lines).toHaveLength(7);
      const { default: stringWidth } = await import('string-width');
      for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(stdoutTerminal);
      expect(stdout).toContain('ID');
      expect(stdout).toContain('NAME');
    },
  );

  test('a status has a color on a terminal, and the text is otherwise the same', async () => {
    const { history } = past(RUNS);
    const { stdout } = await history([], { stdoutTerminal: 200, env: { TERM: 'xterm' } });
    expect(stdout).toContain('\u001b[31mFAILED\u001b[39m');
    expect(stdout).toContain('\u001b[32mFINISHED\u001b[39m');
    expect(stripVTControlCharacters(stdout)).toBe((await history()).stdout);
  });

  test.each(['RUNNING', 'STOPPED'])(
    'a batch that is %s is yellow, as a run in progress is',
    async (status) => {
      const ended = status === 'STOPPED' && { ended: new Date(NOW).toISOString() };
      const { history } = past([{ id: 'a', rows: { waiting: 1 }, owner: {}, ...ended }]);
      const { stdout } = await history([], { stdoutTerminal: 200, env: { TERM: 'xterm' } });
      expect(stdout).toContain(`\u001b[33m${status}\u001b[39m`);
    },
  );

  test('an id has as many groups as it needs to differ from all others in the history', async () => {
    const twins = [
      { id: uuid('30fa8c1e') },
      { id: '30fa8c1e-2f57-4a53-9b00-3d2f4c5b6a79' },
      { id: uuid('40fa8c1e') },
    ];
    const ids = (await past(twins).list()).slice(1).map((line) => line.split(' ')[0]);
    expect(ids).toEqual(['40fa8c1e', '30fa8c1e-2f57-4a53-9b00', '30fa8c1e-2f57-4a53-9a8e']);
  });

  test('runs of several services have a column for the service', async () => {
    const { list } = past([{ id: 'a' }, { id: 'b', baseUrl: 'https://other.example.com/' }]);
    expect((await list()).map((line) => /SERVICE|other\S*|127\S*/.exec(line)?.[0])).toEqual([
      'SERVICE',
      'other.example.com/',
      BASE.slice('http://'.length),
    ]);
  });

  test('a narrow window keeps the service if there are several, then both ends of a label and the beginning of a workflow', async () => {
    const label = 'scans/2026/november/invoice-2026-11-05.pdf';
    const { history } = past([
      { id: 'a', label },
      {
        id: 'b',
        baseUrl: 'https://other.example.com/',
        workflow: OTHER,
        version: 'purchase orders of november v12',
      },
    ]);
    const shown = async (stdoutTerminal: number) => (await history([], { stdoutTerminal })).stdout;
    expect(stripVTControlCharacters(await shown(70))).toMatch(/NAME +SERVICE +AGE/);
    expect(stripVTControlCharacters(await shown(40))).toMatch(
      /^ID +STATUS +NAME.*\n.* {2}purchase .*… {2}.*\n.* {2}scans\S*…\S*5\.pdf/,
    );
  });

  test('a narrow window shows the label without the workflow', async () => {
    const { history } = past(RUNS);
    const shown = linesOf(stripVTControlCharacters((await history([], { stdoutTerminal: 55 })).stdout));
    expect(shown[2]).toMatch(/^40fa8c1e {2}PENDING {3}billing v2 +12s$/);
    expect(shown[3]).toMatch(/^30fa8c1e {2}RUNNING {3}line 12 \(Smith & Sons, Inc\.\) {2}12m$/);
  });

  test('a window of 40 columns shows names and ages instead of services', async () => {
    const runs = [...RUNS.slice(2, 4), { id: uuid('50fa8c1e'), baseUrl: 'https://other.example.com/' }];
    const { history } = past(runs);
    const text = stripVTControlCharacters((await history([], { stdoutTerminal: 40 })).stdout);
    expect(linesOf(text).slice(0, 4)).toEqual([
      'ID        STATUS    NAME             AGE',
      '50fa8c1e  accepted  invoice          now',
      '40fa8c1e  PENDING   billing v2       12s',
      '30fa8c1e  RUNNING   line 12 (Smith…  12m',
    ]);
  });

  test('a secret in a label is masked, also where the cell is cut', async () => {
    const { history } = past([{ id: 'a', label: `row of ${'top-secret-token'}` }]);
    const options = { env: { WFR_TOKEN: 'top-secret-token', WFR_BASE_URL: BASE } };
    for (const columns of [200, 60]) {
      const { stdout } = await history([], { ...options, stdoutTerminal: columns });
      expect(stdout).not.toContain('top-se');
    }
  });

  test('--json has the documented members of every run, and the name of a workflow that has one', async () => {
    const { stdout } = await past(RUNS).history(['--json']);
    const [accepted, , running, failed] = JSON.parse(stdout) as Record<string, unknown>[];
    expect(running).toEqual({
      id: uuid('30fa8c1e'),
      workflow: INVOICE,
      workflowName: 'invoice',
      baseUrl: BASE,
      triggered: '2026-01-02T02:51:31.000Z',
      inputs: ['invoice'],
      status: 'RUNNING',
      label: 'rows.csv:12 (Smith & Sons, Inc.)',
    });
    expect(Object.keys(accepted ?? {})).not.toContain('status');
    expect(Object.keys(failed ?? {})).not.toContain('workflowName');
  });
});

describe('history: the runs that are listed', () => {
  const BATCH_END = '2026-01-02T03:04:35.000Z';
  const BATCH = {
    id: uuid('e0fa8c1e'),
    label: 'rows.csv',
    inputs: [],
    results: '/tmp/rows.results.jsonl',
    rows: { waiting: 1_200 },
    // Nobody here can tell whether it is alive.
    owner: { host: 'elsewhere', pid: 4711, space: '' },
  };
  const row = (start: string, line: number, batch = BATCH.id) => {
    return { id: uuid(start), status: 'FINISHED', label: `rows.csv:${line}`, batch };
  };

  test('the runs of a batch share its line, unless --status selects them or the output is data', async () => {
    const rows = { finished: 1_198, failed: 1, gone: '', waiting: 1 };
    const begun = { ...BATCH, ago: 60_000 };
    const ended = { ...begun, ended: BATCH_END };
    const { list, history } = past([
      { id: uuid('10fa8c1e'), ago: 120_000, status: 'FINISHED' },
      begun,
      row('20fa8c1e', 2),
      row('30fa8c1e', 3),
      row('40fa8c1e', 2, 'of another history'),
      { ...ended, rows },
      { ...ended, rows: { finished: 1_198, failed: 1, waiting: 1 } },
    ]);
    expect(await list()).toEqual([
      'ID        STATUS    NAME                 DURATION  AGE',
      '40fa8c1e  FINISHED  invoice: rows.csv:2            now',
      'e0fa8c1e  STOPPED   invoice: rows.csv    1m 30s    1m',
      '  1,200 rows: 1,198 finished, 1 failed, 1 waiting',
      '10fa8c1e  FINISHED  invoice                        2m',
    ]);
    const { stderr } = await history(['--limit', '2']);
    expect(linesOf(stderr)).toEqual([
      '2 of 3 listed; --limit 3 lists all',
      'For the results of a batch: wfr results e0fa8c1e',
    ]);
    expect((await past([begun]).history()).stderr).toBe('');
    expect((await history(['-q'])).stderr).toBe('');
    const runs = ['40fa8c1e', '30fa8c1e', '20fa8c1e', '10fa8c1e'].map(uuid);
    expect(await list('-o', 'id')).toEqual(runs);
    expect(await list('-o', 'id', '--status', 'finished')).toEqual(runs);
    expect(await list('--status', 'finished')).toHaveLength(5);
    expect(await list('--status', 'Stopped')).toEqual([
      expect.stringMatching(/^ID /),
      expect.stringMatching(/^e0fa8c1e {2}STOPPED /),
      expect.stringMatching(/^ {2}1,200 rows: /),
    ]);
    expect(await list('--status', 'invalid')).toEqual(['']);
    expect(await list('--workflow', OTHER)).toEqual(['']);
  });

  test.each([
    [120, '60 rows: 52 finished, 4 failed, 1 rejected, 3 invalid'],
    [40, '60 rows: 52 finished, 4 failed,\n  1 rejected, 3 invalid'],
    [80, '2 rows: 1 running at its end, 1 waiting', { running: 1, waiting: 1 }],
  ])(
    'in a window of %i columns, the states of rows are below the batch: %s',
    async (stdoutTerminal, text, ...other) => {
      const [rows = { finished: 52, failed: 4, rejected: 1, invalid: 3 }] = other;
      const elsewhere = { id: 'a', baseUrl: 'https://other.example.com/' };
      const { history } = past([{ ...BATCH, ended: BATCH_END, rows }, elsewhere]);
      const { stdout } = await history([], { stdoutTerminal });
      expect(stripVTControlCharacters(stdout)).toMatch(/\ne0fa8c1e .*\n {2}\d+ rows/);
      expect(stripVTControlCharacters(stdout)).toContain(`${text}\n`);
    },
  );

  test('a batch of an empty table has no states', async () => {
    const { stdout } = await past([{ ...BATCH, ended: BATCH_END, rows: {} }]).history();
    expect(stdout).toMatch(/now\n {2}0 rows\n$/);
  });

  test('a word for the state of rows that others wrote into the history is escaped', async () => {
    const { stdout } = await past([{ ...BATCH, ended: BATCH_END, rows: { '\u001b[2J': 1 } }]).history();
    expect(stdout).toContain('  1 row: 1 \\u001b[2J\n');
  });

  test('a window of 80 columns shows services before durations', async () => {
    const ended = { ...BATCH, ended: BATCH_END, label: 'november/customers.csv' };
    const staging = { ...ended, id: uuid('f0fa8c1e'), baseUrl: 'https://staging.example.com/' };
    const { history } = past([ended, staging]);
    const headers = async (stdoutTerminal: number) => {
      const { stdout } = await history([], { stdoutTerminal });
      return linesOf(stripVTControlCharacters(stdout))[0]?.split(/ +/).join(' ');
    };
    expect(await headers(120)).toBe('ID STATUS NAME SERVICE DURATION AGE');
    expect(await headers(72)).toBe('ID STATUS NAME SERVICE AGE');
    expect(await headers(40)).toBe('ID STATUS NAME AGE');
  });

  test('a batch whose command has not ended is running, and the latest that began is first', async () => {
    const running = { ...BATCH, results: join(folderWith({ 'rows.jsonl': '' }), 'rows.jsonl') };
    const { list } = past([
      { ...running, ago: 2 },
      { ...running, ago: 1, id: uuid('f0fa8c1e'), workflow: OTHER, rows: { waiting: 1 } },
      running,
    ]);
    expect(await list()).toEqual([
      'ID        STATUS   NAME                 AGE',
      'e0fa8c1e  RUNNING  invoice: rows.csv    now',
      '  1,200 rows: see wfr results e0fa8c1e',
      'f0fa8c1e  RUNNING  f7a1c2d3…: rows.csv  now',
      '  1 row: see wfr results f0fa8c1e',
    ]);
  });

  test('a run or row is later than those recorded before it, also if the clock was set back since', async () => {
    const { list, env } = past([
      { id: uuid('30fa8c1e'), ago: -3_600_000 },
      { id: uuid('40fa8c1e'), ago: 2_000 },
      { ...row('10fa8c1e', 2), ago: -3_600_000 },
      { ...row('20fa8c1e', 3), ago: 3_000 },
      { ...row('50fa8c1e', 4), ago: 1_000 },
    ]);
    const latest = ['50fa8c1e', '40fa8c1e', '30fa8c1e', '20fa8c1e', '10fa8c1e'];
    expect(await list('-o', 'id')).toEqual(latest.map(uuid));
    const { stderr } = await runCli(['status', '@last'], { env, clock: new VirtualClock() });
    expect(stderr).toContain(uuid('50fa8c1e'));
  });

  test('a batch whose command was killed is stopped: it no longer touches its results file, or that is gone', async () => {
    const results = join(folderWith({ 'rows.jsonl': '' }), 'rows.jsonl');
    const { list, history } = past([{ ...BATCH, results }]);
    const touched = async (ms: number) => {
      utimesSync(results, 0, (NOW - ms) / 1_000);
      return (await list())[1];
    };
    const next = 'To continue e0fa8c1e, run its command again.\n';
    expect(await touched(60_000)).toContain('e0fa8c1e  RUNNING  ');
    expect((await history()).stderr).not.toContain(next);
    expect(await touched(61_000)).toContain('e0fa8c1e  STOPPED  invoice: rows.csv  now');
    expect((await history()).stderr).toContain(next);
    rmSync(results);
    expect((await list())[1]).toContain('e0fa8c1e  STOPPED  ');
    // Nothing keeps its command from triggering all runs again.
    expect((await history()).stderr).not.toContain('To continue');
    const { results: _, ...onStdout } = BATCH;
    expect((await past([onStdout]).list()).slice(1)).toEqual([
      expect.stringContaining('e0fa8c1e  RUNNING  '),
      '  1,200 rows',
    ]);
  });

  test('a batch that was continued at another service is listed once, as it was left there', async () => {
    const ended = { ...BATCH, rows: { finished: 2 }, ended: '2026-01-02T03:04:05Z' };
    const { list } = past([{ ...BATCH, baseUrl: 'https://other.example/' }, ended]);
    expect((await list()).filter((line) => line.includes('e0fa8c1e'))).toEqual([
      expect.stringContaining('FINISHED'),
    ]);
  });

  test('a batch that stopped for unknown rows is continued, too, if rows wait', async () => {
    const results = join(folderWith({ 'rows.jsonl': '' }), 'rows.jsonl');
    const nextOf = async (waiting: number) => {
      const rows = { unknown: 1, ...(waiting > 0 && { waiting }) };
      return (await past([{ ...BATCH, results, rows, ended: '2026-01-02T03:04:05Z' }]).history()).stderr;
    };
    expect(await nextOf(1)).toContain('To continue e0fa8c1e');
    expect(await nextOf(0)).not.toContain('To continue');
  });

  test('a batch whose process is dead is stopped at once; that of another boot, or of another machine without boots, is not looked for', async () => {
    const results = join(folderWith({ 'rows.jsonl': '' }), 'rows.jsonl');
    utimesSync(results, 0, NOW / 1_000);
    const owner = { host: 'here', pid: 4711, space: 'boot', started: '9' };
    const statusWith = async (isAlive: boolean | undefined, changes: object, file: Partial<Recorded>) => {
      const { history } = past([{ ...BATCH, ...file, owner: { ...owner, ...changes } }]);
      const self = {
        ...{ host: 'here', pid: 1, space: 'boot' },
        isAlive: (pid: number, started?: string) => (pid === 4711 && started === '9' ? isAlive : true),
      };
      return /e0fa8c1e {2}(\w+)/.exec((await history([], { self })).stdout)?.[1];
    };
    for (const file of [{ results }, { results: undefined }]) {
      expect(await statusWith(false, {}, file)).toBe('STOPPED');
      for (const isAlive of [true, undefined]) expect(await statusWith(isAlive, {}, file)).toBe('RUNNING');
      for (const other of [{ space: 'another boot' }, { space: '', host: 'there' }])
        expect(await statusWith(false, other, file)).toBe('RUNNING');
    }
  });

  test.each([
    [{ finished: 2, invalid: 1 }, 'INVALID'],
    [{ finished: 2, rejected: 1, held: 1 }, 'REJECTED'],
    [{ failed: 1, rejected: 3 }, 'FAILED'],
    [{ failed: 2, running: 1 }, 'STOPPED'],
    [{ running: 2, unreachable: 1 }, 'UNREACHABLE'],
    [{ running: 2, waiting: 1 }, 'STOPPED'],
    [{ unknown: 1, waiting: 8 }, 'UNKNOWN'],
  ])('a batch that has ended with the rows %j is %s', async (rows, status) => {
    const [, line] = await past([{ ...BATCH, ended: BATCH_END, rows }]).list();
    expect(line).toContain(`e0fa8c1e  ${status}  `);
  });

  test('results: a beginning that several batches have exits 2, and one at two services is that of the latest', async () => {
    const { env } = past([BATCH, { ...BATCH, id: 'e0fa8c1e-2f57-4a53-9b00-3d2f4c5b6a79' }]);
    const results = (id: string) => runCli(['results', id], { env });
    expect(await results('e0fa8c1e')).toMatchObject({
      exitCode: 2,
      stderr: 'wfr: error: e0fa8c1e: several batches of the history begin with it\n',
    });
    expect((await results('e0fa8c1e-2f57-4a53-9a')).stderr).toContain('rows.results.jsonl: no such file');
    const moved = past([
      BATCH,
      { ...BATCH, baseUrl: 'https://other.example.com/', results: '/tmp/new.jsonl' },
    ]);
    const { stderr } = await runCli(['results', 'e0fa8c1e'], { env: moved.env });
    expect(stderr).toContain('new.jsonl: no such file');
  });

  test('a history of batches alone is not empty, and a batch whose rows are no counts is ignored', async () => {
    const { stderr } = await past([BATCH]).history(['--workflow', OTHER]);
    expect(stderr).toBe('No run in the history matches these flags.\n');
    for (const rows of ['60', { finished: 'all' }])
      expect(await past([{ ...BATCH, rows }]).list()).toEqual(['']);
  });

  test('in a window of 40 columns, a batch has the name of its table', async () => {
    const { stdout } = await past([BATCH]).history([], { stdoutTerminal: 40 });
    expect(stripVTControlCharacters(stdout)).toContain('e0fa8c1e  STOPPED  rows.csv');
  });

  const ids = async (...args: string[]) => past(RUNS).list('-o', 'id', ...args);

  test('--status and --workflow select runs, and --limit counts what they select', async () => {
    expect(await ids('--status', 'failed')).toEqual([uuid('20fa8c1e')]);
    expect(await ids('--status', 'accepted')).toEqual(['order-1']);
    expect(await ids('--workflow', 'invoice', '--limit', '2')).toEqual(['order-1', uuid('30fa8c1e')]);
    expect(await ids('--workflow', `https://example.com/workflows/${OTHER.toUpperCase()}`)).toEqual([
      uuid('20fa8c1e'),
    ]);
  });

  test('--status: a word that is no status exits 2 with those of runs and batches, unless a run has it', async () => {
    const { stdout, stderr, exitCode } = await past(RUNS).history(['--status', 'FAILD']);
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
    expect(stderr).toBe('wfr: error: --status FAILD: did you mean FAILED?\n');
    expect((await past(RUNS).history(['--status', 'sick'])).stderr).toBe(
      'wfr: error: --status sick: choose one of PENDING, RUNNING, FINISHED, FAILED, UNKNOWN, STOPPED, UNREACHABLE, REJECTED, LOST, HELD, INVALID\n',
    );
    const paused = past([{ id: 'order-1', status: 'PAUSED' }]);
    expect((await paused.history(['--status', 'paused', '-o', 'id'])).stdout).toBe('order-1\n');
  });

  test('a status that is not final is said to be as last recorded', async () => {
    const note = (flags = '') =>
      `As last recorded; to ask the service: wfr status ${flags}order-1 40fa8c1e 30fa8c1e\n`;
    const { history } = past(RUNS);
    expect((await history()).stderr).toBe(note());
    expect((await history(['--profile', 'p'])).stderr).toBe(note('--profile p '));
    // The command asks the service of the runs, whichever is in use.
    const flagsWith: [env: Record<string, string>, flags: string][] = [
      [{ WFR_BASE_URL: BASE.slice(0, -1) }, ''],
      [{ WFR_BASE_URL: 'https://other.example.com' }, `--base-url ${BASE} `],
      [{ XDG_CONFIG_HOME: temporaryFolder() }, `--base-url ${BASE} `],
    ];
    for (const [env, flags] of flagsWith) expect((await history([], { env })).stderr).toBe(note(flags));
    expect((await past([{ id: '-v' }]).history()).stderr).toContain('wfr status -- -v\n');
    const elsewhere = { id: 'b', baseUrl: 'https://other.example.com/' };
    expect((await past([elsewhere]).history()).stderr).toContain(`--base-url ${elsewhere.baseUrl} b\n`);
    // Those at the service in use are first, although others are later.
    expect((await past([...RUNS, elsewhere]).history()).stderr).toBe(note());
    for (const args of [['--status', 'failed'], ['--json'], ['-o', 'id'], ['-q']])
      expect((await history(args)).stderr).toBe('');
  });

  test('a name beside a service is the label alone where there is little room', async () => {
    const { history } = past([RUNS[2] as Recorded, { id: 'b', baseUrl: 'https://other.example.com/' }]);
    const names = async (stdoutTerminal: number) =>
      /\S*line 12|invoice: rows\.csv/.exec((await history([], { stdoutTerminal })).stdout)?.[0];
    expect(await names(79)).toBe('line 12');
    expect(await names(80)).not.toBe('line 12');
    expect(await names(120)).toBe('invoice: rows.csv');
  });

  test('--workflow: a word that is no id says so on stderr, where no profile has names', async () => {
    const { history } = past(RUNS);
    const env = { XDG_CONFIG_HOME: temporaryFolder() };
    const { stderr, exitCode } = await history(['--workflow', 'slow\u001b'], { env });
    expect({ stderr, exitCode }).toEqual({
      stderr:
        'No run in the history matches --workflow slow\\u001b; expected a UUID, URL or configured name.\n',
      exitCode: 0,
    });
    const data = await history(['--workflow', 'slow', '--json'], { env });
    expect({ stdout: data.stdout, stderr: data.stderr }).toEqual({ stdout: '[]\n', stderr: '' });
  });

  test('a selection without runs says so on stderr', async () => {
    const { stdout, stderr, exitCode } = await past(RUNS).history([
      '--status',
      'PENDING',
      '--workflow',
      OTHER,
    ]);
    expect({ stdout, stderr, exitCode }).toEqual({
      stdout: '',
      stderr: 'No run in the history matches these flags.\n',
      exitCode: 0,
    });
  });
});

describe('the beginning of a run id', () => {
  const RUN = aRun({ id: uuid('30fa8c1e') });

  async function command(args: readonly string[], runs = RUNS) {
    const service = await scriptedService((request, reply) =>
      reply.send(200, { ...RUN, id: idOf(request.path) }),
    );
    const { env } = past(runs, `${service.baseUrl}/`);
    const result = await runCli(args, { env, clock: new VirtualClock() });
    return { ...result, asked: service.requests.map(({ path }) => idOf(path)) };
  }

  const idOf = (path: string) => path.slice('/runs/'.length);

  test('four characters of a UUID in the history stand for it in status and watch; of one run, stderr has the whole id', async () => {
    const status = await command(['status', '-o', 'id', '30FA', '20fa8c1e-2f57-4']);
    expect(status).toMatchObject({
      exitCode: 0,
      stdout: `${uuid('30fa8c1e')}\n${uuid('20fa8c1e')}\n`,
      stderr: '',
    });
    const watch = await command(['watch', '-q', '--timeout', '0', '30fa8']);
    expect(watch.asked).toEqual([uuid('30fa8c1e')]);
    expect(watch.stderr).toContain(`Run ${uuid('30fa8c1e')} `);
  });

  test.each(['30f', 'order', '50fa', '30fa8c1x', uuid('50fa8c1e')])('%s is sent as it is', async (id) => {
    const { asked, stderr } = await command(['status', id]);
    expect({ asked, stderr }).toEqual({ asked: [id], stderr: '' });
  });

  test.each(['@lst', '@last-2'])('%s is sent as it is, with a warning', async (id) => {
    const { asked, stderr } = await command(['status', id]);
    expect(asked[0]).toBe(encodeURIComponent(id));
    expect(stderr).toMatch(`wfr: warning: ${id} is sent as typed: did you mean @last?\n`);
  });

  test('the beginning of several UUIDs is sent as it is', async () => {
    const { asked, stderr, exitCode } = await command(
      ['status', '30fa'],
      [...RUNS, { id: uuid('30fa0000'), status: 'FAILED' }],
    );
    expect({ asked, exitCode }).toEqual({ asked: ['30fa'], exitCode: 0 });
    expect(stderr).toContain('30fa is sent as typed: several runs begin with it');
  });

  test('a whole id wins over a UUID that begins with it, and runs of other services do not count', async () => {
    const whole = await command(['status', '-o', 'id', '30fa'], [...RUNS, { id: '30fa' }]);
    expect(whole.stdout).toBe('30fa\n');
    const elsewhere = await command(
      ['status', '-o', 'id', '30fa'],
      [...RUNS, { id: uuid('30fa0000'), baseUrl: 'https://other.example.com/' }],
    );
    expect(elsewhere.stdout).toBe(`${uuid('30fa8c1e')}\n`);
  });

  test('an id that could begin that of another run is sent as it is, where it is a run or that is no UUID (fault 106)', async () => {
    const runs = [{ id: '12345678' }, { id: '12345678-1' }, { id: uuid('12345678') }, { id: 'abcd1-x' }];
    const { asked, stderr } = await command(['status', '12345678', '12345678-1', 'abcd', 'ABCD1'], runs);
    expect({ asked: asked.sort(), stderr }).toEqual({
      asked: ['12345678', '12345678-1', 'ABCD1', 'abcd'],
      stderr: '',
    });
    const { asked: upper } = await command(['status', 'ABCD'], [{ id: 'abcd' }, { id: uuid('abcd1234') }]);
    expect(upper).toEqual([uuid('abcd1234')]);
  });

  const NONE = 'wfr history has no run with it';
  const YOURS = 'wfr history lists yours';
  test.each([
    ['zzzz', NONE],
    ['50fa', NONE],
    ['order', NONE],
    ['30f', NONE],
    [uuid('30FA8C1E'), NONE],
    ['30FA', YOURS],
    ['order-1', YOURS],
  ])('where the service does not know %s, the error says what the history knows: %s', async (id, known) => {
    const service = await scriptedService((_request, reply) => reply.send(404, ''));
    const { env } = past([...RUNS, { id: uuid('30fa0000') }], `${service.baseUrl}/`);
    for (const name of ['status', 'watch']) {
      const { exitCode, stderr } = await runCli([name, id], { env, clock: new VirtualClock() });
      expect(exitCode).toBe(5);
      expect(stderr).toContain(
        `wfr: error: the service has no run ${id} (404)\n` +
          `  Check the id (${known}), and the base URL: ${service.baseUrl}/\n`,
      );
    }
  });

  test('the table shows no id shorter than what stands for its run', async () => {
    const other = uuid('30fa8c1e').toUpperCase();
    const first = ['12345678', uuid('12345678'), other].map((id) => ({ id, ago: 4 * 86_400_000 }));
    const { list, env } = past([...first, ...RUNS]);
    const shown = (await list()).slice(1).map((line) => line.split(' ')[0] ?? '');
    expect(shown.slice(-3)).toEqual([other, '12345678-2f57', '12345678']);
    expect(shown).toContain(uuid('30fa8c1e'));
    const { stderr } = await runCli(['status', shown.at(-2) ?? ''], { env, clock: new VirtualClock() });
    expect(stderr).toContain(`error: run ${uuid('12345678')} could not be read`);
  });
});

describe('ids that differ only in case', () => {
  const IDS = ['b01a', 'B01a', 'b01A', uuid('b01a0000'), uuid('B01A0000')];

  async function wfr(args: readonly string[]) {
    const service = await scriptedService((request, reply) => {
      const id = request.path.slice('/runs/'.length);
      reply.send(200, { ...aFinishedRun({ of: id }), id });
    });
    const { env } = past(
      IDS.map((id) => ({ id })),
      `${service.baseUrl}/`,
    );
    const result = await runCli(args, { env, clock: new VirtualClock() });
    const statuses = async () => {
      const { stdout } = await runCli(['history', '-o', 'jsonl'], { env, clock: new VirtualClock() });
      const runs = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Recorded);
      return runs.flatMap(({ id, status }) => (status === undefined ? [] : [`${id} ${status}`]));
    };
    return { ...result, statuses };
  }

  test.each(['status', 'watch'])(
    'history and %s: ids that differ only in case are different runs, each shown and recorded by itself (fault 105)',
    async (command) => {
      for (const id of IDS) {
        const { stdout, statuses } = await wfr([command, '-o', 'json', id]);
        expect(JSON.parse(stdout)).toMatchObject({ id, output: { of: id } });
        expect(await statuses()).toEqual([`${id} FINISHED`]);
      }
      const { stdout } = await wfr([command, '-o', 'id', ...IDS]);
      expect(stdout.trimEnd().split('\n').sort()).toEqual([...IDS].sort());
    },
  );

  test('status: a response whose id differs in case is about another run, and exits 7 (fault 105)', async () => {
    const service = await scriptedService((_request, reply) => reply.send(200, aRun({ id: 'abc1' })));
    const { stdout, stderr, exitCode } = await runCli(['status', 'ABC1'], {
      env: { WFR_BASE_URL: service.baseUrl },
      clock: new VirtualClock(),
    });
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 7 });
    expect(stderr).toContain('another run');
  });
});

describe('the history is read once', () => {
  test.each([
    ['status', []],
    ['watch', ['--timeout', '0']],
  ])('%s: of many runs, also by their beginnings, reads the history once', async (command, flags) => {
    const service = await scriptedService((request, reply) =>
      reply.send(200, { ...aFinishedRun(), id: request.path.slice('/runs/'.length) }),
    );
    const runs = Array.from({ length: 20 }, (_, n) => ({ id: uuid(`${10_000_000 + n}`), status: 'RUNNING' }));
    const { env, history } = past(runs, `${service.baseUrl}/`);
    const { open } = promises;
    const opened: unknown[] = [];
    const spy = vi.spyOn(promises, 'open').mockImplementation((path, mode, ...rest) => {
      if (String(path).endsWith('history.jsonl') && (Number(mode) & 3) === 0) opened.push(path);
      return open.call(promises, path, mode, ...rest);
    });
    onTestFinished(() => spy.mockRestore());
    const { exitCode } = await runCli([command, ...flags, ...runs.map(({ id }) => id.slice(0, 9))], {
      env,
      clock: new VirtualClock(),
    });
    expect({ exitCode, reads: opened.length }).toEqual({ exitCode: 0, reads: 1 });
    expect(
      (await history(['-o', 'jsonl', '--status', 'FINISHED'])).stdout.trimEnd().split('\n'),
    ).toHaveLength(20);
  });
});
