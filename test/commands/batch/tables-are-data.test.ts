/** `wfr batch`: the paths in a table stay inside the table's folder, as the table may be from somebody else. */
import { mkdirSync, promises, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readEvents, startBatchService } from '../../helpers/batch.js';
import { type CliOptions, temporaryFolder } from '../../helpers/cli.js';
import { CLOSED_URL } from '../../helpers/closed-port.js';
import { bash } from '../../helpers/process.js';
import { replaceFunction } from '../../helpers/replace-function.js';
import { LACKS } from '../../helpers/system.js';

/** A folder with a table's folder `data`, a folder `scans` beside it, and a secret in each place that is not theirs. */
function folderWithTables(tables: Record<string, string>): string {
  const cwd = temporaryFolder();
  const files = {
    'secret.txt': 'secret',
    'secret.json': '"secret"',
    'secret.pdf': 'secret',
    'scans/a.pdf': 'scan',
    'data/a.pdf': 'a',
    'data/deep/b.pdf': 'b',
    'data/..c.pdf': 'c',
    'database/d.pdf': 'd',
    ...Object.fromEntries(Object.entries(tables).map(([name, text]) => [`data/${name}`, text])),
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
  }
  if (LACKS.symlinks) return cwd;
  symlinkSync('../secret.pdf', join(cwd, 'data/link.pdf'));
  symlinkSync('..', join(cwd, 'data/up'));
  symlinkSync('deep/b.pdf', join(cwd, 'data/inside.pdf'));
  symlinkSync('none.pdf', join(cwd, 'data/dangling.pdf'));
  symlinkSync('data', join(cwd, 'linked'));
  return cwd;
}

async function runTable(
  table: Record<string, string>,
  flags: readonly string[] = [],
  options: CliOptions = {},
  prepare = (_cwd: string) => {},
) {
  const { triggered, posts, wfr } = await startBatchService();
  const cwd = folderWithTables(table);
  prepare(cwd);
  const rows = flags.includes('--rows') ? [] : ['--rows', join('data', Object.keys(table)[0] ?? '')];
  const args = ['batch', 'w', ...rows, '--rate', '0', '--concurrency', '1', ...flags];
  const result = await wfr([...args, ...(flags.includes('--check') ? [] : ['--results', 'out.jsonl'])], {
    cwd,
    ...options,
  });
  return { ...result, cwd, triggered, posts: posts().length };
}

/** The label of a row of the table. */
const ROW = (table: string, line: number) => `${join('data', table)}:${line}`;

const OUTSIDE =
  'is outside the folder of the table; to allow files of another folder, use --files-under <folder>';
const PDF = 'data:application/pdf;base64,';

describe('batch: paths in a table', () => {
  test.for<[what: string, table: string, path: string, isLacking?: boolean]>([
    ['a document above the folder', 'x@\n../secret.pdf\n', 'x@../secret.pdf'],
    ['a text above the folder', 'x@=\n../secret.txt\n', 'x@=../secret.txt'],
    ['JSON above the folder', 'x@:=\n../secret.json\n', 'x@:=../secret.json'],
    ['a file that does not exist above the folder', 'x@=\n../none.txt\n', 'x@=../none.txt'],
    ['a link that leads out of the folder', 'x@\nlink.pdf\n', 'x@link.pdf', LACKS.symlinks],
    ['a path through a link to the folder above', 'x@=\nup/secret.txt\n', 'x@=up/secret.txt', LACKS.symlinks],
    ['a missing file behind a link that leads out', 'x@=\nup/none.txt\n', 'x@=up/none.txt', LACKS.symlinks],
    ['a folder whose name only begins like it', 'x@\n../database/d.pdf\n', 'x@../database/d.pdf'],
    ['an absolute path', 'x@=\n/proc/self/environ\n', 'x@=/proc/self/environ'],
    ['a file of the home folder', 'x@=\n~/note.txt\n', 'x@=~/note.txt'],
  ])(
    'batch: %s is rejected with its row, and nothing of it is sent',
    async ([_what, table, path, isLacking = false], { skip }) => {
      skip(isLacking);
      const checked = await runTable({ 'rows.csv': table }, ['--check']);
      expect(checked.exitCode).toBe(2);
      expect(checked.stderr).toContain(`wfr: error: ${ROW('rows.csv', 2)}: ${path}`);
      const isMissing = ['../none.txt', 'up/none.txt', '~/note.txt'].some((missing) =>
        path.endsWith(missing),
      );
      const reason = isMissing ? /no such file|is not a folder/ : OUTSIDE;
      expect(checked.stderr).toMatch(reason);
      const { exitCode, posts, stderr, cwd } = await runTable({ 'rows.csv': table });
      expect({ exitCode, posts }).toEqual({ exitCode: 2, posts: 0 });
      expect(stderr).toMatch(reason);
      expect(stderr).toContain('1 row: 1 invalid');
      expect(readEvents(join(cwd, 'out.jsonl')).filter(({ code }) => code === 'usage')).toHaveLength(1);
    },
  );

  test('batch: a $document at any depth of a JSON line must be inside the folder of the table', async () => {
    const link = LACKS.symlinks ? '../secret.pdf' : 'link.pdf';
    const table = [
      '{"n":1,"x":{"$document":"a.pdf"}}',
      '{"n":2,"x":[{"y":[{"$document":"../secret.pdf"}]}]}',
      `{"n":3,"x":[{"y":{"\\u0024document":"${link}","type":"a/b"}}]}`,
      '{"n":4,"x":{"$document":"deep/b.pdf"}}',
    ].join('\n');
    const { exitCode, triggered, stderr } = await runTable({ 'rows.jsonl': table });
    expect(exitCode).toBe(3);
    expect(triggered).toEqual([
      { n: 1, x: `${PDF}YQ==` },
      { n: 4, x: `${PDF}Yg==` },
    ]);
    expect(stderr).toContain(`${ROW('rows.jsonl', 2)}  invalid  x: ../secret.pdf: ${OUTSIDE}`);
    expect(stderr).toContain(`${ROW('rows.jsonl', 3)}  invalid  x: ${link}: ${OUTSIDE}`);
    expect(stderr).toContain('4 rows: 2 finished, 2 invalid');
  });

  test.skipIf(LACKS.symlinks).each([
    ['a document', 'x@\nflip.txt\n', true],
    ['a document, where /proc is missing', 'x@\nflip.txt\n', false],
    ['a text', 'x@=\nflip.txt\n', true],
    ['JSON', 'x@:=\nflip.txt\n', true],
  ])('batch: %s whose link leads out only while it is opened is not sent', async (_kind, table, hasProc) => {
    const { readlink, open } = promises;
    replaceFunction(promises, 'open', (async (path: string, ...rest: []) => {
      if (!String(path).endsWith('flip.txt')) return open(path, ...rest);
      const turn = (target: string) => {
        rmSync(path);
        symlinkSync(target, path);
      };
      turn('../secret.json');
      return open(path, ...rest).finally(() => turn('inside.json'));
    }) as typeof open);
    if (!hasProc)
      replaceFunction(promises, 'readlink', (async (path: string) =>
        path.startsWith('/proc/') ? Promise.reject(new Error('none')) : readlink(path)) as typeof readlink);
    const { exitCode, stdout, stderr, posts } = await runTable(
      { 'rows.csv': table, 'inside.json': '"inside"' },
      [],
      {},
      (cwd) => symlinkSync('inside.json', join(cwd, 'data/flip.txt')),
    );
    expect({ exitCode, posts }).toEqual({ exitCode: 2, posts: 0 });
    expect(stdout + stderr).toContain(hasProc ? OUTSIDE : 'flip.txt: was replaced while it was opened');
  });

  test('batch: paths and links that stay inside the folder of the table are sent, however they are written', async () => {
    const linked = LACKS.symlinks ? 'deep/b.pdf' : 'inside.pdf';
    const paths = ['a.pdf', './a.pdf', 'deep/../a.pdf', '../data/a.pdf', linked, '..c.pdf'];
    const { exitCode, triggered } = await runTable({ 'rows.csv': `x@\n${paths.join('\n')}\n` });
    expect(exitCode).toBe(0);
    expect(triggered).toEqual(['YQ==', 'YQ==', 'YQ==', 'YQ==', 'Yg==', 'Yw=='].map((x) => ({ x: PDF + x })));
  });

  test('batch: an absolute path inside the folder of the table is sent, also if a link leads to the folder', async () => {
    const { triggered, wfr } = await startBatchService();
    const cwd = folderWithTables({});
    writeFileSync(join(cwd, 'data/rows.csv'), `x@\n"${cwd}/data/a.pdf"\n`);
    const folder = LACKS.symlinks ? 'data' : 'linked';
    expect((await wfr(['batch', 'w', '--rows', `${folder}/rows.csv`], { cwd })).exitCode).toBe(0);
    expect(triggered).toEqual([{ x: `${PDF}YQ==` }]);
  });

  test.skipIf(LACKS.symlinks)(
    'batch: a link in the folder of the table that leads nowhere is rejected as a missing file',
    async () => {
      const { exitCode, stderr } = await runTable({ 'rows.csv': 'x@\ndangling.pdf\n' }, ['--check']);
      expect(exitCode).toBe(2);
      expect(stderr).toContain('data/rows.csv:2: x@dangling.pdf: no such file (ENOENT)');
      expect(stderr).toMatch(/\(ENOENT\); paths are relative to \S+data\n/);
    },
  );

  test.skipIf(LACKS.bash)(
    'batch: a table from a process substitution cannot name the open files of the process',
    async () => {
      const command = "echo secret | wfr batch w --rows <(printf 'x@=\\n0\\n') --check";
      const { exitCode, stderr } = await bash(command, { WFR_BASE_URL: CLOSED_URL });
      expect(exitCode).toBe(2);
      expect(stderr).toMatch(/:2: x@=0: (no such file|is outside|is not a regular file)/);
    },
  );

  test('batch: the paths of --rows - must be inside the working folder', async () => {
    const stdin = 'x@\ndata/a.pdf\nscans/a.pdf\n/etc/hostname\n../x.pdf\n';
    const flags = ['--rows', '-', '--check'];
    const { exitCode, stderr } = await runTable({}, flags, { stdin });
    expect(exitCode).toBe(2);
    const outside =
      'is outside the working folder; to allow files of another folder, use --files-under <folder>';
    expect(stderr).toContain(`standard input:4: x@/etc/hostname: ${outside}`);
    expect(stderr).toContain('standard input:5: x@../x.pdf: no such file (ENOENT)\n');
    expect(stderr).not.toMatch(/input:[23]/);
  });

  test("batch: the files of --each and of -i are the user's own, and may be anywhere", async () => {
    const { triggered, wfr } = await startBatchService();
    const cwd = folderWithTables({ 'rows.csv': 'n\n1\n' });
    const inside = join(cwd, 'data');
    const own = ['-i', 'note@=../secret.txt', '-i', 'lines@:=../secret.json', '-i', 'scan@../scans/a.pdf'];
    const table = ['batch', 'w', '--rows', 'rows.csv', ...own];
    expect((await wfr(table, { cwd: inside })).exitCode).toBe(0);
    const each = ['batch', 'w', '--each', 'x', '../scans/a.pdf'];
    expect((await wfr(each, { cwd: inside })).exitCode).toBe(0);
    const scan = `${PDF}c2Nhbg==`;
    expect(triggered).toEqual([{ note: 'secret', lines: 'secret', scan, n: '1' }, { x: scan }]);
  });
});

describe('--files-under', () => {
  test('batch --files-under: files of that folder are allowed, as are those of the folder of the table', async () => {
    const table = { 'rows.csv': 'x@\n../scans/a.pdf\na.pdf\n' };
    const { exitCode, triggered } = await runTable(table, ['--files-under', 'scans']);
    expect(exitCode).toBe(0);
    expect(triggered).toEqual([{ x: `${PDF}c2Nhbg==` }, { x: `${PDF}YQ==` }]);
  });

  test.skipIf(LACKS.symlinks)(
    'batch --files-under: files outside both folders are rejected, links included',
    async () => {
      const table = { 'rows.csv': 'x@\n../secret.pdf\nlink.pdf\n../scans/a.pdf\n' };
      const { exitCode, stderr } = await runTable(table, ['--files-under', 'scans', '--check']);
      expect(exitCode).toBe(2);
      for (const row of ['2: x@../secret.pdf', '3: x@link.pdf'])
        expect(stderr).toContain(
          `data/rows.csv:${row}: is outside the folder of the table and --files-under scans`,
        );
      expect(stderr).not.toContain('rows.csv:4');
    },
  );

  test('batch --files-under: with --rows - it is used beside the working folder', async () => {
    const { exitCode, stderr } = await runTable({}, ['--rows', '-', '--check', '--files-under', '..'], {
      stdin: 'x@=\n../none.txt\n',
    });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('../none.txt: no such file (ENOENT)');
  });

  test.each([
    [['--files-under', 'none'], '--files-under none: no such file (ENOENT)'],
    [['--files-under', 'secret.txt'], '--files-under secret.txt: is not a folder'],
    [['--files-under', ''], '--files-under: is empty; expected a folder'],
  ])('batch: %j exits 2, and nothing is sent', async (flags, message) => {
    const { exitCode, stderr, posts } = await runTable({ 'rows.csv': 'n\n1\n' }, flags);
    expect({ exitCode, posts }).toEqual({ exitCode: 2, posts: 0 });
    expect(stderr).toContain(message);
  });

  test('batch --files-under: is rejected with --each, whose files may be anywhere', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWithTables({});
    const args = ['batch', 'w', '--each', 'x', 'scans/a.pdf', '--files-under', 'scans'];
    const { exitCode, stderr } = await wfr(args, { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--files-under scans: requires --rows; the files of --each may be anywhere');
  });
});
