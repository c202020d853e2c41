/** The positions of the values in a JSON text, as bytes, lines and columns. */
import { decodeString } from './members.js';
import { JsonScanner, JsonSyntaxError } from './scanner.js';

/** Offsets in bytes: of the name (of the value itself, if it has none), and of the value. */
interface Position {
  name: number;
  value: number;
}

/** By JSON Pointer (RFC 6901): "" is the whole text, "/a/0" the first value of the list a. */
export type Positions = ReadonlyMap<string, Position>;

/** A name that the same object contains before, at an offset in bytes. */
interface DuplicateName {
  offset: number;
  name: string;
}

/** An object or array that contains the current position. */
interface OpenValue {
  pointer: string;
  isObject: boolean;
  /** The index of the next element of an array. */
  index: number;
  name: string;
  nameOffset: number;
}

/**
 * Finds every value of a JSON text, and every name that an object contains twice. Throws JsonSyntaxError, also when a
 * string has an unpaired surrogate.
 */
export function findPositions(bytes: Uint8Array): { positions: Positions; duplicates: DuplicateName[] } {
  const positions = new Map<string, Position>();
  const duplicates: DuplicateName[] = [];
  const open: OpenValue[] = [];
  const scanner = new JsonScanner(bytes);
  while (scanner.next()) {
    const { token, start } = scanner;
    const parent = open.at(-1);
    if (token === ':' || token === ',') continue;
    if (token === '}' || token === ']') {
      open.pop();
      continue;
    }
    if (token === 'key' || token === 'string') assertWellFormed(bytes, scanner);
    if (token === 'key' && parent !== undefined) {
      parent.name = decodeString(bytes.subarray(start, scanner.end));
      parent.nameOffset = start;
      const isDuplicate = positions.has(pointerTo(parent.pointer, parent.name));
      if (isDuplicate) duplicates.push({ offset: start, name: parent.name });
      continue;
    }
    const pointer = parent === undefined ? '' : pointerTo(parent.pointer, nextSegment(parent));
    positions.set(pointer, { name: parent?.isObject ? parent.nameOffset : start, value: start });
    const isOpening = token === '{' || token === '[';
    if (isOpening) open.push({ pointer, isObject: token === '{', index: 0, name: '', nameOffset: 0 });
  }
  return { positions, duplicates };
}

function nextSegment(parent: OpenValue): string {
  return parent.isObject ? parent.name : String(parent.index++);
}

function assertWellFormed(bytes: Uint8Array, { start, end }: JsonScanner): void {
  if (decodeString(bytes.subarray(start, end)).isWellFormed()) return;
  throw new JsonSyntaxError('unpaired-surrogate', start);
}

/** Appends a segment, a name or an index, to a JSON Pointer. */
export function pointerTo(pointer: string, segment: string): string {
  return `${pointer}/${segment.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Returns the line and the column of an offset, both from 1; columns count characters. */
export function lineAndColumn(bytes: Buffer, offset: number): { line: number; column: number } {
  const lines = bytes.subarray(0, offset).toString('utf8').split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
}
