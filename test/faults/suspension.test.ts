/** A process that was stopped beyond a limit of time, with Ctrl-Z, by SIGSTOP or while the machine slept. */
import { describe, expect, test } from 'vitest';
import { type CliOptions, runCli } from '../helpers/cli.js';
import { realClock } from '../helpers/clock.js';
import { folderWithSparseFile } from '../helpers/files.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from '../helpers/service.js';

const LIMIT = 100;

/** Stops this process, all of it, for longer than the limit: what arrives meanwhile waits in the socket. */
function stop(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * LIMIT);
}

async function trigger(handler: Handler, world: CliOptions) {
  const service = await scriptedService(handler);
  const env = { WFR_BASE_URL: service.baseUrl };
  const result = await runCli(['run', 'w', 'a=1', '--interval', '10ms'], { clock: realClock, env, ...world });
  return { ...result, posts: service.posts().length, requests: service.requests.length };
}

describe('a stop beyond a limit of time', () => {
  test('run: the answer to a trigger that waits in the socket is read, after one POST', async () => {
    const { exitCode, posts, stderr } = await trigger(
      async (request, reply) => {
        await request.body();
        reply.send(200, aFinishedRun());
        stop();
      },
      { limits: { response: LIMIT } },
    );
    expect({ exitCode, posts, stderr }).toMatchObject({ exitCode: 0, posts: 1 });
  });

  test('run: so is the body of an answer of which the head came before', async () => {
    const text = JSON.stringify(aFinishedRun());
    const { exitCode, posts } = await trigger(
      async (request, reply) => {
        await request.body();
        reply.raw(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n`);
        await new Promise((resolve) => setTimeout(resolve, LIMIT / 4));
        reply.raw(text);
        stop();
      },
      { limits: { silence: LIMIT } },
    );
    expect({ exitCode, posts }).toEqual({ exitCode: 0, posts: 1 });
  });

  test('run: an upload that had no chance to move goes on, after one POST', async () => {
    const cwd = folderWithSparseFile(30_000_000);
    const service = await scriptedService(async (request, reply) => {
      await request.atLeast(10_000_000);
      reply.socket.pause();
      // Node overlooks the first time that a write takes too long.
      await new Promise((resolve) => setTimeout(resolve, 1.3 * LIMIT));
      stop();
      reply.socket.resume();
      await request.body();
      reply.send(200, aFinishedRun());
    });
    const world = { clock: realClock, cwd, env: { WFR_BASE_URL: service.baseUrl }, limits: { stall: LIMIT } };
    const { exitCode } = await runCli(['run', 'w', 'doc@large.pdf'], world);
    expect({ exitCode, posts: service.posts().length }).toEqual({ exitCode: 0, posts: 1 });
  });

  test('run: the answer to a poll that waits in the socket is read, and no poll is repeated', async () => {
    const { exitCode, requests, stderr } = await trigger(
      async (request, reply) => {
        await request.body();
        reply.send(200, request.method === 'POST' ? aRun() : aFinishedRun());
        if (request.method === 'GET') stop();
      },
      { limits: { silence: LIMIT } },
    );
    expect({ exitCode, requests }).toEqual({ exitCode: 0, requests: 2 });
    expect(stderr).not.toContain('no answer');
  });
});
