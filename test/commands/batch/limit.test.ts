/** `wfr batch --limit`: the first rows of a table, and the others wait. */
import { describe, expect, test } from 'vitest';
import { BATCH_ARGS, numberedRows, prepareBatch, startBatchService } from '../../helpers/batch.js';
import { folderWith } from '../../helpers/files.js';

const ns = (triggered: readonly unknown[]) =>
  triggered.map((inputs) => (inputs as { n: number }).n).sort((a, b) => a - b);

describe('batch --limit', () => {
  test('batch --limit: only the first rows are sent, the rest is waiting, and touches no exit code', async () => {
    const { wfr, cwd, triggered } = await prepareBatch(60);
    const { exitCode, stderr } = await wfr([...BATCH_ARGS, '--limit', '5'], { cwd });
    expect(exitCode).toBe(0);
    expect(ns(triggered)).toEqual([1, 2, 3, 4, 5]);
    expect(stderr).toContain('60 rows: 5 finished, 55 waiting; took ');
    expect(stderr).toMatch(
      /To send the waiting rows: wfr batch w --rows rows.jsonl --results out.jsonl --rate 0\nTo save the outputs: wfr results out\.jsonl --rows rows\.jsonl -o csv --excel > out\.results\.csv\n$/,
    );
    const results = await wfr(['results', 'out.jsonl'], { cwd });
    expect(results.exitCode).toBe(0);
    expect(results.stdout).toContain('60 rows: 5 finished, 55 waiting');
    expect(results.stdout).toMatch(
      /\nTo send the waiting rows, run the wfr batch command without --limit\.\nTo list the outputs: .*\nTo list the rest alone, add --only unfinished\.\nTo save the outputs: .*\n$/,
    );
  });

  test('batch --limit: a live line estimates the time until the last row that may be sent', async () => {
    const { cwd, wfr } = await prepareBatch(50);
    const { stderr } = await wfr([...BATCH_ARGS, '--limit', '6', '--concurrency', '1'], {
      cwd,
      terminal: 100,
      env: { TERM: 'xterm', NO_COLOR: '1' },
    });
    const estimates = stderr.match(/(?<=~)\d+s(?= left)/g) ?? [];
    expect(estimates).toContain('8s');
    // The other 44 rows would take three minutes.
    expect(Math.max(...estimates.map(Number.parseFloat))).toBeLessThan(20);
  });

  test('results: rows that are still running, of a batch without --limit, are continued by the same command', async () => {
    const { wfr, cwd } = await prepareBatch(2);
    expect((await wfr([...BATCH_ARGS, '--timeout', '0'], { cwd })).exitCode).toBe(8);
    const { exitCode, stdout } = await wfr(['results', 'out.jsonl'], { cwd });
    expect(exitCode).toBe(8);
    expect(stdout).toMatch(
      /\nTo continue, run the wfr batch command again\.\nTo list the rows: .*\nTo save the rows: wfr results out\.jsonl -o csv --excel > out\.results\.csv\n$/,
    );
  });

  test('batch --limit: the same command sends the next rows, and without the flag all of them', async () => {
    const { wfr, cwd, triggered } = await prepareBatch(12);
    for (const count of [5, 10]) {
      expect((await wfr([...BATCH_ARGS, '--limit', '5'], { cwd })).exitCode).toBe(0);
      expect(triggered).toHaveLength(count);
    }
    const rest = await wfr([...BATCH_ARGS, '--limit=5'], { cwd });
    expect(rest.stderr).toContain('12 rows: 12 finished');
    expect(rest.stderr).not.toContain('--limit');
    expect(ns(triggered)).toEqual(ns(Array.from({ length: 12 }, (_, n) => ({ n: n + 1 }))));
    expect((await wfr(['results', 'out.jsonl'], { cwd })).exitCode).toBe(0);
  });

  test('batch --limit: an invalid row is not one of those that are sent', async () => {
    const { wfr, triggered } = await startBatchService();
    const invalid = '{"d":{"$document":"none.pdf"}}\n'.repeat(3);
    const cwd = folderWith({ 'rows.jsonl': invalid + numberedRows(9) });
    const { exitCode, stderr } = await wfr([...BATCH_ARGS, '--limit', '2'], { cwd });
    expect(exitCode).toBe(3);
    expect(ns(triggered)).toEqual([1, 2]);
    expect(stderr).toContain('12 rows: 2 finished, 3 invalid, 7 waiting');
    expect((await wfr(['results', 'out.jsonl'], { cwd })).exitCode).toBe(3);
  });

  test('batch --limit: retries and resends do not count', async () => {
    let answers = 0;
    const service = await startBatchService((_request, reply) => {
      answers++;
      if (answers <= 2) return reply.send(422, { message: 'no' });
      return reply.send(201, { id: `run-${answers}`, status: 'FINISHED', output: {} });
    });
    const cwd = folderWith({ 'rows.jsonl': numberedRows(9) });
    const pinned = [...BATCH_ARGS, '--workflow-id-field', 'workflowId', '--limit', '2'];
    expect((await service.wfr(pinned, { cwd })).exitCode).toBe(5);
    const { exitCode, stderr } = await service.wfr([...pinned, '--retry-failed'], { cwd });
    expect(stderr).toContain('9 rows: 4 finished, 5 waiting');
    expect({ exitCode, posts: service.posts().length }).toEqual({ exitCode: 0, posts: 6 });
  });

  test('batch --limit: expects a whole number from 1', async () => {
    const { wfr, cwd } = await prepareBatch(1);
    const { exitCode, stderr } = await wfr([...BATCH_ARGS, '--limit', '0'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--limit 0: expected a whole number from 1');
  });
});
