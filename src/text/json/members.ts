/** Splits a JSON object into its members, whose values stay unparsed text. */
import { bufferOf } from '../utf8.js';
import { JsonScanner, JsonSyntaxError } from './scanner.js';

/** A member of an object: the text of its value is without white space around it. */
export type Member = [name: string, value: Uint8Array];

/** Bytes of a string that are decoded at once. */
const BLOCK_SIZE = 64 * 1024;
/** What begins an escape at the end of a text, or the pair of escapes of a character beyond U+FFFF. */
const PARTIAL_ESCAPE =
  /(?=\\(?:u[\da-f]{0,3}|ud[89ab][\da-f]{2}(?:\\(?:u[\da-f]{0,3})?)?)?$)(?<=(?<!\\)(?:\\\\)*).+/i;

/** Decodes a JSON string token, with its quotes, to the text that it stands for. */
export function decodeString(token: Uint8Array): string {
  const text = bufferOf(token).toString();
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
}

/** Decodes the token of a scanner if it is a string; empty for any other. Throws JsonSyntaxError for an unpaired surrogate. */
export function wellFormedString(scanner: JsonScanner): string {
  if (scanner.token !== 'key' && scanner.token !== 'string') return '';
  const text = decodeString(scanner.text);
  if (!text.isWellFormed()) throw new JsonSyntaxError(scanner.start, 'unpaired surrogate in a string');
  return text;
}

/** Decodes a JSON string token to UTF-8, without a string of its length, which the heap may not have room for. */
export function decodeStringBytes(token: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(token.length);
  let used = 0;
  for (const text of decodeBlocks(token)) used += bytes.write(text, used);
  return bytes.subarray(0, used);
}

/** Decodes a JSON string token; yields the text of one block after the other, in whole characters. */
export function* decodeBlocks(token: Uint8Array, size = BLOCK_SIZE): Generator<string, void, void> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const end = token.length - 1;
  let rest = '';
  for (let offset = 1; offset < end; offset += size) {
    const stop = Math.min(offset + size, end);
    const text = rest + decoder.decode(token.subarray(offset, stop), { stream: true });
    const hasEscapes = text.includes('\\');
    [rest = ''] = (hasEscapes && stop < end && PARTIAL_ESCAPE.exec(text)) || [];
    yield hasEscapes ? (JSON.parse(`"${text.slice(0, text.length - rest.length)}"`) as string) : text;
  }
}

/** Decodes at most `maxBytes` of a JSON string token, so that a text of any length takes little memory; "…" marks a cut. */
export function decodeStart(token: Uint8Array, maxBytes: number): string {
  if (token.length - 2 <= maxBytes) return decodeString(token);
  const [start = ''] = decodeBlocks(token, maxBytes);
  return `${start.toWellFormed()}…`;
}

/** A text that replaces the value at the bytes `[start, end)`. */
export interface ReplacedValue {
  start: number;
  end: number;
  value: string;
}

/** Returns JSON with other values, which are given in the order of the text. */
export function replaceValues(json: Uint8Array, replaced: readonly ReplacedValue[]): Buffer {
  const pieces: Uint8Array[] = [];
  let position = 0;
  for (const { start, end, value } of replaced) {
    pieces.push(json.subarray(position, start), Buffer.from(JSON.stringify(value)));
    position = end;
  }
  return Buffer.concat([...pieces, json.subarray(position)]);
}

/** Bytes of the text: the name of a member is with its quotes, the value without white space around it. */
interface Child {
  readonly name: Uint8Array;
  readonly value: Uint8Array;
}

/**
 * Calls `onChild` for each member of a JSON object, or element of an array, in their order; the child is reused. Returns
 * whether the text is an object. Throws JsonSyntaxError if it is not JSON.
 */
export function forEachChild(bytes: Uint8Array, onChild: (child: Child) => void): boolean {
  const scanner = new JsonScanner(bytes, 1);
  const isObject = scanner.next() && scanner.token === '{';
  let valueStart = -1;
  const child = {
    name: bytes,
    // Of millions of elements, few are used.
    get value() {
      return bytes.subarray(valueStart, scanner.end);
    },
  };
  while (scanner.next()) {
    const { token, start, depth } = scanner;
    // Of a child with children, the scanner reports no more than its brackets.
    if (depth === 0 || token === ':' || token === ',') continue;
    if (token === 'key') {
      child.name = scanner.text;
      continue;
    }
    if (valueStart < 0) valueStart = start;
    if (depth > 1) continue;
    onChild(child);
    valueStart = -1;
  }
  return isObject;
}

/**
 * Returns the members of a JSON object in their order, with duplicates; undefined for any other JSON value. Throws
 * JsonSyntaxError if the text is not JSON.
 */
export function parseMembers(bytes: Uint8Array): Member[] | undefined {
  const members: Member[] = [];
  const isObject = forEachChild(bytes, ({ name, value }) => {
    members.push([decodeString(name), value]);
  });
  return isObject ? members : undefined;
}

/** Bytes of the longest escape of a UTF-16 unit, such as `\u0041`. */
const MAX_ESCAPE = 6;

/**
 * Returns the values of the members of a JSON object with the `wanted` names, in their order: of duplicates the last one, as in
 * JSON.parse. Undefined for any other JSON value. Its memory does not depend on the text. Throws JsonSyntaxError if it is not JSON.
 */
export function pickMembers(
  bytes: Uint8Array,
  wanted: readonly string[],
): (Uint8Array | undefined)[] | undefined {
  const values = new Map<string, Uint8Array>();
  // No longer name is decoded.
  const longest = MAX_ESCAPE * Math.max(...wanted.map(({ length }) => length)) + 2;
  const isObject = forEachChild(bytes, (child) => {
    if (child.name.length > longest) return;
    const name = decodeString(child.name);
    if (wanted.includes(name)) values.set(name, child.value);
  });
  return isObject ? wanted.map((name) => values.get(name)) : undefined;
}

/** Names that a message lists, and the bytes of each. */
const MAX_LISTED = 20;
const MAX_LISTED_NAME = 80;

/** Returns the names of the first members of a JSON object, for a message: each once, long ones cut, and how many follow. */
export function listNames(bytes: Uint8Array): string {
  const names: string[] = [];
  let count = 0;
  forEachChild(bytes, ({ name }) => {
    if (count++ < MAX_LISTED) names.push(decodeStart(name, MAX_LISTED_NAME));
  });
  const more = count > MAX_LISTED ? [`… (${count - MAX_LISTED} more)`] : [];
  return [...new Set(names), ...more].join(', ') || '(none)';
}
