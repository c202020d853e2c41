/** `wfr results`: the summary of a results file, and its reports. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { appendClaim, startBatchService } from '../../helpers/batch.js';
import { runCli, temporaryFolder } from '../../helpers/cli.js';
import { folderWith } from '../../helpers/files.js';
import { aRun } from '../../helpers/service.js';

const HEAD = '{"event":"batch","format":3,"workflow":"w","baseUrl":"http://127.0.0.1:1/","shard":"1/1"}\n';

describe('results', () => {
  test('results: the rows of all shards are listed with their table, and saved in one file without a shard in its name', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 't.csv': 'n\n1\n2\n' });
    const options = { cwd, env: { XDG_STATE_HOME: join(cwd, 'state') } };
    for (const shard of ['1/2', '2/2'])
      await wfr(['batch', 'w', '--rows', 't.csv', '--shard', shard, '--rate', '0'], options);
    const files = 't.csv.w.1-of-2.results.jsonl t.csv.w.2-of-2.results.jsonl';
    const { stdout } = await wfr(['results', ...files.split(' ')], options);
    expect(stdout).toContain(`\nTo list the outputs: wfr results ${files} --rows\n`);
    expect(stdout).toContain(
      `\nTo save the outputs: wfr results ${files} --rows -o csv --excel > t.csv.w.results.csv\n`,
    );
    expect(stdout).not.toContain('wfr batch');
  });

  test('results: rows are listed with the table that the history has, and files of a folder without one', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'my rows.csv': 'n\n1\n2\n', 'in/a.pdf': 'A', 'in/b.pdf': 'B' });
    const options = { cwd, env: { XDG_STATE_HOME: join(cwd, 'state') } };
    const flags = ['--results', 'out.jsonl', '--rate', '0', '--limit', '1'];
    await wfr(['batch', 'w', '--rows', 'my rows.csv', ...flags], options);
    const counted = await wfr(['results', 'out.jsonl'], options);
    expect(counted.stdout).toContain(
      '\nTo list the outputs: wfr results out.jsonl --rows\nTo list the rest alone, add --only unfinished.\n',
    );
    const listed = await wfr(['results', 'out.jsonl', '--get', '/total'], options);
    expect(listed.stdout).toContain('\nNot listed: 1 waiting row; --rows has all.\n');
    expect(counted.stdout).toContain(' out.jsonl --rows -o csv --excel > ');
    // Without a name, it is the table that was sent.
    const known = await wfr(['results', 'out.jsonl', '--rows'], options);
    expect(known.stdout).toMatch(/^ROW +n +\/total\nmy rows\.csv:2 +1 +1\nmy rows\.csv:3 +2 +\(waiting\)\n/);
    writeFileSync(join(cwd, 'my rows.csv'), 'n\n9\n2\n');
    await wfr(['batch', 'w', '--rows', 'my rows.csv', ...flags], options);
    // The table does not have the row that is gone.
    const saved = await wfr(['results', 'out.jsonl', '--rows', 'my rows.csv', '-o', 'csv'], options);
    expect(saved.stderr).toContain("not listed: 1 gone row; --get '' without --rows has all\n");
    await wfr(['batch', 'w', '--each', 'scan', 'in', ...flags, '--results', 'in.jsonl'], options);
    expect((await wfr(['results', 'in.jsonl'], options)).stdout).toContain(' in.jsonl --rows\n');
    // What is taken for the results file may be the table or the folder.
    for (const [name, file] of [
      ['my rows.csv', 'out.jsonl'],
      ['in', 'in.jsonl'],
    ] as const)
      expect((await wfr(['results', name], options)).stderr).toContain(`\n  See: wfr results ${file}\n`);
    const last = await wfr(['results', '@last'], options);
    expect(last.stdout).toContain(' in.jsonl -o csv --excel > ');
    const rows = ['results', 'in.jsonl', '--rows', 'in'];
    expect(await wfr(rows, options)).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: `wfr: error: --rows in: the batch has no table\n  See: wfr results in.jsonl --rows\n`,
    });
    const files = await wfr(['results', 'in.jsonl', '--rows'], options);
    expect(files.stdout).toContain('\nNot listed: 1 waiting row.\n');
    // What is saved does not replace the table.
    writeFileSync(join(cwd, 'u.results.csv'), 'n\n1\n');
    const same = ['--rows', 'u.results.csv', '--results', 'u.results.jsonl', '--rate', '0'];
    await wfr(['batch', 'w', ...same], options);
    const { stdout } = await wfr(['results', 'u.results.jsonl'], options);
    expect(stdout).toContain(' --rows -o csv --excel > u.results.outputs.csv\n');
    // Another separator would make other rows of the table.
    writeFileSync(join(cwd, 'pipes.txt'), 'n|m\n1|2\n');
    const pipes = ['--delimiter', '|', '--results', 'pipes.jsonl', '--rate', '0'];
    await wfr(['batch', 'w', '--rows', 'pipes.txt', ...pipes], options);
    expect((await wfr(['results', '@last'], options)).stdout).toContain(' pipes.jsonl --rows\n');
  });

  test.each([
    ['{"event":"sent","row":ROW}', '3 unknown: '],
    ['{"event":"accepted","row":ROW,"id":"r"}\n{"event":"lost","row":ROW}', '3 lost: '],
    ['{"event":"refused","row":ROW,"code":"usage","reason":"x"}', '3 invalid: '],
  ])('results: rows with the events %s are listed from row 1', async (events, label) => {
    const lines = [1, 2, 3].map((row) => `${events.replaceAll('ROW', String(row))}\n`).join('');
    const cwd = folderWith({ 'out.jsonl': `${HEAD}${lines}{"event":"table","rows":3}\n` });
    const { stdout } = await runCli(['results', 'out.jsonl'], { cwd });
    const [, rows = ''] = stdout.split(label);
    expect(rows.replaceAll(' (r)', '')).toMatch(/^.*\n {4}row 1, row 2, row 3\n/);
  });

  test('results: in CI, a CSV with a command of a runner is exact, and gives one warning', async () => {
    const event = { event: 'refused', row: 1, code: 'rejected', reason: 'a\n::error::x' };
    const cwd = folderWith({ 'out.jsonl': `${HEAD}${JSON.stringify(event)}\n{"event":"table","rows":1}\n` });
    for (const [format, warnings] of [
      ['csv', 1],
      ['jsonl', 0],
    ] as const) {
      const { stdout, stderr } = await runCli(['results', 'out.jsonl', '-o', format], {
        cwd,
        env: { CI: 'true' },
      });
      if (format === 'csv') expect(stdout).toContain('"a\n::error::x"');
      expect(stderr.match(/warning: the output has lines that a CI runner acts on/g) ?? []).toHaveLength(
        warnings,
      );
    }
  });

  test('results: a table with a missing row exits 2 and names the file that should have it', async () => {
    const events = '{"event":"sent","row":2}\n{"event":"table","rows":2}\n';
    const cwd = folderWith({ 'out.jsonl': `${HEAD}${events}` });
    const { stdout, stderr, exitCode } = await runCli(['results', 'out.jsonl'], { cwd });
    expect(exitCode).toBe(2);
    expect(stdout + stderr).toContain('1 of 2 rows are missing: they should be in out.jsonl');
  });

  test('results: rows that are in two files are told together, with the first one of them', async () => {
    const events = Array.from({ length: 50 }, (_, n) => `{"event":"sent","row":${n + 1}}\n`).join('');
    const cwd = folderWith(
      Object.fromEntries(['a', 'b', 'c'].map((name) => [`${name}.jsonl`, HEAD + events])),
    );
    const { stderr, exitCode } = await runCli(['results', 'a.jsonl', 'b.jsonl', 'c.jsonl'], { cwd });
    const rows = 'rows such as 1 are';
    const fix = 'only shards of one batch are joined';
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: `wfr: error: 2 problems\n  ${rows} in both a.jsonl and b.jsonl; ${fix}\n  ${rows} in both a.jsonl and c.jsonl; ${fix}\n`,
    });
  });

  test.each([
    { workflow: 'x' },
    { baseUrl: 'http://127.0.0.1:2/' },
    { shard: '2/3' },
    { shard: '1/2', rowSalt: 'f'.repeat(32) },
  ])(
    'results: a file of another batch, with %j, exits 2 and is named before any summary',
    async (changes) => {
      const head = { ...JSON.parse(HEAD), shard: '1/2' };
      const [a, b] = [head, { ...head, shard: '2/2', ...changes }].map((event) => JSON.stringify(event));
      const table = '{"event":"sent","row":1}\n{"event":"table","rows":2}\n';
      const cwd = folderWith({
        'a.jsonl': `${a}\n${table}`,
        'b.jsonl': `${b}\n${table.replace(':1', ':2')}`,
      });
      const { stdout, stderr, exitCode } = await runCli(['results', 'a.jsonl', 'b.jsonl'], { cwd });
      expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
      expect(stderr).toContain(
        'b.jsonl: of another batch than a.jsonl; only shards of one batch are joined\n',
      );
    },
  );

  test('results: of files of several batches, each is named once, not the rows that two have, or one does not have', async () => {
    const eventsOf = (rows: number) => `{"event":"sent","row":1}\n{"event":"table","rows":${rows}}\n`;
    const heads = ['w', 'x', 'y'].map((workflow) => JSON.stringify({ ...JSON.parse(HEAD), workflow }));
    const cwd = folderWith(
      Object.fromEntries(heads.map((head, index) => [`${index}.jsonl`, `${head}\n${eventsOf(1 + index)}`])),
    );
    const { stderr } = await runCli(['results', '0.jsonl', '1.jsonl', '2.jsonl'], { cwd });
    expect(stderr).toBe(
      'wfr: error: 1.jsonl, 2.jsonl: of another batch than 0.jsonl; only shards of one batch are joined\n',
    );
  });

  test('results: a row that was corrected is listed once, and a gone row with a run follows those of the table', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.csv': 'a@,n\nscan.pdf,1\nno.pdf,2\n', 'scan.pdf': '%PDF-1.7' });
    const batch = ['batch', 'w', '--rows', 'rows.csv', '--results', 'out.jsonl', '--concurrency', '1'];
    await wfr(batch, { cwd });
    writeFileSync(join(cwd, 'rows.csv'), 'a@,n\nscan.pdf,3\nscan.pdf,2\n');
    await wfr([...batch, '--send-changed'], { cwd });
    const { stdout } = await runCli(['results', 'out.jsonl', '-o', 'csv'], { cwd });
    const rows = parse(stdout, { columns: true }) as Record<string, string>[];
    expect(rows.map(({ label, id, outcome }) => `${label} ${id} ${outcome}`)).toEqual([
      'rows.csv:2 run-2 finished',
      'rows.csv:3 run-3 finished',
      'rows.csv:2 run-1 gone',
    ]);
  });

  test('results: reports have the rows in the order of the table, in whatever order they ended', async () => {
    const rows = [3, 1, 2]
      .map((row) => `{"event":"refused","row":${row},"code":"rejected","reason":"no"}\n`)
      .join('');
    const cwd = folderWith({ 'out.jsonl': `${HEAD}${rows}{"event":"table","rows":3}\n` });
    await runCli(['results', 'out.jsonl', '--report', 'json=r.json'], { cwd });
    const { runs } = JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8'));
    expect(runs.map(({ row }: { row: number }) => row)).toEqual([1, 2, 3]);
  });

  test('results: the summary names the steps at which most rows failed, and counts the others', async () => {
    const { wfr } = await startBatchService();
    const ended = Array.from({ length: 1_500 }, (_, n) => {
      const step = n < 300 ? 'Read' : `Step ${n}`;
      const row = n + 1;
      const run = { id: `run-${row}`, status: 'FAILED', error: { step, message: 'no' } };
      return [
        { event: 'intent', row, digest: '0123456789abcdef' },
        { event: 'ended', row, run },
      ];
    });
    const head = { event: 'batch', format: 3, workflow: 'w', baseUrl: 'http://127.0.0.1:1/', shard: '1/1' };
    const events = [head, ...ended.flat(), { event: 'table', rows: 1_500 }];
    const cwd = folderWith({ 'out.jsonl': events.map((event) => `${JSON.stringify(event)}\n`).join('') });
    const { stdout, exitCode } = await wfr(['results', 'out.jsonl'], { cwd });
    expect(exitCode).toBe(1);
    expect(stdout).toContain('  300 failed at step Read: no\n');
    expect(stdout).toMatch(/^ {2}202 failed: other reasons$/m);
    expect(stdout).toContain('  990 more reasons, of 990 rows; wfr results <file> -o csv has all\n');
  });

  const RUN = (id: string) => ({ id, status: 'FINISHED', steps: 1, stepsCompleted: 1, output: {} });

  /** Returns a folder with the results file of a batch of two rows that took 24 s, and was resumed. */
  function folderOfBatch(...labels: [string, string]): string {
    const at = (seconds: number) => ({ time: new Date(Date.UTC(2026, 4, 6, 7, 8, seconds)).toISOString() });
    const row = (number: number, label: string, from: number, to: number) => [
      { event: 'intent', row: number, label, digest: '0123456789abcdef', ...at(from) },
      { event: 'sent', row: number, ...at(from) },
      { event: 'accepted', row: number, id: `run-${number}`, ...at(from) },
      { event: 'ended', row: number, ...at(to), run: RUN(`run-${number}`) },
    ];
    const events = [
      { event: 'batch', format: 3, workflow: 'w', baseUrl: 'http://127.0.0.1:1/', shard: '1/1', ...at(9) },
      ...row(1, labels[0], 10, 12),
      ...row(2, labels[1], 30, 34),
      // A later command found no row to send.
      { event: 'recorded', row: 2, key: '0123456789abcdef0123456789abcdef', label: labels[1], ...at(57) },
      { event: 'present', rows: [[1, 2]], ...at(58) },
      { event: 'table', rows: 2, ...at(59) },
    ];
    return folderWith({ 'out.jsonl': events.map((event) => `${JSON.stringify(event)}\n`).join('') });
  }

  test('results: the times of the batch, which may be of several commands, are on stdout and in the reports', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderOfBatch('t.csv:2', 't.csv:3');
    const reports = ['--report', 'html=r.html', '--report', 'junit=r.xml'];
    const { stdout, exitCode } = await wfr(['results', 'out.jsonl', ...reports], { cwd });
    expect(exitCode).toBe(0);
    const line = '2 rows: 2 finished\nBegan 2026-05-06 07:08:10 UTC, last change 24s later\n';
    expect(stdout).toBe(
      `${line}\nReport: html=r.html\nReport: junit=r.xml\nTo list the outputs: wfr results out.jsonl --rows\nTo save the outputs: wfr results out.jsonl -o csv --excel > out.results.csv\n`,
    );
    const saved = await wfr(['results', 'out.jsonl', '--save-outputs', 'outs'], { cwd });
    expect(saved.stdout).toBe(`${line}\n2 outputs saved in outs.\n`);
    expect(readFileSync(join(cwd, 'r.html'), 'utf8')).toContain(
      'Began <time datetime="2026-05-06T07:08:10.000Z">2026-05-06 07:08:10 UTC</time>, last change 24s later;',
    );
    const junit = readFileSync(join(cwd, 'r.xml'), 'utf8');
    expect(junit).toMatch(/<testsuite [^>]*timestamp="2026-05-06T07:08:10"[^>]* time="24.000">/);
    expect(junit.match(/<testcase [^>]*>/g)).toEqual([
      '<testcase name="t.csv:2" classname="w" time="2.000"/>',
      '<testcase name="t.csv:3" classname="w" time="4.000"/>',
    ]);
    expect(junit).toContain('<system-out>t.csv:2: run run-1\nt.csv:3: run run-2\n</system-out>');
    const file = join(cwd, 'out.jsonl');
    const long = readFileSync(file, 'utf8').replaceAll('05-06T07:08:34', '05-07T00:00:01');
    writeFileSync(file, long);
    const narrow = await wfr(['results', 'out.jsonl'], { cwd, stdoutTerminal: 41, env: { NO_COLOR: '1' } });
    expect(narrow.stdout).toContain('\nBegan 2026-05-06 07:08:10 UTC, last\n  change 16h 51m later\n');
  });

  test('results --report junit: rows with the same label have distinct names', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderOfBatch('ACME', 'ACME');
    await wfr(['results', 'out.jsonl', '--report', 'junit=r.xml'], { cwd });
    const junit = readFileSync(join(cwd, 'r.xml'), 'utf8');
    expect(junit.match(/ name="ACME[^"]*"/g)).toEqual([' name="ACME"', ' name="ACME (row 2)"']);
  });

  test('results: a file that is listed twice is read once', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderOfBatch('a', 'b');
    const { stdout, exitCode } = await wfr(['results', 'out.jsonl', 'out.jsonl'], { cwd });
    expect({ first: stdout.split('\n')[0], exitCode }).toEqual({ first: '2 rows: 2 finished', exitCode: 0 });
  });
});

test.each([
  ['{"event":"sent","row":ROW}', 'scans/a.pdf (row 1), t.csv:3 (ACME), t.csv:4, 5, t.csv:23 (row 2)'],
  [
    '{"event":"refused","row":ROW,"code":"rejected","reason":"no"}',
    'scans/a.pdf, t.csv:3 (ACME), t.csv:4, 5, t.csv:23 (row 2)',
  ],
  [
    '{"event":"refused","row":ROW,"code":"usage","reason":"no"}',
    'scans/a.pdf, t.csv:3 (ACME), t.csv:4, 5, t.csv:23',
  ],
])(
  'results: a row after %s has the number that a flag takes, unless its name shows it',
  async (event, listed) => {
    const labels = ['scans/a.pdf', 't.csv:23', 't.csv:3 (ACME)', 't.csv:4', '5'];
    const lines = labels.flatMap((label, index) => [
      `{"event":"intent","row":${index + 1},"label":"${label}"}\n`,
      `${event.replace('ROW', String(index + 1))}\n`,
    ]);
    const cwd = folderWith({ 'out.jsonl': `${HEAD}${lines.join('')}{"event":"table","rows":5}\n` });
    const { stdout } = await runCli(['results', 'out.jsonl'], { cwd });
    expect(stdout).toContain(`\n    ${listed}\n`);
  },
);

test('results: the unknown run of a file of --once has no number, as --adopt takes none', async () => {
  const header = HEAD.replace('}', ',"salt":"0a1b2c3d4e5f60718293a4b5c6d7e8f9"}');
  const lines = '{"event":"intent","row":1,"label":"w"}\n{"event":"sent","row":1}\n';
  const cwd = folderWith({ 'my.once': header + lines });
  const { stdout } = await runCli(['results', 'my.once'], { cwd });
  expect(stdout).toContain('\n  1 unknown, w: the request was sent, and no response is recorded\n');
  expect(stdout).toContain('--adopt <id>');
  expect((await runCli(['results', 'my.once', '--get', ''], { cwd })).stdout).toContain('\nw    unknown: ');
});

test.each(['no', '404: no'])(
  'results: the run of --once that was rejected with %j is sent again without a flag',
  async (reason) => {
    const header = HEAD.replace('}', ',"salt":"0a1b2c3d4e5f60718293a4b5c6d7e8f9"}');
    const lines = `{"event":"refused","row":1,"code":"rejected","reason":"${reason}"}\n{"event":"table","rows":1}\n`;
    const cwd = folderWith({ 'my.once': header + lines });
    const { stdout } = await runCli(['results', 'my.once'], { cwd });
    expect(stdout).toMatch(/\nOnce rejected rows are corrected, run the wfr run command again\.\n$/);
  },
);

const KNOWN = '{"event":"accepted","row":2,"id":"run-2"}\n';
const INVALID = '{"event":"refused","row":2,"code":"usage","reason":"empty"}\n';

test.each([
  ['404: no', '', 'Once the service knows the workflow, add --retry-failed'],
  [
    'the service does not know the workflow (404)',
    '',
    'Once the service knows the workflow, add --retry-failed',
  ],
  ['404: no', KNOWN, 'Running rows may have ended since.\nTo continue, also with'],
  ['422: no', '', 'Once rejected rows are corrected, run'],
  ['422: not in the CRM (404)', '', 'Once rejected rows are corrected, run'],
  ['404: no', INVALID, 'Once rejected and invalid rows are corrected, run'],
])(
  'results: a row that was rejected with "%s", and then "%s", can be corrected or not',
  async (reason, others, next) => {
    const rejected = `{"event":"refused","row":1,"code":"rejected","reason":"${reason}"}\n`;
    const cwd = folderWith({
      'out.jsonl': `${HEAD}${rejected}${others}{"event":"table","rows":${others ? 2 : 1}}\n`,
    });
    const { stdout } = await runCli(['results', 'out.jsonl'], { cwd });
    expect(stdout.split('\n\n')[1]).toMatch(new RegExp(`^${next} `));
    expect(stdout.includes('rejected rows again as they are')).toBe(!next.includes('workflow'));
  },
);

test.each([
  {
    isAlive: true,
    exitCode: 8,
    next: /^wfr batch is running \(process 4242\): rows may change\.$/,
  },
  {
    isAlive: false,
    exitCode: 6,
    next: /^For each unknown row, .*\n(.*\n)*To continue, run .*$/,
  },
])(
  'results: while the process of the batch is alive ($isAlive), no row is to be sent again, and it exits $exitCode',
  async ({ isAlive, exitCode, next }) => {
    const lines = '{"event":"intent","row":1,"label":"rows.csv:1"}\n{"event":"sent","row":1}\n';
    const cwd = folderWith({ 'out.jsonl': `${HEAD}{"event":"present","rows":[[1,2]]}\n${lines}` });
    appendClaim(join(cwd, 'out.jsonl'), {});
    const result = await runCli(['results', 'out.jsonl'], { cwd, self: { isAlive: () => isAlive } });
    expect(result.exitCode).toBe(exitCode);
    expect(result.stdout).toMatch(/^2 rows: 1 unknown, 1 waiting\n/);
    expect(result.stdout.split('\n\n')[1]?.trimEnd()).toMatch(next);
    // A batch that is continued knows its rows.
    appendFileSync(join(cwd, 'out.jsonl'), '{"event":"table","rows":1}\n');
    const known = await runCli(['results', 'out.jsonl'], { cwd, self: { isAlive: () => isAlive } });
    expect(known.exitCode).toBe(exitCode);
    appendFileSync(join(cwd, 'out.jsonl'), '{"event":"close","by":"0badcafe"}\n');
    expect((await runCli(['results', 'out.jsonl'], { cwd })).exitCode).toBe(6);
  },
);

test.each([
  { shard: '1/1', rows: '3 rows: 1 running, 2 waiting', says: false },
  { shard: '1/2', rows: '1 row: 1 running', says: true },
])(
  'results: of a batch whose command has not ended, shard $shard, the rows are $rows',
  async ({ shard, rows, says }) => {
    const head = HEAD.replace('"shard":"1/1"', `"shard":"${shard}"`);
    const lines =
      '{"event":"present","rows":[[1,2],[5,5]]}\n{"event":"sent","row":1}\n{"event":"accepted","row":1,"id":"a"}\n';
    const cwd = folderWith({ 'out.jsonl': head + lines });
    const { stdout, exitCode } = await runCli(['results', 'out.jsonl'], { cwd });
    expect(stdout).toMatch(new RegExp(`^${rows}\n`));
    expect(stdout.includes('The total number of rows is unknown: wfr batch has not ended.')).toBe(says);
    expect(exitCode).toBe(8);
  },
);

test.each([
  { present: '[[1,5]]', rows: '5 rows: 2 finished, 3 waiting', code: 8 },
  { present: '[[1,2]]', rows: '2 rows: 2 finished', code: 0 },
])(
  'results: of a batch whose last command was killed, the rows are those that it has found ($present)',
  async ({ present, rows, code }) => {
    const ended = (row: number) =>
      `{"event":"sent","row":${row}}\n{"event":"accepted","row":${row},"id":"${row}"}\n` +
      `{"event":"ended","row":${row},"run":{"id":"${row}","status":"FINISHED"}}\n`;
    const first = `{"event":"present","rows":[[1,4]]}\n${ended(1)}${ended(2)}{"event":"table","rows":4}\n`;
    const cwd = folderWith({ 'out.jsonl': `${HEAD}${first}{"event":"present","rows":${present}}\n` });
    const { stdout, exitCode } = await runCli(['results', 'out.jsonl'], { cwd });
    expect(stdout).toMatch(new RegExp(`^${rows}\n`));
    expect(exitCode).toBe(code);
  },
);

test('results: the id of a run, or its beginning, is no results file, and the error names the command for its output', async () => {
  const id = '7c704d0b-2f57-4a53-9b00-3d2f4c5b6a79';
  const { wfr } = await startBatchService((_request, reply) => reply.send(201, aRun({ id })));
  const env = { XDG_STATE_HOME: temporaryFolder() };
  expect((await wfr(['run', 'w', '--detach'], { env })).exitCode).toBe(0);
  expect(await wfr(['results', '7C704D0B'], { env })).toMatchObject({
    exitCode: 2,
    stderr: 'wfr: error: 7C704D0B: is a run, not a batch; wfr watch 7C704D0B prints its output\n',
  });
  expect((await wfr(['results', id], { env })).stderr).toBe(
    `wfr: error: ${id}: is a run, not a batch; wfr watch ${id} prints its output\n`,
  );
  expect((await wfr(['results', '7c704d0c'], { env })).stderr).toBe(
    'wfr: error: 7c704d0c: neither a file nor a batch of the history\n  See: wfr history\n',
  );
  expect((await wfr(['results', '@last'], { env })).stderr).toBe(
    'wfr: error: @last: neither a file nor a batch of the history\n  See: wfr history\n',
  );
});

test('results: of a table, the error names the results file beside it', async () => {
  const cwd = folderWith({ 'out.csv': 'a\n1\n', 'out.csv.w.results.jsonl': HEAD });
  expect(await runCli(['results', 'out.csv'], { cwd })).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('\n  See: wfr results out.csv.w.results.jsonl\n'),
  });
  // A command is copied whole.
  const { stderr } = await runCli(['results', 'out.csv'], { cwd, terminal: 40, env: { NO_COLOR: '1' } });
  expect(stderr).toMatch(/\n {2}See:\n {4}wfr results out\.csv\.w\.results\.jsonl\n/);
});

test('results: a file without a batch is no results file', async () => {
  const cwd = folderWith({ 'empty.jsonl': '', 'cut.jsonl': '{"event":"ba' });
  for (const name of ['empty.jsonl', 'cut.jsonl'])
    expect(await runCli(['results', name], { cwd })).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: `wfr: error: ${name}: has no batch\n  See: wfr history\n`,
    });
});

test.each([[['-o', 'csv']], [['-o', 'id']]])(
  'results: beside rows of %j, the summary has the reasons and the next steps',
  async (args) => {
    const events = `{"event":"refused","row":1,"code":"rejected","reason":"no"}\n{"event":"table","rows":1}\n`;
    const cwd = folderWith({ 'out.jsonl': `${HEAD}${events}` });
    const rows = ['results', 'out.jsonl', ...args];
    const piped = await runCli(rows, { cwd });
    const shown = await runCli(rows, { cwd, stdoutTerminal: 80, env: { NO_COLOR: '1' } });
    expect(piped.stderr).toMatch(
      /^1 row: 1 rejected\n {2}1 rejected, row 1: no\n\nOnce rejected rows are corrected, run .*\nTo run rejected rows again as they are, add --retry-failed\.\n$/,
    );
    expect(shown).toEqual({ ...piped, clock: expect.anything() });
  },
);

test('results: before ids on a terminal, the summary has the reasons, which ids do not have', async () => {
  const events = `{"event":"refused","row":1,"code":"rejected","reason":"no"}\n{"event":"table","rows":1}\n`;
  const cwd = folderWith({ 'out.jsonl': `${HEAD}${events}` });
  const { stderr } = await runCli(['results', 'out.jsonl', '-o', 'id'], { cwd, stdoutTerminal: 80 });
  expect(stderr).toContain('1 row: 1 rejected\n  1 rejected, row 1: no\n');
});

test('results: warnings fit the window', async () => {
  const events = `{"event":"ended","row":1,"run":{"id":"a","status":"FINISHED","output":{"total":1}}}\n{"event":"table","rows":1}\n`;
  const cwd = folderWith({ 'out.jsonl': `${HEAD}${events}` });
  const show = (env: Record<string, string>) =>
    runCli(['results', 'out.jsonl', '--get', '/a'], { cwd, env, terminal: 40 });
  expect((await show({})).stderr).toContain('wfr: \u001b[33mwarning:\u001b[39m --get /a: no row has this\n');
  const { stderr } = await show({ NO_COLOR: '1' });
  expect(stderr).toContain('wfr: warning: --get /a: no row has this\n    value: ');
  const wrapped = stderr.split('\n').filter((line) => !line.startsWith('  wfr '));
  expect(Math.max(...wrapped.map((line) => line.length))).toBeLessThanOrEqual(40);
});

test('results: the summary is colored and fits the window on a terminal, and is plain in a pipe', async () => {
  const reason = 'a reason that is longer than forty columns are wide';
  const events = `{"event":"refused","row":1,"code":"rejected","reason":"${reason}"}\n{"event":"table","rows":1}\n`;
  const cwd = folderWith({ 'out.jsonl': `${HEAD}${events}` });
  const env = { TERM: 'xterm' };
  const plain = await runCli(['results', 'out.jsonl'], { cwd, env });
  expect(plain).toMatchObject({
    exitCode: 5,
    stdout: expect.stringContaining(`1 row: 1 rejected\n  1 rejected, row 1: ${reason}\n`),
  });
  const shown = await runCli(['results', 'out.jsonl'], { cwd, env, terminal: 40, stdoutTerminal: 40 });
  expect(shown.stdout).toContain('1 row: \u001b[33m1 rejected\u001b[39m\n');
  expect(shown.stdout).toMatch(/rejected\u001b\[39m, row 1: a reason that is\n {4}longer than forty /);
});
