import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { type CliOptions, runCli, Signals } from '../helpers/cli.js';
import { writeTestConfig } from '../helpers/config.js';
import { startTimer } from '../helpers/elapsed.js';
import { errorData, problemBlock } from '../helpers/error-data.js';
import { folderWith, folderWithSparseFile } from '../helpers/files.js';
import { aRun, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

type Files = Parameters<typeof folderWith>[0];

/** Runs `wfr run w ...args --detach` and returns what the service received. */
async function send(args: readonly string[], files: Files = {}, world: CliOptions = {}) {
  const { baseUrl, requests } = await scriptedService(async (request, reply) => {
    await request.body();
    reply.send(201, aRun());
  });
  const cwd = folderWith(files);
  const result = await runCli(['run', 'w', ...args, '--detach'], {
    env: { WFR_BASE_URL: baseUrl },
    cwd,
    ...world,
  });
  const [request] = requests;
  const body = (await request?.body())?.toString('utf8') ?? '';
  expect(request?.headers['content-length'] ?? '0').toBe(String(Buffer.byteLength(body)));
  return { ...result, requests, body, inputs: body === '' ? undefined : JSON.parse(body).inputs };
}

const PDF = Buffer.from('%PDF-1.4 not much of one');
const dataUri = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`;

describe('inputs: separators', () => {
  test.each<[string, string, unknown]>([
    ['text=hello', 'text', 'hello'],
    ['text=', 'text', ''],
    ['id=007', 'id', '007'],
    ['eq=a=b=c', 'eq', 'a=b=c'],
    ['mail=joe@example.com', 'mail', 'joe@example.com'],
    ['handle=@acme', 'handle', '@acme'],
    ['back=\\@acme', 'back', '\\@acme'],
    ['note=@missing.txt', 'note', '@missing.txt'],
    ['home=@~/x', 'home', '@~/x'],
    ['env=@/proc/self/environ', 'env', '@/proc/self/environ'],
    ['stdin=@-', 'stdin', '@-'],
    ['twice==x', 'twice', '=x'],
    ['assign=:=x', 'assign', ':=x'],
    ['uri=data:text/plain;base64,aGk=', 'uri', 'data:text/plain;base64,aGk='],
    ['typed=x;type=text/csv', 'typed', 'x;type=text/csv'],
    ['n:=5', 'n', 5],
    ['list:=[1,"a",null]', 'list', [1, 'a', null]],
    ['colon:name=x', 'colon:name', 'x'],
    ['a\\=b=c', 'a=b', 'c'],
    ['a\\:=b', 'a:', 'b'],
    ['a\\@b=c', 'a@b', 'c'],
    ['a\\@=c', 'a@', 'c'],
    ['a\\@\\:=c', 'a@:', 'c'],
    ['a\\@:=1', 'a@', 1],
    ['a\\\\=b', 'a\\', 'b'],
    ['C:\\dir=x', 'C:\\dir', 'x'],
    ['__proto__=x', '__proto__', 'x'],
    ['constructor:=1', 'constructor', 1],
    ['a.b c"d\'e=x', 'a.b c"d\'e', 'x'],
    ['größe=ä', 'größe', 'ä'],
    ['emoji😀=😀', 'emoji😀', '😀'],
    ['line=a\nb', 'line', 'a\nb'],
  ])('inputs: %s is sent with its type', async (item, name, value) => {
    const { body, exitCode } = await send([item]);
    expect(exitCode).toBe(0);
    // Compared as text, because toEqual ignores an own __proto__.
    expect(body.endsWith(`"inputs":{${JSON.stringify(name)}:${JSON.stringify(value)}}}`)).toBe(true);
  });

  test.each(['1.0', '9007199254740993', '1e400', '-0', '{"a":1,"a":2}', ' [ 1 ] '])(
    'inputs: name:=%s is sent unchanged',
    async (json) => {
      expect((await send([`x:=${json}`])).body).toContain(`"inputs":{"x":${json}}}`);
    },
  );

  test('inputs: name@=path sends a UTF-8 text file as a string', async () => {
    const text = 'Zeile 1\r\n"zwei" \\ äöü 😀 \ufffd\n';
    expect((await send(['note@=note.txt'], { 'note.txt': text })).inputs).toEqual({ note: text });
  });

  test('inputs: name@:=path sends the JSON of a file unchanged, without a byte order mark', async () => {
    const { body } = await send(['x@:=x.json'], { 'x.json': '\ufeff{"n": 1.0}' });
    expect(body).toContain('"inputs":{"x":{"n": 1.0}}}');
  });

  test('inputs: name@path sends a document with the media type of its file name extension', async () => {
    const { inputs } = await send(['a@scan.pdf', 'b@sheet.csv', 'c@photo.JPEG', 'd@plan.Mpp'], {
      'scan.pdf': PDF,
      'sheet.csv': 'a,b\n',
      'photo.JPEG': Buffer.from([0xff, 0xd8]),
      'plan.Mpp': PDF,
    });
    expect(inputs).toEqual({
      a: dataUri('application/pdf', PDF),
      b: dataUri('text/csv', Buffer.from('a,b\n')),
      c: dataUri('image/jpeg', Buffer.from([0xff, 0xd8])),
      d: dataUri('application/vnd.ms-project', PDF),
    });
  });

  test.each([
    ['text/plain;charset=utf-8', 'text/plain;charset=utf-8'],
    ['text/plain; charset="utf-8" ; X-a=b', 'text/plain;charset="utf-8";X-a=b'],
    ['a/b;c="d;type=e/f \\" "', 'a/b;c="d;type=e/f \\" "'],
    ['Text/HTML;type=c', 'Text/HTML;type=c'],
  ])('inputs: a media type may have parameters: %s is sent as %s', async (type, sent) => {
    const { inputs } = await send([`a@x;type=${type}`, '--inputs-file', 'in.json'], {
      x: PDF,
      'in.json': JSON.stringify({ b: { $document: 'x', type } }),
    });
    const uri = `data:${sent};base64,${Buffer.from(PDF).toString('base64')}`;
    expect(inputs).toEqual({ a: uri, b: uri });
  });

  test('inputs: only the last ;type= sets the media type, and a path may contain others', async () => {
    const { inputs } = await send(['a@x;type=y.bin;type=application/x-own'], { 'x;type=y.bin': PDF });
    expect(inputs).toEqual({ a: dataUri('application/x-own', PDF) });
  });

  test('inputs: a document whose name begins with = or := is written with ./', async () => {
    const second = LACKS.fileNames ? '==x.pdf' : ':=x.pdf';
    const files = { '=x.pdf': PDF, [second]: PDF, 'x.pdf': '%PDF of another name' };
    const { inputs } = await send(['a@./=x.pdf', `b@./${second}`], files);
    expect(inputs).toEqual({ a: dataUri('application/pdf', PDF), b: dataUri('application/pdf', PDF) });
  });

  test('inputs: ~/ in a path is the home folder', async () => {
    const home = folderWith({ 'x.pdf': PDF });
    const { inputs } = await send(['a@~/x.pdf'], {}, { home });
    expect(inputs).toEqual({ a: dataUri('application/pdf', PDF) });
    const { stderr } = await send(['a@~/none.pdf'], {}, { home });
    expect(stderr).toContain('a@~/none.pdf: no such file (ENOENT)');
  });

  test('inputs: -i takes the same items as the arguments, and its inputs come after them', async () => {
    const { body } = await send(['a=1', '-i', 'c=3', 'b=2', '--input', 'd:=4']);
    expect(body).toContain('"inputs":{"a":"1","b":"2","c":"3","d":4}}');
  });

  test('inputs: a command without inputs sends an empty object', async () => {
    expect((await send([])).body).toBe('{"worfklowId":"w","workflowId":"w","inputs":{}}');
  });
});

describe('inputs: texts that the service rejects', () => {
  const FILE =
    'invoice=scan.pdf: sends the text "scan.pdf", not the file; write invoice@scan.pdf, or invoice@=scan.pdf for its text';
  const AMOUNT = 'amount: sent as a text; for a number write amount:=number';
  const PAID = 'paid: sent as a text; for a boolean write paid:=boolean';
  const CODE = 'code: sent as JSON; for a text write code=text';
  /** What is said if nothing else is known to help. */
  const GENERAL = 'Inputs are written name=text, name@file or name:=json: wfr help inputs';

  /** Returns the hints of the error, and the lines before it. */
  async function reject(status: number, message: string, args: readonly string[]) {
    const { baseUrl } = await scriptedService(async (request, reply) => {
      await request.body();
      reply.send(status, { message });
    });
    const cwd = folderWith({ 'scan.pdf': PDF, 'other.json': '{"size": "5"}' });
    const line = ['run', 'w', ...args, '--workflow-id-field', 'both', '--json'];
    const { stderr } = await runCli(line, { env: { WFR_BASE_URL: baseUrl }, cwd });
    return { hints: errorData(stderr).hints, lines: stderr.split('\n').slice(0, -2) };
  }

  test.each([
    ['names one of them', 422, 'inputs.invoice: must be a document', [FILE]],
    ['names two of them', 400, 'inputs: "paid" and "amount" are texts', [AMOUNT, PAID]],
    ['names one that is JSON', 422, 'inputs.code: must be a string, found a number', [CODE]],
    ['names none of them', 400, 'inputs: the amounts are invalid', [GENERAL]],
    ['names another input of the command line', 422, 'inputs.customer: is unknown', [GENERAL]],
    ['names an input of the inputs file', 422, 'inputs.size: is unknown', [GENERAL]],
    ['has another status', 409, 'inputs.amount: is in use', []],
    [
      'calls one unknown',
      422,
      'inputs.amount: unknown parameter "amount"; inputs.paid: must be a boolean',
      [PAID],
    ],
    ['calls one unknown, line by line', 422, 'inputs.paid: no\ninputs.amount: Unknown', [PAID]],
  ])(
    'run: a rejection that %s has a hint for each that may be wrong',
    async (_case, status, message, hints) => {
      const args = ['invoice=scan.pdf', 'amount=3', '-i', 'paid=true', 'customer=ACME', 'id=007', 'code:=7'];
      const result = await reject(status, message, [...args, '--inputs-file', 'other.json']);
      expect(result).toEqual({ hints, lines: [] });
    },
  );

  test.each(['./up/../../scan.pdf', '/etc/passwd', 'none.pdf', '.', '', '-', '3x', 'null'])(
    'run: a rejection of the text "%s" has only the general hint, as it is no file in the folder and no number',
    async (text) => {
      expect((await reject(422, 'inputs.note: is invalid', [`note=${text}`])).hints).toEqual([GENERAL]);
    },
  );

  test('run: a rejection of a text that must be one by its declaration has only the general hint', async () => {
    const { baseUrl } = await scriptedService((_request, reply) =>
      reply.send(422, { message: 'inputs.amount: no' }),
    );
    const workflow = { id: '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e', parameters: { amount: 'string' } };
    const { env } = writeTestConfig({
      defaultProfile: 'p',
      profiles: { p: { baseUrl, workflows: { w: workflow } } },
    });
    const { stderr } = await runCli(['run', 'w', 'amount=3', '--json'], { env });
    expect(errorData(stderr)).toMatchObject({ code: 'rejected', hints: [GENERAL] });
  });

  test('run: the hints about rejected texts come before that about the field of the workflow', async () => {
    const { hints } = await reject(422, 'amount: no', ['amount=3']);
    expect(hints).toEqual([AMOUNT, expect.stringContaining('wfr run --dry-run shows')]);
  });
});

describe('inputs: a value that looks like a file', () => {
  test('inputs: a value is sent although it begins with @ and names a file', async () => {
    const { inputs, stderr } = await send(['note=@note.txt'], { 'note.txt': 'secret' });
    expect(inputs).toEqual({ note: '@note.txt' });
    expect(stderr).toContain(
      'warning: note=@note.txt: sends the text "@note.txt", not the file; write note@note.txt, or note@=note.txt for its text\n',
    );
  });

  test('inputs: the warning about a value that names a file escapes the name and quotes the item for the shell', async () => {
    const { inputs, stderr } = await send(['a\\=b=@my note.txt'], { 'my note.txt': 'secret' });
    expect(inputs).toEqual({ 'a=b': '@my note.txt' });
    expect(stderr).toContain(` or 'a'"\\\\"'=b@=my note.txt' for its text\n`);
  });

  test('inputs: --dry-run shows the warning about a value that names a file, too', async () => {
    const { stderr } = await send(['note=@note.txt', '--dry-run'], { 'note.txt': 'secret' });
    expect(stderr).toContain('write note@note.txt, or note@=note.txt for its text\n');
  });

  test.each([
    '@none.txt',
    '@folder',
    '@./../up/note.txt',
    '@folder/../note.txt',
    '@~/note.txt',
    '@C:note.txt',
    '@folder\\note.txt',
    '@/etc/passwd',
    'note.txt',
    '@',
    '@-',
    '@a\0b',
    `@${'a'.repeat(300)}`,
  ])('inputs: the value %j causes no warning', async (value) => {
    const files = {
      'up/note.txt': '',
      ...(!LACKS.fileNames && { 'C:note.txt': '' }),
      'folder\\note.txt': '',
      'folder/x': '',
      '~/note.txt': '',
    };
    const cwd = folderWith({ ...files, 'note.txt': '' });
    const { inputs, stderr } = await send([`note=${value}`], {}, { cwd });
    expect(inputs).toEqual({ note: value });
    expect(stderr).not.toContain('warning');
  });
});

describe('inputs: standard input', () => {
  test('inputs: an empty document from a pipe exits 2 and sends nothing; an empty file is a document', async () => {
    const piped = await send(['a@-;type=application/pdf'], {}, { stdin: '' });
    expect([piped.exitCode, piped.requests.length]).toEqual([2, 0]);
    expect(piped.stderr).toContain('standard input is empty; the command that writes to it may have failed');
    expect((await send(['a@e.pdf'], { 'e.pdf': '' })).inputs).toEqual({ a: 'data:application/pdf;base64,' });
  });

  test('inputs: standard input is sent as a document if its media type is given', async () => {
    const { inputs } = await send(['a@-;type=application/pdf'], {}, { stdin: PDF });
    expect(inputs).toEqual({ a: dataUri('application/pdf', PDF) });
  });

  test('inputs: standard input can be text, JSON, or the inputs file', async () => {
    expect((await send(['a@=-'], {}, { stdin: 'hi\n' })).inputs).toEqual({ a: 'hi\n' });
    expect((await send(['a@:=-'], {}, { stdin: '[1]' })).inputs).toEqual({ a: [1] });
    expect((await send(['--inputs-file', '-'], {}, { stdin: '{"a": 1}' })).inputs).toEqual({ a: 1 });
  });

  test('inputs: a document from standard input is no file that is named -', async () => {
    const { inputs } = await send(['a@-;type=a/b', '--report', 'json=./-'], {}, { stdin: PDF });
    expect(inputs).toEqual({ a: dataUri('a/b', PDF) });
  });

  test.skipIf(LACKS.procfs)('inputs: the copy of standard input is closed once it was sent', async () => {
    const copies = () => {
      const paths = readdirSync('/proc/self/fd').map((fd) => `/proc/self/fd/${fd}`);
      // The descriptor of the folder itself is closed by now.
      return paths
        .filter((path) => lstatSync(path, { throwIfNoEntry: false }))
        .map((path) => readlinkSync(path))
        .filter((target) => /\bwfr-.* \(deleted\)$/.test(target));
    };
    const during: string[] = [];
    const { baseUrl } = await scriptedService(async (request, reply) => {
      await request.body();
      during.push(...copies());
      reply.send(201, aRun());
    });
    const stdin = Readable.from([PDF]);
    await runCli(['run', 'w', 'a@-;type=application/pdf', '--detach'], {
      env: { WFR_BASE_URL: baseUrl },
      stdin,
    });
    expect(during).toHaveLength(1);
    expect(copies()).toEqual([]);
  });

  test('inputs: a document from standard input without a media type is rejected with the fix', async () => {
    const { stderr, exitCode, requests } = await send(['a@-'], {}, { stdin: PDF });
    expect(exitCode).toBe(2);
    expect(stderr).toContain("a@-: the media type of standard input is unknown; add ';type=type/subtype'");
    expect(requests.length).toBe(0);
  });

  test.each([
    [['a@=-', 'b@=-'], 'b@=-: standard input is already read by a@=-'],
    [['--inputs-file', '-', 'b@=-'], 'b@=-: standard input is already read by --inputs-file -'],
    [['--token-file', '-', 'b@=-'], 'b@=-: standard input is already read by --token-file -'],
  ])('inputs: standard input that is read twice by %s is rejected (fault 53)', async (args, message) => {
    const { stderr, exitCode, requests } = await send(args, {}, { stdin: '{}' });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
    expect(requests.length).toBe(0);
  });
});

describe('--no-documents', () => {
  test.each([
    ['{"a": {"$document": "scan.pdf"}}', 'at character 8'],
    ['{"a": 1,\n"b": [[{"c": {"\\u0024document": "scan.pdf"}}]]}', 'at line 2, column 15'],
    ['{"a": {"b": {"$document": "scan.pdf"}, "b": 1}}', 'at character 14'],
    ['\ufeff{"$document": "scan.pdf"}', 'at character 2'],
  ])(
    '--no-documents: an inputs file with a $document in it, such as %s, exits 2 before anything is sent',
    async (json, position) => {
      const { exitCode, stderr, requests } = await send(
        ['--inputs-file', '-', '--no-documents'],
        { 'scan.pdf': PDF },
        { stdin: json },
      );
      expect({ exitCode, requests: requests.length }).toEqual({ exitCode: 2, requests: 0 });
      expect(stderr).toContain(`"$document" ${position} is not allowed with --no-documents`);
    },
  );

  test('--no-documents: other values of the inputs file and documents of items are sent', async () => {
    const { inputs } = await send(
      ['--inputs-file', '-', '--no-documents', 'scan@scan.pdf'],
      { 'scan.pdf': PDF },
      { stdin: '{"a": "@/etc/passwd", "b": "$document"}' },
    );
    expect(inputs).toEqual({ a: '@/etc/passwd', b: '$document', scan: dataUri('application/pdf', PDF) });
  });
});

describe('--inputs-file', () => {
  test('--inputs-file: its values are sent unchanged, and items override its keys', async () => {
    const { body } = await send(['--inputs-file', 'in.json', 'b=item', 'd=new'], {
      'in.json': '{"a": 1.0, "b": {"$document": "missing.pdf"}, "c": [1, 2]}',
    });
    expect(body).toContain('"inputs":{"a":1.0,"b":"item","c":[1, 2],"d":"new"}}');
  });

  test('--inputs-file: documents may be nested at any depth, with paths relative to the file', async () => {
    const { inputs } = await send(['--inputs-file', 'sub/in.json'], {
      'sub/in.json':
        '{"one": {"$document": "scan.pdf"}, "many": [{"x": {"$document": "raw", "type": "text/csv"}}, {"\\u0024document": "scan.pdf"}]}',
      'sub/scan.pdf': PDF,
      'sub/raw': 'a,b',
    });
    expect(inputs).toEqual({
      one: dataUri('application/pdf', PDF),
      many: [{ x: dataUri('text/csv', Buffer.from('a,b')) }, dataUri('application/pdf', PDF)],
    });
  });

  test.each([
    ['[1]', 'in.json: is not a JSON object; expected {'],
    ['{"a":1,"\\u0061":2}', 'in.json: duplicate name "a"; remove one of the two'],
    ['{"a":\n  tru}', 'in.json: not JSON: expected a value at line 2, column 3'],
    ['{"a":1,}', 'in.json: not JSON: expected a name in double quotes at character 8'],
    ['{"a":"\\ud800"}', 'in.json: unpaired surrogate in a string at character 6'],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), 'in.json: not UTF-8 at byte 3'],
    [
      '{"a":{"$document":"x.unknownext"}}',
      "in.json: a: the file name does not imply a media type; add ';type=type/subtype'",
    ],
    ['{"a":{"$document":"none.pdf"}}', 'in.json: a: none.pdf: no such file (ENOENT)'],
    ['{"a":{"$document":5}}', 'in.json: the document at character 6 is not {"$document"'],
    ['{"a":{"$document":"x.pdf","mime":"y"}}', 'the document at character 6 is not {"$document"'],
    ['{"a":{"$document":"x.pdf","type":"pdf"}}', 'the document at character 6 is not {"$document"'],
    ['', 'in.json: not JSON: unexpected end at character 1'],
  ])('--inputs-file: %s is rejected with its position (fault 57)', async (content, message) => {
    const { stderr, exitCode, requests } = await send(['--inputs-file', 'in.json'], {
      'in.json': content,
      'x.unknownext': 'x',
    });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
    expect(requests.length).toBe(0);
  });

  test('--inputs-file: all documents that cannot be read are reported together', async () => {
    const json = `{"a": [{"$document": "none.pdf"}, {"$document": "x.odd"}], "d": {"$document": "gone.pdf"}}`;
    const { stderr, requests } = await send(['--inputs-file', 'in.json'], { 'in.json': json, 'x.odd': 'x' });
    const mistakes = stderr.split('\n').flatMap((line) => line.match(/in\.json: (.*?)[;,(] ?/)?.[1] ?? []);
    expect(mistakes.map((mistake) => mistake.trim())).toEqual([
      'a: none.pdf: no such file',
      'a: the file name does not imply a media type',
      'd: gone.pdf: no such file',
    ]);
    expect(requests.length).toBe(0);
  });

  test('--inputs-file: a byte order mark is accepted, and 1e400 is sent unchanged (fault 57)', async () => {
    const { body } = await send(['--inputs-file', 'in.json'], { 'in.json': '\ufeff{"a":1e400}' });
    expect(body).toContain('"inputs":{"a":1e400}}');
  });
});

test('run: Ctrl-C while standard input is read exits 130, and says that no run was created (fault 61)', async () => {
  const signals = new Signals();
  const stdin = new Readable({ read: () => void setImmediate(() => signals.raise('SIGINT')) });
  const { exitCode, stderr, requests } = await send(['a@=-'], {}, { stdin, signals });
  expect(exitCode).toBe(130);
  expect(stderr).toBe('wfr: cancelled; no run was created\n');
  expect(requests.length).toBe(0);
});

const NO_INPUT = 'not an input such as name=text or name@document; see wfr help inputs';

describe('inputs: what is rejected before anything is sent', () => {
  test.each([
    [['invoice', 'scan.pdf'], [`invoice, scan.pdf: ${NO_INPUT}`]],
    [
      ['customer', '=', 'ACME Ltd'],
      [`customer, ACME Ltd: ${NO_INPUT}`, '=: has no name before "="'],
    ],
    [['none.pdf', 'x=1', ''], [`none.pdf, "": ${NO_INPUT}`]],
    [
      ['one', 'x:={'],
      [
        'one: has no value; write one=text, one@file or one:=json',
        'x:={: not JSON: unexpected end at character 2; for text, use x=text; see wfr help inputs',
      ],
    ],
    [Array.from('abcdefghijkl'), [`a, b, c, d, e, f, g, h, i, j and 2 more: ${NO_INPUT}`]],
  ])('run: %j are explained together', async (words, problems) => {
    const { stderr, exitCode, requests } = await send(words, { 'scan.pdf': 'x', 'sub/x': '' });
    expect({ exitCode, requests: requests.length }).toEqual({ exitCode: 2, requests: 0 });
    expect(stderr).toBe(`wfr: error: ${problemBlock(problems)}\n`);
  });

  test.each([
    ['plain', 'plain: has no value; write plain=text, plain@file or plain:=json\n'],
    ['5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e', '3d4e: not an input such as name=text'],
    ['./plain', './plain: not an input such as name=text'],
    ['=x', '=x: has no name before "="'],
    ['x:={', 'x:={: not JSON: unexpected end at character 2'],
    ['x:=[1:2]', 'x:=[1:2]: not JSON: expected a comma or ] at character 3'],
    ['x:={"a",1}', 'x:={"a",1}: not JSON: expected a colon at character 5'],
    ['x:=[1,]', 'x:=[1,]: not JSON: expected a value at character 4'],
    ['x:={"a":1,}', 'x:={"a":1,}: not JSON: expected a name in double quotes at character 8'],
    ['x:=[1}', 'x:=[1}: not JSON: expected a comma or ] at character 3'],
    ['x:=:1', 'x:=:1: not JSON: expected a value at character 1'],
    ['x:=ACME-1.2', 'expected a value at character 1; for text, use x=ACME-1.2; see wfr help inputs\n'],
    ['x:=ACME Ltd', 'expected a value at character 1; for text, use x=text; see wfr help inputs\n'],
    ['x:=-1,25', 'x:=-1,25: not a number, which has a point and no comma; for text, use x=text'],
    ['x:=1,288.00', ': not a number, which has a point and no comma; for text, use x=text'],
    ['x:=1.288,00', ': not a number, which has a point and no comma; for text, use x=text'],
    ['x:=1,2,3', 'at character 2; for text, use x=text'],
    ['x:=NaN', 'x:=NaN: not JSON: expected a value at character 1'],
    ['x@', 'x@: has no path after "@"'],
    ['x@=', 'x@=: has no path after "@="'],
    ['x@:=', 'x@:=: has no path after "@:="'],
    ['x@;type=a/b', 'x@;type=a/b: has no path after "@"'],
    ['@=x', '@=x: has no name before "@="'],
    ['a\\:\\=b:=@my x.json', 'for text, use a\\:\\=b=text; see wfr help inputs'],
    ['x:=@', 'x:=@: not JSON: expected a value at character 1'],
    ['x:=?', 'x:=?: not JSON: expected a value at character 1'],
    ['x:=[1,?]', 'x:=[1,?]: not JSON: expected a value at character 4'],
    ['x:=@/etc/passwd', 'x:=@/etc/passwd: not JSON: expected a value at character 1; for text, use x=text'],
    ['x@pdf', 'the file name does not imply a media type'],
    ['x@none.pdf', 'x@none.pdf: no such file (ENOENT)'],
    ['x@~me/none.pdf', 'x@~me/none.pdf: no such file (ENOENT)'],
    ['x@a~.pdf', 'x@a~.pdf: no such file (ENOENT)\n'],
    ['x@latin.txt', 'x@latin.txt: no such file (ENOENT); did you mean latin1.txt?\n'],
    ['x@=../Folder.pfd/y', 'x@=../Folder.pfd/y: no such file (ENOENT)\n'],
    ['x@folder.pd', 'x@folder.pd: no such file (ENOENT)\n'],
    // Only its extension is that of other.pdf.
    ['x@folder.pdf/ohhhh.pdf', 'x@folder.pdf/ohhhh.pdf: no such file (ENOENT)\n'],
    ['x@:=./folder.pdf/x.', 'x@:=./folder.pdf/x.: no such file (ENOENT)\n'],
    [
      'x@folder.pdf/other.pdg',
      'x@folder.pdf/other.pdg: no such file (ENOENT); did you mean folder.pdf/other.pdf?\n',
    ],
    ['x@folder.pdf', 'x@folder.pdf: it is a folder (EISDIR); wfr batch --each takes folders'],
    ['x@file.unknownext', "add ';type=type/subtype', in a table to the column's name, in JSON"],
    ['x@file.unknownext;type=pdf', '"pdf" is not a media type; use ;type=type/subtype'],
    ['x@file.unknownext;type=a/b;c', '"a/b;c" is not a media type'],
    ['x@file.unknownext;type=a/b;c=d,e', '"a/b;c=d,e" is not a media type'],
    ['x@file.unknownext;type=a/b;c="d', '"a/b;c="d" is not a media type'],
    [`x@file.unknownext;type=a/b;c=${'d'.repeat(300)}`, 'is not a media type'],
    ['x@=latin1.txt', 'x@=latin1.txt: not UTF-8 at byte 3'],
    ['x:="\\udc00"', 'unpaired surrogate in a string'],
  ])('inputs: %s exits 2 with the reason, and nothing is sent', async (item, message) => {
    const files = {
      pdf: 'x',
      'file.unknownext': 'x',
      'latin1.txt': Buffer.from([0x61, 0x62, 0xe4]),
      'folder.pdf/x': '',
      'folder.pdf/other.pdf': '',
    };
    const { stderr, exitCode, requests } = await send([item], files);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
    expect(requests.length).toBe(0);
  });

  test('inputs: a name given twice exits 2 and quotes both items', async () => {
    const { stderr, exitCode } = await send(['a=1', '-i', 'a:=2']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('a:=2: duplicate input "a"; remove it or a=1');
  });

  test('inputs: all mistakes of a command line are reported together', async () => {
    const { stderr, exitCode, requests } = await send(
      ['plain', 'x@none.pdf', 'y:={', '--interval', 'soon', '--timeout', '-1'],
      {},
      {
        env: { WFR_BASE_URL: 'ftp://x' },
      },
    );
    expect(exitCode).toBe(2);
    for (const part of [
      'plain: has no value',
      'none.pdf: no such file',
      'y:={: not JSON',
      '--interval soon',
      '--timeout -1',
      'ftp://x',
    ]) {
      expect(stderr).toContain(part);
    }
    expect(requests.length).toBe(0);
  });

  test('inputs: an item that is not UTF-8 exits 2 (fault 56)', async () => {
    const { stderr, exitCode } = await send(['a=x\ufffdy']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('a=x\ufffdy: contains bytes that are not UTF-8');
  });
});

test.each([
  ['', 1],
  ['a\ufffdb', 6],
  ['\ufffd', 4],
  ['\ufffd\ufffd', 7],
  ['é\ufffd', 6],
])(
  'inputs: after the valid text %j of a file, which may contain U+FFFD, an invalid byte exits 2 and is named: %i (fault 56)',
  async (text, position) => {
    const { stderr, exitCode } = await send(['x@=x.txt'], {
      'x.txt': Buffer.concat([Buffer.from(text), Buffer.from([0xff]), Buffer.from('z')]),
    });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`x@=x.txt: not UTF-8 at byte ${position}\n`);
  },
);

test('inputs: a text of more than 64 MiB exits 2 and suggests a document', async () => {
  const cwd = folderWithSparseFile(70_000_000, 'x.txt');
  const { stderr, exitCode, requests } = await send(['x@=x.txt'], {}, { cwd });
  expect(exitCode).toBe(2);
  expect(stderr).toContain('x@=x.txt: x.txt is larger than 64 MiB; send it as a document with name@path');
  expect(requests.length).toBe(0);
});

describe('--dry-run', () => {
  test('--dry-run: prints the request, with the token hidden and documents abridged', async () => {
    const sha256 = createHash('sha256').update(PDF).digest('hex');
    const cwd = folderWith({ 'a.pdf': PDF });
    const { stdout, exitCode } = await runCli(
      [
        'run',
        'w',
        'doc@a.pdf',
        'n:=1.0',
        '--dry-run',
        '-H',
        'X-Key: secret-value',
        '--base-url',
        'https://host.example/api/v1/',
      ],
      { cwd, env: { WFR_TOKEN: 'the-token' } },
    );
    expect(exitCode).toBe(0);
    expect(stdout).toContain('"n": 1.0');
    expect(stdout).not.toMatch(/secret-value|the-token/);
    expect(JSON.parse(stdout)).toEqual({
      method: 'POST',
      url: 'https://host.example/api/v1/runs',
      headers: { 'x-key': '(hidden)', 'content-type': 'application/json', authorization: 'Bearer (hidden)' },
      body: {
        worfklowId: 'w',
        workflowId: 'w',
        inputs: { doc: `data:application/pdf;base64,(${PDF.length} bytes, SHA-256 ${sha256})`, n: 1 },
      },
    });
  });

  test('--dry-run: shows no Authorization header if none would be sent, and reports an unreadable token file', async () => {
    const args = ['run', 'w', '--dry-run', '--base-url', 'https://host.example'];
    expect(JSON.parse((await runCli(args)).stdout).headers).toEqual({ 'content-type': 'application/json' });
    expect((await runCli([...args, '--token-file', 'missing'])).exitCode).toBe(2);
  });

  test('--dry-run: sends nothing', async () => {
    const { requests, exitCode } = await send(['a=1', '--dry-run']);
    expect(exitCode).toBe(0);
    expect(requests.length).toBe(0);
  });
});

test('run: a file that is removed between two documents is noticed before the request is complete', async () => {
  const cwd = folderWith({ 'a.pdf': Buffer.alloc(3_000_000, 1), 'b.pdf': PDF });
  const { baseUrl, requests } = await scriptedService(async (request) => {
    await request.atLeast(500_000);
    rmSync(join(cwd, 'b.pdf'));
  });
  const result = await runCli(['run', 'w', 'a@a.pdf', 'b@b.pdf'], { env: { WFR_BASE_URL: baseUrl }, cwd });
  expect(result.exitCode).toBe(2);
  expect(result.stderr).toContain('b.pdf');
  expect(result.stderr).toContain('no run was created');
  expect(requests[0]?.received).toBeLessThan(Number(requests[0]?.headers['content-length']));
});

test.each([
  ['valid', { $document: 'x.pdf' }, 'names more documents than can be sent (10000)'],
  ['invalid', { $document: '' }, 'is not {"$document": "path"'],
  ['not allowed', { $document: 'x.pdf' }, 'is not allowed'],
])('--inputs-file: 150,000 documents that are %s exit 2 in linear time', async (name, document, message) => {
  const cwd = folderWith({
    'x.pdf': '%PDF',
    'in.json': JSON.stringify({ scans: Array.from({ length: 150_000 }, () => document) }),
  });
  const elapsed = startTimer();
  const flags = name === 'not allowed' ? ['--no-documents'] : [];
  const { exitCode, stderr } = await runCli(['run', 'w', '--inputs-file', 'in.json', ...flags], {
    cwd,
    env: { WFR_BASE_URL: 'http://127.0.0.1:9' },
  });
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect(elapsed()).toBeLessThan(5_000);
});
