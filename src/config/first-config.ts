/** The content of a first config file, from the flags of `wfr config init`. */
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { absolutePath } from '../platform/files.js';
import { baseUrlProblem, redactUrl } from './base-url.js';
import { type ConfigError, checkConfig } from './check-config.js';
import type { SettingFlags } from './resolve-setting.js';
import { type ConfigContent, type ProfileSettings, SETTINGS } from './settings-table.js';

export type FirstConfigFlags = SettingFlags & { profile?: string; tokenFile?: string };

/** The profile without --profile. */
const DEFAULT_NAME = 'default';

/** Returns a config file with one profile, which has each setting that a flag gives. Throws UsageError. */
export function createFirstConfig(flags: FirstConfigFlags, context: Context): ConfigContent {
  const { profile = DEFAULT_NAME } = flags;
  const names = Object.keys(SETTINGS) as (keyof ProfileSettings)[];
  const given = names.flatMap((name) => {
    const value = name === 'tokenCommand' || name === 'workflows' ? undefined : flags[name];
    return value === undefined ? [] : [[name, isPath(name) ? toAbsolute(name, value, context) : value]];
  });
  const settings = { baseUrl: SETTINGS.baseUrl.examples[0], ...Object.fromEntries(given), workflows: {} };
  const content = { defaultProfile: profile, profiles: { [profile]: settings } };
  const problems = checkConfig(content).map(describeFlag);
  if (problems.length > 0) throw new UsageError(problems);
  return content;
}

function isPath(name: keyof ProfileSettings): boolean {
  return name.endsWith('File');
}

/** A path in the file would be relative to the file. */
function toAbsolute(name: keyof ProfileSettings, value: string | boolean, { cwd }: Context): string {
  const path = String(value);
  if (path === '-') throw new UsageError([`${SETTINGS[name].flag} -: a profile requires a file`]);
  return path.startsWith('~/') || path === '' ? path : absolutePath(path, cwd);
}

/** Describes a mistake as one in the flag that gave the value. */
function describeFlag(error: ConfigError): string {
  const setting = SETTINGS[String(error.path[2]) as keyof ProfileSettings];
  switch (error.code) {
    case 'invalid-name':
      return `--profile ${error.path.at(-1) || '""'}: ${error.schema.description}`;
    case 'invalid-base-url':
      return `--base-url ${redactUrl(error.value) || '""'}: ${baseUrlProblem(error.value, error.allowHttp)}`;
    case 'wrong-type':
    case 'invalid-value': {
      const value = error.schema.isSensitive ? '' : ` ${error.value || '""'}`;
      return `${setting.flag}${value}: must be ${error.schema.title}`;
    }
    default:
      return `${setting.flag}: is not valid in a profile`;
  }
}
