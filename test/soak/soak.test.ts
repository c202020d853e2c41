import { expect, test } from 'vitest';
import { soak } from './soak.js';

test('150 invocations against a service that breaks everything: nothing is said that its record contradicts', async () => {
  const { violations, runsCreated } = await soak(1, 150);
  expect(violations).toEqual([]);
  expect(runsCreated).toBeGreaterThan(50);
});
