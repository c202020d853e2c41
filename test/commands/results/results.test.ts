/** `wfr results`: the summary of a results file. */
import { describe, expect, test } from 'vitest';
import { startBatchService } from '../../helpers/batch.js';
import { folderWith } from '../../helpers/files.js';

describe('results', () => {
  test('results: the summary names the steps at which most rows failed, and counts the others', async () => {
    const { wfr } = await startBatchService();
    const ended = Array.from({ length: 1_500 }, (_, n) => {
      const step = n < 300 ? 'Read' : `Step ${n}`;
      const row = n + 1;
      const run = { id: `run-${row}`, status: 'FAILED', error: { step, message: 'no' } };
      return [
        { event: 'intent', row, digest: '0123456789abcdef' },
        { event: 'ended', row, run },
      ];
    });
    const head = { event: 'batch', workflow: 'w', baseUrl: 'http://127.0.0.1:1/', shard: '1/1' };
    const events = [head, ...ended.flat(), { event: 'table', rows: 1_500 }];
    const cwd = folderWith({ 'out.jsonl': events.map((event) => `${JSON.stringify(event)}\n`).join('') });
    const { stdout, exitCode } = await wfr(['results', 'out.jsonl'], { cwd });
    expect(exitCode).toBe(1);
    expect(stdout).toContain('Failed at step Read: 300\n  Failed at step (other steps): 201\n');
    expect(stdout).toContain('  Failed at 991 more steps; see the results file\n');
  });
});
