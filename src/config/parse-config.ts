/** Parses the bytes of a config file. Loaded only where there is one, and diagnose-config.ts only for one with mistakes. */
import { isUtf8 } from 'node:buffer';
import { UsageError } from '../errors.js';
import { findPositions, lineAndColumn, type Positions, pointerTo } from '../text/json/positions.js';
import { JsonSyntaxError } from '../text/json/scanner.js';
import { stripByteOrderMark } from '../text/utf8.js';
import { checkConfig } from './check-config.js';
import type { ConfigContent } from './settings-table.js';

export interface ConfigFile {
  path: string;
  content: ConfigContent;
  /** Returns the line of a member, counted from 1, by the names that lead to it. */
  lineOf(...names: string[]): number;
}

/** Parses a config file. Throws UsageError with every mistake in it. */
export async function parseConfig(file: Buffer, path: string): Promise<ConfigFile> {
  const bytes = stripByteOrderMark(file);
  const parsed = parseValid(bytes);
  if (parsed === undefined) throw new UsageError(await findConfigErrors(bytes, path), 'wfr help config');
  const { content, positions } = parsed;
  return {
    path,
    content,
    lineOf: (...names) => lineAndColumn(bytes, positions.get(names.reduce(pointerTo, ''))?.name ?? 0).line,
  };
}

/** Returns a message for each mistake in a config file, in their order: `path:line:column: error; fix`. */
export async function findConfigErrors(file: Buffer, path: string): Promise<string[]> {
  const { diagnoseConfig } = await import('./diagnose-config.js');
  return diagnoseConfig(stripByteOrderMark(file), path);
}

/** Returns undefined for a file with mistakes. */
function parseValid(bytes: Buffer): { content: ConfigContent; positions: Positions } | undefined {
  if (!isUtf8(bytes)) return undefined;
  try {
    const { positions, duplicates } = findPositions(bytes);
    const content: unknown = JSON.parse(bytes.toString('utf8'));
    const isValid = duplicates.length === 0 && checkConfig(content).length === 0;
    return isValid ? { content: content as ConfigContent, positions } : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
