/** A short run of killed batches, for every run of the tests. */
import { expect, test } from 'vitest';
import { findViolations, killBatch } from './kill-batch.js';

test('batch: a batch that is killed five times triggers no row twice and loses none', async () => {
  const killed = await killBatch(120, 5, [1, 40], 7);
  expect(findViolations(killed, 120)).toEqual([]);
  expect(killed.kills).toBe(5);
});
