/** `wfr results --output`: the rows of a batch as data. */
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { runCli } from '../../helpers/cli.js';
import { VirtualClock } from '../../helpers/clock.js';
import { folderWith } from '../../helpers/files.js';
import { prepareOnce } from '../../helpers/once.js';

const at = (seconds: number) => ({ time: new Date(Date.UTC(2026, 4, 6, 7, 8, seconds)).toISOString() });
const intent = (row: number, label = `t.csv:${row + 1}`) => ({
  event: 'intent',
  row,
  label,
  digest: '0123456789abcdef',
  ...at(row),
});
const accepted = (row: number) => ({ event: 'accepted', row, id: `run-${row}`, ...at(row) });
const refused = (row: number, code: string, reason: string) => ({
  event: 'refused',
  row,
  code,
  reason,
  ...at(40),
});
const ended = (row: number, run: object) => ({
  event: 'ended',
  row,
  ...at(row + 10),
  run: { id: `run-${row}`, ...run },
});
const finished = (row: number, output: unknown = { total: row }) =>
  ended(row, { status: 'FINISHED', steps: 1, stepsCompleted: 1, output });
const failed = (row: number, message: string, step = 'Check') =>
  ended(row, { status: 'FAILED', steps: 2, stepsCompleted: 1, output: null, error: { message, step } });

/** Returns a results file, with events as objects or as their text. */
function resultsFile(events: readonly (object | string)[], rows: number, shard = '1/1'): string {
  const head = { event: 'batch', format: 3, workflow: 'w', baseUrl: 'http://127.0.0.1:1/', shard, ...at(0) };
  return [head, ...events, { event: 'table', rows, ...at(50) }]
    .map((event) => `${typeof event === 'string' ? event : JSON.stringify(event)}\n`)
    .join('');
}

/** Runs `wfr results` on a file with these events. */
async function results(events: readonly (object | string)[], rows: number, ...args: string[]) {
  const cwd = folderWith({ 'out.jsonl': resultsFile(events, rows) });
  return runCli(['results', 'out.jsonl', ...args], { cwd });
}

const jsonLines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

/** A row of each outcome; the first two end in the other order. */
const EVERY_OUTCOME = [
  intent(1),
  accepted(1),
  intent(2),
  accepted(2),
  failed(2, 'document 17 has no total'),
  finished(1),
  intent(3),
  refused(3, 'rejected', 't.csv:4: customer is missing'),
  intent(4),
  refused(4, 'usage', 'scan.pdf: no such file'),
  intent(5),
  { event: 'sent', row: 5, ...at(5) },
  intent(6),
  intent(7),
  accepted(7),
  intent(8),
  accepted(8),
  { event: 'lost', row: 8, ...at(9) },
  intent(9),
  accepted(9),
  failed(9, 'document 18 has no total'),
  intent(10),
  { event: 'sent', row: 10, ...at(10) },
  {
    event: 'unknown',
    row: 10,
    code: 'unknown-outcome',
    reason: 't.csv:11: the service answered with an error (502)',
    ...at(11),
  },
];

const none = {
  id: null,
  status: null,
  step: null,
  message: null,
  started: null,
  duration: null,
  output: null,
};
const EXPECTED = [
  {
    ...none,
    row: 1,
    label: 't.csv:2',
    id: 'run-1',
    outcome: 'finished',
    status: 'FINISHED',
    started: at(1).time,
    duration: 10,
    output: { total: 1 },
  },
  {
    ...none,
    row: 2,
    label: 't.csv:3',
    id: 'run-2',
    outcome: 'failed',
    status: 'FAILED',
    step: 'Check',
    message: 'document 17 has no total',
    started: at(2).time,
    duration: 10,
  },
  { ...none, row: 3, label: 't.csv:4', outcome: 'rejected', message: 'customer is missing' },
  { ...none, row: 4, label: 't.csv:5', outcome: 'invalid', message: 'scan.pdf: no such file' },
  {
    ...none,
    row: 5,
    label: 't.csv:6',
    outcome: 'unknown',
    message: 'the request was sent, and no response is recorded',
  },
  { ...none, row: 6, label: 't.csv:7', outcome: 'waiting' },
  { ...none, row: 7, label: 't.csv:8', id: 'run-7', outcome: 'running', started: at(7).time },
  {
    ...none,
    row: 8,
    label: 't.csv:9',
    id: 'run-8',
    outcome: 'lost',
    message: 'the service no longer knows the run (404)',
    started: at(8).time,
  },
  {
    ...none,
    row: 9,
    label: 't.csv:10',
    id: 'run-9',
    outcome: 'failed',
    status: 'FAILED',
    step: 'Check',
    message: 'document 18 has no total',
    started: at(9).time,
    duration: 10,
  },
  {
    ...none,
    row: 10,
    label: 't.csv:11',
    outcome: 'unknown',
    message: 'the service answered with an error (502)',
  },
];

describe('results --output', () => {
  test('results -o jsonl: each row is a line, in the order of the table, with the exit code of the batch', async () => {
    const { stdout, exitCode } = await results(EVERY_OUTCOME, 10, '-o', 'jsonl');
    expect(jsonLines(stdout)).toEqual(EXPECTED);
    expect(Object.keys(jsonLines(stdout)[0])).toEqual([
      'row',
      'label',
      'id',
      'outcome',
      'status',
      'step',
      'message',
      'started',
      'duration',
      'output',
    ]);
    expect(exitCode).toBe((await results(EVERY_OUTCOME, 10)).exitCode);
  });

  test('results -o json: one object with the counts, the reasons as groups, and the rows', async () => {
    const { stdout, exitCode } = await results(EVERY_OUTCOME, 10, '--json');
    const { rows, reasons, ...head } = JSON.parse(stdout);
    expect(rows).toEqual(EXPECTED);
    expect(head).toEqual({
      exitCode,
      total: 10,
      started: at(1).time,
      duration: 39,
      counts: {
        finished: 1,
        failed: 2,
        running: 1,
        rejected: 1,
        invalid: 1,
        unknown: 2,
        lost: 1,
        waiting: 1,
      },
    });
    expect(reasons.length).toBe(6);
    expect(reasons[0]).toEqual({
      outcome: 'failed',
      step: 'Check',
      message: 'document … has no total',
      count: 2,
      rows: [2, 9],
    });
    expect(reasons).toContainEqual({
      outcome: 'unknown',
      step: null,
      message: 'the service answered with an error (502)',
      count: 1,
      rows: [10],
    });
  });

  test('results -o json, jsonl: an output is printed token for token, with control characters escaped', async () => {
    const output = '{"big":9007199254740993,"price":1.0,"a":1,"a":2,"text":"\\u001b[31m\u009b"}';
    const line = JSON.stringify(finished(1, 'OUTPUT')).replace('"OUTPUT"', output);
    for (const format of ['json', 'jsonl']) {
      const { stdout } = await results([intent(1), accepted(1), line], 1, '-o', format);
      expect(stdout).toContain(`"output":${output.replace('\u009b', '\\u009b')}}`);
    }
  });

  test('results -o csv: a parser reads back labels, messages and outputs verbatim', async () => {
    const message = 'total, "sum" of\r\nline 2;\tü 😀';
    const events = [
      intent(1, 'Smith,\rInc.'),
      accepted(1),
      failed(1, message, '=Check'),
      intent(2, 'a\rb'),
      accepted(2),
      finished(2, { text: 'a "b",\n😀' }),
      intent(3),
      accepted(3),
      finished(3, -5),
    ];
    const { stdout, stderr } = await results(events, 3, '-o', 'csv');
    const [first, second, third] = parse(stdout, { columns: true }) as Record<string, string>[];
    expect(first).toEqual({
      row: '1',
      label: 'Smith,\rInc.',
      id: 'run-1',
      outcome: 'failed',
      status: 'FAILED',
      step: '=Check',
      message,
      started: at(1).time,
      duration: '10',
      '/text': '',
      output: '',
    });
    expect(second).toMatchObject({ label: 'a\rb', message: '', '/text': 'a "b",\n😀', output: '' });
    expect(third?.output).toBe('-5');
    expect(stdout).toContain('"a\rb"');
    expect(stderr).toContain('3 rows: 2 finished, 1 failed\nBegan 2');
  });

  test('results -o csv: control characters other than white space are escaped', async () => {
    const { stdout } = await results(
      [intent(1), accepted(1), failed(1, '\u001b]0;x\u0007\u009b\u007f ok')],
      1,
      '-o',
      'csv',
    );
    expect(stdout).toContain(',\\u001b]0;x\\u0007\\u009b\\u007f ok,');
  });

  test('results -o csv --excel: no cell from outside begins like a formula', async () => {
    const starts = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    const events = starts.flatMap((start, index) => [
      intent(index + 1, `${start}1+1`),
      accepted(index + 1),
      failed(index + 1, `${start}cmd|' /C calc'!A0`, `${start}x`),
    ]);
    const last = starts.length + 1;
    const all = [...events, intent(last, 'plain'), accepted(last), finished(last, -5)];
    const { stdout } = await results(all, last, '-o', 'csv', '--excel');
    const rows = parse(stdout, { columns: true, bom: true }) as Record<string, string>[];
    for (const [index, start] of starts.entries()) {
      const { label, step, message } = rows[index] ?? {};
      expect(message).toBe(`'${start}cmd|' /C calc'!A0`);
      expect({ label, step }).toEqual({ label: `'${start}1+1`, step: `'${start}x` });
    }
    expect(rows.at(-1)).toMatchObject({ label: 'plain', output: '-5', duration: '10' });
  });

  test('results -o id: the ids of the runs, in the order of the table', async () => {
    const { stdout } = await results(EVERY_OUTCOME, 10, '-o', 'id');
    expect(stdout).toBe('run-1\nrun-2\nrun-7\nrun-8\nrun-9\n');
    const unsafe = { ...accepted(1), id: 'a\u001bb' };
    const { stderr, exitCode } = await results([intent(1), unsafe], 1, '-o', 'id');
    expect(exitCode).toBe(74);
    expect(stderr).toContain('cannot write the run id of row 1: it contains control characters');
  });

  test('results -o jsonl: a failed row that could not be sent again keeps its run and its reason', async () => {
    const again = [
      intent(1),
      { event: 'sent', row: 1, ...at(30) },
      refused(1, 'not-triggered', 'nothing listens'),
    ];
    const { stdout } = await results(
      [intent(1), accepted(1), failed(1, 'no total'), ...again],
      1,
      '-o',
      'jsonl',
    );
    expect(jsonLines(stdout)).toEqual([
      { ...EXPECTED[1], row: 1, label: 't.csv:2', id: 'run-1', message: 'no total', started: at(1).time },
    ]);
  });

  test('results -o jsonl: a row that was sent again has its last run', async () => {
    const again = [intent(1), { ...accepted(1), id: 'run-2', ...at(20) }];
    const first = [intent(1), accepted(1), failed(1, 'no total')];
    const running = await results([...first, ...again], 1, '-o', 'jsonl');
    expect(jsonLines(running.stdout)).toEqual([
      { ...none, row: 1, label: 't.csv:2', id: 'run-2', outcome: 'running', started: at(20).time },
    ]);
    const end = { ...finished(1), ...at(25), run: { id: 'run-2', status: 'FINISHED', output: 7 } };
    const { stdout } = await results([...first, ...again, end], 1, '-o', 'jsonl');
    expect(jsonLines(stdout)[0]).toMatchObject({ id: 'run-2', outcome: 'finished', duration: 5, output: 7 });
  });

  test('results -o jsonl: shards are joined in the order of the table, with outputs of any size', async () => {
    const sizes = [10, 100_000, 20, 40_000, 70_000, 30];
    const rows = sizes.map((size, index) => [
      intent(index + 1),
      accepted(index + 1),
      finished(index + 1, 'ü'.repeat(size)),
    ]);
    const [a, b, c, d, e, f] = rows as [object[], object[], object[], object[], object[], object[]];
    const cwd = folderWith({
      'a.jsonl': resultsFile([...e, ...a, ...c], 6, '1/2'),
      // Its last line has no line feed.
      'b.jsonl': resultsFile([...f, ...d, ...b], 6, '2/2').trimEnd(),
    });
    const { stdout } = await runCli(['results', 'b.jsonl', 'a.jsonl', '-o', 'jsonl'], { cwd });
    const found = jsonLines(stdout).map(({ row, output }) => [row, output.length]);
    expect(found).toEqual(sizes.map((size, index) => [index + 1, size]));
  });

  test('results --output: files that cannot be joined exit 2 with nothing on stdout', async () => {
    for (const format of ['json', 'jsonl', 'csv', 'id']) {
      const { stdout, stderr, exitCode } = await results([intent(2), accepted(2)], 2, '-o', format);
      expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
      expect(stderr).toContain('1 of 2 rows are missing: they should be in out.jsonl');
    }
  });

  test.each([
    [['-o', 'xml'], '--output xml: choose one of text, json, jsonl, csv, id'],
    [['--excel'], '--excel requires --output csv'],
    [['--delimiter', ';'], '--delimiter ;: requires --output csv or --rows'],
    [['-o', 'csv', '--delimiter', 'xy'], '--delimiter "xy": expected one character'],
    [['-o', 'csv', '--get', 'total', '--get', '/a~2'], '--get "total": is not a JSON Pointer'],
    [['-o', 'id', '--get', '/total'], '--get and --output id exclude each other'],
    [['-o', 'id', '--rows', 'out.jsonl'], '--rows and --output id exclude each other'],
    [['-o', 'csv', '--rows', 'none.csv'], '--rows none.csv: no such file'],
    [['-o', 'csv', '--json'], '--json and --output csv exclude each other'],
  ])('results: %j exits 2 with the message "%s"', async (args, message) => {
    const { stdout, stderr, exitCode } = await results(EVERY_OUTCOME, 10, ...args);
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
    expect(stderr).toContain(message);
  });

  test('results -o json: the file of run --once has one row', async () => {
    const { once, wfr } = await prepareOnce();
    await once(['a=1'], { clock: new VirtualClock() });
    const { stdout, exitCode } = await wfr(['results', 'my.once', '--json']);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      counts: { finished: 1 },
      reasons: [],
      rows: [{ row: 1, id: 'run-1', status: 'FINISHED', output: { total: 1 } }],
    });
  });

  test.each([
    ['reading stops when the reader of stdout is gone', 'EPIPE', 0],
    ['a file that is truncated while it is read exits 2', undefined, 2],
  ])('results -o jsonl: %s', async (_case, code, expected) => {
    const rows = Array.from({ length: 300 }, (_, n) => [
      intent(n + 1),
      accepted(n + 1),
      finished(n + 1, 'x'.repeat(10_000)),
    ]);
    const cwd = folderWith({ 'out.jsonl': resultsFile(rows.flat(), 300) });
    const stdout = new Writable({
      write(_chunk, _encoding, done) {
        truncateSync(join(cwd, 'out.jsonl'));
        done(code === undefined ? null : Object.assign(new Error('closed'), { code }));
      },
    });
    const { exitCode, stderr } = await runCli(['results', 'out.jsonl', '-o', 'jsonl'], { cwd, stdout });
    expect(exitCode).toBe(expected);
    if (expected === 2) expect(stderr).toContain('out.jsonl: changed while wfr read it');
  });
});
