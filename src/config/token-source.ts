/** Finds the source of the access token without reading it, and checks a token that was read. */
import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { findFileRisk, formatMode, isForeign } from '../platform/ownership.js';
import type { SecretMask } from '../text/secret-mask.js';
import { shellCommand } from '../text/shell-quote.js';
import { parseUrl } from '../text/url.js';
import { formatSource, type Profile, type SettingSource } from './profile.js';
import { isOtherOrigin, resolveSetting, type ServiceFlags, type ServiceSources } from './resolve-setting.js';

export type TokenLocation = { source: SettingSource } & (
  | { kind: 'variable'; token: string }
  /** `-` is standard input. */
  | { kind: 'file'; path: string }
  /** A command and its arguments, to be run in `folder`. */
  | { kind: 'command'; command: readonly string[]; folder: string }
);

export interface TokenSource {
  /** Undefined if no token is configured, or with --no-token. */
  location: TokenLocation | undefined;
  /** The flags, variables and profiles that were searched, for messages. */
  lookedFor: readonly string[];
  /** Why the profile's token is not sent; undefined if it is sent, or not needed. */
  withheld?: string;
  /** The sources that are set, too. */
  overridden: readonly TokenLocation[];
}

/**
 * Returns the first of --token-file, WFR_TOKEN, WFR_TOKEN_FILE and the profile's tokenFile or tokenCommand; an empty
 * variable counts as unset. The profile of --profile overrides the variables, which may be for another service. A
 * profile's token is only for the origin of its base URL.
 */
export function findTokenSource(sources: ServiceSources): TokenSource {
  const { flags, profile, context } = sources;
  const inProfile = profile === undefined ? [] : [`profile ${profile.name}`];
  const inVariables = ['WFR_TOKEN', 'WFR_TOKEN_FILE'].map((name) =>
    context.env[name] === '' ? `${name} (empty)` : name,
  );
  const lookedFor = ['--token-file', ...inVariables, ...inProfile];
  const fromVariables = variableLocations(context);
  const fromProfile = profile && profileLocation(profile, context);
  const otherOrigin = findOtherOrigin(sources);
  const isProfileFirst = profile?.chosenBy.kind === 'flag' && otherOrigin === undefined;
  const [location, ...overridden] = [
    flagLocation(flags),
    ...(isProfileFirst ? [fromProfile, ...fromVariables] : [...fromVariables, fromProfile]),
  ].filter((one) => one !== undefined);
  const none = { location: undefined, overridden: [], lookedFor };
  if (flags.token === false || location === undefined) return none;
  if (location === fromProfile && otherOrigin !== undefined) return { ...none, withheld: otherOrigin };
  return { location, overridden, lookedFor };
}

/** Returns why the profile's token must not be sent to the base URL in use; undefined if it may be. */
function findOtherOrigin(sources: ServiceSources): string | undefined {
  const { profile } = sources;
  const baseUrl = resolveSetting('baseUrl', sources);
  if (profile === undefined || baseUrl === undefined || !isOtherOrigin(baseUrl, profile)) return undefined;
  const { origin } = parseUrl(profile.settings.baseUrl ?? '') ?? {};
  return `the token of profile ${profile.name} is for ${origin} and is not sent to the base URL from ${formatSource(baseUrl.source)}`;
}

function flagLocation({ tokenFile }: ServiceFlags): TokenLocation | undefined {
  if (tokenFile === undefined) return undefined;
  return { kind: 'file', path: tokenFile, source: { kind: 'flag', name: '--token-file' } };
}

function variableLocations({ env }: Context): TokenLocation[] {
  const { WFR_TOKEN: token, WFR_TOKEN_FILE: path } = env;
  return [
    ...(token ? [{ kind: 'variable', token, source: { kind: 'variable', name: 'WFR_TOKEN' } } as const] : []),
    ...(path ? [{ kind: 'file', path, source: { kind: 'variable', name: 'WFR_TOKEN_FILE' } } as const] : []),
  ];
}

function profileLocation({ settings, path, sourceOf }: Profile, context: Context): TokenLocation | undefined {
  const { tokenFile, tokenCommand } = settings;
  const folder = dirname(path);
  if (tokenFile !== undefined) {
    return { kind: 'file', path: resolvePath(tokenFile, folder, context), source: sourceOf('tokenFile') };
  }
  if (tokenCommand === undefined) return undefined;
  return { kind: 'command', command: tokenCommand, folder, source: sourceOf('tokenCommand') };
}

/** Formats the source of a token for messages, such as "--token-file PATH". Never contains the token. */
export function formatTokenSource(location: TokenLocation): string {
  const { source } = location;
  const name = formatSource(source);
  if (source.kind === 'profile') return `${source.setting} of ${name}`;
  if (location.kind !== 'file') return name;
  return location.path === '-' ? `standard input (${name} -)` : `${name} ${location.path}`;
}

/** Returns what to change for another token, as a sentence. Never contains the token. */
export function tokenFix(location: TokenLocation): string {
  const { source } = location;
  const setting =
    source.kind === 'profile'
      ? `${source.setting} in ${source.path}, line ${source.line}`
      : formatSource(source);
  if (location.kind === 'command') return `Fix ${setting}.`;
  const goal = 'a token with permission for this';
  if (location.kind === 'variable') return `Set ${setting} to ${goal}.`;
  if (location.path === '-') return `Write ${goal} to standard input.`;
  return `Write ${goal} to ${location.path}, or fix ${setting}.`;
}

/** Formats a token command for messages, without its arguments: one may be a secret that does not look like one. */
export function formatTokenCommand(
  [program = '', ...args]: readonly string[],
  { platform }: Pick<Context, 'platform'>,
): string {
  const count = args.length === 1 ? '1 argument' : `${args.length || 'no'} arguments`;
  return `${shellCommand([program], platform)} with ${count}`;
}

/** Masks the arguments of a token command, but not flags: they are words of ordinary messages. */
export function maskArguments([, ...args]: readonly string[], secrets: SecretMask): void {
  for (const arg of args) {
    const flag = /^--[a-z-]+(?:=(.*))?$/s.exec(arg);
    secrets.addPossible(flag === null ? arg : flag[1]);
  }
}

/** Returns a token that is valid in a header: visible ASCII (RFC 6750, section 2.1), and masks it. Throws UsageError. */
export function checkToken(token: string, source: string, secrets: SecretMask): string {
  secrets.add(token, '(the token)');
  if (token === '') throw new UsageError([`${source} is empty; expected the access token`]);
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new UsageError([
      `${source} does not contain a valid access token: found a space, a line break or a non-ASCII character`,
    ]);
  }
  return token;
}

/** Throws UsageError if any user can write to a token file, or if it is another user's: documents would go to their account. */
export function assertOwnToken(path: string, stats: Stats, { uid }: Context): void {
  const risk = findFileRisk(path, stats, uid);
  if (risk?.isFatal) throw new UsageError([`the token file ${path}: ${risk.message}`]);
  if (stats.isFile() && isForeign(stats, uid))
    throw new UsageError([
      `the token file ${path}: belongs to another user (${formatMode(stats)}), to whose account the inputs would go; use a copy of your own`,
    ]);
}
