/** `wfr batch --save-outputs` and `--save-documents`, and `wfr watch --save-outputs`: files as runs end. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startBatchService } from '../../helpers/batch.js';
import { runCli } from '../../helpers/cli.js';
import { folderWith } from '../../helpers/files.js';
import { aFinishedRun, aRun, scriptedService } from '../../helpers/service.js';

const SCANS = { 'scans/a/1.pdf': 'x', 'scans/b/2.pdf': 'y' };
const uri = (text: string) => `data:text/plain;base64,${Buffer.from(text).toString('base64')}`;

/** Starts a service whose runs have a document in their output, and creates a folder with scans. */
async function prepare() {
  const service = await startBatchService(undefined, (request, reply) => {
    const id = request.path.split('/').at(-1) ?? '';
    reply.send(200, { ...aFinishedRun(), id, output: { total: 1, page: uri('page') } });
  });
  const cwd = folderWith(SCANS);
  const each = (...args: string[]) =>
    service.wfr(['batch', 'w', '--each', 'scan', 'scans/**/*.pdf', '--rate', '0', ...args], { cwd });
  return { ...service, cwd, each, read: (path: string) => readFileSync(join(cwd, path), 'utf8') };
}

describe('batch --save-outputs', () => {
  test('batch --save-outputs: each run that finishes is saved below the folder of the pattern, with the paths of its documents', async () => {
    const { each, read } = await prepare();
    const { exitCode } = await each(
      ...['--results', 'r.jsonl', '--save-outputs', 'saved', '--save-documents', 'docs'],
    );
    expect(exitCode).toBe(0);
    expect(JSON.parse(read('saved/a/1.pdf.json'))).toEqual({ total: 1, page: join('docs/a/1.pdf/page.txt') });
    expect(read('docs/b/2.pdf/page.txt')).toBe('page');
    // The record stays what the service sent.
    expect(read('r.jsonl')).toContain(uri('page'));
  });

  test('batch --save-outputs: what a failed run has for an output is not saved', async () => {
    const { wfr } = await startBatchService(undefined, (_request, reply) =>
      reply.send(200, { ...aRun({ status: 'FAILED' }), output: { total: 1 } }),
    );
    const cwd = folderWith({ 'rows.csv': 'n\n1\n' });
    const args = ['batch', 'w', '--rows', 'rows.csv', '--results', 'r.jsonl', '--save-outputs', 'saved'];
    expect((await wfr(args, { cwd })).exitCode).toBe(1);
    expect(readdirSync(join(cwd, 'saved'))).toEqual([]);
  });

  test('batch --save-outputs: rows with the same label are saved under their numbers', async () => {
    const { wfr, cwd, read } = await prepare();
    writeFileSync(join(cwd, 'rows.csv'), 'customer,n\nACME,1\nACME,2\nx,3\n');
    const args = ['batch', 'w', '--rows', 'rows.csv', '--label', 'customer', '--save-outputs', 'saved'];
    expect((await wfr([...args, '--results', 'r.jsonl'], { cwd })).exitCode).toBe(0);
    for (const name of ['row-2', 'row-3', 'x'])
      expect(JSON.parse(read(`saved/${name}.json`))).toMatchObject({ total: 1 });
  });

  test('batch --save-outputs: a label that has what looks like another line names the file', async () => {
    const { wfr, cwd, read } = await prepare();
    writeFileSync(join(cwd, 'rows.csv'), 'customer\nACME:3 (north)\n');
    const args = ['batch', 'w', '--rows', 'rows.csv', '--label', 'customer', '--save-outputs', 'saved'];
    expect((await wfr([...args, '--results', 'r.jsonl'], { cwd })).exitCode).toBe(0);
    expect(JSON.parse(read('saved/ACME_3_north_.json'))).toMatchObject({ total: 1 });
  });

  test('batch --save-outputs: a command that continues saves the rows whose end was not recorded', async () => {
    const { each, cwd, wfr, read } = await prepare();
    await each('--results', 'r.jsonl', '--save-outputs', 'saved');
    const withoutEnds = read('r.jsonl')
      .split('\n')
      .filter((line) => !/"(ended|table|close)"/.test(line.slice(0, 20)));
    writeFileSync(join(cwd, 'r.jsonl'), withoutEnds.join('\n'));
    rmSync(join(cwd, 'saved'), { recursive: true });
    const again = await each('--results', 'r.jsonl', '--save-outputs', 'saved');
    expect(again.exitCode).toBe(0);
    expect(existsSync(join(cwd, 'saved/b/2.pdf.json'))).toBe(true);
    const { exitCode } = await wfr(['results', 'r.jsonl', '--save-outputs', 'saved'], { cwd });
    expect(exitCode).toBe(0);
  });

  test('batch --save-outputs: a file with other content is kept, the row is recorded, and the batch goes on and exits 74', async () => {
    const { each, cwd, read, triggered } = await prepare();
    mkdirSync(join(cwd, 'saved/a'), { recursive: true });
    writeFileSync(join(cwd, 'saved/a/1.pdf.json'), 'mine');
    const { stderr, exitCode } = await each('--results', 'r.jsonl', '--save-outputs', 'saved');
    expect(exitCode).toBe(74);
    expect(stderr).toContain('it already exists');
    expect(stderr).toContain('The files of 1 row were not saved.');
    expect(stderr).toContain('2 finished');
    expect(triggered).toHaveLength(2);
    expect(read('saved/a/1.pdf.json')).toBe('mine');
    expect(existsSync(join(cwd, 'saved/b/2.pdf.json'))).toBe(true);
  });

  test('batch --save-outputs: a folder inside that of the inputs exits 2 before anything is sent', async () => {
    const { each, posts } = await prepare();
    const { stderr, exitCode } = await each('--results', 'r.jsonl', '--save-outputs', 'scans/saved');
    expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 2, posts: 0 });
    expect(stderr).toContain('must not be inside scans');
  });
});

describe('watch --save-outputs', () => {
  test('watch --save-outputs: the output of each finished run is a file with its id', async () => {
    const { baseUrl } = await scriptedService((request, reply) => {
      const id = request.path.split('/').at(-1) ?? '';
      reply.send(200, { ...aFinishedRun(), id, output: { of: id } });
    });
    const cwd = folderWith({});
    const env = { WFR_BASE_URL: baseUrl };
    const { exitCode } = await runCli(['watch', 'run-1', 'run-2', '--save-outputs', 'saved'], { cwd, env });
    expect(exitCode).toBe(0);
    expect(JSON.parse(readFileSync(join(cwd, 'saved/run-2.json'), 'utf8'))).toEqual({ of: 'run-2' });
    writeFileSync(join(cwd, 'saved/run-1.json'), 'mine');
    const again = await runCli(['watch', 'run-1', 'run-2', '--save-outputs', 'saved'], { cwd, env });
    expect(again.exitCode).toBe(74);
    expect(again.stderr).toMatch(/wfr watch .*--save-outputs saved run-1/);
    expect(readFileSync(join(cwd, 'saved/run-1.json'), 'utf8')).toBe('mine');
  });
});
