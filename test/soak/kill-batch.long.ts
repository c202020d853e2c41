/** `npm run soak`: a large batch that is killed 200 times; SEED selects the times. */
import { expect, test } from 'vitest';
import { findViolations, killBatch } from './kill-batch.js';

test('batch: over 200 SIGKILLs, each of 2,000 rows is triggered once or listed as unknown', {
  timeout: 600_000,
}, async () => {
  const killed = await killBatch(2_000, 200, [1, 40], Number(process.env.SEED ?? 1));
  console.log(`${killed.kills} kills, ${killed.unknown.length} rows unknown, exit ${killed.exitCode}`);
  expect(findViolations(killed, 2_000)).toEqual([]);
});
