/** `wfr batch` with an existing results file: every row is sent once, whatever happened before. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import {
  BATCH_ARGS,
  EACH_SCAN,
  eventNamesByRow,
  FINISHED_ROW,
  numberedRows,
  readEvents,
  startBatchService,
} from '../../helpers/batch.js';
import { type CliOptions, runCli, Signals, temporaryFolder } from '../../helpers/cli.js';
import { CLOSED_URL } from '../../helpers/closed-port.js';
import { folderWith } from '../../helpers/files.js';
import { aFinishedRun, aRun, scriptedService } from '../../helpers/service.js';
import { LACKS } from '../../helpers/system.js';

describe('batch: resuming from a results file', () => {
  test('batch --retry-failed: a live line counts the rows that are retried as waiting until they have ended', async () => {
    const { wfr } = await startBatchService(undefined, ({ path }, reply) =>
      reply.send(200, { ...aRun({ status: 'FAILED' }), id: path.split('/').at(-1) }),
    );
    const cwd = folderWith({ 'rows.jsonl': numberedRows(3) });
    await wfr(BATCH_ARGS, { cwd });
    const terminal = { terminal: 100, env: { TERM: 'xterm', NO_COLOR: '1' } };
    const { stderr } = await wfr([...BATCH_ARGS, '--retry-failed', '--concurrency', '1'], {
      cwd,
      ...terminal,
    });
    expect(stderr.match(/\d\/3/g)?.[0]).toBe('0/3');
    expect(stderr).toMatch(/3 waiting.*1 failed, 1 running, 1 waiting.*3 rows: 3 failed/s);
  });

  test('batch: the same command does nothing after every row has FINISHED', async () => {
    const { posts, requests, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(5) });
    expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(0);
    const before = requests.length;
    const again = await wfr(BATCH_ARGS, { cwd });
    expect(again.exitCode).toBe(0);
    expect(again.stderr).toMatch(
      /^5 rows: 5 finished; no run triggered now; took \S+\nTo save the outputs: .*\n$/,
    );
    expect(requests).toHaveLength(before);
    expect(posts()).toHaveLength(5);
  });

  test('batch: a row is recorded as sent before its request is complete', async () => {
    const cwd = folderWith({ 'rows.jsonl': numberedRows(3) });
    const seen: boolean[] = [];
    const { wfr } = await startBatchService(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      const story = eventNamesByRow(join(cwd, 'out.jsonl'))[inputs.n] ?? [];
      seen.push(story.includes('sent'));
      reply.send(201, aFinishedRun());
    });
    await wfr(BATCH_ARGS, { cwd });
    expect(seen).toEqual([true, true, true]);
  });

  test('batch: a row with an id is watched again, not sent again', async () => {
    const { posts, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    expect((await wfr([...BATCH_ARGS, '--timeout', '0'], { cwd })).exitCode).toBe(8);
    expect(eventNamesByRow(join(cwd, 'out.jsonl'))).toEqual({
      1: FINISHED_ROW.slice(0, 3),
      2: FINISHED_ROW.slice(0, 3),
    });
    expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(0);
    expect(posts()).toHaveLength(2);
    expect(eventNamesByRow(join(cwd, 'out.jsonl'))).toEqual({ 1: FINISHED_ROW, 2: FINISHED_ROW });
  });

  test('batch: the duration of a run that had ended before the command continued is not known', async () => {
    let isEnded = false;
    const { wfr } = await startBatchService(
      (_request, reply) => reply.send(201, aRun({ id: 'run-1', status: 'RUNNING' })),
      (_request, reply) => reply.send(200, { ...(isEnded ? aFinishedRun() : aRun()), id: 'run-1' }),
    );
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    expect((await wfr([...BATCH_ARGS, '--timeout', '0'], { cwd })).exitCode).toBe(8);
    isEnded = true;
    expect((await wfr([...BATCH_ARGS, '--report', 'html=page.html'], { cwd })).exitCode).toBe(0);
    const { stdout } = await wfr(['results', 'out.jsonl', '-o', 'jsonl'], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'finished', duration: null });
    expect(readFileSync(join(cwd, 'page.html'), 'utf8')).toContain('not observed');
  });

  test('batch: the duration of a run whose end a later command saw is from its acceptance', async () => {
    let polls = 0;
    const { wfr } = await startBatchService(
      (_request, reply) => reply.send(201, aRun({ id: 'run-1', status: 'RUNNING' })),
      (_request, reply) => reply.send(200, { ...(++polls > 2 ? aFinishedRun() : aRun()), id: 'run-1' }),
    );
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    await wfr([...BATCH_ARGS, '--timeout', '0'], { cwd });
    expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(0);
    const { stdout } = await wfr(['results', 'out.jsonl', '-o', 'jsonl'], { cwd });
    expect(JSON.parse(stdout).duration).toBeGreaterThan(0);
  });

  test('batch: a row with an unknown outcome is listed with exit 6, and sent again only with --resend-unknown', async () => {
    let isFailing = true;
    let count = 0;
    const { posts, wfr } = await startBatchService((_request, reply) => {
      count++;
      if (isFailing && count === 2) reply.socket.destroy();
      else reply.send(201, { ...aFinishedRun(), id: `run-${count}` });
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(3) });
    const args = [...BATCH_ARGS, '--concurrency', '1'];
    const first = await wfr(args, { cwd });
    expect(first.exitCode).toBe(6);
    expect(first.stderr).toContain('3 rows: 2 finished, 1 unknown; took ');
    expect(first.stderr).toContain('  1 unknown, rows.jsonl:2: the connection to ');
    expect(eventNamesByRow(join(cwd, 'out.jsonl'))[2]).toEqual(['intent', 'sent', 'unknown']);
    isFailing = false;
    expect((await wfr(args, { cwd })).exitCode).toBe(6);
    expect(posts()).toHaveLength(3);
    expect((await wfr([...args, '--resend-unknown'], { cwd })).exitCode).toBe(0);
    expect(posts()).toHaveLength(4);
  });

  test('batch: a FAILED or rejected row is triggered again only with --retry-failed; a row that was never sent is sent', async () => {
    let isAccepting = false;
    const { posts, wfr } = await startBatchService(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      if (isAccepting) return reply.send(201, { ...aFinishedRun(), id: `new-${inputs.n}` });
      if (inputs.n === 1) return reply.send(422, { message: 'no' });
      reply.send(201, aRun({ id: 'x', status: 'FAILED', error: { step: 'Read', message: 'm' } }));
    });
    const cwd = folderWith({ 'rows.jsonl': '{"n":1}\n{"n":2}\n{"n":3,"d":{"$document":"later.pdf"}}\n' });
    const args = [...BATCH_ARGS, '--workflow-id-field', 'workflowId'];
    const first = await wfr(args, { cwd });
    expect(first.exitCode).toBe(3);
    expect(first.stderr).toMatch(/1 failed at step Read, rows\.jsonl:2: m\n/);
    expect(posts()).toHaveLength(2);
    isAccepting = true;
    writeFileSync(join(cwd, 'later.pdf'), 'x');
    expect((await wfr(args, { cwd })).exitCode).toBe(3);
    expect(posts()).toHaveLength(3);
    expect((await wfr([...args, '--retry-failed'], { cwd })).exitCode).toBe(0);
    expect(posts()).toHaveLength(5);
  });

  test('batch: a results file without any run may be continued at another service, which it names once', async () => {
    const rejecting = await startBatchService((_request, reply) => reply.send(422, { message: 'no' }));
    const accepting = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const args = [...BATCH_ARGS, '--retry-failed', '--workflow-id-field', 'workflowId'];
    await rejecting.wfr(args, { cwd });
    for (let time = 0; time < 2; time++) expect((await accepting.wfr(args, { cwd })).exitCode).toBe(0);
    const headers = readEvents(join(cwd, 'out.jsonl')).filter(({ event }) => event === 'batch');
    expect(headers).toMatchObject(
      [rejecting, accepting].map(({ baseUrl }) => ({ workflow: 'w', baseUrl: `${baseUrl}/` })),
    );
  });

  test('batch: a results file of another workflow, service, shard or input of all rows exits 2, and nothing is sent', async () => {
    const { requests, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(3) });
    await wfr(BATCH_ARGS, { cwd });
    const before = requests.length;
    const stderrOfRejected = async (args: string[], options: CliOptions = {}) => {
      const { exitCode, stderr } = await wfr(args, { cwd, ...options });
      expect(exitCode).toBe(2);
      return stderr;
    };
    expect(await stderrOfRejected(['batch', 'v', ...BATCH_ARGS.slice(2)])).toContain(
      'belongs to a batch with the workflow w, not v',
    );
    expect(await stderrOfRejected([...BATCH_ARGS, '--shard', '1/2'])).toContain(
      'with the shard 1/1, not 1/2',
    );
    expect(await stderrOfRejected(BATCH_ARGS, { env: { WFR_BASE_URL: CLOSED_URL } })).toContain(
      'with the baseUrl',
    );
    expect(await stderrOfRejected([...BATCH_ARGS, '-i', 'more=1'])).toContain(
      'belongs to a batch without the input more',
    );
    expect(requests).toHaveLength(before);
  });

  test('batch: a results file of one shard is not used for another one, even if no run exists', async () => {
    const { wfr } = await startBatchService((_request, reply) => reply.send(422, { message: 'no' }));
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    expect((await wfr([...BATCH_ARGS, '--shard', '1/2'], { cwd })).exitCode).toBe(5);
    expect(await wfr([...BATCH_ARGS, '--shard', '2/2'], { cwd })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('with the shard 1/2, not 2/2'),
    });
  });

  test('batch: a results file names the inputs of all rows that have changed, and stores no value', async () => {
    const { posts, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const args = [...BATCH_ARGS, '-i', 'region=EU', '-i', 'year=2026'];
    expect((await wfr(args, { cwd })).exitCode).toBe(0);
    expect(readFileSync(join(cwd, 'out.jsonl'), 'utf8')).not.toMatch(/"EU|2026"/);
    const changed = await wfr([...BATCH_ARGS, '-i', 'region=US', '-i', 'month=1'], { cwd });
    expect(changed.exitCode).toBe(2);
    expect(changed.stderr).toContain(
      'error: out.jsonl: belongs to a batch with another value of region, with the input year, which this command lacks, without the input month; correct that, or use another file with --results',
    );
    expect((await wfr(args, { cwd })).exitCode).toBe(0);
    expect(posts()).toHaveLength(2);
  });

  test('batch: an input of all rows that is named like a member of every object is rejected as another input', async () => {
    const { posts, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const run = (...args: string[]) => wfr([...BATCH_ARGS, ...args], { cwd });
    expect((await run('-i', 'region=EU')).exitCode).toBe(0);
    const other = await run('-i', 'region=EU', '-i', 'constructor=x');
    expect(other).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('without the input constructor;'),
    });
    expect(posts()).toHaveLength(2);
  });

  test('batch: while no run exists, the inputs of all rows may change, and the new ones are recorded', async () => {
    let isFixed = false;
    const { wfr } = await startBatchService((_request, reply) =>
      isFixed ? reply.send(201, aFinishedRun()) : reply.send(401, { message: 'who?' }),
    );
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const run = (input: string) => wfr([...BATCH_ARGS, '--workflow-id-field', 'both', '-i', input], { cwd });
    expect((await run('region=EU')).exitCode).toBe(4);
    isFixed = true;
    expect((await run('region=US')).exitCode).toBe(0);
    expect((await run('region=US')).exitCode).toBe(0);
    expect((await run('region=EU')).stderr).toContain('another value of region');
  });

  test('batch: rows that the service rejected are sent again with another input of all rows, and only then', async () => {
    const { posts, wfr } = await startBatchService(async (request, reply) => {
      const { inputs } = JSON.parse((await request.body()).toString());
      if (inputs.customer === 'ACME') reply.send(201, aFinishedRun());
      else reply.send(422, { message: 'inputs: missing input customer (string)' });
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const run = (...args: string[]) => wfr([...BATCH_ARGS, ...args], { cwd });
    const first = await run();
    expect(first.exitCode).toBe(5);
    const advice = '\nFor an input of all rows, add -i name=text or -i name@file.\n';
    expect(first.stderr).toContain(advice);
    expect((await wfr(['results', 'out.jsonl'], { cwd })).stdout).toContain(advice);
    expect((await run()).exitCode).toBe(5);
    expect(posts()).toHaveLength(2);
    expect((await run('-i', 'customer=Bolt')).exitCode).toBe(5);
    expect((await run('-i', 'customer=Bolt')).exitCode).toBe(5);
    expect(posts()).toHaveLength(4);
    // What is chosen decides, and what is wrong changes nothing.
    expect((await run('-i', 'customer=ACME', '--adopt', '9=none')).exitCode).toBe(2);
    expect((await run('-i', 'customer=Bolt', '--retry-failed', '2')).exitCode).toBe(5);
    expect(posts()).toHaveLength(5);
    expect((await run('-i', 'customer=ACME')).exitCode).toBe(0);
    expect((await run('-i', 'customer=ACME')).exitCode).toBe(0);
    expect(posts()).toHaveLength(7);
  });

  test.each([
    ['another row has a run', 'missing input customer', 1],
    ['another input is unknown', 'missing input customer; unknown parameter "n"', 3],
  ])(
    'batch: how to send an input with all rows is not said where %s',
    async (_case, message, finishedRow) => {
      const { wfr } = await startBatchService(async (request, reply) => {
        const { n } = JSON.parse((await request.body()).toString()).inputs;
        if (n === finishedRow) reply.send(201, aFinishedRun());
        else reply.send(422, { message: `inputs: ${message}` });
      });
      const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
      const { stderr } = await wfr(BATCH_ARGS, { cwd });
      expect(stderr).toContain('missing input customer');
      expect(stderr).not.toContain('add -i');
      const again = await wfr([...BATCH_ARGS, '-i', 'customer=A'], { cwd });
      if (finishedRow === 1)
        expect(again.stderr).toContain('use another file with --results, which sends all rows again\n');
    },
  );

  test('batch: while no run exists, the workflow and the service may change', async () => {
    const { wfr } = await startBatchService((_request, reply) =>
      reply.send(404, { message: 'no such workflow' }),
    );
    const { wfr: other, posts } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(3) });
    expect((await wfr([...BATCH_ARGS, '--concurrency', '1'], { cwd })).exitCode).toBe(5);
    const args = ['batch', 'v', ...BATCH_ARGS.slice(2)];
    const fixed = await other(args, { cwd });
    expect(fixed).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('3 rows: 3 finished; ') });
    expect(posts()).toHaveLength(3);
    expect((await other(BATCH_ARGS, { cwd })).stderr).toContain(
      'belongs to a batch with the workflow v, not w',
    );
    expect((await other(['results', 'out.jsonl'], { cwd })).exitCode).toBe(0);
  });

  test('batch --results -: what is written to stdout can be continued from as a file', async () => {
    const { posts, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(3) });
    const args = ['batch', 'w', '--rows', 'rows.jsonl', '-i', 'region=EU', '--rate', '0'];
    const first = await wfr([...args, '--results', '-', '--timeout', '0'], { cwd });
    expect(first.exitCode).toBe(8);
    writeFileSync(join(cwd, 'saved.jsonl'), first.stdout);
    expect((await wfr(['results', 'saved.jsonl'], { cwd })).stdout).toContain('3 rows: 3 running\nBegan 20');
    const second = await wfr([...args, '--results', 'saved.jsonl'], { cwd });
    expect(second).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('3 rows: 3 finished; ') });
    expect(posts()).toHaveLength(3);
  });

  test('batch: a partial last line is ignored, and an invalid line exits 2 with its line number', async () => {
    const { posts, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    await wfr(BATCH_ARGS, { cwd });
    const path = join(cwd, 'out.jsonl');
    const whole = readFileSync(path, 'utf8');
    // As if killed while the end of a row was written: the row is watched again.
    const cut = whole.slice(0, whole.lastIndexOf('"ended"') + 20);
    writeFileSync(path, cut);
    expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(0);
    expect(posts()).toHaveLength(2);
    expect(readEvents(path).filter(({ event }) => event === 'ended')).toHaveLength(2);
    writeFileSync(path, `${whole.replace('"intent"', 'intent')}`);
    const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/out\.jsonl:\d+: is not a line of a results file/);
  });

  test('batch: Ctrl-C exits 130 with the states of the rows recorded, and the same command continues', async () => {
    const signals = new Signals();
    const { triggered, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(20) });
    const args = [...BATCH_ARGS, '--concurrency', '1', '-v'];
    const first = await wfr([...args, '--report', 'json=r.json'], {
      cwd,
      signals,
      onOutput: (text) => text.includes('rows.jsonl:2  finished') && signals.raise('SIGINT'),
    });
    expect(first.exitCode).toBe(130);
    expect(triggered).toHaveLength(2);
    expect(first.stderr).toContain('Interrupted.\nTo continue: wfr batch');
    expect(JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8')).exitCode).toBe(130);
    // The known states are printed and reported, but not as a complete batch.
    const known = await wfr(['results', 'out.jsonl', '--report', 'html=r.html'], { cwd });
    // A row may have been about to be sent.
    expect([7, 8]).toContain(known.exitCode);
    expect(known.stderr).toBe('');
    expect(known.stdout).toContain('20 rows: 2 finished, 18 waiting\nBegan 20');
    expect(readFileSync(join(cwd, 'r.html'), 'utf8')).toContain('<h1>rows.jsonl: 2 of 2 rows finished');
    expect((await wfr(args, { cwd })).exitCode).toBe(0);
    expect(triggered).toHaveLength(20);
    const whole = Object.values(eventNamesByRow(join(cwd, 'out.jsonl'))).map((story) => story.at(-1));
    expect(whole).toEqual(Array(20).fill('ended'));
  });

  test('batch: a signal before the table was read does not call it empty, and the same command continues', async () => {
    const signals = new Signals();
    const { wfr, requests } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(3) });
    const { stderr, exitCode } = await wfr(['batch', 'w', '--rows', 'rows.jsonl', '-v'], {
      cwd,
      signals,
      env: { TRACEPARENT: 'invalid' },
      onOutput: (text) => text.includes('TRACEPARENT') && signals.raise('SIGINT'),
    });
    expect(exitCode).toBe(130);
    expect(stderr).toMatch(
      /\n0 rows: the table was not read\nInterrupted\.\nTo continue: wfr batch w --rows rows\.jsonl -v\n$/,
    );
    expect(stderr).not.toContain('Results file');
    expect(requests).toEqual([]);
  });

  test('batch: rows that were not started are counted if the number of rows is known', async () => {
    const signals = new Signals();
    const { wfr } = await startBatchService();
    const names = Array.from({ length: 9 }, (_, n) => `${n}.pdf`);
    const cwd = folderWith(Object.fromEntries(names.map((name) => [name, name])));
    const args = [...EACH_SCAN, ...names, '--results', 'o.jsonl', '--concurrency', '1', '-v'];
    const { stderr, exitCode } = await wfr(args, {
      cwd,
      signals,
      onOutput: (text) => text.includes('1.pdf ') && signals.raise('SIGINT'),
    });
    expect(exitCode).toBe(130);
    expect(stderr).toMatch(/^9 rows: 2 finished, .*[67] waiting; took /m);
  });
});

describe('batch: no row is sent twice or reported wrongly', () => {
  test('batch: a file that is not a results file exits 2 and is left unchanged', async () => {
    const { requests, wfr } = await startBatchService();
    const cwd = folderWith({
      'rows.jsonl': '{"n":1}\n{"n":2}',
      'other.jsonl': '{"n":1}\n{"n":2}',
      'note.txt': 'one line',
      'a.pdf': '%PDF\n%%EOF',
    });
    for (const name of ['other.jsonl', 'note.txt', 'a.pdf']) {
      const before = readFileSync(join(cwd, name), 'utf8');
      const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'rows.jsonl', '--results', name], {
        cwd,
      });
      expect({ name, exitCode }).toEqual({ name, exitCode: 2 });
      expect(stderr).toContain(`${name}:1: is not a line of a results file; the file was not changed`);
      expect(readFileSync(join(cwd, name), 'utf8')).toBe(before);
    }
    expect(requests).toEqual([]);
  });

  test.skipIf(LACKS.fifos)(
    'batch and results: a device or a pipe as results file exits 2, and nothing is sent or created',
    async () => {
      const { requests, wfr } = await startBatchService();
      const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
      execFileSync('mkfifo', [join(cwd, 'pipe')]);
      symlinkSync('/dev/zero', join(cwd, 'zero'));
      // A name that the message has as a word, too.
      mkdirSync(join(cwd, 'file'));
      for (const name of ['pipe', 'zero', 'file']) {
        const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'rows.jsonl', '--results', name], {
          cwd,
        });
        expect({ name, exitCode }).toEqual({ name, exitCode: 2 });
        expect(stderr).toContain(`--results ${name}: it is not a regular file`);
        const results = await wfr(['results', name], { cwd });
        expect([results.exitCode, results.stderr]).toEqual([
          2,
          expect.stringContaining(` ${name}: it is not a regular file`),
        ]);
      }
      expect(requests).toEqual([]);
      expect(readdirSync(cwd).sort()).toEqual(['file', 'pipe', 'rows.jsonl', 'zero']);
    },
  );

  test('batch: a signal decides the exit code even if no row was interrupted, with and without a report', async () => {
    for (const report of [[], ['--report', 'json=r.json']]) {
      const signals = new Signals();
      const { wfr } = await startBatchService((_request, reply) => {
        signals.raise('SIGINT');
        reply.send(201, aFinishedRun());
      });
      const cwd = folderWith({ 'rows.jsonl': numberedRows(6) });
      const { exitCode, stderr } = await wfr([...BATCH_ARGS, ...report, '--concurrency', '1'], {
        cwd,
        signals,
      });
      expect(exitCode).toBe(130);
      expect(stderr).toContain('6 rows: 1 finished, 5 waiting; took 0ms\nInterrupted.\n');
    }
  });

  test('batch: a row whose retry is rejected keeps its state, unknown or FAILED', async () => {
    let mode: 'drop' | 'fail' | 'busy' | 'refuse' | 'fine' = 'drop';
    const { posts, wfr } = await startBatchService((_request, reply) => {
      if (mode === 'drop') return void reply.socket.destroy();
      if (mode === 'busy') return reply.send(429, {}, { 'retry-after': '100000' });
      if (mode === 'refuse') return reply.send(422, { message: 'no' });
      reply.send(201, mode === 'fail' ? aRun({ status: 'FAILED', error: { step: 'S' } }) : aFinishedRun());
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    const args = [...BATCH_ARGS, '--workflow-id-field', 'workflowId'];
    expect((await wfr(args, { cwd })).exitCode).toBe(6);
    for (mode of ['busy', 'refuse'] as const) {
      const again = await wfr([...args, '--resend-unknown'], { cwd });
      expect(again.stderr).toContain('1 row: 1 unknown; ');
      const before = posts().length;
      expect((await wfr(args, { cwd })).exitCode).toBe(6);
      expect(posts()).toHaveLength(before);
    }
    mode = 'fail';
    expect((await wfr([...args, '--resend-unknown'], { cwd })).exitCode).toBe(1);
    mode = 'busy';
    expect((await wfr([...args, '--retry-failed'], { cwd })).stderr).toContain('1 row: 1 failed; ');
    const before = posts().length;
    expect((await wfr(args, { cwd })).exitCode).toBe(1);
    expect(posts()).toHaveLength(before);
    mode = 'fine';
    expect((await wfr([...args, '--retry-failed'], { cwd })).exitCode).toBe(0);
  });

  test('batch: after an invalid row or a rejected token is fixed, the same command continues', async () => {
    const { triggered, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': '{"n":1}\n{"n":\n' });
    const first = await wfr(BATCH_ARGS, { cwd });
    expect(first.exitCode).toBe(3);
    expect(first.stderr).toContain(
      '2 rows: 1 finished, 1 invalid; took 4s\n  1 invalid, rows.jsonl:2: not JSON: unexpected end at character 6\n',
    );
    writeFileSync(join(cwd, 'rows.jsonl'), numberedRows(2));
    expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(0);
    expect(triggered).toHaveLength(2);

    let isTokenValid = false;
    const guardedService = await startBatchService((_request, reply) =>
      isTokenValid ? reply.send(201, aFinishedRun()) : reply.send(401, { message: 'who?' }),
    );
    const elsewhere = folderWith({ 'rows.jsonl': numberedRows(3) });
    const args = [...BATCH_ARGS, '--workflow-id-field', 'workflowId'];
    expect((await guardedService.wfr(args, { cwd: elsewhere })).exitCode).toBe(4);
    isTokenValid = true;
    expect((await guardedService.wfr(args, { cwd: elsewhere })).exitCode).toBe(0);
  });

  test('batch: rows that are rejected before their request is complete are refused, not unknown', async () => {
    const { baseUrl } = await scriptedService((request, reply) => {
      if (request.method === 'POST') reply.send(422, { message: 'no' });
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(16) });
    const args = [...BATCH_ARGS, '--workflow-id-field', 'workflowId', '--concurrency', '16'];
    const { exitCode, stderr } = await runCli(args, { cwd, env: { WFR_BASE_URL: baseUrl } });
    expect(stderr).toContain('16 rows: 16 rejected; took ');
    expect(exitCode).toBe(5);
    expect((await runCli(['results', 'out.jsonl'], { cwd })).stdout).toContain(
      '16 rows: 16 rejected\nBegan 20',
    );
  });

  test('batch: a 500 is not retried', async () => {
    const { posts, wfr } = await startBatchService((_request, reply) =>
      reply.send(500, { message: 'broken' }),
    );
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    await wfr(BATCH_ARGS, { cwd });
    expect(posts()).toHaveLength(1);
  });

  test('batch --check: equal mistakes are one line with a count, and the last line counts the invalid rows', async () => {
    const { wfr } = await startBatchService();
    const cwd = temporaryFolder();
    const rows = Array.from({ length: 60 }, (_, row) => (row % 2 === 0 ? 'Jos\xe9,1\n' : 'Ann,1\n'));
    writeFileSync(join(cwd, 'rows.csv'), Buffer.from(`name,n:=\n${rows.join('')}Bob,x\n`, 'latin1'));
    const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv', '--check'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toBe(
      'wfr: error: 2 problems\n  rows.csv:2: has a NUL or U+FFFD, or bytes that are not valid UTF-8; save the table as UTF-8 (and 29 more rows)\n' +
        '  rows.csv:62: n:=x: not JSON: expected a value at character 1; for text, name the column n\n' +
        '  31 of 61 rows are invalid\n',
    );
  });

  test('batch --check: tables in Latin-1 or with missing cells are invalid', async () => {
    const { requests, wfr } = await startBatchService();
    const cwd = temporaryFolder();
    const check = async (bytes: Buffer | string) => {
      writeFileSync(join(cwd, 'rows.csv'), bytes);
      const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv', '--check'], { cwd });
      expect(exitCode).toBe(2);
      return stderr;
    };
    expect(await check(Buffer.from('name,n:=\nJos\xe9,1\n', 'latin1'))).toContain(
      'rows.csv:2: has a NUL or U+FFFD, or bytes that are not valid UTF-8',
    );
    expect(await check('a,b,c\n1,2,3\n4\n')).toContain('rows.csv:3: has 1 cell, but the header has 3');
    expect(requests).toEqual([]);
  });

  test('batch --results -: events are sanitized, and no row is sent after the reader of stdout has exited', async () => {
    const hostile = { ...aFinishedRun(), id: 'a\u009b31m\u202e##[x' };
    const { posts, wfr } = await startBatchService((_request, reply) => reply.send(201, hostile));
    const cwd = folderWith({ 'rows.jsonl': numberedRows(10) });
    const args = ['batch', 'w', '--rows', 'rows.jsonl', '--results', '-', '--concurrency', '1'];
    const { stdout } = await wfr(args, { cwd });
    expect(stdout).toContain('\\u009b31m\\u202e#\\u0023[x');
    expect(stdout).not.toMatch(/[\u0080-\u009f\u202e]|##\[/);
    const before = posts().length;
    const gone = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error(), { code: 'EPIPE' })),
    });
    const { exitCode, stderr } = await wfr(args, { cwd, stdout: gone });
    expect(exitCode).toBe(74);
    expect(stderr).toContain('its reader has gone away');
    expect(posts().length - before).toBeLessThan(2);
  });
});
