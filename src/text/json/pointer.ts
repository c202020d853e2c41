/** JSON Pointer (RFC 6901): parses pointers, and finds the value of a JSON text that one refers to. */
import { decodeString, forEachChild } from './members.js';

const OBJECT = 0x7b;
/** White space around a JSON text (RFC 8259, section 2). */
const SPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
/** Bytes of the longest escape of a UTF-16 unit, `\u0041`. */
const MAX_ESCAPE = 6;

/** Returns the segments of a pointer, unescaped; undefined for an invalid one (RFC 6901, section 3). */
export function parsePointer(pointer: string): string[] | undefined {
  if (!/^(\/([^~]|~[01])*)?$/su.test(pointer)) return undefined;
  const [, ...segments] = pointer.split('/');
  return segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Returns the pointer of names and indexes. */
export function pointerOf(segments: readonly (string | number)[]): string {
  return segments.map((one) => `/${String(one).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** The deepest value on the way of a pointer, and the number of segments that lead to it: all of them if it exists. */
export interface PointerTarget {
  value: Uint8Array;
  depth: number;
}

/** Follows the segments of a pointer into a JSON text (UTF-8, valid), which is neither decoded nor copied. */
export function followPointer(json: Uint8Array, segments: readonly string[]): PointerTarget {
  let value = json.subarray(json.findIndex((byte) => !SPACE.has(byte)));
  for (const [depth, segment] of segments.entries()) {
    const child = childOf(value, segment);
    if (child === undefined) return { value, depth };
    value = child;
  }
  return { value, depth: segments.length };
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
  let child: Uint8Array | undefined;
  // A longer name than all escapes of the segment is not decoded.
  const longest = MAX_ESCAPE * segment.length + 2;
  const wantedIndex = /^(0|[1-9]\d*)$/.test(segment) ? Number(segment) : -1;
  let index = 0;
  forEachChild(value, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
    const isWanted =
      value[0] === OBJECT
        ? nameEnd - nameStart <= longest && decodeString(value.subarray(nameStart, nameEnd)) === segment
        : index++ === wantedIndex;
    if (isWanted) child = value.subarray(valueStart, valueEnd);
  });
  return child;
}
