/** A short run of killed batches, for every run of the tests. */
import { expect, test } from 'vitest';
import { effort } from '../helpers/effort.js';
import { findViolations, killBatch } from './kill-batch.js';

test('batch: a batch that is killed again and again triggers no row twice and loses none', async () => {
  const killed = await killBatch(120, effort(5), [1, 40], 7);
  expect(findViolations(killed, 120)).toEqual([]);
  expect(killed.kills).toBe(effort(5));
});
