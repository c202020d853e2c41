/** Pairs of processes for each path to a results file; in a soak, the first of some is killed or stalled. */
import { expect, test } from 'vitest';
import { effort, IS_SOAK, SOAK_SEED } from '../helpers/effort.js';
import { LACKS } from '../helpers/system.js';
import { type AccessPath, canBindMount, runPair } from './pair-batch.js';

const ways: AccessPath[] = [
  'same path',
  ...(LACKS.symlinks ? [] : (['symbolic link'] as const)),
  'hard link',
  ...(canBindMount() ? (['bind mount'] as const) : []),
  ...(canBindMount() && IS_SOAK ? (['container'] as const) : []),
];

test.each(ways)(
  'batch: two processes on one results file, the second through the %s, trigger no row twice',
  async (way) => {
    for (let n = 0; n < effort(1, 20); n++) {
      const isStalled = way === 'container' && n % 4 >= 2;
      const fate = isStalled ? 'stalled' : n % 4 === 1 ? 'killed' : 'works';
      const { exits, violations } = await runPair(way, fate, SOAK_SEED + n);
      expect(violations).toEqual([]);
      // The second may come only when the first has ended.
      if (fate === 'works') expect(['0,0', '0,2']).toContain(String(exits.toSorted()));
    }
  },
);
