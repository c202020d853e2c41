/** Inputs are compared with the parameters that a profile declares, before anything is sent. */
import { describe, expect, test } from 'vitest';
import { type CliOptions, runCli } from '../../helpers/cli.js';
import { writeTestConfig } from '../../helpers/config.js';
import { errorData } from '../../helpers/error-data.js';
import { folderWith } from '../../helpers/files.js';
import { acceptThenShow, aFinishedRun, scriptedService } from '../../helpers/service.js';

const INVOICE = '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e';
const PARAMETERS = {
  invoice: { type: 'document', accept: ['application/pdf', 'image/*'] },
  customer: 'string',
  'amount?': 'number',
  'paid?': 'boolean',
  'lines?': { type: 'array' },
  'address?': 'object',
  'a=b?': 'string',
};
const TAKES =
  "invoice takes: invoice@scan.pdf customer=text\n  optional: amount:=1 paid:=true 'lines:=[]' 'address:={}' 'a'\"\\\\\"'=b=text'";
const FILES = {
  'scan.pdf': 'a scan',
  'scan.txt': 'a scan',
  '12.json': '12',
  'note.txt': 'a note',
};

/** Starts a service with a profile that declares the parameters of a workflow. */
async function prepare(workflow: object = { id: INVOICE, parameters: PARAMETERS }) {
  const service = await scriptedService(acceptThenShow(aFinishedRun()));
  const { env } = writeTestConfig({
    defaultProfile: 'p',
    profiles: { p: { baseUrl: service.baseUrl, workflows: { invoice: workflow } } },
  });
  const cwd = folderWith(FILES);
  const wfr = (args: readonly string[], options: CliOptions = {}) => runCli(args, { env, cwd, ...options });
  return { ...service, wfr };
}

describe('wfr run with declared parameters', () => {
  test('parameters: all mistakes are reported at once with exit 2, by run and --dry-run, and nothing is sent', async () => {
    const { wfr, requests } = await prepare();
    const items = ['invoice=scan.pdf', 'custmer=ACME', 'amount=12.50', 'note@=none.txt'];
    const lines = [
      'wfr: error: 5 problems',
      '  note@=none.txt: no such file (ENOENT); did you mean note.txt?',
      '  invoice=scan.pdf: must be a document, found a string; write invoice@scan.pdf',
      '  amount=12.50: must be a number, found a string; write amount:=12.50',
      '  custmer=ACME: unknown parameter "custmer"; did you mean "customer"?',
      '  note@=none.txt: unknown parameter "note"; expected invoice, customer, amount, paid, lines, address, a=b',
    ];
    for (const flags of [[], ['--dry-run'], ['--detach']]) {
      const result = await wfr(['run', 'invoice', ...flags, ...items]);
      expect(result).toMatchObject({ exitCode: 2, stdout: '', stderr: `${lines.join('\n')}\n` });
    }
    expect((await wfr(['run', 'invoice'])).stderr).toContain(TAKES);
    expect(requests).toEqual([]);
  });

  test('parameters: a declared string that names a file is sent, and the warning says how to send its text', async () => {
    const { wfr } = await prepare();
    const { exitCode, stderr } = await wfr(['run', 'invoice', 'invoice@scan.pdf', 'customer=@note.txt']);
    expect(exitCode).toBe(0);
    expect(stderr).toContain(
      'warning: customer=@note.txt: sends the text "@note.txt", not the file; write customer@=note.txt for its text\n',
    );
  });

  test('parameters: an unknown name with a value that is not JSON is one problem, with the name to use', async () => {
    const { wfr } = await prepare();
    const args = ['run', 'invoice', 'invoice@scan.pdf', 'customer=x', 'amout:=abc'];
    const problem = 'amout:=abc: unknown parameter "amout"; did you mean "amount"?';
    expect((await wfr(args)).stderr).toBe(`wfr: error: ${problem}\n`);
    const { stderr } = await wfr([...args, '--json']);
    expect(errorData(stderr)).toMatchObject({ message: problem, details: [] });
  });

  test('parameters: an input without a name is one problem', async () => {
    const { wfr } = await prepare();
    const { stderr } = await wfr(['run', 'invoice', '@scan.pdf', 'customer=x', 'invoice@scan.pdf']);
    expect(stderr).toBe('wfr: error: @scan.pdf: has no name before "@"\n');
  });

  test('parameters: the name of an input without a value is one problem, with what to write', async () => {
    const { wfr, requests } = await prepare();
    const { exitCode, stderr } = await wfr(['run', 'invoice', 'invoice', 'customer', 'lines', 'amout']);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr:
        'wfr: error: 4 problems\n' +
        '  amout: has no value; write amout=text, amout@file or amout:=json\n' +
        '  invoice: has no value; write invoice@scan.pdf\n' +
        '  customer: has no value; write customer=text\n' +
        "  lines: has no value; write 'lines:=[]'\n",
    });
    expect(requests).toEqual([]);
  });

  test('parameters: what the workflow takes follows the problems, and is not counted as one', async () => {
    const { wfr } = await prepare();
    const { stderr } = await wfr(['run', 'invoice', '--timeout', 'x', 'invoice@scan.pdf']);
    expect(stderr).toMatch(
      /^wfr: error: 2 problems\n {2}--timeout x: .*\n {2}missing input customer \(string\)\n {2}invoice takes: /,
    );
    const data = errorData((await wfr(['run', 'invoice', '-o', 'json', 'invoice@scan.pdf'])).stderr);
    expect([data.message, data.details[0]]).toEqual([
      'missing input customer (string)',
      expect.stringContaining('invoice takes: invoice@scan.pdf '),
    ]);
  });

  test('parameters: the suggestion for an unknown input is a parameter that was not given', async () => {
    const { wfr } = await prepare({ id: INVOICE, parameters: { total: 'string', totals: 'string' } });
    expect((await wfr(['run', 'invoice', 'total=1', 'totl=2'])).stderr).toContain(
      'unknown parameter "totl"; did you mean "totals"?',
    );
    expect((await wfr(['run', 'invoice', 'totals=1', 'totl=2'])).stderr).toContain(
      'unknown parameter "totl"; did you mean "total"?',
    );
  });

  test('parameters: inputs that match are sent, with and without the optional ones', async () => {
    const { wfr, posts } = await prepare();
    const required = ['invoice@scan.pdf', 'customer=ACME'];
    const optional = ['amount:= 1e400 ', 'paid:=false', 'lines:= [1]', 'address@:=12.json', 'a\\=b=x'];
    expect(await wfr(['run', 'invoice', ...required])).toMatchObject({ exitCode: 0 });
    expect((await wfr(['run', 'invoice', ...required, ...optional])).stderr).toContain(
      'address@:=12.json: must be an object, found a number; write',
    );
    expect(await wfr(['run', 'invoice', ...required, ...optional.toSpliced(3, 1)])).toMatchObject({
      exitCode: 0,
    });
    expect(posts().length).toBe(2);
  });

  test.each([
    ['invoice=scan.pdf', 'must be a document, found a string; write invoice@scan.pdf'],
    ['invoice=../scan.pdf', 'must be a document, found a string; write invoice@../scan.pdf'],
    ['invoice=@new.pdf', 'must be a document, found a string; write invoice@new.pdf'],
    ['invoice=@', 'must be a document, found a string; write invoice@scan.pdf'],
    ['invoice=', 'must be a document, found a string; write invoice@scan.pdf'],
    ['invoice:=null', 'must be a document, found null; write invoice@scan.pdf'],
    ['invoice@=scan.txt', 'must be a document, found a string; write invoice@scan.pdf'],
    ['invoice@scan.txt', 'must be application/pdf or image/*, found text/plain'],
    ['invoice@scan.pdf;type=image', '"image" is not a media type; use ;type=type/subtype'],
    ['invoice@scan.txt;type=imagex/png', 'must be application/pdf or image/*, found imagex/png'],
    ['invoice=data:text/plain;base64,aaaa', 'must be application/pdf or image/*, found text/plain'],
    [
      'invoice=data:application/pdf;base64,aaa',
      'must be a document; the base64 of its data URI is not valid',
    ],
    [
      'invoice=data:application/pdf;base64,a?aa',
      'must be a document; the base64 of its data URI is not valid',
    ],
    ['customer:=5', 'must be a string, found a number; write customer=text'],
    ['customer@:=12.json', 'must be a string, found a number; write customer=text'],
    ['customer:={"a":"b"}', 'must be a string, found an object; write customer=text'],
    ['amount=12.50', 'must be a number, found a string; write amount:=12.50'],
    ['amount=twelve', 'must be a number, found a string; write amount:=1'],
    ['amount="12"', 'must be a number, found a string; write amount:=1'],
    ['amount:="12"', 'must be a number, found a string; write amount:=1'],
    ['amount:=null', 'must be a number, found null; write amount:=1'],
    [
      'amount:=twelve',
      'not JSON: expected a value at character 1; for text, use amount=twelve; see wfr help inputs',
    ],
    [
      'customer:=ACME',
      'not JSON: expected a value at character 1; for text, use customer=ACME; see wfr help inputs',
    ],
    ['amount@=12.json', 'must be a number, found a string; write amount:=1'],
    ['amount@scan.pdf', 'must be a number, found a document; write amount:=1'],
    ['paid=yes', 'must be a boolean, found a string; write paid:=true'],
    ['paid=false', 'must be a boolean, found a string; write paid:=false'],
    ['lines={}', "must be an array, found a string; write 'lines:=[]'"],
    ['lines:={}', "must be an array, found an object; write 'lines:=[]'"],
    ['address:=[]', "must be an object, found an array; write 'address:={}'"],
    ['address={"a":1}', `must be an object, found a string; write 'address:={"a":1}'`],
    [`address={"a":"${'1'.repeat(100)}"}`, `must be an object, found a string; write 'address:={}'`],
    ['a\\=b:=5', `must be a string, found a number; write 'a'"\\\\"'=b=text'`],
  ])('parameters: %s exits 2 and is corrected', async (item, message) => {
    const { wfr, requests } = await prepare();
    const others = ['invoice@scan.pdf', 'customer=x'].filter((one) => !item.startsWith(one.slice(0, 7)));
    const { exitCode, stderr } = await wfr(['run', 'invoice', ...others, item]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: `wfr: error: ${item}: ${message}\n` });
    expect(requests).toEqual([]);
  });

  test('parameters: a data URI is a document in any spelling, and a document is also a string', async () => {
    const { wfr, posts } = await prepare();
    const uri = 'data:application/pdf;base64,/w==';
    for (const items of [
      [`invoice=${uri}`, 'customer=x'],
      ['invoice:= "data:application\\/pdf;base64,\\u002fw==" ', 'customer=x'],
      ['invoice@scan.txt;type=Image/PNG', 'customer@scan.txt'],
      ['invoice@scan.txt;type=Image/PNG;a="b"', 'customer@scan.txt'],
    ])
      expect(await wfr(['run', 'invoice', ...items])).toMatchObject({ exitCode: 0 });
    expect(posts().length).toBe(4);
  });

  test('parameters: inputs of a file are checked, and items override them', async () => {
    const { wfr, requests } = await prepare();
    const stdin = JSON.stringify({
      invoice: 'scan.pdf',
      customer: 5,
      amount: { deep: { $document: 'scan.pdf' } },
      lines: [],
      other: 1,
    });
    const args = ['run', 'invoice', '--inputs-file', '-', 'lines:=5', '--dry-run'];
    expect(await wfr(args, { stdin })).toMatchObject({
      exitCode: 2,
      stderr:
        'wfr: error: 5 problems\n' +
        '  --inputs-file -: invoice: must be a document, found a string; write {"$document": "scan.pdf"}\n' +
        '  --inputs-file -: customer: must be a string, found a number\n' +
        '  --inputs-file -: amount: must be a number, found an object\n' +
        "  lines:=5: must be an array, found a number; write 'lines:=[]'\n" +
        '  --inputs-file -: other: unknown parameter "other"; expected invoice, customer, amount, paid, lines, address, a=b\n',
    });
    const valid = JSON.stringify({ invoice: { $document: 'scan.pdf' }, customer: 5 });
    const corrected = await wfr(['run', 'invoice', '--inputs-file', '-', 'customer=5'], { stdin: valid });
    expect(corrected).toMatchObject({ exitCode: 0 });
    expect(requests.length).toBeGreaterThan(0);
  });

  test('parameters: nothing is called missing that may be in a file or item that is not valid', async () => {
    const { wfr } = await prepare();
    const { stderr } = await wfr(['run', 'invoice', '--inputs-file', 'none.json', 'amount=1']);
    expect(stderr).toBe(
      'wfr: error: 2 problems\n' +
        '  none.json: no such file (ENOENT)\n' +
        '  amount=1: must be a number, found a string; write amount:=1\n',
    );
    const items = ['invoice@scan.pdf', 'customer:=ACME', 'invoice@'];
    expect((await wfr(['run', 'invoice', ...items])).stderr).not.toContain('missing');
    expect((await wfr(['run', 'invoice', 'invoice@', 'customer=x'])).stderr).not.toContain('missing');
  });

  test('parameters: --no-check-parameters sends the inputs as they are', async () => {
    const { wfr, posts } = await prepare();
    const { exitCode } = await wfr(['run', 'invoice', '--no-check-parameters', 'amount=12.50']);
    expect(exitCode).toBe(0);
    expect(JSON.parse(String(await posts()[0]?.body())).inputs).toEqual({ amount: '12.50' });
  });

  test('parameters: batch --check says where names and types of inputs were not checked', async () => {
    const { wfr } = await prepare();
    const check = ['batch', 'invoice', '--each', 'invoice', 'scan.pdf', '-i', 'customer=ACME', '--check'];
    const valid = '1 row valid; nothing sent';
    expect((await wfr(check)).stdout).toBe(`${valid}\n`);
    expect((await wfr([...check, '--no-check-parameters'])).stdout).toBe(
      `${valid}; no declared parameters to check: wfr help config\n`,
    );
  });

  test('parameters: a workflow given as UUID or URL is checked as well, unless two names declare it', async () => {
    const declared = await prepare();
    const references = [INVOICE, INVOICE.toUpperCase(), `https://h.example/w/${INVOICE}`];
    for (const workflow of references) {
      const { exitCode, stderr } = await declared.wfr(['run', workflow, 'amount=1']);
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`${workflow} takes: invoice@scan.pdf customer=text`);
    }
    expect(declared.requests).toEqual([]);
    const workflows = {
      old: { id: INVOICE, parameters: { a: 'string' } },
      new: { id: INVOICE, parameters: { b: 'string' } },
      plain: INVOICE,
    };
    const { env } = writeTestConfig({
      defaultProfile: 'p',
      profiles: { p: { baseUrl: declared.baseUrl, workflows } },
    });
    const exitOf = async (...args: string[]) => (await runCli(['run', '-d', ...args], { env })).exitCode;
    expect([await exitOf('old', 'a=1'), await exitOf('new', 'b=1')]).toEqual([0, 0]);
    expect([await exitOf('new', 'a=1'), await exitOf('old', 'b=1')]).toEqual([2, 2]);
    expect([await exitOf(INVOICE, 'c=1'), await exitOf('plain', 'c=1')]).toEqual([0, 0]);
  });

  test('parameters: a declaration without parameters rejects every input', async () => {
    const { wfr } = await prepare({ id: INVOICE, parameters: {} });
    expect(await wfr(['run', 'invoice', '--dry-run'])).toMatchObject({ exitCode: 0 });
    const { stderr } = await wfr(['run', 'invoice', 'a=1']);
    expect(stderr).toBe('wfr: error: a=1: unknown parameter "a"; the workflow has none\n');
  });

  test('parameters: the suggested name is one that is not given yet', async () => {
    const { wfr } = await prepare({ id: INVOICE, parameters: { scan1: 'string', scan2: 'string' } });
    const stderrOf = async (...items: string[]) => (await wfr(['run', 'invoice', ...items])).stderr;
    expect(await stderrOf('scan1=x', 'scan=y')).toContain(
      'scan=y: unknown parameter "scan"; did you mean "scan2"?',
    );
  });

  test('parameters: a text of 20 MB is rejected by its type', async () => {
    const { wfr, posts } = await prepare();
    const stdin = 'x'.repeat(20_000_000);
    const { stderr } = await wfr(['run', 'invoice', 'invoice@=-', 'customer=x'], { stdin });
    expect(stderr).toContain('invoice@=-: must be a document, found a string; write invoice@scan.pdf');
    expect(posts()).toEqual([]);
  });
});
