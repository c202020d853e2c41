/**
 * Real reverse proxies before a service that accepts a trigger and fails to answer it. The service's own record of the
 * runs that it created, not the answer that wfr received, decides whether wfr was right.
 */
import { describe, expect, test } from 'vitest';
import { BATCH_ARGS, numberedRows } from '../helpers/batch.js';
import { runCli } from '../helpers/cli.js';
import { CLOSED_PORT } from '../helpers/closed-port.js';
import { folderWith } from '../helpers/files.js';
import { GATEWAYS } from '../helpers/gateways.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from '../helpers/service.js';

/** What a service does once it has recorded a run for a complete request. */
type Answer = (reply: Parameters<Handler>[1]) => void;

const TAKES_THE_REQUEST: readonly (readonly [words: string, exitCode: 0 | 6, answer: Answer])[] = [
  ['answers 201', 0, (reply) => reply.send(201, aRun())],
  ['closes', 6, ({ socket }) => void socket.end()],
  ['resets', 6, (reply) => reply.reset()],
  ['never answers', 6, () => {}],
  ['answers 503 with Retry-After', 6, (reply) => reply.send(503, {}, { 'retry-after': '5' })],
  ['answers 408', 6, (reply) => reply.send(408)],
];

/** Where the service listens, and how many runs it has created. */
async function recordingService(answer: Answer) {
  let runs = 0;
  const { port } = await scriptedService(async (request, reply) => {
    if (request.method !== 'POST') return reply.send(200, aFinishedRun());
    JSON.parse((await request.body()).toString());
    runs++;
    answer(reply);
  });
  return { port, runs: () => runs };
}

/** Returns the exit codes of `wfr run` and of `wfr batch` with one row, and how many runs each created. */
async function runAndBatch(origin: string, runs: () => number) {
  const world = { env: { WFR_BASE_URL: origin }, cwd: folderWith({ 'rows.jsonl': numberedRows(1) }) };
  const run = await runCli(['run', 'w', 'n:=1'], world);
  const runsOfRun = runs();
  const batch = await runCli(BATCH_ARGS, world);
  return {
    run: { runs: runsOfRun, exitCode: run.exitCode },
    batch: { runs: runs() - runsOfRun, exitCode: batch.exitCode },
  };
}

describe.each(GATEWAYS.map((gateway) => [gateway.name, gateway] as const))('%s', (name, gateway) => {
  test.each(TAKES_THE_REQUEST)(
    `${name}: a service that takes the request and %s: at most one run, exit %i`,
    async (_words, exitCode, answer) => {
      const service = await recordingService(answer);
      const origin = await gateway.start(service.port);
      // The gateway may reuse this connection, and re-send a request that fails on it.
      await runCli(['status', 'run-1'], { env: { WFR_BASE_URL: origin } });
      expect(await runAndBatch(origin, service.runs)).toEqual({
        run: { runs: 1, exitCode },
        batch: { runs: 1, exitCode },
      });
    },
  );

  test(`${name}: a service that refuses connections creates no run: exit 6, or 7 if the gateway does not wait for the body`, async () => {
    const origin = await gateway.start(CLOSED_PORT);
    const { run, batch } = await runAndBatch(origin, () => 0);
    expect([6, 7]).toContain(run.exitCode);
    expect([6, 7]).toContain(batch.exitCode);
  });
});
