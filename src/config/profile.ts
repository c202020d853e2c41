/** Finds and reads the config file, and chooses the profile that a command uses. */
import { closeSync, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { throwProblems, UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { assertOwn, checkWriters } from '../platform/ownership.js';
import { isMissingFile, throwAsUsageError } from '../platform/system-error.js';
import { parseJsonFile } from '../text/json/json-file.js';
import { type ConfigContent, checkConfig } from './check-config.js';
import type { ProfileSettings } from './settings-table.js';

export interface ProfileFlags {
  profile?: string;
}

/** Where a value comes from. */
export interface Source {
  kind: 'flag' | 'variable' | 'profile' | 'file' | 'default';
  /** For messages, such as `--base-url`, `WFR_BASE_URL` or `profile production in PATH:7`. */
  name: string;
}

export interface Profile {
  name: string;
  /** What chose it: --profile, WFR_PROFILE or defaultProfile. */
  chosenBy: Source;
  /** The config file. */
  path: string;
  settings: ProfileSettings;
  /** About the file. */
  warnings: readonly string[];
  /** Returns the place of a setting, or of a member of it. */
  sourceOf(...names: string[]): Source;
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
  const { profiles = {}, defaultProfile } = file?.content ?? {};
  const { WFR_PROFILE } = context.env;
  const [name, kind, source]: readonly [string | undefined, Source['kind'], string] =
    flags.profile !== undefined
      ? [flags.profile, 'flag', flag]
      : WFR_PROFILE
        ? [WFR_PROFILE, 'variable', 'WFR_PROFILE']
        : [defaultProfile, 'file', `defaultProfile in ${file?.path}:${file?.lineOf(['defaultProfile'])}`];
  if (name === undefined) return undefined;
  const settings = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (!file || !settings) {
    const names = Object.keys(profiles);
    const reason = file
      ? `there is no such profile in ${file.path}; it has ${names.join(', ') || 'none'}`
      : `there is no config file ${locateConfig(context) ?? ''}; see wfr help config`;
    throw new UsageError(`${source} ${name || '""'}: ${reason}`);
  }
  const { path, warnings } = file;
  const sourceOf = (...names: string[]): Source => {
    const line = file.lineOf(['profiles', name, ...names]);
    return { kind: 'profile', name: `profile ${name} in ${path}:${line}` };
  };
  return { name, chosenBy: { kind, name: source }, path, settings, warnings, sourceOf };
}

/** Returns where the settings of a command come from, with the profile that chooseProfile returns. Throws as that. */
export async function findSources<Flags extends ProfileFlags>(flags: Flags, context: Context) {
  return { flags, profile: await chooseProfile(flags, context), context };
}

/**
 * Returns WFR_CONFIG, else the path in the platform's folder for settings; undefined for a user without a home folder.
 * The working folder is never searched: the file can name a command, and a folder may come from somebody else.
 */
export function locateConfig(context: Context): string | undefined {
  const { env, home, platform } = context;
  const { WFR_CONFIG, APPDATA, XDG_CONFIG_HOME = '' } = env;
  if (WFR_CONFIG) return resolvePath(WFR_CONFIG, context);
  // A relative path is to be ignored (XDG Base Directory Specification).
  const xdg = isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(home, '.config');
  const folder = platform === 'win32' ? APPDATA || join(home, 'AppData', 'Roaming') : xdg;
  return isAbsolute(folder) ? join(folder, 'wfr', 'config.json') : undefined;
}

/**
 * Reads the bytes of the config file, and who owns it; undefined if there is none. Throws UsageError if it cannot be read, or if
 * WFR_CONFIG names a file that does not exist.
 */
export function readConfigBytes(path: string, { env }: Context) {
  try {
    const file = openSync(path, 'r');
    try {
      return { bytes: readFileSync(file), stats: fstatSync(file) };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (!env.WFR_CONFIG && isMissingFile(error)) return undefined;
    const subject = env.WFR_CONFIG ? 'WFR_CONFIG' : 'the config file';
    return throwAsUsageError(`${subject} ${path}`)(error);
  }
}

/**
 * Loads the config file, with warnings about who else could have written it; undefined if there is none. Throws UsageError
 * with every mistake in it, and if another user could have written it.
 */
export async function loadConfig(context: Context) {
  const path = locateConfig(context);
  const read = path && readConfigBytes(path, context);
  if (!read) return undefined;
  const { bytes, stats } = read;
  const { value, problems, lineOf } = parseJsonFile(bytes, path, checkConfig);
  throwProblems(problems, 'wfr help config');
  const content = value as ConfigContent;
  return { path, content, lineOf, warnings: checkOwner(path, content, stats, context) };
}

/** Matches a setting that names what is run, or read and sent: in a file of another user, it would choose that. */
const TRUSTED_SETTING = /Command$|File$/;

/**
 * Returns warnings. Throws UsageError if any user could have written the file, or if it is another user's and has such a
 * setting.
 */
function checkOwner(path: string, content: ConfigContent, stats: Stats, { uid }: Context): string[] {
  const file = `the config file ${path}`;
  const warnings = checkWriters(file, stats, uid);
  const names = Object.values(content.profiles ?? {}).flatMap(Object.keys);
  const trusted = names.find((name) => TRUSTED_SETTING.test(name));
  const harm =
    trusted === 'tokenCommand' ? 'would run as you' : 'could send any file of yours to its base URL';
  if (trusted !== undefined) assertOwn(file, stats, uid, ` and has a ${trusted}, which ${harm}`);
  return warnings;
}
