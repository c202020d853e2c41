/** `wfr results --save-outputs` and `--save-documents`: a file per finished row. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli } from '../../helpers/cli.js';
import { folderWith } from '../../helpers/files.js';
import { LACKS } from '../../helpers/system.js';

interface SavedRow {
  label: string;
  output?: unknown;
}

/** Creates a folder with a results file of these rows; one without an output has FAILED. */
function prepare(rows: readonly SavedRow[]) {
  const head = { event: 'batch', format: 3, workflow: 'w', baseUrl: 'http://127.0.0.1:1/', shard: '1/1' };
  const events = rows.flatMap(({ label, output }, index) => {
    const row = index + 1;
    const id = `run-${row}`;
    const run =
      output === undefined ? { id, status: 'FAILED', output: null } : { id, status: 'FINISHED', output };
    return [
      { event: 'intent', row, label, digest: '0123456789abcdef' },
      { event: 'accepted', row, id },
      { event: 'ended', row, run },
    ];
  });
  const lines = [head, ...events, { event: 'table', rows: rows.length }];
  const cwd = folderWith({ 'out.jsonl': `${lines.map((line) => JSON.stringify(line)).join('\n')}\n` });
  const save = (...args: string[]) => runCli(['results', 'out.jsonl', ...args], { cwd });
  return { cwd, save };
}

const listFiles = (folder: string) =>
  (
    readdirSync(folder, { recursive: true, withFileTypes: true }) as unknown as {
      name: string;
      parentPath: string;
      isFile(): boolean;
    }[]
  )
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) =>
      join(parentPath, name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort();

const uri = (text: string) => `data:text/plain;base64,${Buffer.from(text).toString('base64')}`;

describe('results --save-outputs', () => {
  test('results --save-outputs: each finished row of --each is a JSON file in the tree below the folder of the inputs', async () => {
    const { cwd, save } = prepare([
      { label: 'scans/a/inv1.pdf', output: { total: 1 } },
      { label: 'scans/b/inv1.pdf', output: { total: 2 } },
      { label: 'scans/inv2.pdf' },
    ]);
    const { exitCode } = await save('--save-outputs', 'saved');
    expect(exitCode).toBe(3);
    expect(listFiles(join(cwd, 'saved'))).toEqual(['a/inv1.pdf.json', 'b/inv1.pdf.json']);
    expect(readFileSync(join(cwd, 'saved/a/inv1.pdf.json'), 'utf8')).toBe('{\n  "total": 1\n}\n');
  });

  test('results --save-outputs: rows of a table are named by their label where it is unique, else by their number', async () => {
    const { cwd, save } = prepare([
      { label: 't.csv:2 (ACME)', output: 2 },
      { label: 't.csv:3 (Smith, Inc.)', output: 3 },
      { label: 't.csv:4 (acme)', output: 4 },
      { label: 't.csv:5', output: 5 },
      { label: 't.csv:6 (../../x)', output: 6 },
      { label: 't.csv:7 (row-3)', output: 7 },
      { label: 't.csv:8 (con)', output: 8 },
    ]);
    await save('--save-outputs', 'saved');
    expect(listFiles(join(cwd, 'saved'))).toEqual(
      [
        '_con.json',
        '_.._x.json',
        'row-1.json',
        'row-3.json',
        'row-4.json',
        'row-6.json',
        'Smith_Inc.json',
      ].sort(),
    );
    expect(readFileSync(join(cwd, 'saved/row-3.json'), 'utf8')).toBe('4\n');
  });

  test('results --save-outputs: names are safe, unique and inside of the folder, whatever the files are called', async () => {
    const { cwd, save } = prepare([
      { label: '/in/a b.pdf', output: 1 },
      { label: '/in/a_b.pdf', output: 2 },
      { label: '/in/-rf/.hidden', output: 3 },
      { label: '/in/../../etc/passwd', output: 4 },
    ]);
    expect((await save('--save-outputs', 'saved/deep')).exitCode).toBe(0);
    const files = listFiles(join(cwd, 'saved/deep'));
    expect(files).toHaveLength(4);
    for (const file of files) expect(file).toMatch(/^(\w[\w.-]*\/)*\w[\w.-]*\.json$/);
    expect(files.filter((file) => /a_b\.pdf-[0-9a-f]{8}\.json$/.test(file))).toHaveLength(2);
  });

  test('results --save-outputs: the same content is left alone, another one exits 74 unless --force is given', async () => {
    const { cwd, save } = prepare([
      { label: 't.csv:2 (a)', output: 1 },
      { label: 't.csv:3 (b)', output: 2 },
    ]);
    expect((await save('--save-outputs', 'saved')).exitCode).toBe(0);
    expect((await save('--save-outputs', 'saved')).exitCode).toBe(0);
    writeFileSync(join(cwd, 'saved/a.json'), 'mine');
    writeFileSync(join(cwd, 'saved/b.json'), '2\n');
    const { stderr, exitCode } = await save('--save-outputs', 'saved');
    expect(exitCode).toBe(74);
    expect(stderr).toContain(`cannot write ${join('saved', 'a.json')}: it already exists`);
    expect(readFileSync(join(cwd, 'saved/a.json'), 'utf8')).toBe('mine');
    expect((await save('--save-outputs', 'saved', '--force')).exitCode).toBe(0);
    expect(readFileSync(join(cwd, 'saved/a.json'), 'utf8')).toBe('1\n');
    expect(listFiles(join(cwd, 'saved'))).toEqual(['a.json', 'b.json']);
  });

  test('results --save-outputs: a folder that has the inputs, or is inside of it, exits 2', async () => {
    const { cwd, save } = prepare([{ label: 'scans/a.pdf', output: 1 }]);
    mkdirSync(join(cwd, 'scans'));
    for (const folder of ['scans/out', 'scans']) {
      const { stderr, exitCode } = await save('--save-outputs', folder);
      expect(exitCode).toBe(2);
      expect(stderr).toContain('the folder must not be inside scans, which has the files of --each');
    }
  });

  test.skipIf(LACKS.symlinks)('results --save-outputs: no link in the folder leads out of it', async () => {
    const { cwd, save } = prepare([
      { label: 's/a/1.pdf', output: 1 },
      { label: 's/2.pdf', output: 2 },
    ]);
    mkdirSync(join(cwd, 'saved'));
    mkdirSync(join(cwd, 'other'));
    symlinkSync(join(cwd, 'other'), join(cwd, 'saved/a'));
    const { stderr, exitCode } = await save('--save-outputs', 'saved', '--force');
    expect(exitCode).toBe(74);
    expect(stderr).toContain(`cannot write ${join('saved', 'a')}: it is a symbolic link`);
    expect(listFiles(join(cwd, 'other'))).toEqual([]);
    expect(existsSync(join(cwd, 'saved/2.pdf.json'))).toBe(true);
  });
});

describe('results --save-documents', () => {
  test('results --save-documents: the documents of each row are in its folder, and all outputs have their paths', async () => {
    const { cwd, save } = prepare([
      { label: 'scans/a/1.pdf', output: { scan: uri('one') } },
      { label: 'scans/b/1.pdf', output: { scan: uri('two'), n: 1.5 } },
      { label: 'scans/c.pdf', output: {} },
    ]);
    const { stdout, stderr, exitCode } = await save(
      ...['--save-documents', 'saved', '--save-outputs', 'json', '-o', 'csv', '--get', '/scan'],
    );
    expect(exitCode).toBe(0);
    expect(stderr).toContain('\n3 outputs saved in json.\n2 documents saved in saved.\n');
    expect((await save('--save-documents', 'saved', '--get', '/scan')).stdout).toMatch(
      /\nTo save the outputs: wfr results \S+ --get \/scan --save-documents saved -o csv --excel > /,
    );
    expect(listFiles(join(cwd, 'saved'))).toEqual(['a/1.pdf/scan.txt', 'b/1.pdf/scan.txt']);
    expect(readFileSync(join(cwd, 'saved/b/1.pdf/scan.txt'), 'utf8')).toBe('two');
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(',')[2]),
    ).toEqual(['/scan', join('saved', 'a/1.pdf/scan.txt'), join('saved', 'b/1.pdf/scan.txt'), '']);
    expect(JSON.parse(readFileSync(join(cwd, 'json/b/1.pdf.json'), 'utf8'))).toEqual({
      scan: join('saved', 'b/1.pdf/scan.txt'),
      n: 1.5,
    });
  });

  test('results --force: requires a folder to save in', async () => {
    const { stderr, exitCode } = await prepare([]).save('--force');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--force requires --save-documents or --save-outputs');
  });
});
