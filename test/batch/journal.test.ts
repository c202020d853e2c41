/** The lines of a results file: invalid ones, and those of other versions of wfr. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BATCH_ARGS, numberedRows, prepareBatch, readEvents, startBatchService } from '../helpers/batch.js';
import { CLOSED_URL } from '../helpers/closed-port.js';
import { startTimer } from '../helpers/elapsed.js';
import { folderWith } from '../helpers/files.js';

describe('the lines of a results file', () => {
  const HEAD =
    '{"event":"batch","format":3,"workflow":"w","baseUrl":"http://127.0.0.1:1/","shard":"1/1","time":"2026-01-02T03:04:05.000Z"}';

  test.each([
    ['{"event":"sent","row":1e9}', '"row" of the event "sent" is invalid'],
    ['{"event":"sent","row":0}', '"row" of the event "sent" is invalid'],
    ['{"event":"sent"}', '"row" of the event "sent" is invalid'],
    ['{"event":"table","rows":1,"time":"x"}', '"time" of the event "table" is invalid'],
    ['{"event":"table","rows":1e15}', '"rows" of the event "table" is invalid'],
    ['{"event":"recorded","row":1,"key":"xyz"}', '"key" of the event "recorded" is invalid'],
    [
      '{"event":"present","rows":[[1,3],[3,4]],"table":"0123456789abcdef0123456789abcdef"}',
      '"rows" of the event "present" is invalid',
    ],
    [
      '{"event":"intent","row":1,"digest":"0123456789abcdef","inputs":["a",1]}',
      '"inputs" of the event "intent" is invalid',
    ],
    ['{"event":"accepted","row":1,"id":7}', '"id" of the event "accepted" is invalid'],
    ['{"event":"refused","row":1,"code":"x","reason":"r"}', '"code" of the event "refused" is invalid'],
    ['{"event":"ended","row":1,"run":5}', '"run" of the event "ended" is invalid'],
    ['{"event":"ended","row":1}', '"run" of the event "ended" is invalid'],
    ['{"event":"open","owner":"me","file":"1:2"}', '"owner" of the event "open" is invalid'],
    [
      '{"event":"batch","format":3,"workflow":"w","baseUrl":1,"shard":"1/1"}',
      '"baseUrl" of the event "batch" is invalid',
    ],
    [
      '{"event":"batch","format":3,"workflow":"w","baseUrl":"u","shard":"x"}',
      '"shard" of the event "batch" is invalid',
    ],
    ['{"event":"sent","row":1,"time":"soon"}', '"time" of the event "sent" is invalid'],
    ['{"row":1}', 'is not a line of a results file'],
    ['[]', 'is not a line of a results file'],
  ])('results and batch: the line %s exits 2 with its line number and the reason', async (line, reason) => {
    const { requests, wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1), 'out.jsonl': `${HEAD}\n${line}\n` });
    const read = await wfr(['results', 'out.jsonl'], { cwd });
    expect(read).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`out.jsonl:2: ${reason}`) });
    const env = { WFR_BASE_URL: CLOSED_URL };
    const sent = await wfr(BATCH_ARGS, { cwd, env });
    expect(sent).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`out.jsonl:2: ${reason}`) });
    expect(requests).toEqual([]);
  });

  test('batch: a results file that has lost its "batch" line exits 2, and nothing is sent again', async () => {
    const { cwd, path, wfr, posts } = await prepareBatch(1);
    await wfr(BATCH_ARGS, { cwd });
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^\{"event":"batch".*\n/m, ''));
    const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd });
    expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 2, posts: 1 });
    expect(stderr).toContain('out.jsonl: has rows before its "batch" line');
  });

  test('results: an event of a newer wfr is ignored, whatever its members', async () => {
    const { wfr } = await startBatchService();
    const cwd = folderWith({ 'rows.jsonl': numberedRows(1) });
    await wfr(BATCH_ARGS, { cwd });
    appendFileSync(join(cwd, 'out.jsonl'), '{"event":"renumbered","row":1e9,"to":{}}\n');
    expect(await wfr(['results', 'out.jsonl'], { cwd })).toMatchObject({ exitCode: 0 });
    expect((await wfr([...BATCH_ARGS, '--report', 'json=r.json'], { cwd })).exitCode).toBe(0);
  });

  test('results: the largest row number is read within 3 s', async () => {
    const { wfr } = await startBatchService();
    const row = '{"event":"sent","row":100000000,"time":"2026-01-02"}\n{"event":"table","rows":100000000}\n';
    const cwd = folderWith({ 'out.jsonl': `${HEAD}\n${row}` });
    const elapsed = startTimer();
    const { stderr, exitCode } = await wfr(['results', 'out.jsonl'], { cwd });
    expect(stderr).toMatch(/^wfr: error: 99999999 of 100000000 rows are missing: /);
    expect(exitCode).toBe(2);
    expect(elapsed()).toBeLessThan(3_000);
  });

  test('batch: a results file of an earlier version, without owners, is continued', async () => {
    const { cwd, path, wfr, posts } = await prepareBatch(2);
    await wfr(BATCH_ARGS, { cwd });
    const old = readEvents(path).filter(({ event }) => event !== 'open' && event !== 'close');
    const withoutOwner = old.map((event) => JSON.stringify({ ...event, by: undefined }));
    writeFileSync(path, `${withoutOwner.join('\n')}\n`);
    const { exitCode, stderr } = await wfr(BATCH_ARGS, { cwd });
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(
      /^2 rows: 2 finished; no run triggered now; took \S+\nTo save the outputs: wfr results out\.jsonl --rows rows\.jsonl -o csv --excel > out\.results\.csv\n$/,
    );
    expect(posts()).toHaveLength(2);
  });
});
