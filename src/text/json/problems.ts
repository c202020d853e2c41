/** The mistakes in a JSON file, each with its line and column: loaded only for a file that may have some. */
import { isUtf8 } from 'node:buffer';
import { findInvalidUtf8 } from '../utf8.js';
import { findPositions, lineAndColumn, type Position, type Positions, pointerTo } from './positions.js';
import { JsonSyntaxError } from './scanner.js';

/** One mistake in the value of a JSON file. */
export interface JsonProblem {
  /** The names and indexes that lead to it. */
  path: readonly (string | number)[];
  /** Whether it is about the last name of the path, rather than its value. */
  isAboutName: boolean;
  message: string;
}

/**
 * Returns `path:line:column: message` for each mistake in a JSON file, in their order: in its encoding or its syntax, names
 * that occur twice, and what `check` finds in its value.
 */
export function locateProblems(
  bytes: Buffer,
  path: string,
  check: (value: unknown) => readonly JsonProblem[],
  describeSyntax: (error: JsonSyntaxError, bytes: Buffer) => string = ({ reason }) => reason,
): string[] {
  return findProblems(bytes, check, describeSyntax)
    .sort((a, b) => a.offset - b.offset)
    .map(({ offset, message }) => {
      const { line, column } = lineAndColumn(bytes, offset);
      return `${path}:${line}:${column}: ${message}`;
    });
}

function findProblems(
  bytes: Buffer,
  check: (value: unknown) => readonly JsonProblem[],
  describeSyntax: (error: JsonSyntaxError, bytes: Buffer) => string,
): { offset: number; message: string }[] {
  if (!isUtf8(bytes))
    return [{ offset: findInvalidUtf8(bytes), message: 'not UTF-8; save the file as UTF-8' }];
  try {
    const { positions, duplicates } = findPositions(bytes);
    const problems = check(JSON.parse(bytes.toString('utf8'))).map(({ path, isAboutName, message }) => {
      return { offset: offsetOf(path, isAboutName ? 'name' : 'value', positions), message };
    });
    const repeated = duplicates.map(({ offset, name }) => ({
      offset,
      message: `duplicate name ${JSON.stringify(name)}; remove one of the two`,
    }));
    return [...problems, ...repeated];
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    return [{ offset: error.offset, message: describeSyntax(error, bytes) }];
  }
}

/** Returns where a value is, or that of which it is missing. */
function offsetOf(path: JsonProblem['path'], part: keyof Position, positions: Positions): number {
  const found = positions.get(path.map(String).reduce(pointerTo, ''));
  if (found !== undefined) return found[part];
  return path.length === 0 ? 0 : offsetOf(path.slice(0, -1), 'value', positions);
}
