/** Tables are compared with the parameters that a profile declares: the header before the first row, then each row. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readEvents, startBatchService } from '../../helpers/batch.js';
import { writeTestConfig } from '../../helpers/config.js';
import { problemBlock } from '../../helpers/error-data.js';
import { folderWith } from '../../helpers/files.js';
import type { Handler } from '../../helpers/service.js';

const INVOICE = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';
const PARAMETERS = {
  invoice: { type: 'document', accept: ['application/pdf'] },
  customer: 'string',
  'amount?': 'number',
};
const TAKES = '  invoice takes: invoice@scan.pdf customer=text\n  optional: amount:=1';

/** Starts a service with a profile that declares the parameters, and a folder with a table. */
async function prepare(table: string, name = 'rows.csv', onPost?: Handler) {
  const service = await startBatchService(onPost);
  const workflows = { invoice: { id: INVOICE, parameters: PARAMETERS } };
  const { env } = writeTestConfig({ defaultProfile: 'p', profiles: { p: { workflows } } });
  const cwd = folderWith({ [name]: table, 'scan.pdf': 'a scan', 'scan.txt': 'a scan', 'one.json': '1' });
  const wfr = (...args: string[]) => service.wfr(['batch', 'invoice', ...args], { env, cwd });
  return { ...service, cwd, wfr };
}

describe('wfr batch with declared parameters', () => {
  test('batch: an input of all rows that is a declared string and names a file can only be sent as its text', async () => {
    const { wfr } = await prepare('invoice@\nscan.pdf\n');
    const { stderr } = await wfr('--rows', 'rows.csv', '-i', 'customer=@one.json');
    expect(stderr).toContain('not the file; write customer@=one.json for its text\n');
  });

  test('batch: a declared text that the service rejects is not said to name a file', async () => {
    const { wfr } = await prepare('invoice@,customer\nscan.pdf,one.json\n', 'rows.csv', (_request, reply) =>
      reply.send(422, { message: 'customer: no' }),
    );
    const { stderr } = await wfr('--rows', 'rows.csv');
    expect(stderr).toContain('1 rejected');
    expect(stderr).not.toContain('If column');
  });

  test.each<[string, string[], string[], string[]?]>([
    [
      'custmer,invoice@\nx,scan.pdf\n',
      [],
      ['rows.csv:1: custmer: unknown parameter "custmer"; did you mean "customer"?'],
    ],
    [
      '\n\namount,invoice@;type=image/png\n1,scan.pdf\n',
      [],
      [
        'rows.csv:3: invoice@;type=image/png: must be application/pdf, found image/png',
        'rows.csv:3: missing input customer (string)',
        'rows.csv:3: amount: must be a number, found a string; name the column amount:=',
      ],
      [TAKES],
    ],
    [
      'customer,amount@\nx,scan.pdf\n',
      ['-i', 'invoice=scan.pdf', '-i', 'amunt:=1'],
      [
        'invoice=scan.pdf: must be a document, found a string; write invoice@scan.pdf',
        'rows.csv:1: amount@: must be a number, found a document; name the column amount:=',
        'amunt:=1: unknown parameter "amunt"; expected invoice, customer, amount',
      ],
    ],
    [
      'customer,amount@=\nx,one.json\n',
      ['-i', 'invoice@none.pdf'],
      [
        'invoice@none.pdf: no such file (ENOENT)',
        'rows.csv:1: amount@=: must be a number, found a string; name the column amount:=',
      ],
    ],
  ])(
    'batch: the header %j with %j exits 2 before any row is read, with and without --check',
    async (table, flags, problems, notes = []) => {
      const { wfr, requests, cwd } = await prepare(`${table}"an open quote\n`);
      for (const more of [['--check'], ['--results', 'out.jsonl'], []]) {
        const result = await wfr('--rows', 'rows.csv', ...flags, ...more);
        const lines = [problemBlock(problems), ...notes.map((note) => note.trim())];
        const stderr = `wfr: error: ${lines.join('\n  ')}\n`;
        expect(result).toMatchObject({ exitCode: 2, stdout: '', stderr });
      }
      expect(requests).toEqual([]);
      expect(existsSync(join(cwd, 'out.jsonl'))).toBe(false);
    },
  );

  test('batch: --each is checked like a column', async () => {
    const { wfr, requests, triggered } = await prepare('');
    const stderrOf = async (...args: string[]) => (await wfr(...args, '--check')).stderr;
    expect(await stderrOf('--each', 'invoce', 'scan.pdf', '-i', 'customer=x')).toBe(
      'wfr: error: --each invoce: unknown parameter "invoce"; did you mean "invoice"?\n',
    );
    expect(await stderrOf('--each', 'amount', 'scan.pdf', '-i', 'customer=x', '-i', 'invoice@scan.pdf')).toBe(
      'wfr: error: --each amount: must be a number, found a document\n',
    );
    expect(await stderrOf('--each', 'invoice', 'scan.txt', 'scan.pdf', '-i', 'customer=x')).toBe(
      'wfr: error: scan.txt: invoice@scan.txt: must be application/pdf, found text/plain\n  1 of 2 rows is invalid\n',
    );
    expect(requests).toEqual([]);
    const { exitCode } = await wfr(
      '--each',
      'invoice',
      'scan.pdf',
      '-i',
      'customer=x',
      '--results',
      'r.jsonl',
    );
    expect({ exitCode, runs: triggered.length }).toEqual({ exitCode: 0, runs: 1 });
  });

  test('batch: --check reports the mistakes of all rows, and once what the workflow takes', async () => {
    const rows = [
      'invoice@,customer,amount:=',
      'scan.pdf,a,1',
      'scan.txt,b,"""2"""',
      'scan.pdf,,',
      ',c,1',
      'scan.pdf,d,',
    ];
    const { wfr, requests } = await prepare(`${rows.join('\n')}\n`);
    expect(await wfr('--rows', 'rows.csv', '--check')).toMatchObject({
      exitCode: 2,
      stderr: [
        'wfr: error: 4 problems',
        '  rows.csv:3: invoice@scan.txt: must be application/pdf, found text/plain',
        '  rows.csv:3: amount:="2": must be a number, found a string',
        '  rows.csv:4: missing input customer (string)',
        '  rows.csv:5: missing input invoice (document)',
        TAKES,
        '  3 of 5 rows are invalid\n',
      ].join('\n'),
    });
    expect(requests).toEqual([]);
  });

  test('batch: a text column of data URIs may be of a document, and other text is corrected in each row', async () => {
    const rows = ['invoice,customer', '"data:application/pdf;base64,aaaa",a', 'scan.pdf,b'];
    const { wfr } = await prepare(`${rows.join('\n')}\n`);
    expect((await wfr('--rows', 'rows.csv', '--check')).stderr).toBe(
      'wfr: error: rows.csv:3: invoice=scan.pdf: must be a document, found a string; name the column invoice@\n  1 of 2 rows is invalid\n',
    );
  });

  test('batch: rows that do not match are not sent, and the others are', async () => {
    const rows = [
      { invoice: { $document: 'scan.pdf' }, customer: 'a' },
      { invoice: 'scan.pdf', customer: 'b', amount: '1', other: [] },
      { customer: 'c' },
      { invoice: { $document: 'scan.pdf' }, customer: 'd', amount: 1 },
    ];
    const { wfr, triggered, cwd } = await prepare(
      rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
      'rows.jsonl',
    );
    const { exitCode } = await wfr('--rows', 'rows.jsonl', '--results', 'out.jsonl', '--concurrency', '1');
    expect(exitCode).toBe(3);
    expect(triggered).toMatchObject([{ customer: 'a' }, { customer: 'd' }]);
    const refused = readEvents(join(cwd, 'out.jsonl')).filter(({ event }) => event === 'refused');
    expect(refused.map(({ code, reason }) => ({ code, reason }))).toEqual([
      {
        code: 'usage',
        reason: [
          'rows.jsonl:2: invoice: must be a document, found a string; write {"$document": "scan.pdf"}',
          'rows.jsonl:2: amount: must be a number, found a string',
          'rows.jsonl:2: other: unknown parameter "other"; expected invoice, customer, amount',
        ].join('\n'),
      },
      {
        code: 'usage',
        reason: `rows.jsonl:3: missing input invoice (document)\n${TAKES.trim().replace('\n  ', '\n')}`,
      },
    ]);
  });

  test('batch: --no-check-parameters sends every row as it is', async () => {
    const { wfr, triggered } = await prepare('custmer,amount\nx,1\n');
    const { exitCode } = await wfr('--rows', 'rows.csv', '--no-check-parameters');
    expect({ exitCode, triggered }).toEqual({ exitCode: 0, triggered: [{ custmer: 'x', amount: '1' }] });
  });

  test('batch: a default that a column overrides is checked where the cell is empty', async () => {
    const { wfr } = await prepare('customer,amount:=\na,1\nb,\n');
    const { stderr } = await wfr('--rows', 'rows.csv', '-i', 'amount=1', '-i', 'invoice@scan.pdf', '--check');
    expect(stderr).toBe(
      'wfr: error: amount=1: must be a number, found a string; write amount:=1\n  1 of 2 rows is invalid\n',
    );
  });
});
