/** Chooses the profile of the config file that a command uses. */
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { loadConfig, locateConfig } from './load-config.js';
import type { ConfigFile } from './parse-config.js';
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
