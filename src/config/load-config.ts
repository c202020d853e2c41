/** Finds and reads the config file. */
import { readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { describeSystemError, errorCode } from '../platform/system-error.js';
import type { ConfigFile } from './parse-config.js';

export interface ConfigLocation {
  path: string;
  /** Whether WFR_CONFIG names it, so that it must exist. */
  isNamed: boolean;
}

/**
 * Returns WFR_CONFIG, else the path in the platform's folder for settings; undefined for a user without a home folder.
 * The working folder is never searched: the file can name a command, and a folder may come from somebody else.
 */
export function locateConfig(context: Context): ConfigLocation | undefined {
  const { env, home, platform } = context;
  if (env.WFR_CONFIG) return { path: resolvePath(env.WFR_CONFIG, context.cwd, context), isNamed: true };
  const folder =
    platform === 'win32'
      ? env.APPDATA || join(home, 'AppData', 'Roaming')
      : xdgConfigHome(env) || join(home, '.config');
  return isAbsolute(folder) ? { path: join(folder, 'wfr', 'config.json'), isNamed: false } : undefined;
}

/** A relative path is to be ignored (XDG Base Directory Specification). */
function xdgConfigHome({ XDG_CONFIG_HOME: path }: Context['env']): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

/**
 * Reads the bytes of the config file; undefined if there is none. Throws UsageError if it cannot be read, or if
 * WFR_CONFIG names a file that does not exist.
 */
export function readConfigBytes({ path, isNamed }: ConfigLocation): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (!isNamed && ['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return undefined;
    const subject = isNamed ? 'WFR_CONFIG' : 'the config file';
    throw new UsageError([`${subject} ${path}: ${describeSystemError(error)}`]);
  }
}

/** Loads the config file; undefined if there is none. Throws UsageError with every mistake in it. */
export async function loadConfig(context: Context): Promise<ConfigFile | undefined> {
  const location = locateConfig(context);
  const bytes = location === undefined ? undefined : readConfigBytes(location);
  if (location === undefined || bytes === undefined) return undefined;
  const { parseConfig } = await import('./parse-config.js');
  return parseConfig(bytes, location.path);
}
