/** A process that is suspended for longer than a timeout: by Ctrl-Z, SIGSTOP or a sleeping machine. */
import { describe, expect, test } from 'vitest';
import { type CliOptions, runCli } from '../helpers/cli.js';
import { realClock } from '../helpers/clock.js';
import { folderWithSparseFile } from '../helpers/files.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

/** Milliseconds of real time: a loaded machine is late by several hundred of them, which must not end a request. */
const LIMIT = 1_500;

/** Blocks this whole process for longer than the limit: data that arrives meanwhile waits in the socket. */
function suspend(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1.5 * LIMIT);
}

async function runAgainst(handler: Handler, options: CliOptions) {
  const service = await scriptedService(handler);
  const env = { WFR_BASE_URL: service.baseUrl };
  const result = await runCli(['run', 'w', 'a=1', '--interval', '10ms'], {
    clock: realClock,
    env,
    ...options,
  });
  return { ...result, posts: service.posts().length, requests: service.requests.length };
}

describe('run: a process that is suspended for longer than a timeout', () => {
  test('run: a response to the trigger that arrived during a suspension is read, after one POST', async () => {
    const { exitCode, posts, stderr } = await runAgainst(
      async (request, reply) => {
        await request.body();
        reply.send(200, aFinishedRun());
        suspend();
      },
      { limits: { response: LIMIT } },
    );
    expect({ exitCode, posts, stderr }).toMatchObject({ exitCode: 0, posts: 1 });
  });

  test('run: a response body that arrived during a suspension is read, after one POST', async () => {
    const text = JSON.stringify(aFinishedRun());
    const { exitCode, posts } = await runAgainst(
      async (request, reply) => {
        await request.body();
        reply.raw(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n`);
        await new Promise((resolve) => setTimeout(resolve, LIMIT / 4));
        reply.raw(text);
        suspend();
      },
      { limits: { silence: LIMIT } },
    );
    expect({ exitCode, posts }).toEqual({ exitCode: 0, posts: 1 });
  });

  test('run: an upload that was suspended continues, after one POST', async () => {
    const cwd = folderWithSparseFile(30_000_000);
    const service = await scriptedService(async (request, reply) => {
      await request.atLeast(10_000_000);
      reply.socket.pause();
      // Node ignores the first timeout of a write, unless it is not told how much has been sent.
      await new Promise((resolve) => setTimeout(resolve, LACKS.partialWrites ? 0 : 1.3 * LIMIT));
      suspend();
      reply.socket.resume();
      await request.body();
      reply.send(200, aFinishedRun());
    });
    const options = {
      clock: realClock,
      cwd,
      env: { WFR_BASE_URL: service.baseUrl },
      limits: { stall: LIMIT },
    };
    const { exitCode } = await runCli(['run', 'w', 'doc@large.pdf'], options);
    expect({ exitCode, posts: service.posts().length }).toEqual({ exitCode: 0, posts: 1 });
  });

  test('run: a response to a poll that arrived during a suspension is read, and no poll is repeated', async () => {
    const { exitCode, requests, stderr } = await runAgainst(
      async (request, reply) => {
        await request.body();
        reply.send(200, request.method === 'POST' ? aRun() : aFinishedRun());
        if (request.method === 'GET') suspend();
      },
      { limits: { silence: LIMIT } },
    );
    expect({ exitCode, requests }).toEqual({ exitCode: 0, requests: 2 });
    expect(stderr).not.toContain('no response');
  });
});
