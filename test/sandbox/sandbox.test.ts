import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli, Signals, temporaryFolder } from '../helpers/cli.js';
import { VirtualClock } from '../helpers/clock.js';
import { ARCHIVE, INVOICE, SLOW, startTestSandbox } from '../helpers/sandbox.js';

interface Answer {
  status: number;
  body: { error?: { message: string }; id?: string; status?: string; [field: string]: unknown };
}

/** Sends a request to the sandbox without wfr's client. */
function speak(
  baseUrl: string,
  method: string,
  path: string,
  chunks: readonly (string | Buffer)[] = [],
  headers = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const all = { authorization: 'Bearer sandbox-token', 'content-type': 'application/json', ...headers };
    const outgoing = request(`${baseUrl}${path}`, { method, headers: all, agent: false }, async (answer) => {
      const parts: Buffer[] = [];
      for await (const part of answer) parts.push(part);
      resolve({ status: answer.statusCode ?? 0, body: JSON.parse(Buffer.concat(parts).toString()) });
    });
    outgoing.on('error', reject);
    for (const chunk of chunks) outgoing.write(chunk);
    outgoing.end();
  });
}

const trigger = (inputs: unknown, id = INVOICE) => JSON.stringify({ worfklowId: id, inputs });

describe('sandbox: the service', () => {
  test('sandbox: type, length and digest of a document are computed from the received bytes, however they are split', async () => {
    const { sandbox, clock } = await startTestSandbox();
    for (const size of [0, 1, 2, 3, 4, 1000, 100_001]) {
      const bytes = randomBytes(size);
      const body = Buffer.from(
        trigger({ customer: 'ä"\\😀', invoice: `data:application/pdf;base64,${bytes.toString('base64')}` }),
      );
      const pieces: Buffer[] = [];
      for (let at = 0; at < body.length; at += 1 + ((at * 7) % 997))
        pieces.push(body.subarray(at, at + 1 + ((at * 7) % 997)));
      const { status, body: run } = await speak(sandbox.baseUrl, 'POST', '/runs', pieces);
      expect(status).toBe(201);
      clock.advance(60_000);
      const { body: ended } = await speak(sandbox.baseUrl, 'GET', `/runs/${run.id}`);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      expect(ended).toMatchObject({
        status: 'FINISHED',
        output: { customer: 'ä"\\😀', document: { mediaType: 'application/pdf', bytes: size, sha256 } },
      });
    }
  });

  test.each(['image/svg+xml', 'x+own/a.b', 'A0!#$&^_.+-/b1!#$&^_.+-'])(
    'sandbox: a document may have the media type %s, whose characters RFC 6838 allows, and wfr sends it',
    async (type) => {
      const { env, clock } = await startTestSandbox();
      const { stdout, exitCode } = await runCli(
        ['run', INVOICE, `invoice@-;type=${type}`, 'customer=x', '--get', '/document/mediaType'],
        { env, clock, stdin: 'x' },
      );
      expect({ exitCode, type: stdout.trim().toLowerCase() }).toEqual({
        exitCode: 0,
        type: type.toLowerCase(),
      });
    },
  );

  test('sandbox: an output returns a document as it was received, and wfr saves it', async () => {
    const { env, clock } = await startTestSandbox();
    const cwd = temporaryFolder();
    const scan = randomBytes(100_001);
    writeFileSync(join(cwd, 'scan.pdf'), scan);
    const args = ['run', ARCHIVE, 'scan@scan.pdf', 'title=A', '--save-documents', 'out'];
    const { stdout, exitCode } = await runCli(args, { env, clock, cwd });
    const sha256 = createHash('sha256').update(scan).digest('hex');
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ title: 'A', copy: join('out', 'copy.pdf'), sha256 });
    expect(readFileSync(join(cwd, 'out/copy.pdf')).equals(scan)).toBe(true);
  });

  test('sandbox: the members of a request may be in any order, and a data URI may contain escapes', async () => {
    const { sandbox } = await startTestSandbox();
    const body = `{"inputs":{"invoice":"data:application\\/pdf;base64,\\u002f\\/8=","customer":"x"}, "workflowId" : "${INVOICE}"}`;
    expect((await speak(sandbox.baseUrl, 'POST', '/runs', [body])).status).toBe(201);
  });

  test.each<[string, number, string, string?]>([
    ['not json', 400, 'The body is not a JSON object.'],
    ['[]', 400, 'The body is not a JSON object.'],
    ['{"a":tru}', 400, 'The body is not a JSON object.'],
    ['{"a":1', 400, 'The body is not a JSON object.'],
    ['{"a":1}x', 400, 'The body is not a JSON object.'],
    ['{}', 400, 'The field "worfklowId" is missing.'],
    [`{"worfklowId":"${INVOICE}"}`, 400, 'The field "inputs" must be an object.'],
    [`{"worfklowId":"${INVOICE}","inputs":{},"more":1}`, 400, 'Unknown field "more".'],
    [
      `{"worfklowId":"a","workflowId":"b","inputs":{}}`,
      400,
      'The fields "worfklowId" and "workflowId" differ.',
    ],
    ['{"worfklowId":"x","inputs":{}}', 404, 'There is no workflow "x"; see wfr sandbox --list'],
    ['{"worfklowId":"5B1F0C","inputs":{}}', 404, `There is no workflow "5B1F0C"; invoice v3 is ${INVOICE}`],
    [
      '{"worfklowId":"invoice","inputs":{}}',
      404,
      'There is no workflow "invoice"; invoice v3 is 5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e',
    ],
    [trigger({ invoice: 'x', customer: 5 }), 422, 'inputs.invoice: must be a document, found a string'],
    [trigger({ invoice: 'x', customer: 5 }), 422, 'inputs.customer: must be a string, found a number'],
    [
      trigger({ invoice: 'data:application/pdf;base64,a?b=', customer: 'x' }),
      422,
      'must be a document; the base64 of its data URI is not valid',
    ],
    [
      trigger({ invoice: 'data:application/pdf;base64,aaaaa', customer: 'x' }),
      422,
      'must be a document; the base64 of its data URI is not valid',
    ],
    [
      trigger({ invoice: 'data:application/pdf;base64,aa==aaaa', customer: 'x' }),
      422,
      'base64 of its data URI is not valid',
    ],
    [trigger({ customer: 'x' }), 422, 'Start Node: missing input invoice (document)'],
    [trigger({ invoice: null, customer: [] }), 422, 'inputs.customer: must be a string, found an array'],
  ])('sandbox: %s is rejected with %i and the reason', async (body, status, message) => {
    const { sandbox } = await startTestSandbox();
    const answer = await speak(sandbox.baseUrl, 'POST', '/runs', [body]);
    expect(answer.status).toBe(status);
    expect(answer.body.error?.message).toContain(message);
    expect(sandbox.runCount()).toBe(0);
  });

  test('sandbox: the token, content type, path, method and id of a request are checked', async () => {
    const { sandbox } = await startTestSandbox();
    const status = async (...args: Parameters<typeof speak> extends [string, ...infer Rest] ? Rest : never) =>
      (await speak(sandbox.baseUrl, ...args)).status;
    const good = trigger({ label: 'x' }, SLOW);
    expect(await status('POST', '/runs', [good], { authorization: 'Bearer other' })).toBe(401);
    expect(await status('POST', '/runs', [good], { 'content-type': 'text/plain' })).toBe(415);
    expect(await status('POST', '/runs', [good], { 'content-type': 'Application/JSON; charset=utf-8' })).toBe(
      201,
    );
    expect(await status('GET', '/nowhere')).toBe(404);
    expect(await status('GET', '/runs')).toBe(404);
    expect(await status('GET', '/runs/unknown')).toBe(404);
    expect(await status('GET', '/runs/%ff')).toBe(404);
  });

  test('sandbox: answers only requests whose Host is this machine with its port, whatever their token', async () => {
    const { sandbox } = await startTestSandbox();
    const { port } = new URL(sandbox.baseUrl);
    const good = trigger({ label: 'x' }, SLOW);
    const status = async (host: string) =>
      (await speak(sandbox.baseUrl, 'POST', '/runs', [good], { host })).status;
    for (const name of ['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]']) {
      expect([name, await status(`${name}:${port}`)]).toEqual([name, 201]);
    }
    const others = ['localhost', 'localhost:1', `evil.example:${port}`, `localhost.evil.example:${port}`];
    for (const host of others) expect([host, await status(host)]).toEqual([host, 421]);
    expect(sandbox.runCount()).toBe(4);
  });

  test('sandbox: large JSON values are read quickly, and a request over 256 MiB is rejected', async () => {
    const { sandbox } = await startTestSandbox();
    const numbers = `[${'7,'.repeat(300_000)}7]`;
    const answer = await speak(sandbox.baseUrl, 'POST', '/runs', [
      `{"worfklowId":"${SLOW}","inputs":{"label":${numbers}}}`,
    ]);
    expect(answer.body.error?.message).toContain('inputs.label: must be a string, found an array');
    const length = { 'content-length': String(256 * 1024 * 1024 + 1) };
    expect(
      (await speak(sandbox.baseUrl, 'POST', '/runs', [trigger({ label: 'x' }, SLOW)], length)).status,
    ).toBe(413);
    expect(sandbox.runCount()).toBe(0);
  });

  test('sandbox: a run is PENDING first, then RUNNING step by step, then FINISHED', async () => {
    const { sandbox, clock } = await startTestSandbox();
    const { body: run } = await speak(sandbox.baseUrl, 'POST', '/runs', [trigger({ label: 'x' }, SLOW)]);
    const seen: unknown[] = [[run.status, run.stepsCompleted]];
    for (const ms of [299, 1, 6000, 48_000, 6_000]) {
      clock.advance(ms);
      const { body } = await speak(sandbox.baseUrl, 'GET', `/runs/${run.id}`);
      seen.push([body.status, body.stepsCompleted]);
    }
    expect(seen).toEqual([
      ['PENDING', 0],
      ['PENDING', 0],
      ['RUNNING', 0],
      ['RUNNING', 1],
      ['RUNNING', 9],
      ['FINISHED', 10],
    ]);
  });
});

describe('wfr sandbox', () => {
  test('wfr sandbox --list: shows each workflow with a command that starts a run', async () => {
    const { stdout, exitCode } = await runCli(['sandbox', '--list']);
    expect(exitCode).toBe(0);
    const commands = stdout.split('\n').filter((line) => line.startsWith('  wfr run '));
    expect(commands.length).toBe(5);
    const world = await startTestSandbox();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'your.pdf'), 'x');
    for (const command of commands) {
      const args = command.trim().split(' ').slice(1);
      expect((await runCli([...args, '--detach'], { ...world, cwd })).exitCode).toBe(0);
    }
  });

  test('wfr sandbox: prints its settings as shell assignments and serves until it is interrupted', async () => {
    const signals = new Signals();
    const statuses: number[] = [];
    const result = await runCli(['sandbox'], {
      signals,
      clock: new VirtualClock(),
      async onOutput(text, stream) {
        const [, baseUrl, token] =
          /^export WFR_BASE_URL=(\S+)\nexport WFR_TOKEN=([\w-]+)\n$/.exec(text) ?? [];
        if (stream !== 'stdout' || baseUrl === undefined) return;
        const authorization = `Bearer ${token}`;
        statuses.push((await speak(baseUrl, 'GET', '/runs/none', [], { authorization })).status);
        signals.raise('SIGINT');
      },
    });
    expect(statuses).toEqual([404]);
    expect(result.exitCode).toBe(130);
    expect(result.stderr).toContain('404 GET  /v1/runs/none\n  This sandbox has no run with this id');
  });

  test.each([
    ['POST', '/runs/none'],
    ['GET', '/runs'],
    ['DELETE', '/runs/none'],
  ])('wfr sandbox: %s %s is answered with the requests that there are', async (method, path) => {
    const { sandbox } = await startTestSandbox();
    const { status, body } = await speak(sandbox.baseUrl, method, path);
    const message = 'This sandbox has only POST /v1/runs and GET /v1/runs/{id}.';
    expect({ status, body }).toEqual({ status: 404, body: { error: { message } } });
  });

  test('wfr sandbox: each start has a new random token', async () => {
    const tokens: string[] = [];
    for (let start = 0; start < 2; start++) {
      await runCli(['sandbox', '--', 'wfr'], {
        spawn: async (_command, _args, { WFR_TOKEN = '' }) => {
          tokens.push(WFR_TOKEN);
          return { exited: Promise.resolve(0), kill: () => {} };
        },
      });
    }
    expect(tokens).toEqual([expect.stringMatching(/^[\w-]{22,}$/), expect.stringMatching(/^[\w-]{22,}$/)]);
    expect(new Set(tokens).size).toBe(2);
  });

  test('wfr sandbox: a port that is in use or invalid exits 2', async () => {
    const { sandbox } = await startTestSandbox();
    const { port } = new URL(sandbox.baseUrl);
    const taken = await runCli(['sandbox', '--port', port]);
    expect(taken.exitCode).toBe(2);
    expect(taken.stderr).toContain(`--port ${port}: `);
    expect((await runCli(['sandbox', '--port', '70000'])).stderr).toContain('--port 70000: expected a port');
  });

  test('wfr sandbox: a command that cannot be started exits 2', async () => {
    const { exitCode, stderr } = await runCli(['sandbox', '--', 'no-such-command'], {
      spawn: () => Promise.reject(Object.assign(new Error(), { code: 'ENOENT' })),
    });
    expect(exitCode).toBe(2);
    expect(stderr).toBe('wfr: error: the program no-such-command cannot be started: no such file (ENOENT)\n');
  });
});

describe('wfr sandbox --workflows', () => {
  const valid = {
    id: 'w1',
    versionName: 'v9',
    parameters: { n: 'number', b: 'boolean', o: 'object', a: 'array', s: 'string', 'd.x': 'document' },
    steps: [{ name: 'only', duration: '1s' }],
    output: {
      n: '{{n}}',
      text: 'n is {{n}}, o is {{o}}',
      size: '{{d.x.bytes}}',
      deep: [{ s: '{{s}}' }],
    },
  };

  const sandboxWith = async (definition: unknown, args: readonly string[] = ['--list']) => {
    const cwd = temporaryFolder();
    writeFileSync(
      join(cwd, 'w.json'),
      typeof definition === 'string' || Buffer.isBuffer(definition) ? definition : JSON.stringify(definition),
    );
    return runCli(['sandbox', '--workflows', 'w.json', ...args], { cwd });
  };

  test('wfr sandbox --workflows: workflows run with every type of parameter and fill their output template', async () => {
    const { readWorkflows } = await import('../../src/sandbox/workflow.js');
    const world = await startTestSandbox({ workflows: readWorkflows({ workflows: [valid] }) });
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'x.pdf'), 'hello');
    const items = ['n:=1.5', 'b:=true', 'o:={"k":1}', 'a:=[1]', 's=text', 'd.x@x.pdf'];
    const { stdout, exitCode } = await runCli(['run', 'w1', ...items], { ...world, cwd });
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      n: 1.5,
      text: 'n is 1.5, o is {"k":1}',
      size: 5,
      deep: [{ s: 'text' }],
    });
  });

  const declared = {
    ...valid,
    parameters: {
      scan: { type: 'document', accept: ['application/pdf', 'image/*'], description: 'The invoice' },
      customer: { type: 'string', description: 'The number of the customer' },
      'amount?': 'number',
      'tags?': { type: 'array' },
    },
    output: { amount: '{{amount}}', text: 'for {{customer}}' },
  };

  test('wfr sandbox --workflows: a parameter with ? may be missing, and is null in the output', async () => {
    const { readWorkflows } = await import('../../src/sandbox/workflow.js');
    const world = await startTestSandbox({ workflows: readWorkflows({ workflows: [declared] }) });
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'x.pdf'), 'hello');
    const run = (...items: string[]) => runCli(['run', 'w1', 'scan@x.pdf', ...items], { ...world, cwd });
    const { stdout } = await run('customer=ACME');
    expect(JSON.parse(stdout)).toEqual({ amount: null, text: 'for ACME' });
    expect(JSON.parse((await run('customer=ACME', 'amount:=5')).stdout)).toMatchObject({ amount: 5 });
    const { stderr, exitCode } = await run('amount=5', 'tag:=[]');
    expect(exitCode).toBe(5);
    expect(stderr).toContain(
      '| The inputs do not match the Start Node: missing input customer (string)\n' +
        '| inputs.amount: must be a number, found a string\n| unknown parameter "tag"; did you mean "tags"?',
    );
  });

  test.each([
    ['image/png', true],
    ['Application/PDF', true],
    ['text/plain', false],
  ])(
    'wfr sandbox --workflows: accept decides whether a document of type %s is accepted',
    async (type, isAccepted) => {
      const { readWorkflows } = await import('../../src/sandbox/workflow.js');
      const { sandbox } = await startTestSandbox({
        workflows: readWorkflows({ workflows: [declared] }),
      });
      const body = trigger({ customer: 'x', scan: `data:${type};base64,aaaa` }, 'w1');
      const answer = await speak(sandbox.baseUrl, 'POST', '/runs', [body]);
      const rejected = `inputs.scan: must be application/pdf or image/*, found ${type}`;
      expect(answer.status).toBe(isAccepted ? 201 : 422);
      if (!isAccepted) expect(answer.body.error?.message).toContain(rejected);
    },
  );

  test('wfr sandbox --workflows: --list names optional parameters apart', async () => {
    const { stdout } = await sandboxWith({ workflows: [declared] });
    expect(stdout).toBe(
      "v9 (1.0s)\n  wfr run w1 scan@your.pdf customer=text\n  optional: amount:=1 'tags:=[]'\n",
    );
  });

  test('wfr sandbox --workflows: --list shows the workflows of the file', async () => {
    const { stdout } = await sandboxWith({ workflows: [valid] });
    expect(stdout).toBe("v9 (1.0s)\n  wfr run w1 n:=1 b:=true 'o:={}' 'a:=[]' s=text d.x@your.pdf\n");
  });

  test.each<[unknown, string]>([
    ['{', 'w.json:1:2: '],
    ['{"workflows": [], "workflows": []}', 'w.json:1:19: duplicate name "workflows"; remove one of the two'],
    [Buffer.from('{"é": 1}', 'latin1'), 'w.json:1:3: not UTF-8; save the file as UTF-8'],
    [{}, 'the file requires "workflows"'],
    [{ workflows: [] }, '"workflows" must be a list that is not empty'],
    [{ workflows: [], more: 1 }, 'unknown key "more"; expected workflows'],
    [{ workflows: [{ ...valid, id: '' }] }, '"id" must be a non-empty string'],
    [{ workflows: [valid, valid] }, '"id" must be unique'],
    [{ workflows: [{ ...valid, parameters: { n: 'int' } }] }, '"n" must be one of string, document'],
    [{ workflows: [{ ...valid, parameters: { n: 'nmuber' } }] }, 'array; found "nmuber"'],
    [
      { workflows: [{ ...valid, parameters: [] }] },
      '"parameters" must be an object of types by parameter name',
    ],
    [{ workflows: [{ ...valid, parameters: { '?': 'number' } }] }, '"?" must be a name that is not empty'],
    [{ workflows: [{ ...valid, parameters: { n: 'number', 'n?': 'number' } }] }, '"n?" is declared twice'],
    [{ workflows: [{ ...valid, parameters: { n: {} } }] }, '"n" requires "type"'],
    [
      { workflows: [{ ...valid, parameters: { n: { type: 'strng' } } }] },
      '"type" must be one of string, document, number, boolean, object, array; found "strng"',
    ],
    [{ workflows: [{ ...valid, parameters: { n: { type: null } } }] }, '"type" must be one of'],
    [
      { workflows: [{ ...valid, parameters: { n: { type: 'number', typ: 1 } } }] },
      'unknown key "typ"; did you mean "type"?',
    ],
    [
      { workflows: [{ ...valid, parameters: { n: { type: 'string', description: '' } } }] },
      '"description" must be a text that is not empty',
    ],
    [
      { workflows: [{ ...valid, parameters: { n: { type: 'document', accept: ['pdf'] } } }] },
      'each of "accept" must be a media type',
    ],
    [
      { workflows: [{ ...valid, parameters: { n: { type: 'document', accept: [] } } }] },
      '"accept" must be a list of media types, such as',
    ],
    [
      { workflows: [{ ...valid, parameters: { n: { type: 'string', accept: ['a/b'] } } }] },
      '"accept" requires the type document',
    ],
    [{ workflows: [{ ...valid, steps: [] }] }, '"steps" must be a list that is not empty'],
    [
      { workflows: [{ ...valid, steps: [{ name: 'x', duration: 5 }] }] },
      '"duration" must be a duration, such as "1.5s"',
    ],
    [
      { workflows: [{ ...valid, steps: [{ name: 'x', duration: '1.5ms' }] }] },
      '"duration" must be a duration, such as "1.5s"; found "1.5ms"',
    ],
    [{ workflows: [{ ...valid, output: [] }] }, '"output" must be an object'],
    [
      { workflows: [{ ...valid, failure: { step: 'other', message: 'm' } }] },
      '"step" must be one of the steps: only',
    ],
  ])('wfr sandbox --workflows: the definition %j is rejected with its position', async (definition, text) => {
    const { exitCode, stderr } = await sandboxWith(definition);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(text);
  });

  test('wfr sandbox --workflows: a workflow without steps is one mistake, though its failure names a step', async () => {
    const failing = { ...valid, steps: [], failure: { step: 'other', message: 'm' } };
    const { stderr } = await sandboxWith({ workflows: [failing] });
    expect(stderr).toMatch(/^wfr: error: \S+ "steps" must be a list that is not empty; found \[\]\n/);
    expect(stderr).not.toContain('"step" must');
  });

  test('wfr sandbox --workflows: all mistakes of a file are reported at once, with line and column', async () => {
    const text = `{
  "workflows": [
    {
      "id": "w",
      "versionName": 1,
      "parameters": { "amount": "number", "scan": "document", "meta": "object" },
      "steps": [{ "name": "Read", "duration": "1" , "durations": "1s" }],
      "output": {
        "total": "{{amout}}",
        "ok": "{{amount}} {{scan}} {{scan.bytes}} {{meta.any}}",
        "list": ["{{scan.byte}}", "{{other}}"]
      },
      "failure": { "step": "Read", "message": "m", "when": { "amuont": 1 } }
    }
  ]
}`;
    const { stderr, exitCode } = await sandboxWith(text.replace('"1" ,', '"x",'));
    expect(exitCode).toBe(2);
    const expected = 'expected amount, scan, scan.mediaType, scan.bytes, scan.sha256, meta';
    expect(stderr.match(/w\.json:.*/g)).toEqual([
      'w.json:5:22: "versionName" must be a non-empty string; found a number',
      'w.json:7:47: "duration" must be a duration, such as "1.5s"; found "x"',
      'w.json:7:52: unknown key "durations"; did you mean "duration"?',
      `w.json:9:18: "amout" is no parameter; ${expected}`,
      `w.json:11:18: "scan.byte" is no parameter; ${expected}`,
      `w.json:11:35: "other" is no parameter; ${expected}`,
      `w.json:13:62: "amuont" is no parameter; ${expected}`,
    ]);
  });

  test('wfr sandbox --workflows: with "when", only runs with these values of inputs fail', async () => {
    const { readWorkflows } = await import('../../src/sandbox/workflow.js');
    const when = { s: 'X', 'd.x.bytes': 2 };
    const failing = { ...valid, failure: { step: 'only', message: 'no total', when } };
    const { env, clock } = await startTestSandbox({
      workflows: readWorkflows({ workflows: [failing] }),
    });
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'two.txt'), 'ab');
    writeFileSync(join(cwd, 'one.txt'), 'a');
    for (const [text, file, expected] of [
      ['X', 'two', 1],
      ['X', 'one', 0],
      ['x', 'two', 0],
    ] as const) {
      const inputs = [`s=${text}`, `d.x@${file}.txt`, 'n:=1', 'o:={}', 'a:=[]', 'b:=true'];
      const { exitCode, stderr } = await runCli(['run', valid.id, ...inputs], { env, clock, cwd });
      expect({ exitCode, hasReason: stderr.includes('no total') }).toEqual({
        exitCode: expected,
        hasReason: expected === 1,
      });
    }
  });

  test('wfr sandbox --workflows: a missing file exits 2', async () => {
    const { exitCode, stderr } = await runCli(['sandbox', '--workflows', 'none.json']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('none.json: no such file (ENOENT)');
  });
});
