/** Finds the name that somebody meant, for "did you mean …?". */

/** More differences than these are another name. */
const MAX_DISTANCE = 3;
/** A longer text is not a typo; comparing it would take long. */
const MAX_LENGTH = 200;

/** Returns the candidate with the fewest typos, ignoring case, of several one that begins alike; undefined if none is similar. */
export function findNearest(text: string, candidates: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let least = MAX_DISTANCE + 0.5;
  for (const candidate of candidates) {
    const longest = Math.max(text.length, candidate.length);
    if (longest > MAX_LENGTH) continue;
    const distance = editDistance(text.toLowerCase(), candidate.toLowerCase());
    const score = candidate[0] === text[0] ? distance - 0.5 : distance;
    if (score >= least || distance * 2 >= longest) continue;
    nearest = candidate;
    least = score;
  }
  return nearest;
}

/** Counts the characters to insert, delete, replace or swap with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, current];
  }
  return last[b.length] ?? 0;
}
