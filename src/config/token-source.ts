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
import type { Profile, Source } from './profile.js';
import { isOtherOrigin, resolveSetting, type ServiceSources } from './resolve-setting.js';

export type TokenLocation = { source: Source } & (
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
  const { WFR_TOKEN: token, WFR_TOKEN_FILE: path } = context.env;
  const fromFlag: TokenLocation[] = [];
  if (flags.tokenFile !== undefined)
    fromFlag.push({ kind: 'file', path: flags.tokenFile, source: { kind: 'flag', name: '--token-file' } });
  const fromVariables: TokenLocation[] = [];
  if (token) fromVariables.push({ kind: 'variable', token, source: { kind: 'variable', name: 'WFR_TOKEN' } });
  if (path) fromVariables.push({ kind: 'file', path, source: { kind: 'variable', name: 'WFR_TOKEN_FILE' } });
  const fromProfile = profile === undefined ? [] : profileLocations(profile, context);
  const withheld = whyWithheld(sources);
  const isProfileFirst = profile?.chosenBy.kind === 'flag' && withheld === undefined;
  const others = isProfileFirst ? [...fromProfile, ...fromVariables] : [...fromVariables, ...fromProfile];
  const [location, ...overridden] = flags.token === false ? [] : [...fromFlag, ...others];
  const variables = ['WFR_TOKEN', 'WFR_TOKEN_FILE'];
  const lookedFor = [
    '--token-file',
    ...variables.map((name) => (context.env[name] === '' ? `${name} (empty)` : name)),
    ...(profile === undefined ? [] : [`profile ${profile.name}`]),
  ];
  return location?.source.kind === 'profile' && withheld !== undefined
    ? { location: undefined, overridden: [], lookedFor, withheld }
    : { location, overridden, lookedFor };
}

function profileLocations({ settings, path, sourceOf }: Profile, context: Context): TokenLocation[] {
  const { tokenFile, tokenCommand: command } = settings;
  const folder = dirname(path);
  if (tokenFile !== undefined)
    return [{ kind: 'file', path: resolvePath(tokenFile, folder, context), source: sourceOf('tokenFile') }];
  return command === undefined
    ? []
    : [{ kind: 'command', command, folder, source: sourceOf('tokenCommand') }];
}

/** Returns why the profile's token must not be sent to the base URL in use; undefined if it may be. */
function whyWithheld(sources: ServiceSources): string | undefined {
  const { profile } = sources;
  const baseUrl = resolveSetting('baseUrl', sources);
  if (profile === undefined || baseUrl === undefined || !isOtherOrigin(baseUrl, profile)) return undefined;
  const { origin } = parseUrl(profile.settings.baseUrl ?? '') ?? {};
  return `the token of profile ${profile.name} is for ${origin} and is not sent to the base URL from ${baseUrl.source.name}`;
}

/** Formats the source of a token for messages, such as "--token-file PATH". Never contains the token. */
export function formatTokenSource(location: TokenLocation): string {
  const { kind, source } = location;
  if (source.kind === 'profile') return `${kind === 'file' ? 'tokenFile' : 'tokenCommand'} of ${source.name}`;
  return kind === 'file' ? `${source.name} ${location.path}` : source.name;
}

/** Returns what to change for another token, as a sentence. */
export function tokenFix(location: TokenLocation): string {
  const goal = 'a token with permission for this';
  if (location.kind === 'command') return `Fix ${formatTokenSource(location)}.`;
  if (location.kind === 'variable') return `Set ${location.source.name} to ${goal}.`;
  if (location.path === '-') return `Write ${goal} to standard input.`;
  return `Write ${goal} to ${location.path}, or fix ${location.source.name}.`;
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
