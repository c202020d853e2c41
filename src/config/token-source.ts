/** Where the access token is looked for, without looking there. */
import { dirname } from 'node:path';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/path.js';
import type { Profile } from './profile.js';
import { isOtherOrigin, rawSetting } from './settings.js';

export interface TokenFlags {
  tokenFile?: string;
  baseUrl?: string;
  /** False for --no-token. */
  token?: boolean;
}

/** `source` is what the user would call it. */
export type TokenLocation =
  | { kind: 'none' }
  | { kind: 'variable'; token: string; source: string }
  /** `-` is standard input. */
  | { kind: 'file'; path: string; source: string }
  /** A command and its arguments, to be run in `folder`. */
  | { kind: 'command'; words: readonly string[]; folder: string; source: string };

export interface TokenSource {
  location: TokenLocation;
  /** Every place that was looked at. */
  lookedFor: readonly string[];
  /** Why the profile's token is not sent where the request goes; undefined where it is, or is not needed. */
  withheld?: string;
}

/**
 * --token-file, WFR_TOKEN, WFR_TOKEN_FILE, the profile's tokenFile or tokenCommand, in this order; an empty variable
 * counts as unset. A profile's token belongs to its service: it is never for another origin.
 */
export function tokenSource(flags: TokenFlags, profile: Profile | undefined, context: Context): TokenSource {
  const inProfile = profile === undefined ? [] : [`profile ${profile.name}`];
  const lookedFor = ['--token-file', 'WFR_TOKEN', 'WFR_TOKEN_FILE', ...inProfile];
  const own = ownPlace(flags, context);
  if (own !== undefined) return { location: own, lookedFor };
  const ofProfile = profile === undefined ? undefined : profilePlace(profile, context);
  if (profile === undefined || ofProfile === undefined) return { location: { kind: 'none' }, lookedFor };
  const target = rawSetting('baseUrl', flags, profile, context);
  if (!isOtherOrigin(target, profile)) return { location: ofProfile, lookedFor };
  const owner = `the token of profile ${profile.name} belongs to ${originOf(profile)}`;
  return {
    location: { kind: 'none' },
    lookedFor,
    withheld: `${owner}, and is not sent to where ${target?.source} leads`,
  };
}

/** What was written for this command alone, or for this shell. */
function ownPlace({ token, tokenFile }: TokenFlags, { env }: Context): TokenLocation | undefined {
  if (token === false) return { kind: 'none' };
  if (tokenFile === '-') {
    return { kind: 'file', path: '-', source: 'standard input (--token-file -)' };
  }
  if (tokenFile !== undefined) {
    return { kind: 'file', path: tokenFile, source: `--token-file ${tokenFile}` };
  }
  const { WFR_TOKEN, WFR_TOKEN_FILE } = env;
  if (WFR_TOKEN) return { kind: 'variable', token: WFR_TOKEN, source: 'WFR_TOKEN' };
  if (!WFR_TOKEN_FILE) return undefined;
  return { kind: 'file', path: WFR_TOKEN_FILE, source: `WFR_TOKEN_FILE (${WFR_TOKEN_FILE})` };
}

function profilePlace({ settings, path, sourceOf }: Profile, context: Context): TokenLocation | undefined {
  const { tokenFile, tokenCommand } = settings;
  const folder = dirname(path);
  if (tokenFile !== undefined) {
    return {
      kind: 'file',
      path: resolvePath(tokenFile, folder, context),
      source: `tokenFile of ${sourceOf('tokenFile')}`,
    };
  }
  if (tokenCommand === undefined) return undefined;
  return {
    kind: 'command',
    words: tokenCommand,
    folder,
    source: `tokenCommand of ${sourceOf('tokenCommand')}`,
  };
}

function originOf({ settings }: Profile): string {
  return new URL(settings.baseUrl ?? '').origin;
}
