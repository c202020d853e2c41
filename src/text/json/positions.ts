/** Where the values of a JSON text stand in it. */
import { decodeString } from './members.js';
import { JsonScanner, JsonSyntaxError } from './scanner.js';

/** Offsets in bytes: of the name (of the value itself, where it has none), and of the value. */
interface Place {
  name: number;
  value: number;
}

/** By JSON Pointer (RFC 6901): "" is the whole text, "/a/0" the first value of the list a. */
export type Positions = ReadonlyMap<string, Place>;

/** A mistake in a text, at an offset in bytes. */
export interface Flaw {
  offset: number;
  what: string;
}

interface Open {
  pointer: string;
  isObject: boolean;
  /** Of the next value in a list. */
  index: number;
  name: string;
  nameAt: number;
}

/**
 * Finds every value of a JSON text. A name that stands twice in one object, and text that is not well-formed, are flaws.
 * Throws JsonSyntaxError.
 */
export function findPositions(bytes: Uint8Array): { places: Positions; flaws: Flaw[] } {
  const places = new Map<string, Place>();
  const flaws: Flaw[] = [];
  const open: Open[] = [];
  const scanner = new JsonScanner(bytes);
  while (scanner.next()) {
    const { token, start } = scanner;
    const parent = open.at(-1);
    if (token === ':' || token === ',') continue;
    if (token === '}' || token === ']') {
      open.pop();
      continue;
    }
    if (token === 'key' || token === 'string') checkText(bytes, scanner);
    if (token === 'key' && parent !== undefined) {
      parent.name = decodeString(bytes.subarray(start, scanner.end));
      parent.nameAt = start;
      const isSecond = places.has(pointerTo(parent.pointer, parent.name));
      if (isSecond) flaws.push({ offset: start, what: `${quote(parent.name)} stands twice; remove one` });
      continue;
    }
    const pointer = parent === undefined ? '' : pointerTo(parent.pointer, segmentOf(parent));
    places.set(pointer, { name: parent?.isObject ? parent.nameAt : start, value: start });
    const isOpening = token === '{' || token === '[';
    if (isOpening) open.push({ pointer, isObject: token === '{', index: 0, name: '', nameAt: 0 });
  }
  return { places, flaws };
}

function segmentOf(parent: Open): string {
  return parent.isObject ? parent.name : String(parent.index++);
}

function checkText(bytes: Uint8Array, { start, end }: JsonScanner): void {
  if (decodeString(bytes.subarray(start, end)).isWellFormed()) return;
  throw new JsonSyntaxError('half of a surrogate pair, which is no text', start);
}

const quote = (text: string) => JSON.stringify(text);

/** The pointer to a member, or to an element by its index. */
export function pointerTo(pointer: string, segment: string): string {
  return `${pointer}/${segment.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The names and indices of a pointer. */
export function segmentsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Line and column, both from 1; columns count characters. */
export function lineAndColumn(bytes: Buffer, offset: number): { line: number; column: number } {
  const lines = bytes.subarray(0, offset).toString('utf8').split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
}
