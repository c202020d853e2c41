/** `npm run soak`: SOAK_INVOCATIONS (5,000) from SOAK_SEED (1), with a table of the faults and exit codes. */
import { expect, test } from 'vitest';
import { soak } from './soak.js';

const seed = Number(process.env.SOAK_SEED ?? 1);
const invocations = Number(process.env.SOAK_INVOCATIONS ?? 5_000);

test(`run: ${invocations} invocations from seed ${seed} report nothing that the service's record contradicts`, {
  timeout: 3_600_000,
}, async () => {
  const { violations, runsCreated, runsBehind429, faults, exits } = await soak(seed, invocations);
  const rows = (map: Map<string | number, number>) =>
    [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, n]) => `${String(n).padStart(6)}  ${key}`);
  process.stdout.write(
    `\nfaults of triggers\n${rows(faults).join('\n')}\n\nexit codes\n${rows(exits).join('\n')}\n`,
  );
  process.stdout.write(
    `\ninvocations ${invocations}, runs created ${runsCreated} (${runsBehind429} before a 429), violations ${violations.length}\n`,
  );
  expect(violations).toEqual([]);
});
