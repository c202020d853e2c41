/** A batch whose service refuses connections for a while. */
import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BATCH_ARGS, eventNamesByRow, FINISHED_ROW, numberedRows } from '../helpers/batch.js';
import { type CliOptions, runCli, Signals } from '../helpers/cli.js';
import { VirtualClock } from '../helpers/clock.js';
import { reservePort } from '../helpers/closed-port.js';
import { folderWith } from '../helpers/files.js';
import { aFinishedRun, aRun, scriptedService } from '../helpers/service.js';

const MINUTE = 60_000;

/**
 * Returns a service on a port on which nothing listens until `listen` is called, with its triggered rows. It answers the
 * first trigger with a status.
 */
async function reserveService(firstStatus = 200) {
  const rows: number[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = JSON.parse((await text(request)) || '{}');
    if (request.method === 'POST') rows.push(body.inputs.n);
    const id = request.url?.split('/')[2] ?? `run-${rows.length}`;
    if (request.method === 'POST' && rows.length === 1) response.statusCode = firstStatus;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...(request.method === 'POST' ? aRun() : aFinishedRun()), id }));
  };
  const server = createServer((request, response) => void answer(request, response));
  const reserved = await reservePort();
  const { port } = reserved;
  const listen = async () => {
    await reserved.release();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  };
  const close = () => {
    server.close();
    server.closeIdleConnections();
  };
  const stop = () => {
    close();
    return reserved.hold();
  };
  onTestFinished(close);
  return { rows, env: { WFR_BASE_URL: `http://127.0.0.1:${port}` }, listen, stop };
}

const pauseLines = (stderr: string) =>
  stderr.split('\n').filter((line) => line.includes('no row is sent for'));
const countPosts = (stderr: string) => stderr.split('\n').filter((line) => line.startsWith('> POST')).length;
const folderWithRows = (rows: number) => folderWith({ 'rows.jsonl': numberedRows(rows) });
const runBatch = (cwd: string, env: Record<string, string>, options: CliOptions = {}, ...flags: string[]) =>
  runCli([...BATCH_ARGS, '--concurrency', '4', ...flags], { cwd, env, ...options });

describe('batch: a service that refuses connections', () => {
  test('batch: sending pauses while the service refuses connections, and continues when it is back', async () => {
    const service = await reserveService();
    const clock = new VirtualClock();
    clock.after(3 * MINUTE, () => void service.listen());
    const cwd = folderWithRows(40);
    const { exitCode, stderr } = await runBatch(cwd, service.env, { clock }, '-v');
    expect(exitCode).toBe(0);
    expect(service.rows.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
    const events = Object.values(eventNamesByRow(join(cwd, 'out.jsonl')));
    expect(events.map((names) => names.filter((name) => name !== 'refused'))).toEqual(
      Array(40).fill(FINISHED_ROW),
    );
    // Four rows start; then one at a time, each with three retries of its own: 1, 2, 4, 8, 16, 30 and 30 s apart.
    expect(countPosts(stderr)).toBeLessThanOrEqual(40 + 4 * 4 + 10 * 4);
    expect(pauseLines(stderr).length).toBeGreaterThanOrEqual(3);
    expect(pauseLines(stderr).length).toBeLessThanOrEqual(5);
    expect(pauseLines(stderr)[0]).toMatch(
      /^2026-01-02T03:04:\d\dZ wfr: nothing listens at 127\.0\.0\.1:\d+ \(ECONNREFUSED\); no row is sent for /,
    );
  });

  test('batch: five minutes without a connection exit 7, and the same command sends every row once', async () => {
    const service = await reserveService();
    const cwd = folderWithRows(40);
    const { exitCode, stderr, clock } = await runBatch(cwd, service.env);
    expect(exitCode).toBe(7);
    expect(stderr).toContain('\nThe service cannot be reached: no further rows were sent.\n');
    expect(clock.monotonic()).toBeGreaterThanOrEqual(5 * MINUTE);
    expect(clock.monotonic()).toBeLessThan(6.5 * MINUTE);
    expect(eventNamesByRow(join(cwd, 'out.jsonl'))).toEqual({
      1: ['intent', 'refused'],
      2: ['intent', 'refused'],
      3: ['intent', 'refused'],
      4: ['intent', 'refused'],
    });
    expect(stderr).toContain('40 rows: 4 unreachable, 36 waiting; took ');
    await service.listen();
    expect((await runBatch(cwd, service.env)).exitCode).toBe(0);
    expect(service.rows.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
  });

  test('batch: a service that goes away in the middle pauses the remaining rows', async () => {
    const service = await reserveService();
    await service.listen();
    const clock = new VirtualClock();
    let isStopped = false;
    const stop = () => {
      isStopped = true;
      void service.stop();
      clock.after(MINUTE, () => void service.listen());
    };
    const cwd = folderWithRows(40);
    const onOutput = () => void (service.rows.length >= 10 && !isStopped && stop());
    // With one row at a time, no request is in flight when a row has ended.
    const { exitCode, stderr } = await runBatch(cwd, service.env, { clock, onOutput }, '--concurrency', '1');
    expect({ exitCode, isStopped }).toEqual({ exitCode: 0, isStopped: true });
    expect(new Set(service.rows).size).toBe(40);
    expect(service.rows.length).toBe(40);
    expect(pauseLines(stderr).length).toBeGreaterThanOrEqual(1);
  });

  test('batch: a pause ends with any response, also one that rejects the row', async () => {
    const service = await reserveService(403);
    const clock = new VirtualClock();
    clock.after(MINUTE, () => void service.listen());
    const cwd = folderWithRows(8);
    const { exitCode, stderr } = await runBatch(cwd, service.env, { clock }, '--keep-going');
    expect(exitCode).toBe(4);
    expect(stderr).toContain('8 rows: 7 finished, 1 rejected; ');
  });

  test('batch: Ctrl-C during the pause exits 130, and the same command sends the rows that had not started', async () => {
    const service = await reserveService();
    const signals = new Signals();
    const cwd = folderWithRows(40);
    const options: CliOptions = {
      signals,
      onOutput: (text) => text.includes('no row is sent for') && signals.raise('SIGINT'),
    };
    const { exitCode, clock, stderr } = await runBatch(cwd, service.env, options);
    expect(exitCode).toBe(130);
    expect(clock.monotonic()).toBeLessThan(MINUTE);
    expect(stderr).toContain('40 rows: 1 unreachable, 39 waiting; took ');
    expect(stderr).not.toContain('The service cannot be reached');
    await service.listen();
    expect((await runBatch(cwd, service.env)).exitCode).toBe(0);
    expect(service.rows.length).toBe(40);
  });

  test('batch: a suspension of the process does not count as time without a connection', async () => {
    const service = await reserveService();
    class SuspendedClock extends VirtualClock {
      override sleep(ms: number, signal?: AbortSignal): Promise<void> {
        const slept = super.sleep(ms, signal);
        // During the third pause; the attempt after it fails as well, and the one after that succeeds.
        if (ms === 4_000) this.jump(60 * MINUTE);
        if (ms === 8_000) void service.listen();
        return slept;
      }
    }
    const cwd = folderWithRows(8);
    const clock = new SuspendedClock();
    expect((await runBatch(cwd, service.env, { clock })).exitCode).toBe(0);
    expect(clock.monotonic()).toBeGreaterThan(60 * MINUTE);
    expect(service.rows.length).toBe(8);
  });

  test('batch: a host without TLS stops sending at once, as waiting would not help', async () => {
    const plain = await scriptedService(() => {}, {
      onConnection: (socket) =>
        void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    });
    const cwd = folderWithRows(40);
    const { exitCode, stderr, clock } = await runBatch(cwd, {
      WFR_BASE_URL: `https://127.0.0.1:${plain.port}`,
    });
    expect(exitCode).toBe(7);
    expect(clock.monotonic()).toBeLessThan(1_000);
    expect(plain.connections()).toBeLessThanOrEqual(4);
    expect(stderr).toContain('does not speak TLS');
    expect(stderr).toContain('\nThe service cannot be reached: no further rows were sent.\n');
    expect(pauseLines(stderr)).toEqual([]);
    expect(existsSync(join(cwd, 'out.jsonl'))).toBe(true);
  });

  test('batch: on a terminal the live line shows the pause; --quiet omits it', async () => {
    const service = await reserveService();
    const live = await runBatch(folderWithRows(8), service.env, {
      terminal: 200,
      env: { ...service.env, TERM: 'xterm' },
    });
    expect(stripVTControlCharacters(live.stderr)).toMatch(
      /0\/8 {2}\d+s\n {2}service unreachable: retry in \d+s\n {2}8 waiting/,
    );
    expect(live.stderr).toContain('no row is sent for ');
    const quiet = await runBatch(folderWithRows(8), service.env, {}, '--quiet');
    expect(pauseLines(quiet.stderr)).toEqual([]);
    expect([live.exitCode, quiet.exitCode]).toEqual([7, 7]);
  });
});
