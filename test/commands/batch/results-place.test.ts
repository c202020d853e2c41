/** `wfr batch` without --results: the file beside the table or the files, and where there is none. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { numberedRows, readEvents, startBatchService } from '../../helpers/batch.js';
import { folderWith } from '../../helpers/files.js';
import { INVOICE } from '../../helpers/sandbox.js';
import { LACKS } from '../../helpers/system.js';

const RATE = ['--rate', '0'];
const SCANS = { 'work/scans/a/1.pdf': 'x', 'work/scans/b/2.pdf': 'y' };

/** Starts a service, and creates a folder with scans. */
async function prepare(files: Record<string, string> = SCANS) {
  const service = await startBatchService();
  const cwd = join(folderWith(files), 'work');
  const each = (...args: string[]) =>
    service.wfr(['batch', INVOICE, '--each', 'scan', ...RATE, ...args], { cwd });
  const entries = () => readdirSync(cwd, { recursive: true, encoding: 'utf8' }).sort();
  return { ...service, cwd, each, entries };
}

describe('batch without --results: a table', () => {
  test('batch: the rows of a table are recorded beside it, the first line on stderr says so, and the same command sends nothing again', async () => {
    const { wfr, triggered } = await startBatchService();
    const cwd = folderWith({ 'data/rows.csv': 'n\n1\n2\n' });
    const run = () => wfr(['batch', 'w', '--rows', 'data/rows.csv', ...RATE], { cwd });
    const first = await run();
    expect(first.exitCode).toBe(0);
    expect(first.stderr.split('\n')[0]).toBe(
      'Results file: data/rows.csv.w.results.jsonl; the same command continues from it.',
    );
    expect(readEvents(join(cwd, 'data/rows.csv.w.results.jsonl')).map(({ event }) => event)).toContain(
      'table',
    );
    const again = await run();
    expect({ exitCode: again.exitCode, triggered }).toEqual({ exitCode: 0, triggered: expect.any(Array) });
    expect(triggered).toHaveLength(2);
  });

  test.each<[file: string, args: string[]]>([
    ['rows.csv.w.results.jsonl', []],
    ['results.jsonl', ['--results', 'results.jsonl']],
  ])('batch: a table that cannot be read promises nothing, and leaves no new file %s', async (file, args) => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.csv': 'n\n1\n"2\n' });
    const run = () => wfr(['batch', 'w', '--rows', 'rows.csv', ...RATE, ...args], { cwd });
    const error = 'wfr: error: rows.csv:3: is not CSV: a quote is not closed\n';
    expect(await run()).toMatchObject({ exitCode: 2, stderr: error });
    expect(readdirSync(cwd)).toEqual(['rows.csv']);
    // One that was there before stays, even if it is empty.
    writeFileSync(join(cwd, file), '');
    expect(await run()).toMatchObject({ exitCode: 2, stderr: error });
    expect(readEvents(join(cwd, file)).map(({ event }) => event)).toContain('stopped');
    // So does one that has rows.
    rmSync(join(cwd, file));
    writeFileSync(join(cwd, 'rows.csv'), 'n\n1\n');
    expect(await run()).toMatchObject({ exitCode: 0 });
    writeFileSync(join(cwd, 'rows.csv'), 'n\n1\n"2\n');
    expect(await run()).toMatchObject({ exitCode: 2 });
    expect(readEvents(join(cwd, file)).map(({ event }) => event)).toContain('ended');
  });

  test('batch: the name of the file is that of the workflow, however it is given, and of the shard', async () => {
    const { wfr, baseUrl, triggered } = await startBatchService();
    const config = { defaultProfile: 'p', profiles: { p: { baseUrl, workflows: { invoices: INVOICE } } } };
    const cwd = folderWith({ 'rows.jsonl': numberedRows(4), 'wfr.json': JSON.stringify(config) });
    const env = { WFR_CONFIG: join(cwd, 'wfr.json') };
    const batch = (workflow: string, ...args: string[]) =>
      wfr(['batch', workflow, '--rows', 'rows.jsonl', ...RATE, ...args], { cwd, env });
    expect((await batch('invoices')).stderr).toContain('rows.jsonl.invoices.results.jsonl;');
    // A UUID in capital letters is the same one.
    const same = await batch(INVOICE.toUpperCase());
    expect(same.exitCode).toBe(0);
    expect(same.stderr).toContain('rows.jsonl.invoices.results.jsonl;');
    expect(triggered).toHaveLength(4);
    expect((await batch('invoices', '--shard', '1/2')).exitCode).toBe(0);
    expect(readdirSync(cwd).filter((name) => name.includes('results'))).toEqual([
      'rows.jsonl.invoices.1-of-2.results.jsonl',
      'rows.jsonl.invoices.results.jsonl',
    ]);
  });

  test.each([
    ['in/rows.jsonl', ['--rows', 'in/rows.jsonl']],
    ['in', ['--each', 'n', 'in/a.pdf']],
  ])(
    'batch: the file beside %s is continued where the workflow has another name now, as its rows, workflow and service are the same',
    async (start, rows) => {
      const { wfr, baseUrl, triggered } = await startBatchService();
      const config = {
        defaultProfile: 'p',
        profiles: { p: { baseUrl, workflows: { 'invoices.v1': INVOICE } } },
      };
      const cwd = folderWith({
        'in/rows.jsonl': '{"n":1}\n',
        'in/a.pdf': 'x',
        'wfr.json': JSON.stringify(config),
      });
      const batch = (env: Record<string, string>) => wfr(['batch', INVOICE, ...rows, ...RATE], { cwd, env });
      const named = { WFR_CONFIG: join(cwd, 'wfr.json') };
      const unnamed = `${start}.5b1f0c3e.results.jsonl`;
      expect((await batch({})).stderr).toContain(`file: ${unnamed}; `);
      expect((await batch(named)).stderr).toContain(`file: ${unnamed}; `);
      expect(triggered).toHaveLength(1);
      // The file of other rows.
      writeFileSync(join(cwd, `${start}.old`), '');
      renameSync(join(cwd, unnamed), join(cwd, `${start}.old.5b1f0c3e.results.jsonl`));
      expect((await batch(named)).stderr).toContain(`file: ${start}.invoices.v1.results.jsonl; `);
      expect(triggered).toHaveLength(2);
      expect((await batch({})).stderr).toContain(`file: ${start}.invoices.v1.results.jsonl; `);
      expect(triggered).toHaveLength(2);
      expect((await batch({ WFR_BASE_URL: `${baseUrl}/other` })).stderr).toContain(`file: ${unnamed}; `);
      // One that cannot be read may be that file.
      writeFileSync(join(cwd, `${start}.x.results.jsonl`), '?');
      expect(await batch({ WFR_BASE_URL: `${baseUrl}/third` })).toMatchObject({ exitCode: 2 });
      rmSync(join(cwd, `${start}.x.results.jsonl`));
      // Two files cannot both be continued, and a name that a user chose is none.
      renameSync(join(cwd, `${start}.invoices.v1.results.jsonl`), join(cwd, `${start}.results.jsonl`));
      copyFileSync(join(cwd, `${start}.results.jsonl`), join(cwd, `${start}.a.results.jsonl`));
      expect((await batch(named)).stderr).toContain(`file: ${start}.a.results.jsonl; `);
      copyFileSync(join(cwd, `${start}.a.results.jsonl`), join(cwd, `${start}.b.results.jsonl`));
      expect(await batch(named)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringMatching(/\.[ab]\.results\.jsonl has some of these rows/),
      });
    },
  );

  test('batch: --report and the next command use the default file', async () => {
    const { wfr } = await startBatchService((_request, reply) => reply.send(422, { message: 'no' }));
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const args = ['batch', 'w', '--rows', 'rows.jsonl', ...RATE, '--report', 'json=r.json'];
    const { exitCode, stderr } = await wfr(args, { cwd });
    expect(exitCode).toBe(5);
    expect(JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8')).runs).toHaveLength(2);
    expect(stderr).not.toContain('To save the outputs');
    expect(stderr).toContain('wfr batch w --rows rows.jsonl --rate 0 --report json=r.json\n');
  });
});

describe('batch without --results: the files of --each', () => {
  test('batch --each: a pattern without a file exits 2, and records nothing', async () => {
    const { wfr, requests } = await startBatchService();
    const cwd = folderWith({ 'other/a.pdf': 'a' });
    const { stderr, exitCode } = await wfr(['batch', INVOICE, '--each', 'a', 'scans/*.pdf'], { cwd });
    expect({ exitCode, requests: requests.length }).toEqual({ exitCode: 2, requests: 0 });
    expect(stderr).toBe('wfr: error: scans/*.pdf: no file matches this pattern\n');
    expect(readdirSync(cwd)).toEqual(['other']);
  });

  test('batch --each: the files of a pattern are recorded beside its folder, never in it', async () => {
    const { each, entries, triggered } = await prepare();
    const { exitCode, stderr } = await each('scans/**/*.pdf');
    expect(exitCode).toBe(0);
    const name = `scans.${INVOICE.slice(0, 8)}.results.jsonl`;
    expect(stderr.split('\n')[0]).toContain(`Results file: ${name};`);
    expect(entries().filter((path) => path.includes('results'))).toEqual([name]);
    await each('scans/**/*.pdf');
    expect(triggered).toHaveLength(2);
  });

  test('batch --each: the files of the working folder are recorded beside that', async () => {
    const { each, cwd } = await prepare({ 'work/1.pdf': 'x' });
    const { exitCode, stderr } = await each('*.pdf');
    expect(exitCode).toBe(0);
    const name = `${basename(cwd)}.${INVOICE.slice(0, 8)}.results.jsonl`;
    expect(stderr).toContain(`Results file: ${join('..', name)};`);
    expect(existsSync(join(dirname(cwd), name))).toBe(true);
  });

  test.each([
    ['further up', ['scans/a/1.pdf'], ['scans/a/1.pdf', 'scans/b/2.pdf']],
    ['further down', ['scans/a/1.pdf', 'scans/b/2.pdf'], ['scans/b/2.pdf']],
  ])(
    'batch --each: files that have another folder in common, %s, are not sent again',
    async (_where, first, second) => {
      const { each, triggered } = await prepare();
      expect((await each(...first)).exitCode).toBe(0);
      const { exitCode, stderr } = await each(...second);
      expect(exitCode).toBe(2);
      expect(stderr).toMatch(/--results <file.jsonl> is required: scans\S* has some of these rows/);
      expect(triggered).toHaveLength(first.length);
    },
  );

  test('batch --each: a results file that the pattern matches is no row', async () => {
    const { each, wfr, cwd, triggered } = await prepare({
      'work/data/1.pdf': 'x',
      'work/data/rows.csv': 'n\n1\n',
    });
    await wfr(['batch', 'w', '--rows', 'data/rows.csv', ...RATE], { cwd });
    const run = () => each('data/*', '--results', 'data/own.txt');
    expect((await run()).exitCode).toBe(0);
    expect((await run()).exitCode).toBe(0);
    expect(readdirSync(join(cwd, 'data')).sort()).toEqual([
      '1.pdf',
      'own.txt',
      'rows.csv',
      'rows.csv.w.results.jsonl',
    ]);
    // The row of the table, and two files.
    expect(triggered).toHaveLength(3);
  });

  test('batch --each: a file that is no results file is an input, and not written to', async () => {
    const { each, cwd, posts } = await prepare();
    const { exitCode, stderr } = await each('scans/a/1.pdf', '--results', 'scans/a/1.pdf');
    expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 2, posts: 0 });
    expect(stderr).toContain('same file as --results');
    expect(readFileSync(join(cwd, 'scans/a/1.pdf'), 'utf8')).toBe('x');
  });
});

describe('batch without --results: where it is required', () => {
  test.each([
    ['CI is set', ['--rows', 'rows.jsonl'], { CI: 'true' }],
    ['the table is standard input', ['--rows', '-'], {}],
    ['rows.jsonl.w.results.jsonl: it is not a regular file', ['--rows', 'rows.jsonl'], { BLOCKED: '1' }],
  ])(
    'batch: without a place for results, because %s, the command exits 2 and sends nothing',
    async (why, args, env) => {
      const { wfr, posts } = await startBatchService();
      const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
      if ('BLOCKED' in env) mkdirSync(join(cwd, 'rows.jsonl.w.results.jsonl'));
      const { exitCode, stderr } = await wfr(['batch', 'w', ...args], { cwd, env, stdin: '{"n":1}\n' });
      expect(stderr).toContain(why);
      expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 2, posts: 0 });
    },
  );

  test('batch: a folder of --results that does not exist is named, and nothing is sent', async () => {
    const { wfr, posts } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    const args = ['batch', 'w', '--rows', 'rows.jsonl', '--results', 'missing/r.jsonl'];
    const { exitCode, stderr } = await wfr(args, { cwd });
    expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 2, posts: 0 });
    expect(stderr).toContain(
      `--results missing/r.jsonl: the folder ${join(cwd, 'missing')} does not exist (ENOENT)\n`,
    );
  });

  test.skipIf(LACKS.devices)('batch: a device as the table requires --results', async () => {
    const { wfr } = await startBatchService();
    const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', '/dev/null']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--results <file.jsonl> is required: /dev/null is not a regular file');
  });

  test('batch: --check needs no results file, and creates none', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(2) });
    const { exitCode } = await wfr(['batch', 'w', '--rows', 'rows.jsonl', '--check'], {
      cwd,
      env: { CI: 'true' },
    });
    expect(exitCode).toBe(0);
    expect(readdirSync(cwd)).toEqual(['rows.jsonl']);
  });

  test('batch: a default file of another program is not written to', async () => {
    const { wfr, posts } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1), 'rows.jsonl.w.results.jsonl': 'mine\n' });
    const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'rows.jsonl'], { cwd });
    expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 2, posts: 0 });
    expect(stderr).toContain('is not a line of a results file; the file was not changed');
    writeFileSync(join(cwd, 'rows.jsonl.w.results.jsonl'), '');
    expect((await wfr(['batch', 'w', '--rows', 'rows.jsonl'], { cwd })).exitCode).toBe(0);
  });
});
