/** `wfr batch` with a table or a folder that has changed since the last command: a row is its content. */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import promises from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BATCH_ARGS, numberedRows, readEvents } from '../../helpers/batch.js';
import { type CliOptions, runCli, Signals } from '../../helpers/cli.js';
import { VirtualClock } from '../../helpers/clock.js';
import { effort } from '../../helpers/effort.js';
import { folderWith } from '../../helpers/files.js';
import fc from '../../helpers/properties.js';
import { replaceFunction } from '../../helpers/replace-function.js';
import { aFinishedRun, aRun, scriptedService } from '../../helpers/service.js';

type Answer = 'finish' | 'fail' | 'drop' | 'run' | 'reject';

/** Starts a service that counts what it is sent, by the JSON of the inputs, and answers as `answerOf` says. */
async function startCountingService() {
  const sent: string[] = [];
  const state = {
    answerOf: (_inputs: string): Answer => 'finish',
    /** The status of each poll. */
    poll: 'FINISHED',
    onSent: () => {},
  };
  const service = await scriptedService(async (request, reply) => {
    if (request.method !== 'POST') {
      const id = request.path.split('/').at(-1) ?? '';
      if (state.poll === 'LOST') return reply.send(404, { message: 'no such run' });
      return reply.send(200, { ...aRun({ status: state.poll }), id });
    }
    const body = await request.body();
    if (body.length < Number(request.headers['content-length'])) return;
    const inputs = JSON.stringify(JSON.parse(body.toString()).inputs);
    const answer = state.answerOf(inputs);
    if (answer === 'reject') return reply.send(422, { message: 'no' });
    sent.push(inputs);
    state.onSent();
    if (answer === 'drop') return void reply.socket.destroy();
    const id = `run-${sent.length}`;
    if (answer === 'run') return reply.send(201, { ...aRun({ status: 'PENDING' }), id });
    const failed = aRun({ status: 'FAILED', error: { step: 'S', message: 'm' } });
    reply.send(201, { ...(answer === 'fail' ? failed : aFinishedRun()), id });
  });
  const wfr = (args: string[], options: CliOptions = {}) =>
    runCli(args, { ...options, env: { WFR_BASE_URL: service.baseUrl, ...options.env } });
  return { ...service, sent, state, wfr };
}

const EACH = ['batch', 'w', '--each', 'scan', 'scans/', '--results', 'out.jsonl', '--rate', '0'];
const CSV = ['batch', 'w', '--rows', 'rows.csv', '--results', 'out.jsonl', '--rate', '0'];
const scan = (text: string, type = 'application/pdf') =>
  `{"scan":"data:${type};base64,${Buffer.from(text).toString('base64')}"}`;

/** Tests compare the order of what was sent. */
const ONE_AT_A_TIME = ['--concurrency', '1'];

/** Prepares a folder with files, and a command that is run on it. */
async function prepareFolder(files: Record<string, string>) {
  const service = await startCountingService();
  const cwd = folderWith({});
  mkdirSync(join(cwd, 'scans'));
  const write = (name: string, text: string) => writeFileSync(join(cwd, 'scans', name), text);
  for (const [name, text] of Object.entries(files)) write(name, text);
  const run = (...flags: string[]) => service.wfr([...EACH, ...ONE_AT_A_TIME, ...flags], { cwd });
  const path = (name: string) => join(cwd, 'scans', name);
  return { ...service, cwd, write, path, run };
}

/** Prepares a table, and a command that is run on it. */
async function prepareTable(rows: string, ...always: string[]) {
  const service = await startCountingService();
  const cwd = folderWith({ 'rows.csv': rows });
  const write = (text: string) => writeFileSync(join(cwd, 'rows.csv'), text);
  const run = (...flags: string[]) => service.wfr([...CSV, ...ONE_AT_A_TIME, ...always, ...flags], { cwd });
  return { ...service, cwd, write, run };
}

test('batch --label: rows that were named by another column are told apart by their content alone', async () => {
  const { run, sent, write } = await prepareTable('customer,id\nACME,1\nNord,2\n');
  expect((await run('--label', 'customer')).exitCode).toBe(0);
  write('customer,id\nACME Ltd,1\nNord,2\n');
  const { exitCode, stderr } = await run('--label', 'id');
  expect(exitCode).toBe(3);
  expect(stderr).toContain(': changed, or new in place of a sent row; label id is new or not unique');
  expect(sent).toHaveLength(2);
});

describe('batch --each: files that change', () => {
  test('batch --each: a document that was replaced is held, tomorrow too, until --send-changed sends it as a new row (fault 121)', async () => {
    const { run, sent, write } = await prepareFolder({ 'a.pdf': 'A', 'b.pdf': 'B' });
    expect((await run()).exitCode).toBe(0);
    write('a.pdf', 'A2');
    for (let night = 0; night < 3; night++) {
      const held = await run();
      expect(held.exitCode).toBe(3);
      expect(held.stderr).toContain('1 finished, 1 held; 1 earlier row replaced or removed');
      expect(held.stderr).toContain('has changed since it was recorded');
      expect(held.stderr).toContain('scans/a.pdf');
      expect(held.stderr).toContain('--send-changed');
    }
    expect(sent).toHaveLength(2);
    expect((await run('--send-changed')).exitCode).toBe(0);
    expect(sent.slice(2)).toEqual([scan('A2')]);
    expect((await run()).exitCode).toBe(0);
    expect(sent).toHaveLength(3);
  });

  test('batch --each: what replaces a held document is held, and the document that comes back is finished', async () => {
    const { run, sent, write } = await prepareFolder({ 'a.pdf': 'A' });
    await run();
    write('a.pdf', 'A2');
    expect((await run()).exitCode).toBe(2);
    write('a.pdf', 'A3');
    expect((await run()).exitCode).toBe(2);
    write('a.pdf', 'A');
    expect((await run()).exitCode).toBe(0);
    expect(sent).toHaveLength(1);
  });

  test('batch --each: --send-changed releases only what is there: a held document that comes back stays held', async () => {
    const { run, sent, write } = await prepareFolder({ 'a.pdf': 'A' });
    await run();
    write('a.pdf', 'A2');
    expect((await run()).stderr).toContain('1 held');
    write('a.pdf', 'A3');
    expect((await run('--send-changed')).exitCode).toBe(0);
    write('a.pdf', 'A2');
    expect((await run()).stderr).toContain('1 held');
    expect(sent).toEqual([scan('A'), scan('A3')]);
  });

  test('batch --each: files that were added, moved, swapped or archived need no flag, and only the new ones are sent', async () => {
    const { run, sent, write, path } = await prepareFolder({ 'm.pdf': 'M', 'n.pdf': 'N' });
    await run();
    write('a.pdf', 'first');
    renameSync(path('m.pdf'), path('x.pdf'));
    renameSync(path('n.pdf'), path('m.pdf'));
    renameSync(path('x.pdf'), path('n.pdf'));
    const second = await run();
    expect(second).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('3 finished') });
    unlinkSync(path('n.pdf'));
    const third = await run();
    expect(third).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('2 finished; 1 earlier row replaced or removed'),
    });
    expect(sent).toEqual([scan('M'), scan('N'), scan('first')]);
  });

  test('batch --each: a name that is used again every night is sent every night', async () => {
    const { run, sent, write, path } = await prepareFolder({});
    for (let night = 0; night < 4; night++) {
      write('scan.pdf', `night ${night}`);
      write('other.pdf', `other ${night}`);
      expect((await run()).exitCode).toBe(0);
      unlinkSync(path('scan.pdf'));
      expect((await run()).exitCode).toBe(0);
      unlinkSync(path('other.pdf'));
      write('keep.pdf', 'kept');
      expect((await run()).exitCode).toBe(0);
    }
    expect(new Set(sent).size).toBe(sent.length);
    expect(sent).toHaveLength(9);
  });

  test('batch --each: where all files that the command names are gone, their runs are watched', async () => {
    const { cwd, wfr, sent, path, state } = await prepareFolder({ 'a.pdf': 'A' });
    state.answerOf = () => 'run';
    state.poll = 'RUNNING';
    const args = ['batch', 'w', '--each', 'scan', 'scans/a.pdf', '--results', 'out.jsonl', '--rate', '0'];
    expect((await wfr([...args, '--timeout', '0'], { cwd })).exitCode).toBe(8);
    unlinkSync(path('a.pdf'));
    state.poll = 'FINISHED';
    expect(await wfr(args, { cwd })).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('1 row: 1 finished; '),
    });
    expect(sent).toHaveLength(1);
  });

  test('batch --each: a copy is listed as a copy, and not sent; a copy over a document that was sent sends nothing', async () => {
    const { run, wfr, cwd, sent, write } = await prepareFolder({ 'a.pdf': 'A', 'b.pdf': 'A', 'c.pdf': 'C' });
    const first = await run();
    expect(first).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('2 rows: 2 finished') });
    expect(first.stderr).toContain('Not sent, as copies of other files: scans/b.pdf.');
    const { exitCode, stdout, stderr } = await wfr(['results', 'out.jsonl'], { cwd });
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(
        /^2 rows: 2 finished\nBegan .*\n\nNot sent, as copies of other files: scans\/b\.pdf\.\n/,
      ),
      stderr: '',
    });
    write('c.pdf', 'A');
    expect((await run()).exitCode).toBe(0);
    expect(sent).toEqual([scan('A'), scan('C')]);
  });

  test('batch --each: a copy that sorts before a file that was sent is the copy', async () => {
    const { run, sent, write } = await prepareFolder({ 'b.pdf': 'B' });
    await run();
    write('a.pdf', 'B');
    expect((await run()).stderr).toContain('Not sent, as copies of other files: scans/a.pdf.');
    expect(sent).toHaveLength(1);
  });

  test('batch --each: a file that is named more than once is one row, and no copy of itself', async () => {
    const { run, sent } = await prepareFolder({ 'a.pdf': 'A' });
    const { stderr, exitCode } = await run('scans/a.pdf', './scans/*.pdf');
    expect(exitCode).toBe(0);
    expect(stderr).toContain('1 row: 1 finished');
    expect(stderr).not.toContain('copies');
    expect(sent).toEqual([scan('A')]);
  });

  test('batch --each: a row that was rejected may change without a flag, and is sent', async () => {
    const { run, sent, write, state } = await prepareFolder({ 'a.pdf': 'A' });
    state.answerOf = () => 'reject';
    expect((await run()).exitCode).toBe(5);
    state.answerOf = () => 'finish';
    write('a.pdf', 'A2');
    expect((await run()).exitCode).toBe(0);
    expect(sent).toEqual([scan('A2')]);
  });

  test('batch --each: a run of a file that is gone is watched, and one that is unknown keeps exit 6 until it is settled', async () => {
    const { run, state, path, sent } = await prepareFolder({ 'a.pdf': 'A', 'b.pdf': 'B', 'c.pdf': 'C' });
    state.answerOf = (inputs) => (inputs === scan('A') ? 'run' : inputs === scan('B') ? 'drop' : 'finish');
    state.poll = 'RUNNING';
    expect((await run('--timeout', '0')).exitCode).toBe(6);
    unlinkSync(path('a.pdf'));
    unlinkSync(path('b.pdf'));
    state.poll = 'FAILED';
    const second = await run();
    expect(second.exitCode).toBe(6);
    expect(second.stderr).toContain('1 finished, 1 unknown; 1 earlier row replaced or removed');
    expect(second.stderr).toContain('--adopt 2=none');
    expect(second.stderr).not.toContain('--resend-unknown');
    const gone = await run('--resend-unknown', '2');
    expect(gone).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('row 2 is gone') });
    expect((await run('--adopt', '2=none')).exitCode).toBe(0);
    expect((await run('--retry-failed', '1')).stderr).toContain('--retry-failed: row 1 is gone');
    expect((await run()).exitCode).toBe(0);
    expect(sent).toHaveLength(3);
  });

  test('batch --each: a folder is its files, without links, hidden ones, and what wfr wrote there', async () => {
    const { wfr, sent, cwd, path, write } = await prepareFolder({ 'b.pdf': 'B', '.hidden.pdf': 'H' });
    mkdirSync(path('deep'));
    write('deep/a.pdf', 'A');
    symlinkSync(path('b.pdf'), path('link.pdf'));
    const args = ['batch', 'w', '--each', 'scan', 'scans', '--rate', '0', '--concurrency', '1'];
    const flags = ['--results', 'scans/out.jsonl', '--report', 'json=scans/r.json'];
    for (let time = 0; time < 2; time++) {
      const { exitCode, stderr } = await wfr([...args, ...flags], { cwd });
      expect(exitCode).toBe(0);
      expect(stderr).toContain('2 rows: 2 finished');
    }
    rmSync(path('r.json'));
    expect((await wfr([...args, '--results', 'other.jsonl'], { cwd })).exitCode).toBe(0);
    expect(sent).toEqual([scan('B'), scan('A'), scan('B'), scan('A')]);
  });

  test('batch --each: an empty folder is no mistake, and the files that come back are not sent again', async () => {
    const { run, sent, path, write } = await prepareFolder({ 'a.pdf': 'A' });
    await run();
    unlinkSync(path('a.pdf'));
    expect(await run()).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('1 earlier row replaced or removed'),
    });
    // The empty folder completed nothing: this is a change.
    write('a.pdf', 'A2');
    expect((await run()).exitCode).toBe(2);
    write('a.pdf', 'A');
    expect((await run()).exitCode).toBe(0);
    expect(sent).toHaveLength(1);
  });

  test('batch --each: a document that changes after it was read creates nothing, and the new one is a new row (fault 103)', async () => {
    const { run, sent, write, state } = await prepareFolder({ 'a.pdf': 'A', 'b.pdf': 'B' });
    state.onSent = () => write('b.pdf', 'B2');
    const first = await run();
    expect(first.stderr).toContain('changed while being read; no run was created');
    state.onSent = () => {};
    expect((await run()).exitCode).toBe(0);
    expect(sent).toEqual([scan('A'), scan('B2')]);
  });
});

describe('batch --rows: tables that change', () => {
  test('batch: a text file that has another content only while its row is read is not sent', async () => {
    const { run, sent, state, cwd } = await prepareTable('note@=\na.txt\nb.txt\n');
    const note = (name: string, text: string) => writeFileSync(join(cwd, name), text);
    note('a.txt', 'A');
    note('b.txt', 'B');
    const { open, stat } = promises;
    let isRead = false;
    state.onSent = () => {
      note('b.txt', 'B2');
      replaceFunction(promises, 'open', (...args) => {
        isRead ||= String(args[0]).endsWith('b.txt');
        return open(...args);
      });
      // The row is compared with the recorded one after it was read.
      replaceFunction(promises, 'stat', ((...args: Parameters<typeof stat>) => {
        if (isRead) note('b.txt', 'B');
        isRead = false;
        return stat(...args);
      }) as typeof stat);
    };
    const { stderr } = await run();
    expect(stderr).toContain('b.txt changed while being read; no run was created');
    expect(sent).toEqual(['{"note":"A"}']);
  });

  const table = (...rows: string[]) => ['customer,n', ...rows, ''].join('\n');

  test('batch: rows that were inserted, moved or removed need no flag, and keep their numbers (fault 122)', async () => {
    const { run, sent, write, cwd, wfr } = await prepareTable(table('A,1', 'B,2', 'C,3'));
    await run();
    write(table('X,0', 'C,3', 'A,1', 'B,2'));
    expect((await run()).exitCode).toBe(0);
    write(table('X,0', 'B,2'));
    expect(await run()).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('2 finished; 2 earlier rows replaced or removed'),
    });
    expect(sent).toHaveLength(4);
    const report = ['--report', 'json=r.json'];
    const { stdout } = await wfr(['results', 'out.jsonl', '-o', 'jsonl', ...report], { cwd });
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows.map(({ row, label, outcome }) => [row, label, outcome])).toEqual([
      [6, 'rows.csv:2', 'finished'],
      [3, 'rows.csv:3', 'finished'],
      [4, 'rows.csv:3', 'gone'],
      [2, 'rows.csv:4', 'gone'],
    ]);
    const { runs } = JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8'));
    expect(runs.map(({ row }: { row: number }) => row)).toEqual([6, 3]);
  });

  test('batch: a failed row that has moved is named by its new line', async () => {
    const { run, write, state } = await prepareTable(table('A,1'));
    state.answerOf = () => 'fail';
    expect((await run()).stderr).toContain('failed at step S, rows.csv:2: m\n');
    write(table('X,0', 'A,1'));
    state.answerOf = () => 'finish';
    expect((await run()).stderr).toContain('failed at step S, rows.csv:3 (row 2): m\n');
  });

  test('batch --limit: rows that are gone are none of those that wait', async () => {
    const { run, write } = await prepareTable(table('A,1', 'B,2'));
    await run();
    write(table('B,2'));
    await run();
    write(table('B,2', 'C,3', 'D,4'));
    expect((await run('--limit', '1')).stderr).toContain(
      '3 rows: 2 finished, 1 waiting; 1 earlier row replaced or removed',
    );
  });

  test('batch --save-outputs: a row that was inserted has a file of its own, named by its number', async () => {
    const { run, write, cwd } = await prepareTable(table('A,1', 'B,2'), '--save-outputs', 'outputs');
    await run();
    write(table('X,0', 'A,1', 'B,2'));
    expect((await run()).exitCode).toBe(0);
    expect(readdirSync(join(cwd, 'outputs')).sort()).toEqual(['row-2.json', 'row-3.json', 'row-5.json']);
  });

  test('batch: without --label, a row that appears when another one has gone is held, and rows that are only added are sent', async () => {
    const { run, sent, write } = await prepareTable(table('A,1', 'B,2'));
    await run();
    write(table('A,1', 'B,3'));
    const held = await run();
    expect(held.exitCode).toBe(3);
    expect(held.stderr).toContain('changed, or new in place of a sent row');
    expect(sent).toHaveLength(2);
    write(table('A,1', 'B,3', 'C,4'));
    expect((await run()).exitCode).toBe(3);
    expect(sent).toHaveLength(3);
    expect((await run('--send-changed')).exitCode).toBe(0);
    expect(sent).toHaveLength(4);
  });

  test('batch: why rows are held is said once, also of those that a later command holds', async () => {
    const { run, write, wfr, cwd } = await prepareTable(table('A,1', 'B,2', 'C,3'));
    await run();
    write(table('A,1', 'B,4', 'C,3'));
    await run();
    write(table('A,1', 'B,4', 'C,5', 'D,6'));
    expect((await run()).stderr).toContain(
      '\n  3 held: changed, or new in place of a sent row\n    rows.csv:3-5\n',
    );
    const { stdout } = await wfr(['results', 'out.jsonl', '--rows'], { cwd });
    expect(stdout).toMatch(/^rows\.csv:4 +held: changed, or new in place of a sent row$/m);
  });

  test('batch: while an invalid row may be one that is gone, the command for corrected rows has --send-changed', async () => {
    const { run, sent, state, write, wfr, cwd } = await prepareTable('customer,n:=\nA,1\nB,2\nC,x\n');
    state.answerOf = (inputs) => (inputs.includes('"n":2') ? 'fail' : 'finish');
    await run();
    write('customer,n:=\nA,1\nB,3\nC,x\n');
    const corrected = /^Once invalid rows are corrected: wfr batch .* --send-changed$/m;
    expect((await run('--send-changed')).stderr).toMatch(corrected);
    const { stdout } = await wfr(['results', 'out.jsonl'], { cwd });
    expect(stdout).toContain(
      '\nOnce invalid rows are corrected, add --send-changed to the wfr batch command.\n',
    );
    write('customer,n:=\nA,1\nB,3\nC,4\n');
    expect((await run('--send-changed')).exitCode).toBe(0);
    expect(sent).toHaveLength(4);
  });

  test('batch --label: a row with another content is held, and one that was removed and one that was added are not', async () => {
    const { run, sent, write } = await prepareTable(table('A,1', 'B,2', 'C,3'), '--label', 'customer');
    await run();
    write(table('A,1', 'B,5', 'D,4'));
    const held = await run();
    expect(held.stderr).toContain('2 finished, 1 held; 2 earlier rows replaced or removed');
    expect(held.stderr).toContain('rows.csv:3 (B)');
    expect(sent).toHaveLength(4);
    expect((await run()).exitCode).toBe(3);
    expect(sent).toHaveLength(4);
  });

  test('batch --label: the same label twice tells nothing, so that a row that appears is held', async () => {
    const { run, sent, write } = await prepareTable(table('A,1', 'A,2', 'B,3'), '--label', 'customer');
    await run();
    write(table('A,1', 'A,2', 'C,4'));
    const { stderr } = await run();
    expect(stderr).toContain('1 held');
    expect(stderr).toContain('changed, or new in place of a sent row; label customer is new or not unique');
    expect(sent).toHaveLength(3);
  });

  test('batch: equal rows are rows of their own, and a duplicate that is removed never causes a run', async () => {
    const { run, sent, write, state } = await prepareTable(table('A,1', 'A,1'));
    state.answerOf = () => (sent.length === 0 ? 'finish' : 'drop');
    expect((await run()).exitCode).toBe(6);
    expect(sent).toHaveLength(2);
    write(table('A,1'));
    // The finished one is the row, and the unknown one is gone.
    const { exitCode, stderr } = await run();
    expect(exitCode).toBe(6);
    expect(stderr).toContain('1 finished, 1 unknown');
    expect(sent).toHaveLength(2);
  });

  test('batch: equal rows of which one failed and one still ran keep their lines in a command that continues', async () => {
    const { run, wfr, cwd, sent, state } = await prepareTable(table('A,1', 'A,1', 'A,1'));
    state.answerOf = () => (['fail', 'run', 'finish'] as const)[sent.length] ?? 'drop';
    state.poll = 'RUNNING';
    const lines = async () => {
      const { stdout } = await wfr(['results', 'out.jsonl', '-o', 'jsonl'], { cwd });
      return stdout
        .trimEnd()
        .split('\n')
        .map((line) => {
          const { row, label, id } = JSON.parse(line);
          return [row, label, id];
        });
    };
    await run('--timeout', '0', '--keep-going');
    const before = await lines();
    expect(before.map(([row, label]) => [row, label])).toEqual([
      [2, 'rows.csv:2'],
      [3, 'rows.csv:3'],
      [4, 'rows.csv:4'],
    ]);
    state.poll = 'FINISHED';
    await run();
    expect(await lines()).toEqual(before);
    expect(sent).toHaveLength(3);
  });

  test('batch: equal rows whose document is missing keep their lines in a command that is run again', async () => {
    const { run, wfr, cwd, sent } = await prepareTable(
      'customer,scan@\nA,none.pdf\nB,none.pdf\nA,none.pdf\n',
    );
    const labels = async () => {
      const { stdout } = await wfr(['results', 'out.jsonl', '-o', 'jsonl'], { cwd });
      return [...stdout.matchAll(/"row":(\d+),"label":"rows\.csv:(\d+)"/g)].map(([, row, line]) => [
        row,
        line,
      ]);
    };
    for (let count = 0; count < 3; count++) {
      await run();
      expect(await labels()).toEqual([
        ['2', '2'],
        ['3', '3'],
        ['4', '4'],
      ]);
    }
    expect(sent).toEqual([]);
  });

  test('batch: a row whose document is missing is not the one that its latest document has moved to', async () => {
    const { run, sent, cwd, write } = await prepareTable('customer,scan@\nA,a.pdf\n');
    const path = join(cwd, 'a.pdf');
    writeFileSync(path, '1');
    await run();
    writeFileSync(path, '2');
    expect((await run('--send-changed')).exitCode).toBe(0);
    renameSync(path, join(cwd, 'b.pdf'));
    write('customer,scan@\nA,a.pdf\nA,b.pdf\n');
    const { exitCode, stderr } = await run();
    expect({ exitCode, stderr }).toEqual({
      exitCode: 3,
      stderr: expect.stringContaining('1 finished, 1 invalid'),
    });
    expect(sent).toHaveLength(2);
  });

  test('batch: a row whose document was archived after success is finished, and one whose document was replaced is held', async () => {
    const { run, sent, cwd } = await prepareTable('customer,scan@\nA,a.pdf\nB,b.pdf\n');
    writeFileSync(join(cwd, 'a.pdf'), 'A');
    writeFileSync(join(cwd, 'b.pdf'), 'B');
    await run();
    unlinkSync(join(cwd, 'a.pdf'));
    expect(await run()).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('2 finished') });
    // It is there, and may have another content.
    mkdirSync(join(cwd, 'a.pdf'));
    expect(await run()).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('1 invalid') });
    rmdirSync(join(cwd, 'a.pdf'));
    writeFileSync(join(cwd, 'b.pdf'), 'B2');
    expect(await run()).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('1 held') });
    unlinkSync(join(cwd, 'b.pdf'));
    expect(await run()).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('1 held') });
    expect(sent).toHaveLength(2);
  });

  test('batch: while the document of a changed row is missing, the row is gone, and yet it is held afterwards', async () => {
    const { run, sent, cwd, write } = await prepareTable('customer,scan@\nA,a.pdf\nB,b.pdf\n');
    for (const name of ['a.pdf', 'b.pdf']) writeFileSync(join(cwd, name), name);
    await run();
    write('customer,scan@\nA,a.pdf\nB,c.pdf\n');
    const counts = '2 rows: 1 finished, 1 invalid; 1 earlier row replaced or removed';
    for (let night = 0; night < 2; night++)
      expect(await run()).toMatchObject({ exitCode: 3, stderr: expect.stringContaining(counts) });
    writeFileSync(join(cwd, 'c.pdf'), 'c.pdf');
    expect(await run()).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('1 held') });
    expect(sent).toHaveLength(2);
  });

  test('batch: a corrected row is no longer listed as invalid, also while another row is', async () => {
    const { run, sent, write } = await prepareTable('a:=\n1\nx\ny\n');
    expect((await run()).stderr).toContain('3 rows: 1 finished, 2 invalid');
    write('a:=\n1\n2\ny\n');
    const second = await run();
    expect(second.stderr).toContain('3 rows: 2 finished, 1 invalid; 1 run triggered now');
    expect(second.stderr).not.toContain('a:=x');
    expect(sent).toEqual(['{"a":1}', '{"a":2}']);
  });

  test('batch: white space of JSON, the order of columns and the name of a document are not content', async () => {
    const { wfr, sent } = await startCountingService();
    const cwd = folderWith({ 'a.pdf': 'A', 'rows.jsonl': '{"o":{"a":1},"scan":{"$document":"a.pdf"}}\n' });
    expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(0);
    renameSync(join(cwd, 'a.pdf'), join(cwd, 'b.pdf'));
    writeFileSync(join(cwd, 'rows.jsonl'), '{"scan": {"$document":"b.pdf"}, "o": { "a" : 1 } }\n');
    expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(0);
    expect(sent).toHaveLength(1);
    writeFileSync(join(cwd, 'rows.jsonl'), '{"scan":{"$document":"b.pdf"},"o":{"a":"1"}}\n');
    expect(await wfr(BATCH_ARGS, { cwd })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('1 held'),
    });
  });

  test('batch: a mistake in the last line is known before the first row is sent', async () => {
    const { run, sent } = await prepareTable(`${table('A,1', 'B,2')}"not closed\n`);
    const { exitCode, stderr } = await run();
    expect(exitCode).toBe(2);
    expect(stderr).toContain('rows.csv:4: is not CSV: a quote is not closed');
    expect(sent).toEqual([]);
  });

  test('batch: a command that a signal ended completes nothing, and one that was completed tells what has gone since', async () => {
    const { run, sent, write, wfr, cwd, state } = await prepareTable(table('A,1', 'B,2'));
    const signals = new Signals();
    state.onSent = () => signals.raise('SIGINT');
    expect((await wfr([...CSV, '--concurrency', '1'], { cwd, signals })).exitCode).toBe(130);
    expect(sent).toHaveLength(1);
    state.onSent = () => {};
    const completed = () => readEvents(join(cwd, 'out.jsonl')).filter(({ event }) => event === 'completed');
    expect(completed()).toEqual([]);
    expect((await run()).exitCode).toBe(0);
    expect(completed()).toHaveLength(1);
    write('');
    expect((await run()).exitCode).toBe(2);
    write('customer,n\n');
    expect((await run()).exitCode).toBe(0);
    expect(completed()).toHaveLength(1);
    write(table('A,1', 'C,9'));
    expect(await run()).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('1 held') });
    expect(sent).toHaveLength(2);
  });

  test('batch --shard: another table exits 2, and nothing is sent', async () => {
    const { run, sent, write } = await prepareTable(table('A,1', 'B,2', 'C,3'), '--shard', '1/2');
    expect((await run()).exitCode).toBe(0);
    write(table('A,1', 'C,3', 'B,2'));
    const { exitCode, stderr } = await run();
    expect(exitCode).toBe(2);
    expect(stderr).toContain('with --shard it must stay as it was');
    expect(sent).toHaveLength(2);
  });
});

describe('batch: settling rows', () => {
  test('batch --adopt <row>=none: restores what was known, does not send the row, and may be repeated', async () => {
    const { run, sent, state, wfr, cwd } = await prepareTable('n\n1\n2\n3\n');
    state.answerOf = (inputs) => (inputs.includes('1') ? 'drop' : inputs.includes('2') ? 'fail' : 'finish');
    expect((await run()).exitCode).toBe(6);
    state.answerOf = () => 'drop';
    expect((await run('--retry-failed', '3')).exitCode).toBe(6);
    expect(sent).toHaveLength(4);
    for (let time = 0; time < 2; time++) {
      const settled = await run('--adopt', '2=none', '--adopt', '3=none');
      expect(settled.stderr).toContain('1 finished, 1 failed, 1 waiting');
      expect(settled.stderr).toContain('failed at step S, rows.csv:3: m\n');
      expect(settled.exitCode).toBe(8);
      expect((await wfr(['results', 'out.jsonl'], { cwd })).exitCode).toBe(8);
    }
    expect(sent).toHaveLength(4);
    state.answerOf = () => 'finish';
    expect((await run()).exitCode).toBe(3);
    expect((await run('--adopt', '2=none', '--adopt', '4=other')).exitCode).toBe(3);
    expect(sent).toHaveLength(5);
    expect((await run('--adopt', '3=run-3')).exitCode).toBe(2);
  });

  test('batch --fail-fast: a row that waits counts in the exit code of results alone', async () => {
    const { run, sent, state, wfr, cwd } = await prepareTable('n\n1\n2\n');
    state.answerOf = (inputs) => (inputs.includes('1') ? 'fail' : 'drop');
    expect((await run()).exitCode).toBe(6);
    expect((await run('--adopt', '3=none')).exitCode).toBe(8);
    expect((await run('--retry-failed', '--fail-fast')).exitCode).toBe(1);
    expect(sent).toHaveLength(3);
    expect((await wfr(['results', 'out.jsonl'], { cwd })).exitCode).toBe(8);
  });

  test('batch --adopt <row>=none: a failed row whose two later triggers created nothing is failed again', async () => {
    const { run, state } = await prepareTable('n\n1\n');
    state.answerOf = () => 'fail';
    await run();
    state.answerOf = () => 'drop';
    expect((await run('--retry-failed')).exitCode).toBe(6);
    expect((await run('--resend-unknown')).exitCode).toBe(6);
    expect(await run('--adopt', '2=none')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('1 row: 1 failed'),
    });
  });

  test('batch --retry-failed <rows>: only these rows, and another one exits 2', async () => {
    const { run, sent, state, write } = await prepareTable('n\n1\n2\n3\n');
    state.answerOf = () => 'fail';
    expect((await run()).exitCode).toBe(1);
    state.answerOf = () => 'finish';
    expect((await run('--retry-failed', '2,4')).exitCode).toBe(3);
    expect(sent).toHaveLength(5);
    expect(await run('--retry-failed', '5')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--retry-failed: no row 5 is recorded'),
    });
    expect(await run('--retry-failed', '2')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--retry-failed: row 2 is finished, not failed, rejected or lost'),
    });
    // Of a range, the first one that is not.
    expect((await run('--retry-failed', '2-900,70-80')).stderr).toMatch(
      /2 problems\n.*: row 2 is finished, .*\n.*: no row 70 is recorded\n/,
    );
    expect(sent).toHaveLength(5);
    write('n\n1\n2\n4\n');
    state.answerOf = () => 'fail';
    await run('--send-changed');
    expect((await run('--retry-failed', '4')).stderr).toContain(
      '--retry-failed: row 4 is gone, not failed, rejected or lost; line 4 is row 5\n',
    );
  });
});

// The table of docs/batch.md: what a row was, what happened to it, and what the next commands do

type Before = 'rejected' | 'invalid' | 'finished' | 'failed' | 'running' | 'unknown' | 'lost' | 'held';
type Change = 'none' | 'moved' | 'gone' | 'back' | 'changed' | 'sent changed' | 'copied';

/** How many requests each change causes, and the words of the summary; `z` is another row, which has finished. */
const CELLS: Record<Change, (before: Before) => { sends: number; words: string[] }> = {
  none: (before) => ({ sends: before === 'invalid' ? 1 : 0, words: wordsOf(before) }),
  moved: (before) => ({ sends: before === 'invalid' ? 1 : 0, words: wordsOf(before) }),
  gone: (before) => ({ sends: 0, words: ['1 finished', ...goneOf(before)] }),
  back: (before) => ({ sends: before === 'invalid' ? 1 : 0, words: wordsOf(before) }),
  changed: (before) => {
    if (before === 'rejected' || before === 'invalid') return { sends: 1, words: ['2 finished'] };
    return { sends: 0, words: ['1 finished', '1 held', ...goneOf(before)] };
  },
  'sent changed': (before) => ({ sends: 1, words: ['2 finished', ...goneOf(before)] }),
  copied: (before) => ({
    sends: before === 'invalid' ? 1 : 0,
    words: [...wordsOf(before), 'as copies of other files: '],
  }),
};

function wordsOf(before: Before): string[] {
  if (before === 'finished' || before === 'invalid') return ['2 finished'];
  return ['1 finished', `1 ${before}`];
}

function goneOf(before: Before): string[] {
  if (before === 'running' || before === 'unknown') return [`1 ${before}`];
  return before === 'rejected' || before === 'invalid' ? [] : ['1 earlier row replaced or removed'];
}

const BEFORE: Before[] = ['rejected', 'invalid', 'finished', 'failed', 'running', 'unknown', 'lost', 'held'];

describe('batch: what a row was, and what happened to it', () => {
  test.each(
    BEFORE.flatMap((before) => Object.keys(CELLS).map((change) => [before, change as Change] as const)),
  )('batch --each: a row that is %s, and then %s', async (before, change) => {
    const { wfr, sent, state, write, path, cwd } = await prepareFolder({ 'a.pdf': 'A', 'z.pdf': 'Z' });
    const name = before === 'invalid' ? 'a.unknown' : 'a.pdf';
    if (before === 'invalid') renameSync(path('a.pdf'), path(name));
    const run = (...flags: string[]) =>
      wfr([...EACH, '--timeout', '2m', ...flags], { cwd, clock: new VirtualClock() });
    const answers: Partial<Record<Before, Answer>> = {
      ...{ rejected: 'reject', failed: 'fail', running: 'run', unknown: 'drop', lost: 'run' },
    };
    state.answerOf = (inputs) => (inputs === scan('A') ? (answers[before] ?? 'finish') : 'finish');
    state.poll = 'RUNNING';
    await run();
    if (before === 'lost') state.poll = 'LOST';
    if (before === 'held') write('a.pdf', 'A held');
    const first = await run();
    const shown =
      before === 'invalid' ? '1 finished, 1 invalid' : before === 'finished' ? '2 finished' : '1 finished';
    expect(first.stderr).toContain(shown);
    if (before !== 'finished') expect(first.stderr).toContain(`1 ${before}`);
    state.answerOf = () => 'finish';
    if (before === 'invalid' && change !== 'gone') renameSync(path(name), path('a.pdf'));
    const current = before === 'invalid' && change === 'gone' ? name : 'a.pdf';
    const content = readFileSync(path(current), 'utf8');
    if (change === 'moved') renameSync(path(current), path('moved.pdf'));
    if (change === 'gone' || change === 'back') unlinkSync(path(current));
    if (change === 'back') {
      await run();
      write(current, content);
    }
    if (change === 'changed' || change === 'sent changed') write(current, 'A2');
    if (change === 'copied') write('y.pdf', content);
    const earlier = sent.length;
    const { stderr, exitCode } = await run(...(change === 'sent changed' ? ['--send-changed'] : []));
    const { sends, words } = CELLS[change](before);
    for (const word of words) expect(stderr).toContain(word);
    // Nothing is lost with a row that has no run.
    if (before === 'rejected' || before === 'invalid') expect(stderr).not.toContain('replaced or removed');
    expect(sent.length - earlier).toBe(sends);
    const again = await run();
    expect({ sends: sent.length - earlier, exitCode: again.exitCode }).toEqual({ sends, exitCode });
  });
});

// Random histories of a folder and of a table, with signals at any time

interface Night {
  edits: { edit: 'write' | 'remove' | 'move' | 'copy'; from: number; to: number; text: number }[];
  answers: Answer[];
  flags: string[];
  /** After how many requests a signal ends the command; 0 for none. */
  stopAfter: number;
}

const nights: fc.Arbitrary<Night[]> = fc.array(
  fc.record({
    edits: fc.array(
      fc.record({
        edit: fc.constantFrom<Night['edits'][number]['edit']>('write', 'write', 'remove', 'move', 'copy'),
        from: fc.nat(3),
        to: fc.nat(3),
        text: fc.nat(5),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    answers: fc.array(fc.constantFrom<Answer>('finish', 'finish', 'fail', 'drop', 'run'), {
      minLength: 1,
      maxLength: 3,
    }),
    flags: fc.constantFrom<string[]>([], [], [], ['--send-changed'], ['--keep-going']),
    stopAfter: fc.constantFrom(0, 0, 0, 1, 2),
  }),
  { minLength: 2, maxLength: 6 },
);

test.each(['folder', 'table'])(
  'batch: random nights of a %s send no content twice, and the same command again sends nothing',
  async (kind) => {
    await fc.assert(
      fc.asyncProperty(nights, async (history) => {
        const { wfr, sent, state } = await startCountingService();
        const cwd = folderWith({ 'rows.csv': 'n\n' });
        mkdirSync(join(cwd, 'scans'));
        const files = new Map<number, number>();
        const save = () => {
          rmSync(join(cwd, 'scans'), { recursive: true });
          mkdirSync(join(cwd, 'scans'));
          for (const [name, text] of files) writeFileSync(join(cwd, 'scans', `${name}.pdf`), `text ${text}`);
          const rows = [...new Set(files.values())].map((text) => `${text}\n`);
          writeFileSync(join(cwd, 'rows.csv'), `n\n${rows.join('')}`);
        };
        for (const { edits, answers, flags, stopAfter } of history) {
          for (const { edit, from, to, text } of edits) {
            const known = files.get(from);
            if (edit === 'write') files.set(to, text);
            if (edit === 'remove') files.delete(from);
            if ((edit === 'move' || edit === 'copy') && known !== undefined) files.set(to, known);
            if (edit === 'move' && from !== to) files.delete(from);
          }
          save();
          const signals = new Signals();
          let requests = 0;
          state.poll = answers.includes('run') ? 'RUNNING' : 'FINISHED';
          state.answerOf = () => answers[requests % answers.length] ?? 'finish';
          state.onSent = () => {
            if (++requests === stopAfter) signals.raise('SIGINT');
          };
          const args = [...(kind === 'folder' ? EACH : CSV), '--timeout', '0', '--concurrency', '1'];
          const first = await wfr([...args, ...flags], { cwd, signals });
          expect([0, 1, 2, 3, 6, 8, 130]).toContain(first.exitCode);
          if (first.exitCode === 130) continue;
          const before = sent.length;
          const again = await wfr(args, { cwd });
          expect({ sent: sent.length - before, exitCode: again.exitCode }).toEqual({
            sent: 0,
            exitCode: first.exitCode,
          });
        }
        expect([...sent].sort()).toEqual([...new Set(sent)].sort());
        expect(readFileSync(join(cwd, 'out.jsonl'), 'utf8')).not.toContain('text ');
      }),
      { numRuns: effort(160) },
    );
  },
);

test('batch: a table that is sorted is continued, whatever its rows have become', async () => {
  const { wfr, sent, state } = await startCountingService();
  const cwd = folderWith({ 'rows.jsonl': numberedRows(9) });
  const answers: Answer[] = ['finish', 'fail', 'drop'];
  state.answerOf = () => answers[sent.length % 3] ?? 'finish';
  const args = [...BATCH_ARGS, '--concurrency', '1'];
  const first = await wfr(args, { cwd });
  writeFileSync(join(cwd, 'rows.jsonl'), numberedRows(9).trimEnd().split('\n').reverse().join('\n'));
  const second = await wfr(args, { cwd });
  expect(second.exitCode).toBe(first.exitCode);
  expect(second.stderr).toContain('9 rows: 3 finished, 3 failed, 3 unknown');
  expect(sent).toHaveLength(9);
});
