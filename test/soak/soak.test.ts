/** Many invocations against a chaotic service. */
import { expect, test } from 'vitest';
import { effort, SOAK_SEED } from '../helpers/effort.js';
import { soak } from './soak.js';

test('run: many invocations against a chaotic service report nothing that its record contradicts', async () => {
  const { violations, runsCreated } = await soak(SOAK_SEED, effort(200, 5_000));
  expect(violations).toEqual([]);
  expect(runsCreated).toBeGreaterThan(effort(50, 1_500));
});
