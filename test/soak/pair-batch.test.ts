/** One pair of processes for each path to a results file, for every run of the tests. */
import { expect, test } from 'vitest';
import { LACKS } from '../helpers/system.js';
import { type AccessPath, canBindMount, runPair } from './pair-batch.js';

const ways: AccessPath[] = [
  'same path',
  ...(LACKS.symlinks ? [] : (['symbolic link'] as const)),
  'hard link',
  ...(canBindMount() ? (['bind mount'] as const) : []),
];

test.each(ways)(
  'batch: two processes on one results file, the second through the %s, trigger no row twice',
  async (way) => {
    const { exits, violations } = await runPair(way, 'works', 1);
    expect(violations).toEqual([]);
    // The second may come only when the first has ended.
    expect([
      [0, 0],
      [0, 2],
    ]).toContainEqual(exits.toSorted());
  },
);
