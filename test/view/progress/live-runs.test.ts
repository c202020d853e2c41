/** The live table of several runs, and what is said when they have ended. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type CliOptions, runCli, Signals, temporaryFolder } from '../../helpers/cli.js';
import { aFinishedRun, aRun, scriptedService } from '../../helpers/service.js';

const IDS = ['10fa8c1e-2f57-4a53-9a8e-3d2f4c5b6a79', '20fa8c1e-2f57-4a53-9a8e-3d2f4c5b6a79', 'order-1'];
const WORKFLOW = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';
const [FIRST = '', SECOND = ''] = IDS;

/** Watches runs of which `ended` have ended; the others end after three polls of each, `quick` after one. */
async function watch(ids: readonly string[], options: CliOptions = {}, ended: readonly string[] = []) {
  const polls = new Map<string, number>();
  const { baseUrl } = await scriptedService((request, reply) => {
    const id = request.path.slice('/runs/'.length);
    const count = (polls.get(id) ?? 0) + 1;
    polls.set(id, count);
    const run =
      ended.includes(id) || count > (id === 'quick' ? 1 : 3)
        ? aFinishedRun()
        : aRun({ stepsCompleted: count });
    if (id === 'missing') reply.send(404);
    else if (id === 'bad') reply.send(200, { ...aRun({ status: 'FAILED', error: { message: 'no' } }), id });
    else reply.send(200, { ...run, id, createdAt: '2026-01-02T03:03:45Z' });
  });
  const [state, config] = [temporaryFolder(), temporaryFolder()];
  mkdirSync(join(state, 'wfr'), { mode: 0o700 });
  const past = { workflow: WORKFLOW, baseUrl: `${baseUrl}/`, triggered: 't', inputs: [] };
  const records = [
    { ...past, id: FIRST },
    { ...past, id: SECOND, label: 'rows.csv:12' },
    { ...past, id: 'order-2', triggered: '2026-01-02T03:03:45Z', ended: '2026-01-02T03:03:50Z' },
    { ...past, id: `${FIRST.slice(0, 9)}0000-4a53-9a8e-3d2f4c5b6a79` },
  ];
  writeFileSync(
    join(state, 'wfr', 'history.jsonl'),
    records.map((record) => `${JSON.stringify(record)}\n`).join(''),
  );
  mkdirSync(join(config, 'wfr'));
  const profiles = { p: { baseUrl, workflows: { invoice: WORKFLOW } } };
  writeFileSync(join(config, 'wfr', 'config.json'), JSON.stringify({ defaultProfile: 'p', profiles }));
  const env = { TERM: 'xterm', NO_COLOR: '1', XDG_STATE_HOME: state, XDG_CONFIG_HOME: config };
  return runCli(['watch', ...ids], { terminal: 100, ...options, env: { ...env, ...options.env } });
}

/** Returns the lines of each frame, without the control sequences of cursor and color. */
function frames(stderr: string): string[][] {
  return stderr
    .split('\u001b[?2026h')
    .slice(1)
    .map((frame) =>
      stripVTControlCharacters(frame.split('\u001b[?2026l')[0] ?? '')
        .split('\n')
        .map((line) => line.trimEnd()),
    );
}

describe('the live table of several runs', () => {
  test('has a line for each run: short id, status, steps, age and name', async () => {
    const { stderr } = await watch(IDS, {}, ['order-1']);
    const shown = frames(stderr).map((lines) => lines.slice(1));
    expect(shown).toContainEqual([
      '  ID             STATUS    STEPS  NAME                  AGE',
      expect.stringMatching(/^ {2}10fa8c1e-2f57 {2}RUNNING {3}1\/4 {4}invoice {15}2\ds$/),
      expect.stringMatching(/^ {2}20fa8c1e {7}RUNNING {3}1\/4 {4}invoice: rows\.csv:12 {2}2\ds$/),
      expect.stringMatching(/^ {2}order-1 {8}FINISHED {2}4\/4 {4}v1 {20}2\ds$/),
      '  Ctrl-C stops watching, not the runs',
    ]);
  });

  test('a run that was seen to end has its duration while others run', async () => {
    const { stderr } = await watch(['quick', 'b']);
    const shown = frames(stderr).map((lines) => lines.slice(1));
    expect(shown).toContainEqual([
      '  ID     STATUS    STEPS  NAME  DURATION  AGE',
      expect.stringMatching(/^ {2}quick {2}FINISHED {2}4\/4 {4}v1 {4}(\d+s) {7}\d+s$/),
      expect.stringMatching(/^ {2}b {6}RUNNING {3}\d\/4 {4}v1 {14}\d+s$/),
      '  Ctrl-C stops watching, not the runs',
    ]);
  });

  test('a run that has not been read is waiting, without the duration that the history has', async () => {
    const { stderr } = await watch([...IDS, 'order-2']);
    expect(frames(stderr)[0]?.slice(1)).toEqual([
      '  ID             STATUS    NAME',
      '  10fa8c1e-2f57  waiting   invoice',
      '  20fa8c1e       waiting   invoice: rows.csv:12',
      '  order-1        waiting',
      '  order-2        waiting   invoice',
      '  Ctrl-C stops watching, not the runs',
    ]);
  });

  test('a run that could not be read is no longer waiting', async () => {
    const { stderr } = await watch(['a', 'missing']);
    const last = frames(stderr).findLast(([line = '']) => line.includes('1 not found'));
    expect(last?.[0]).toContain('1 not found');
    expect(last?.slice(1).join('\n')).toMatch(/^ {2}missing {2}not found$/m);
  });

  test.each([100, 80, 60, 40, 30])(
    'in a window of %i columns, no line is wider, and each run has one',
    async (terminal) => {
      const { stderr } = await watch(IDS, { terminal });
      for (const lines of frames(stderr)) {
        for (const line of lines) expect(line.length).toBeLessThan(terminal);
      }
      expect(Math.max(...frames(stderr).map((lines) => lines.length))).toBe(terminal < 40 ? 5 : 6);
      expect(stderr.includes('rows.csv:12')).toBe(terminal >= 40);
    },
  );

  test.each([
    [5, 4],
    [4, 3],
    [3, 2],
    [1, 1],
  ])('in a window of %i rows, the display has at most %i lines, and counts', async (terminalRows, lines) => {
    const { stderr } = await watch(IDS, { terminalRows });
    expect(Math.max(...frames(stderr).map((frame) => frame.length))).toBe(lines);
    expect(stderr).toMatch(/0\/3 runs {2}\d+s {2}3 RUNNING/);
  });

  test('in a narrow window, the counts are wrapped, and the bar is left out', async () => {
    const first = async (terminal: number) => {
      const { stderr } = await watch(['a', 'b', 'missing'], { terminal });
      const [line = '', next = ''] = frames(stderr).find(([line = '']) => /1\/3.*2 RUNNING/.test(line)) ?? [];
      return [line.slice(2), next.trim()];
    };
    expect(await first(35)).toEqual(['1/3 runs  2 RUNNING, 1 not', 'found']);
    expect(await first(60)).toEqual([
      expect.stringMatching(/^██░{4} {2}1\/3 runs {2}\ds {2}2 RUNNING, 1 not found$/),
      expect.stringMatching(/^ID /),
    ]);
  });

  test('in a window with too few rows, the last line counts the runs that are missing', async () => {
    const { stderr } = await watch(IDS, { terminalRows: 4 });
    expect(frames(stderr).some((frame) => frame.at(-1) === '  … 3 more runs')).toBe(true);
    expect((await watch(IDS, { terminalRows: 6 })).stderr).not.toContain(' more ');
  });

  test('in a window of 40 columns, the counts take the place of the time, and a name that of the steps', async () => {
    const { stderr } = await watch([SECOND, 'bad', 'quick', 'b'], { terminal: 40 });
    const shown = frames(stderr).find(([line = '']) => line.includes('2/4 runs'));
    expect(shown?.[0]).toMatch(/^. 2\/4 runs {2}1 FINISHED, 1 FAILED,$/);
    expect(shown?.slice(1, 4)).toEqual([
      '    2 RUNNING',
      '  ID        STATUS        NAME',
      expect.stringMatching(/^ {2}20fa8c1e {2}RUNNING \d\/4 {3}rows\.csv:12$/),
    ]);
  });

  test.each([
    [5, 'order-1'],
    [6, '10fa8c1e-2f57'],
  ])(
    'in a window of %i rows, where one of three runs has ended, the first is %s',
    async (terminalRows, first) => {
      const { stderr } = await watch(IDS, { terminalRows }, IDS.slice(0, 2));
      const shown = frames(stderr).filter(([line = '']) => line.includes('2/3 runs'));
      expect(shown[0]?.[2]).toContain(first);
    },
  );

  const [BAD, B] = [expect.stringMatching(/^ {2}bad +FAILED /), expect.stringMatching(/^ {2}b +RUNNING /)];
  test.each([
    [8, [expect.stringMatching(/^ {2}order-1 /), B, BAD, '    no', expect.stringMatching(/^ {2}c /)]],
    [7, [expect.stringMatching(/^ {2}order-1 /), B, BAD, expect.stringMatching(/^ {2}c /)]],
    [6, [BAD, B, '  … 2 more runs']],
  ])(
    'in a window of %i rows, reasons give way to runs, and then those that finished to those that failed',
    async (terminalRows, lines) => {
      const { stderr } = await watch(['order-1', 'b', 'bad', 'c'], { terminalRows }, ['order-1']);
      const shown = frames(stderr).filter(([line = '']) => line.includes('2/4 runs'));
      expect(shown[0]?.slice(2)).toEqual(lines);
    },
  );

  test.each(['json', 'jsonl'])(
    'with -o %s, whose lines a live one would erase in part, there is a line for each change instead',
    async (format) => {
      for (const options of [{}, { stdoutTerminal: 100 }]) {
        const { stderr } = await watch([...IDS, '-o', format], options);
        expect(frames(stderr)).toEqual([]);
        expect(stderr).toContain('Z order-1  RUNNING  1 of 4 steps\n');
      }
      const one = await watch(['order-1', '-o', format]);
      expect(frames(one.stderr).length > 0).toBe(format === 'json');
    },
  );

  test('a status has a color', async () => {
    const { stderr } = await watch(IDS, { env: { NO_COLOR: '' } });
    expect(stderr).toContain('\u001b[33mRUNNING\u001b[39m');
  });
});

describe('the end of several runs', () => {
  test('the table is printed once all have ended, and the last line counts them', async () => {
    const { stdout, stderr, exitCode } = await watch(IDS, { stdoutTerminal: 100 }, ['order-1']);
    expect(exitCode).toBe(0);
    // Nobody saw the third one end.
    expect(
      stripVTControlCharacters(stdout),
    ).toBe(`ID             STATUS    STEPS  NAME                  DURATION  AGE
10fa8c1e-2f57  FINISHED  4/4    invoice               26s       26s
20fa8c1e       FINISHED  4/4    invoice: rows.csv:12  26s       26s
order-1        FINISHED  4/4    v1                              26s
`);
    // The table names them.
    expect(stderr).not.toMatch(/Run \S|Finished: /);
    expect(stderr).toMatch(/3 runs: 3 FINISHED\nTo print an output: wfr watch \S+\n\S*$/);
  });

  test('watch --timeout: the last lines say how to watch, by a short id, and how to print', async () => {
    const { stderr, exitCode } = await watch([FIRST, 'order-1', '--timeout', '1s'], {}, ['order-1']);
    expect(exitCode).toBe(8);
    expect(stderr).toMatch(
      /2 runs: 1 FINISHED, 1 RUNNING\nTimed out; 1 of 2 runs may still be running\.\nTo watch it: wfr watch 10fa8c1e-2f57\nTo print an output: wfr watch order-1\n/,
    );
  });

  test.each([
    ['bad', []],
    ['order-1', ['-o', 'json']],
    ['order-1', ['-q']],
    ['order-1', ['--save-outputs', 'out']],
  ])('of the runs bad and %s with the flags %j, no output is to be printed', async (id, flags) => {
    const { stderr } = await watch(['bad', id, ...flags], { cwd: temporaryFolder() }, ['order-1']);
    expect(stderr).not.toContain('To print');
  });

  test('in a sandbox that ends with the command, no run is said to continue', async () => {
    const { stderr } = await watch(['a', 'b'], { env: { WFR_SANDBOX: '1' } });
    expect(stderr).not.toContain('Ctrl-C');
  });

  test('a run that is not found has a color', async () => {
    const env = { NO_COLOR: '', FORCE_COLOR: '1' };
    const { stdout } = await watch(['a', 'missing', '--color', 'always'], { env });
    expect(stdout).toContain('\u001b[33mnot found');
  });

  test('without a terminal, there are plain lines and the count', async () => {
    const { stderr } = await watch(['a', 'missing'], { terminal: 0 });
    expect(stderr).toMatch(/Z missing {2}not found\n/);
    expect(stderr).not.toContain('To print');
    expect(stderr).toMatch(/\n2 runs: 1 FINISHED, 1 not found\nwfr: error: the service has no run missing/);
  });

  test.each([
    [['a', 'b'], [], 'Interrupted; 2 of 2 runs may still be running.\nTo watch them: wfr watch a b\n'],
    [
      ['a', 'b', 'c'],
      ['c'],
      'Interrupted; 2 of 3 runs may still be running.\nTo watch them: wfr watch a b\n',
    ],
    [['a', 'b'], ['b'], 'Interrupted; 1 of 2 runs may still be running.\nTo watch it: wfr watch a\n'],
  ])(
    'Ctrl-C while %j are watched, of which %j have ended, says once what continues',
    async (ids, ended, text) => {
      const signals = new Signals();
      const onOutput = (shown: string) => {
        const statusOf = (id: string) => (ended.includes(id) ? 'FINISHED' : 'RUNNING');
        if (ids.every((id) => shown.includes(` ${id}  ${statusOf(id)}`))) signals.raise('SIGINT');
      };
      const { stderr, exitCode } = await watch(ids, { signals, onOutput, terminal: 0 }, ended);
      expect(exitCode).toBe(130);
      expect(stderr).toContain(text);
      expect(stderr.match(/Interrupted/g)).toHaveLength(1);
    },
  );
});

test('a run of one step has "0 of 1 step"', async () => {
  const { baseUrl } = await scriptedService((_request, reply) =>
    reply.send(200, aRun({ steps: 1, stepsCompleted: 0 })),
  );
  const { stderr } = await runCli(['watch', 'run-1', '--timeout', '0'], { env: { WFR_BASE_URL: baseUrl } });
  expect(stderr).toContain('RUNNING  0 of 1 step\n');
  expect(stderr).toContain('(0 of 1 step)');
});
