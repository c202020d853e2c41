/** Mutated responses and results files. */
import { expect, test } from 'vitest';
import { effort, SOAK_SEED } from '../helpers/effort.js';
import { fuzzResponses, fuzzResultsFiles } from './fuzz.js';

test('all commands: mutated responses cause no exit 70, no control byte and no secret in any stream or file', async () => {
  expect((await fuzzResponses(SOAK_SEED, effort(100, 2_000))).violations).toEqual([]);
});

test('batch and results: mutated results files cause no exit 70, no control byte and no secret', async () => {
  expect((await fuzzResultsFiles(SOAK_SEED, effort(40, 500))).violations).toEqual([]);
});
