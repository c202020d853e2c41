/** JSON Pointer (RFC 6901): finds the value of a JSON text that one refers to, and the pointers to values. */
import { decodeString, forEachChild, pickMembers } from './members.js';
import { isSpace } from './scanner.js';

/** A JSON Pointer, and its segments without escapes. */
export interface ValuePointer {
  text: string;
  segments: readonly string[];
}

/** Returns the pointer of names and indexes. */
export function pointerOf(segments: readonly (string | number)[]): string {
  return segments.map((one) => `/${String(one).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** The deepest value on the way of a pointer, and the number of segments that lead to it: all of them if it exists. */
export type PointerTarget = ReturnType<typeof followPointer>;

/** Follows the segments of a pointer into a JSON text (UTF-8, valid), which is neither decoded nor copied. */
export function followPointer(json: Uint8Array, segments: readonly string[]) {
  let value = json.subarray(json.findIndex((byte) => !isSpace(byte)));
  for (const [depth, segment] of segments.entries()) {
    const child = childOf(value, segment);
    if (!child) return { value, depth };
    value = child;
  }
  return { value, depth: segments.length };
}

/** Levels of objects whose values are listed by themselves, and the members of such an object. */
const MAX_LEVELS = 2;
const MAX_MEMBERS = 50;

/** A value of a JSON text, and the pointer to it. */
interface ListedValue extends ValuePointer {
  value: Uint8Array;
}

/** Returns the values of an object and of objects in it, the last ones of duplicates last; of others, and of an object of many members, itself. */
export function listValues(json: Uint8Array, segments: readonly string[] = []): ListedValue[] {
  const self = [{ text: pointerOf(segments), segments, value: json }];
  if (segments.length === MAX_LEVELS || jsonTypeOf(json) !== 'object') return self;
  const values: ListedValue[] = [];
  let count = 0;
  forEachChild(json, ({ name, value }) => {
    if (count++ < MAX_MEMBERS) values.push(...listValues(value, [...segments, decodeString(name)]));
  });
  return count === 0 || count > MAX_MEMBERS ? self : values;
}

/** Returns the number of elements of an array. */
export function countElements(array: Uint8Array): number {
  let count = 0;
  forEachChild(array, () => {
    count++;
  });
  return count;
}

/** Returns a member of an object, the last one of duplicates as in JSON.parse, or an element of an array. */
function childOf(value: Uint8Array, segment: string): Uint8Array | undefined {
  const members = pickMembers(value, [segment]);
  if (members) return members[0];
  let child: Uint8Array | undefined;
  const wanted = /^(0|[1-9]\d*)$/.test(segment) ? Number(segment) : -1;
  let index = 0;
  forEachChild(value, (element) => {
    if (index++ === wanted) child = element.value;
  });
  return child;
}

/** The types of JSON by the first byte of a value; any other one begins a number. */
const TYPES: Readonly<Record<string, 'object' | 'array' | 'string' | 'boolean' | 'null'>> = {
  '{': 'object',
  '[': 'array',
  '"': 'string',
  t: 'boolean',
  f: 'boolean',
  n: 'null',
};

/** Returns the type of a valid JSON value (UTF-8), which no white space precedes. */
export function jsonTypeOf([first = 0]: Uint8Array) {
  return TYPES[String.fromCharCode(first)] ?? 'number';
}
