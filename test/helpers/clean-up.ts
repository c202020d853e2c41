/** What helpers clean up after each test file: their modules serve all files of a worker. */

const cleanUps: (() => void)[] = [];

/** Calls `cleanUp` after each test file from now on. */
export function afterEachFile(cleanUp: () => void): void {
  cleanUps.push(cleanUp);
}

/** Cleans up after a test file, in the reverse order of `afterEachFile`. */
export function cleanUp(): void {
  for (const run of cleanUps.toReversed()) run();
}
