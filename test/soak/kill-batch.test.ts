/** A batch that is killed; a soak has 2,500 rows and 200 kills. */
import { expect, test } from 'vitest';
import { effort, IS_SOAK, SOAK_SEED } from '../helpers/effort.js';
import { findViolations, killBatch } from './kill-batch.js';

test('batch: a batch that is killed again and again triggers no row twice and loses none', async () => {
  const rows = IS_SOAK ? 2_500 : 120;
  const killed = await killBatch(rows, effort(5, 200), [1, 40], 6 + SOAK_SEED);
  expect(findViolations(killed, rows)).toEqual([]);
  expect(killed.kills).toBe(effort(5, 200));
});
