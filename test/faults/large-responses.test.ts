/** Responses of many megabytes: few are in memory at a time, in the order in which they are printed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runCli, temporaryFolder } from '../helpers/cli.js';
import { VirtualClock } from '../helpers/clock.js';
import { aFinishedRun, aRun, scriptedService } from '../helpers/service.js';

const SMALL = 'x'.repeat(1_000);
const LARGE = 'x'.repeat(9 * 1024 * 1024);

/** Serves runs by id, each with `output`; the first of them only once `others` of the others have been requested. */
async function serveRuns(output: string, others: number, onRepeat = () => {}) {
  let arrived = () => {};
  const enough = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const service = await scriptedService(async ({ path }, { send }) => {
    if (service.requests.length > others) arrived();
    if (service.requests.filter((request) => request.path === path).length > 1) onRepeat();
    if (path === '/runs/run-0') {
      await enough;
      // Further requests would arrive now.
      await setTimeout(100);
      before ??= service.requests.length;
    }
    send(200, { ...aFinishedRun(output), id: path.slice(6) });
  });
  let before: number | undefined;
  return { ...service, requestsBefore: () => before };
}

const idsOf = (count: number) => Array.from({ length: count }, (_, n) => `run-${n}`);

test('status: at most 16 responses are read before the first run is printed, and all are printed in order', async () => {
  const ids = idsOf(40);
  const { baseUrl, requestsBefore } = await serveRuns(SMALL, 8);
  const env = { WFR_BASE_URL: baseUrl };
  const { stdout, exitCode } = await runCli(['status', ...ids, '-o', 'id'], { env });
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${ids.join('\n')}\n` });
  expect(requestsBefore()).toBeLessThanOrEqual(16);
});

test.each(['status', 'watch'])(
  'wfr %s: of several responses above 8 MiB, one is read at a time: the others are requested again (fault 115)',
  async (command) => {
    const ids = idsOf(4);
    const { baseUrl, requests, requestsBefore } = await serveRuns(LARGE, 3);
    const env = { WFR_BASE_URL: baseUrl };
    const { stdout, exitCode } = await runCli([command, ...ids, '-o', 'json'], { env });
    const printed = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(exitCode).toBe(0);
    expect(printed.map(({ output }) => output === LARGE)).toEqual([true, true, true, true]);
    const order = printed.map(({ id }) => id);
    expect(command === 'status' ? order : order.toSorted()).toEqual(ids);
    expect(requestsBefore()).toBeGreaterThanOrEqual(4);
    expect(requests.length).toBeGreaterThan(4);
  },
);

test('watch: the wait for other large responses does not count toward --timeout (fault 115)', async () => {
  const ids = idsOf(6);
  const clock = new VirtualClock();
  // All five that may be repeated while the first is requested take less than the 5 s that a last poll has.
  const { baseUrl } = await serveRuns(LARGE, 5, () => clock.advance(1_200));
  const { stdout, exitCode } = await runCli(['watch', ...ids, '--timeout', '1ms', '-o', 'id'], {
    env: { WFR_BASE_URL: baseUrl },
    clock,
  });
  expect({ exitCode, runs: stdout.trimEnd().split('\n').toSorted() }).toEqual({ exitCode: 0, runs: ids });
});

test('watch: a response above 8 MiB of a run that goes on does not keep other runs from being read', async () => {
  let polls = 0;
  let goesOn = () => {};
  const isRead = new Promise<void>((resolve) => {
    goesOn = resolve;
  });
  let printed = '';
  const { baseUrl } = await scriptedService(async ({ path }, { send }) => {
    if (path === '/runs/run-1') {
      await isRead;
      return send(200, { ...aFinishedRun(LARGE), id: 'run-1' });
    }
    if (polls++ > 0) goesOn();
    const hasEnded = printed.includes('"run-1"') || polls > 20;
    send(200, { ...(hasEnded ? aFinishedRun(LARGE) : aRun({ input: LARGE })), id: 'run-0' });
  });
  const { exitCode, stdout } = await runCli(['watch', 'run-0', 'run-1', '-o', 'json'], {
    env: { WFR_BASE_URL: baseUrl },
    onOutput: (text, stream) => {
      if (stream === 'stdout') printed = text;
    },
  });
  const ids = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).id);
  expect({ exitCode, ids }).toEqual({ exitCode: 0, ids: ['run-1', 'run-0'] });
});

test('batch: rows whose responses are above 8 MiB finish, those of triggers without waiting', async () => {
  let triggers = 0;
  const service = await scriptedService(async (request, { send }) => {
    await request.body();
    if (request.method === 'GET') return send(200, { ...aFinishedRun(LARGE), id: request.path.slice(6) });
    const id = `run-${triggers++}`;
    send(201, triggers === 2 ? { ...aFinishedRun(LARGE), id } : aRun({ id }));
  });
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'rows.csv'), 'a\n1\n2\n3\n4\n');
  const { exitCode } = await runCli(
    ['batch', 'w', '--rows', 'rows.csv', '--results', 'r.jsonl', '--concurrency', '4'],
    { cwd, env: { WFR_BASE_URL: service.baseUrl } },
  );
  expect({ exitCode, posts: service.posts().length }).toEqual({ exitCode: 0, posts: 4 });
  expect(readFileSync(join(cwd, 'r.jsonl'), 'utf8').split(LARGE)).toHaveLength(5);
});
