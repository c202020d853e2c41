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

/** Returns a function that finds the UUIDs among `ids` that begin with a short id, in either case; none if it is an id itself. */
export function shortIdFinder(ids: readonly string[]): (shortId: string) => string[] {
  const exact = new Set(ids);
  const uuids = ids.filter(isUuid).map((id) => [id, id.toLowerCase()] as const);
  return (shortId) => {
    const start = shortId.toLowerCase();
    return exact.has(shortId) ? [] : uuids.filter(([, key]) => key.startsWith(start)).map(([id]) => id);
  };
}

/** Returns a function that shortens a UUID to the beginning that stands for it among `ids`; other ids are left unchanged. */
export function idShortener(ids: readonly string[]): (id: string) => string {
  const unique = [...new Set(ids)].map((id) => [id, id.toLowerCase()] as const);
  unique.sort(([, one], [, other]) => (one < other ? -1 : Number(one > other)));
  const sorted = unique.map(([, key]) => key);
  const positions = new Map(unique.map(([id], index) => [id, index]));
  return (id) => {
    if (!isUuid(id)) return id;
    const key = id.toLowerCase();
    const position = positions.get(id) ?? 0;
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
