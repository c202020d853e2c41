/** Error messages of the service as wfr shows them: nothing is lost, or cut without saying so. */
import { describe, expect, test } from 'vitest';
import { runCli } from '../../helpers/cli.js';
import { type Handler, scriptedService } from '../../helpers/service.js';

/** Returns stderr for a trigger with this response. */
async function stderrFor(status: number, body: unknown, world = {}): Promise<string> {
  const answer: Handler = async (request, reply) => {
    await request.body();
    reply.send(status, body);
  };
  const { baseUrl } = await scriptedService(answer);
  const { stderr } = await runCli(['run', 'w'], { env: { WFR_BASE_URL: baseUrl }, ...world });
  return stderr;
}

/** Returns the lines from the service in the message about a rejected trigger. */
async function serverLines(body: unknown): Promise<string[]> {
  return (await stderrFor(409, body)).split('\n').filter((line) => line.startsWith('| '));
}

test('error messages: the message of the service is found in every common format', async () => {
  expect(await serverLines({ message: 'one' })).toEqual(['| one']);
  expect(await serverLines({ error: 'two' })).toEqual(['| two']);
  expect(await serverLines({ error: { message: 'three' } })).toEqual(['| three']);
  expect(await serverLines({ type: 'about:blank', title: 'Conflict', detail: 'four' })).toEqual([
    '| Conflict: four',
  ]);
  expect(await serverLines({ message: ['a', 'b'] })).toEqual(['| a; b']);
  expect(await serverLines({ message: 'm', errors: [{ message: 'a' }, 'b'] })).toEqual(['| m: a; b']);
  expect(await serverLines({ validation: ['v'] })).toEqual(['| v']);
  expect(await serverLines({ error: { message: 'e', details: [{ message: 'd' }] } })).toEqual(['| e: d']);
  expect(await serverLines({ detail: [{ loc: ['body', 'inputs', 'a'], msg: 'field required' }] })).toEqual([
    '| body.inputs.a: field required',
  ]);
  expect(await serverLines({ errors: { amount: ['must be a number', 'is late'], x: 'y' } })).toEqual([
    '| amount: must be a number, is late; x: y',
  ]);
  expect(await serverLines({ errors: [{ msg: 'm' }] })).toEqual(['| m']);
  expect(await serverLines({ odd: 'shape' })).toEqual(['| {"odd":"shape"}']);
  expect(await serverLines('<html><head><title>Conflict\n here</title></head></html>')).toEqual([
    '| Conflict here (an HTML page)',
  ]);
  expect(await serverLines('<!DOCTYPE html><h1>Conflict</h1>')).toEqual(['| (an HTML page)']);
  expect(await serverLines('<Error>\n<Code>E7</Code></Error>')).toEqual([
    '| <Error>',
    '| <Code>E7</Code></Error>',
  ]);
  expect(await serverLines('')).toEqual([]);
});

test.each([
  ['["customer is missing","total is late"]', ['| customer is missing; total is late']],
  ['[{"field":"total","message":"is late"}]', ['| total: is late']],
  ['"no such customer"', ['| no such customer']],
  ['42', ['| 42']],
  ['false', ['| false']],
  ['null', ['| null']],
  ['[]', []],
  ['{}', []],
])('error messages: a rejection whose body is the JSON %s shows it, and exits 5', async (body, lines) => {
  expect(await serverLines(body)).toEqual(lines);
  expect(await stderrFor(422, body)).toContain('rejected the trigger (422)');
});

describe('error messages: nothing of an error response is lost', () => {
  test.each<[string, unknown, string]>([
    [
      'a detail beside a message',
      { message: 'Bad request', detail: 'customer is missing' },
      'Bad request: customer is missing',
    ],
    ['a message around another', { message: 'm', error: { message: 'inner' } }, 'm: inner'],
    [
      'a list beside an error',
      { statusCode: 400, message: ['a', 'b'], error: 'Bad Request' },
      'a; b: Bad Request',
    ],
    ['a description', { error: 'invalid_token', error_description: 'it is old' }, 'invalid_token: it is old'],
    [
      'a text that is repeated in another is shown once',
      { message: 'no customer', error: { message: 'customer' } },
      'no customer',
    ],
    ['a repeated text is shown once', { message: 'no', error: 'no', title: 'no' }, 'no'],
    ['errors that are one text', { message: 'm', errors: 'a' }, 'm: a'],
    ['errors by field', { errors: { customer: { message: 'is required' } } }, 'customer: is required'],
    ['numbers by field', { message: 'no', details: { most: 5, sent: 7 } }, 'no: most: 5; sent: 7'],
    ['an entry of an unknown shape', { message: 'm', errors: [{ odd: [1] }] }, 'm: odd: 1'],
    [
      'a number beside an entry without a text',
      { errors: [{ error: 7, title: {}, n: 1 }] },
      'error: 7; n: 1',
    ],
    ['an entry whose subject is its message', { errors: [{ name: 'X', message: 'X' }] }, 'X'],
    ['errors of JSON:API', { errors: [{ title: 't', detail: 'd', source: { pointer: '/a' } }] }, '/a: t: d'],
    ['a member that says nothing', { error: true, message: 'm' }, 'm'],
  ])('error messages: %s', async (_name, body, line) => {
    expect(await serverLines(body)).toEqual([`| ${line}`]);
  });

  test.each(['field', 'path', 'pointer', 'param', 'loc', 'name'])(
    'error messages: the %s of a validation error is shown',
    async (place) => {
      const entry = { [place]: 'inputs.customer', message: 'is required' };
      expect(await serverLines({ message: 'Bad', errors: [entry] })).toEqual([
        '| Bad: inputs.customer: is required',
      ]);
      const coded = { [place]: ['inputs', 0, 'customer'], code: 'required' };
      expect(await serverLines({ message: 'Bad', errors: [coded] })).toEqual([
        '| Bad: inputs.0.customer: required',
      ]);
    },
  );

  test.each(['detail', 'errors', 'code'])(
    'error messages: a hundred levels of %s without a text take no time',
    async (name) => {
      const body = `{"${name}":`.repeat(100) + '{}'.padEnd(102, '}');
      expect(await serverLines(body)).toEqual([`| ${body}`]);
    },
  );

  test('error messages: every line of a text is shown behind a bar, whatever its line ending', async () => {
    expect(await serverLines('first line\r\n::error::second\n\nfourth\n')).toEqual([
      '| first line',
      '| ::error::second',
      '| ',
      '| fourth',
    ]);
    expect(await serverLines('{"odd":\n "shape"}')).toEqual(['| {"odd":', '|  "shape"}']);
  });

  test('error messages: a very long text is cut and says how much is omitted', async () => {
    const lines = await serverLines(`${'a\n'.repeat(999)}${'b'.repeat(500)}`);
    expect(lines.length).toBe(1000);
    expect(lines.at(-1)).toBe('| bb… (498 more characters)');
  });

  test('error messages: on a narrow terminal, every wrapped line is behind a bar and indented', async () => {
    const text = 'the first line has several words\nand so has the second one';
    const stderr = await stderrFor(409, text, { terminal: 32 });
    expect(stderr).toContain('\n| the first line has several\n|   words\n| and so has the second one\n');
  });
});

describe('error messages: a response that is not a run', () => {
  test.each([
    ['text/html; charset=utf-8', true],
    ['application/json', false],
  ])(
    'error messages: a response of the type %s that is no run suggests a sign-in page: %s',
    async (type, isSuggested) => {
      const { baseUrl } = await scriptedService((_request, reply) =>
        reply.send(200, '<html>Sign in</html>', { 'content-type': type }),
      );
      const { exitCode, stderr } = await runCli(['status', 'run-1'], { env: { WFR_BASE_URL: baseUrl } });
      expect(exitCode).toBe(7);
      expect(stderr.includes('check the base URL, and the network for a sign-in page')).toBe(isSuggested);
    },
  );

  test('error messages: a response that is not a run is shown in part, with the number of omitted characters', async () => {
    expect(await stderrFor(200, `<p>${'ä€😀'.repeat(100)}`)).toContain(
      `\n| <p>${'ä€😀'.repeat(65)}ä€… (310 more bytes)\n`,
    );
    expect(await stderrFor(200, 'x'.repeat(200))).toContain(`\n| ${'x'.repeat(200)}\n`);
  });

  test('error messages: the first 20 fields of a response that is not a run are named, and the others counted', async () => {
    const fields = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 1]));
    expect(await stderrFor(200, fields(23))).toContain('f18, f19, … (3 more)\n');
    expect(await stderrFor(200, fields(20))).toContain('f18, f19\n');
  });
});

test('error messages: a token at the position where a long body is cut is not shown in part', async () => {
  const token = 'MARK-0123456789';
  const text = `${'x'.repeat(1490)}${token}${'y'.repeat(70_000)}`;
  const service = { WFR_TOKEN: token };
  const { baseUrl } = await scriptedService((_request, reply) => reply.send(409, text));
  const { stderr } = await runCli(['status', 'run-1'], { env: { WFR_BASE_URL: baseUrl, ...service } });
  expect(stderr).toContain('xxx(the token)… (there is more)\n');
  expect(stderr).not.toContain('MARK');
});
