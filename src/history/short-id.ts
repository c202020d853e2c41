/** Short run ids: a UUID is shown and typed by its beginning, as commits of git are. */
import { isUuid, isUuidPrefix } from '../text/uuid.js';

/** The fewest characters that stand for a UUID. */
const MIN_TYPED = 4;
/** The fewest characters that are shown of one: its first group. */
const MIN_SHOWN = 8;

/** Returns whether a text may be meant as the beginning of a UUID. */
export function isShortId(text: string): boolean {
  return text.length >= MIN_TYPED && isUuidPrefix(text);
}

/** Returns the ids that a short id stands for: the one that it equals, else the UUIDs that begin with it. */
export function findByShortId(shortId: string, ids: readonly string[]): string[] {
  const wanted = shortId.toLowerCase();
  const equal = ids.find((id) => id.toLowerCase() === wanted);
  if (equal !== undefined) return [equal];
  return ids.filter((id) => isUuid(id) && id.toLowerCase().startsWith(wanted));
}

/** Returns a function that shortens a UUID to the beginning that no other of `ids` has; other ids are left unchanged. */
export function idShortener(ids: readonly string[]): (id: string) => string {
  const sorted = [...new Set(ids.map((id) => id.toLowerCase()))].sort();
  const positions = new Map(sorted.map((id, index) => [id, index]));
  return (id) => {
    if (!isUuid(id)) return id;
    const key = id.toLowerCase();
    const position = positions.get(key) ?? 0;
    // Of all other ids, the neighbours in the order have most in common with this one.
    const shared = [sorted[position - 1], sorted[position + 1]].map((other) =>
      sharedLength(key, other ?? ''),
    );
    return id.slice(0, Math.max(MIN_SHOWN, ...shared.map((length) => length + 1)));
  };
}

function sharedLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}
