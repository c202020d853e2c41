/** A short soak run, for every run of the tests. */
import { expect, test } from 'vitest';
import { soak } from './soak.js';

test('run: 150 invocations against a chaotic service report nothing that its record contradicts', async () => {
  const { violations, runsCreated } = await soak(1, 150);
  expect(violations).toEqual([]);
  expect(runsCreated).toBeGreaterThan(50);
});
