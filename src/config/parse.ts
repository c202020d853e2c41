/** The bytes of a config file -> what it holds, and on which lines. Loaded only where there is such a file. */
import { isUtf8 } from 'node:buffer';
import { UsageError } from '../errors.js';
import { withoutByteOrderMark } from '../text/byte-order-mark.js';
import { findPositions, lineAndColumn, type Positions, pointerTo } from '../text/json/positions.js';
import { JsonSyntaxError } from '../text/json/scanner.js';
import { type ConfigContent, isConfigContent } from './content.js';
import type { ConfigFile } from './file.js';

/** Throws UsageError with every mistake of the file. */
export async function parseConfig(file: Buffer, path: string): Promise<ConfigFile> {
  const bytes = withoutByteOrderMark(file);
  const fitting = fittingContent(bytes);
  if (fitting === undefined) throw new UsageError(await configMistakes(bytes, path), 'wfr help config');
  const { content, places } = fitting;
  return {
    path,
    content,
    lineOf: (...names) => lineAndColumn(bytes, places.get(names.reduce(pointerTo, ''))?.name ?? 0).line,
  };
}

/** `path:line:column: what; how to mend it` for each mistake of the file; none for a good one. */
export async function configMistakes(file: Buffer, path: string): Promise<string[]> {
  const bytes = withoutByteOrderMark(file);
  const { diagnose } = await import('./diagnose.js');
  return diagnose(bytes, path);
}

/** What a file without a mistake holds. This and diagnose() agree, and this is the cheaper one. */
function fittingContent(bytes: Buffer): { content: ConfigContent; places: Positions } | undefined {
  if (!isUtf8(bytes)) return undefined;
  try {
    const { places, flaws } = findPositions(bytes);
    const content: unknown = JSON.parse(bytes.toString('utf8'));
    return flaws.length === 0 && isConfigContent(content) ? { content, places } : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
