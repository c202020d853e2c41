/** How much the tests repeat: an eighth while somebody waits for them, and all of it with THOROUGH=1, as once in .ci/run. */

const IS_THOROUGH = process.env.THOROUGH === '1';

/** Returns how often to repeat what a thorough run does `full` times, at least once. */
export function effort(full: number): number {
  return IS_THOROUGH ? full : Math.ceil(full / 8);
}
