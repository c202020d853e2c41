/** One batch that is killed and started again, against a service that records every complete trigger. */

import { EventEmitter } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../helpers/cli.js';
import { startWfr } from '../helpers/process.js';

/** The record of the service, and the final result of wfr. */
export interface KillResult {
  /** How often each row was triggered. */
  triggered: Map<number, number>;
  /** Rows that wfr itself lists as unknown. */
  unknown: number[];
  kills: number;
  exitCode: number;
  stderr: string;
  /** Rows that have ended according to the results file. */
  ended: Set<number>;
}

/** Starts a service, until the test ends, that answers a trigger after `answerDelay` ms; its runs end 30 ms after it. */
export async function startRecordingService(answerDelay = 0) {
  const triggered = new Map<number, number>();
  const requests = new EventEmitter();
  const endsAt = new Map<string, number>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      requests.emit('request');
      let id = request.url?.split('/').at(-1) ?? '';
      if (request.method === 'POST') {
        const { inputs } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
        triggered.set(inputs.n, (triggered.get(inputs.n) ?? 0) + 1);
        id = `run-${inputs.n}-${triggered.get(inputs.n)}`;
        endsAt.set(id, performance.now() + 30);
        if (answerDelay > 0) await sleep(answerDelay);
      }
      const isOver = performance.now() >= (endsAt.get(id) ?? 0);
      const run = { id, status: isOver ? 'FINISHED' : 'RUNNING', steps: 1, stepsCompleted: isOver ? 1 : 0 };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(run));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  /** Resolves after that many further requests. */
  const afterRequests = (count: number) =>
    new Promise<boolean>((resolve) => {
      let left = count;
      const onRequest = () => {
        if (--left > 0) return;
        requests.off('request', onRequest);
        resolve(false);
      };
      requests.on('request', onRequest);
    });
  return { triggered, afterRequests, baseUrl: `http://127.0.0.1:${port}` };
}

/**
 * Kills a batch of `rows` rows `kills` times, each time up to 5 ms after `fewest` to `most` further requests, then runs it to
 * its end.
 */
export async function killBatch(
  rows: number,
  kills: number,
  [fewest, most]: readonly [number, number],
  seed: number,
): Promise<KillResult> {
  const service = await startRecordingService();
  const cwd = temporaryFolder();
  const lines = Array.from({ length: rows }, (_, n) => `{"n":${n + 1}}\n`);
  writeFileSync(join(cwd, 'rows.jsonl'), lines.join(''));
  const args = [
    'batch',
    'w',
    '--rows',
    'rows.jsonl',
    '--results',
    'out.jsonl',
    '--rate',
    '0',
    '--interval',
    '20ms',
    '-q',
  ];
  const start = () => startWfr(args, { WFR_BASE_URL: service.baseUrl }, { cwd });
  let random = seed;
  let killed = 0;
  while (killed < kills) {
    random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
    const isBusy = service.afterRequests(Math.ceil(fewest + (random / 2 ** 31) * (most - fewest)));
    const running = start();
    if (await Promise.race([running.ended.then(() => true), isBusy])) break;
    await sleep(random % 6);
    running.child.kill('SIGKILL');
    await running.ended;
    killed++;
  }
  const { exitCode, stderr } = await start().ended;
  return {
    ...readOutcome(join(cwd, 'out.jsonl')),
    triggered: service.triggered,
    kills: killed,
    exitCode,
    stderr,
  };
}

/** Reads which rows of a results file are unknown and which have ended. */
export function readOutcome(path: string): Pick<KillResult, 'unknown' | 'ended'> {
  const events = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const ended = new Set<number>(events.filter(({ event }) => event === 'ended').map(({ row }) => row));
  const lastOf = new Map<number, string>(
    events.filter(({ row }) => row).map(({ row, event }) => [row, event]),
  );
  // A replaced process may have written a line after the end of a row; it does not count.
  const isUnknown = ([row, event]: [number, string]) =>
    ['sent', 'unknown'].includes(event) && !ended.has(row);
  const unknown = [...lastOf].filter(isUnknown).map(([row]) => row);
  return { unknown, ended };
}

/** Returns the violations: rows that were triggered twice, never, or that the results do not report. */
export function findViolations(
  { triggered, unknown, exitCode, stderr, ended }: KillResult,
  rows: number,
): string[] {
  const found: string[] = [];
  for (let row = 1; row <= rows; row++) {
    const times = triggered.get(row) ?? 0;
    const isUnknown = unknown.includes(row);
    if (times > 1) found.push(`row ${row} was triggered ${times} times`);
    if (times === 0 && !isUnknown) found.push(`row ${row} was never triggered`);
    if (ended.has(row) === isUnknown) found.push(`row ${row} is neither ended nor unknown, or both`);
  }
  const expected = unknown.length > 0 ? 6 : 0;
  if (exitCode !== expected) found.push(`exit ${exitCode}, not ${expected}: ${stderr}`);
  if (unknown.length > 0 && !stderr.includes(`${unknown.length} unknown`))
    found.push(`unknown, but not reported: ${unknown}`);
  return found;
}
