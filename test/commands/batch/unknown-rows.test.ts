/** Rows that need a decision of the user: their run is lost, or may or may not exist. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BATCH_ARGS, eventNamesByRow, FINISHED_ROW, numberedRows, readEvents } from '../../helpers/batch.js';
import { type CliOptions, runCli, Signals } from '../../helpers/cli.js';
import { CLOSED_URL } from '../../helpers/closed-port.js';
import { folderWith } from '../../helpers/files.js';
import { REPORT_FILES } from '../../helpers/reports.js';
import { aFinishedRun, aRun, scriptedService } from '../../helpers/service.js';

const ARGS = [...BATCH_ARGS, '--workflow-id-field', 'workflowId', '--concurrency', '1'];

type Response = [status: number, body?: unknown, headers?: Record<string, string>];

/** The responses to the trigger of a row (undefined closes the connection) and to a poll of a run. */
interface Responses {
  post?: (row: number) => Response | undefined;
  get?: (id: string) => Response;
}

const NOT_FOUND: Response = [404, { message: 'no such run' }];
const finished = (id: string): Response => [200, { ...aFinishedRun(), id }];

/** Starts a service that answers with the current members of `answers`, and records rows and ids. */
async function startService(responses: Responses) {
  const triggered: number[] = [];
  const reads: string[] = [];
  let posts = 0;
  const scripted = await scriptedService(async (request, reply) => {
    if (request.method === 'GET') {
      const id = request.path.split('/').at(-1) ?? '';
      reads.push(id);
      return reply.send(...(responses.get ?? finished)(id));
    }
    const { inputs } = JSON.parse((await request.body()).toString());
    triggered.push(inputs.n);
    const created: Response = [201, aRun({ id: `run-${inputs.n}-${++posts}` })];
    const response = responses.post === undefined ? created : responses.post(inputs.n);
    if (response === undefined) reply.socket.destroy();
    else reply.send(...response);
  });
  const wfr = (args: string[], options: CliOptions = {}) =>
    runCli(args, { ...options, env: { WFR_BASE_URL: scripted.baseUrl, ...options.env } });
  return { ...scripted, triggered, reads, wfr };
}

/** Runs a batch of `count` rows of which `rows` become unknown and the others FINISHED. */
async function runUnknownBatch(rows: number[], count: number, responses: Responses = {}) {
  const { get = finished } = responses;
  responses.get = get;
  responses.post = (row) => (rows.includes(row) ? undefined : [201, { ...aFinishedRun(), id: `run-${row}` }]);
  const service = await startService(responses);
  const cwd = folderWith({ 'rows.jsonl': numberedRows(count) });
  const run = (...more: string[]) => service.wfr([...ARGS, ...more], { cwd });
  const first = await run();
  expect(first.exitCode).toBe(6);
  delete responses.post;
  service.triggered.splice(0);
  service.requests.splice(0);
  return { ...service, cwd, first, path: join(cwd, 'out.jsonl'), run };
}

/** Runs a batch of two accepted rows; afterwards the service no longer knows the run of the first one. */
async function runLostBatch() {
  const responses: Responses = { get: (id) => [200, aRun({ id })] };
  const service = await startService(responses);
  const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
  const run = (...more: string[]) => service.wfr([...ARGS, ...more], { cwd });
  expect((await run('--timeout', '0')).exitCode).toBe(8);
  responses.get = (id) => (id === 'run-1-1' ? NOT_FOUND : finished(id));
  service.triggered.splice(0);
  service.reads.splice(0);
  return { ...service, cwd, responses, path: join(cwd, 'out.jsonl'), run };
}

const ACCEPTED = FINISHED_ROW.slice(0, 3);
const UNKNOWN = [...FINISHED_ROW.slice(0, 2), 'unknown'];

describe('batch: a row whose run the service no longer knows', () => {
  test('batch: a resumed run that gets 404 for 60 s is lost: exits 7 with its id and --retry-failed (fault 86)', async () => {
    const { run, path, triggered } = await runLostBatch();
    const { exitCode, stderr, clock } = await run();
    expect(exitCode).toBe(7);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(60_000);
    expect(clock.monotonic()).toBeLessThan(120_000);
    expect(readEvents(path)).toContainEqual(expect.objectContaining({ event: 'lost', row: 1 }));
    expect(stderr).toContain('2 rows: 1 finished, 1 lost; ');
    expect(stderr).toMatch(/^ {2}1 lost, rows\.jsonl:1 \(run-1-1\): /m);
    expect(stderr).toMatch(
      /base URL and the service\.\nTo run lost rows again as they are: .* --retry-failed\n/,
    );
    expect(triggered).toEqual([]);
  });

  test('batch: a lost row is not touched by the same command, which exits 7 without any request', async () => {
    const { run, path, requests } = await runLostBatch();
    await run();
    const before = requests.length;
    const { exitCode, stderr } = await run('--resend-unknown');
    expect(exitCode).toBe(7);
    expect(stderr).toContain('  1 lost, ');
    expect(requests).toHaveLength(before);
    expect(eventNamesByRow(path)[1]).toEqual([...ACCEPTED, 'lost']);
  });

  test('batch: --retry-failed triggers a lost row again, once, and no other row', async () => {
    const { run, path, triggered } = await runLostBatch();
    await run();
    const { exitCode, stderr } = await run('--retry-failed');
    expect(exitCode).toBe(0);
    expect(stderr).toContain('2 rows: 2 finished; ');
    expect(triggered).toEqual([1]);
    expect(eventNamesByRow(path)[1]).toEqual([...ACCEPTED, 'lost', ...FINISHED_ROW]);
    expect((await run('--retry-failed')).exitCode).toBe(0);
    expect(triggered).toEqual([1]);
  });

  test('batch: a lost row whose new trigger is rejected stays lost', async () => {
    const { run, responses, triggered } = await runLostBatch();
    await run();
    responses.post = () => [422, { message: 'no' }];
    expect((await run('--retry-failed')).stderr).toContain('2 rows: 1 finished, 1 lost; ');
    const { exitCode, stderr } = await run();
    expect(exitCode).toBe(7);
    expect(stderr).toContain('rows.jsonl:1 (run-1-1)');
    expect(triggered).toEqual([1]);
  });

  test('batch: a lost row whose new trigger gets no response is unknown and exits 6', async () => {
    const { run, responses, triggered } = await runLostBatch();
    await run();
    responses.post = () => undefined;
    expect((await run('--retry-failed')).exitCode).toBe(6);
    expect((await run('--retry-failed')).exitCode).toBe(6);
    expect(triggered).toEqual([1]);
  });

  test('batch: a few 404 responses of a lagging replica do not end a resumed row', async () => {
    const { run, path, responses, reads } = await runLostBatch();
    responses.get = (id) => (reads.length <= 5 ? NOT_FOUND : finished(id));
    const { exitCode, clock } = await run();
    expect(exitCode).toBe(0);
    expect(clock.monotonic()).toBeLessThan(60_000);
    expect(reads).toHaveLength(7);
    expect(eventNamesByRow(path)).toEqual({ 1: FINISHED_ROW, 2: FINISHED_ROW });
  });

  test('batch: the 60 s of a resumed row count only 404 responses, not waits that Retry-After asked for', async () => {
    const { run, path, responses, reads } = await runLostBatch();
    responses.get = (id) => {
      if (reads.length > 7) return finished(id);
      return [2, 3, 4].includes(reads.length) ? [429, {}, { 'retry-after': '40' }] : NOT_FOUND;
    };
    const { exitCode, clock } = await run();
    expect(exitCode).toBe(0);
    expect(clock.monotonic()).toBeGreaterThan(80_000);
    expect(eventNamesByRow(path)).toEqual({ 1: FINISHED_ROW, 2: FINISHED_ROW });
  });

  test('batch: a run that gets 404 until --timeout ends, before the 60 s, is not lost', async () => {
    const { run, path, responses } = await runLostBatch();
    expect((await run('--timeout', '30s')).exitCode).toBe(7);
    expect(eventNamesByRow(path)[1]).toEqual(ACCEPTED);
    responses.get = finished;
    expect((await run()).exitCode).toBe(0);
  });

  test('batch: a run that gets 404 right after its trigger stays accepted, and the same command watches it', async () => {
    const responses: Responses = { get: () => NOT_FOUND };
    const { wfr, triggered } = await startService(responses);
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    expect((await wfr(ARGS, { cwd })).exitCode).toBe(7);
    expect(eventNamesByRow(join(cwd, 'out.jsonl'))).toEqual({ 1: ACCEPTED });
    responses.get = finished;
    expect((await wfr(ARGS, { cwd })).exitCode).toBe(0);
    expect(triggered).toEqual([1]);
  });

  test('batch: many consecutive lost rows do not count as an unreachable service', async () => {
    const responses: Responses = { get: (id) => [200, aRun({ id })] };
    const { wfr, triggered } = await startService(responses);
    const cwd = folderWith({ 'rows.jsonl': numberedRows(21) });
    await wfr([...ARGS, '--timeout', '0'], { cwd });
    writeFileSync(join(cwd, 'rows.jsonl'), numberedRows(22));
    responses.get = (id) => (id.startsWith('run-22') ? finished(id) : NOT_FOUND);
    const { exitCode, stderr } = await wfr(ARGS, { cwd });
    expect(exitCode).toBe(7);
    expect(stderr).toContain('22 rows: 1 finished, 21 lost; ');
    expect(stderr).toContain('20 (run-20-20) and 1 more\n');
    expect(triggered).toHaveLength(22);
  });

  test('results: a lost row is counted, exits 7, and is lost with its id in every report', async () => {
    const { run, wfr, cwd } = await runLostBatch();
    await run();
    const { exitCode, stdout } = await wfr(['results', 'out.jsonl', ...REPORT_FILES], { cwd });
    expect(exitCode).toBe(7);
    expect(stdout).toMatch(/^2 rows: 1 finished, 1 lost\nBegan 20.*\n {2}1 lost, /);
    const read = (name: string) => readFileSync(join(cwd, name), 'utf8');
    expect(JSON.parse(read('r.json')).runs[0]).toMatchObject({ row: 1, id: 'run-1-1', exitCode: 7 });
    for (const name of ['r.xml', 'r.md', 'r.html', 'r.json'])
      expect(read(name)).toContain('the service no longer knows the run (404)');
    expect(read('r.xml')).toContain('<error type="lost"');
    expect(read('r.md')).toContain('run-1-1');
    expect(read('r.html')).toMatch(/<a class="outcome doubt" href="#outcome-\d+">lost<\/a>/);
  });
});

describe('batch --adopt: an unknown row gets the run that the user found', () => {
  test('batch: --adopt reads the run, records it as accepted, and watches it; nothing is triggered', async () => {
    const { run, first, path, triggered, reads } = await runUnknownBatch([2], 3);
    expect(first.stderr).toMatch(/--adopt 2=<id>\n.*--resend-unknown 2\n/m);
    const { exitCode, stderr } = await run('--adopt', '2=found-1');
    expect(exitCode).toBe(0);
    expect(stderr).toContain('3 rows: 3 finished; ');
    expect(triggered).toEqual([]);
    expect(reads).toEqual(['found-1', 'found-1']);
    expect(eventNamesByRow(path)[2]).toEqual([...UNKNOWN, 'accepted', 'ended']);
    expect(readEvents(path)).toContainEqual(
      expect.objectContaining({ event: 'accepted', row: 2, id: 'found-1' }),
    );
  });

  test('batch: --adopt of a run that does not exist exits 5, and nothing is adopted or sent', async () => {
    const { run, path, triggered, cwd } = await runUnknownBatch([2], 3, { get: () => NOT_FOUND });
    writeFileSync(join(cwd, 'rows.jsonl'), numberedRows(4));
    const before = eventNamesByRow(path);
    const { exitCode, stdout, stderr } = await run('--adopt', '2=typo-1');
    expect({ exitCode, stdout }).toEqual({ exitCode: 5, stdout: '' });
    expect(stderr).toContain('--adopt 2=typo-1 failed: nothing was adopted or sent.\n');
    expect(stderr).toContain('the service has no run typo-1 (404)');
    expect(eventNamesByRow(path)).toEqual(before);
    expect(triggered).toEqual([]);
  });

  /** Returns a batch of one row whose last trigger is unknown: its responses one after another, each to a command with flags. */
  async function runAttempts(attempts: readonly [flags: string[], ...responses: (Response | undefined)[]][]) {
    const responses: (Response | undefined)[] = [];
    const service = await startService({ post: () => responses.shift() });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    const run = (...more: string[]) => service.wfr([...ARGS, ...more], { cwd });
    for (const [flags, ...given] of attempts) {
      responses.push(...given);
      await run(...flags);
    }
    const { triggered } = service;
    expect((await run()).exitCode).toBe(6);
    const sent = triggered.length;
    const settled = await run('--adopt', '1=none');
    responses.push([201, { ...aFinishedRun(), id: 'later' }]);
    const next = await run();
    return { settled, next, sentLater: triggered.length - sent };
  }

  const FAILED: Response = [
    201,
    { ...aRun({ status: 'FAILED', error: { step: 'S', message: 'm' } }), id: 'a' },
  ];
  const RETRIED = ['--retry-failed'];
  test.each<[name: string, attempts: Parameters<typeof runAttempts>[0]]>([
    ['a retry', [[[]], [RETRIED, undefined]]],
    ['a retry that a 429 delayed', [[[]], [RETRIED, [429, {}, { 'retry-after': '0' }], undefined]]],
    ['two retries', [[[]], [RETRIED, undefined], [['--resend-unknown'], undefined]]],
  ])(
    'batch: --adopt 1=none after %s leaves the run that had failed, which is not sent again',
    async (_name, [first, ...retries]) => {
      const { settled, next, sentLater } = await runAttempts([[first?.[0] ?? [], FAILED], ...retries]);
      for (const { exitCode, stderr } of [settled, next]) {
        expect(exitCode).toBe(1);
        expect(stderr).toContain('1 row: 1 failed; ');
      }
      expect(sentLater).toBe(0);
    },
  );

  test('batch: --adopt 1=none after a retry of a rejected row leaves a row that waits, and is sent', async () => {
    const { settled, next, sentLater } = await runAttempts([
      [[], [422, { message: 'no' }]],
      [RETRIED, undefined],
    ]);
    expect(settled.stderr).toContain('1 row: 1 waiting; ');
    expect(settled.stderr).not.toContain('Stopped by');
    expect({ exitCode: next.exitCode, sentLater }).toEqual({ exitCode: 0, sentLater: 1 });
  });

  test('batch: if one of several --adopt runs cannot be read, none is recorded', async () => {
    const get = (id: string) => (id === 'a' ? finished(id) : NOT_FOUND);
    const { run, path } = await runUnknownBatch([1, 2], 2, { get });
    expect((await run('--adopt', '1=a', '--adopt', '2=b')).exitCode).toBe(5);
    expect(eventNamesByRow(path)).toEqual({ 1: UNKNOWN, 2: UNKNOWN });
  });

  test.each<[string, Response, number]>([
    ['401', [401, {}], 4],
    ['403', [403, {}], 4],
    ['500 four times', [500, {}], 7],
    ['another run', finished('other'), 7],
    ['no Run object', [200, 'ok'], 7],
  ])('batch: --adopt of a run whose GET returns %s sends nothing', async (_what, response, code) => {
    const { run, path, triggered } = await runUnknownBatch([2], 3, { get: () => response });
    expect((await run('--adopt', '2=x')).exitCode).toBe(code);
    expect(triggered).toEqual([]);
    expect(eventNamesByRow(path)[2]).toEqual(UNKNOWN);
  });

  test('batch: --adopt of a row that was never sent exits 2 and names its state, without any request', async () => {
    const { run, requests, cwd, path } = await runUnknownBatch([2], 3);
    writeFileSync(join(cwd, 'rows.jsonl'), numberedRows(4));
    const before = eventNamesByRow(path);
    for (const [one, other] of [
      ['4=y', '99=z'],
      ['4=none', '99=none'],
    ] as const) {
      const { exitCode, stderr } = await run('--adopt', one, '--adopt', other);
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`--adopt ${one}: row 4 is waiting, not unknown`);
      expect(stderr).toContain(`--adopt ${other}: no row 99 is recorded`);
    }
    expect(requests).toEqual([]);
    expect(eventNamesByRow(path)).toEqual(before);
  });

  test('batch: --adopt of a run that another row of the results file has exits 2', async () => {
    const { run, requests } = await runUnknownBatch([2], 3);
    const { exitCode, stderr } = await run('--adopt', '2=run-1');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--adopt 2=run-1: this run belongs to row 1');
    expect(requests).toEqual([]);
  });

  test('batch and results: --adopt of runs whose ids differ only in case adopts each of them (fault 105)', async () => {
    const { run, wfr, cwd } = await runUnknownBatch([2, 3], 3);
    expect((await run('--adopt', '2=RUN-1', '--adopt', '3=Run-1')).exitCode).toBe(0);
    const { stdout } = await wfr(['results', 'out.jsonl', '-o', 'id'], { cwd });
    expect(stdout.trimEnd().split('\n').sort()).toEqual(['RUN-1', 'Run-1', 'run-1']);
  });

  test('batch: all mistakes in --adopt, --resend-unknown and other flags are reported together', async () => {
    const bad = ['3', '0=x', '2=', '5=..'];
    const adopts = [...bad, '7=a', '7=b', '8=a'].flatMap((text) => ['--adopt', text]);
    const { exitCode, stderr } = await runCli(
      [
        'batch',
        'w',
        '--each',
        'scan',
        'a.pdf',
        ...adopts,
        '--resend-unknown',
        '9-7',
        '--rate',
        'x',
        '--results',
        '-',
      ],
      { env: { WFR_BASE_URL: CLOSED_URL } },
    );
    expect(exitCode).toBe(2);
    for (const text of bad) expect(stderr).toContain(`--adopt "${text}": expected <row>=<id> or <row>=none`);
    expect(stderr).toContain('--adopt 7=b: row 7 is given twice');
    expect(stderr).toContain('--adopt 8=a: run a is given twice');
    expect(stderr).toContain('--adopt requires --results <file.jsonl>');
    expect(stderr).toContain('--resend-unknown "9-7": expected row numbers, such as 3,7-9');
    expect(stderr).toContain('--rate x');
  });

  test.each(['0', '9-7', '3,0', '9-7,3', '1-', '-2', '1,,2', '1;2', ''])(
    'batch: --resend-unknown=%s exits 2, as a part of it is no row',
    async (rows) => {
      const args = [
        'batch',
        'w',
        '--each',
        'scan',
        'a.pdf',
        '--results',
        'out.jsonl',
        `--resend-unknown=${rows}`,
      ];
      const { exitCode, stderr } = await runCli(args, { env: { WFR_BASE_URL: CLOSED_URL } });
      expect(exitCode).toBe(2);
      expect(stderr).toMatch(/--resend-unknown .*: expected row numbers, such as 3,7-9/);
    },
  );

  test('batch: a row in both --adopt and --resend-unknown exits 2; --resend-unknown without rows applies after --adopt', async () => {
    const { run, requests, triggered } = await runUnknownBatch([1, 2], 2);
    const { exitCode, stderr } = await run('--adopt', '2=x', '--resend-unknown', '1-2');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('row 2: --adopt and --resend-unknown exclude each other');
    expect(requests).toEqual([]);
    expect((await run('--adopt', '2=x', '--resend-unknown')).exitCode).toBe(0);
    expect(triggered).toEqual([1]);
  });

  test('batch: an adopted row stays accepted if a signal ends the batch right afterwards', async () => {
    const { wfr, run, cwd, path, triggered } = await runUnknownBatch([2], 3);
    const signals = new Signals();
    const { exitCode } = await wfr([...ARGS, '--adopt', '2=found-1'], {
      cwd,
      signals,
      onOutput: (text) => text.includes('Row 2 continues with run found-1') && signals.raise('SIGINT'),
    });
    expect(exitCode).toBe(130);
    expect(eventNamesByRow(path)[2]).toEqual([...UNKNOWN, 'accepted']);
    expect((await run()).exitCode).toBe(0);
    expect(triggered).toEqual([]);
  });
});

describe('batch: --resend-unknown takes row numbers', () => {
  const runFiveUnknown = () => runUnknownBatch([1, 2, 4, 5, 6], 6);

  test.each<[string[], number[]]>([
    [['--resend-unknown'], [1, 2, 4, 5, 6]],
    [['--resend-unknown', '2'], [2]],
    [
      ['--resend-unknown', '1,4-6'],
      [1, 4, 5, 6],
    ],
    [['--resend-unknown=5-6, 1'], [1, 5, 6]],
    [
      ['--resend-unknown', '2', '--resend-unknown', '4'],
      [2, 4],
    ],
  ])('batch: %j sends rows %j again, and no other', async (flags, rows) => {
    const { run, triggered } = await runFiveUnknown();
    expect((await run(...flags)).exitCode).toBe(rows.length === 5 ? 0 : 6);
    expect(triggered).toEqual(rows);
  });

  test('batch: a row number that is not unknown exits 2 and names its state, and nothing is sent', async () => {
    const { run, requests } = await runFiveUnknown();
    const { exitCode, stderr } = await run('--resend-unknown', '1-4');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--resend-unknown: row 3 is finished, not unknown');
    const far = await run('--resend-unknown', '1,7-999999999999');
    expect(far.exitCode).toBe(2);
    expect(far.stderr).toContain('--resend-unknown: no row 7 is recorded');
    expect(far.stderr.split('\n').length).toBeLessThan(30);
    expect(requests).toEqual([]);
  });

  test.each([
    ['w', ['batch', '--resend-unknown', 'w', '--rows', 'rows.jsonl']],
    ['1.pdf', ['batch', 'w', '--each', 'scan', '--resend-unknown', '1.pdf', '2.pdf']],
  ])(
    'batch: the argument %s after --resend-unknown is rejected as row numbers with exit 2',
    async (word, args) => {
      const { wfr, cwd, requests } = await runFiveUnknown();
      const { exitCode, stderr } = await wfr([...args, '--results', 'out.jsonl'], { cwd });
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`--resend-unknown ${word}: expected row numbers, such as 3,7-9`);
      expect(stderr).toContain('wfr help batch');
      expect(requests).toEqual([]);
    },
  );
});

describe('batch: row states and flags decide which rows are sent', () => {
  const STATES = [
    'finished',
    'failed',
    'refused',
    'sent',
    'accepted',
    'lost',
    'bad',
    // It stops the batch.
    'intent',
    'new',
  ] as const;
  type State = (typeof STATES)[number];
  const rowOf = (state: State) => STATES.indexOf(state) + 1;

  /** Runs a batch with one row in each state. */
  async function runBatchInEachState() {
    const posts: Record<number, Response | undefined> = {
      [rowOf('finished')]: [201, { ...aFinishedRun(), id: 'finished' }],
      [rowOf('failed')]: [201, aRun({ id: 'failed', status: 'FAILED' })],
      [rowOf('refused')]: [422, { message: 'no' }],
      [rowOf('sent')]: undefined,
      [rowOf('accepted')]: [201, aRun({ id: 'accepted' })],
      [rowOf('lost')]: [201, aRun({ id: 'lost' })],
      [rowOf('intent')]: [429, {}, { 'retry-after': '1000' }],
    };
    const responses: Responses = { post: (row) => posts[row], get: (id) => [200, aRun({ id })] };
    const service = await startService(responses);
    const begun = numberedRows(8).replace('{"n":7}', '{"n":7,"d":{"$document":"missing.pdf"}}');
    const cwd = folderWith({ 'rows.jsonl': begun });
    await service.wfr([...ARGS, '--timeout', '0'], { cwd });
    responses.get = (id) => (id === 'lost' ? NOT_FOUND : [200, aRun({ id })]);
    const { stderr } = await service.wfr([...ARGS, '--timeout', '2m'], { cwd });
    expect(stderr).toContain(
      '8 rows: 1 finished, 1 failed, 1 rejected, 1 invalid, 1 unreachable, 1 unknown, 1 lost, 1 running; ',
    );
    delete responses.get;
    delete responses.post;
    writeFileSync(join(cwd, 'rows.jsonl'), `${begun}{"n":9}\n`);
    writeFileSync(join(cwd, 'missing.pdf'), 'x');
    service.triggered.splice(0);
    service.reads.splice(0);
    return { ...service, cwd };
  }

  const resends = [[], ['--resend-unknown'], [`--resend-unknown=${rowOf('sent')}`]];
  const combinations = resends.flatMap((resend) =>
    [[], ['--retry-failed']].map((failed) => [...resend, ...failed]),
  );

  test.each(combinations.map((flags) => [flags.join(' ') || 'no flag', flags] as const))(
    'batch: with %s, of rows in every state, exactly the allowed ones are sent, and only the accepted one is watched',
    async (_name, flags) => {
      const { wfr, cwd, triggered, reads } = await runBatchInEachState();
      await wfr([...ARGS, ...flags], { cwd });
      const sent: State[] = ['new', 'intent', 'bad'];
      if (flags.some((flag) => flag.startsWith('--resend-unknown'))) sent.push('sent');
      if (flags.includes('--retry-failed')) sent.push('failed', 'refused', 'lost');
      expect(triggered).toEqual(sent.map(rowOf).sort((a, b) => a - b));
      // The others that are read are the runs that were just triggered.
      expect(reads.filter((id) => !id.startsWith('run-'))).toEqual(['accepted']);
    },
  );
});
