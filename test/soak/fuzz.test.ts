/** A short fuzz, for every run of the tests. */
import { expect, test } from 'vitest';
import { effort } from '../helpers/effort.js';
import { fuzzResponses, fuzzResultsFiles } from './fuzz.js';

test('all commands: mutated responses cause no exit 70, no control byte and no secret in any stream or file', async () => {
  expect((await fuzzResponses(1, effort(100))).violations).toEqual([]);
});

test('batch and results: mutated results files cause no exit 70, no control byte and no secret', async () => {
  expect((await fuzzResultsFiles(1, effort(40))).violations).toEqual([]);
});
