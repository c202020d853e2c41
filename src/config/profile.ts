/** Finds and reads the config file, and chooses the profile that a command uses. */
import { closeSync, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { findFileRisk, isForeign } from '../platform/ownership.js';
import { describeSystemError, errorCode } from '../platform/system-error.js';
import type { ConfigFile } from './check-config.js';
import type { ProfileSettings } from './settings-table.js';

export interface ProfileFlags {
  profile?: string;
}

export interface Profile {
  name: string;
  /** What chose it: --profile, WFR_PROFILE or defaultProfile. */
  chosenBy: SettingSource;
  /** The config file. */
  path: string;
  settings: ProfileSettings;
  /** About the file. */
  warnings: readonly string[];
  /** Returns the line of a setting, or of a member of it. */
  sourceOf(setting: string, ...names: string[]): SettingSource;
}

/**
 * Returns the profile that --profile, WFR_PROFILE or the file's defaultProfile names, in this order; undefined if none
 * does. Throws UsageError for a name that the file does not have, and with every mistake in the file.
 */
export async function chooseProfile(
  flags: ProfileFlags,
  context: Context,
  flag = '--profile',
): Promise<Profile | undefined> {
  const file = await loadConfig(context);
  const choice = choose(flags, flag, file, context);
  if (choice === undefined) return undefined;
  const { name, chosenBy } = choice;
  const { profiles = {} } = file?.content ?? {};
  const settings = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (file === undefined || settings === undefined) {
    const reason = whyMissing(Object.keys(profiles), file, context);
    throw new UsageError([`${formatSource(chosenBy)} ${name || '""'}: ${reason}`]);
  }
  const { path, warnings } = file;
  const sourceOf = (setting: string, ...names: string[]): SettingSource => {
    const line = file.lineOf('profiles', name, setting, ...names);
    return { kind: 'profile', setting, profile: name, path, line };
  };
  return { name, chosenBy, path, settings, warnings, sourceOf };
}

function choose(
  { profile }: ProfileFlags,
  flag: string,
  file: ConfigFile | undefined,
  { env }: Context,
): { name: string; chosenBy: SettingSource } | undefined {
  if (profile !== undefined) return { name: profile, chosenBy: { kind: 'flag', name: flag } };
  if (env.WFR_PROFILE) return { name: env.WFR_PROFILE, chosenBy: { kind: 'variable', name: 'WFR_PROFILE' } };
  const name = file?.content.defaultProfile;
  if (file === undefined || name === undefined) return undefined;
  const line = file.lineOf('defaultProfile');
  return { name, chosenBy: { kind: 'file', setting: 'defaultProfile', path: file.path, line } };
}

function whyMissing(names: readonly string[], file: ConfigFile | undefined, context: Context): string {
  if (file === undefined) {
    const path = locateConfig(context)?.path;
    return `there is no config file${path === undefined ? '' : ` ${path}`}; see wfr help config`;
  }
  if (names.length === 0) return `${file.path} has no profiles; see wfr help config`;
  return `there is no such profile in ${file.path}; choose one of ${names.join(', ')}`;
}

export type SettingSource =
  | { kind: 'default' }
  /** `name` is the flag or the variable, such as --base-url or WFR_BASE_URL. */
  | { kind: 'flag' | 'variable'; name: string }
  /** A line of the config file, outside the profiles. */
  | { kind: 'file'; setting: string; path: string; line: number }
  | { kind: 'profile'; setting: string; profile: string; path: string; line: number };

/** Formats a source for messages and `wfr config show`, such as "profile production in PATH:7". */
export function formatSource(source: SettingSource): string {
  switch (source.kind) {
    case 'default':
      return 'default';
    case 'flag':
    case 'variable':
      return source.name;
    case 'file':
      return `${source.setting} in ${source.path}:${source.line}`;
    case 'profile':
      return `profile ${source.profile} in ${source.path}:${source.line}`;
  }
}

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
 * Reads the bytes of the config file, and who owns it; undefined if there is none. Throws UsageError if it cannot be read, or if
 * WFR_CONFIG names a file that does not exist.
 */
export function readConfigBytes({ path, isNamed }: ConfigLocation) {
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
  const { parseConfig } = await import('./check-config.js');
  const file = parseConfig(read.bytes, location.path);
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
