/** The access token: got from where it is, and able to stand in a header. It never appears in any output. */

import { MissingTokenError, UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { type Credentials, withoutToken } from '../service/service.js';
import { isLoopback } from '../text/url.js';
import { checkToken } from './check-token.js';
import type { Profile } from './profile.js';
import { type TokenFlags, tokenSource } from './token-source.js';

export interface LoadedCredentials extends Credentials {
  /** What is thrown where a token is needed; undefined where there is one, and with --no-token. */
  readonly missing?: MissingTokenError;
}

/**
 * Finds the token. A file is read at once, a command is run only when the token is asked for. Throws UsageError where a
 * source cannot be read or holds no token.
 */
export async function loadCredentials(
  flags: TokenFlags,
  profile: Profile | undefined,
  context: Context,
): Promise<LoadedCredentials> {
  const { location, lookedFor, withheld } = tokenSource(flags, profile, context);
  switch (location.kind) {
    case 'none':
      return {
        ...fixedToken(undefined, undefined),
        ...(flags.token !== false && { missing: new MissingTokenError(lookedFor, withheld) }),
      };
    case 'variable':
      return fixedToken(location.source, checkToken(location.token, location.source));
    case 'file': {
      const read = () => readToken(location.path, location.source, context);
      const token = await read();
      // Standard input can be read once.
      return location.path === '-'
        ? fixedToken(location.source, token)
        : new RenewableToken(location.source, read, token);
    }
    case 'command': {
      const { runTokenCommand } = await import('./token-command.js');
      const run = (signal?: AbortSignal) => runTokenCommand(location, context, signal);
      return new RenewableToken(location.source, run);
    }
  }
}

/**
 * Gets the token for the first time, which runs a token command. Throws MissingTokenError where a token is needed and
 * there is none: not on this machine, and not with --no-token; UsageError where the command fails; the signal's reason.
 */
export async function requireToken(
  credentials: LoadedCredentials,
  baseUrl: URL,
  signal?: AbortSignal,
): Promise<void> {
  if (credentials.missing !== undefined && !isLoopback(baseUrl.hostname)) throw credentials.missing;
  await credentials.token(signal);
}

function fixedToken(source: string | undefined, token: string | undefined): Credentials {
  return { source, token: async () => token, refresh: async () => false };
}

/** A token that its source may give anew. */
class RenewableToken implements Credentials {
  #failure = '';
  /** The last refused token for which the source was read again: those who are refused later share what came of it. */
  #refused: string | undefined;
  #reading: Promise<string> | undefined;

  constructor(
    private readonly name: string,
    private readonly read: (signal?: AbortSignal) => Promise<string>,
    private known?: string,
  ) {}

  get source(): string {
    return this.name + this.#failure;
  }

  async token(signal?: AbortSignal): Promise<string> {
    this.known ??= await this.#readOnce(signal);
    return this.known;
  }

  async refresh(refused: string | undefined, signal?: AbortSignal): Promise<boolean> {
    // Somebody else's look may have been the second one.
    if (this.known !== refused) return true;
    if (this.#refused === refused) return false;
    try {
      this.known = await this.#readOnce(signal);
      this.#failure = '';
      this.#refused = refused;
    } catch (error) {
      signal?.throwIfAborted();
      // What cannot be read now has not changed; who else was waiting for it may have been interrupted.
      if (error instanceof UsageError) this.#refused = refused;
      this.#failure = `, which failed at a second look: ${withoutToken(wordsOf(error), refused)}`;
    }
    return this.known !== refused;
  }

  /** Those who ask at the same time share one look. */
  #readOnce(signal?: AbortSignal): Promise<string> {
    this.#reading ??= this.read(signal).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }
}

/** What went wrong, and what a command said of it, on one line. */
function wordsOf(error: unknown): string {
  if (!(error instanceof UsageError)) return error instanceof Error ? error.message : String(error);
  const said = error.quoted ? [error.quoted.replaceAll('\n', '; ')] : [];
  return [...error.problems, ...said].join(': ');
}

async function readToken(path: string, source: string, context: Context): Promise<string> {
  const { FileError, readBytes } = await import('../inputs/files.js');
  try {
    const text = (await readBytes(path, context.cwd, context)).toString('utf8');
    return checkToken(text.replace(/\r?\n$/, ''), source);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    const place = source.startsWith('tokenFile of ') ? ` (${source})` : '';
    throw new UsageError([`the access token cannot be read: ${error.message}${place}`]);
  }
}
