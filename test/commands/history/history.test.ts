/** `wfr history`: what it records and prints, and `@last` on other command lines. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  promises,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { appendClaim } from '../../helpers/batch.js';
import { type CliOptions, NO_HOME, runCli, Signals, temporaryFolder } from '../../helpers/cli.js';
import { AutoAdvancingClock } from '../../helpers/clock.js';
import { effort } from '../../helpers/effort.js';
import { folderWith } from '../../helpers/files.js';
import { bash, startWfr } from '../../helpers/process.js';
import { replaceFunction } from '../../helpers/replace-function.js';
import { ARCHIVE, FAILING, INVOICE, SLOW, startTestSandbox } from '../../helpers/sandbox.js';
import {
  acceptThenShow,
  aFinishedRun,
  aRun,
  type Handler,
  inTurn,
  scriptedService,
} from '../../helpers/service.js';
import { LACKS } from '../../helpers/system.js';

interface ListedRun {
  id: string;
  status: string;
  inputs: string[];
}

async function listHistory(env: Record<string, string>): Promise<ListedRun[]> {
  const { stdout } = await runCli(['history', '--json', '--limit', '10000'], { env });
  return JSON.parse(stdout) as ListedRun[];
}

/** Starts a sandbox, with a folder for the history. */
async function startHistorySandbox() {
  const { env: service, clock } = await startTestSandbox();
  const state = temporaryFolder();
  const env = { ...service, XDG_STATE_HOME: state };
  const wfr = (...args: string[]) => runCli(args, { env, clock });
  return { env, clock, wfr, file: join(state, 'wfr', 'history.jsonl') };
}

describe('history: recording and listing runs', () => {
  test('history: a run has its id, workflow, service, time, last status, version and input names, but no input values', async () => {
    const { env, wfr, file } = await startHistorySandbox();
    await wfr('run', FAILING, 'customer=secret value');
    const { stdout } = await wfr('run', '--detach', SLOW, 'label=another secret');
    const [latest, first, ...others] = await listHistory(env);
    expect(others).toEqual([]);
    expect(latest).toEqual({
      id: stdout.trim(),
      workflow: SLOW,
      baseUrl: env.WFR_BASE_URL,
      triggered: '2026-01-02T03:04:07.000Z',
      inputs: ['label'],
      status: 'PENDING',
      version: 'slow v1',
    });
    const ended = '2026-01-02T03:04:07.000Z';
    expect(first).toMatchObject({ workflow: FAILING, inputs: ['customer'], status: 'FAILED', ended });
    expect(readFileSync(file, 'utf8')).not.toContain('secret');
    if (!LACKS.fileModes) expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('history: a run is known by the names of its files, which are no values of inputs', async () => {
    const { env, wfr } = await startHistorySandbox();
    const folder = folderWith({ 'secret folder/acme 4711.pdf': '%PDF-1.7' });
    await wfr(
      'run',
      '-d',
      INVOICE,
      `invoice@${join(folder, 'secret folder/acme 4711.pdf')}`,
      'customer=ACME',
    );
    expect((await listHistory(env))[0]).toMatchObject({
      label: 'acme 4711.pdf',
      inputs: ['invoice', 'customer'],
    });
    const { stdout } = await wfr('history');
    expect(stdout).toMatch(/: acme 4711\.pdf {2}now\n/);
    expect(stdout).not.toContain('secret folder');
  });

  test('history: a header and one line for each run, the latest first, at most twenty without --limit, in every output format', async () => {
    const { wfr } = await startHistorySandbox();
    for (let run = 0; run < 22; run++) await wfr('run', '-d', SLOW, `label=${run}`);
    const { stdout, stderr, exitCode } = await wfr('history');
    const lines = stdout.trimEnd().split('\n');
    expect({ lines: lines.length, stderr, exitCode }).toEqual({
      lines: 21,
      stderr: expect.stringMatching(
        /^20 of 22 listed; --limit 22 lists all\nAs last recorded; .*: wfr status( [0-9a-f]{8}){10}\n$/,
      ),
      exitCode: 0,
    });
    expect(lines[0]).toMatch(/^ID {8}STATUS {3}NAME {5}AGE$/);
    expect(lines[1]).toMatch(/^[0-9a-f]{8} {2}PENDING {2}slow v1 {2}now$/);
    expect((await wfr('history', '-n', '3', '-o', 'id')).stdout.split('\n')).toHaveLength(4);
    expect((await wfr('history', '-n', '3', '--status', 'pending', '--workflow', SLOW)).stderr).toContain(
      '3 of 22 listed; --limit 22 lists all\n',
    );
    const { stdout: rows } = await wfr('history', '-o', 'jsonl', '-n', '22');
    expect(
      rows
        .trim()
        .split('\n')
        .map((row) => JSON.parse(row).id),
    ).toHaveLength(22);
  });

  test('history: an empty or disabled history is reported on stderr', async () => {
    const empty = await runCli(['history'], { env: { XDG_STATE_HOME: NO_HOME } });
    expect(empty).toMatchObject({ exitCode: 0, stdout: '', stderr: expect.stringContaining('no runs') });
    const off = await runCli(['history'], { env: { XDG_STATE_HOME: '/tmp', WFR_HISTORY: '0' } });
    expect(off).toMatchObject({ exitCode: 0, stdout: '', stderr: expect.stringContaining('WFR_HISTORY') });
  });

  /** Returns a batch of two rows that fail, and what the history lists of the latest one. */
  async function startHistoryBatch() {
    const { env, clock, file } = await startHistorySandbox();
    const cwd = folderWith({ 'rows.csv': 'customer\nACME\nInitech\n', 'other/x': '' });
    const wfr = (...args: string[]) => runCli(args, { env, clock, cwd });
    const batch = (...flags: string[]) => wfr('batch', FAILING, '--rows', 'rows.csv', ...flags);
    const latest = async () => {
      const { stdout } = await wfr('history', '-n', '1');
      const [, id = '', line = ''] = /\n([0-9a-f]{8}) +(.*)\n$/s.exec(stdout) ?? [];
      return { id, line: line.replace(/\s+/g, ' ') };
    };
    return { env, clock, cwd, file, wfr, batch, latest };
  }

  test('history: a batch is listed with its rows as its last command left them, and the time of a first one', async () => {
    const { cwd, wfr, batch, latest, file } = await startHistoryBatch();
    await batch('--results', 'a.jsonl', '--limit', '1');
    const first = await latest();
    expect(first.line).toBe('STOPPED failing v1: rows.csv 2s 2s 2 rows: 1 failed, 1 waiting (a.jsonl)');
    await batch('--results', 'a.jsonl');
    expect(await latest()).toEqual({
      id: first.id,
      line: 'FAILED failing v1: rows.csv 2s 2 rows: 2 failed (a.jsonl)',
    });
    writeFileSync(join(cwd, 'rows.csv'), 'customer\nACME\n');
    await batch('--results', 'a.jsonl');
    expect((await latest()).line).toBe('FAILED failing v1: rows.csv now 1 row: 1 failed (a.jsonl)');
    await wfr('batch', SLOW, '--rows', 'rows.csv', '--results', 'b.jsonl');
    expect((await latest()).line).toMatch(
      /^REJECTED 51000000…: rows\.csv 0ms now 1 row: 1 rejected \(b\.jsonl\)$/,
    );
    expect((await wfr('history', '-o', 'id')).stdout.split('\n')).toHaveLength(3);
    expect(readFileSync(file, 'utf8')).not.toContain('ACME');
  });

  test('history: a stopped batch has the command that continues it, in any folder and with its limit, and without values of inputs', async () => {
    const { env, clock, cwd, batch } = await startHistoryBatch();
    const next = async (folder = cwd) => {
      const { stderr } = await runCli(['history'], { env, clock, cwd: folder });
      return /^To continue.*$/m.exec(stderr)?.[0].replace(/[0-9a-f]{8}(?=[:,])/, '<id>');
    };
    const first = ['--fail-fast', '--concurrency', '1'];
    await batch('--results', 'a.jsonl', ...first);
    const command = `wfr batch ${FAILING} --rows rows.csv --results a.jsonl ${first.join(' ')}`;
    expect(await next()).toBe(`To continue <id>: ${command}`);
    const other = join(cwd, 'other');
    expect(await next(other)).toBe(`To continue <id>: cd ${cwd} && ${command}`);
    await batch('--results', 'a.jsonl');
    expect(await next()).toBeUndefined();
    await batch('--results', 'b.jsonl', '--concurrency', '1', '--limit', '1');
    const limited = `wfr batch ${FAILING} --rows rows.csv --results b.jsonl --concurrency 1 --limit 1`;
    expect(await next()).toBe(`To continue <id>: ${limited}`);
    await batch('--results', 'c.jsonl', ...first, '-i', 'note=Initrode');
    const inputs = `wfr batch ${FAILING} --rows rows.csv --results c.jsonl ${first.join(' ')} -i note=<as-before>`;
    expect(await next()).toBe(`To continue <id>: ${inputs}`);
    await batch('--results', 'd.jsonl', ...first, '-i', 'my note=Initrode');
    expect(await next()).toBe('To continue <id>, run its command again.');
  });

  test('history: the latest stopped batch has its command, unless its results file is that of a later one; others are counted', async () => {
    const { cwd, wfr, batch, latest } = await startHistoryBatch();
    const continued = async (...args: string[]) => {
      const { stderr } = await wfr('history', ...args);
      return [/^To continue .*--results (\S+)/m, /^Also stopped: (.+)$/m].map((pattern) =>
        pattern.exec(stderr)?.slice(1).join(' '),
      );
    };
    const ids: string[] = [];
    for (const file of ['a.jsonl', 'b.jsonl', 'c.jsonl']) {
      await batch('--results', file, '--limit', '1', '--concurrency', '1');
      ids.push((await latest()).id);
    }
    const [a, b] = ids;
    expect(await continued()).toEqual(['c.jsonl', `${b}, ${a}`]);
    const limited = (await wfr('results', b ?? '')).stdout;
    expect(limited).toContain('To send the waiting rows: wfr batch ');
    expect(limited).not.toContain('--limit');
    await batch('--results', 'd.jsonl', '--limit', '1');
    await batch('--results', 'd.jsonl', '--limit', '1');
    const all = (await wfr('results', 'd.jsonl')).stdout;
    expect(all).toMatch(/^Once failed rows are corrected: wfr batch .* d\.jsonl --send-changed$/m);
    expect(all).not.toContain('--limit');
    rmSync(join(cwd, 'c.jsonl'));
    expect(await continued()).toEqual(['b.jsonl', a]);
    rmSync(join(cwd, 'b.jsonl'));
    await batch('--results', 'b.jsonl');
    expect(await continued()).toEqual(['a.jsonl', undefined]);
    expect(await continued('--status', 'stopped')).toEqual(['a.jsonl', undefined]);
  });

  test('history, results: the command of a batch names its service where another one is set, unless it has one', async () => {
    const { env, clock, cwd, wfr } = await startHistoryBatch();
    const url = env.WFR_BASE_URL ?? '';
    const each = ['batch', FAILING, '--each', 'customer', '--results', 'a b.jsonl', '--timeout', '0'];
    writeFileSync(join(cwd, 'a.pdf'), '%PDF-1.7');
    const shown = async (own: Record<string, string>) => {
      const options = { env: { ...env, ...own }, clock, cwd };
      const results = await runCli(['results', 'a b.jsonl'], options);
      const history = own.WFR_PROFILE ? undefined : await runCli(['history'], options);
      const texts = [results.stdout, ...(history ? [history.stderr] : [])];
      const commands = texts.map((text) => /^To continue.*?: (wfr batch .*)$/m.exec(text)?.[1]);
      expect(new Set(commands).size).toBe(1);
      return commands[0];
    };
    const other = { WFR_BASE_URL: 'http://127.0.0.1:1' };
    for (const flags of [[], ['--base-url', url]]) {
      await wfr(...each, 'a.pdf', ...flags);
      for (const settings of [other, { ...other, WFR_PROFILE: 'missing' }])
        expect(await shown(settings)).toMatch(new RegExp(` --timeout 0 a\\.pdf --base-url ${url}/?$`));
      expect(await shown({})).toMatch(flags.length > 0 ? /--base-url/ : / a\.pdf$/);
    }
  });

  test('results: the command that continues is that of the batch, in any folder, unless its file was moved or replaced', async () => {
    const { env, clock, cwd, batch } = await startHistoryBatch();
    const textOf = async (file: string, folder = cwd) => {
      const { stdout } = await runCli(['results', join(cwd, file)], { env, clock, cwd: folder });
      return stdout;
    };
    const nextOf = async (...file: Parameters<typeof textOf>) =>
      /^(?:To continue|Once failed rows).*$/m.exec(await textOf(...file))?.[0];
    const args = ['--fail-fast', '--concurrency', '1'];
    await batch('--results', 'a.jsonl', ...args);
    const command = `wfr batch ${FAILING} --rows rows.csv --results`;
    expect(await nextOf('a.jsonl')).toBe(`To continue: ${command} a.jsonl ${args.join(' ')}`);
    expect(await nextOf('a.jsonl', join(cwd, 'other'))).toContain(`To continue: cd ${cwd} && ${command}`);
    await batch('--results', 'b.jsonl');
    expect(await nextOf('b.jsonl')).toBe(`Once failed rows are corrected: ${command} b.jsonl --send-changed`);
    renameSync(join(cwd, 'b.jsonl'), join(cwd, 'c.jsonl'));
    copyFileSync(join(cwd, 'a.jsonl'), join(cwd, 'b.jsonl'));
    for (const file of ['b.jsonl', 'c.jsonl']) {
      expect(await textOf(file)).toMatch(/^(?:To|Once) .* the wfr batch command( again)?\.$/m);
      expect(await textOf(file)).not.toContain(command);
    }
  });

  test('history and results: a command that ends with files after -- is printed, unless a flag would follow it', async () => {
    const { env, clock, wfr } = await startHistoryBatch();
    const cwd = folderWith({ '-a.pdf': '%PDF-1.7' });
    const run = (...args: string[]) => runCli(args, { env, clock, cwd });
    await run(
      'batch',
      FAILING,
      '--each',
      'customer',
      '--results',
      'a.jsonl',
      '--timeout',
      '0',
      '--',
      '-a.pdf',
    );
    expect((await run('results', 'a.jsonl')).stdout).toMatch(/\nTo continue: wfr batch .* -- -a\.pdf\n/);
    expect((await wfr('history')).stderr).toMatch(/^To continue \S+: cd .* && wfr batch .* -- -a\.pdf$/m);
    await run('batch', FAILING, '--each', 'customer', '--results', 'a.jsonl', '--', '-a.pdf');
    expect((await run('results', 'a.jsonl')).stdout).toContain(
      ', add --send-changed to the wfr batch command.',
    );
  });

  test('history: a batch that was killed is stopped, although its results file has just changed', async () => {
    const { env, clock, file, batch } = await startHistoryBatch();
    await batch('--results', 'a.jsonl');
    const [begun = ''] = readFileSync(file, 'utf8').trim().split('\n');
    writeFileSync(file, `${begun}\n`);
    for (const [isAlive, status] of [
      [true, 'RUNNING'],
      [false, 'STOPPED'],
    ] as const) {
      const { stdout } = await runCli(['history'], { env, clock, self: { isAlive: () => isAlive } });
      expect(stdout).toMatch(
        new RegExp(`\\n[0-9a-f]{8} {2}${status} .*\\n {2}2 rows: see wfr results [0-9a-f]{8}\\n$`),
      );
    }
  });

  test('history: the duration of a batch is that of its summary, with the time that its results file was locked', async () => {
    const { cwd, batch, latest } = await startHistoryBatch();
    appendClaim(join(cwd, 'a.jsonl'), { host: 'a-container', pid: 1, space: 'test pid:[1]' });
    expect((await batch('--results', 'a.jsonl')).stderr).toContain('2 rows: 2 failed; took 12s\n');
    expect((await latest()).line).toMatch(/ 12s 12s 2 rows: 2 failed \(a\.jsonl\)$/);
  });

  test('history: the last status of a row is the latest that any command has seen', async () => {
    const { clock, wfr, batch } = await startHistoryBatch();
    const statuses = async () =>
      JSON.parse((await wfr('history', '--json')).stdout).map((run: ListedRun) => run.status);
    await batch('--limit', '1', '--timeout', '0');
    expect(await statuses()).toEqual(['PENDING']);
    clock.advance(500);
    await wfr('status', '@last');
    expect(await statuses()).toEqual(['RUNNING']);
    await batch();
    expect(await statuses()).toEqual(['FAILED', 'FAILED']);
  });

  test('history: the status of a run that a batch has adopted is the one that the batch has seen', async () => {
    const loseAnswer: Handler = async (request, reply) => {
      await request.body();
      reply.reset();
    };
    const accept = acceptThenShow(aRun({ status: 'PENDING' }), aFinishedRun());
    const service = await scriptedService(inTurn(loseAnswer, accept));
    const options = {
      env: { WFR_BASE_URL: service.baseUrl, XDG_STATE_HOME: temporaryFolder() },
      cwd: folderWith({ 'rows.csv': 'customer\nACME\n' }),
    };
    const batch = ['batch', 'w', '--rows', 'rows.csv', '--results', 'a.jsonl'];
    expect((await runCli(batch, options)).exitCode).toBe(6);
    await runCli(['run', '-d', 'w', 'customer=ACME'], options);
    expect((await runCli([...batch, '--adopt', '2=run-1'], options)).exitCode).toBe(0);
    expect(await listHistory(options.env)).toMatchObject([{ id: 'run-1', status: 'FINISHED' }]);
  });

  test('history: a run that got no answer is listed as unknown, and is not the latest one; with --once, the file has it', async () => {
    let triggers = 0;
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      if (triggers++ === 0) reply.send(201, aRun({ status: 'PENDING' }));
      else reply.reset();
    });
    const cwd = folderWith({ 'a.txt': 'a' });
    const env = { WFR_BASE_URL: service.baseUrl, XDG_STATE_HOME: temporaryFolder() };
    const wfr = (...args: string[]) => runCli(args, { env, cwd });
    await wfr('run', '-d', 'w', 'customer=ACME');
    for (const flags of [[], [], ['--once', 'o.jsonl']])
      expect((await wfr('run', 'w', 'text@=a.txt', ...flags)).exitCode).toBe(6);
    const { stdout } = await wfr('history');
    const entry = '- +UNKNOWN +w: a\\.txt +\\S+\\n  a run may have been created: check the service\\n';
    expect(stdout).toMatch(new RegExp(`^ID .*\\n(${entry}){2}run-1 +PENDING +v1 +\\S+\\n$`));
    expect((await wfr('history', '--status', 'unknown')).stdout.match(/UNKNOWN/g)).toHaveLength(2);
    expect((await wfr('history', '-o', 'id')).stdout).toBe('run-1\n');
  });

  test('history: the rows of a large batch drive out neither other runs nor the batch, and take no more than their room', async () => {
    const { env, clock, cwd, file, wfr, latest } = await startHistoryBatch();
    const alone = (await wfr('run', '-d', SLOW, 'label=x')).stdout;
    const rows = Array.from({ length: 1_500 }, (_, row) => `${row} ${'x'.repeat(190)}\n`);
    writeFileSync(join(cwd, 'rows.csv'), `customer\n${rows.join('')}`);
    const { open } = promises;
    let release = () => {};
    const ended = new Promise<void>((resolve) => {
      release = resolve;
    });
    // The records of most rows are written at once.
    replaceFunction(promises, 'open', async (...args) => {
      if (String(args[0]).includes('-rows')) await ended;
      return open(...args);
    });
    const args = ['batch', FAILING, '--rows', 'rows.csv', '--label', 'customer', '--rate', '0'];
    const onOutput = (text: string) => text.includes('(900 x') && release();
    await runCli(args, { env, clock, cwd, onOutput });
    expect((await latest()).line).toMatch(/^FAILED failing v1: rows\.csv .* 1,500 rows: 1,500 failed$/);
    expect((await wfr('history')).stdout.split('\n')).toHaveLength(5);
    const last = (await wfr('history', '-o', 'id')).stdout.split('\n')[0];
    expect(last).not.toBe(alone.trim());
    expect((await wfr('status', '-o', 'id', '@last')).stdout.trim()).toBe(last);
    expect((await wfr('status', '-o', 'id', `@last:${SLOW}`)).stdout).toBe(alone);
    for (const end of ['-rows.jsonl', '-rows.1.jsonl'])
      expect(statSync(file.replace('.jsonl', end)).size).toBeLessThan(192 * 1024);
    expect(statSync(file).size).toBeLessThan(3 * 1024);
  });

  test('history: a batch is named by the path of its table, or of its files, from the working folder', async () => {
    const { env, clock } = await startHistorySandbox();
    const deep = join('x'.repeat(120), 'y'.repeat(120));
    const table = 'customer\nACME\n';
    const cwd = folderWith({
      ...{ 'scans/a.pdf': '%PDF-1.7 a', 'scans/b.pdf': '%PDF-1.7 b' },
      ...{ 'april/rows.csv': table, [join(deep, 'rows.csv')]: table },
    });
    const wfr = (folder: string, args: string[], stdin = '') =>
      runCli(args, { env, clock, cwd: join(cwd, folder), stdin });
    const names = async (folder: string) =>
      [...(await wfr(folder, ['history'])).stdout.matchAll(/ v\d: (\S+)/g)].map(([, name]) => name);
    const scans = ['batch', INVOICE, '-i', 'customer=A', '--each', 'invoice'];
    await wfr('april', ['batch', FAILING, '--rows', 'rows.csv']);
    for (const files of ['scans', 'scans/*.pdf']) await wfr('.', [...scans, files]);
    expect(await names('.')).toEqual([join('scans', '*'), join('april', 'rows.csv')]);
    expect(await names('april')).toEqual([join('..', 'scans', '*'), 'rows.csv']);
    await wfr('scans', [...scans, 'a.pdf', '--results', 'b.jsonl']);
    await wfr('april', ['batch', FAILING, '--rows', '-', '--results', 'c.jsonl'], table);
    expect((await names('scans')).slice(0, 3)).toEqual(['-', '*', '*']);
    // Of a long path, the end is kept.
    await wfr(deep, ['batch', FAILING, '--rows', 'rows.csv']);
    expect((await names('.'))[0]).toMatch(/y{120}.rows\.csv$/);
  });

  test('results: the id of a batch in the history stands for its results file, in any folder', async () => {
    const { env, clock, cwd, wfr, batch, latest } = await startHistoryBatch();
    await batch('--results', 'a b.jsonl');
    const { id } = await latest();
    const { stdout, stderr } = await wfr('history');
    expect({ stdout, stderr }).toEqual({
      stdout: expect.stringContaining(id),
      stderr: `For the results of a batch: wfr results ${id}\n`,
    });
    for (const folder of [cwd, join(cwd, 'other')]) {
      const results = await runCli(['results', id.toUpperCase()], { env, clock, cwd: folder });
      expect(results).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('2 rows: 2 failed') });
    }
    renameSync(join(cwd, 'a b.jsonl'), join(cwd, id));
    expect((await wfr('results', id)).stdout).toContain('2 rows: 2 failed');
    rmSync(join(cwd, id));
    expect(await wfr('results', id)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('a b.jsonl: no such file (ENOENT)'),
    });
    await batch('--results', '-');
    expect((await wfr('history')).stderr).toContain(` wfr results ${id}\n`);
    expect(await wfr('results', (await latest()).id)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(': this batch wrote its results to stdout\n'),
    });
  });

  test('status and watch: the id of a batch is no run, and the error names the command for its rows', async () => {
    const { wfr, batch, latest } = await startHistoryBatch();
    await batch('--results', 'a.jsonl');
    const { id } = await latest();
    for (const args of [
      ['status'],
      ['watch'],
      ['status', '--base-url', 'http://127.0.0.1:1', '--no-token'],
    ]) {
      const { stdout, stderr, exitCode } = await wfr(...args, id);
      expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
      expect(stderr).toContain(`${id}: is a batch, not a run; wfr results ${id} lists its rows\n`);
    }
  });

  test('history: a token in the name of a results file is not recorded', async () => {
    const { env, file, batch } = await startHistoryBatch();
    await batch('--results', `${env.WFR_TOKEN}.jsonl`);
    expect(readFileSync(file, 'utf8')).toContain('.jsonl"');
    expect(readFileSync(file, 'utf8')).not.toContain(env.WFR_TOKEN);
  });

  test('history: an id is an unexpected argument, and the error has the commands for a run and for a batch', async () => {
    const { stderr, exitCode } = await runCli(['history', 'e0fa8c1e']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('  To show a run: wfr status e0fa8c1e; a batch: wfr results e0fa8c1e\n');
  });

  test('history: a --limit that is not a number exits 2', async () => {
    const { exitCode, stderr } = await runCli(['history', '-n', 'all']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--limit all: expected a whole number from 1 to 100000000');
  });

  test('history and status: a run that a command saw end has its duration, any other has none', async () => {
    const { wfr } = await startHistorySandbox();
    const table = join(folderWith({ 'rows.csv': 'customer\nACME\n' }), 'rows.csv');
    await wfr('run', FAILING, 'customer=x');
    await wfr('batch', FAILING, '--rows', table);
    const { stdout: watched } = await wfr('run', '-d', FAILING, 'customer=y');
    await wfr('watch', watched.trim());
    const { stdout: unwatched } = await wfr('run', '-d', FAILING, 'customer=z');
    await wfr('run', FAILING, 'customer=z');
    expect((await wfr('status', unwatched.trim())).stdout).not.toContain('duration');
    expect((await wfr('status', watched.trim())).stdout).toMatch(/\nduration {3}2s\n/);
    const times = async (...args: string[]) =>
      (await wfr(...args)).stdout
        .trimEnd()
        .split('\n')
        .filter((line) => !line.startsWith('  '))
        .map((line) => line.split(/ {2,}/).slice(-2).join(' '));
    expect(await times('history')).toEqual([
      'DURATION AGE',
      '2s 2s',
      'failing v1 2s',
      '2s 4s',
      '2s 6s',
      '2s 8s',
    ]);
    expect(await times('status', watched.trim(), unwatched.trim())).toEqual([
      'DURATION AGE',
      '2s 4s',
      'failing v1 2s',
    ]);
  });

  test('history: a run that --once recorded as ended has no duration if another command saw it end', async () => {
    const { env, clock, wfr } = await startHistorySandbox();
    const file = join(temporaryFolder(), 'once.jsonl');
    const once = ['run', '--once', file, FAILING, 'customer=x'];
    await wfr(...once, '-d');
    await runCli(once, { env: { ...env, WFR_HISTORY: '0' }, clock });
    await wfr(...once);
    const [run, ...others] = await listHistory(env);
    expect(others).toEqual([]);
    expect(run).toMatchObject({ status: 'FAILED' });
    expect(run).not.toHaveProperty('ended');
  });

  test('history: watch and status update the status of a recorded run, and add no run', async () => {
    const { env, wfr } = await startHistorySandbox();
    const { stdout } = await wfr('run', '-d', FAILING, 'customer=x');
    const id = stdout.trim();
    await wfr('watch', id);
    expect(await listHistory(env)).toMatchObject([{ id, status: 'FAILED' }]);
    const { baseUrl } = await scriptedService((_request, reply) => reply.send(200, aFinishedRun()));
    await runCli(['status', 'run-1'], { env: { ...env, WFR_BASE_URL: baseUrl } });
    expect(await listHistory(env)).toHaveLength(1);
  });

  test('history: WFR_HISTORY=0 disables it, and a history that cannot be written fails no run', async () => {
    const { env, file } = await startHistorySandbox();
    const off = await runCli(['run', '-d', SLOW, 'label=x'], { env: { ...env, WFR_HISTORY: '0' } });
    expect(off.exitCode).toBe(0);
    expect(readdirSync(join(file, '..', '..'))).toEqual([]);
    const broken = await runCli(['run', '-d', SLOW, 'label=x'], {
      env: { ...env, XDG_STATE_HOME: NO_HOME },
    });
    expect(broken).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });
    expect(broken.stderr).not.toContain('history');
  });

  test.skipIf(LACKS.fullDevice)(
    'history: a run whose id could not be written to stdout is recorded',
    async () => {
      const { env } = await startHistorySandbox();
      const { exitCode } = await bash(`wfr run -d ${SLOW} label=x > /dev/full`, env);
      expect(exitCode).toBe(74);
      expect(await listHistory(env)).toMatchObject([{ workflow: SLOW }]);
    },
  );

  test('history: a write error is reported on a terminal, but not in a pipeline', async () => {
    const { env } = await startHistorySandbox();
    const run = (terminal?: number) =>
      runCli(['run', '-d', SLOW, 'label=x'], {
        ...(terminal && { terminal }),
        env: { ...env, XDG_STATE_HOME: NO_HOME, TERM: 'xterm', NO_COLOR: '1' },
      });
    expect((await run(200)).stderr).toContain('wfr: warning: the history cannot be written: ');
    expect((await run()).stderr).not.toContain('history');
  });

  test.skipIf(LACKS.fifos)('history: a FIFO in place of the file does not block a run', async () => {
    const { env, file, wfr } = await startHistorySandbox();
    mkdirSync(join(file, '..'), { recursive: true });
    execFileSync('mkfifo', [file]);
    expect((await wfr('run', '-d', SLOW, 'label=x')).exitCode).toBe(0);
    expect(await listHistory(env)).toEqual([]);
  });

  test('history: invalid records are ignored', async () => {
    const { env, file } = await startHistorySandbox();
    mkdirSync(join(file, '..'), { recursive: true });
    const whole = { id: 'whole', workflow: 'w', baseUrl: 'b', triggered: 't', inputs: [], status: 'FAILED' };
    const invalid = [{ status: 5 }, { inputs: [{}] }, { batch: 5 }, { results: {} }];
    const records = [whole, ...invalid.map((member, index) => ({ ...whole, id: `${index}`, ...member }))];
    writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    expect(await listHistory(env)).toMatchObject([{ id: 'whole' }]);
  });

  test.each([
    ['9 s is kept', 9_000, false],
    ['11 s, whose owner must have ended, is removed', 11_000, true],
  ])(
    'history: a log that is too large is renamed by one process: a lock of %s',
    async (_name, age, isRemoved) => {
      const { env, file, wfr } = await startHistorySandbox();
      const { clock } = await wfr('run', '-d', SLOW, 'label=x');
      const lock = join(file, '..', 'history.lock');
      const older = join(file, '..', 'history.1.jsonl');
      writeFileSync(file, `${readFileSync(file, 'utf8')}${' '.repeat(256 * 1024)}\n`);
      mkdirSync(lock);
      const time = (clock.now() - age) / 1_000;
      utimesSync(lock, time, time);
      await wfr('run', '-d', SLOW, 'label=x');
      expect({ hasLock: existsSync(lock), isRenamed: existsSync(older) }).toEqual({
        hasLock: !isRemoved,
        isRenamed: false,
      });
      await wfr('run', '-d', SLOW, 'label=x');
      expect({ hasLock: existsSync(lock), isRenamed: existsSync(older) }).toEqual({
        hasLock: !isRemoved,
        isRenamed: isRemoved,
      });
      expect(await listHistory(env)).toHaveLength(3);
    },
  );

  test('history: a relative XDG_STATE_HOME is ignored', async () => {
    const { env } = await startHistorySandbox();
    const cwd = temporaryFolder();
    const home = temporaryFolder();
    const relative = { ...env, XDG_STATE_HOME: 'state' };
    await runCli(['run', '-d', SLOW, 'label=x'], { env: relative, cwd, home });
    expect(readdirSync(cwd)).toEqual([]);
    expect(readdirSync(join(home, '.local/state'))).toEqual(['wfr']);
  });

  test('the history of a user without a home folder is not kept', async () => {
    const { stderr, exitCode } = await runCli(['history'], { home: '', env: {} });
    expect(exitCode).toBe(0);
    expect(stderr).toContain('WFR_HISTORY');
  });

  test.skipIf(LACKS.procfs)(
    'history: a state folder that cannot be created does not block a run',
    async () => {
      const { env } = await startHistorySandbox();
      const nowhere = { ...env, XDG_STATE_HOME: '/proc/nope' };
      // A real process, because it can be killed if it hangs.
      const limit = { timeout: 100_000, killSignal: 'SIGKILL' } as const;
      const { exitCode, stdout } = await startWfr(['run', '-d', SLOW, 'label=x'], nowhere, limit).ended;
      expect({ exitCode, stdout }).toEqual({
        exitCode: 0,
        stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/),
      });
    },
  );

  test('history: text of the service is sanitized', async () => {
    const state = temporaryFolder();
    const run = { ...aFinishedRun(), id: 'a\u001b[2J\n::error::x' };
    const { baseUrl } = await scriptedService(async (request, reply) => {
      await request.body();
      reply.send(200, run);
    });
    const env = { XDG_STATE_HOME: state, WFR_BASE_URL: baseUrl };
    await runCli(['run', 'w', 'a=1'], { env });
    const { stdout } = await runCli(['history'], { env });
    expect(stdout).toMatch(/^a\\u001b\[2J\\u000a::error::x {2}FINISHED/m);
  });

  test('history: concurrent processes lose no run while the file is rotated', async () => {
    const { env, file } = await startHistorySandbox();
    mkdirSync(join(file, '..'), { recursive: true });
    const old = JSON.stringify({ id: 'old', workflow: 'w', baseUrl: 'b', triggered: 't', inputs: [] });
    const lines = Math.ceil((256 * 1024) / (old.length + 1)) - 2;
    // The file ends with the partial line of a killed writer.
    writeFileSync(file, `${`${old}\n`.repeat(lines)}{"id":"torn`);
    const trigger = (n: number) => startWfr(['run', '-d', SLOW, `label=${n}`], env).ended;
    const processes = await Promise.all(Array.from({ length: effort(20) }, (_, n) => trigger(n)));
    // All of them may have written before the first one rotates.
    const ended = [...processes, await trigger(-1)];
    const ids = ended.map(({ stdout }) => stdout.trim());
    const kept = (await listHistory(env)).map(({ id }) => id);
    expect(kept.filter((id) => id !== 'old').sort()).toEqual(ids.sort());
    expect(readdirSync(join(file, '..')).sort()).toEqual(['history.1.jsonl', 'history.jsonl']);
    expect(statSync(file).size).toBeLessThan(20_000);
  });
});

describe('history: a disk that does not respond', () => {
  /** Makes every attempt to open a history file hang until the test has finished. */
  function hang(): void {
    const { open } = promises;
    const hanging: typeof open = (path, ...rest) =>
      String(path).includes('history') ? new Promise(() => {}) : open.call(promises, path, ...rest);
    const spy = vi.spyOn(promises, 'open').mockImplementation(hanging);
    onTestFinished(() => spy.mockRestore());
  }

  const WARNING = 'wfr: warning: the history cannot be written: the disk does not respond; ';

  async function start(args: readonly string[], options: Partial<CliOptions> = {}) {
    hang();
    const { baseUrl, requests } = await scriptedService(acceptThenShow(aRun(), aFinishedRun()));
    const env = { WFR_BASE_URL: baseUrl, XDG_STATE_HOME: temporaryFolder() };
    const result = await runCli(args, { ...options, env, clock: new AutoAdvancingClock() });
    return { ...result, requests: requests.length };
  }

  test('run: with a history that hangs, the id is printed first, the run is watched, and a warning follows (fault 91)', async () => {
    const { exitCode, stdout, stderr, requests } = await start(['run', 'w', 'a=1']);
    expect({ exitCode, stdout, requests }).toEqual({
      exitCode: 0,
      stdout: '{\n  "total": 1\n}\n',
      requests: 3,
    });
    expect(stderr).toMatch(/^Run run-1 /);
    expect(stderr).toContain('Finished: ');
    expect(stderr.indexOf(WARNING)).toBeGreaterThan(stderr.indexOf('Finished'));
  });

  test('status: with a history that hangs, the error of an unknown run does not say what is in it', async () => {
    hang();
    const { baseUrl } = await scriptedService((_request, reply) => reply.send(404, ''));
    const env = { WFR_BASE_URL: baseUrl, XDG_STATE_HOME: temporaryFolder() };
    const { stderr } = await runCli(['status', 'run-1'], { env, clock: new AutoAdvancingClock() });
    expect(stderr).toContain(`(404)\n  Check the id, and the base URL: ${baseUrl}/\n`);
  });

  test.each([
    [['run', '-d', 'w', 'a=1'], 'run-1\n'],
    [['watch', '-o', 'id', 'run-1'], 'run-1\n'],
    [['status', '-o', 'id', 'run-1'], 'run-1\n'],
  ])(
    'run, watch and status: with a history that hangs, %j prints its result and a warning',
    async (args, printed) => {
      const { exitCode, stdout, stderr } = await start(args);
      expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: printed });
      expect(stderr).toContain(WARNING);
    },
  );

  test('results: with a history that hangs, the command that continues is named in words', async () => {
    hang();
    const header =
      '{"event":"batch","format":3,"workflow":"w","baseUrl":"http://127.0.0.1:1/","shard":"1/1"}\n';
    const cwd = folderWith({ 'out.jsonl': `${header}{"event":"stopped","rows":2}\n` });
    const env = { XDG_STATE_HOME: temporaryFolder() };
    const { stdout } = await runCli(['results', 'out.jsonl'], { env, cwd, clock: new AutoAdvancingClock() });
    expect(stdout).toContain('\nTo continue, run the wfr batch command again.\n');
  });

  test('run: with a history that hangs, a signal ends the watching', async () => {
    const signals = new Signals();
    const onOutput = (text: string) => text.includes('RUNNING') && signals.raise('SIGTERM');
    const { exitCode, stderr } = await start(['run', 'w', 'a=1'], { signals, onOutput });
    expect(exitCode).toBe(143);
    expect(stderr).toContain('Interrupted; the run continues.\nTo watch it: wfr watch run-1\n');
  });
});

describe('history: @last', () => {
  test('history: @last is the latest run at the current service, and @last:<workflow> the latest of a workflow', async () => {
    const { wfr } = await startHistorySandbox();
    const first = (await wfr('run', '-d', SLOW, 'label=x')).stdout;
    const second = (await wfr('run', '-d', FAILING, 'customer=x')).stdout;
    const readIds = async (...ids: string[]) => (await wfr('status', '-o', 'id', ...ids)).stdout;
    expect(await readIds('@last')).toBe(second);
    expect(await readIds(`@last:${SLOW}`)).toBe(first);
    expect(await readIds(`@last:https://example.com/workflows/${SLOW.toUpperCase()}/edit`)).toBe(first);
    expect(await readIds('@last', second.trim(), `@last:${SLOW}`)).toBe(second + first);
    const watch = await wfr('watch', '@last');
    expect(watch.exitCode).toBe(1);
    expect(watch.stderr).toContain(`Run ${second.trim()} (version `);
  });

  test('watch: two names of one run are one run, whose documents have no folder of their own', async () => {
    const { wfr } = await startHistorySandbox();
    const folder = folderWith({ 'scan.pdf': '%PDF-1.7' });
    const id = (await wfr('run', '-d', ARCHIVE, `scan@${join(folder, 'scan.pdf')}`, 'title=x')).stdout.trim();
    const saved = join(folder, 'documents');
    expect((await wfr('watch', '@last', id, '--save-documents', saved)).exitCode).toBe(0);
    expect(readdirSync(saved)).toEqual(['copy.pdf']);
  });

  test('status: an id that only ends with @last is the id of a run, also beside @last', async () => {
    const { wfr } = await startHistorySandbox();
    await wfr('run', '-d', SLOW, 'label=x');
    const { stderr } = await wfr('status', '@last', 'run@last');
    expect(stderr).toContain('run@last');
  });

  test('history: @last without a matching run exits 2, and nothing is sent', async () => {
    const { env, wfr } = await startHistorySandbox();
    await wfr('run', '-d', SLOW, 'label=x');
    const service = await scriptedService((_request, reply) => reply.send(200, aRun()));
    const elsewhere = { ...env, WFR_BASE_URL: service.baseUrl };
    const { exitCode, stderr } = await runCli(['watch', '@last', '@last:w'], { env: elsewhere });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      `wfr: error: 2 problems\n  @last: the history has no such run at ${service.baseUrl}`,
    );
    expect(stderr).toContain(`  @last:w: the history has no such run at ${service.baseUrl}`);
    expect(service.requests).toEqual([]);
  });

  test('status: of several runs that the service does not know, those of another service have a block of their own', async () => {
    const { env, wfr } = await startHistorySandbox();
    const [one, other] = [await wfr('run', '-d', SLOW, 'label=x'), await wfr('run', '-d', SLOW, 'label=y')];
    const service = await scriptedService((_request, reply) => reply.send(404, { message: 'none' }));
    const elsewhere = { ...env, WFR_BASE_URL: service.baseUrl };
    const ids = [one, other].map(({ stdout }) => stdout.trim());
    const { stderr } = await runCli(['status', 'nope', ...ids], { env: elsewhere });
    expect(stderr).toBe(
      [
        'wfr: error: the service has no run nope (404)',
        '| none',
        `  Check the id (wfr history has no run with it), and the base URL: ${service.baseUrl}/`,
        `wfr: error: the service has none of these runs (404): ${ids.join(' ')}`,
        `  Triggered at another service: ${env.WFR_BASE_URL}`,
        '',
      ].join('\n'),
    );
  });

  test.each(['status', 'watch'])(
    '%s: where the service does not know a run, the error names the service that triggered it',
    async (command) => {
      const { env, wfr, file } = await startHistorySandbox();
      const id = (await wfr('run', '-d', SLOW, 'label=x')).stdout.trim();
      const service = await scriptedService((_request, reply) => reply.send(404, ''));
      const elsewhere = { ...env, WFR_BASE_URL: service.baseUrl };
      const { exitCode, stderr } = await runCli([command, id], { env: elsewhere });
      expect(exitCode).toBe(5);
      expect(stderr).toContain(
        `the service has no run ${id} (404)\n  Triggered at another service: ${env.WFR_BASE_URL}\n`,
      );
      const short = await runCli([command, id.slice(0, 8).toUpperCase()], { env: elsewhere });
      expect(short.stderr).toContain(`Triggered at another service: ${env.WFR_BASE_URL}\n`);
      const here = { id: 'run-8', workflow: 'w', baseUrl: `${service.baseUrl}/`, triggered: 't', inputs: [] };
      writeFileSync(file, `${JSON.stringify(here)}\n`, { flag: 'a' });
      const lost = await runCli([command, 'run-8'], { env: elsewhere });
      expect(lost.stderr).toContain(
        `  Check the id (wfr history lists yours), and the base URL: ${service.baseUrl}/\n`,
      );
      const unknown = await runCli([command, 'run-9'], { env: elsewhere });
      expect(unknown.stderr).toContain(
        `  Check the id (wfr history has no run with it), and the base URL: ${service.baseUrl}/\n`,
      );
    },
  );

  test.each(['status', 'watch'])(
    '%s: with a history that is off, or skipped as others may write to it, the error of an unknown run does not say what is in it',
    async (command) => {
      const { env, wfr, file } = await startHistorySandbox();
      const id = (await wfr('run', '-d', SLOW, 'label=x')).stdout.trim();
      const { baseUrl } = await scriptedService((_request, reply) => reply.send(404, ''));
      const elsewhere = { ...env, WFR_BASE_URL: baseUrl };
      const off = await runCli([command, id], { env: { ...elsewhere, WFR_HISTORY: '0' } });
      if (!LACKS.fileModes) chmodSync(join(file, '..'), 0o777);
      const skipped = LACKS.fileModes ? off : await runCli([command, id], { env: elsewhere });
      for (const { stderr } of [off, skipped])
        expect(stderr).toContain(`(404)\n  Check the id, and the base URL: ${baseUrl}/\n`);
    },
  );

  test('run: a home folder that does not exist is not made, and -v says that the history is not written', async () => {
    const { env } = await startTestSandbox();
    const home = join(temporaryFolder(), 'none');
    const { exitCode, stderr } = await runCli(['run', '-d', SLOW, 'label=x', '-v'], { env, home });
    expect({ exitCode, isMade: existsSync(home) }).toEqual({ exitCode: 0, isMade: false });
    expect(stderr).toContain(`the history cannot be written: there is no home folder ${home}; `);
    expect((await runCli(['run', '-d', SLOW, 'label=x'], { env, home })).stderr).not.toContain('history');
  });
});
