/**
 * How much the tests repeat: an eighth while somebody waits for them, all of it with THOROUGH=1, as once in .ci/run, and many
 * times as much in `npm run soak`, from SOAK_SEED.
 */

const IS_THOROUGH = process.env.THOROUGH === '1';
export const IS_SOAK = process.env.SOAK === '1';
export const SOAK_SEED = Number(process.env.SOAK_SEED ?? 1);

/** Returns how often to repeat what a thorough run does `full` times, at least once, and a soak `soak` times. */
export function effort(full: number, soak = full): number {
  if (IS_SOAK) return soak;
  return IS_THOROUGH ? full : Math.ceil(full / 8);
}
