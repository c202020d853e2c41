/** Commands that are killed, or started in pairs. */
import { expect, test } from 'vitest';
import { effort, SOAK_SEED } from '../helpers/effort.js';
import { killOnce, measure, openSoak, pairOnce } from './kill-once.js';
import { Random } from './random.js';

test('run --once: commands that are killed at random times trigger one run, or exit 6 (fault 97)', async () => {
  const soak = await openSoak();
  const duration = await measure(soak);
  const random = new Random(4 + SOAK_SEED);
  for (let n = 1; n <= effort(3, 150); n++) {
    const { exitCode, violations } = await killOnce(soak, n, duration, random);
    expect(violations).toEqual([]);
    expect([0, 6]).toContain(exitCode);
  }
});

test('run --once: two commands that are started together trigger one run, and both print it', async () => {
  const soak = await openSoak();
  for (let n = 1; n <= effort(3, 100); n++) expect(await pairOnce(soak, n, (10 * (n - 1)) % 60)).toEqual([]);
});
