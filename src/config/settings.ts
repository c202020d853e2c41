/** Flags over environment over the profile: what was written for a setting, and where. */
import type { Context } from '../platform/context.js';
import { parseUrl } from '../text/url.js';
import type { Profile } from './profile.js';

const NAMES = {
  baseUrl: { flag: '--base-url', variable: 'WFR_BASE_URL' },
  allowHttp: { flag: '--allow-http', variable: 'WFR_ALLOW_HTTP' },
  workflowIdField: { flag: '--workflow-id-field', variable: 'WFR_WORKFLOW_ID_FIELD' },
  // A guarantee about one service: nothing to be set once for a whole environment.
  resend503: { flag: '--resend-503', variable: undefined },
  interval: { flag: '--interval', variable: undefined },
  maxInterval: { flag: '--max-interval', variable: undefined },
  timeout: { flag: '--timeout', variable: undefined },
} as const;

/** Settings of a profile that apply to its own service only. */
const PERMISSIONS: ReadonlySet<SettingName> = new Set(['allowHttp', 'resend503']);

export type SettingName = keyof typeof NAMES;

/** The flags of settings, as they were written. */
export type SettingFlags = { [Name in SettingName]?: string | boolean };

export interface RawSetting {
  text: string;
  /** A flag, a variable, or a place in the config file. */
  source: string;
}

/** What was written for a setting, where it counts most; undefined where it was not. An empty variable is unset. */
export function rawSetting(
  name: SettingName,
  flags: SettingFlags,
  profile: Profile | undefined,
  { env }: Pick<Context, 'env'>,
): RawSetting | undefined {
  const { flag, variable } = NAMES[name];
  const given = flags[name];
  if (given !== undefined) return { text: String(given), source: flag };
  const inEnvironment = variable && env[variable];
  if (inEnvironment) return { text: inEnvironment, source: variable };
  const inProfile = profile?.settings[name];
  // What is permitted for one service is not permitted for another.
  if (PERMISSIONS.has(name) && isOtherOrigin(rawSetting('baseUrl', flags, profile, { env }), profile))
    return undefined;
  if (profile === undefined || inProfile === undefined) return undefined;
  return { text: String(inProfile), source: profile.sourceOf(name) };
}

/** Whether what was written permits something. */
export function isPermitted(written: RawSetting | undefined): boolean {
  return written?.text === 'true' || written?.text === '1';
}

/** Whether a base URL leads to another origin than the profile's, so that what is the profile's is not for it. */
export function isOtherOrigin(baseUrl: RawSetting | undefined, profile: Profile | undefined): boolean {
  return originOf(baseUrl?.text) !== originOf(profile?.settings.baseUrl);
}

function originOf(url: string | undefined): string | undefined {
  return url === undefined ? undefined : parseUrl(url)?.origin;
}
