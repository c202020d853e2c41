/** Resolves one setting: a flag overrides the environment, which overrides the profile, which overrides the default. */
import { dirname } from 'node:path';
import { collectUsageErrors, rewordInputError, UsageError } from '../errors.js';
import { readBytes } from '../inputs/files.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import type { FollowOptions } from '../service/follow-run.js';
import { isValidText } from '../text/json/check-schema.js';
import { parseDuration } from '../text/quantity.js';
import { parseUrl } from '../text/url.js';
import type { Profile, ProfileFlags, Source } from './profile.js';
import { type ProfileSettings, SETTINGS } from './settings-table.js';

/** The settings with one value; credentials.ts resolves the token. */
export type SettingName = Exclude<keyof ProfileSettings, 'tokenFile' | 'tokenCommand' | 'workflows'>;

/** The flags of every command that connects to the service, not parsed yet. */
export interface ServiceFlags extends ProfileFlags, Pick<ProfileSettings, SettingName> {
  tokenFile?: string;
  /** False for --no-token. */
  token?: boolean;
  header?: string[];
}

/** Where the settings of a command come from. */
export interface ServiceSources {
  flags: ServiceFlags;
  profile: Profile | undefined;
  context: Context;
}

/** A value that is not parsed yet. */
export interface RawSetting {
  text: string;
  source: Source;
}

/** Returns the value of a setting; undefined if it is not set and has no default. Throws UsageError for an invalid one. */
export function resolveSetting(name: SettingName, sources: ServiceSources): RawSetting | undefined {
  const [value] = settingValues(name, sources);
  if (!value) return undefined;
  const setting = SETTINGS[name];
  if (!isValidText(value.text, setting) && !setting.isSensitive)
    throw new UsageError(`${value.source.name} ${value.text || '""'}: must be ${setting.title}`);
  return value;
}

/** Returns the values of a setting, each of which overrides those after it, or its default. An empty variable counts as unset. */
export function settingValues(name: SettingName | 'tokenFile', sources: ServiceSources): RawSetting[] {
  const { flags, profile, context } = sources;
  const { flag = '', variable = '', requires = [], default: defaultValue } = SETTINGS[name];
  const values: RawSetting[] = [];
  const add = (value: string | boolean | undefined, source: Source) => {
    if (value !== undefined) values.push({ text: String(value), source });
  };
  add(flags[name], { kind: 'flag', name: flag });
  add(context.env[variable] || undefined, { kind: 'variable', name: variable });
  const isBound = requires.includes('baseUrl');
  if (profile && !(isBound && findOtherBaseUrl(sources))) {
    const { settings, path, sourceOf } = profile;
    const inProfile = settings[name];
    const isPath = inProfile !== undefined && name.endsWith('File');
    // It is relative to the config file.
    add(isPath ? resolvePath(String(inProfile), context, dirname(path)) : inProfile, sourceOf(name));
  }
  if (values.length === 0) add(defaultValue, { kind: 'default', name: 'default' });
  return values;
}

/** Returns whether a boolean setting is on; a variable may also be 1. */
export function isOn(setting: RawSetting | undefined): boolean {
  return setting?.text === 'true' || setting?.text === '1';
}

/** Returns the base URL in use where its origin is not the profile's, so that the profile's token must not be sent to it. */
export function findOtherBaseUrl(sources: ServiceSources): RawSetting | undefined {
  const baseUrl = resolveSetting('baseUrl', sources);
  const own = parseUrl(sources.profile?.settings.baseUrl);
  return parseUrl(baseUrl?.text)?.origin === own?.origin ? undefined : baseUrl;
}

/** Returns how messages name a setting: its flag, its variable, or its place in a profile. */
export function settingLabel(setting: string, { kind, name }: Source): string {
  return kind === 'profile' ? `${setting} of ${name}` : name;
}

/** The content of a file that a setting names; its name is what messages about it begin with. */
export type NamedBytes = NonNullable<Awaited<ReturnType<typeof readSettingFile>>>;

/** Reads the file that a setting names; undefined if it is not set. Throws UsageError. */
export async function readSettingFile(setting: SettingName, sources: ServiceSources) {
  const value = resolveSetting(setting, sources);
  if (!value) return undefined;
  const { text: path, source } = value;
  const label = settingLabel(setting, source);
  const name = `${label} ${path}`;
  if (path === '-') throw new UsageError(`${name}: the path of a file is required`);
  const { context } = sources;
  const reading = readBytes(path, {}, context);
  const bytes = await reading.catch(rewordInputError(`${label} `));
  return { name, path, bytes };
}

export type WaitSettings = Pick<FollowOptions, 'interval' | 'maxInterval' | 'timeout'>;

/** Resolves the settings of waiting, in milliseconds. Throws UsageError with every error. */
export async function resolveWaitSettings(sources: ServiceSources): Promise<WaitSettings> {
  const duration = (name: keyof WaitSettings) => () =>
    parseDuration(resolveSetting(name, sources)?.text ?? '');
  const {
    interval = 0,
    maxInterval = 0,
    timeout,
  } = await collectUsageErrors({
    interval: duration('interval'),
    maxInterval: duration('maxInterval'),
    timeout: duration('timeout'),
  });
  return { interval, maxInterval: Math.max(interval, maxInterval), timeout };
}

/** Returns the base URL of the service in use; undefined if it is missing or invalid. */
export function currentBaseUrl(sources: ServiceSources): string | undefined {
  const [current] = settingValues('baseUrl', sources);
  return parseUrl(current?.text)?.href;
}

/** Returns what gives the page of a run at the service in use, for people; undefined if it has none. */
export function resolveRunPages(sources: ServiceSources) {
  const template = resolveSetting('runUrl', sources)?.text;
  // An id with a lone surrogate has no URL.
  return (id: string) =>
    /\p{Surrogate}/u.test(id) ? undefined : template?.replace('{id}', () => encodeURIComponent(id));
}
