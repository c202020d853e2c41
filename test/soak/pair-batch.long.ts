/** `npm run soak`: SOAK_PAIRS (100) pairs of processes on one batch from SEED (1). */
import { expect, test } from 'vitest';
import { type AccessPath, canBindMount, type Pair, runPair } from './pair-batch.js';

const PAIRS = Number(process.env.SOAK_PAIRS ?? 100);
const AT_ONCE = 3;
const LINKS: AccessPath[] = ['same path', 'symbolic link', 'hard link'];
const MOUNTS: AccessPath[] = ['bind mount', 'container'];

test(`batch: ${PAIRS} pairs of processes on one results file trigger no row twice`, {
  timeout: 1_800_000,
}, async () => {
  const ways = canBindMount() ? [...LINKS, ...MOUNTS] : LINKS;
  const seed = Number(process.env.SEED ?? 1);
  const pairs: Pair[] = [];
  let next = 0;
  const work = async () => {
    while (next < PAIRS) {
      const number = next++;
      const way = ways[number % ways.length] ?? 'same path';
      const turn = Math.floor(number / ways.length) % 4;
      const isStalled = way === 'container' && turn >= 2;
      const fate = isStalled ? 'stalled' : turn === 1 ? 'killed' : 'works';
      pairs.push(await runPair(way, fate, seed + number));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const counts = new Map<string, number>();
  for (const { accessPath, fate, exits } of pairs) {
    const what = `${accessPath}, first ${fate}: exits ${exits.join(' and ')}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  for (const [what, count] of [...counts].sort()) console.log(`${String(count).padStart(4)}  ${what}`);
  expect(pairs.flatMap(({ violations }) => violations)).toEqual([]);
});
