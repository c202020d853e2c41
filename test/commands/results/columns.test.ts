/** `wfr results --get`, `--rows` and `--excel`: values of outputs beside the table that people know. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { startBatchService } from '../../helpers/batch.js';
import { type CliOptions, runCli } from '../../helpers/cli.js';
import { folderWith } from '../../helpers/files.js';
import { aFinishedRun, aRun } from '../../helpers/service.js';

const begun = (row: number) => [
  { event: 'intent', row, label: `t.csv:${row}`, digest: '0123456789abcdef' },
  { event: 'accepted', row, id: `run-${row}` },
];
const finished = (row: number, output: string) => [
  ...begun(row),
  `{"event":"ended","row":${row},"run":{"id":"run-${row}","status":"FINISHED","output":${output}}}`,
];
const failed = (row: number, message: string) => [
  ...begun(row),
  { event: 'ended', row, run: { id: `run-${row}`, status: 'FAILED', output: null, error: { message } } },
];

/** Returns a folder with these files, and with out.jsonl, which has these events. */
function folderOf(events: readonly (object | string)[], files: Record<string, string | Buffer> = {}): string {
  const head = { event: 'batch', format: 3, workflow: 'w', baseUrl: 'http://127.0.0.1:1/', shard: '1/1' };
  const lines = [head, ...events].map((event) => (typeof event === 'string' ? event : JSON.stringify(event)));
  return folderWith({ ...files, 'out.jsonl': `${lines.join('\n')}\n` });
}

/** Runs `wfr results` on a file with these events, in a folder with these files. */
function results(
  events: readonly (object | string)[],
  files: Record<string, string | Buffer>,
  ...args: string[]
) {
  return runCli(['results', 'out.jsonl', ...args], { cwd: folderOf(events, files) });
}

/** Returns the table that is before the summary, and the summary. No history has the batches of these tests. */
function split(stdout: string): { table: string; summary: string } {
  const at = stdout.indexOf('\n\n') + 1;
  const table = stdout.slice(0, at).replace(/^Not shown: the columns [^.]*\.\n/m, '');
  return { table, summary: stdout.slice(at + 1) };
}

const records = (csv: string) => parse(csv, { columns: true, bom: true }) as Record<string, string>[];
const OUTPUT =
  '{"total":12345678901234567890.10,"vat":{"amount":-1.0},"name":"Müller, \\"A\\"","none":null,"lines":[1, 2]}';

describe('results --get', () => {
  test('results -o csv --get: a column per pointer replaces the output: strings raw, other values token for token', async () => {
    const gets = ['/total', '/vat/amount', '/name', '/none', '/lines', '/vat'].flatMap((pointer) => [
      '--get',
      pointer,
    ]);
    const { stdout, stderr } = await results(
      [...finished(2, OUTPUT), ...failed(3, 'no')],
      {},
      '-o',
      'csv',
      ...gets,
    );
    const [first, second] = records(stdout);
    expect(first).toMatchObject({
      '/total': '12345678901234567890.10',
      '/vat/amount': '-1.0',
      '/name': 'Müller, "A"',
      '/none': '',
      '/lines': '[1,2]',
      '/vat': '{"amount":-1.0}',
    });
    expect(first).not.toHaveProperty('output');
    expect(second).toMatchObject({ outcome: 'failed', message: 'no', '/total': '', '/name': '' });
    expect(stderr).not.toContain('warning');
  });

  test.each(['jsonl', 'json'])(
    'results -o %s --get: the values are members by pointer, null where there is none',
    async (format) => {
      const { stdout } = await results(
        [...finished(2, OUTPUT), ...failed(3, 'no')],
        {},
        ...['-o', format, '--get', '/total', '--get', '/name'],
      );
      expect(stdout).toMatch(/"\/total": ?12345678901234567890\.10/);
      const rows =
        format === 'json'
          ? JSON.parse(stdout).rows
          : stdout
              .trimEnd()
              .split('\n')
              .map((line) => JSON.parse(line));
      expect(rows[0].values['/name']).toBe('Müller, "A"');
      expect(rows[1].values).toEqual({ '/total': null, '/name': null });
      expect(rows[0]).not.toHaveProperty('output');
    },
  );

  test('results -o csv: each value of the outputs has a column, and an output of no values its own', async () => {
    const columns = async (outputs: string[], ...args: string[]) => {
      const events = outputs.flatMap((output, index) => finished(index + 2, output));
      const { stdout } = await results([...events, ...failed(9, 'no')], {}, '-o', 'csv', ...args);
      return records(stdout).map((row) => Object.entries(row).slice(2, -7));
    };
    expect(await columns(['{"a":1.0,"by":{"name":"x"}}', '{"b":{"c":{"d":2}},"a":null}'])).toEqual([
      [
        ['/a', '1.0'],
        ['/by/name', 'x'],
        ['/b/c', ''],
      ],
      [
        ['/a', ''],
        ['/by/name', ''],
        ['/b/c', '{"d":2}'],
      ],
      [
        ['/a', ''],
        ['/by/name', ''],
        ['/b/c', ''],
      ],
    ]);
    expect(await columns(['{"a":1}', '[2]', '{}'])).toEqual([
      [
        ['/a', '1'],
        ['output', ''],
      ],
      [
        ['/a', ''],
        ['output', '[2]'],
      ],
      [
        ['/a', ''],
        ['output', '{}'],
      ],
      [
        ['/a', ''],
        ['output', ''],
      ],
    ]);
    expect(await columns([])).toEqual([[['output', '']]]);
    const many = (from: number) =>
      JSON.stringify(Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`k${from + index}`, 1])));
    // Scripts choose the columns.
    expect(await columns(['{"a":1}'], '--get', '')).toEqual([[['output', '{"a":1}']], [['output', '']]]);
    expect(await columns(['{"a":1}'], '--get', '/a', '--get', '')).toEqual([
      [
        ['/a', '1'],
        ['output', '{"a":1}'],
      ],
      [
        ['/a', ''],
        ['output', ''],
      ],
    ]);
    // An output of too many values is whole, whatever others have.
    const huge = JSON.stringify(Object.fromEntries([...Array(51).keys()].map((key) => [`k${key}`, key])));
    expect(await columns(['{"k0":1}', huge])).toEqual([
      [
        ['/k0', '1'],
        ['output', ''],
      ],
      [
        ['/k0', ''],
        ['output', huge],
      ],
      [
        ['/k0', ''],
        ['output', ''],
      ],
    ]);
    const thirty = JSON.stringify(Object.fromEntries([...Array(30).keys()].map((key) => [`k${key}`, key])));
    const more = thirty.replace('}', ',"last":1}');
    expect((await columns(['"text"', thirty, more])).flat()).toContainEqual(['output', more]);
    // People see the first ones.
    const wide = await results([...finished(2, many(0)), ...finished(3, many(15))], {}, '--rows');
    expect(wide.stdout).toMatch(/^ROW +\/k0 +.* \/k29\n/);
    expect(await columns([many(0), many(14)])).toHaveLength(3);
    expect((await columns([many(0), many(14)]))[1]).toHaveLength(30);
    expect(await columns([many(0), many(15)])).toEqual([
      [['output', many(0)]],
      [['output', many(15)]],
      [['output', '']],
    ]);
  });

  test('results --get: text is a table of the rows with their values, or their outcomes and messages; the summary is below it', async () => {
    const output = '{"a":"x\\ty\\nz\\u001b","b":1.0}';
    const { stdout, stderr, exitCode } = await results(
      [
        ...[...finished(2, output), ...failed(3, 'no'), ...begun(4)],
        {
          event: 'ended',
          row: 4,
          run: { status: 'FAILED', id: 'r', error: { step: 'Book', message: 'no' } },
        },
        { event: 'table', rows: 3 },
      ],
      {},
      ...['--get', '/a', '--get', '/b'],
    );
    expect(stdout.split('\n').slice(0, 6)).toEqual([
      'ROW      /a                  /b',
      't.csv:2  x\\u0009y\\nz\\u001b  1.0',
      't.csv:3  failed: no',
      't.csv:4  failed: Book: no',
      '',
      '3 rows: 1 finished, 2 failed',
    ]);
    expect([exitCode, stderr]).toEqual([3, '']);
  });

  test.each([80, 40])(
    'results --get: in a window of %i columns, no line of three values is wider',
    async (width) => {
      const output = JSON.stringify({ customer: 'ACME Incorporated', document: { sha256: 'f'.repeat(64) } });
      const cwd = folderOf([...finished(2, output), ...failed(3, 'no'), { event: 'table', rows: 2 }]);
      const gets = ['/customer', '/document/sha256', '/document'].flatMap((pointer) => ['--get', pointer]);
      const show = (options: CliOptions) => runCli(['results', 'out.jsonl', ...gets], { cwd, ...options });
      const { stdout } = await show({ stdoutTerminal: width, env: { NO_COLOR: '1' } });
      expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(width);
      expect(stdout).toContain('\n3     failed: no\n');
      // Pointers may differ only at their ends.
      if (width === 40) expect(stdout).toMatch(/^LINE {2}\/customer {3}\/docu…a256 {2}\/document\n/);
      expect((await show({})).stdout).toContain('f'.repeat(64));
    },
  );

  test('results: rows that were never sent are counted, unless --rows lists them', async () => {
    const events = [...finished(2, '{"a":1}'), { event: 'stopped', rows: 3, limit: 1 }];
    const warn = async (...args: string[]) => {
      const { stderr, stdout } = await results(events, { 't.csv': 'n\n1\n2\n3\n' }, ...args);
      return /(warning: n|^N)ot listed: .*/m.exec(stdout + stderr)?.[0];
    };
    // For people, it is below the table.
    expect(await warn('--get', '/a')).toBe('Not listed: 2 waiting rows; --rows <table> has all.');
    for (const format of ['csv', 'jsonl'])
      expect(await warn('-o', format)).toBe('warning: not listed: 2 waiting rows; --rows <table> has all');
    for (const args of [[], ['-o', 'id'], ['--get', '/a', '--rows', 't.csv']])
      expect(await warn(...args)).toBeUndefined();
  });

  test('results --get: text of many rows has all of them, in tables that fit into memory', async () => {
    const long = JSON.stringify({ a: 'x'.repeat(1_900) });
    const events = Array.from({ length: 900 }, (_, index) => finished(index + 2, long)).flat();
    const last = [...failed(902, 'The totals do not match'), ...finished(903, '{"a":"y"}')];
    const { stdout } = await results([...events, ...last], {}, '--get', '/a');
    const lines = split(stdout).table.split('\n').slice(0, -1);
    // A cell of a pipe has 100 columns: no line is filled up to the longest one.
    expect(lines.filter((line) => /^t\.csv:\d+ +x{99}…$/.test(line))).toHaveLength(900);
    const [first, second = '', ...others] = lines.filter((line) => line.startsWith('ROW '));
    expect([first, second, others]).toEqual([
      expect.stringMatching(/^ROW {8}\/a$/),
      expect.stringMatching(/^ROW {8}\/a$/),
      [],
    ]);
    // Each is fitted to its own rows.
    expect(lines.slice(-2)).toEqual(['t.csv:902  failed: The totals do not match', 't.csv:903  y']);
  });

  test('results --get: a value that no output has is an empty column, and a warning with the keys of the first output', async () => {
    const events = [...finished(2, '{"total":1}'), ...finished(3, '{"total":2,"vat":3}')];
    const { stdout, stderr } = await results(events, {}, ...['-o', 'csv', '--get', '/totl', '--get', '/vat']);
    expect(records(stdout).map((row) => [row['/totl'], row['/vat']])).toEqual([
      ['', ''],
      ['', '3'],
    ]);
    expect(stderr).toContain('warning: --get /totl: no row has this value');
    expect(stderr).toContain('total');
    expect(stderr).not.toContain('--get /vat');
  });
});

describe('results --only', () => {
  const events = [
    ...[...finished(2, '{"total":1}'), ...failed(3, 'no'), ...begun(4)],
    ...[...failed(5, 'no'), { event: 'table', rows: 4 }],
  ];

  test('results --only: the rows of one outcome or several are shown; the counts are of all', async () => {
    const { stdout, stderr } = await results(events, {}, '--only', 'failed', '--only', 'running');
    const { table: shown, summary } = split(stdout);
    expect(shown).toBe('ROW      OUTCOME\nt.csv:3  failed: no\nt.csv:4  running\nt.csv:5  failed: no\n');
    expect(summary).toContain('4 rows: 1 finished, 2 failed, 1 running\n');
    // It repeats no reason.
    expect(summary).not.toContain(': no\n');
    expect(summary).toContain(
      '\nTo save the rows: wfr results out.jsonl --only failed --only running -o csv --excel > out.failed.running.results.csv\n',
    );
    expect(stderr).toBe('');
    expect((await results(events, {}, '--only', 'failed', '-o', 'id')).stdout).toBe('run-3\nrun-5\n');
    const table = { 't.csv': 'n\n1\n2\n3\n4\n' };
    const rows = await results(events, table, '--only', 'running', '--rows', 't.csv', '-o', 'csv');
    expect(records(rows.stdout).map(({ n, outcome }) => [n, outcome])).toEqual([['3', 'running']]);
    const json = await results(events, {}, '--only', 'finished', '-o', 'json');
    expect(JSON.parse(json.stdout)).toMatchObject({ counts: { failed: 2 }, rows: [{ outcome: 'finished' }] });
  });

  test('results --only: waiting rows that only the table has are counted', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 't.csv': 'n\n1\n2\n' });
    await wfr(['batch', 'w', '--rows', 't.csv', '--results', 'out.jsonl', '--limit', '1'], { cwd });
    const show = (...args: string[]) => wfr(['results', 'out.jsonl', '--only', ...args], { cwd });
    expect((await show('waiting')).stdout).toContain('Not listed: 1 waiting row');
    expect((await show('finished')).stdout).not.toContain('Not listed');
    expect((await show('waiting', '--rows', 't.csv')).stdout).toMatch(
      /^ROW +n +OUTCOME\nt\.csv:3 +2 +waiting\n\n/,
    );
  });

  test('results --only unfinished: all rows but those that have finished, or are gone', async () => {
    const { wfr } = await startBatchService(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      if (inputs.n === '2') return reply.send(422, { message: 'no' });
      reply.send(201, { ...aFinishedRun(), status: inputs.n === '1' ? 'FINISHED' : 'FAILED' });
    });
    const cwd = folderWith({ 't.csv': 'n\n1\n2\n3\n4\n' });
    const options = { cwd, env: { XDG_STATE_HOME: join(cwd, 'state') } };
    const flags = ['--results', 'out.jsonl', '--limit', '3', '--rate', '0'];
    await wfr(['batch', 'w', '--rows', 't.csv', ...flags], options);
    const show = async (...args: string[]) => (await wfr(['results', 'out.jsonl', ...args], options)).stdout;
    const all = await show('--only', 'unfinished', '--rows');
    expect(
      split(all)
        .table.match(/\d +\d +\w+/g)
        ?.map((row) => row.replace(/ +/g, ' ')),
    ).toEqual(['3 2 rejected', '4 3 failed', '5 4 waiting']);
    // What is not known without the table is said.
    expect(await show('--only', 'unfinished')).toContain(
      '\nNot shown: the columns of the table; --rows has them.\nNot listed: 1 waiting row; --rows has all.\n',
    );
    expect(await show('--only', 'unfinished', '--only', 'finished', '-o', 'id')).toBe('run-1\nrun-1\n');
  });

  test('results --only: of waiting rows, CSV has those that are known, and a screen all or none', async () => {
    const waiting = [
      begun(3)[0] ?? {},
      { event: 'refused', row: 3, code: 'interrupted', reason: 'a signal' },
    ];
    const some = [...finished(2, '{"total":1}'), ...waiting, { event: 'stopped', rows: 4, limit: 1 }];
    const csv = await results(some, {}, '--only', 'waiting', '-o', 'csv');
    expect(records(csv.stdout).map(({ label }) => label)).toEqual(['t.csv:3']);
    expect(csv.stderr).toContain('not listed: 2 waiting rows');
    const { stdout } = await results(some, {}, '--only', 'waiting');
    expect(stdout).not.toContain('t.csv:3');
    expect(stdout).toContain('Not listed: 3 waiting rows');
    const all = [...some.slice(0, -1), { event: 'stopped', rows: 2, limit: 1 }];
    expect((await results(all, {}, '--only', 'waiting')).stdout).toContain('\nt.csv:3  waiting\n');
  });

  test('results --rows: where no row has values, the file is among the first columns; a constant gives way to names', async () => {
    const cells = (row: number) => `A${row},P-${row},Freiburg im Breisgau ${row},scan-of-may-${row}.pdf\n`;
    const table = { 't.csv': `customer,order,city,scan@\n${cells(2)}${cells(3)}` };
    const show = async (stdoutTerminal: number, events: readonly (object | string)[], ...args: string[]) =>
      (
        await runCli(['results', 'out.jsonl', ...args], {
          env: { NO_COLOR: '1' },
          stdoutTerminal,
          cwd: folderOf(events, table),
        })
      ).stdout;
    expect(await show(70, [...failed(2, 'no'), ...failed(3, 'no')], '--rows', 't.csv')).toMatch(
      /^LINE {2}customer {2}order {2}scan +OUTCOME\n/,
    );
    const output = (row: number) =>
      JSON.stringify({
        supplier: `Stadtwerke Freiburg im Breisgau ${row}`,
        city: 'Freiburg im Breisgau',
        total: row,
      });
    const two = [...finished(2, output(2)), ...finished(3, output(3))];
    expect(await show(38, two, '--rows')).toMatch(
      /^LINE {2}\/supplier +\/total\n(?:.*\n){2}Not shown:\s+\/city \(always Freiburg im Breisgau\);/,
    );
  });

  test('results --rows: a reason of more than three lines is below its row', async () => {
    const reason = `The total ${'of the page differs '.repeat(8)}.`;
    const events = [...finished(2, '{"a":1}'), ...failed(3, reason)];
    const options = {
      cwd: folderOf(events, { 't.csv': `n\n${'x'.repeat(40)}\ny\n` }),
      env: { NO_COLOR: '1' },
    };
    const show = (width: number) =>
      runCli(['results', 'out.jsonl', '--rows', 't.csv'], { ...options, stdoutTerminal: width });
    expect((await show(90)).stdout).toMatch(/\n3 {5}y\n {6}failed: The total/);
    expect((await show(120)).stdout).toMatch(/\n3 {5}y {41}failed: The total/);
  });

  test('results --only: what is no outcome is an error that lists them', async () => {
    const { exitCode, stdout, stderr } = await results(events, {}, '--only', 'fail');
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^wfr: error: --only fail: expected unfinished, waiting, .*, finished, failed\n$/);
  });
});

describe('results --get on a terminal', () => {
  test('results --get: a reason that has no room beside its row is below it, in full', async () => {
    const [event, ...more] = failed(3, 'The totals do not match: 119.00 expected, 191.00 found');
    const cwd = folderOf([{ ...event, label: 'scans/bad-gmbh-march-26.pdf' }, ...more]);
    const options = { cwd, env: { NO_COLOR: '1' }, terminal: 40, stdoutTerminal: 40 };
    const { stdout, stderr } = await runCli(['results', 'out.jsonl', '--rows'], options);
    const { table, summary } = split(stdout);
    expect(table).toBe(`ROW                    OUTCOME
bad-gmbh-march-26.pdf
  failed: The totals do not match:
  119.00 expected, 191.00 found
`);
    // The summary does not repeat it.
    expect(summary.replace(/\s+/g, ' ')).not.toContain('The totals do not match');
    expect(stderr).toBe('');
  });

  test('results --get: values that were asked for leave a name 16 columns, other values a fourth of the window', async () => {
    const [event, ...more] = finished(
      2,
      '{"supplier":"Stadtwerke Freiburg","number":"RE-2026-1697","date":"2026-05-31","total":1697,"currency":"EUR"}',
    ) as object[];
    const cwd = folderOf([{ ...event, label: `scans/${'x'.repeat(40)}.pdf` }, ...more]);
    const last = async (width: number, ...gets: string[]) => {
      const options = { cwd, env: { NO_COLOR: '1' }, stdoutTerminal: width };
      const args = gets.flatMap((get) => ['--get', get]);
      return (await runCli(['results', 'out.jsonl', ...args, '--rows'], options)).stdout.split('\n')[1];
    };
    const gets = ['/supplier', '/number', '/date', '/total', '/currency'];
    expect(await last(80, ...gets)).toBe(
      'xxxxxxxx…xxx.pdf  Stadtwerke Freib…  RE-2026-1697  2026-05-31    1697  EUR',
    );
    expect(await last(80)).toBe('xxxxxxxxxx…xxxxx.pdf  Stadtwerke F…  RE-2026-1697  2026-05-31    1697  EUR');
    expect(await last(72)).toBe('xxxxxxxxxx…xxxxx.pdf  Stadtwerke Frei…  RE-2026-1697  2026-05-31    1697');
    // Part of a number says nothing.
    expect(await last(40)).toBe('xxxxxxxxxx…xxxxx.pdf  Stadtwerk…    1697');
  });

  test('results --get: files are in the order of their names, and the whole name of one that failed is shown', async () => {
    const named = (label: string, events: readonly (object | string)[]) => [
      { ...(events[0] as object), label: `scans/${label}.pdf` },
      ...events.slice(1),
    ];
    const output = (row: number) =>
      JSON.stringify({ number: `RE-${row}`, supplier: 'Stadtwerke Freiburg', total: row / 4 });
    const reason = 'The page has no total, and no other page has one';
    const events = [
      ...named('scan10', finished(2, output(2))),
      ...named('Telekom', finished(3, output(3))),
      ...named('acme', finished(4, output(4))),
      ...named('scan of the invoice of May', failed(5, reason)),
      ...named('scan2', finished(6, output(6))),
    ];
    const options = { cwd: folderOf(events), env: { NO_COLOR: '1' }, stdoutTerminal: 64 };
    const { stdout } = await runCli(['results', 'out.jsonl', '--rows'], options);
    expect(split(stdout).table).toBe(`ROW                         /number  /supplier            /total
Telekom.pdf                 RE-3     Stadtwerke Freiburg    0.75
acme.pdf                    RE-4     Stadtwerke Freiburg    1
scan of the invoice of May.pdf  failed: The page has no total,
                            and no other page has one
scan10.pdf                  RE-2     Stadtwerke Freiburg    0.5
scan2.pdf                   RE-6     Stadtwerke Freiburg    1.5
`);
  });

  test('results --get: a reason of wide characters fits the window', async () => {
    const cwd = folderOf(failed(2, '請求書の合計が一致しません請求書の合計が'));
    const options = { cwd, env: { NO_COLOR: '1' }, stdoutTerminal: 50 };
    const { stdout } = await runCli(['results', 'out.jsonl', '--rows'], options);
    expect(split(stdout).table).toBe(
      'LINE  OUTCOME\n2     failed:\n      請求書の合計が一致しません請求書の合計が\n',
    );
  });

  test('results --get: a word that is wider than the place of a reason is below the row', async () => {
    const url = `https://example.com/${'x'.repeat(35)}`;
    const options = { cwd: folderOf(failed(2, url)), env: { NO_COLOR: '1' }, stdoutTerminal: 60 };
    const { stdout } = await runCli(['results', 'out.jsonl', '--rows'], options);
    expect(split(stdout).table).toBe(`LINE  OUTCOME\n2\n      failed:\n      ${url}\n`);
  });

  test('results --get: of the path of a file, both ends are shown, wherever the window ends', async () => {
    const named = (row: number, label: string) => {
      const [event, ...more] = failed(row, 'no');
      return [{ ...event, label }, ...more];
    };
    const cwd = folderOf([...named(2, 'scans/a.pdf'), ...named(3, `scans/${'x'.repeat(60)}/bad.pdf`)]);
    const options = { cwd, env: { NO_COLOR: '1' }, terminal: 50, stdoutTerminal: 50 };
    const { stdout } = await runCli(['results', 'out.jsonl', '--rows'], options);
    // The folder that all have is left out.
    expect(stdout).toMatch(/\na\.pdf +failed: no\nx+…x+\/bad\.pdf {2}failed: no\n/);
  });

  test('results --get: a reason follows the outcome in place of values, and is given once in a window', async () => {
    const message = 'The totals do not match: 119.00 expected, 191.00 found';
    const finishedRows = [2, 5].flatMap((row) => finished(row, '{"total":1}'));
    const cwd = folderOf([...finishedRows, ...[3, 4, 6].flatMap((row) => failed(row, message))]);
    const show = async (columns: number, env: CliOptions['env'] = { NO_COLOR: '1' }) => {
      const options = { cwd, env, terminal: columns, stdoutTerminal: columns };
      return split((await runCli(['results', 'out.jsonl', '--get', '/total'], options)).stdout).table;
    };
    expect(await show(60)).toBe(`LINE  /total
2          1
3     failed: The totals do not match: 119.00 expected,
      191.00 found
4     failed: as in line 3
5          1
6     failed: as in line 3
`);
    const many = [...Array(21).keys()].flatMap((row) => failed(row + 2, message));
    const options = { cwd: folderOf(many), terminal: 60, stdoutTerminal: 60 };
    // The summary of a long table has the reasons, too.
    const { stdout } = await runCli(['results', 'out.jsonl', '--rows'], options);
    expect(split(stdout).summary).toContain('The totals');
    // That of a lost row has its id.
    const lost = folderOf([...begun(2), { event: 'lost', row: 2 }]);
    expect((await runCli(['results', 'out.jsonl', '--rows'], { ...options, cwd: lost })).stdout).toContain(
      '(run-2)',
    );
    // A reference is not longer than a reason.
    const short = folderOf([2, 3].flatMap((row) => failed(row, 'no total')));
    const both = await runCli(['results', 'out.jsonl', '--rows'], { ...options, cwd: short });
    expect(both.stdout.split('no total')).toHaveLength(3);
    // A line of a pipe may be read alone.
    const piped = await runCli(['results', 'out.jsonl', '--get', '/total'], { cwd });
    expect(piped.stdout.split(message)).toHaveLength(4);
    expect(await show(60, { TERM: 'xterm' })).toContain('\u001b[31mfailed: The totals do not match');
  });

  const show = (
    columns: number,
    table = 't.csv',
    env: CliOptions['env'] = { NO_COLOR: '1' },
    platform: NodeJS.Platform = 'linux',
  ) => {
    const cwd = folderOf([
      ...[2, 3].flatMap((row) => {
        const [intent, ...more] = finished(row, `{"total":${row},"word":"w"}`) as object[];
        return [{ ...intent, label: `${row === 3 ? table : 't.csv'}:${row} (ACME)` }, ...more];
      }),
      { event: 'table', rows: 2 },
    ]);
    const args = ['results', 'out.jsonl', '--get', '/total', '--get', '/word'];
    return runCli(args, { cwd, env, platform, terminal: columns, stdoutTerminal: columns });
  };

  test('results --get: rows of one table are lines, numbers are aligned to the right, and an empty line follows', async () => {
    const narrow = await show(40);
    const { table, summary } = split(narrow.stdout);
    expect(table).toBe('LINE      /total  /word\n2 (ACME)       2  w\n3 (ACME)       3  w\n');
    expect(split((await show(80)).stdout).table).toBe(table);
    // A command that is longer than the window is broken as shells take it, but not on Windows.
    expect(summary).toBe(
      '2 rows: 2 finished\nTo save the outputs:\n' +
        '  wfr results out.jsonl --get /total \\\n    --get /word -o csv --excel \\\n    > out.results.csv\n',
    );
    expect((await show(40, 't.csv', undefined, 'win32')).stdout).toContain(
      '\n  wfr results out.jsonl --get /total --get /word -o csv --excel > out.results.csv\n',
    );
    expect((await show(40, 'u.csv')).stdout).toContain('\nu.csv:3 (ACME)  ');
  });

  test('results --get: a reason is beside a name whose letters have several code points', async () => {
    const [event, ...more] = failed(2, 'no');
    const cwd = folderOf([{ ...event, label: `Mu\u0308${'u\u0308'.repeat(30)}ller.pdf` }, ...more]);
    const options = { cwd, env: { NO_COLOR: '1' }, terminal: 60, stdoutTerminal: 60 };
    const { stdout } = await runCli(['results', 'out.jsonl', '--rows'], options);
    expect(stdout).toMatch(/ler\.pdf {2}failed: no\n\n/);
  });

  test('results --get: a value that was asked for has a column, also where no row has one', async () => {
    const cwd = folderOf(failed(3, 'no total'));
    const { stdout } = await runCli(['results', 'out.jsonl', '--get', '/total'], { cwd });
    expect(split(stdout).table).toBe('ROW      /total\nt.csv:3  failed: no total\n');
  });

  test('results --get: numbers are aligned at their decimal points, and headers are cut before cells', async () => {
    const output = (total: string) =>
      `{"number":"INV-2026-${total}","date_of_invoice":"2026-01-02","total":${total}}`;
    const events = ['1250', '89.9', '412.37', '-1e3'].flatMap((total, row) =>
      finished(row + 2, output(total)),
    );
    const options = { cwd: folderOf(events), env: { NO_COLOR: '1' }, stdoutTerminal: 44 };
    const { stdout } = await runCli(['results', 'out.jsonl', '--rows'], options);
    expect(split(stdout).table).toBe(`LINE  /number          /date_…voice   /total
2     INV-2026-1250    2026-01-02    1250
3     INV-2026-89.9    2026-01-02      89.9
4     INV-2026-412.37  2026-01-02     412.37
5     INV-2026--1e3    2026-01-02    -1e3
`);
    // Long texts are cut before them.
    const long = finished(2, `{"supplier":"${'x'.repeat(31)}","date_of_invoice":"2026-01-02"}`);
    const narrow = { ...options, cwd: folderOf(long) };
    const listed = await runCli(['results', 'out.jsonl', '--rows'], narrow);
    expect(listed.stdout.split('\n')[0]).toBe('LINE  /supplier             /date_of_invoice');
  });
});

describe('results --rows', () => {
  test('results --rows: the values of outputs have columns in their order, as far as there is room', async () => {
    const output = JSON.stringify({
      scan: `data:,${'x'.repeat(999)}`,
      sum: 12.5,
      by: { name: 'Ada', 'a/b': null, at: { day: 1 } },
      lines: [1, 2],
    });
    const cwd = folderOf([...finished(2, output), ...finished(3, '"text"'), ...failed(4, 'no')], {
      't.csv': 'n\n1\n2\n3\n',
    });
    const show = async (columns: number) => {
      const options = { cwd, env: { NO_COLOR: '1' }, terminal: columns, stdoutTerminal: columns };
      const { stdout, stderr } = await runCli(['results', 'out.jsonl', '--rows', 't.csv'], options);
      expect(stderr).toBe('');
      return split(stdout).table.split('\n');
    };
    expect(await show(70)).toEqual([
      'LINE  n  /scan               /sum  /by/name  /by/at     /lines  output',
      '2     1  data:,xxxxxxxxxxx…  12.5  Ada       {"day":1}  [1,2]',
      '3     2                                                         text',
      '4     3  failed: no',
      '',
    ]);
    expect(await show(45)).toEqual([
      'LINE  n  /scan         /sum  /by/name  output',
      '2     1  data:,xxxxx…  12.5  Ada',
      '3     2                                text',
      '4     3  failed: no',
      'Not shown: /by/at, /lines; --get chooses,',
      '  -o csv has all.',
      '',
    ]);
    // What is saved has the columns that are shown, and those without room.
    const shown = await runCli(['results', 'out.jsonl', '--rows', 't.csv'], { cwd });
    expect(shown.stdout).toContain(
      'To save the outputs: wfr results out.jsonl --rows t.csv -o csv --excel > out.results.csv\n',
    );
  });

  test('results --rows: the values of several outputs have columns, but for one that is always null, and many members are one value', async () => {
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`m${n}`, n])));
    const outputs = ['{"error":null}', '{"error":null,"total":5,"total":6}', many];
    const events = outputs.flatMap((output, index) => finished(index + 2, output));
    const { stdout, stderr } = await results(events, { 't.csv': 'n\n1\n2\n3\n' }, '--rows', 't.csv');
    // The whole output is its values for people.
    const listed = await results(events, {}, '--rows');
    const { table } = split(stdout);
    expect(split(listed.stdout).table).toBe(table.replaceAll(/^(.{9})(..)./gm, '$1'));
    expect(listed.stdout).toContain('To save the outputs: wfr results out.jsonl --rows -o csv --excel > ');
    expect(table.split('\n')).toEqual([
      'ROW      n  /total  output',
      // Where nothing of an output is shown, its outcome is.
      't.csv:2  1  (finished)',
      't.csv:3  2       6',
      expect.stringMatching(/^t\.csv:4 {2}3 {10}\{"m0":0,.{91}…$/),
      '',
    ]);
    expect(stderr).toBe('');
  });

  test('results --rows: an output without values takes the place of no value', async () => {
    const events = [...finished(2, '{"total":1}'), ...finished(3, '"text"')];
    const cwd = folderOf(events, { 't.csv': 'one_column,other_column,third_column\na,b,c\nd,e,f\n' });
    const options = { cwd, env: { NO_COLOR: '1' }, stdoutTerminal: 50 };
    const { stdout } = await runCli(['results', 'out.jsonl', '--rows', 't.csv'], options);
    expect(stdout).toMatch(/ \/total {2}output\n/);
  });

  test('results --rows: a long cell of the table leaves room for a reference to a reason', async () => {
    const table = `n,note\n1,${'x'.repeat(90)}\n2,\n`;
    const events = [2, 3].flatMap((row) => failed(row, 'The totals of the pages do not add up'));
    const cwd = folderOf(events, { 't.csv': table });
    const options = { cwd, env: { NO_COLOR: '1' }, stdoutTerminal: 80 };
    const { stdout } = await runCli(['results', 'out.jsonl', '--rows', 't.csv'], options);
    expect(stdout).toMatch(/^2 {5}1 {2}x+…\n {6}failed: The totals of the pages do not add up\n/m);
    expect(stdout).toMatch(/^3 {5}2 +failed: as in line 2$/m);
  });

  test('results --rows: a value of megabytes is cut before it is measured', async () => {
    const events = finished(2, JSON.stringify({ document: 'x'.repeat(3_000_000) }));
    const { stdout } = await results(events, { 't.csv': 'n\n1\n' }, '--rows', 't.csv');
    expect(stdout.split('\n')[1]).toBe(`t.csv:2  1  ${'x'.repeat(99)}…`);
  });

  test('results --rows: a changed table of shards is an error, as for the batch', async () => {
    const { wfr } = await startBatchService((_request, reply) => reply.send(201, aFinishedRun()));
    const cwd = folderWith({ 't.csv': 'name\na\nb\nc\nd\n' });
    for (const shard of ['1/2', '2/2']) {
      const results = ['--shard', shard, '--results', `${shard[0]}.jsonl`, '--rate', '0'];
      await wfr(['batch', 'w', '--rows', 't.csv', ...results], { cwd });
    }
    writeFileSync(join(cwd, 't.csv'), 'name\nz\nb\nc\nd\n');
    expect(await wfr(['results', '1.jsonl', '2.jsonl', '--rows', 't.csv'], { cwd })).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: 'wfr: error: t.csv: has changed since it was sent\n',
    });
  });

  test('results --rows: a long reason takes no room from values', async () => {
    const output = JSON.stringify({ first: 'x'.repeat(15), second: 'y'.repeat(17) });
    const events = [...finished(2, output), ...failed(3, 'r'.repeat(60))];
    const cwd = folderOf(events, { 't.csv': 'n\n1\n2\n' });
    const options = { cwd, env: { NO_COLOR: '1' }, terminal: 80, stdoutTerminal: 80 };
    const { stdout } = await runCli(['results', 'out.jsonl', '--rows', 't.csv'], options);
    expect(stdout).toMatch(/^LINE {2}n {2}\/first {11}\/second\n/);
    expect(stdout).toMatch(/ failed: r{60}\n\n/);
  });

  test('results --rows: columns are left out before cells are narrower than a seventh of the window', async () => {
    const line = (cell: string) => `${'abcdefgh'.split('').map((letter) => letter + cell)}\n`;
    const cwd = folderOf(finished(2, '{}'), { 't.csv': line('') + line(' xxx'.repeat(8)) });
    const options = { cwd, env: { NO_COLOR: '1' }, terminal: 100, stdoutTerminal: 100 };
    const { stdout } = await runCli(['results', 'out.jsonl', '--rows', 't.csv'], options);
    expect(stdout).toMatch(/^LINE {2}a +b +c +d +e +output\n/);
    expect(stdout).toContain('\nNot shown: f, g, h; --get chooses, -o csv has all.\n');
  });

  test('results --rows: where not all have room, values come before most columns of the table, and files last; copies are left out', async () => {
    const output = (row: number, customer: string) =>
      JSON.stringify({ customer, number: `RE-${row}`, total: row, due: `2026-01-0${row}` });
    const events = [...finished(2, output(2, 'A')), ...finished(3, output(3, 'B'))];
    const table = 'customer,order,cost_center,supplier,scan@\nA,P-1,4100,X,a.pdf\nB,P-2,4100,Y,b.pdf\n';
    const cwd = folderOf(events, { 't.csv': table });
    let note = '';
    const headers = async (width: number) => {
      const options = { cwd, env: { NO_COLOR: '1' }, stdoutTerminal: width };
      const { stdout } = await runCli(['results', 'out.jsonl', '--rows', 't.csv'], options);
      note = /Not shown[^.]*\./.exec(stdout.replace(/\n +/g, ' '))?.[0] ?? '';
      return stdout.split('\n')[0]?.split(/ +/).slice(1).join(' ');
    };
    expect(await headers(22)).toBe('customer OUTCOME');
    expect(await headers(23)).toBe('customer /number');
    expect(await headers(30)).toBe('customer order /number');
    expect(await headers(38)).toBe('customer order /number /total');
    expect(await headers(45)).toBe('customer order scan /number /total');
    expect(await headers(50)).toBe('customer order /number /total /due');
    expect(await headers(57)).toBe('customer order scan /number /total /due');
    expect(await headers(63)).toBe('customer order cost_center /number /total /due');
    expect(await headers(73)).toBe('customer order cost_center supplier /number /total /due');
    // What a column has is not shown again.
    expect(await headers(120)).toBe('customer order cost_center supplier scan /number /total /due');
    expect(note).toBe('Not shown: /customer (= customer); --get chooses, -o csv has all.');
    writeFileSync(join(cwd, 't.csv'), table.replaceAll(/,.*,/g, ','));
    expect(await headers(31)).toBe('customer /number /total');
    // A cell stands for the value that is the same, as it is there in each row.
    writeFileSync(
      join(cwd, 't.csv'),
      table.replace('P-1', '2.0').replace('P-2', '3').replace('order', 'order:='),
    );
    expect(await headers(34)).toBe('customer order /number');
    expect(await headers(42)).toBe('customer order /number /due');
    expect(note).toContain('/total (= order), ');
    // Values that differ come before one that is the same in each row, which is said.
    const alike = folderOf([2, 3].flatMap((row) => finished(row, `{"type":"bill","total":${row}}`)));
    const narrow = { cwd: alike, env: { NO_COLOR: '1' }, stdoutTerminal: 18 };
    const listed = await runCli(['results', 'out.jsonl', '--rows'], narrow);
    expect(listed.stdout).toMatch(/^LINE {2}\/total\n/);
    const one = { ...narrow, stdoutTerminal: 100, cwd: folderOf(finished(2, '{"a":"x","b":1}')) };
    const whole = (await runCli(['results', 'out.jsonl', '--rows'], one)).stdout;
    expect(split(whole).table).not.toContain('Not shown');
    const path = `of/the/year/${'x'.repeat(30)}.pdf`;
    const named = folderOf(finished(2, '{"total":1}'), { 't.csv': `customer,scan@\nAda,${path}\n` });
    const options = { cwd: named, env: { NO_COLOR: '1' }, stdoutTerminal: 50 };
    const paths = await runCli(['results', 'out.jsonl', '--rows', 't.csv'], options);
    expect(paths.stdout).toMatch(/^LINE {2}customer {2}scan +\/total\n2 {5}Ada {7}x+…x+\.pdf {2} +1\n/);
  });

  test('results --rows: a value is not taken for that of a column, or of all rows, if it may differ', async () => {
    const id = (end: number) => `1234567890123456789${end}`;
    const long = (end: string) => `${'x'.repeat(150)}${end}`;
    const outputs = [2, 3].map((row) => ({
      id: id(row),
      text: long(`${row}`),
      code: '7',
      none: '0',
      one: 'a',
    }));
    const events = outputs.flatMap((output, index) => finished(index + 2, JSON.stringify(output)));
    const cwd = folderOf([...events, ...finished(4, '{"one":"a"}')], {
      't.csv': `name,id,text,code,none\nA,${id(4)},${long('4')},007,\nB,${id(5)},${long('5')},007,\nC,,,,\n`,
    });
    const show = async (width: number) => {
      const options = { cwd, env: { NO_COLOR: '1' }, stdoutTerminal: width };
      return (await runCli(['results', 'out.jsonl', '--rows', 't.csv'], options)).stdout.replace(
        /\n +/g,
        ' ',
      );
    };
    expect(await show(200)).not.toContain('Not shown');
    expect(await show(30)).toMatch(/\nNot shown: id, text, code, \/id, \/none, \/one \(always a\);/);
  });

  test('results --rows: what is said of a column that is not shown holds for each row that has finished', async () => {
    const show = async (count: number, approvedOf: (row: number) => number | null) => {
      const rows = Array.from({ length: count }, (_, index) => index + 2);
      const events = rows.flatMap((row) => finished(row, JSON.stringify({ approved: approvedOf(row) })));
      const cells = rows.map((row) => `${row},${'x'.repeat(80)}\n`);
      return (await results(events, { 't.csv': `amount,note\n${cells.join('')}` }, '--rows', 't.csv')).stdout;
    };
    expect(await show(3, (row) => row)).toContain('\nNot shown: /approved (= amount); ');
    // The output of a row that is gone is listed, too.
    const { wfr } = await startBatchService(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      reply.send(201, {
        ...aFinishedRun(),
        output: { currency: inputs.n === '2' ? 'USD' : 'EUR', n: inputs.n },
      });
    });
    const cwd = folderWith({ 't.csv': 'n\n1\n2\n3\n' });
    const batch = ['batch', 'w', '--rows', 't.csv', '--results', 'out.jsonl', '--rate', '0'];
    await wfr(batch, { cwd });
    writeFileSync(join(cwd, 't.csv'), 'n\n1\n3\n');
    await wfr(batch, { cwd });
    const options = { cwd, env: { NO_COLOR: '1' }, stdoutTerminal: 14 };
    const ended = ['--only', 'finished', '--only', 'gone'];
    const narrow = (await wfr(['results', 'out.jsonl', ...ended], options)).stdout;
    expect(narrow).toContain('\nwas 3 ');
    expect(narrow).not.toContain('always');
    expect(await show(3, (row) => (row === 3 ? null : row))).toMatch(/^ROW.* \/approved\n(?!.*Not shown)/s);
    // Rows of several tables may differ.
    const many = await show(1_300, (row) => (row > 1_290 ? row + 1 : row));
    expect(many).toMatch(/^ROW +amount +note +\/approved$/m);
    expect(many).toContain('\nNot shown: /approved; ');
  });

  test('results --rows --get: a value that was asked for has half of the window before columns of the table', async () => {
    const cwd = folderOf(finished(2, JSON.stringify({ long: 'x'.repeat(60) })), {
      't.csv': 'customer,order\nA,P-1\n',
    });
    const show = async (width: number) => {
      const options = { cwd, env: { NO_COLOR: '1' }, stdoutTerminal: width };
      return (await runCli(['results', 'out.jsonl', '--rows', 't.csv', '--get', '/long'], options)).stdout;
    };
    expect(await show(40)).toMatch(/^LINE {2}customer {2}\/long\n/);
    expect(await show(60)).toMatch(/^LINE {2}customer {2}order {2}\/long\n/);
  });

  test('results --rows: that the table of rows is not known is said, with and without a column that was asked for', async () => {
    const events = finished(2, '{"total":1}');
    const note = 'shown: the columns of the table; --rows <table> has them';
    expect((await results(events, {}, '--rows')).stdout).toContain(`\nNot ${note}.\n`);
    expect((await results(events, {}, '--rows', '-o', 'csv')).stderr).toContain(
      `wfr: warning: not ${note}\n`,
    );
    expect(await results(events, {}, '--rows', '--get', 'customer')).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: 'wfr: error: --get customer: neither a JSON Pointer nor a column of the table\n',
    });
    // That files are of several batches is said first.
    const files = {
      'two.jsonl': readFileSync(join(folderOf(finished(3, '1')), 'out.jsonl'), 'utf8').replace('"w"', '"v"'),
    };
    const { stderr } = await results(events, files, 'two.jsonl', '--rows', '--get', 'customer');
    expect(stderr).toMatch(/^wfr: error: two\.jsonl: of another batch than out\.jsonl/);
  });

  test('results --rows --get: a name chooses a column of the table, as a pointer does a value', async () => {
    const events = [...finished(2, '{"total":1,"vat":2}'), ...failed(3, 'no')];
    const files = { 't.csv': 'customer,amount:=,scan@\nA,1,a.pdf\nB,2,b.pdf\n' };
    const show = (...args: string[]) => results(events, files, '--rows', 't.csv', ...args);
    const chosen = await show('--get', '/total', '--get', 'scan', '--get', 'amount');
    expect(split(chosen.stdout).table).toBe(
      'ROW      amount  scan   /total\nt.csv:2       1  a.pdf       1\nt.csv:3       2  b.pdf  failed: no\n',
    );
    expect(chosen.stdout).toContain(
      'wfr results out.jsonl --get /total --get scan --get amount --rows t.csv -o csv --excel > ',
    );
    const csv = await show('--get', 'customer', '-o', 'csv');
    expect(csv.stdout).toMatch(/^customer,label,outcome,\/total,\/vat,message,/);
    const json = JSON.parse((await show('--get', 'scan', '-o', 'jsonl')).stdout.split('\n')[0] ?? '');
    expect(json).toMatchObject({ table: { 'scan@': 'a.pdf' }, output: { total: 1, vat: 2 } });
    expect(json.table).not.toHaveProperty('customer');
    // A media type is no part of the name.
    const typed = { 't.csv': 'customer,"scan@;type=application/pdf"\nA,a.pdf\nB,b.pdf\n' };
    const file = await results(events, typed, '--rows', 't.csv', '--get', 'scan');
    expect(file.stdout).toMatch(/^ROW +scan +\/total +\/vat\nt\.csv:2 {2}a\.pdf +1 +2\n/);
    expect(await show('--get', 'custmer')).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr:
        'wfr: error: --get custmer: neither a JSON Pointer nor a column of the table; did you mean customer?\n',
    });
  });

  test('results --rows: without any output, no column stands for one', async () => {
    const { stdout } = await results(failed(2, 'no total'), { 't.csv': 'n\n1\n' }, '--rows', 't.csv');
    expect(split(stdout).table).toBe('ROW      n  OUTCOME\nt.csv:2  1  failed: no total\n');
  });

  const TABLE = 'customer,amount:=,id\nACME,007,a\n\n"Smith, ""Inc.""\nLtd.",-5,b\nnever,1,c\n';

  test('results -o csv --rows: the columns and rows of the table in its order, also those that were never sent', async () => {
    const events = [...failed(4, 'no total'), ...finished(2, '{"total":1}')];
    const { stdout, stderr } = await results(
      events,
      { 't.csv': TABLE },
      ...['-o', 'csv', '--rows', 't.csv', '--get', '/total'],
    );
    expect(stdout.split('\n')[0]).toBe(
      'customer,amount:=,id,label,outcome,/total,message,step,status,row,wfr.id,started,duration',
    );
    expect(
      records(stdout).map((row) => [
        row.customer,
        row['amount:='],
        row.id,
        row.outcome,
        row['wfr.id'],
        row.message,
        row['/total'],
      ]),
    ).toEqual([
      ['ACME', '007', 'a', 'finished', 'run-2', '', '1'],
      ['Smith, "Inc."\nLtd.', '-5', 'b', 'failed', 'run-4', 'no total', ''],
      ['never', '1', 'c', 'waiting', '', '', ''],
    ]);
    expect(stderr).not.toContain('warning');
  });

  test('results --rows: people see the columns of the table that fit, and the values of the output or the outcome', async () => {
    const cwd = folderOf([...failed(4, 'no total'), ...finished(2, '{"total":1}')], { 't.csv': TABLE });
    const show = (columns: number, ...args: string[]) => {
      const options = { cwd, env: { NO_COLOR: '1' }, terminal: columns, stdoutTerminal: columns };
      return runCli(['results', 'out.jsonl', '--rows', 't.csv', ...args], options);
    };
    const wide = await show(80);
    expect(split(wide.stdout).table).toBe(
      'LINE  customer             amount  id  /total\n' +
        '2     ACME                    007  a        1\n' +
        '4     Smith, "Inc."\\nLtd.      -5  b   failed: no total\n' +
        '6     never                     1  c   (waiting)\n',
    );
    const narrow = await show(28, '--get', '/total');
    // The first column usually names the row.
    expect(split(narrow.stdout).table).toBe(
      'LINE  customer    id  /total\n' +
        '2     ACME        a        1\n' +
        '4     Smith, "I…  b\n' +
        '      failed: no total\n' +
        '6     never       c\n' +
        '      (waiting)\n' +
        'Not shown: amount; --get chooses, -o csv has all.\n',
    );
  });

  test('results --rows: rows are found by their content, wherever they are in the table now, and no other row is taken for them', async () => {
    const { wfr } = await startBatchService(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      const output = { of: inputs.name ?? inputs.scan };
      reply.send(201, { ...aFinishedRun(), id: `run-${inputs.name}`, output });
    });
    const cwd = folderWith({
      'a.pdf': 'A',
      't.csv': 'name,scan@\nAda,a.pdf\nBob,a.pdf\nBob,a.pdf\nEve,none.pdf\n',
    });
    await wfr(['batch', 'w', '--rows', 't.csv', '--results', 'out.jsonl', '--rate', '0'], { cwd });
    const write = (text: string) => writeFileSync(join(cwd, 't.csv'), text);
    const show = () => wfr(['results', 'out.jsonl', '--rows', 't.csv', '--get', '/of'], { cwd });
    const first = await show();
    expect(first.stdout).toMatch(/^t\.csv:2 +Ada +a\.pdf +Ada$/m);
    expect(first.stdout).toMatch(/^t\.csv:5 +Eve +none\.pdf +invalid/m);
    expect(first.stderr).toBe('');
    write('name,scan@\nZoe,a.pdf\nBob,a.pdf\nAda,a.pdf\nBob,b.pdf\n');
    const { stdout, stderr } = await show();
    expect(stdout).toMatch(/^t\.csv:2 +Zoe +a\.pdf +held: changed, or new in place of a sent row$/m);
    expect(stdout).toMatch(/^t\.csv:3 +Bob +a\.pdf +Bob$/m);
    expect(stdout).toMatch(/^t\.csv:4 +Ada +a\.pdf +Ada$/m);
    expect(stdout).toMatch(/^t\.csv:5 +Bob +b\.pdf +held: changed, or new/m);
    // An invalid row that has changed is a new one.
    expect(stdout).toMatch(/^4 rows: 2 finished, 2 held\nBegan .*\n1 earlier row replaced or removed$/m);
    expect(stdout + stderr).not.toContain('none.pdf');
    const csv = await wfr(['results', 'out.jsonl', '--rows', 't.csv', '-o', 'csv'], { cwd });
    expect(records(csv.stdout).map(({ name, label, outcome }) => [name, label, outcome])).toEqual([
      ['Zoe', 't.csv:2', 'held'],
      ['Bob', 't.csv:3', 'finished'],
      ['Ada', 't.csv:2', 'finished'],
      ['Bob', 't.csv:5', 'held'],
    ]);
  });

  test('results --get: a row that is gone is told from the one that has its line now', async () => {
    const { wfr } = await startBatchService((_request, reply) => reply.send(201, aFinishedRun()));
    const cwd = folderWith({ 't.csv': 'name\nAda\nBob\n' });
    const batch = ['batch', 'w', '--rows', 't.csv', '--results', 'out.jsonl', '--rate', '0'];
    await wfr(batch, { cwd });
    writeFileSync(join(cwd, 't.csv'), 'name\nAnn\nBob\n');
    await wfr(batch, { cwd });
    const options = { cwd, env: { NO_COLOR: '1' }, terminal: 80, stdoutTerminal: 80 };
    const show = (...args: string[]) => wfr(['results', 'out.jsonl', ...args], options);
    expect(split((await show('--get', '/total')).stdout).table.split('\n')).toEqual([
      'LINE   /total',
      '2      held: changed, or new in place of a sent row',
      '3           1',
      'was 2       1',
      '',
    ]);
    expect((await show('--rows', 't.csv')).stdout).toContain(
      "\nNot listed: 1 gone row; --get '' without --rows has all.\n",
    );
    expect((await show('--rows', 't.csv', '--only', 'held')).stdout).not.toContain('Not listed');
    const other = readFileSync(join(cwd, 'out.jsonl'), 'utf8');
    writeFileSync(
      join(cwd, 'out.jsonl'),
      other.replace('"output":{"total":1}', '"output":{"total":1,"old":2}'),
    );
    expect((await show('-o', 'csv')).stdout).toContain(',/total,/old,');
    // Of a run that has failed, it is counted alone.
    const failing = readFileSync(join(cwd, 'out.jsonl'), 'utf8').replaceAll('"FINISHED"', '"FAILED"');
    writeFileSync(
      join(cwd, 'out.jsonl'),
      failing.replaceAll('"output":{"total":1}', '"error":{"message":"no"}'),
    );
    const { table, summary } = split((await show('--rows')).stdout);
    expect(table).not.toContain('\nwas ');
    expect(summary).toContain('\n1 earlier row replaced or removed\n');
    expect((await show('--rows', 't.csv')).stdout).not.toContain('Not listed');
    expect((await show('-o', 'csv')).stdout).not.toContain('gone');
    expect((await show('-o', 'jsonl')).stdout).toContain('"outcome":"gone"');
    expect((await show('--only', 'gone')).stdout).toMatch(/^LINE +OUTCOME\nwas 2 {2}gone\n\n/);
    expect((await show('--only', 'unfinished')).stdout).not.toContain('gone\n');
  });

  test('results --rows: rows that run, and are not in the table, are counted', async () => {
    const { wfr } = await startBatchService(
      (_request, reply) => reply.send(201, aRun()),
      (_request, reply) => reply.send(200, aRun()),
    );
    const cwd = folderWith({ 't.csv': 'name\nAda\nBob\n' });
    await wfr(['batch', 'w', '--rows', 't.csv', '--results', 'out.jsonl', '--timeout', '0'], { cwd });
    writeFileSync(join(cwd, 't.csv'), 'name\nAda\n');
    const { stdout } = await wfr(['results', 'out.jsonl', '--rows', 't.csv'], { cwd });
    expect(stdout).toMatch(
      /^ROW .*\nt\.csv:2 +Ada +running\nNot listed: 1 gone row; --get '' without --rows has all\.\n\n/,
    );
  });

  test('results --rows: the reason of an unknown row that is not in the table is in the summary', async () => {
    const { wfr } = await startBatchService((_request, reply) => reply.send(500, {}));
    const cwd = folderWith({ 't.csv': 'name\nAda\nBob\n' });
    await wfr(['batch', 'w', '--rows', 't.csv', '--results', 'out.jsonl'], { cwd });
    const options = { cwd, terminal: 80, stdoutTerminal: 80 };
    const show = () => wfr(['results', 'out.jsonl', '--rows', 't.csv'], options);
    const reasons = async () => split((await show()).stdout).summary;
    expect(await reasons()).not.toContain('500');
    writeFileSync(join(cwd, 't.csv'), 'name\nAda\n');
    expect(await reasons()).toContain('500');
  });

  test('results --rows: the table of other rows is an error; the same table is none, whatever has changed', async () => {
    const { wfr } = await startBatchService((_request, reply) => reply.send(201, aFinishedRun()));
    const cwd = folderWith({ 't.csv': 'name\nAda\nBob\n', 'others.csv': 'name\nEve\nZoe\nMia\n', scans: '' });
    await wfr(['batch', 'w', '--rows', 't.csv', '--results', 'out.jsonl', '--rate', '0'], { cwd });
    const show = (...args: string[]) => wfr(['results', 'out.jsonl', ...args], { cwd });
    expect(await show('--rows', 'others.csv', '-o', 'csv')).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: 'wfr: error: others.csv: has no row of out.jsonl, such as t.csv:2\n',
    });
    writeFileSync(join(cwd, 'copy.csv'), 'name\nAda\nMia\n');
    // A command that continues would have the batch's table.
    const other = await show('--rows', 'copy.csv');
    expect(other.stdout).toContain("\nThe batch's table is t.csv.\n");
    expect(other.stdout).not.toContain('wfr batch');
    writeFileSync(join(cwd, 't.csv'), 'name\nEve\nZoe\nMia\n');
    const changed = await show('--rows', './t.csv');
    // As wfr batch would.
    expect(changed).toMatchObject({
      exitCode: 2,
      stdout: expect.stringMatching(
        /^Not listed: 2 gone rows; --get '' without --rows has all\.\n\n3 rows: 3 held\nBegan .*\n2 earlier rows replaced or removed\n {2}3 held: changed, or new in place .*\n {4}\.\/t\.csv:2-4\n/m,
      ),
    });
    expect(changed.stdout).toMatch(/^\.\/t\.csv:2 +Eve +held: changed, or new in place of a sent row\n/m);
    writeFileSync(join(cwd, 't.csv'), 'name\nEve\nBob\n');
    const saving = ['--rows', 't.csv', '--save-outputs', 'outs', '--report', 'json=r.json', '-o', 'jsonl'];
    const { stdout } = await show(...saving);
    expect(stdout).toMatch(
      /"row":4,"label":"t\.csv:2","id":null,"outcome":"held",.*"message":"changed, or new in place of a sent row"/,
    );
    const report = JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8'));
    expect(report.runs.map((run: { outcome: string }) => run.outcome).sort()).toEqual(['finished', 'held']);
    expect(changed.stdout).toContain('To send held rows, add --send-changed to the wfr batch command.\n');
  });

  test('results --rows: the summary names rows by the lines of the table that is shown, and by what told them', async () => {
    const { wfr } = await startBatchService(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      const message =
        inputs.name === 'Bob' ? 'The inputs are wrong: no city' : 'The inputs are wrong: no street';
      reply.send(422, { message });
    });
    const cwd = folderWith({ 't.csv': 'name\nAda\nBob\n' });
    const flags = ['--results', 'out.jsonl', '--rate', '0', '--label', 'name', '--concurrency', '1'];
    await wfr(['batch', 'w', '--rows', 't.csv', ...flags], { cwd });
    writeFileSync(join(cwd, 't.csv'), 'name\nNew\nBob\nCy\nAda\n');
    const options = { cwd, env: { NO_COLOR: '1' }, terminal: 80, stdoutTerminal: 80 };
    const { stdout } = await wfr(['results', 'out.jsonl', '--rows', 't.csv'], options);
    const { table, summary } = split(stdout);
    // The number of a row that a flag takes is shown where it is not its line.
    expect(table).toBe(
      [
        'LINE       name  OUTCOME',
        '2          New   waiting',
        '3          Bob   rejected: 422: The inputs are wrong: no city',
        '4          Cy    waiting',
        '5 (row 2)  Ada   rejected: 422: The inputs are wrong: no street',
        '',
      ].join('\n'),
    );
    expect(summary).not.toContain('The inputs are wrong');
    // Rows of CSV may be read elsewhere.
    const piped = (await wfr(['results', 'out.jsonl', '--rows', 't.csv', '-o', 'csv'], { cwd })).stderr;
    expect(piped).toContain('  1 rejected (422), t.csv:5 (Ada, row 2): The inputs are wrong: no street\n');
    expect(piped).toContain('  1 rejected (422), t.csv:3 (Bob): The inputs are wrong: no city\n');
  });

  test('results --rows: of a table with files, changed rows are held as the next batch holds them', async () => {
    const { wfr } = await startBatchService(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      if (!inputs.name) return reply.send(422, { message: 'no name' });
      reply.send(201, { ...aFinishedRun(), status: 'FAILED' });
    });
    const cwd = folderWith({ 'a.pdf': 'A', 't.csv': 'name,scan@\nAda,a.pdf\nBob,a.pdf\n,a.pdf\n' });
    const batch = ['batch', 'w', '--rows', 't.csv', '--results', 'out.jsonl', '--rate', '0'];
    await wfr(batch, { cwd });
    writeFileSync(join(cwd, 't.csv'), 'name,scan@\nAda,a.pdf\nBobby,a.pdf\nCy,a.pdf\n');
    const show = async () =>
      split((await wfr(['results', 'out.jsonl', '--rows', 't.csv'], { cwd })).stdout).summary.split('\nB')[0];
    const before = await show();
    expect(before).toBe('3 rows: 1 failed, 2 held');
    await wfr(batch, { cwd });
    expect(await show()).toBe(before);
  });

  test('results --rows: a row that was gone, and equal rows, are found as the next batch finds them, and part of a table has no next command', async () => {
    const fails = new Set(['F']);
    const { wfr, triggered } = await startBatchService(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      const status = fails.has(inputs.name) ? 'FAILED' : 'FINISHED';
      reply.send(201, { ...aFinishedRun(), status });
    });
    const cwd = folderWith({});
    const write = (name: string, names: string) =>
      writeFileSync(join(cwd, name), `name\n${names.replaceAll(' ', '\n')}\n`);
    const batch = (...args: string[]) =>
      wfr(['batch', 'w', '--rows', 't.csv', '--results', 'out.jsonl', '--rate', '0', ...args], { cwd });
    const show = (table = 't.csv') => wfr(['results', 'out.jsonl', '--rows', table], { cwd });
    const countsOf = ({ stdout, stderr }: { stdout: string; stderr: string }) =>
      /^\d+ rows?: .*$/m.exec(stdout + stderr)?.[0].split(' triggered')[0];
    write('t.csv', 'A F B F');
    await batch('--concurrency', '1');
    write('t.csv', 'A');
    await batch();
    write('t.csv', 'A F B F');
    const again = await show();
    expect(countsOf(again)).toBe('4 rows: 2 finished, 2 failed');
    expect(again.exitCode).toBe(3);
    fails.clear();
    await batch('--retry-failed', '5');
    // Of equal rows, the finished one stays.
    write('t.csv', 'A F B');
    const less = await show();
    expect(countsOf(less)).toBe('3 rows: 3 finished');
    expect(less.stdout).toContain('\n1 earlier row replaced or removed\n');
    const sent = triggered.length;
    expect(countsOf(await batch())).toContain('3 rows: 3 finished; 1 earlier row replaced or removed');
    expect(triggered).toHaveLength(sent);
    write('part.csv', 'A NEW');
    const part = await show('part.csv');
    expect(countsOf(part)).toMatch(/^2 rows: 1 finished, 1 (waiting|held)$/);
    expect(part.stdout).not.toContain('wfr batch');
    write('none.csv', '');
    expect(await show('none.csv')).toMatchObject({
      exitCode: 2,
      stderr: 'wfr: error: none.csv: has no rows\n',
    });
  });

  test('results --rows: of equal rows, each line that has not changed is its own row, also where one is of another shard', async () => {
    const { wfr } = await startBatchService((_request, reply) =>
      reply.send(201, { ...aFinishedRun(), output: 1 }),
    );
    const cwd = folderWith({ 't.csv': 'name\nx\nx\ny\nx\n' });
    const args = ['batch', 'w', '--rows', 't.csv', '--results', 'two.jsonl', '--rate', '0', '--shard', '2/2'];
    expect((await wfr(args, { cwd })).exitCode).toBe(0);
    const { stdout } = await wfr(['results', 'two.jsonl', '--rows', 't.csv', '-o', 'csv'], { cwd });
    expect(records(stdout).map(({ name, row, outcome }) => [name, row, outcome])).toEqual([
      ['x', '3', 'finished'],
      ['x', '5', 'finished'],
    ]);
  });

  test('results --rows: the file of one of very many shards is joined', async () => {
    const { wfr } = await startBatchService((_request, reply) => reply.send(201, aFinishedRun()));
    const cwd = folderWith({ 't.csv': 'name\nx\ny\n' });
    const shard = ['--shard', '2/1000000000', '--results', 'two.jsonl', '--rate', '0'];
    expect((await wfr(['batch', 'w', '--rows', 't.csv', ...shard], { cwd })).exitCode).toBe(0);
    const { stdout } = await wfr(['results', 'two.jsonl', '--rows', 't.csv', '-o', 'csv'], { cwd });
    // It is not known how the row of the other one stands.
    expect(records(stdout).map(({ name, outcome }) => [name, outcome])).toEqual([['y', 'finished']]);
  });

  test('results --rows: a column without room is named, whatever the others are called', async () => {
    const cwd = folderOf(finished(2, '1'), { 't.csv': `my  key,output\n1,${'x'.repeat(60)}\n` });
    const options = { cwd, env: { NO_COLOR: '1' }, stdoutTerminal: 28 };
    const { stdout } = await runCli(['results', 'out.jsonl', '--rows', 't.csv'], options);
    expect(stdout).toContain('Not shown: output; ');
  });

  test('results --rows: the names of columns are sanitized', async () => {
    const { stdout } = await results(
      finished(2, '1'),
      { 't.csv': 'a,\u001b[31mb\n1,2\n' },
      '--rows',
      't.csv',
    );
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toContain('\\u001b[31mb');
  });

  test('results --rows: the delimiter of the table is found, whatever that of the output', async () => {
    const table = 'customer;"scan@;type=application/pdf"\nA,B;1\n';
    const files = {
      't.csv': table,
      't.tsv': 'customer\tscan\nA,B\t1\n',
      'pipe.csv': 'customer|scan\nA,B|1\n',
    };
    for (const [args, separator] of [
      [['--rows', 't.csv'], ','],
      [['--rows', 't.tsv'], ','],
      [['--rows', 'pipe.csv', '--delimiter', '|'], '|'],
      [['--rows', 't.csv', '--delimiter', 'tab'], '\t'],
    ] as const) {
      const { stdout } = await results(begun(2), files, '-o', 'csv', ...args);
      const [head, row] = parse(stdout, { delimiter: separator }) as string[][];
      expect(head?.[0]).toBe('customer');
      expect(row?.slice(0, 3)).toEqual(['A,B', '1', 't.csv:2']);
    }
    // The command that saves reads it as this one does.
    const shown = await results(
      finished(2, '{"total":1}'),
      { 't.csv': files['pipe.csv'] },
      ...['--rows', 't.csv', '--delimiter', '|'],
    );
    expect(shown.stdout).toContain(" --rows t.csv --delimiter '|' -o csv --excel > ");
  });

  test('results --rows: the members of JSON Lines are columns, in the order in which they appear', async () => {
    const table = '{"a":"x","n":1.0}\n{"b":{"$document":"s.pdf"},"a":"y"}\nbroken\n';
    const { stdout } = await results(
      finished(1, '{}'),
      { 't.jsonl': table },
      '-o',
      'csv',
      '--rows',
      't.jsonl',
    );
    expect(stdout.split(',').slice(0, 4)).toEqual(['a', 'n', 'b', 'label']);
    expect(records(stdout).map(({ a, n, b, outcome }) => [a, n, b, outcome])).toEqual([
      ['x', '1.0', '', 'finished'],
      ['y', '', '{"$document":"s.pdf"}', 'waiting'],
      ['', '', '', 'waiting'],
    ]);
  });

  test('results -o jsonl --rows: the cells are in "table", and standard input can be the table', async () => {
    const head = { event: 'batch', format: 3, workflow: 'w', baseUrl: 'http://127.0.0.1:1/', shard: '1/1' };
    const events = [head, ...begun(2), ...begun(9)].map((event) => `${JSON.stringify(event)}\n`);
    const cwd = folderWith({ 'out.jsonl': events.join('') });
    const { stdout, stderr } = await runCli(['results', 'out.jsonl', '-o', 'jsonl', '--rows', '-'], {
      cwd,
      stdin: 'a,b\nx,\n',
    });
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([{ row: 2, outcome: 'running', table: { a: 'x', b: '' }, output: null }]);
    // The run of a row that is not in the table goes on.
    expect(stderr).toContain('2 rows: 2 running');
  });
});

describe('results --excel', () => {
  test('results -o csv --excel: a byte order mark, CRLF, the delimiter, and no formula in cells of the table or of outputs', async () => {
    const { stdout } = await results(
      finished(2, '{"a":"=1+1","b":-5,"c":"-5.5e3","d":"a;b"}'),
      { 't.csv': 'name,-x\n@SUM(A1),+49 30 1\n' },
      ...['-o', 'csv', '--excel', '--delimiter', ';', '--rows', 't.csv'],
      ...['--get', '/a', '--get', '/b', '--get', '/c', '--get', '/d'],
    );
    expect(stdout.startsWith("\ufeffname;'-x;label;")).toBe(true);
    expect(stdout.split('\r\n').length).toBe(3);
    expect(stdout.replaceAll('\r\n', '')).not.toContain('\n');
    const [row] = parse(stdout, { columns: true, bom: true, delimiter: ';' }) as Record<string, string>[];
    expect(row).toMatchObject({
      name: "'@SUM(A1)",
      "'-x": "'+49 30 1",
      '/a': "'=1+1",
      '/b': '-5',
      '/c': '-5.5e3',
      '/d': 'a;b',
    });
  });

  test('results -o csv --excel: a cell that spreadsheets cut is a warning that names its row', async () => {
    const output = `{"scan":"${'A'.repeat(32_768)}"}`;
    const { stderr } = await results(finished(2, output), {}, '-o', 'csv', '--excel');
    expect(stderr).toContain(
      'warning: row 2 has a cell of more than 32767 characters, which spreadsheets cut',
    );
    const short = await results(finished(2, '{"scan":"A"}'), {}, '-o', 'csv', '--excel', '--get', '/scan');
    expect(short.stderr).not.toContain('warning');
  });
});
