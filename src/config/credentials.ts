/** Loads the access token from its source, and renews it when the service rejects it. It never appears in any output. */
import type { Stats } from 'node:fs';
import { UsageError, WfrError } from '../errors.js';
import type { Context } from '../platform/context.js';
import type { Credentials } from '../service/service.js';
import { isLoopback } from '../text/url.js';
import type { ServiceSources } from './resolve-setting.js';
import {
  assertOwnToken,
  checkToken,
  findTokenSource,
  formatTokenSource,
  maskArguments,
  type TokenLocation,
  tokenFix,
} from './token-source.js';

export interface LoadedCredentials extends Credentials {
  /** The error for when a token is needed; undefined if there is one, and with --no-token. */
  readonly missing?: WfrError;
}

/**
 * Loads the token. A file is read at once; a command runs only when the token is needed. Throws UsageError if a source
 * cannot be read or contains no token.
 */
export async function loadCredentials(sources: ServiceSources): Promise<LoadedCredentials> {
  const { flags, context } = sources;
  const { location, lookedFor, withheld } = findTokenSource(sources);
  if (location === undefined) {
    const missing = flags.token === false ? {} : { missing: missingToken(lookedFor, withheld) };
    const token = async () => undefined;
    return { source: undefined, fix: undefined, token, refresh: async () => false, ...missing };
  }
  const source = formatTokenSource(location);
  const fix = tokenFix(location);
  switch (location.kind) {
    case 'variable': {
      const token = checkToken(location.token, source, context.secrets);
      return new RenewableToken(source, fix, async () => token, token);
    }
    case 'file': {
      const token = await readToken(location, context);
      // Standard input can be read only once.
      const read = async () => (location.path === '-' ? token : readToken(location, context));
      return new RenewableToken(source, fix, read, token);
    }
    case 'command': {
      maskArguments(location.command, context.secrets);
      const { runTokenCommand } = await import('./token-command.js');
      return new RenewableToken(source, fix, (signal) => runTokenCommand(location, context, signal));
    }
  }
}

/**
 * Gets the token for the first time, which runs a token command. Throws WfrError if there is none and one is
 * needed, which is not so for this machine or with --no-token; UsageError if the command fails; the signal's reason.
 */
export async function requireToken(
  credentials: LoadedCredentials,
  baseUrl: URL,
  signal?: AbortSignal,
): Promise<void> {
  if (credentials.missing !== undefined && !isLoopback(baseUrl.hostname)) throw credentials.missing;
  await credentials.token(signal);
}

/** A token that can be read again from its source. */
class RenewableToken implements Credentials {
  #failure = '';
  /** The last rejected token for which the source was read again, so that it is read once for several requests. */
  #rejected: string | undefined;
  #pendingRead: Promise<string> | undefined;

  constructor(
    private readonly name: string,
    readonly fix: string,
    private readonly read: (signal?: AbortSignal) => Promise<string>,
    private current?: string,
  ) {}

  get source(): string {
    return this.name + this.#failure;
  }

  async token(signal?: AbortSignal): Promise<string> {
    this.current ??= await this.#readOnce(signal);
    return this.current;
  }

  async refresh(rejected: string | undefined, signal?: AbortSignal): Promise<boolean> {
    // Another request may have renewed it already.
    if (this.current !== rejected) return true;
    if (this.#rejected === rejected) return false;
    try {
      this.current = await this.#readOnce(signal);
      this.#failure = '';
      this.#rejected = rejected;
    } catch (error) {
      signal?.throwIfAborted();
      // A source that cannot be read counts as unchanged, but not one whose reading was interrupted.
      if (error instanceof UsageError) this.#rejected = rejected;
      this.#failure = `, and reading it again failed: ${messageOnOneLine(error)}`;
    }
    return this.current !== rejected;
  }

  /** Concurrent requests share one read. */
  #readOnce(signal?: AbortSignal): Promise<string> {
    this.#pendingRead ??= this.read(signal).finally(() => {
      this.#pendingRead = undefined;
    });
    return this.#pendingRead;
  }
}

function missingToken(lookedFor: readonly string[], withheld: string | undefined): WfrError {
  const summary = [`no access token: looked for ${lookedFor.join(', ')}`];
  if (withheld !== undefined) summary.push(withheld);
  return new WfrError('no-token', summary, {
    hints: ['Set WFR_TOKEN or --token-file; to send no token, use --no-token.'],
    createdNothing: true,
  });
}

/** Includes what a token command wrote to stderr. */
function messageOnOneLine(error: unknown): string {
  if (!(error instanceof UsageError)) return error instanceof Error ? error.message : String(error);
  const quoted = error.quoted ? [error.quoted.replaceAll('\n', '; ')] : [];
  return [...error.problems, ...quoted].join(': ');
}

async function readToken(location: TokenLocation & { kind: 'file' }, context: Context): Promise<string> {
  const { FileError, readBytes } = await import('../inputs/files.js');
  const source = formatTokenSource(location);
  if (location.path === '-' && context.stdin.isTTY === true) {
    const { readHiddenLine } = await import('../platform/hidden-line.js');
    return checkToken(await readHiddenLine('Access token (not shown): ', context), source, context.secrets);
  }
  try {
    // A link may lead to another file than when it was checked first.
    const checkOwner = (stats: Stats) => assertOwnToken(location.path, stats, context);
    const bytes = await readBytes(location.path, { base: context.cwd, checkOwner }, context);
    const text = decodeTokenFile(bytes, source);
    return checkToken(text.replace(/\r?\n$/, ''), source, context.secrets);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    // The message names the file; only a profile needs to be named besides.
    const setBy = location.source.kind === 'profile' ? ` (${source})` : '';
    throw new UsageError([`the access token cannot be read: ${error.message}${setBy}`]);
  }
}

/** Returns the text of a token file. Throws UsageError for UTF-16, as PowerShell writes it. */
function decodeTokenFile(bytes: Buffer, source: string): string {
  // A token is ASCII, of which UTF-16 makes a zero byte and the character.
  if (bytes.includes(0)) throw new UsageError([`${source} is encoded as UTF-16; save it as UTF-8`]);
  return bytes.toString('utf8').replace(/^\uFEFF/, '');
}
