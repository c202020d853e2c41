/** The config file, read and checked. */
import { readFileSync } from 'node:fs';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { describeSystemError, errorCode } from '../platform/system-error.js';
import type { ConfigContent } from './content.js';
import { type ConfigLocation, configLocation } from './location.js';

export interface ConfigFile {
  path: string;
  content: ConfigContent;
  /** The line of a value, counted from 1, by the names that lead to it. */
  lineOf(...names: string[]): number;
}

/**
 * The bytes of the config file, or undefined where there is none. Throws UsageError for one that cannot be read, or that
 * WFR_CONFIG names and that is not there.
 */
export function readConfigBytes({ path, isNamed }: ConfigLocation): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (!isNamed && ['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return undefined;
    const source = isNamed ? 'WFR_CONFIG ' : 'the config file ';
    throw new UsageError([`${source}${path}: ${describeSystemError(error)}`]);
  }
}

/** The config file, or undefined where there is none. Throws UsageError with every mistake in it. */
export async function loadConfig(context: Context): Promise<ConfigFile | undefined> {
  const location = configLocation(context);
  const bytes = location === undefined ? undefined : readConfigBytes(location);
  if (location === undefined || bytes === undefined) return undefined;
  const { parseConfig } = await import('./parse.js');
  return parseConfig(bytes, location.path);
}
