/** One record of a run: the screen, the exit code, `wfr results` and every report say the same of each row. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { BATCH_ARGS, eventNamesByRow, numberedRows } from '../helpers/batch.js';
import { runCli, Signals, temporaryFolder } from '../helpers/cli.js';
import { VirtualClock } from '../helpers/clock.js';
import { folderWith } from '../helpers/files.js';
import { prepareOnce } from '../helpers/once.js';
import fc from '../helpers/properties.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from '../helpers/service.js';

/** What is known of a row, by the simplest rules that tell it: the test's own, apart from those of wfr. */
interface Known {
  word: string;
  id: string | null;
  message: string | null;
  before?: Known | undefined;
}

const NOTHING: Known = { word: 'waiting', id: null, message: null };
const WORDS: Readonly<Record<string, [word: string, exit: number]>> = {
  usage: ['invalid', 2],
  rejected: ['rejected', 5],
  unauthorized: ['rejected', 4],
  'not-triggered': ['unreachable', 7],
  interrupted: ['waiting', 8],
};
/** The words whose rows keep what they are when a later attempt creates nothing. */
const KEPT = ['rejected 5', 'unknown', 'failed', 'lost'];

type TestEvent =
  | { event: 'attempt'; ends: 'sent' | 'unknown' | 'accepted'; id: string; message: string }
  | { event: 'attempt'; ends: keyof typeof WORDS; message: string; isSent: boolean }
  | { event: 'lost' }
  | { event: 'ended'; status: string; message: string };

const message = fc.constantFrom('no total', 'nothing listens', 'too low: 7', 'a\nb');
const anAttempt = fc.oneof(
  fc.record({
    event: fc.constant('attempt' as const),
    ends: fc.constantFrom('sent' as const, 'unknown' as const, 'accepted' as const),
    id: fc.stringMatching(/^r-[a-z]{3}$/),
    message,
  }),
  fc.record({
    event: fc.constant('attempt' as const),
    ends: fc.constantFrom(...Object.keys(WORDS)),
    message,
    isSent: fc.boolean(),
  }),
);
const aHistory = fc.array(
  fc.tuple(
    anAttempt as fc.Arbitrary<TestEvent>,
    fc.constantFrom<TestEvent | undefined>(
      undefined,
      { event: 'lost' },
      { event: 'ended', status: 'FINISHED', message: '' },
      { event: 'ended', status: 'FAILED', message: 'no total' },
    ),
  ),
  { maxLength: 4 },
);

/** Returns the lines of a row's history, and what is known of the row at its end. */
function play(row: number, history: readonly (readonly [TestEvent, TestEvent | undefined])[]) {
  const lines: object[] = [];
  let known: Known & { exit?: number } = NOTHING;
  for (const [attempt, end] of history) {
    if (attempt.event !== 'attempt' || known.word === 'finished' || known.word === 'running') continue;
    const isKept = KEPT.includes(known.word === 'rejected' ? `rejected ${known.exit}` : known.word);
    const before = isKept ? known : undefined;
    lines.push({ event: 'intent', row, label: `t.csv:${row}`, digest: '0123456789abcdef', inputs: ['a'] });
    if ('isSent' in attempt) {
      const [word, exit] = WORDS[attempt.ends] as [string, number];
      if (attempt.isSent) lines.push({ event: 'sent', row });
      lines.push({ event: 'refused', row, code: attempt.ends, reason: attempt.message });
      // What kept it from being sent says nothing about the row.
      const reason = word === 'waiting' ? null : attempt.message;
      known = before ?? { word, exit, id: null, message: reason };
      continue;
    }
    lines.push({ event: 'sent', row });
    const noResponse =
      known.word === 'unknown' ? known.message : 'the request was sent, and no response is recorded';
    known = { word: 'unknown', id: null, message: noResponse };
    if (attempt.ends === 'unknown') {
      lines.push({ event: 'unknown', row, code: 'unknown-outcome', reason: attempt.message });
      known = { ...known, message: attempt.message };
    }
    if (attempt.ends !== 'accepted') continue;
    lines.push({ event: 'accepted', row, id: attempt.id });
    known = { word: 'running', id: attempt.id, message: null };
    if (end?.event === 'lost') {
      lines.push({ event: 'lost', row });
      known = { ...known, word: 'lost', message: 'the service no longer knows the run (404)' };
    }
    if (end?.event === 'ended') {
      const failed =
        end.status === 'FAILED' ? { error: { message: end.message, step: 'Read' } } : { output: 1 };
      lines.push({
        event: 'ended',
        row,
        run: { ...aRun({ id: attempt.id }), status: end.status, ...failed },
      });
      const word = end.status === 'FAILED' ? 'failed' : 'finished';
      known = { word, id: attempt.id, message: end.status === 'FAILED' ? end.message : null };
    }
  }
  return { lines, known, isBegun: lines.length > 0 };
}

/** The first reason must not be shown for the last attempt. */
const UNKNOWN_BEFORE_AND_AFTER_A_RUN: [TestEvent, TestEvent | undefined][] = [
  [{ event: 'attempt', ends: 'unknown', id: 'r-aaa', message: 'no total' }, undefined],
  [
    { event: 'attempt', ends: 'accepted', id: 'r-aaa', message: 'no total' },
    { event: 'ended', status: 'FAILED', message: 'no total' },
  ],
  [{ event: 'attempt', ends: 'sent', id: 'r-aaa', message: 'no total' }, undefined],
];

const EXITS: Readonly<Record<string, number>> = {
  finished: 0,
  failed: 1,
  invalid: 2,
  unknown: 6,
  unreachable: 7,
  lost: 7,
  running: 8,
  waiting: 8,
};

/** The exit code of several rows, as the table of exit codes has it. */
function exitOf(rows: readonly (Known & { exit?: number })[], isComplete: boolean): number {
  const exits = rows.map(({ word, exit }) => (word === 'rejected' ? (exit ?? 5) : (EXITS[word] ?? 70)));
  if (!isComplete) exits.push(8);
  const first = [6, 4, 7, 8].find((code) => exits.includes(code));
  return first ?? (new Set(exits).size > 1 ? 3 : (exits[0] ?? 0));
}

const HEAD = { event: 'batch', format: 3, workflow: 'w', baseUrl: 'http://127.0.0.1:1/', shard: '1/1' };

describe('one record of a run', () => {
  test('results: summary, exit code, every format and every report agree, whatever happened to the rows', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aHistory, { minLength: 1, maxLength: 5 }), async (histories) => {
        const played = histories.map((history, index) => play(index + 1, history));
        const lines = [
          HEAD,
          ...played.flatMap((row) => row.lines),
          { event: 'table', rows: histories.length },
        ];
        const cwd = folderWith({ 'out.jsonl': lines.map((line) => `${JSON.stringify(line)}\n`).join('') });
        const run = (...args: string[]) => runCli(['results', 'out.jsonl', ...args], { cwd });
        const begun = played.filter(({ isBegun }) => isBegun);
        const known = begun.map((row) => row.known);
        const words = known.map(({ word }) => word);

        const reports = ['json=r.json', 'junit=r.xml', 'markdown=r.md'].flatMap((kind) => ['--report', kind]);
        const text = await run(...reports);
        if (begun.length < histories.length) {
          expect(text.exitCode).toBe(2);
          return;
        }
        const exit = exitOf(known, true);
        expect(text.exitCode).toBe(exit);
        for (const word of new Set(words))
          expect(text.stdout).toContain(`${words.filter((other) => other === word).length} ${word}`);

        const { rows, counts, exitCode } = JSON.parse((await run('-o', 'json')).stdout);
        expect(exitCode).toBe(exit);
        const asKnown = ({ outcome, id, message: reason }: Record<string, string | null>) => ({
          word: outcome,
          id,
          message: reason,
        });
        const expected = known.map(({ word, id, message: reason }) => ({ word, id, message: reason }));
        expect(rows.map(asKnown)).toEqual(expected);
        expect(Object.values(counts as Record<string, number>).reduce((a, b) => a + b, 0)).toBe(known.length);
        const jsonl = (await run('-o', 'jsonl')).stdout.trimEnd().split('\n');
        expect(jsonl.map((line) => asKnown(JSON.parse(line)))).toEqual(expected);
        const csv = parse((await run('-o', 'csv')).stdout, { columns: true });
        expect((csv as Record<string, string>[]).map(({ outcome, id }) => [outcome, id])).toEqual(
          known.map(({ word, id }) => [word, id ?? '']),
        );
        expect((await run('-o', 'id')).stdout).toBe(known.map(({ id }) => (id ? `${id}\n` : '')).join(''));

        const report = JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8'));
        expect(report.exitCode).toBe(exit);
        expect(report.runs.map(({ outcome, id }: Record<string, unknown>) => [outcome, id])).toEqual(
          known.map(({ word, id }) => [word, id]),
        );
        const junit = readFileSync(join(cwd, 'r.xml'), 'utf8');
        const types = [...junit.matchAll(/<testcase [^>]*?(?:\/>|>\s*<(?:failure|error) type="([^"]*)")/g)];
        expect(types.map(([, type = 'finished']) => type)).toEqual(words);
        const markdown = readFileSync(join(cwd, 'r.md'), 'utf8').trimEnd().split('\n').slice(2);
        expect(markdown.map((line) => line.split(' | ')[2])).toEqual(words);
      }),
      { examples: [[[UNKNOWN_BEFORE_AND_AFTER_A_RUN]]] },
    );
  });
});

/** Starts a service that answers each trigger with the next of `answers`, and finishes the runs that it accepted. */
async function prepare(answers: Handler[], run: Record<string, unknown> = aFinishedRun()) {
  const service = await scriptedService(async (request, reply) => {
    if (request.method === 'GET') return reply.send(200, { ...run, id: request.path.split('/').at(-1) });
    const answer = answers.shift();
    if (answer !== undefined) return answer(request, reply);
    await request.body();
    reply.send(201, aRun({ id: `run-${service.posts().length}` }));
  });
  const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
  const env = { WFR_BASE_URL: service.baseUrl };
  const batch = (...args: string[]) =>
    runCli([...BATCH_ARGS, ...args], { cwd, env, clock: new VirtualClock() });
  const reports = ['--report', 'json=r.json', '--report', 'junit=r.xml'];
  const reported = () => {
    const { runs, exitCode } = JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8'));
    return { ...runs[0], exitCode, junit: readFileSync(join(cwd, 'r.xml'), 'utf8') };
  };
  return { service, cwd, env, batch, reports, reported };
}

const lose: Handler = async (request, reply) => {
  await request.body();
  reply.reset();
};
const tooMany: Handler = async (request, reply) => {
  await request.body();
  reply.send(429, { message: 'slow down' }, { 'Retry-After': '3600' });
};

describe('a row that is sent again in vain', () => {
  test('batch: an unknown row whose re-send meets a 429 is unknown in summary, code, results and reports (fault 118)', async () => {
    const { batch, reports, reported, cwd, env } = await prepare([lose, tooMany]);
    expect((await batch()).exitCode).toBe(6);
    const again = await batch('--resend-unknown', ...reports);
    expect(again.exitCode).toBe(6);
    expect(again.stderr).toContain('1 row: 1 unknown');
    expect(reported()).toMatchObject({ outcome: 'unknown', exitCode: 6 });
    expect(reported().junit).toContain('<error type="unknown"');
    const results = await runCli(['results', 'out.jsonl', '-o', 'jsonl'], { cwd, env });
    expect(results.exitCode).toBe(6);
    expect(JSON.parse(results.stdout).outcome).toBe('unknown');
  });

  test('batch: --retry-failed that meets a 429 leaves the run of the row in every report', async () => {
    const run = aRun({ status: 'FAILED', error: { message: 'no credit', step: 'Check' } });
    const answers: Handler[] = [];
    const { batch, reports, reported } = await prepare(answers, run);
    expect((await batch()).exitCode).toBe(1);
    answers.push(tooMany);
    await batch('--retry-failed', ...reports);
    expect(reported()).toMatchObject({ outcome: 'failed', id: 'run-1', error: null });
    expect(reported().junit).toContain('<failure type="failed"');
  });
});

describe('a refusal that was seen', () => {
  test('run --once: after a 429 and a kill while it waits, the same command sends (fault 119)', async () => {
    const cwd = temporaryFolder();
    let posts = 0;
    const service = await scriptedService(async (request, reply) => {
      if (request.method === 'GET') return reply.send(200, { ...aFinishedRun(), id: 'run-1' });
      // The file as a process leaves it that is killed while it waits.
      if (++posts === 2) copyFileSync(join(cwd, 'a.once'), join(cwd, 'killed.once'));
      await request.body();
      if (posts === 1) return reply.send(429, {}, { 'Retry-After': '2' });
      reply.send(201, aRun({ id: 'run-1' }));
    });
    const options = { cwd, env: { WFR_BASE_URL: service.baseUrl }, clock: new VirtualClock() };
    const once = (file: string) => runCli(['run', 'w', 'a=1', '--once', file], options);
    expect((await once('a.once')).exitCode).toBe(0);
    const names = eventNamesByRow(join(cwd, 'killed.once'))[1];
    expect(names?.slice(0, 3)).toEqual(['intent', 'sent', 'refused']);
    // Whether the second request was recorded as sent depends on the moment.
    const text = readFileSync(join(cwd, 'killed.once'), 'utf8').split('\n');
    writeFileSync(
      join(cwd, 'killed.once'),
      `${text.slice(0, text.findIndex((line) => line.includes('"refused"')) + 1).join('\n')}\n`,
    );
    expect((await once('killed.once')).exitCode).toBe(0);
    expect(posts).toBe(3);
  });

  test('batch: a 422 about the field, then a stop before the next spelling, leaves the row waiting, and results exits 8', async () => {
    const signals = new Signals();
    let posts = 0;
    const service = await scriptedService(async (request, reply) => {
      if (request.method === 'GET') return reply.send(200, { ...aFinishedRun(), id: 'run-1' });
      await request.body();
      if (++posts > 1) return reply.send(201, aRun({ id: 'run-1' }));
      reply.send(422, { message: 'unknown field workflowId' });
      signals.raise('SIGTERM');
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    const env = { WFR_BASE_URL: service.baseUrl };
    const first = await runCli(BATCH_ARGS, { cwd, env, signals });
    expect(first.exitCode).toBe(143);
    expect(first.stderr).not.toContain('unknown');
    const results = await runCli(['results', 'out.jsonl', '--json'], { cwd, env });
    expect(results).toMatchObject({ exitCode: 8, stderr: expect.stringContaining('"code":"still-running"') });
    expect((await runCli(BATCH_ARGS, { cwd, env })).exitCode).toBe(0);
  });
});

describe('results of other files than those of a whole batch', () => {
  test('results: a file of run --once names the commands of run, and why its outcome is unknown', async () => {
    const { once, state, wfr } = await prepareOnce();
    state.answers = [lose];
    expect((await once()).exitCode).toBe(6);
    const { stdout } = await wfr(['results', 'my.once']);
    expect(stdout).toContain('was lost');
    expect(stdout).toContain('add --adopt <id> to the wfr run command.');
    expect(stdout).not.toContain('wfr batch');
  });

  test('results: a table that a quote cuts short exits as its batch did, and leaves the number of its rows', async () => {
    const { service, cwd, env } = await prepare([]);
    const args = ['batch', 'w', '--rows', 'rows.csv', '--results', 'out.jsonl'];
    const batch = (text: string) => {
      writeFileSync(join(cwd, 'rows.csv'), text);
      return runCli(args, { cwd, env });
    };
    await batch('scan@\nnone.pdf\nneither.pdf\n');
    const { exitCode } = await batch('scan@\n"none.pdf\n');
    expect({ exitCode, posts: service.posts() }).toEqual({ exitCode: 2, posts: [] });
    const results = await runCli(['results', 'out.jsonl'], { cwd, env });
    expect(results.exitCode).toBe(exitCode);
    expect(results.stdout).toMatch(/^2 rows: 2 invalid\n/);
    expect(results.stdout).not.toContain('number of rows is unknown');
  });

  test('results: the file of one shard prints its rows, and says which shard is missing', async () => {
    const lines = [
      { ...HEAD, shard: '1/2' },
      ...play(1, [[{ event: 'attempt', ends: 'accepted', id: 'r-abc', message: '' }, undefined]]).lines,
      { event: 'table', rows: 2 },
    ];
    const cwd = folderWith({ 'out.jsonl': lines.map((line) => `${JSON.stringify(line)}\n`).join('') });
    for (const format of ['json', 'jsonl', 'csv', 'id']) {
      const { stdout, stderr, exitCode } = await runCli(['results', 'out.jsonl', '-o', format], { cwd });
      expect(stdout).toContain('r-abc');
      expect(stderr).toContain('no file of shard 2/2');
      expect(exitCode).toBe(2);
    }
  });
});
