/** One file under two flags is rejected: it would be overwritten while it is in use. */
import { existsSync, linkSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { numberedRows, startBatchService } from '../helpers/batch.js';
import { folderWith } from '../helpers/files.js';
import { LACKS } from '../helpers/system.js';

/** Returns a folder with files, and links to them in a second folder. */
function folder() {
  const cwd = folderWith({
    'rows.jsonl': numberedRows(2),
    'a.pdf': '%PDF a',
    'text.txt': 'text',
    'in.json': '{}',
  });
  writeFileSync(join(cwd, 'with-document.json'), '{"d":{"$document":"a.pdf"}}');
  for (const name of ['rows.jsonl', 'a.pdf', 'text.txt'])
    linkSync(join(cwd, name), join(cwd, `hard-${name}`));
  if (LACKS.symlinks) return cwd;
  symlinkSync('a.pdf', join(cwd, 'soft-a.pdf'));
  symlinkSync('.', join(cwd, 'here'));
  symlinkSync('new.jsonl', join(cwd, 'soft-new.jsonl'));
  return cwd;
}

const ROWS = ['--rows', 'rows.jsonl'];
const RUN = ['run', 'w'];
const BATCH = ['batch', 'w'];

describe('a written file that is named a second time (fault 87)', () => {
  test.for<[string, string[], string]>([
    ['--results and --rows', [...BATCH, ...ROWS, '--results', 'rows.jsonl'], '--rows rows.jsonl: same file'],
    [
      '--results and --rows through a hard link',
      [...BATCH, ...ROWS, '--results', 'hard-rows.jsonl'],
      '--rows rows.jsonl: same file as --results hard-rows.jsonl',
    ],
    [
      '--report and --results, neither of which exists yet',
      [...BATCH, ...ROWS, '--results', 'new.jsonl', '--report', 'json=here/new.jsonl'],
      '--report json=here/new.jsonl: same file as --results new.jsonl',
    ],
    [
      '--report and --results through a link to what does not exist yet',
      [...BATCH, ...ROWS, '--results', 'soft-new.jsonl', '--report', 'json=new.jsonl'],
      '--report json=new.jsonl: same file as --results soft-new.jsonl',
    ],
    [
      '--report and --rows',
      [...BATCH, ...ROWS, '--results', 'new.jsonl', '--report', 'json=rows.jsonl'],
      '--rows rows.jsonl: same file as --report json=rows.jsonl',
    ],
    [
      '--results and a file of --each',
      [...BATCH, '--each', 'scan', 'a.pdf', 'text.txt', '--results', 'hard-text.txt'],
      'text.txt: same file as --results hard-text.txt',
    ],
    [
      '--results and a document of -i',
      [...BATCH, ...ROWS, '-i', 'd@a.pdf', '--results', 'soft-a.pdf'],
      '-i d@a.pdf: same file as --results soft-a.pdf',
    ],
    [
      '--report and a document of run',
      [...RUN, 'd@a.pdf', '--report', 'html=hard-a.pdf'],
      'd@a.pdf: same file as --report html=hard-a.pdf',
    ],
    [
      '--report and a document of an inputs file',
      [...RUN, '--inputs-file', 'with-document.json', '--report', 'html=a.pdf'],
      'a.pdf: same file as --report html=a.pdf',
    ],
    [
      '--report and --inputs-file',
      [...RUN, '--inputs-file', 'in.json', '--report', 'json=in.json'],
      '--inputs-file in.json: same file as --report json=in.json',
    ],
    [
      'two reports through a hard link',
      [...RUN, '--report', 'json=a.pdf', '--report', 'html=hard-a.pdf'],
      '--report html=hard-a.pdf: same file as --report json=a.pdf',
    ],
  ])('%s exit 2 before anything is sent', async ([_what, args, problem], { skip }) => {
    skip(LACKS.symlinks && /soft-|here/.test(args.join()));
    const { requests, wfr } = await startBatchService();
    const cwd = folder();
    const { exitCode, stderr } = await wfr(args, { cwd });
    expect(stderr).toContain(problem);
    expect(exitCode).toBe(2);
    expect(requests).toEqual([]);
    expect(readFileSync(join(cwd, 'a.pdf'), 'utf8')).toBe('%PDF a');
    expect(readFileSync(join(cwd, 'rows.jsonl'), 'utf8')).toBe(numberedRows(2));
    expect(existsSync(join(cwd, 'new.jsonl'))).toBe(false);
  });

  test.skipIf(LACKS.symlinks)(
    'results: a report over a results file exits 2, and the results are kept',
    async () => {
      const { wfr } = await startBatchService();
      const cwd = folder();
      await wfr([...BATCH, ...ROWS, '--results', 'out.jsonl'], { cwd });
      const before = readFileSync(join(cwd, 'out.jsonl'), 'utf8');
      const { exitCode, stderr } = await wfr(['results', 'out.jsonl', '--report', 'json=here/out.jsonl'], {
        cwd,
      });
      expect(stderr).toContain('out.jsonl: same file as --report json=here/out.jsonl');
      expect(exitCode).toBe(2);
      expect(readFileSync(join(cwd, 'out.jsonl'), 'utf8')).toBe(before);
    },
  );

  test('run: one document may be sent as two inputs', async () => {
    const { wfr } = await startBatchService();
    const reports = ['--report', 'json=/dev/null', '--report', 'html=/dev/null'];
    const args = [...RUN, 'a@a.pdf', 'b@hard-a.pdf'];
    expect((await wfr(LACKS.devices ? args : [...args, ...reports], { cwd: folder() })).exitCode).toBe(0);
  });
});
