/** Parses a JSON file that a person writes: each mistake has its line, its column and a fix. */
import { isUtf8 } from 'node:buffer';
import { findInvalidUtf8, lineAndColumn, stripByteOrderMark } from '../utf8.js';
import { wellFormedString } from './members.js';
import { pointerOf } from './pointer.js';
import { JsonScanner, JsonSyntaxError } from './scanner.js';

/** The names and indexes that lead to a value. */
export type JsonPath = readonly (string | number)[];

/** One mistake in the value of a JSON file. */
export interface JsonProblem {
  path: JsonPath;
  /** Whether it is about the last name of the path, or its value. */
  part: keyof Position;
  message: string;
}

/** Returns a mistake in a value, or one that it lacks something. */
export function aboutValue(path: JsonPath, message: string): JsonProblem {
  return { path, part: 'value', message };
}

/** Returns a mistake in the last name of a path, or in its being there. */
export function aboutName(path: JsonPath, message: string): JsonProblem {
  return { path, part: 'name', message };
}

/** Parses JSON (UTF-8); returns undefined for any other text. */
export function parseJson(text: Buffer | string): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
}

/** Returns the members of an object; none of any other value. */
export function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

/** Returns whether a JSON value is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Parses a file (UTF-8, with or without byte order mark), and collects its mistakes with those that `check` finds in its value:
 * `path:line:column: message` for each, in their order. `lineOf` returns the line of a member, from 1; of a missing one, that of
 * the value that it is missing in. If there are problems, neither that nor the value is to be used.
 */
export function parseJsonFile(file: Buffer, path: string, check: (value: unknown) => readonly JsonProblem[]) {
  const bytes = stripByteOrderMark(file);
  const describe = ({ offset, message }: { offset: number; message: string }) => {
    const { line, column } = lineAndColumn(bytes, offset);
    return `${path}:${line}:${column}: ${message}`;
  };
  try {
    if (!isUtf8(bytes))
      throw new JsonSyntaxError(findInvalidUtf8(bytes), 'not UTF-8; save the file as UTF-8');
    const { positions, duplicates } = findPositions(bytes);
    const value: unknown = JSON.parse(bytes.toString());
    const offsetOf = (path: JsonPath, part: keyof Position): number =>
      positions.get(pointerOf(path))?.[part] ?? offsetOf(path.slice(0, -1), 'value');
    const placed = [
      ...check(value).map(({ path, part, message }) => ({ offset: offsetOf(path, part), message })),
      ...duplicates,
    ].sort((a, b) => a.offset - b.offset);
    const lineOf = (path: JsonPath) => lineAndColumn(bytes, offsetOf(path, 'name')).line;
    return { value, problems: placed.map(describe), lineOf };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const problem = { offset: error.offset, message: describeSyntaxError(error, bytes) };
    return { problems: [describe(problem)], lineOf: () => 1 };
  }
}

/** Describes a name that an object has twice. */
export function describeDuplicate(name: string): string {
  return `duplicate name ${JSON.stringify(name)}; remove one of the two`;
}

/** Offsets in bytes: of the name (of the value itself, if it has none), and of the value. */
interface Position {
  name: number;
  value: number;
}

/**
 * Finds every value of a JSON text, by JSON Pointer (RFC 6901), and the mistake of every name that an object has twice. Throws
 * JsonSyntaxError, also when a string has an unpaired surrogate.
 */
export function findPositions(bytes: Uint8Array) {
  const positions = new Map<string, Position>();
  const duplicates: { offset: number; message: string }[] = [];
  const path: (string | number)[] = [];
  let nameStart = 0;
  const scanner = new JsonScanner(bytes);
  while (scanner.next()) {
    const { token, start } = scanner;
    const last = path.length - 1;
    const segment = path[last];
    const text = wellFormedString(scanner);
    if (token === '}' || token === ']') path.pop();
    else if (token === ',' && typeof segment === 'number') path[last] = segment + 1;
    else if (token === 'key') {
      nameStart = start;
      path[last] = text;
      if (positions.has(pointerOf(path)))
        duplicates.push({ offset: start, message: describeDuplicate(text) });
    } else if (token !== ':' && token !== ',') {
      positions.set(pointerOf(path), { name: typeof segment === 'string' ? nameStart : start, value: start });
      if (token === '{' || token === '[') path.push(token === '{' ? '' : 0);
    }
  }
  return { positions, duplicates };
}

/** How to fix unexpected text: what other formats allow, and common typos. */
const FIXES: readonly (readonly [text: RegExp, fix: string])[] = [
  [/^(\/[*/]|#)/, 'JSON has no comments: remove this one'],
  [/^[}\]]/, 'remove this bracket or the comma before it, or add what is missing'],
  [/^\\/, 'write \\\\ for a backslash'],
  [/^['A-Za-z_$]/, 'write text and names in double quotes'],
];

function describeSyntaxError({ offset, reason }: JsonSyntaxError, bytes: Buffer): string {
  if (bytes.toString().trim() === '') return 'the file is empty; expected a JSON object';
  const found = bytes.toString('utf8', offset, offset + 2);
  const [, fix] = FIXES.find(([text]) => text.test(found)) ?? [];
  return fix === undefined ? reason : `${reason}; ${fix}`;
}
