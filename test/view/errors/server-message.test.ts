/** The service's words, as wfr shows them: nothing of what it says is lost, or cut without a mark. */
import { describe, expect, test } from 'vitest';
import { runCli } from '../../helpers/cli.js';
import { type Handler, scriptedService } from '../../helpers/service.js';

/** What is said on stderr of a trigger that is answered so. */
async function saidOf(status: number, body: unknown, world = {}): Promise<string> {
  const answer: Handler = async (request, reply) => {
    await request.body();
    reply.send(status, body);
  };
  const { baseUrl } = await scriptedService(answer);
  const { stderr } = await runCli(['run', 'w'], { env: { WFR_BASE_URL: baseUrl }, ...world });
  return stderr;
}

/** The lines of the service in a refusal. */
async function words(body: unknown): Promise<string[]> {
  return (await saidOf(409, body)).split('\n').filter((line) => line.startsWith('| '));
}

test("the service's own words are found whatever their format", async () => {
  expect(await words({ message: 'one' })).toEqual(['| one']);
  expect(await words({ error: 'two' })).toEqual(['| two']);
  expect(await words({ error: { message: 'three' } })).toEqual(['| three']);
  expect(await words({ type: 'about:blank', title: 'Conflict', detail: 'four' })).toEqual([
    '| Conflict: four',
  ]);
  expect(await words({ message: ['a', 'b'] })).toEqual(['| a; b']);
  expect(await words({ message: 'm', errors: [{ message: 'a' }, 'b'] })).toEqual(['| m: a; b']);
  expect(await words({ validation: ['v'] })).toEqual(['| v']);
  expect(await words({ error: { message: 'e', details: [{ message: 'd' }] } })).toEqual(['| e: d']);
  expect(await words({ detail: [{ loc: ['body', 'inputs', 'a'], msg: 'field required' }] })).toEqual([
    '| body.inputs.a: field required',
  ]);
  expect(await words({ errors: { amount: ['must be a number', 'is late'], x: 'y' } })).toEqual([
    '| amount: must be a number; amount: is late; x: y',
  ]);
  expect(await words({ errors: [{ msg: 'm' }] })).toEqual(['| m']);
  expect(await words({ odd: 'shape' })).toEqual(['| {"odd":"shape"}']);
  expect(await words('<html><head><title>Conflict\n here</title></head></html>')).toEqual([
    '| Conflict here (an HTML page)',
  ]);
  expect(await words('<!DOCTYPE html><h1>Conflict</h1>')).toEqual(['| (an HTML page)']);
  expect(await words('<Error>\n<Code>E7</Code></Error>')).toEqual(['| <Error>', '| <Code>E7</Code></Error>']);
  expect(await words('')).toEqual([]);
});

describe('nothing that a refusal says is lost:', () => {
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
    ['what is said twice, once', { message: 'no customer', error: { message: 'customer' } }, 'no customer'],
    ['what is said twice alike, once', { message: 'no', error: 'no', title: 'no' }, 'no'],
    ['errors that are one text', { message: 'm', errors: 'a' }, 'm: a'],
    ['errors by field', { errors: { customer: { message: 'is required' } } }, 'customer: is required'],
    ['numbers by field', { message: 'no', details: { most: 5, sent: 7 } }, 'no: most: 5; sent: 7'],
    ['an entry of an unknown shape', { message: 'm', errors: [{ odd: [1] }] }, 'm: {"odd":[1]}'],
    ['errors of JSON:API', { errors: [{ title: 't', detail: 'd', source: { pointer: '/a' } }] }, '/a: t: d'],
    ['a member that says nothing', { error: true, message: 'm' }, 'm'],
  ])('%s', async (_name, body, line) => {
    expect(await words(body)).toEqual([`| ${line}`]);
  });

  test.each(['field', 'path', 'pointer', 'param', 'loc', 'name'])('the %s of an entry', async (place) => {
    const entry = { [place]: 'inputs.customer', message: 'is required' };
    expect(await words({ message: 'Bad', errors: [entry] })).toEqual(['| Bad: inputs.customer: is required']);
    const coded = { [place]: ['inputs', 0, 'customer'], code: 'required' };
    expect(await words({ message: 'Bad', errors: [coded] })).toEqual(['| Bad: inputs.0.customer: required']);
  });

  test('all lines of a text, whatever ends them, each behind its mark', async () => {
    expect(await words('first line\r\n::error::second\n\nfourth\n')).toEqual([
      '| first line',
      '| ::error::second',
      '| ',
      '| fourth',
    ]);
    expect(await words('{"odd":\n "shape"}')).toEqual(['| {"odd":', '|  "shape"}']);
  });

  test('of a very long text, how much is left out', async () => {
    const lines = await words(`${'a\n'.repeat(999)}${'b'.repeat(500)}`);
    expect(lines.length).toBe(1000);
    expect(lines.at(-1)).toBe('| bb… (498 more characters)');
  });

  test('on a narrow terminal, every part of every line stands behind its mark', async () => {
    const text = 'the first line has several words\nand so has the second one';
    const stderr = await saidOf(409, text, { terminal: 32 });
    expect(stderr).toContain('\n| the first line has several\n| words\n| and so has the second one\n');
  });
});

describe('an answer that is no run', () => {
  test('is shown in part with what is left out, in characters', async () => {
    expect(await saidOf(200, `<p>${'ä€😀'.repeat(100)}`)).toContain(
      `\n| <p>${'ä€😀'.repeat(65)}ä€… (103 more characters)\n`,
    );
    expect(await saidOf(200, 'x'.repeat(200))).toContain(`\n| ${'x'.repeat(200)}\n`);
  });

  test('has the first 20 of its fields named, and the others counted', async () => {
    const fields = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 1]));
    expect(await saidOf(200, fields(23))).toContain('f18, f19, … (3 more)\n');
    expect(await saidOf(200, fields(20))).toContain('f18, f19\n');
  });
});

test('a token that stands where a long body is cut is not shown in part', async () => {
  const token = 'MARK-0123456789';
  const text = `${'x'.repeat(1490)}${token}${'y'.repeat(70_000)}`;
  const service = { WFR_TOKEN: token };
  const { baseUrl } = await scriptedService((_request, reply) => reply.send(409, text));
  const { stderr } = await runCli(['status', 'run-1'], { env: { WFR_BASE_URL: baseUrl, ...service } });
  expect(stderr).toContain('xxx(the token… (there is more)\n');
  expect(stderr).not.toContain('MARK');
});
