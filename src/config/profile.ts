/** The profile of the config file that a command uses. */

import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import type { ProfileSettings } from './content.js';
import { type ConfigFile, loadConfig } from './file.js';
import { configLocation } from './location.js';

export interface ProfileFlags {
  profile?: string;
}

export interface Profile {
  name: string;
  /** What chose it: --profile, WFR_PROFILE, or a place in the config file. */
  chosenBy: string;
  /** The config file. */
  path: string;
  settings: ProfileSettings;
  /** Where a setting was written: `profile x in path:line`. */
  sourceOf(...names: string[]): string;
}

/**
 * The profile that --profile, WFR_PROFILE or the file's defaultProfile names, in this order; undefined where none does.
 * Throws UsageError for a name that the file does not have, and for every mistake in the file.
 */
export async function chooseProfile(flags: ProfileFlags, context: Context): Promise<Profile | undefined> {
  const file = await loadConfig(context);
  const choice = choose(flags, file, context);
  if (choice === undefined) return undefined;
  const { name, chosenBy } = choice;
  const { profiles = {} } = file?.content ?? {};
  const settings = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (file === undefined || settings === undefined) {
    throw new UsageError([
      `${chosenBy} ${name || '""'}: ${whyThereIsNone(Object.keys(profiles), file, context)}`,
    ]);
  }
  const sourceOf = (...names: string[]) =>
    `profile ${name} in ${file.path}:${file.lineOf('profiles', name, ...names)}`;
  return { name, chosenBy, path: file.path, settings, sourceOf };
}

function choose(
  { profile }: ProfileFlags,
  file: ConfigFile | undefined,
  { env }: Context,
): { name: string; chosenBy: string } | undefined {
  if (profile !== undefined) return { name: profile, chosenBy: '--profile' };
  if (env.WFR_PROFILE) return { name: env.WFR_PROFILE, chosenBy: 'WFR_PROFILE' };
  const name = file?.content.defaultProfile;
  if (file === undefined || name === undefined) return undefined;
  return { name, chosenBy: `defaultProfile in ${file.path}:${file.lineOf('defaultProfile')}` };
}

function whyThereIsNone(names: readonly string[], file: ConfigFile | undefined, context: Context): string {
  if (file === undefined) {
    const path = configLocation(context)?.path;
    return `there is no config file${path === undefined ? '' : ` ${path}`}; see wfr help config`;
  }
  if (names.length === 0) return `there are no profiles in ${file.path}; see wfr help config`;
  return `there is no such profile in ${file.path}; choose one of ${names.join(', ')}`;
}
