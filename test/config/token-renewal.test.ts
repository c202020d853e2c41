/** A token that expires: a trigger that was rejected with 401 created nothing, and is sent again with a new token. */
import { readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BATCH_ARGS, eventNamesByRow, numberedRows } from '../helpers/batch.js';
import { type CliOptions, runCli, Signals } from '../helpers/cli.js';
import { writeTestConfig } from '../helpers/config.js';
import { aFinishedRun, type Handler, scriptedService } from '../helpers/service.js';

const FIRST = 'Bearer MARK-token-1';
const SECOND = 'Bearer MARK-token-2';

/** A command that counts its calls in the file `calls`, and runs `script` with the count `n`. */
const tokenCommand = (script: string) => [
  process.execPath,
  '-e',
  `const fs = require('fs'); fs.appendFileSync('calls', '.'); const n = fs.readFileSync('calls').length; ${script}`,
];
const COUNTING = tokenCommand('console.log("MARK-token-" + n)');
const CONSTANT = tokenCommand('console.log("MARK-token-1")');

/** A service that answers POSTs with `onPost` and shows every run as finished, and a profile for it. */
async function tokenWorld(settings: object, onPost: Handler) {
  const service = await scriptedService(async (request, reply) => {
    await request.body();
    if (request.method === 'GET') return reply.send(200, { ...aFinishedRun(), id: request.path.slice(6) });
    await onPost(request, reply);
  });
  const { env, folder } = writeTestConfig({
    defaultProfile: 'p',
    profiles: { p: { baseUrl: service.baseUrl, ...settings } },
  });
  const wfr = (args: readonly string[], world: CliOptions = {}) =>
    runCli(args, { canExec: true, cwd: folder, ...world, env });
  const calls = () => readFileSync(join(folder, 'calls'), 'utf8').length;
  const tokens = () => service.posts().map(({ headers }) => headers.authorization);
  return { wfr, folder, calls, tokens, posts: service.posts };
}

/** Accepts requests with any token except the given ones. */
const rejecting =
  (...rejected: string[]): Handler =>
  ({ headers }, reply) =>
    rejected.includes(headers.authorization ?? '')
      ? reply.send(401, { message: `no access with ${headers.authorization}` })
      : reply.send(201, aFinishedRun());

describe('a trigger that is rejected with 401', () => {
  test('run: after a 401, the token command runs once more, and the trigger is sent again with the new token (fault 88)', async () => {
    const { wfr, calls, tokens } = await tokenWorld({ tokenCommand: COUNTING }, rejecting(FIRST));
    const { exitCode, stdout, stderr } = await wfr(['run', 'w']);
    expect({ exitCode, calls: calls(), tokens: tokens() }).toEqual({
      exitCode: 0,
      calls: 2,
      tokens: [FIRST, SECOND],
    });
    expect(stdout + stderr).not.toContain('MARK');
  });

  test('run: after a 401, a changed token file is read again, and the trigger is sent again (fault 88)', async () => {
    const { wfr, folder, tokens } = await tokenWorld({ tokenFile: 'token' }, (request, reply) => {
      writeFileSync(join(folder, 'token'), 'MARK-token-2\n');
      return rejecting(FIRST)(request, reply);
    });
    writeFileSync(join(folder, 'token'), 'MARK-token-1\n');
    expect((await wfr(['run', 'w'])).exitCode).toBe(0);
    expect(tokens()).toEqual([FIRST, SECOND]);
  });

  test('run: a token command that prints the same token again exits 4 after exactly one POST', async () => {
    const { wfr, calls, tokens } = await tokenWorld({ tokenCommand: CONSTANT }, rejecting(FIRST));
    const { exitCode, stderr } = await wfr(['run', 'w']);
    expect({ exitCode, calls: calls(), tokens: tokens() }).toEqual({
      exitCode: 4,
      calls: 2,
      tokens: [FIRST],
    });
    expect(stderr).toContain('rejected the access token (401); it came from tokenCommand of profile p');
    expect(stderr).not.toContain('MARK');
  });

  test('run: a new token that is also rejected exits 4 after two POSTs, and no third token is fetched', async () => {
    const { wfr, calls, tokens } = await tokenWorld({ tokenCommand: COUNTING }, rejecting(FIRST, SECOND));
    const { exitCode } = await wfr(['run', 'w']);
    expect({ exitCode, calls: calls(), tokens: tokens() }).toEqual({
      exitCode: 4,
      calls: 2,
      tokens: [FIRST, SECOND],
    });
  });

  test('run: a token that expires again after a wait for 429 is fetched again', async () => {
    const answers = [401, 429, 429, 429, 401];
    const { wfr, calls, tokens } = await tokenWorld({ tokenCommand: COUNTING }, (_request, reply) => {
      const status = answers.shift() ?? 201;
      reply.send(status, status === 201 ? aFinishedRun() : {}, { 'retry-after': '1' });
    });
    expect((await wfr(['run', 'w'])).exitCode).toBe(0);
    expect({ calls: calls(), posts: tokens().length }).toEqual({ calls: 3, posts: 6 });
  });

  test('run: Ctrl-C while the token is fetched again exits 130, and no run is created', async () => {
    const slow = tokenCommand('if (n > 1) setInterval(() => {}, 1000); else console.log("MARK-token-1")');
    const signals = new Signals();
    const { wfr, folder, posts } = await tokenWorld({ tokenCommand: slow }, (_request, reply) => {
      reply.send(401);
    });
    const watcher = watch(folder, () => posts().length === 1 && signals.raise('SIGINT'));
    const { exitCode, stderr } = await wfr(['run', 'w'], { signals });
    watcher.close();
    expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 130, posts: 1 });
    expect(stderr).toContain('wfr: cancelled; no run was created\n');
  });
});

describe('eight rows whose triggers are rejected with 401 for the same token', () => {
  const EIGHT = [...BATCH_ARGS, '--concurrency', '8'];

  /** Rejects the first token only once all eight rows have sent it. */
  async function rejectingTogether(settings: object, onRejection = () => {}) {
    let arrived = 0;
    let release = () => {};
    const together = new Promise<void>((resolve) => {
      release = resolve;
    });
    const world = await tokenWorld(settings, async (request, reply) => {
      if (request.headers.authorization === FIRST) {
        if (++arrived === 8) release();
        await together;
        onRejection();
      }
      return rejecting(FIRST)(request, reply);
    });
    writeFileSync(join(world.folder, 'rows.jsonl'), numberedRows(8));
    return world;
  }

  test('batch: eight simultaneous 401 responses run the token command once, and each row creates one run', async () => {
    const { wfr, folder, calls, tokens } = await rejectingTogether({ tokenCommand: COUNTING });
    expect((await wfr(EIGHT)).exitCode).toBe(0);
    expect(calls()).toBe(2);
    expect(tokens().filter((token) => token === FIRST)).toHaveLength(8);
    expect(tokens().filter((token) => token === SECOND)).toHaveLength(8);
    for (const events of Object.values(eventNamesByRow(join(folder, 'out.jsonl'))))
      expect(events).toEqual(['intent', 'sent', 'refused', 'sent', 'accepted', 'ended']);
  });

  test('batch: eight simultaneous 401 responses read a changed token file again, and each row creates one run', async () => {
    const rotate = () => writeFileSync(join(world.folder, 'token'), 'MARK-token-2');
    const world = await rejectingTogether({ tokenFile: 'token' }, rotate);
    writeFileSync(join(world.folder, 'token'), 'MARK-token-1');
    expect((await world.wfr(EIGHT)).exitCode).toBe(0);
    expect(world.tokens().filter((token) => token === SECOND)).toHaveLength(8);
  });

  test('batch: a token command that prints the same token again runs once for all rows, even after a later 401', async () => {
    let count = 0;
    let reportedOne = () => {};
    const oneIsReported = new Promise<void>((resolve) => {
      reportedOne = resolve;
    });
    const { wfr, folder, calls, posts } = await tokenWorld(
      { tokenCommand: CONSTANT },
      async (_request, reply) => {
        if (++count === 8) await oneIsReported;
        reply.send(401);
      },
    );
    writeFileSync(join(folder, 'rows.jsonl'), numberedRows(8));
    const onOutput = (text: string) => text.includes('rejected the access token') && reportedOne();
    const { exitCode } = await wfr(EIGHT, { onOutput });
    expect({ exitCode, calls: calls(), posts: posts().length }).toEqual({ exitCode: 4, calls: 2, posts: 8 });
  });
});

test('batch: a token that another row has replaced is redacted where the service repeats it', async () => {
  let renewed = () => {};
  const isRenewed = new Promise<void>((resolve) => {
    renewed = resolve;
  });
  let count = 0;
  const { wfr, folder } = await tokenWorld({ tokenCommand: COUNTING }, async ({ headers }, reply) => {
    if (headers.authorization === SECOND) renewed();
    else if (++count === 1) return reply.send(401);
    else await isRenewed;
    reply.send(409, { message: `not with ${headers.authorization}` });
  });
  writeFileSync(join(folder, 'rows.jsonl'), numberedRows(2));
  const { exitCode, stderr } = await wfr([...BATCH_ARGS, '--concurrency', '2']);
  expect(exitCode).toBe(5);
  expect(stderr).toContain('not with Bearer (the token)');
  expect(stderr + readFileSync(join(folder, 'out.jsonl'), 'utf8')).not.toContain('MARK');
});
