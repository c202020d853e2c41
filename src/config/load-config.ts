/** Finds and reads the config file. */
import { closeSync, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { findFileRisk, isForeign } from '../platform/ownership.js';
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

/** The content of the config file, and the owner and mode of the file that was read. */
export interface ConfigBytes {
  bytes: Buffer;
  stats: Stats;
}

/**
 * Reads the bytes of the config file; undefined if there is none. Throws UsageError if it cannot be read, or if
 * WFR_CONFIG names a file that does not exist.
 */
export function readConfigBytes({ path, isNamed }: ConfigLocation): ConfigBytes | undefined {
  try {
    const file = openSync(path, 'r');
    try {
      return { bytes: readFileSync(file), stats: fstatSync(file) };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (!isNamed && ['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return undefined;
    const subject = isNamed ? 'WFR_CONFIG' : 'the config file';
    throw new UsageError([`${subject} ${path}: ${describeSystemError(error)}`]);
  }
}

/** The config file with warnings about who else could have written it. */
export type LoadedConfig = ConfigFile & { warnings: readonly string[] };

/**
 * Loads the config file; undefined if there is none. Throws UsageError with every mistake in it, and if another user
 * could have written it.
 */
export async function loadConfig(context: Context): Promise<LoadedConfig | undefined> {
  const location = locateConfig(context);
  const read = location === undefined ? undefined : readConfigBytes(location);
  if (location === undefined || read === undefined) return undefined;
  const { parseConfig } = await import('./parse-config.js');
  const file = await parseConfig(read.bytes, location.path);
  return { ...file, warnings: checkOwner(file, read.stats, context) };
}

/** Settings that name what is run, or read and sent: in a file of another user, they would choose it. */
const TRUSTED_SETTINGS = [
  'tokenCommand',
  'tokenFile',
  'headerFile',
  'caFile',
  'certFile',
  'keyFile',
] as const;

/** Returns warnings. Throws UsageError if any user could have written the file, or if it is another user's and has such a setting. */
function checkOwner({ path, content }: ConfigFile, stats: Stats, { uid }: Context): string[] {
  const risk = findFileRisk(path, stats, uid);
  if (risk?.isFatal) throw new UsageError([`the config file ${path}: ${risk.message}`]);
  const profiles = Object.values(content.profiles ?? {});
  const trusted = TRUSTED_SETTINGS.find((name) => profiles.some((profile) => profile[name] !== undefined));
  if (trusted !== undefined && isForeign(stats, uid)) {
    const harm =
      trusted === 'tokenCommand' ? 'would run as you' : 'could send any file of yours to its base URL';
    throw new UsageError([
      `the config file ${path}: belongs to another user and has a ${trusted}, which ${harm}; use a copy of your own`,
    ]);
  }
  return risk === undefined ? [] : [`the config file ${path}: ${risk.message}`];
}
