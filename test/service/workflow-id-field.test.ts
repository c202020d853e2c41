/** The two spellings of the workflow field, and which rejections are followed by another spelling. */
import { describe, expect, test } from 'vitest';
import { BATCH_ARGS, startBatchService as batchService, numberedRows } from '../helpers/batch.js';
import { runCli, Signals } from '../helpers/cli.js';
import { folderWith } from '../helpers/files.js';
import { SLOW, startTestSandbox } from '../helpers/sandbox.js';
import { aRun, scriptedService } from '../helpers/service.js';

describe('run: the spellings of the workflow field', () => {
  /** Runs wfr with a service that accepts these fields alone; `runs` counts the accepted triggers. */
  const run = async (accepted: readonly string[], flags: readonly string[] = [], env = {}) => {
    let runs = 0;
    const service = await scriptedService(async (request, reply) => {
      const { inputs, ...fields } = JSON.parse((await request.body()).toString());
      const unknown = Object.keys(fields).find((name) => !accepted.includes(name));
      if (unknown !== undefined) return reply.send(400, { message: `Unknown field "${unknown}"` });
      runs++;
      return reply.send(201, aRun());
    });
    const result = await runCli(['run', 'w', 'label=x', '--detach', ...flags], {
      env: { WFR_BASE_URL: service.baseUrl, ...env },
    });
    return { ...result, posts: service.posts().length, runs };
  };

  test.each([
    [['worfklowId', 'workflowId'], 1],
    [['worfklowId'], 2],
    [['workflowId'], 3],
  ])('run: a service that accepts only %j starts one run after %i requests', async (accepted, posts) => {
    expect(await run(accepted)).toMatchObject({ exitCode: 0, posts, runs: 1 });
  });

  test('run: if more than one request was needed, the flag that pins the spelling is suggested', async () => {
    const { stderr } = await run(['workflowId']);
    expect(stderr).toContain(
      'accepted with --workflow-id-field workflowId; set this flag to send one request instead of 3',
    );
    // The id is printed first.
    expect(stderr).toMatch(/^Run /);
    expect(await run(['workflowId'], ['--workflow-id-field', 'workflowId'])).toMatchObject({
      exitCode: 0,
      posts: 1,
    });
  });

  test('run: Ctrl-C while the service rejects the first spelling keeps the next one from being sent', async () => {
    const signals = new Signals();
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      signals.raise('SIGINT');
      reply.send(400, { message: 'unknown field worfklowId' });
    });
    const env = { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: 't' };
    const { exitCode, stderr } = await runCli(['run', 'w', 'a=1'], { env, signals });
    expect({ exitCode, connections: service.connections() }).toEqual({ exitCode: 130, connections: 1 });
    expect(stderr).toContain('wfr: cancelled; no run was created\n');
  });

  test('run: a pinned spelling that the service rejects exits 5 after one request', async () => {
    expect(await run(['workflowId'], ['--workflow-id-field', 'worfklowId'])).toMatchObject({
      exitCode: 5,
      posts: 1,
      runs: 0,
    });
  });

  test('run: WFR_WORKFLOW_ID_FIELD pins the spelling, and an unknown value exits 2', async () => {
    const pinned = await run(['workflowId'], [], { WFR_WORKFLOW_ID_FIELD: 'workflowId' });
    expect(pinned).toMatchObject({ exitCode: 0, posts: 1 });
    const bad = await run(['workflowId'], [], { WFR_WORKFLOW_ID_FIELD: 'id' });
    expect(bad.exitCode).toBe(2);
    expect(bad.stderr).toContain('WFR_WORKFLOW_ID_FIELD id: must be auto, worfklowId, workflowId or both');
  });

  test('run: rejected inputs take one request', async () => {
    const setup = await startTestSandbox();
    expect((await runCli(['run', SLOW, 'unknown=x'], setup)).exitCode).toBe(5);
    expect(setup.posts()).toBe(1);
  });
});

describe('run: rejections that are followed by another spelling', () => {
  const posts = async (status: number, body: unknown) => {
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      reply.send(status, body);
    });
    const result = await runCli(['run', 'w'], { env: { WFR_BASE_URL: service.baseUrl } });
    return {
      ...result,
      count: service.posts().length,
      bodies: await Promise.all(service.posts().map((p) => p.body())),
    };
  };

  test.each<[number, unknown, number]>([
    [400, { message: 'Unknown field "workflowId"' }, 3],
    [422, { message: 'worfklowId: extra inputs are not permitted' }, 3],
    [400, { errors: [{ message: 'must NOT have additional properties' }] }, 3],
    [400, { message: 'Unexpected key in the request' }, 3],
    [400, '', 1],
    [400, { message: 'Bad Request' }, 1],
    [422, { error: 'Validation failed' }, 1],
    [400, { title: 'One or more validation errors occurred.' }, 1],
    [400, '<html><title>400 Bad Request</title></html>', 1],
    [400, { message: 'Bad request', detail: 'customer is missing' }, 1],
    [400, { message: 'The request is invalid.' }, 1],
    [400, { message: 'Invalid request body' }, 1],
    [422, { detail: [{ loc: ['body', 'inputs', 'a'], msg: 'field required' }] }, 1],
    [400, { errors: { amount: ['must be a number'] } }, 1],
    [400, { code: 7, reason: 'amount is wrong' }, 1],
    [400, { odd: 'shape' }, 1],
    [400, { message: 'amount should be a number' }, 1],
    [400, { message: 'inputs has an unknown field "x"' }, 1],
    [404, { message: 'Unknown field "workflowId"' }, 1],
    [409, '', 1],
  ])('run: a %i response with %j is followed by %i requests in all', async (status, body, count) => {
    expect(await posts(status, body)).toMatchObject({ count, exitCode: 5 });
  });

  test('run: both spellings are sent first, then each alone', async () => {
    const { bodies } = await posts(400, { message: 'Unknown field' });
    expect(bodies.map(String)).toEqual([
      '{"worfklowId":"w","workflowId":"w","inputs":{}}',
      '{"worfklowId":"w","inputs":{}}',
      '{"workflowId":"w","inputs":{}}',
    ]);
  });

  test('run: a 400 without a message is final after one request, and suggests --workflow-id-field (fault 93)', async () => {
    const { exitCode, stdout, stderr, count } = await posts(400, '');
    expect({ exitCode, stdout, count }).toEqual({ exitCode: 5, stdout: '', count: 1 });
    expect(stderr).toContain('choose it with --workflow-id-field');
  });

  test.each<[unknown]>([
    [{ message: 'The inputs do not match the Start Node.' }],
    [{ message: 'Extra inputs are not permitted' }],
  ])('run: a 422 response with %j is final, and the advice is how inputs are written', async (body) => {
    const { stderr, exitCode, count } = await posts(422, body);
    expect({ exitCode, count }).toEqual({ exitCode: 5, count: 1 });
    expect(stderr).toMatch(/\n\| .*inputs.*\n {2}Inputs are written .*: wfr help inputs\n$/);
  });

  test('run: a message about inputs that names the field suggests --workflow-id-field', async () => {
    const { stderr } = await posts(422, { message: 'Invalid inputs: workflowId is required' });
    expect(stderr).toContain('choose it with --workflow-id-field');
  });

  test('batch: a 400 without a message takes one request for each row', async () => {
    const { wfr, posts: sent } = await batchService((_request, reply) => reply.send(400, ''));
    const cwd = folderWith({ 'rows.jsonl': numberedRows(3) });
    expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(5);
    expect(sent()).toHaveLength(3);
  });

  test('run: a spelling that is rejected for another reason is final, with the reason and --workflow-id-field', async () => {
    const answers = ['Unknown field "workflowId"', 'amount is missing'];
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      reply.send(400, { message: answers.shift() });
    });
    const { stderr, exitCode } = await runCli(['run', 'w'], { env: { WFR_BASE_URL: service.baseUrl } });
    expect(exitCode).toBe(5);
    expect(service.posts().length).toBe(2);
    expect(stderr).toContain('| amount is missing\n');
    expect(stderr).toContain('choose it with --workflow-id-field');
  });

  test('run: if every spelling is rejected as unknown, the first rejection is printed with --workflow-id-field', async () => {
    const { stderr, count } = await posts(400, { message: 'Unknown field "workflowId"' });
    expect(count).toBe(3);
    expect(stderr).toContain('choose it with --workflow-id-field');
  });

  test('run: --workflow-id-field both takes one request', async () => {
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      reply.send(400, '');
    });
    const args = ['run', 'w', '--workflow-id-field', 'both'];
    expect((await runCli(args, { env: { WFR_BASE_URL: service.baseUrl } })).exitCode).toBe(5);
    expect(service.posts().length).toBe(1);
  });
});
