/** Rows with an unknown outcome: each is sent once, and five in a row stop the batch. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  BATCH_ARGS,
  eventNamesByRow,
  FINISHED_ROW,
  numberedRows,
  startBatchService,
} from '../../helpers/batch.js';
import { runCli } from '../../helpers/cli.js';
import { folderWith } from '../../helpers/files.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from '../../helpers/service.js';

const BUSY: Handler = (_request, reply) => reply.send(503, { message: 'busy' }, { 'retry-after': '1' });
const ONE_BY_ONE = [...BATCH_ARGS, '--concurrency', '1'];
const STOPPED = 'The last 5 rows that were sent are unknown: no further rows were sent.\n';
const countUnknownRows = (stderr: string) => stderr.split('  unknown  ').length - 1;

describe('batch: a 503 with Retry-After after a complete body', () => {
  test('batch: a 503 with Retry-After after a complete body exits 6 after exactly one POST, and the row is not sent again', async () => {
    const { posts, wfr } = await startBatchService(BUSY);
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd });
    expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 6, posts: 1 });
    expect(stderr).toContain('1 row: 1 unknown; took ');
    expect(eventNamesByRow(join(cwd, 'out.jsonl'))).toEqual({ 1: ['intent', 'sent', 'unknown'] });
    expect((await wfr(BATCH_ARGS, { cwd })).exitCode).toBe(6);
    expect(posts()).toHaveLength(1);
  });

  test('batch --resend-503: a 503 with Retry-After is retried until the service accepts the row', async () => {
    let count = 0;
    const { posts, wfr } = await startBatchService((request, reply) =>
      count++ < 6 ? BUSY(request, reply) : reply.send(201, aFinishedRun()),
    );
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    expect((await wfr([...BATCH_ARGS, '--resend-503'], { cwd })).exitCode).toBe(0);
    expect(posts()).toHaveLength(7);
  });
});

test('batch: a 408 after a complete body exits 6 after exactly one POST, even with --resend-503', async () => {
  const { posts, wfr } = await startBatchService((_request, reply) =>
    reply.send(408, {}, { 'retry-after': '1' }),
  );
  const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
  const { exitCode } = await wfr([...BATCH_ARGS, '--resend-503'], { cwd });
  expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 6, posts: 1 });
});

describe('batch: five consecutive unknown outcomes', () => {
  test('batch: no row is sent after five consecutive 503 responses with Retry-After, and --resend-503 is suggested', async () => {
    const { posts, wfr } = await startBatchService(BUSY);
    const cwd = folderWith({ 'rows.jsonl': numberedRows(20) });
    const { exitCode, stderr } = await wfr(ONE_BY_ONE, { cwd });
    expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 6, posts: 5 });
    expect(stderr).toContain(
      `${STOPPED}--resend-503 sends it again: only if the operator of the service guarantees`,
    );
  });

  test.each<[string, Handler]>([
    ['502 responses', (_request, reply) => reply.send(502)],
    ['lost responses', (_request, reply) => void reply.socket.destroy()],
    ['responses without an id', (_request, reply) => reply.send(201, {})],
  ])(
    'batch: no row is sent after five consecutive %s, and --resend-503 is not suggested',
    async (_name, handler) => {
      const { posts, wfr } = await startBatchService(handler);
      const cwd = folderWith({ 'rows.jsonl': numberedRows(20) });
      const { exitCode, stderr } = await wfr(ONE_BY_ONE, { cwd });
      expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 6, posts: 5 });
      expect(stderr).toContain(STOPPED);
      expect(stderr).not.toContain('--resend-503');
    },
  );

  test('batch: an accepted or rejected row restarts the count of unknown outcomes', async () => {
    let count = 0;
    const { posts, wfr } = await startBatchService((_request, reply) => {
      count++;
      if (count % 10 === 0) return reply.send(422, { message: 'no' });
      return count % 5 === 0 ? reply.send(201, aFinishedRun()) : void reply.socket.destroy();
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(14) });
    const { exitCode, stderr } = await wfr([...ONE_BY_ONE, '--workflow-id-field', 'both'], { cwd });
    expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 6, posts: 14 });
    expect(stderr).not.toContain(STOPPED);
  });

  test('batch: a run that was accepted before five unknown outcomes is watched to its end', async () => {
    let count = 0;
    let isStopped = false;
    const { baseUrl, posts } = await scriptedService(async (request, reply) => {
      await request.body();
      if (request.method === 'GET') return reply.send(200, isStopped ? aFinishedRun() : aRun());
      if (count++ === 0) reply.send(201, aRun());
      else reply.socket.destroy();
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(20) });
    const env = { WFR_BASE_URL: baseUrl };
    const onOutput = (text: string) => {
      isStopped = countUnknownRows(text) >= 5;
    };
    const { exitCode } = await runCli([...BATCH_ARGS, '--concurrency', '2'], { cwd, env, onOutput });
    expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 6, posts: 6 });
    expect(eventNamesByRow(join(cwd, 'out.jsonl'))[1]).toEqual(FINISHED_ROW);
  });

  test('batch: an incomplete request is aborted after five unknown outcomes, and the same command sends it', async () => {
    let onFiveUnknown = () => {};
    const stopped = new Promise<void>((resolve) => {
      onFiveUnknown = resolve;
    });
    let isHealthy = false;
    const isLarge = (length = '') => Number(length) > 1_000_000;
    const { baseUrl, posts } = await scriptedService(async (request, reply) => {
      if (isLarge(request.headers['content-length']) && !isHealthy) {
        reply.socket.pause();
        await stopped;
        reply.socket.resume();
      }
      const body = await request.body();
      if (!isHealthy && body.length === Number(request.headers['content-length'])) reply.socket.destroy();
      if (isHealthy) reply.send(200, aFinishedRun());
    });
    const large = '{"file":{"$document":"large.bin","type":"application/pdf"}}\n'.repeat(3);
    const cwd = folderWith({ 'rows.jsonl': `${large}${numberedRows(5)}`, 'large.bin': 'x'.repeat(8e6) });
    const env = { WFR_BASE_URL: baseUrl };
    const onOutput = (text: string) => {
      if (countUnknownRows(text) >= 5) onFiveUnknown();
    };
    // The clock is virtual and the upload is not: it must not stall because the machine is busy.
    const limits = { stall: 24 * 3_600_000 };
    const first = await runCli(BATCH_ARGS, { cwd, env, onOutput, limits });
    expect(first.exitCode).toBe(6);
    expect(first.stderr).toContain('8 rows: 5 unknown, 3 waiting; took ');
    const aborted = posts().filter(({ headers }) => isLarge(headers['content-length']));
    expect(aborted).toHaveLength(3);
    for (const { received, headers } of aborted)
      expect(received).toBeLessThan(Number(headers['content-length']));
    isHealthy = true;
    const second = await runCli(BATCH_ARGS, { cwd, env, limits });
    expect(second.exitCode).toBe(6);
    expect(second.stderr).toContain('8 rows: 3 finished, 5 unknown; ');
    expect(posts()).toHaveLength(11);
  });

  test('batch: a row that waits after a 429 when the batch stops is neither sent again nor unknown', async () => {
    let onFiveUnknown = () => {};
    const stopped = new Promise<void>((resolve) => {
      onFiveUnknown = resolve;
    });
    let onRetry = () => {};
    const retried = new Promise<void>((resolve) => {
      onRetry = resolve;
    });
    let large = 0;
    const { baseUrl } = await scriptedService(async (request, reply) => {
      if (Number(request.headers['content-length']) < 1_000_000) {
        await retried;
        return void reply.socket.destroy();
      }
      if (++large === 1) {
        await request.body();
        return reply.send(429, {}, { 'retry-after': '1' });
      }
      reply.socket.pause();
      onRetry();
      await stopped;
      reply.socket.resume();
    });
    const document = '{"file":{"$document":"large.bin","type":"application/pdf"}}\n';
    const cwd = folderWith({ 'rows.jsonl': `${document}${numberedRows(5)}`, 'large.bin': 'x'.repeat(16e6) });
    const onOutput = (text: string) => {
      if (countUnknownRows(text) >= 5) onFiveUnknown();
    };
    const { exitCode, stderr } = await runCli(BATCH_ARGS, { cwd, env: { WFR_BASE_URL: baseUrl }, onOutput });
    expect(exitCode).toBe(6);
    expect(stderr).toContain('6 rows: 1 unreachable, 5 unknown; took ');
    expect(eventNamesByRow(join(cwd, 'out.jsonl'))[1]).toEqual(['intent', 'sent', 'refused']);
  });
});
