/** CSV tables: rows, cells, line numbers and errors. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, parse } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/errors.js';
import { csvRows } from '../../src/table/csv.js';
import type { Row } from '../../src/table/row.js';
import { startBatchService } from '../helpers/batch.js';
import { temporaryFolder } from '../helpers/cli.js';
import { effort } from '../helpers/effort.js';
import { startTimer } from '../helpers/elapsed.js';
import { folderWith } from '../helpers/files.js';
import fc from '../helpers/properties.js';

/** Runs `wfr batch` on a table with these bytes, and returns the triggered inputs in the order of the rows. */
async function runBatch(table: string | Buffer, ...flags: string[]) {
  const { triggered, posts, wfr } = await startBatchService();
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'rows.csv'), table);
  const args = ['batch', 'w', '--rows', 'rows.csv', '--rate', '0', '--concurrency', '1', ...flags];
  const result = await wfr([...args, ...(flags.includes('--check') ? [] : ['--results', 'out.jsonl'])], {
    cwd,
  });
  return { ...result, triggered, posts: posts().length };
}

describe('CSV: rows', () => {
  test.each([
    ['a header that ends with CRLF and rows that end with LF', 'a\r\n1\n2\n3\n'],
    ['a header that ends with LF and rows that end with CRLF', 'a\n1\r\n2\r\n3\r\n'],
    ['CR alone as the end of every line', 'a\r1\r2\r3\r'],
    ['CRLF, LF and CR in one file', 'a\r1\n2\r\n3'],
    ['a last line without a line break', 'a\n1\n2\n3'],
    ['empty lines between the rows', '\r\na\n\n\n1\r\r2\r\n\r\n3\n\n'],
    ['lines that end with CR CR LF', 'a\r\r\n1\r\r\n2\r\r\n3\r\r\n'],
    ['a byte order mark and mixed ends', '\ufeffa\r\n1\n2\r3'],
    ['quoted cells and mixed ends', '"a"\r\n"1"\n"2"\r"3"'],
    ['UTF-16 with a byte order mark', Buffer.from('\ufeffa\r\n1\n2\r\n3', 'utf16le')],
    ['big-endian UTF-16', Buffer.from('\ufeffa\r\n1\n2\r\n3', 'utf16le').swap16()],
  ])('CSV: a table with %s has the rows 1, 2 and 3', async (_name, table) => {
    const { triggered, exitCode, stderr } = await runBatch(table);
    expect(triggered).toEqual([{ a: '1' }, { a: '2' }, { a: '3' }]);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('3 rows: 3 finished')]);
    expect((await runBatch(table, '--check')).stdout).toBe(
      '3 rows valid; nothing sent; no declared parameters to check: wfr help config\n',
    );
  });

  test('CSV: line breaks in a quoted cell are sent unchanged', async () => {
    const { triggered } = await runBatch('a,b\r\n"1\r\n2\n3\r4\r\r\n",x\n5,"\n"\r');
    expect(triggered).toEqual([
      { a: '1\r\n2\n3\r4\r\r\n', b: 'x' },
      { a: '5', b: '\n' },
    ]);
  });
});

/** Cases of csv-spectrum, which other readers of CSV share, and of Papa Parse. */
describe('CSV: cells as other programs read them', () => {
  test.each([
    ['a quote at the end of an unquoted cell', '5" pipe,B"', ['5" pipe', 'B"']],
    [
      'quotes within an unquoted cell',
      `37°36'37.8"N 121°2'17.9"W,B "B"`,
      [`37°36'37.8"N 121°2'17.9"W`, 'B "B"'],
    ],
    ['blanks around a quoted text', ' "A" ,\t"B"', [' "A" ', '\t"B"']],
    ['blanks after a closing quote', '"A"  ,"B" ', ['A', 'B']],
  ])('CSV: %s', async (_name, line, [a, b]) => {
    for (const end of ['\n', '\r\n', '\r']) {
      const { triggered, exitCode } = await runBatch(`a,b${end}${line}${end}c,d`);
      expect({ exitCode, triggered }).toEqual({
        exitCode: 0,
        triggered: [
          { a, b },
          { a: 'c', b: 'd' },
        ],
      });
    }
  });

  const spectrum = fileURLToPath(new URL('.', import.meta.resolve('csv-spectrum')));

  test('CSV: the cells of csv-spectrum are read as it expects', async () => {
    // Not UTF-8, and its expected values are those of another table.
    const names = readdirSync(join(spectrum, 'json'))
      .map((file) => parse(file).name)
      .filter((name) => name !== 'location_coordinates');
    expect(names.length).toBeGreaterThan(8);
    for (const name of names) {
      const { triggered, exitCode } = await runBatch(readFileSync(join(spectrum, 'csvs', `${name}.csv`)));
      // An empty cell is no input.
      const expected = JSON.parse(
        readFileSync(join(spectrum, 'json', `${name}.json`), 'utf8'),
        (_key, value) => (value === '' ? undefined : value),
      );
      expect({ name, exitCode, triggered }).toEqual({ name, exitCode: 0, triggered: expected });
    }
  });

  test('CSV: a header of 100,000 columns is read in linear time', async () => {
    const names = Array.from({ length: 100_000 }, (_, n) => `c${n}`);
    const table = `${names.join(',')}\n${names.map(() => 1).join(',')}\n`;
    const elapsed = startTimer();
    const valid = await runBatch(table, '--check');
    expect([valid.exitCode, valid.stdout]).toEqual([
      0,
      '1 row valid; nothing sent; no declared parameters to check: wfr help config\n',
    ]);
    expect(elapsed()).toBeLessThan(5_000);
    const { exitCode, stderr } = await runBatch(`${names.join(',')},c7\n`, '--check');
    expect([exitCode, stderr]).toEqual([2, 'wfr: error: rows.csv:1: has two columns for "c7"\n']);
  });
});

describe('CSV: invalid rows and tables', () => {
  test.each([
    ['a row of empty cells', 'a,b\r\n1,2\n,\n3,4\n', 'rows.csv:3: has only empty cells'],
    ['a row of blank cells', 'a,b\r1,2\r" ",\t\r3,4\r', 'rows.csv:3: has only empty cells'],
    ['a row of one quoted empty cell', 'a\n1\n""\n3\n', 'rows.csv:3: has only empty cells'],
    ['a row with too many cells', 'a\n1\r2,2\r\n3\n', 'rows.csv:3: has 2 cells, but the header has 1'],
    [
      'a row with too few cells, after line breaks in cells and empty lines',
      'a,b\r\n"1\r\n1\r1\n1",2\r\r\n\n2\n3,4\n',
      'rows.csv:8: has 1 cell, but the header has 2',
    ],
    [
      'a cell with a NUL',
      'a\n1\n2\0\n3\n',
      'rows.csv:3: has a NUL or U+FFFD, or bytes that are not valid UTF-8; save the table as UTF-8',
    ],
  ])(
    'CSV: %s is reported as an invalid row, with the line on which it begins',
    async (_name, table, message) => {
      const checked = await runBatch(table, '--check');
      expect([checked.exitCode, checked.stderr]).toEqual([
        2,
        expect.stringContaining(`wfr: error: ${message}`),
      ]);
      expect(checked.stderr.trimEnd().split('\n').slice(1)).toEqual(['  1 of 3 rows is invalid']);
      const { exitCode, stderr, posts } = await runBatch(table);
      expect({ exitCode, posts }).toEqual({ exitCode: 3, posts: 2 });
      expect(stderr).toContain(message.replace(': ', '  invalid  '));
      expect(stderr).toContain('3 rows: 2 finished, 1 invalid');
    },
  );

  test('CSV: a table whose only row has only empty cells exits 2, and nothing is sent (fault 85)', async () => {
    const { exitCode, posts } = await runBatch('a,b\n,\n', '-i', 'c=d');
    expect({ exitCode, posts }).toEqual({ exitCode: 2, posts: 0 });
  });

  test.each([
    ['a quote that is not closed', 'a\r\n"x\n\ny\n', 'rows.csv:2: is not CSV: a quote is not closed'],
    [
      'text after a closing quote',
      'a\r\n\r\n"x\r\n"y\n',
      'rows.csv:3: is not CSV: there is text after a closing quote',
    ],
    [
      'a header in Latin-1',
      Buffer.from('caf\xe9\n1\n', 'latin1'),
      'rows.csv:1: has a NUL or U+FFFD, or bytes that are not valid UTF-8',
    ],
    [
      'UTF-16 without a byte order mark',
      Buffer.from('a\n1\n', 'utf16le'),
      'rows.csv:1: has a NUL or U+FFFD, or bytes that are not valid UTF-8',
    ],
  ])('CSV: a table with %s exits 2', async (_name, table, message) => {
    const { exitCode, stderr } = await runBatch(table, '--check');
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`wfr: error: ${message}`)]);
  });
});

interface ExpectedRow {
  line: number;
  cells: string[];
}

const lineBreaks = (text: string) => text.match(/\r\n|\r|\n/g)?.length ?? 0;

/** A simple reference parser: returns the rows, and the line of the first row that is not CSV, if any. */
function parseReference(text: string): { rows: ExpectedRow[]; broken?: number } {
  const rows: ExpectedRow[] = [];
  let [at, line] = [0, 1];
  const take = (pattern: RegExp) => {
    const found = pattern.exec(text.slice(at));
    at += found?.[0].length ?? 0;
    line += lineBreaks(found?.[0] ?? '');
    return found;
  };
  while (at < text.length) {
    if (take(/^(\r\n|\r|\n)/)) continue;
    const row: ExpectedRow = { line, cells: [] };
    do {
      const cell = take(/^"((?:[^"]|"")*)" *(?=[,\r\n]|$)/) ?? take(/^(?!")([^,\r\n]*)(?=[,\r\n]|$)/);
      if (cell === null) return { rows, broken: row.line };
      const [whole, text = ''] = cell;
      row.cells.push(whole.startsWith('"') ? text.replaceAll('""', '"') : text);
    } while (take(/^,/));
    take(/^(\r\n|\r|\n)/);
    rows.push(row);
  }
  return { rows };
}

/** Returns the expected summary of a row, such as `4: a=1 b=x`. */
function summarizeExpected({ line, cells }: ExpectedRow): string {
  if (cells.every((cell) => cell.trim() === '')) return `${line}: has only empty cells`;
  if (cells.length !== 2) return `${line}: has ${cells.length} ${cells.length === 1 ? 'cell' : 'cells'}`;
  const items = cells.map((cell, index) => (cell === '' ? '' : ` ${index === 0 ? 'a' : 'b'}=${cell}`));
  return `${line}:${items.join('')}`;
}

function summarizeRow({ label, inputs }: Row): string {
  const line = label.split(':')[1];
  if ('problem' in inputs)
    return `${line}: ${/^has (only empty cells|\d+ cells?)/.exec(inputs.problem)?.[0]}`;
  return `${line}:${inputs.items.map(({ raw }) => ` ${raw}`).join('')}`;
}

async function readRows(chunks: readonly Buffer[]): Promise<{ rows: string[]; broken?: string }> {
  const rows: string[] = [];
  const open = () => Readable.from(chunks, { objectMode: false });
  try {
    for await (const row of csvRows({
      open,
      name: 'x',
      delimiter: ',',
      paths: { base: '/', within: undefined },
    }))
      rows.push(summarizeRow(row));
    return { rows };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { rows, broken: /^x:\d+: is not CSV/.exec(error.message)?.[0] ?? error.message };
  }
}

test('CSV: any text in any chunks has the rows and lines that a reference parser finds', async () => {
  const piece = fc.constantFrom(
    'a',
    'é',
    '😀',
    ' ',
    ',',
    ',',
    '\r\n',
    '\n',
    '\r',
    '"',
    '""',
    '"x"',
    '"\r\n"',
    '"\r","',
  );
  const anyText = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(''));
  const lineEnd = fc.constantFrom('\r\n', '\n', '\r', '\n\n', '\r\r\n');
  const mark = fc.constantFrom('', '\ufeff');
  await fc.assert(
    fc.asyncProperty(
      mark,
      lineEnd,
      anyText,
      fc.integer({ min: 1, max: 40 }),
      async (bom, end, body, size) => {
        const bytes = Buffer.from(`${bom}a,b${end}${body}`);
        const count = Math.ceil(bytes.length / size);
        const chunks = Array.from({ length: count }, (_, n) => bytes.subarray(n * size, (n + 1) * size));
        const { rows, broken } = parseReference(`a,b${end}${body}`);
        const expected = rows.slice(1).map(summarizeExpected);
        const found = await readRows(chunks);
        if (broken === undefined) {
          expect(found).toEqual({ rows: expected });
        } else {
          expect(found.broken).toBe(`x:${broken}: is not CSV`);
          expect(found.rows).toEqual(expected.slice(0, found.rows.length));
        }
      },
    ),
    { numRuns: effort(2_000) },
  );
});

describe('CSV: other delimiters', () => {
  const TABLES: [name: string, file: string, text: string, flags: string[]][] = [
    ['a file named .tsv', 'rows.tsv', 'customer\tamount:=\nA, B\t1\n"C\tD"\t2\n', []],
    ['--delimiter ;', 'rows.csv', 'customer;amount:=\nA, B;1\n"C\tD";2\n', ['--delimiter', ';']],
    [
      'a file named .tsv with more commas than tabs in its header',
      'rows.tsv',
      'customer\ta, b, c\tamount:=\nA, B\t\t1\n"C\tD"\t\t2\n',
      [],
    ],
    ['a header with semicolons', 'rows.csv', 'customer;amount:=\nA, B;1\n"C\tD";2\n', []],
    ['a header with tabs', 'rows.csv', 'customer\tamount:=\nA, B\t1\n"C\tD"\t2\n', []],
    ['--delimiter tab', 'rows.txt', 'customer\tamount:=\nA, B\t1\n"C\tD"\t2\n', ['--delimiter', 'tab']],
    [
      '--delimiter , in a file named .tsv',
      'rows.tsv',
      'customer,amount:=\n"A, B",1\nC\tD,2\n',
      ['--delimiter', ','],
    ],
    ...['\\', ']', '^', '-', '|'].map((mark): (typeof TABLES)[number] => [
      `--delimiter ${mark}`,
      'rows.csv',
      `customer${mark}amount:=\nA, B${mark}1\n"C\tD"${mark}2\n`,
      ['--delimiter', mark],
    ]),
  ];

  test.each(TABLES)('CSV: the cells of %s are sent', async (_name, file, text, flags) => {
    const { triggered, wfr } = await startBatchService();
    const cwd = folderWith({ [file]: text });
    const args = ['batch', 'w', '--rows', file, '--results', 'o.jsonl', '--concurrency', '1', ...flags];
    expect((await wfr(args, { cwd })).exitCode).toBe(0);
    expect(triggered).toEqual([
      { customer: 'A, B', amount: 1 },
      { customer: 'C\tD', amount: 2 },
    ]);
  });

  test.each([
    ['a;b\n1\n', ['--delimiter', ';'], 'rows.csv:2: has 1 cell, but the header has 2\n'],
    ['a,b\n1,2\n', ['--delimiter', '|'], '--delimiter "|": the header of rows.csv does not have it'],
    ['a\n1\n', ['--delimiter', 'ab'], '--delimiter "ab": expected one character, such as ";", or tab'],
    ['a\n1\n', ['--delimiter', ',;'], '--delimiter ",;": expected one character, such as ";", or tab'],
    ['a\n1\n', ['--delimiter', ';a'], '--delimiter ";a": expected one character, such as ";", or tab'],
  ])('CSV: the table %j with the flags %j exits 2', async (text, flags, message) => {
    const { requests, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.csv': text });
    const { exitCode, stderr } = await wfr(['batch', 'w', '--rows', 'rows.csv', '--check', ...flags], {
      cwd,
    });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
    expect(requests).toEqual([]);
  });
});
