/** `npm run soak`: FUZZ_RESPONSES (2,000) and FUZZ_FILES (500) from FUZZ_SEED (1), with a table of the exit codes. */
import { expect, test } from 'vitest';
import { type FuzzResult, fuzzResponses, fuzzResultsFiles } from './fuzz.js';

const seed = Number(process.env.FUZZ_SEED ?? 1);
const responses = Number(process.env.FUZZ_RESPONSES ?? 2_000);
const files = Number(process.env.FUZZ_FILES ?? 500);

function print(name: string, { exits, violations }: FuzzResult): void {
  const rows = [...exits]
    .sort(([a], [b]) => a - b)
    .map(([code, n]) => `${String(n).padStart(6)}  exit ${code}`);
  process.stdout.write(`\n${name}: ${violations.length} violations\n${rows.join('\n')}\n`);
}

test(`all commands: ${responses} mutated responses from seed ${seed} cause no exit 70, no control byte and no secret`, {
  timeout: 3_600_000,
}, async () => {
  const result = await fuzzResponses(seed, responses);
  print('mutated responses', result);
  expect(result.violations).toEqual([]);
});

test(`batch and results: ${files} mutated results files from seed ${seed} cause no exit 70, no control byte and no secret`, {
  timeout: 3_600_000,
}, async () => {
  const result = await fuzzResultsFiles(seed, files);
  print('mutated results files', result);
  expect(result.violations).toEqual([]);
});
