/** A short soak run, for every run of the tests. */
import { expect, test } from 'vitest';
import { effort } from '../helpers/effort.js';
import { soak } from './soak.js';

test('run: many invocations against a chaotic service report nothing that its record contradicts', async () => {
  const { violations, runsCreated } = await soak(1, effort(150));
  expect(violations).toEqual([]);
  expect(runsCreated).toBeGreaterThan(effort(50));
});
