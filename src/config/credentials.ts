/**
 * The access token: finds its source, loads it, and renews it when the service rejects it. It never appears in any
 * output.
 */
import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import { rewordInputError, UsageError, WfrError } from '../errors.js';
import { readBytes } from '../inputs/files.js';
import type { Context } from '../platform/context.js';
import type { ExecResult } from '../platform/exec.js';
import { readHiddenLine } from '../platform/hidden-line.js';
import { assertOwn, checkWriters, formatMode } from '../platform/ownership.js';
import { describeSystemError } from '../platform/system-error.js';
import type { Credentials } from '../service/service.js';
import { shellCommand } from '../text/shell-quote.js';
import { isLoopback, parseUrl } from '../text/url.js';
import type { Source } from './profile.js';
import {
  findOtherBaseUrl,
  resolveSetting,
  type ServiceSources,
  settingLabel,
  settingValues,
} from './resolve-setting.js';

export type TokenLocation = { source: Source } & (
  | { kind: 'variable'; token: string }
  /** `-` is standard input. */
  | { kind: 'file'; path: string }
  /** A command and its arguments, to be run in `folder`. */
  | { kind: 'command'; command: readonly string[]; folder: string }
);

/**
 * Returns which of --token-file, WFR_TOKEN, WFR_TOKEN_FILE and the profile's tokenFile or tokenCommand are set, of which the
 * first is used; an empty variable counts as unset, and with --no-token there are none. The profile of --profile overrides
 * the variables, which may be for another service. A profile's token is only for the origin of its base URL: `withheld` says
 * why it is not sent; undefined if it is sent, or not needed.
 */
export function findTokenLocations(sources: ServiceSources) {
  const { flags, profile, context } = sources;
  const { WFR_TOKEN: token } = context.env;
  const { tokenFile, tokenCommand: command, baseUrl } = profile?.settings ?? {};
  const other = tokenFile || command ? findOtherBaseUrl(sources) : undefined;
  const withheld =
    other &&
    `the token of profile ${profile?.name} is for ${parseUrl(baseUrl)?.origin} and is not sent to the base URL from ${other.source.name}`;
  const locations: TokenLocation[] = [];
  if (token) locations.push({ kind: 'variable', token, source: { kind: 'variable', name: 'WFR_TOKEN' } });
  for (const { text: path, source } of settingValues('tokenFile', sources))
    locations.push({ kind: 'file', path, source });
  if (profile && command && withheld === undefined) {
    const source = profile.sourceOf('tokenCommand');
    locations.push({ kind: 'command', command, folder: dirname(profile.path), source });
  }
  const isProfileFirst = profile?.chosenBy.kind === 'flag';
  const order = isProfileFirst ? ['flag', 'profile', 'variable'] : ['flag', 'variable', 'profile'];
  const ordered = order.flatMap((kind) => locations.filter(({ source }) => source.kind === kind));
  if (flags.token === false) return { locations: [] };
  return { locations: ordered, withheld: ordered.length === 0 ? withheld : undefined };
}

export interface LoadedCredentials extends Credentials {
  /** What `token` throws if it is missing; undefined if there is one, or none is needed: for this machine, or with --no-token. */
  readonly missing?: WfrError | undefined;
  /** About the source, and about those that are not used. */
  readonly warnings: readonly string[];
}

/**
 * Loads the token. A file is read at once; a command runs only when the token is needed. Throws UsageError if a source
 * cannot be read or contains no token.
 */
export async function loadCredentials(sources: ServiceSources): Promise<LoadedCredentials> {
  const { profile, context } = sources;
  const {
    locations: [location, ignored],
    withheld,
  } = findTokenLocations(sources);
  const warnings = withheld === undefined ? [] : [withheld];
  if (!location) {
    const missing = needsToken(sources) ? missingToken() : undefined;
    const token = async () => {
      if (missing) throw missing;
      return undefined;
    };
    return { token, refresh: async () => false, warnings, missing };
  }
  // Only the profile of --profile overrides a variable.
  if (ignored && location.source.kind === 'profile')
    warnings.push(`${ignored.source.name} is ignored: --profile ${profile?.name} has its own token`);
  const name = formatTokenSource(location);
  if (location.kind === 'command') {
    maskArguments(location.command);
    return renewable(name, (signal) => runTokenCommand(location, signal), warnings);
  }
  const read = async () => {
    const text = location.kind === 'file' ? await readTokenFile(location) : location.token;
    return checkToken(text, name);
  };
  const token = await read();
  // Standard input can be read only once.
  const isStdin = location.kind === 'file' && location.path === '-';
  return renewable(name, isStdin ? async () => token : read, warnings, token);

  function missingToken(): WfrError {
    const variables = ['WFR_TOKEN', 'WFR_TOKEN_FILE'].map((name) =>
      context.env[name] === '' ? `${name} (empty)` : name,
    );
    const lookedFor = ['--token-file', ...variables];
    if (profile) lookedFor.push(`profile ${profile.name}`);
    const summary = [`no access token: looked for ${lookedFor.join(', ')}`];
    if (withheld !== undefined) summary.push(withheld);
    return new WfrError('no-token', summary, {
      hints: ['Set WFR_TOKEN or --token-file; to send no token, use --no-token.'],
      createdNothing: true,
    });
  }

  async function readTokenFile({ path, source }: TokenLocation & { kind: 'file' }): Promise<string> {
    if (path === '-' && context.stdin.isTTY) return readHiddenLine('Access token', context);
    const label = settingLabel('tokenFile', source);
    const name = `${label} ${path}`;
    const { uid } = context;
    // A link may lead to another file than when it was checked first.
    const checkOwner = (stats: Stats) => {
      warnings.push(...checkWriters(name, stats, uid));
      const harm = ` (${formatMode(stats)}), to whose account the inputs would go`;
      if (stats.isFile()) assertOwn(name, stats, uid, harm);
    };
    const reading = readBytes(path, { checkOwner }, context);
    const bytes = await reading.catch(rewordInputError(`${label} `));
    // Without a byte order mark.
    return new TextDecoder().decode(bytes).replace(/\r?\n$/, '');
  }

  /** Masks the arguments of a token command, but not flags: they are words of ordinary messages. */
  function maskArguments([, ...args]: readonly string[]): void {
    for (const arg of args) {
      const flag = /^--[a-z-]+(?:=(.*))?$/s.exec(arg);
      context.secrets.addPossible(flag === null ? arg : flag[1]);
    }
  }

  /** Returns the first line that the command prints. Throws UsageError with its stderr, or the signal's reason. */
  async function runTokenCommand(
    { command: words, folder: cwd }: TokenLocation & { kind: 'command' },
    signal: AbortSignal,
  ): Promise<string> {
    const [program = '', ...args] = words;
    const command = formatTokenCommand(words, context);
    const failure = (problem: string, stderr?: string) =>
      new UsageError(`the token command ${command} ${problem} (${name})`, undefined, [], stderr);
    const running = context.exec(program, args, { cwd, signal });
    const result = await running.catch((error) => {
      signal.throwIfAborted();
      throw failure(`cannot be started: ${describeSystemError(error)}`);
    });
    // A command may report an error there and still exit with 0.
    const stderr = summarizeStderr(result);
    if (result.exitStatus !== 0) throw failure(describeExit(result.exitStatus), stderr);
    const [token = ''] = result.stdout.split(/\r?\n/, 1);
    return checkToken(token, `the first line of output of ${command} (${name})`, stderr);
  }

  /**
   * Returns a token that is valid in a header: visible ASCII (RFC 6750, section 2.1), and masks it. Throws UsageError with the
   * `stderr` of a command.
   */
  function checkToken(token: string, source: string, stderr?: string): string {
    context.secrets.add(token, '(the token)');
    if (/^[\x21-\x7e]+$/.test(token)) return token;
    const problem =
      token === ''
        ? 'is empty; expected the access token'
        : 'does not contain a valid access token: found a space, a line break or a non-ASCII character';
    throw new UsageError(`${source} ${problem}`, undefined, [], stderr);
  }
}

/** Returns whether the service requires a token: one on this machine does not. */
export function needsToken(sources: ServiceSources): boolean {
  const { hostname = '' } = parseUrl(resolveSetting('baseUrl', sources)?.text) ?? {};
  return sources.flags.token !== false && !isLoopback(hostname);
}

/** Returns a token that can be read again from its source; `current` is the one that was read already. */
function renewable(
  name: string,
  read: (signal: AbortSignal) => Promise<string>,
  warnings: readonly string[],
  current?: string,
): LoadedCredentials {
  let failure = '';
  /** The last rejected token for which the source was read again, so that it is read once for several requests. */
  let lastRejected: string | undefined;
  let pending: Promise<string> | undefined;
  /** Concurrent requests share one read. */
  const readOnce = (signal: AbortSignal) => {
    pending ??= read(signal).finally(() => {
      pending = undefined;
    });
    return pending;
  };
  return {
    warnings,
    get source() {
      return name + failure;
    },
    async token(signal) {
      current ??= await readOnce(signal);
      return current;
    },
    async refresh(rejected, signal) {
      // Another request may have renewed it already.
      if (current !== rejected) return true;
      if (lastRejected === rejected) return false;
      try {
        current = await readOnce(signal);
        failure = '';
        lastRejected = rejected;
      } catch (error) {
        signal.throwIfAborted();
        const isUsage = error instanceof UsageError;
        // A source that cannot be read counts as unchanged, but not one whose reading was interrupted.
        if (isUsage) lastRejected = rejected;
        // With what a token command wrote to stderr.
        const reason = isUsage ? error.facts.text.replaceAll('\n', '; ') : describeSystemError(error);
        failure = `, and reading it again failed: ${reason}`;
      }
      return current !== rejected;
    },
  };
}

/** Formats the source of a token for messages, such as "--token-file PATH". Never contains the token. */
function formatTokenSource(location: TokenLocation): string {
  const { kind, source } = location;
  const name = settingLabel(kind === 'file' ? 'tokenFile' : 'tokenCommand', source);
  return kind === 'file' && source.kind !== 'profile' ? `${name} ${location.path}` : name;
}

/** Formats a token command for messages, without its arguments: one may be a secret that does not look like one. */
export function formatTokenCommand(
  [program = '', ...args]: readonly string[],
  { platform }: Context,
): string {
  return shellCommand([program], platform) + (args.length > 0 ? ' …' : '');
}

function describeExit(exitStatus: ExecResult['exitStatus']): string {
  if (exitStatus === 'timeout') return 'timed out after 1m';
  return typeof exitStatus === 'number'
    ? `failed with exit code ${exitStatus}`
    : `was killed by ${exitStatus}`;
}

/** The most lines of stderr that are shown. */
const MAX_LINES = 10;

/** A word of this length may be a token among other words. */
const LONG_WORD = 16;

/** Returns the last lines of stderr, where programs report errors, without what is in stdout: that may be the token. */
function summarizeStderr({ stdout, stderr }: ExecResult): string {
  const lines = stdout.split(/\r?\n/).map((line) => line.trim());
  const words = stdout.split(/\s+/).filter((word) => word.length >= LONG_WORD);
  const hidden = [...lines.filter((line) => line.length >= 8), ...words];
  const shown = hidden.reduce((text, printed) => text.replaceAll(printed, '(hidden)'), stderr);
  return shown.trimEnd().split(/\r?\n/).slice(-MAX_LINES).join('\n');
}
