/** A short fuzz, for every run of the tests. */
import { expect, test } from 'vitest';
import { fuzzResponses, fuzzResultsFiles } from './fuzz.js';

test('all commands: 100 mutated responses cause no exit 70, no control byte and no secret in any stream or file', async () => {
  expect((await fuzzResponses(1, 100)).violations).toEqual([]);
});

test('batch and results: 40 mutated results files cause no exit 70, no control byte and no secret', async () => {
  expect((await fuzzResultsFiles(1, 40)).violations).toEqual([]);
});
