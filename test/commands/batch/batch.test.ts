/** `wfr batch`: rows, command line, shards, progress and reports. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  BATCH_ARGS,
  type BatchEvent,
  EACH_SCAN,
  eventNamesByRow,
  FINISHED_ROW,
  numberedRows,
  readEvents,
  startBatchService,
} from '../../helpers/batch.js';
import { type CliOptions, runCli, temporaryFolder } from '../../helpers/cli.js';
import { folderWith } from '../../helpers/files.js';
import { bash, ROOT } from '../../helpers/process.js';
import { FAILING, INVOICE, SLOW, startTestSandbox } from '../../helpers/sandbox.js';
import { aFinishedRun, aRun, type Handler } from '../../helpers/service.js';
import { LACKS } from '../../helpers/system.js';

describe('batch: rows and tables', () => {
  test('batch --quiet: prints the id of each run as soon as it is known', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const { stderr } = await wfr([...BATCH_ARGS, '--quiet'], { cwd });
    const [first, second] = readEvents(join(cwd, 'out.jsonl')).flatMap(({ event, row, id }) =>
      event === 'accepted' ? [`Run ${id} (rows.jsonl:${row})`] : [],
    );
    expect(stderr.split('\n').slice(0, 3).sort()).toEqual(
      [first, second, '2 rows: 2 finished; took 4s'].sort(),
    );
  });

  test.skipIf(LACKS.fullDevice)('batch --check: a result that cannot be written exits 74', async () => {
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const env = { WFR_BASE_URL: 'http://127.0.0.1:1' };
    const script = 'wfr batch w --rows rows.jsonl --check > /dev/full';
    const { stderr, exitCode } = await bash(script, env, { cwd });
    expect({ exitCode, stderr }).toEqual({ exitCode: 74, stderr: expect.stringContaining('no space left') });
  });

  test('batch: rows of JSON Lines run in the sandbox, and the results file records each step', async () => {
    const { env, clock, posts } = await startTestSandbox();
    const cwd = folderWith({
      'rows.jsonl':
        '{"customer":"A","invoice":{"$document":"scan.pdf"}}\n\n{"invoice":{"$document":"scan.pdf"}}',
    });
    copyFileSync(join(ROOT, 'examples/invoice.pdf'), join(cwd, 'scan.pdf'));
    const args = ['batch', INVOICE, '--rows', 'rows.jsonl', '--results', 'out.jsonl', '-i', 'customer=B'];
    const { exitCode, stdout, stderr } = await runCli(args, { env, clock, cwd });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' });
    expect(stderr).toMatch(/2 rows: 2 finished; took \S+\nTo save the outputs: .*\n$/);
    expect(posts()).toBe(2);
    expect(eventNamesByRow(join(cwd, 'out.jsonl'))).toEqual({ 1: FINISHED_ROW, 3: FINISHED_ROW });
    const customers = readEvents(join(cwd, 'out.jsonl')).flatMap(({ row, run }) =>
      run === undefined ? [] : [[row, (run as unknown as { output: { customer: string } }).output.customer]],
    );
    expect(customers.sort()).toEqual([
      [1, 'A'],
      [3, 'B'],
    ]);
  });

  test('batch: a CSV header gives the names and types of inputs, and cells are sent unchanged', async () => {
    const { triggered, wfr } = await startBatchService();
    mkdirSync(join(temporaryFolder(), 'x'));
    const cwd = folderWith({
      'rows.csv':
        '\ufeffname, amount:=,note@=,scan@,tags@:=,raw@;type=a/b\r\n"A, ""Inc""",12.50,note.txt,s.pdf,t.json,\r\n@home,,,,,\r\n=x,"{""a"":1}",,,,s;type=x\r\n',
      'note.txt': 'hello\n',
      's.pdf': '%PDF',
      's;type=x': 'raw',
      't.json': '[1.0]',
    });
    const args = [
      'batch',
      'w',
      '--rows',
      'rows.csv',
      '--results',
      'out.jsonl',
      '--concurrency',
      '1',
      '--rate',
      '0',
    ];
    expect((await wfr(args, { cwd })).exitCode).toBe(0);
    expect(triggered).toEqual([
      {
        name: 'A, "Inc"',
        amount: 12.5,
        note: 'hello\n',
        scan: 'data:application/pdf;base64,JVBERg==',
        tags: [1],
      },
      { name: '@home' },
      { name: '=x', amount: { a: 1 }, raw: 'data:a/b;base64,cmF3' },
    ]);
  });

  test('batch: --each makes a row of each file, and --rows - reads standard input', async () => {
    const { triggered, wfr } = await startBatchService();
    const cwd = folderWith({ 'a.pdf': 'a', 'b.pdf': 'b' });
    const each = [...EACH_SCAN, 'a.pdf', 'b.pdf', '--results', 'x.jsonl', '--concurrency', '1'];
    expect((await wfr(each, { cwd })).exitCode).toBe(0);
    const rows = ['batch', 'w', '--rows', '-', '--results', 'y.jsonl', '--concurrency', '1'];
    expect((await wfr(rows, { cwd, stdin: '{"n":1}\n{"n":2}\n' })).exitCode).toBe(0);
    expect(triggered).toEqual([
      { scan: 'data:application/pdf;base64,YQ==' },
      { scan: 'data:application/pdf;base64,Yg==' },
      { n: 1 },
      { n: 2 },
    ]);
  });

  test('batch: paths in a table are relative to the table', async () => {
    const { triggered, wfr } = await startBatchService();
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'data'));
    writeFileSync(join(cwd, 'data/rows.csv'), 'note@=\nn.txt\n');
    writeFileSync(join(cwd, 'data/n.txt'), 'here');
    await wfr(['batch', 'w', '--rows', 'data/rows.csv'], { cwd });
    expect(triggered).toEqual([{ note: 'here' }]);
  });

  test('batch: invalid rows are reported at the start with their line and counted, and the other rows run', async () => {
    const { triggered, wfr } = await startBatchService();
    const cwd = folderWith({
      'rows.jsonl': '{"n":1}\n{"n":\n[2]\n{"d":{"$document":"none.pdf"}}\n{"n":5}\n',
    });
    const { exitCode, stderr } = await wfr([...BATCH_ARGS, '--concurrency', '1'], { cwd });
    expect(exitCode).toBe(3);
    const ends = stderr.match(/(?<=Z rows\.jsonl:)\d {2}\w+/g);
    expect(ends).toEqual(['2  invalid', '3  invalid', '4  invalid', '1  finished', '5  finished']);
    expect(triggered).toEqual(expect.arrayContaining([{ n: 1 }, { n: 5 }]));
    expect(triggered).toHaveLength(2);
    expect(stderr).toMatch(/ rows\.jsonl:2 {2}invalid {2}not JSON/);
    expect(stderr).toMatch(/ rows\.jsonl:3 {2}invalid {2}is not a JSON object/);
    expect(stderr).toMatch(/ rows\.jsonl:4 {2}invalid {2}d: none\.pdf: no such file \(ENOENT\)/);
    expect(stderr).toMatch(/5 rows: 2 finished, 3 invalid; took /);
    const command = ['wfr', ...BATCH_ARGS, '--concurrency', '1'].join(' ');
    expect(stderr).toContain(`\nOnce invalid rows are corrected: ${command}\n`);
    expect(readEvents(join(cwd, 'out.jsonl')).filter(({ code }) => code === 'usage')).toHaveLength(3);
  });

  test('batch: invalid rows with one reason are listed with the file that each of them names', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({
      'rows.csv': 'd@,n\nold/a.pdf,1\nb.pdf,2\nhere.pdf,3\n',
      'here.pdf': 'x',
    });
    const rows = ['batch', 'w', '--rows', 'rows.csv', '--results', 'out.jsonl'];
    expect((await wfr(rows, { cwd })).stderr).toContain(
      '\n  2 invalid: d@…: no such file (ENOENT)\n    rows.csv:2 (old/a.pdf), 3 (b.pdf)\n',
    );
    const label = ['--label', 'n'];
    const labeled = await wfr([...rows, '--results', 'new.jsonl', ...label], { cwd });
    expect(labeled.stderr).toContain('\n    rows.csv:2 (1, old/a.pdf), 3 (2, b.pdf)\n');
    writeFileSync(join(cwd, 'b.pdf'), 'x');
    const again = await wfr([...rows, ...label], { cwd });
    expect(again.stderr).toContain(
      '3 rows: 2 finished, 1 invalid; 1 run triggered now; took 4s\n  1 invalid, rows.csv:2 (1): d@old/a.pdf: no such file (ENOENT)\n',
    );
  });

  test('batch: a path with spaces that an invalid row names is listed as a whole', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({
      'rows.csv': 'd@,n@:=\nscans/A May 1.pdf,\nscans/B June 22.pdf,\n,my data.json\n',
    });
    const { stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv'], { cwd });
    expect(stderr).toContain(
      '  2 invalid: d@…: no such file (ENOENT)\n    rows.csv:2 (scans/A May 1.pdf), 3 (scans/B June 22.pdf)\n',
    );
  });

  test('batch: in 40 columns, no line of an invalid row that names a long path is wider than the window', async () => {
    const { wfr } = await startBatchService();
    const rows = [1, 2].map((number) => `a-folder/some-scans-${number}.pdf\n`);
    const cwd = folderWith({ 'rows.csv': `d@\n${rows.join('')}` });
    const { stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv'], { cwd, terminal: 40 });
    expect(stderr).toContain(
      '\n rows.csv:2 (a-folder/some-scans-1.pdf),\n      3 (a-folder/some-scans-2.pdf)\n',
    );
  });

  test('batch: the file that an invalid row names is listed once, and also after the first 20 rows were corrected', async () => {
    const { wfr } = await startBatchService();
    const files = Array.from({ length: 23 }, (_, index) => `f${index + 1}.pdf`);
    const cwd = folderWith({ 'rows.csv': `d@,e@\n${files.map((name) => `${name},${name}\n`).join('')}` });
    const rows = ['batch', 'w', '--rows', 'rows.csv', '--results', 'out.jsonl', '--rate', '0'];
    expect((await wfr(rows, { cwd })).stderr).toContain('rows.csv:2 (f1.pdf), 3 (f2.pdf), 4 (f3.pdf), ');
    for (const name of files.slice(0, 21)) writeFileSync(join(cwd, name), 'x');
    expect((await wfr(rows, { cwd })).stderr).toContain('\n    rows.csv:23 (f22.pdf), 24 (f23.pdf)\n');
    writeFileSync(join(cwd, 'f22.pdf'), 'x');
    expect((await wfr(rows, { cwd })).stderr).toContain(
      '\n  1 invalid, rows.csv:24: d@f23.pdf: no such file (ENOENT); e@f23.pdf: no such file (ENOENT)\n',
    );
  });

  test('batch --each: a folder, a pattern, a file that is gone and a parameter may have a = in their names', async () => {
    const { wfr, triggered } = await startBatchService();
    const cwd = folderWith({ 'year=24/a.pdf': 'A', 'year=24/b.pdf': 'B', 'n=1.pdf': 'C' });
    const each = (...files: string[]) =>
      wfr(['batch', 'w', '--each', 'a=b', ...files, '--results', 'out.jsonl', '--rate', '0'], { cwd });
    expect((await each('year=24', 'n=1.pdf')).exitCode).toBe(0);
    expect((await each('year=24/*.pdf', 'n=*')).exitCode).toBe(0);
    rmSync(join(cwd, 'n=1.pdf'));
    expect((await each('year=24/a.pdf', 'n=1.pdf')).stderr).toContain('2 rows: ');
    expect(triggered).toHaveLength(3);
  });

  test('batch --each: files that are invalid for one reason are named once', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'a.weird': 'A', 'b.weird': 'B' });
    const { stderr } = await wfr(['batch', 'w', '--each', 'd', 'a.weird', 'b.weird'], { cwd });
    expect(stderr).toMatch(/\n {2}2 invalid: .*\n {4}a\.weird, b\.weird\n/);
  });

  test('batch: of rows with reasons beyond the limit of groups, only the files are listed', async () => {
    const { wfr } = await startBatchService();
    const names = Array.from({ length: 1_002 }, (_, index) => String.fromCodePoint(0x4e00 + index));
    const cwd = folderWith({
      'rows.jsonl': names
        .map((name) => `${JSON.stringify({ [name]: { $document: `${name}.pdf` } })}\n`)
        .join(''),
    });
    const { stderr } = await wfr([...BATCH_ARGS, '-q', '--concurrency', '1'], { cwd });
    expect(stderr).toContain(
      '3 invalid: other reasons\n    rows.jsonl:1000 (凧.pdf), 1001 (凨.pdf), 1002 (凩.pdf)\n',
    );
  });

  test('batch: rows with one reason are listed alone where they differ in numbers, or the service says in what', async () => {
    let posts = 0;
    const { wfr } = await startBatchService((_, reply) =>
      reply.send(422, { message: `cannot read ${posts++ === 0 ? 'a.pdf' : 'b.pdf'}` }),
    );
    const cwd = folderWith({ 'rows.csv': 'n:=\n1x\n12x\n3\n4\n' });
    expect((await wfr(['batch', 'w', '--rows', 'rows.csv'], { cwd })).stderr).toMatch(
      /\n {2}2 rejected \(422\): cannot read …\n {4}rows\.csv:4, 5\n {2}2 invalid: n:=….*\n {4}rows\.csv:2 \(1x\), 3 \(12x\)\n/,
    );
  });

  test('batch --check: of a table with more mistakes, the first 10,000 are listed and the others counted', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({
      'rows.csv': `amount:=\n${Array.from({ length: 10_002 }, (_, row) => `x${row}\n`).join('')}`,
    });
    const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv', '--check'], { cwd });
    expect({ exitCode, listed: stderr.match(/rows\.csv:\d+: /g)?.length }).toEqual({
      exitCode: 2,
      listed: 10_000,
    });
    expect(stderr).toContain('and 2 more');
  });

  test('batch --check: every row is checked, and nothing is sent or written', async () => {
    const { requests, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.csv': 'a,b:=\n1,x\n2,2,3\n3,4\n' });
    const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv', '--check'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('wfr: error: 2 problems\n  rows.csv:2: b:=x: ');
    expect(stderr).toContain('  rows.csv:3: has 3 cells, but the header has 2; quote cells that contain ","');
    writeFileSync(join(cwd, 'rows.csv'), 'a,b:=\n1,2\n');
    const right = await wfr(['batch', 'w', '--rows', 'rows.csv', '--check'], { cwd });
    expect(right).toMatchObject({
      exitCode: 0,
      stdout: '1 row valid; nothing sent; no declared parameters to check: wfr help config\n',
    });
    expect(requests).toEqual([]);
  });

  test.each([
    ['x=y,b\n', 'rows.csv:1: x=y: has text after "="; name the column x='],
    ['x@=;type=a/b,b\n', 'rows.csv:1: x@=;type=a/b: has text after "@="; name the column x@='],
    ['x@;type=pdf,b\n', 'rows.csv:1: x@;type=pdf: "pdf" is not a media type'],
    ['x@y;type=a/b,b\n', 'rows.csv:1: x@y;type=a/b: has text after "@"; name the column x@'],
    ['a@;type=\n', 'rows.csv:1: a@;type=: "" is not a media type'],
    ['a,=\n', 'the column has no name'],
    ['a,b,a:=\n', 'has two columns for "a"'],
    ['a\n"x\n', 'is not CSV'],
  ])('batch: the invalid table %j exits 2', async (text, message) => {
    const { requests, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.csv': text });
    const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv', '--results', 'o'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
    expect(requests).toEqual([]);
  });

  test('batch: a header gives the media type of its column, and a cell cannot', async () => {
    const { triggered, requests, wfr } = await startBatchService();
    const cwd = folderWith({
      'typed.csv': 'scan@;type=application/pdf;charset=utf-8\ns\n',
      s: '%PDF',
      'cell.csv': 'scan@\ns;type=a/b\n',
    });
    expect((await wfr(['batch', 'w', '--rows', 'typed.csv'], { cwd })).exitCode).toBe(0);
    expect(triggered).toEqual([{ scan: 'data:application/pdf;charset=utf-8;base64,JVBERg==' }]);
    const sent = requests.length;
    const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'cell.csv', '--check'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('cell.csv:2: scan@s;type=a/b: no such file (ENOENT)');
    expect(requests.length).toBe(sent);
  });

  test('batch: a cell whose file name implies no media type is rejected, and the header shows the fix', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.csv': 'scan@,b\ns,1\n', s: '%PDF' });
    const { stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv', '--check'], { cwd });
    expect(stderr).toContain(
      "rows.csv:2: scan@s: the file name does not imply a media type; add ';type=type/subtype', in a table to the column's name",
    );
  });

  test('batch: cells that begin with a separator are sent as they are, without a warning', async () => {
    const { triggered, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.csv': 'note\n@note.txt\n', 'note.txt': 'secret' });
    const { stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv'], { cwd });
    expect(triggered).toEqual([{ note: '@note.txt' }]);
    expect(stderr).not.toContain('warning');
  });

  test('batch: an input of all rows that names a file as a value is warned about once', async () => {
    const { triggered, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(3), 'note.txt': 'secret' });
    const { stderr } = await wfr([...BATCH_ARGS, '-i', 'note=@note.txt'], { cwd });
    expect(triggered[0]).toMatchObject({ note: '@note.txt' });
    expect(stderr.match(/write note@note\.txt, or note@=note\.txt for its text\n/g)).toHaveLength(1);
  });

  test.each([
    [422, 'inputs.invoice: must be a document; customer: is unknown', ['invoice']],
    [400, 'invoice and copy must be documents', ['invoice']],
    [422, 'inputs: must be documents', []],
    [404, 'no workflow for invoice', []],
  ])(
    'batch: a rejection (%i: %s) tells once how columns that may name files are named',
    async (status, message, names) => {
      const { wfr } = await startBatchService((_request, reply) => reply.send(status, { message }));
      const cwd = folderWith({
        'rows.csv': `invoice,copy@,note,customer\n${'scan.pdf,scan.pdf,note.txt,ACME Inc.\n'.repeat(2)}`,
        'scan.pdf': '%PDF-1.7',
      });
      const { stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv', '--workflow-id-field', 'both'], {
        cwd,
      });
      expect(stderr).toMatch(/[12] rejected/);
      const advice = names.map((name) => `If column ${name} names files, name it ${name}@ to send them.`);
      expect(stderr.match(/^If column.*$/gm) ?? []).toEqual(advice);
    },
  );

  test('batch: a rejection that names a column of numbers tells how it is named', async () => {
    const message = 'inputs.n: must be a number; inputs.zip: is unknown';
    const { wfr } = await startBatchService((_request, reply) => reply.send(422, { message }));
    const cwd = folderWith({ 'rows.csv': 'n,zip,m\n12.50,012,7\n-3,013,8\n' });
    const { stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv'], { cwd });
    expect(stderr.match(/^If column.*$/gm)).toEqual(['If column n has numbers, name it n:= to send them.']);
  });

  test('batch --fail-fast: an invalid row stops the batch, and the block says how to go on', async () => {
    const { triggered, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': '{"n":1}\n{"d":{"$document":"none.pdf"}}\n{"n":3}\n' });
    const { stderr } = await wfr([...BATCH_ARGS, '--fail-fast', '--concurrency', '1'], { cwd });
    expect(stderr).toContain(
      'A row did not finish, and --fail-fast is set: no further rows were sent.\nCorrect it, or omit --fail-fast.\nTo continue, also with corrected invalid rows: wfr batch w --rows rows.jsonl --results out.jsonl --rate 0 --fail-fast --concurrency 1\n',
    );
    expect(triggered).toEqual([]);
  });

  test('batch --fail-fast: no row is sent after the first failure', async () => {
    const { posts, wfr } = await startBatchService((_request, reply) => reply.send(422, { message: 'no' }));
    const cwd = folderWith({ 'rows.jsonl': numberedRows(10) });
    const flags = ['--fail-fast', '--concurrency', '1', '--workflow-id-field', 'workflowId'];
    const { exitCode, stderr } = await wfr([...BATCH_ARGS, ...flags], { cwd });
    expect(posts()).toHaveLength(1);
    expect(exitCode).toBe(5);
    expect(stderr).toContain('--fail-fast is set: no further rows were sent.');
  });
});

describe('batch: the command line', () => {
  test.each(['--retry-failed', '--resend-unknown'])(
    'batch %s: a first command that names a row of it exits 2, and leaves no results file',
    async (flag) => {
      const { requests, wfr } = await startBatchService();
      const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
      expect(await wfr(['batch', 'w', '--rows', 'rows.jsonl', flag, '9'], { cwd })).toMatchObject({
        exitCode: 2,
        stderr: `wfr: error: ${flag}: no row 9 is recorded\n`,
      });
      expect(requests).toEqual([]);
      expect(readdirSync(cwd)).toEqual(['rows.jsonl']);
    },
  );

  test('batch: all mistakes on the command line are reported together, and nothing is sent', async () => {
    const { requests, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const bad = ['--concurrency', '0', '--rate', 'x', '--shard', '3/2', '-i', 'bad'];
    const { stderr, exitCode } = await wfr(['batch', 'w', ...bad], { cwd });
    expect(exitCode).toBe(2);
    for (const message of [
      '--concurrency 0: expected a whole number',
      '--rate x: expected requests per second',
      '--shard 3/2: expected INDEX/COUNT',
      'bad: has no value',
      'wfr batch requires rows: --rows <file>, or --each <parameter> and files',
    ]) {
      expect(stderr).toContain(message);
    }
    for (const [args, message] of [
      [['--rows', 'none.csv'], '--rows none.csv: no such file'],
      [[], '--each <parameter> and files\n  See: wfr help batch\n'],
      [['rows.jsonl'], 'wfr batch requires rows: --rows rows.jsonl reads this table\n'],
      [['--each', 'd'], '--each d: requires files'],
      [['my scans'], "wfr batch requires rows: --rows <file>, or --each <parameter> 'my scans'\n"],
      [['--each', 'd@', 'x.pdf'], '--each "d@": expected the name of an input'],
      [['--each', 'd;type=text/plain', 'x.pdf'], '; only a column of --rows can have a media type'],
      [
        ['--each', 'd', 'rows.jsonl', 'to=A B'],
        "to=A B: no such file; for an input of all rows, write -i 'to=A B'\n",
      ],
      [['--rows', 'rows.jsonl', 'n:=1'], 'n:=1: no such file; for an input of all rows, write -i n:=1\n'],
      [['--rows', 'rows.jsonl', 'x.pdf'], 'x.pdf: files require --each'],
      [['--rows', 'rows.jsonl', '--results', '-', '--report', 'json=r.json'], '--report requires --results'],
      [['--rows', '-', '--token-file', '-'], '--rows -: --token-file - already reads standard input'],
    ] as const) {
      const result = await wfr(['batch', 'w', ...args], { cwd });
      expect([args, result.exitCode]).toEqual([args, 2]);
      expect(result.stderr).toContain(message);
    }
    expect(requests).toEqual([]);
  });

  test.each([
    ['invoice.pdf', 'a PDF', readFileSync(join(ROOT, 'examples/invoice.pdf'))],
    ['rows.csv', 'a PDF', '\ufeff\n%PDF-2.0\r1,2\r'],
    ['rows.xlsx', 'a workbook or ZIP file', 'PK\u0003\u0004\u0014\u0000\n\u0000'],
    ['rows.csv', 'a workbook or ZIP file', 'PK\u0003\u0004'],
    ['rows.json', 'one JSON value', JSON.stringify({ n: 1, to: 'EU' }, null, 2)],
    ['rows', 'one JSON value', JSON.stringify([{ n: 1 }, { n: 2 }], null, '\t').replaceAll('\n', '\r\n')],
  ])(
    'batch: the table %s that is %s exits 2 with one error, sends nothing and writes no file',
    async (name, kind, content) => {
      const { requests, wfr } = await startBatchService();
      const cwd = folderWith({ [name]: content });
      const env = { XDG_STATE_HOME: join(cwd, 'state') };
      for (const flags of [[], ['--check']]) {
        const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', name, ...flags], { cwd, env });
        expect(stderr).toBe(`wfr: error: ${name}: is ${kind}, not JSON Lines or CSV\n`);
        expect(exitCode).toBe(2);
      }
      expect(requests).toEqual([]);
      expect(readdirSync(cwd)).toEqual([name]);
    },
  );

  test('batch: --results - writes the events to stdout', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const { stdout } = await wfr(['batch', 'w', '--rows', 'rows.jsonl', '--results', '-'], { cwd });
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as BatchEvent).event);
    expect(events.filter((event) => event === 'ended')).toHaveLength(2);
  });
});

test('batch --results -: events of concurrent rows are whole lines in the order of each row, however slowly stdout is read', async () => {
  const large = { text: 'x'.repeat(300_000) };
  const { wfr } = await startBatchService(undefined, (request, reply) =>
    reply.send(200, { ...aFinishedRun(large), id: request.path.split('/').at(-1) }),
  );
  const cwd = folderWith({ 'rows.jsonl': numberedRows(6) });
  let text = '';
  const stdout = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _encoding, callback) {
      text += chunk.toString('utf8');
      setImmediate(callback);
    },
  });
  const args = ['batch', 'w', '--rows', 'rows.jsonl', '--results', '-', '--rate', '0'];
  expect((await wfr(args, { cwd, stdout })).exitCode).toBe(0);
  const events = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as BatchEvent);
  for (const number of [1, 2, 3, 4, 5, 6]) {
    const ofRow = events.filter(({ row }) => row === number).map(({ event }) => event);
    expect(ofRow).toEqual(['recorded', ...FINISHED_ROW]);
  }
});

describe('batch: shards', () => {
  test('batch --shard: each shard takes every n-th row, and results joins them and finds missing and duplicate rows', async () => {
    const { triggered, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(7) });
    const shard = (n: number) =>
      wfr(
        [
          'batch',
          'w',
          '--rows',
          'rows.jsonl',
          '--results',
          `s${n}.jsonl`,
          '--shard',
          `${n}/3`,
          '--rate',
          '0',
        ],
        { cwd },
      );
    // Its outputs alone cannot be saved.
    expect((await shard(1)).stderr).not.toContain('To save');
    await shard(2);
    const missing = await wfr(['results', 's1.jsonl', 's2.jsonl'], { cwd });
    expect(missing.exitCode).toBe(2);
    expect(missing.stderr).toContain(
      '2 of 7 rows are missing: no file of shard 3/3; name those of all shards\n',
    );
    await shard(3);
    expect(triggered.map((inputs) => (inputs as { n: number }).n).sort()).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const joined = await wfr(['results', 's1.jsonl', 's2.jsonl', 's3.jsonl', '--report', 'json=r.json'], {
      cwd,
    });
    expect(joined).toMatchObject({ exitCode: 0, stderr: '' });
    expect(joined.stdout).toMatch(
      /^7 rows: 7 finished\nBegan \d{4}-\d\d-\d\d [\d:]{8} UTC, last change \S+ later\n\nReport: json=r\.json\nTo list the outputs: /,
    );
    expect(JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8')).runs).toHaveLength(7);
    copyFileSync(join(cwd, 's3.jsonl'), join(cwd, 's4.jsonl'));
    const double = await wfr(['results', 's1.jsonl', 's2.jsonl', 's3.jsonl', 's4.jsonl'], { cwd });
    expect(double.exitCode).toBe(2);
    expect(double.stderr).toContain(
      'rows such as 3 are in both s3.jsonl and s4.jsonl; only shards of one batch are joined\n',
    );
    expect((await wfr(['results', 'none.jsonl'], { cwd })).exitCode).toBe(2);
  });
});

describe('batch: progress, summary and reports', () => {
  test('batch: a pipe gets a line for each row that ends and the summary, and reports have every row', async () => {
    const { env, clock } = await startTestSandbox();
    const cwd = folderWith({ 'rows.jsonl': '{"customer":"a"}\n{"customer":"b"}\n' });
    const reports = ['junit=r.xml', 'markdown=r.md', 'json=r.json'].flatMap((report) => ['--report', report]);
    const args = ['batch', FAILING, '--rows', 'rows.jsonl', '--results', 'o.jsonl', ...reports];
    const { exitCode, stderr } = await runCli(args, { env, clock, cwd });
    expect(exitCode).toBe(1);
    expect(
      stderr.split('\n').filter((line) => /Z rows\.jsonl:[12] {2}failed {2}\S+ {2}Check credit: /.test(line)),
    ).toHaveLength(2);
    expect(stderr).toMatch(/2 rows: 2 failed; took \S+\n {2}2 failed at step Check credit: /);
    const report = (name: string) => readFileSync(join(cwd, name), 'utf8');
    const { runs } = JSON.parse(report('r.json'));
    expect(runs).toMatchObject([
      { row: 1, label: 'rows.jsonl:1' },
      { row: 2, label: 'rows.jsonl:2' },
    ]);
    // A test case is named after its row, so that its name is stable between runs.
    expect(report('r.xml').match(/<testcase name="rows.jsonl:[12]"/g)).toHaveLength(2);
    expect(report('r.xml')).toMatch(new RegExp(`<failure [^<]*\nrun ${runs[0].id}</failure>`));
    expect(report('r.md')).toContain(`| rows.jsonl&#58;2<br>${runs[1].id} |`);
  });

  test('batch: a table without rows is reported, and CSV without a header exits 2', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'empty.csv': '', 'head.csv': 'n\n' });
    const batch = (rows: string) =>
      wfr(['batch', 'w', '--rows', rows, '--results', `${rows}.jsonl`], { cwd });
    const empty = await batch('empty.csv');
    expect(empty.exitCode).toBe(2);
    expect(empty.stderr).toContain('empty.csv: is empty; CSV must begin with a header');
    expect(await batch('head.csv')).toMatchObject({ exitCode: 0, stderr: '0 rows: the table is empty\n' });
  });

  test('batch --each: rows are labelled with the names of their files', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'a.pdf': 'a', 'b.pdf': 'b' });
    const args = [...EACH_SCAN, 'a.pdf', 'b.pdf', '--results', 'o.jsonl', '--report', 'json=r.json'];
    expect((await wfr(args, { cwd })).exitCode).toBe(0);
    const { runs } = JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8'));
    expect(runs).toMatchObject([{ label: 'a.pdf' }, { label: 'b.pdf' }]);
  });

  test('batch: messages of the service are sanitized, and a retried request gets no line', async () => {
    let count = 0;
    const { wfr } = await startBatchService((_request, reply) => {
      if (count++ === 0) return reply.send(429, {}, { 'retry-after': '1' });
      reply.send(422, { message: 'no\n::error::forged \u001b[2J ##[command]x' });
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const { stderr } = await wfr([...BATCH_ARGS, '--workflow-id-field', 'workflowId'], { cwd });
    expect(stderr).toContain('rows.jsonl:1  rejected  422: no; ');
    expect(stderr).not.toMatch(/^\s*::|\u001b|##\[|retrying in/m);
  });

  test('batch: a terminal gets one live line with the counts, and no line for each row', async () => {
    const { env, clock } = await startTestSandbox();
    const cwd = folderWith({ 'rows.jsonl': '{"label":"a"}\n{"label":"b"}\n{"label":"c"}\n' });
    const args = ['batch', SLOW, '--rows', 'rows.jsonl', '--results', 'o.jsonl', '--concurrency', '2'];
    const terminal = { terminal: 90, env: { ...env, TERM: 'xterm', NO_COLOR: '1' } };
    const { exitCode, stderr } = await runCli(args, { ...terminal, clock, cwd });
    expect(exitCode).toBe(0);
    const shown = stripVTControlCharacters(stderr);
    expect(shown).toMatch(/[\u2800-\u28ff] ░{12} {2}0\/3 {2}\d+s\n {2}2 running, 1 waiting/);
    expect(shown).toMatch(
      /█{8}░{4} {2}2\/3 {2}[\dms ]+ {2}[\d.]+\/min\n {2}2 finished\n {2}1 running: line \d/,
    );
    // A request in flight is not unknown.
    expect(stderr).not.toContain('unknown');
    expect(stderr).not.toContain('rows.jsonl:1');
  });

  test('batch: without a terminal, a minute without a change prints one line with the counts', async () => {
    const { env, clock } = await startTestSandbox({ slow: 5 });
    const cwd = folderWith({ 'rows.jsonl': '{"label":"a"}\n{"label":"b"}\n' });
    const args = ['batch', SLOW, '--rows', 'rows.jsonl', '--results', 'o.jsonl', '--concurrency', '1'];
    const { stderr } = await runCli(args, { env, clock, cwd });
    expect(stderr).toMatch(/^\S+Z 0\/2 {2}1m {2}1 running, 1 waiting$/m);
  });

  test('batch: the rate counts runs, and no invalid rows', async () => {
    const { env, clock } = await startTestSandbox();
    const cwd = folderWith({ 'rows.csv': `label:=\n${'x\n'.repeat(5)}"""a"""\n"""b"""\n` });
    const args = ['batch', SLOW, '--rows', 'rows.csv', '--results', 'o.jsonl', '--concurrency', '1'];
    const terminal = { terminal: 90, env: { ...env, TERM: 'xterm', NO_COLOR: '1' } };
    const { stderr } = await runCli(args, { ...terminal, clock, cwd });
    expect(stripVTControlCharacters(stderr)).toMatch(
      /6\/7 {2}[\dms ]+\n {2}1 finished, 5 invalid\n {2}1 running: line \d/,
    );
    expect(stderr).not.toContain('/min');
  });
});

describe('batch: the progress of rows that did not succeed', () => {
  test.each<[outcome: string, handler: Handler]>([
    ['rejected', (_request, reply) => reply.send(422, { message: 'no' })],
    ['rejected', (_request, reply) => reply.send(401)],
    ['unknown', (_request, reply) => reply.reset()],
    [
      'failed',
      (_request, reply) => reply.send(201, aRun({ id: 'run-1', status: 'FAILED', error: { message: 'no' } })),
    ],
  ])('batch: the live line counts a row that is %s', async (outcome, handler) => {
    const { wfr } = await startBatchService(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      if (inputs.n === 1) return handler(request, reply);
      reply.send(201, aRun({ id: 'run-2', status: 'PENDING' }));
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const args = [...BATCH_ARGS, '--concurrency', '1', '--keep-going', '--workflow-id-field', 'workflowId'];
    const { stderr } = await wfr(args, { cwd, terminal: 120, env: { TERM: 'xterm', NO_COLOR: '1' } });
    expect(stripVTControlCharacters(stderr)).toMatch(
      new RegExp(`1/2  \\d+s\n  1 ${outcome}(, 1 waiting|\\n  1 running)`),
    );
  });
});

describe('batch: the progress of a command that continues another', () => {
  test('batch: rows that an earlier command rejected count as problems, and those that it could not send as waiting', async () => {
    let isFirst = true;
    const { wfr } = await startBatchService(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      if (inputs.n === 1) return reply.send(422, { message: 'no' });
      if (isFirst) return reply.send(401);
      reply.send(201, aRun({ id: `run-${inputs.n}`, status: 'PENDING' }));
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(3) });
    const args = [...BATCH_ARGS, '--concurrency', '1', '--workflow-id-field', 'workflowId'];
    await wfr(args, { cwd });
    isFirst = false;
    const { stderr } = await wfr(args, { cwd, terminal: 90, env: { TERM: 'xterm', NO_COLOR: '1' } });
    expect(stripVTControlCharacters(stderr)).toMatch(
      / {2}1\/3 {2}\d+s\n {2}1 rejected, 1 running, 1 waiting/,
    );
    expect(stderr).not.toContain('unauthorized');
    expect(stderr).toContain('3 rows: 2 finished, 1 rejected; ');
  });
});

describe('batch: stopping', () => {
  /** Runs a batch of 50 rows, one at a time, whose triggers all get the same response. */
  async function runRejected(status: number, ...flags: string[]) {
    const service = await startBatchService((_request, reply) => reply.send(status, { message: 'no' }));
    const cwd = folderWith({ 'rows.jsonl': numberedRows(50) });
    const args = [...BATCH_ARGS, '--concurrency', '1', '--workflow-id-field', 'workflowId', ...flags];
    return { ...(await service.wfr(args, { cwd })), posts: service.posts().length, cwd, wfr: service.wfr };
  }

  test.each([
    [404, 1, 5, 'The service does not know the workflow or the address'],
    [401, 1, 4, 'The service rejected the token'],
    [422, 11, 5, 'The service rejected 11 consecutive rows with 422, and --keep-going is not set'],
  ])(
    'batch: rejections with %i stop the batch after %i rows, and the summary says how many wait',
    async (status, rows, code, reason) => {
      const { exitCode, stderr, posts, cwd, wfr } = await runRejected(status);
      expect({ exitCode, posts }).toEqual({ exitCode: code, posts: rows });
      expect(stderr).toContain(`\n${reason}: no further rows were sent.\n`);
      expect(stderr).toMatch(new RegExp(`^50 rows: ${rows} \\w+, ${50 - rows} waiting; took `, 'm'));
      const next = {
        // No row can be corrected.
        404: ['Once the service knows the workflow: wfr batch .* --retry-failed'],
        401: ['To continue with a valid token: wfr batch .*'],
        422: ['To continue, also with corrected rejected rows: wfr batch .*'],
      }[status];
      const commands = stderr.split('\n').filter((line) => /: wfr batch /.test(line));
      expect(commands).toEqual(next?.map((line) => expect.stringMatching(`^${line}$`)));
      const { stdout } = await wfr(['results', 'out.jsonl'], { cwd });
      expect(stdout).toMatch(new RegExp(`^50 rows: ${rows} \\w+, ${50 - rows} waiting\\nBegan 20.*$`, 'm'));
      // The reader of the results did not see why the batch stopped.
      if (status === 401) expect(stdout).toContain('\nTo continue with a valid token, run the wfr batch');
    },
  );

  test('batch: a rejection of the last row keeps none from being sent, and the advice on the token stays', async () => {
    for (const [status, advice] of [
      [401, 'Replace it with a valid token.'],
      [404, ''],
    ] as const) {
      const service = await startBatchService((_request, reply) => reply.send(status, { message: 'no' }));
      const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
      const env = { WFR_TOKEN: 'secret-token' };
      const { stderr } = await service.wfr(BATCH_ARGS, { cwd, env });
      expect(stderr).toContain(advice);
      expect(stderr).not.toMatch(/no further rows|--keep-going/);
    }
  });

  test.each([404, 401, 422])(
    'batch --keep-going: rejections with %i do not stop the batch',
    async (status) => {
      const { posts, stderr } = await runRejected(status, '--keep-going');
      expect(posts).toBe(50);
      expect(stderr).not.toContain('no further rows');
    },
  );

  test('batch: an accepted row, or another status, starts the count of equal rejections again', async () => {
    let count = 0;
    const { posts, wfr } = await startBatchService((_request, reply) => {
      count++;
      if (count === 11) return reply.send(201, aFinishedRun());
      reply.send(count === 22 ? 400 : 422, { message: 'no' });
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(32) });
    await wfr([...BATCH_ARGS, '--concurrency', '1', '--workflow-id-field', 'workflowId'], { cwd });
    expect(posts()).toHaveLength(32);
  });

  test('batch: rows in progress when the batch stops are not sent', async () => {
    const { posts, stderr } = await runRejected(401, '--concurrency', '8', '--fail-fast');
    expect(posts).toBeLessThanOrEqual(8);
    expect(stderr).toMatch(/^50 rows: \d rejected, 4\d waiting; took /m);
  });

  test('batch: --fail-fast and --keep-going exclude each other', async () => {
    const { exitCode, stderr, posts } = await runRejected(422, '--keep-going', '--fail-fast');
    expect({ exitCode, posts }).toEqual({ exitCode: 2, posts: 0 });
    expect(stderr).toContain('--fail-fast and --keep-going exclude each other');
  });
});

describe('batch: the closing block', () => {
  const ROWS = 'n\n1\n2\n3\n4\n5\n6\n';

  /** Runs a batch whose rows end in several ways. */
  async function runMixed(options: CliOptions = {}, flags: readonly string[] = []) {
    const { wfr } = await startBatchService(async (request, reply) => {
      const { n } = JSON.parse((await request.body()).toString()).inputs;
      if (n === '1') return reply.send(201, aFinishedRun());
      if (n === '2') return void reply.socket.destroy();
      if (n === '3') return reply.send(400, { message: 'amount 17 is too low' });
      if (n === '4') return reply.send(400, { message: 'amount 3 is too low' });
      const error = { step: 'Check credit', message: `Customer ${n} has no credit` };
      reply.send(201, aRun({ id: `run-${n}`, status: 'FAILED', error }));
    });
    const cwd = folderWith({ 'rows.csv': ROWS });
    const args = ['batch', 'w', '--rows', 'rows.csv', '--results', 'out.jsonl', '--rate', '0'];
    return wfr([...args, '--concurrency', '1', '--workflow-id-field', 'workflowId', ...flags], {
      cwd,
      ...options,
    });
  }

  test('batch: the closing block groups the reasons with their rows, and names the commands that continue', async () => {
    const { stderr } = await runMixed();
    expect(stderr).toContain(`6 rows: 1 finished, 2 failed, 2 rejected, 1 unknown; took 0ms
  2 failed at step Check credit: Customer … has no credit
    rows.csv:6, 7
  2 rejected (400): amount … is too low
    rows.csv:4, 5
  1 unknown, rows.csv:3: the connection to 127.0.0.1:`);
    const command =
      'wfr batch w --rows rows.csv --results out.jsonl --rate 0 --concurrency 1 --workflow-id-field workflowId';
    expect(stderr).toContain(`

For each unknown row, check in the service whether its run exists.
To continue with a run that exists: ${command} --adopt 3=<id>
To send rows again that have none: ${command} --resend-unknown 3
Once failed and rejected rows are corrected: ${command} --send-changed
To run failed and rejected rows again as they are, use --retry-failed instead.
To save the outputs: wfr results out.jsonl --rows rows.csv -o csv --excel > out.results.csv
`);
  });

  test('batch --results - in a pipe: no live line erases what the next program prints', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const args = ['batch', 'w', '--rows', 'rows.jsonl', '--results', '-'];
    const { stderr } = await wfr(args, { cwd, terminal: 80, env: { TERM: 'xterm' } });
    expect(stderr).toMatch(/^20.*Z rows\.jsonl:\d {2}finished {2}run-\d\n/);
    expect(stderr).not.toContain('\u001b[?2026h');
  });

  test('batch: a reason in wide characters is wrapped to the columns that they take', async () => {
    const message = `${'合計が 一致 '.repeat(6)}end`;
    const { wfr } = await startBatchService(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      if (inputs.n < 3) return reply.send(422, { message });
      reply.send(201, aRun({ id: 'run-3', status: 'PENDING' }));
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(3) });
    const env = { TERM: 'xterm', NO_COLOR: '1' };
    const { stderr } = await wfr([...BATCH_ARGS, '--concurrency', '1'], { cwd, terminal: 40, env });
    const frame = stripVTControlCharacters(stderr.slice(0, stderr.indexOf('3 rows: ')))
      .split('⠋')
      .at(-1);
    expect(frame?.replace(/\s+/g, ' ')).toContain(`2 rejected (422), such as line 1: ${message}`);
    const { default: stringWidth } = await import('string-width');
    const block = stderr.slice(stderr.lastIndexOf('3 rows: ')).split('\n');
    expect(block.join(' ').replace(/ +/g, ' ')).toContain(message);
    for (const line of block.filter((text) => text.includes('合計')))
      expect(stringWidth(line)).toBeLessThanOrEqual(40);
  });

  test.each([120, 80, 40])(
    'batch: in %i columns, the five most frequent reasons of problems are below the live line, and the closing block has all rows',
    async (columns) => {
      const { wfr } = await startBatchService(async (request, reply) => {
        const { inputs } = JSON.parse((await request.body()).toString());
        const message = `${'abcdefb'[inputs.n - 1]}: ${'no '.repeat(90)}`;
        if (inputs.n < 8) return reply.send(422, { message });
        reply.send(201, aRun({ id: 'run-8', status: 'PENDING' }));
      });
      const cwd = folderWith({ 'rows.jsonl': numberedRows(8) });
      const env = { TERM: 'xterm', WFR_HISTORY: '0' };
      const args = [...BATCH_ARGS, '--workflow-id-field', 'workflowId', '--concurrency', '1'];
      const { stderr } = await wfr(args, { cwd, terminal: columns, terminalRows: 30, env });
      const lines = [...stderr.matchAll(/\u001b\[\?7l(.*?)\u001b\[\?7h/g)].map(([, line = '']) => line);
      const shown = lines.map((line) => stripVTControlCharacters(line));
      expect(shown.filter((line) => line.length > columns - 3)).toEqual([]);
      const last = shown.slice(shown.findLastIndex((line) => line.includes('7/8')) + 1);
      expect(last.splice(0, 2)).toEqual(['7 rejected', '1 running: line 8']);
      const reasons = [1, 3, 4, 5].map(
        (line) => `1 rejected \\(422\\), line ${line}: ${' abcdef'[line]}:(?: no)+ …`,
      );
      reasons.unshift(`2 rejected \\(422\\), such as line 2: b:(?: no)+ …`);
      reasons.push('1 more reason');
      expect(last.pop()).toBe('Ctrl-C ends the batch, not its runs');
      expect(last.map((line) => line.trim()).join(' ')).toMatch(new RegExp(`^${reasons.join(' ')}$`));
      expect(lines.join()).toContain('\u001b[33m2 rejected\u001b[39m (422), such as line 2');
      const block = stripVTControlCharacters(stderr.slice(stderr.lastIndexOf('8 rows: ')))
        .trimEnd()
        .split('\n');
      expect(block.join(' ')).toMatch(/^8 rows: 1 finished, 7 rejected; {1,3}took/);
      expect(block.filter((line) => line.includes('rows.jsonl:2, 7'))).toHaveLength(1);
      // A command is one line, so that it can be copied.
      expect(block.filter((line) => line.length > columns && !line.startsWith('  wfr '))).toEqual([]);
    },
  );

  test('batch: a message of 60,000 characters is cut in the live lines without delaying the batch', async () => {
    const message = 'Too low. '.repeat(7_000).slice(0, 60_000);
    const { wfr } = await startBatchService(async (request, reply) => {
      const { n } = JSON.parse((await request.body()).toString()).inputs;
      if (n < 3) return reply.send(422, { message });
      reply.send(201, aRun({ id: 'run-3', status: 'PENDING' }));
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(3) });
    const args = [...BATCH_ARGS, '--concurrency', '1', '--workflow-id-field', 'workflowId'];
    const { stderr } = await wfr(args, { cwd, terminal: 80, env: { TERM: 'xterm', NO_COLOR: '1' } });
    expect(stderr).toMatch(/2 rejected \(422\), such as line 1: Too low\. Too low\./);
    expect(stderr).toContain('3 rows: 1 finished, 2 rejected; ');
  });

  test('batch: the reason of a failed run is shown before those of more rejected rows', async () => {
    const error = { step: 'Check', message: 'too low' };
    const { wfr } = await startBatchService(async (request, reply) => {
      const { n } = JSON.parse((await request.body()).toString()).inputs;
      if (n < 7) return reply.send(422, { message: 'abcdef'[n - 1] });
      reply.send(201, aRun(n === 7 ? { id: 'run-7', status: 'FAILED', error } : { id: 'run-8' }));
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(8) });
    const env = { TERM: 'xterm', NO_COLOR: '1' };
    const flags = ['--concurrency', '1', '--workflow-id-field', 'workflowId'];
    const { stderr } = await wfr([...BATCH_ARGS, ...flags], { cwd, terminal: 80, env });
    const last = stderr.slice(stderr.lastIndexOf('7/8'));
    expect(last).toMatch(
      /7\/8.*\n.*6 rejected.*\n.*1 running: line 8.*\n.*1 failed at step Check, line 7: too low/,
    );
    expect(last).toContain('2 more reasons');
  });

  test.each([
    {
      flags: [],
      shown: ['2 failed at step Check, such as line 1: …', '3 failed at step Check, such as line 1: …'],
    },
    {
      flags: ['--retry-failed'],
      shown: [
        '1 failed at step Check, line 1: 1',
        '2 failed at step Check, such as line 1: 1',
        '3 failed at step Check, such as line 1: 1',
      ],
    },
    {
      flags: ['--retry-failed', '1'],
      shown: [
        '1 failed at step Check, line 2: …',
        '2 failed at step Check, such as line 2: …',
        '3 failed at step Check, such as line 2: …',
      ],
    },
  ])(
    'batch $flags: the reasons below the live line include those of rows that it leaves as they are',
    async ({ flags, shown }) => {
      // They are one reason, whatever its numbers are.
      const errorOf = (id: string) => ({ step: 'Check', message: `${id.slice('run-'.length)} is too low` });
      const { wfr } = await startBatchService(
        async (request, reply) => {
          const { inputs } = JSON.parse((await request.body()).toString());
          reply.send(201, aRun({ id: `run-${inputs.n}`, status: 'PENDING' }));
        },
        (request, reply) => {
          const id = request.path.slice('/runs/'.length);
          reply.send(200, aRun({ id, status: 'FAILED', error: errorOf(id) }));
        },
      );
      const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
      const args = [...BATCH_ARGS, '--concurrency', '1'];
      await wfr(args, { cwd });
      writeFileSync(join(cwd, 'rows.jsonl'), numberedRows(4));
      const env = { TERM: 'xterm', NO_COLOR: '1' };
      const { stderr } = await wfr([...args, ...flags], { cwd, terminal: 80, env });
      const lines = [...stderr.matchAll(/\u001b\[\?7l(.*?)\u001b\[\?7h/g)].map(([, line = '']) =>
        line.trim(),
      );
      const reasons = lines.filter((line) => line.includes('Check'));
      expect([...new Set(reasons)]).toEqual(shown.map((reason) => `${reason} is too low`));
    },
  );

  test.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 3],
  ])('batch: in a window of %i rows, the display has at most %i lines', async (terminalRows, lines) => {
    const { wfr } = await startBatchService(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      if (inputs.n === 1) return reply.send(422, { message: 'no' });
      reply.send(201, aRun({ id: 'run-2', status: 'PENDING' }));
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const { stderr } = await wfr(BATCH_ARGS, { cwd, terminal: 80, terminalRows, env: { TERM: 'xterm' } });
    const heights = stderr.split('\u001b[?2026h').map((frame) => frame.split('\u001b[?7l').length - 1);
    expect(Math.max(...heights)).toBe(lines);
    const env = { TERM: 'xterm', WFR_SANDBOX: '1' };
    const { stderr: sandboxed } = await wfr(BATCH_ARGS, { cwd, terminal: 80, env });
    expect(sandboxed).not.toContain('Ctrl-C');
  });

  test('batch: with invalid rows, the command that continues comes first, and without --retry-failed', async () => {
    const { wfr } = await startBatchService(undefined, (_request, reply) =>
      reply.send(200, aRun({ id: 'run-1' })),
    );
    const cwd = folderWith({ 'rows.jsonl': '{"n":1}\n{"n":2,"d":{"$document":"none.pdf"}}\n' });
    const open = await wfr([...BATCH_ARGS, '--timeout', '0'], { cwd });
    expect(open.stderr).toMatch(/\nTo continue, also with corrected invalid rows: wfr batch .*\n/);
    expect(open.stderr).not.toContain('Once invalid');
    const ended = await startBatchService();
    const others = folderWith({ 'rows.jsonl': '{"n":1}\n{"n":2,"d":{"$document":"none.pdf"}}\n' });
    const first = await ended.wfr(BATCH_ARGS, { cwd: others });
    const next = 'Once invalid rows are corrected';
    const command = `\n${next}: wfr ${BATCH_ARGS.join(' ')}\n`;
    expect(first.stderr).toContain(command);
    expect(first.stderr).not.toContain('Stopped by');
    const again = await ended.wfr([...BATCH_ARGS, '--retry-failed'], { cwd: others });
    expect(again.stderr).toContain(command);
    const inputs = [...BATCH_ARGS, '--results', 'b.jsonl', '--retry-failed', '-i', 'a b=1'];
    const withInput = await ended.wfr(inputs, { cwd: others });
    expect(withInput.stderr).toContain(`\n${next}, run the same command again, without --retry-failed.\n`);
  });

  test('batch: failed, rejected and invalid rows are sent once they are corrected, by the command of the block', async () => {
    const { triggered, wfr } = await startBatchService(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      if (inputs.n === '0') return reply.send(422, { message: 'no' });
      triggered.push(inputs);
      reply.send(
        201,
        aRun({ id: `run-${triggered.length}`, status: inputs.n === '1' ? 'FAILED' : 'FINISHED' }),
      );
    });
    const cwd = folderWith({ 'rows.csv': 'n\n0\n1\n2,\n' });
    const args = [
      'batch',
      'w',
      '--rows',
      'rows.csv',
      '--results',
      'r.jsonl',
      '--workflow-id-field',
      'workflowId',
    ];
    const { stderr } = await wfr(args, { cwd });
    expect(stderr).toContain(`
Once failed, rejected and invalid rows are corrected: wfr ${args.join(' ')} --send-changed
To run failed and rejected rows again as they are, use --retry-failed instead.
`);
    expect((await runCli(['results', 'r.jsonl'], { cwd })).stdout).toContain(`
Once failed, rejected and invalid rows are corrected, add --send-changed to the wfr batch command.
To run failed and rejected rows again as they are, use --retry-failed instead.
`);
    writeFileSync(join(cwd, 'rows.csv'), 'n\n0\n1.0\n2,\n');
    const held = (await wfr(args, { cwd })).stderr;
    expect(held).toContain(`\nTo send held and corrected rows: wfr ${args.join(' ')} --send-changed\n`);
    expect(held).not.toContain('Once ');
    writeFileSync(join(cwd, 'rows.csv'), 'n\n3\n1\n2\n');
    const again = [...args, '--send-changed'];
    expect((await wfr(again, { cwd })).stderr).toContain('3 rows: 2 finished, 1 failed; ');
    expect(triggered).toEqual([{ n: '1' }, { n: '3' }, { n: '2' }]);
    writeFileSync(join(cwd, 'rows.csv'), 'n\n3\n4\n2\n');
    expect((await wfr(again, { cwd })).stderr).toContain('3 rows: 3 finished; ');
  });

  test('batch: while a row is open, the block offers only to continue', async () => {
    const { wfr } = await startBatchService(
      async (request, reply) => {
        const { n } = JSON.parse((await request.body()).toString()).inputs;
        const status = ['FINISHED', 'FAILED', 'RUNNING'][n - 1];
        reply.send(201, aRun({ id: `run-${n}`, status }));
      },
      (_request, reply) => reply.send(200, aRun({ id: 'run-3', status: 'RUNNING' })),
    );
    const cwd = folderWith({ 'rows.jsonl': numberedRows(3) });
    const { stderr } = await wfr([...BATCH_ARGS, '--timeout', '0'], { cwd });
    expect(stderr).toMatch(/\n3 rows: 1 finished, 1 failed, 1 running;/);
    expect(stderr).toContain('\nStopped by --timeout. Still running at the service: 1 run.\n');
    expect(stderr).toMatch(/\nTo continue: wfr batch .*\n$/);
    expect(stderr).not.toMatch(/--retry-failed|To save/);
  });

  test('batch: the command that saves the outputs does not write over the table', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 't.csv': 'n\n1\n' });
    for (const [results, csv] of [
      ['t.jsonl', 't.results.csv'],
      ['results.jsonl', 'results.csv'],
    ]) {
      const { stderr } = await wfr(['batch', 'w', '--rows', 't.csv', '--results', results ?? ''], { cwd });
      expect(stderr).toContain(`wfr results ${results} --rows t.csv -o csv --excel > ${csv}\n`);
    }
  });

  test('batch: the command that saves the outputs has another name than a table in the same place', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 't.results.csv': 'n\n1\n' });
    const args = ['batch', 'w', '--rows', './t.results.csv', '--results', 't.jsonl'];
    expect((await wfr(args, { cwd })).stderr).toContain(
      'wfr results t.jsonl --rows ./t.results.csv -o csv --excel > t.outputs.csv\n',
    );
  });

  test('batch: the command that saves the outputs has no table that it cannot read again', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 't.csv': 'n;m\n1;2\n' });
    const args = ['batch', 'w', '--results', 'out.jsonl', '--rows'];
    const saved = '\nTo save the outputs: wfr results out.jsonl -o csv --excel > out.results.csv\n';
    expect((await wfr([...args, 't.csv', '--delimiter', ';'], { cwd })).stderr).toContain(saved);
    const other = folderWith({});
    expect((await wfr([...args, '-'], { cwd: other, stdin: 'n\n1\n' })).stderr).toContain(saved);
  });

  test('batch: a success names the next command', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    const { stderr } = await wfr(BATCH_ARGS, { cwd });
    expect(stderr).toMatch(
      /1 row: 1 finished; took \S+\nTo save the outputs: wfr results out\.jsonl --rows rows\.jsonl -o csv --excel > out\.results\.csv\n$/,
    );
    expect((await wfr(BATCH_ARGS, { cwd })).stderr).toMatch(
      /^1 row: 1 finished; no run triggered now; took \S+\nTo save the outputs: /,
    );
  });

  test('batch: a command is printed without the values of its inputs, which no shell takes before they are replaced', async () => {
    for (const [flags, shown] of [
      [['-i', 'key=s3cret'], '-i key=<as-before>'],
      [['-ikey=s3cret'], '-ikey=<as-before>'],
      [['--input=key=s3cret', '-i', 'y=s3cret'], '--input=key=<as-before> -i y=<as-before>'],
      [['-i', 'akey=s3cret', '-i', 'key=s3cret'], '-i akey=<as-before> -i key=<as-before>'],
      [['-i', 'key:="s3cret\\n"', '-i', 'file@$&'], "-i key:=<as-before> -i 'file@$&'"],
    ] as const) {
      const { stderr } = await runMixed({}, flags);
      expect(stderr).toContain(` --workflow-id-field workflowId ${shown}`);
      expect(stderr).toContain('\nFor <as-before>, write the values, which are not recorded.\n');
      expect(stderr).not.toContain('s3cret');
    }
  });

  test('batch: a command with headers, which may be secrets, names that need quotes, or more than 1,000 characters is not printed', async () => {
    for (const flags of [
      ['-H', 'x-key: s3cret'],
      ['-i', 'a key=s3cret'],
      ['-i', 'größe=s3cret'],
      ['--files-under', './'.repeat(500)],
    ]) {
      const { stderr } = await runMixed({}, flags);
      expect(stderr).toContain(
        'To continue with a run that exists, add --adopt 3=<id> to the same command.\n',
      );
      expect(stderr).not.toContain('s3cret');
    }
  });

  test('batch: the next command has no flag twice', async () => {
    const { stderr } = await runMixed({}, ['--retry-failed']);
    expect(stderr).toMatch(/exists: wfr batch w .* --workflow-id-field workflowId --adopt 3=<id>\n/);
  });

  test('batch: outcomes and commands are colored on a terminal', async () => {
    const { stderr } = await runMixed({ terminal: 200, env: { TERM: 'xterm' } });
    expect(stderr).toContain('\u001b[32m1 finished\u001b[39m');
    expect(stderr).toContain('\u001b[31m2 failed\u001b[39m');
    expect(stderr).toMatch(/\u001b\[1mwfr batch .*3=<id>\u001b\[22m\n/);
  });
});

test('batch: its runs enter the history as those of one batch, so that @last is the last of them', async () => {
  const { wfr } = await startBatchService();
  const env = { XDG_STATE_HOME: temporaryFolder() };
  const cwd = folderWith({ 'rows.csv': 'n\n1\n2\n' });
  const args = ['batch', 'w', '--rows', 'rows.csv', '--results', 'o.jsonl', '--concurrency', '1'];
  expect((await wfr(args, { cwd, env })).exitCode).toBe(0);
  const { stdout } = await wfr(['history', '-o', 'jsonl'], { env });
  const runs = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const [, salt = ''] = /"rowSalt":"([0-9a-f]{32})"/.exec(readFileSync(join(cwd, 'o.jsonl'), 'utf8')) ?? [];
  const batch = expect.stringMatching(/^.{8}-.{4}-.{4}-.{4}-.{12}$/);
  const shared = { workflow: 'w', inputs: ['n'], status: 'FINISHED', batch };
  expect(runs).toMatchObject([
    { id: 'run-2', label: 'rows.csv:3', ...shared },
    { id: 'run-1', label: 'rows.csv:2', ...shared },
  ]);
  expect(runs.map((run) => run.batch.replaceAll('-', ''))).toEqual([salt, salt]);
  expect((await wfr(['history'], { cwd, env })).stdout).toMatch(
    /^.{8} +FINISHED +v1: rows\.csv .*\n {2}2 rows: 2 finished \(o\.jsonl\)$/m,
  );
  expect((await wfr(['status', '@last', '-o', 'id'], { env })).stdout).toBe('run-2\n');
});

test('batch: blank lines of a JSON Lines table are no rows, and count as lines', async () => {
  const { wfr, triggered } = await startBatchService();
  const blank = ['', ' ', '\t\t', ' '.repeat(300), '\r'];
  const cwd = folderWith({
    'rows.jsonl': `${blank.join('\n')}\n{"n":1}\r\n\n  {"n":2}  \n${' '.repeat(300)}x\n`,
  });
  const { stderr } = await wfr([...BATCH_ARGS, '--concurrency', '1'], { cwd });
  expect(triggered).toEqual([{ n: 1 }, { n: 2 }]);
  const rows = readEvents(join(cwd, 'out.jsonl')).filter(({ event }) => event === 'intent');
  expect(rows.map(({ label }) => label)).toEqual(['rows.jsonl:9', 'rows.jsonl:6', 'rows.jsonl:8']);
  expect(stderr).toContain('rows.jsonl:9  invalid');
});

describe('batch --label: rows are also named by an input', () => {
  test.each([
    ['rows.csv', 'customer,n:=\nACME,1\n,x\n', 'rows.csv:2 (ACME)', 'rows.csv:3'],
    ['rows.jsonl', '{"n":1,"customer":"ACME"}\n{"n":\n', 'rows.jsonl:1 (ACME)', 'rows.jsonl:2'],
  ])(
    'batch --label: the rows of %s have the label in logs, results, reports and the closing block',
    async (table, text, first, second) => {
      const { wfr } = await startBatchService((_request, reply) => reply.send(422, { message: 'no' }));
      const cwd = folderWith({ [table]: text });
      const args = [
        'batch',
        'w',
        '--rows',
        table,
        '--label',
        'customer',
        '--results',
        'o.jsonl',
        '--concurrency',
        '1',
      ];
      const { stderr } = await wfr(
        [...args, '--workflow-id-field', 'workflowId', '--report', 'json=r.json'],
        { cwd },
      );
      expect(stderr).toContain(`${first}  rejected  422: no\n`);
      expect(stderr).toContain(`${second}  invalid  `);
      expect(stderr).toContain(`1 rejected (422), ${first}: no\n`);
      const intents = readEvents(join(cwd, 'o.jsonl')).filter(({ event }) => event === 'intent');
      expect(intents.map(({ label }) => label).sort()).toEqual([first, second]);
      const { runs } = JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8'));
      expect(runs.map(({ label }: { label: string }) => label)).toEqual([first, second]);
    },
  );

  test.each([
    ['x'.repeat(60), 'x'.repeat(60)],
    ['x'.repeat(61), `${'x'.repeat(60)}…`],
    [' two  words\t', 'two words'],
    ['  ', undefined],
    [7, '7'],
    [true, undefined],
  ])('batch --label: the text %j of a row is shown as %j', async (customer, shown) => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': `${JSON.stringify({ customer })}\n` });
    await wfr([...BATCH_ARGS, '--label', 'customer'], { cwd });
    const [intent] = readEvents(join(cwd, 'out.jsonl')).filter(({ event }) => event === 'intent');
    expect(intent?.label).toBe(shown === undefined ? 'rows.jsonl:1' : `rows.jsonl:1 (${shown})`);
  });

  test.each([
    [
      ['--rows', 'rows.csv', '--label', 'x'],
      'rows.csv:1: has no column "x" for --label; its columns are a, b',
    ],
    [['--each', 'd', '--label', 'x', 'rows.csv'], '--label x: requires --rows'],
    [['--each', 'd', '--delimiter', ';', 'rows.csv'], '--delimiter ;: requires --rows'],
    [['--rows', 'rows.csv', '--each', 'd'], '--rows rows.csv and --each d exclude each other'],
  ])('batch: the flags %j exit 2', async (flags, message) => {
    const { requests, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.csv': 'a,b:=\n1,2\n' });
    const { exitCode, stderr } = await wfr(['batch', 'w', ...flags, '--check'], { cwd });
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(message) });
    expect(requests).toEqual([]);
  });
});

test('batch: a command of the closing block that is wider than the window is broken before flags, so that it can be copied', async () => {
  const { wfr } = await startBatchService((_request, reply) => reply.send(422, { message: 'no' }));
  const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
  const args = ['batch', 'w', '--rows', 'rows.jsonl', '--results', 'results of today.jsonl'];
  const block = async (terminal: number) => {
    const flags = ['--workflow-id-field', 'workflowId'];
    const env = { TERM: 'xterm', NO_COLOR: '1' };
    return (await wfr([...args, ...flags], { cwd, terminal, env })).stderr;
  };
  // Where one has no room beside its text, none is there.
  expect(await block(120)).toContain('\nOnce rejected rows are corrected:\n  wfr batch');
  expect(await block(170)).toContain('\nOnce rejected rows are corrected: wfr batch');
  expect(await block(40)).toContain(
    "  wfr batch w --rows rows.jsonl \\\n    --results 'results of today.jsonl' \\\n    --workflow-id-field workflowId\nTo run rejected rows again as they are,\n  add --retry-failed.\n",
  );
  // One that has no place to break is not broken.
  expect(await block(34)).toContain(
    "\n  wfr batch w --rows rows.jsonl --results 'results of today.jsonl' --workflow-id-field workflowId\n",
  );
});
