/** JSON Pointer (RFC 6901): parses pointers, and finds the value of a JSON text that one refers to. */
import { decodeString, forEachMember } from './members.js';
import { JsonScanner } from './scanner.js';

const OBJECT = 0x7b;
const ARRAY = 0x5b;
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
  for (const _element of elementsOf(array)) count++;
  return count;
}

/** Returns a member of an object, the last one of duplicates as in JSON.parse, or an element of an array. */
function childOf(value: Uint8Array, segment: string): Uint8Array | undefined {
  let child: Uint8Array | undefined;
  if (value[0] === OBJECT) {
    // A longer name than all escapes of the segment is not decoded.
    const longest = MAX_ESCAPE * segment.length + 2;
    forEachMember(value, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const isName =
        nameEnd - nameStart <= longest && decodeString(value.subarray(nameStart, nameEnd)) === segment;
      if (isName) child = value.subarray(valueStart, valueEnd);
    });
  } else if (value[0] === ARRAY && /^(0|[1-9]\d*)$/.test(segment)) {
    let index = Number(segment);
    for (const [start, end] of elementsOf(value)) if (index-- === 0) return value.subarray(start, end);
  }
  return child;
}

/** Yields the offsets of each element of an array. */
function* elementsOf(array: Uint8Array): Generator<[start: number, end: number], void, void> {
  const scanner = new JsonScanner(array, 1);
  let elementStart: number | undefined;
  scanner.next();
  while (scanner.next() && scanner.depth > 0) {
    const { token, start, end, depth } = scanner;
    if (depth === 1 && token === ',') continue;
    elementStart ??= start;
    if (depth > 1) continue;
    yield [elementStart, end];
    elementStart = undefined;
  }
}
