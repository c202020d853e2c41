/** `npm run soak`: SOAK_KILLS (300) SIGKILLs and SOAK_PAIRS (100) pairs of `wfr run --once`, from SEED (1). */
import { expect, test } from 'vitest';
import { type KilledFile, killOnce, measure, openSoak, pairOnce } from './kill-once.js';
import { Random } from './random.js';

const KILLS = Number(process.env.SOAK_KILLS ?? 300);
const PAIRS = Number(process.env.SOAK_PAIRS ?? 100);
const SEED = Number(process.env.SEED ?? 1);

test(`run --once: over ${KILLS} SIGKILLs, each file has one trigger or exits 6`, {
  timeout: 1_800_000,
}, async () => {
  const soak = await openSoak();
  const duration = await measure(soak);
  const random = new Random(SEED);
  const files: KilledFile[] = [];
  const kills = () => files.flatMap(({ killedAfter }) => killedAfter);
  for (let n = 1; kills().length < KILLS; n++) files.push(await killOnce(soak, n, duration, random));
  const counts = new Map<string, number>();
  for (const event of kills()) counts.set(event, (counts.get(event) ?? 0) + 1);
  const unknown = files.filter(({ exitCode }) => exitCode === 6).length;
  console.log(`${kills().length} kills of ${files.length} files, ${unknown} unknown; killed after:`, counts);
  expect(files.flatMap(({ violations }) => violations)).toEqual([]);
});

test(`run --once: of ${PAIRS} pairs that are started together, each triggers one run`, {
  timeout: 1_800_000,
}, async () => {
  const soak = await openSoak();
  const random = new Random(SEED);
  const violations: string[] = [];
  for (let n = 1; n <= PAIRS; n++) violations.push(...(await pairOnce(soak, n, random.below(60))));
  console.log(`${PAIRS} pairs, ${soak.triggered.size} files triggered, ${violations.length} violations`);
  expect(violations).toEqual([]);
});
