/** The access token: where it is looked for, and that it can stand in a header. It never appears in any output. */
import type { Context } from '../context.js';
import { MissingTokenError, UsageError } from '../errors.js';
import type { Credentials } from '../service/service.js';
import { isLoopback } from '../url.js';

export interface TokenFlags {
  tokenFile?: string;
  /** False for --no-token. */
  token?: boolean;
}

const NO_CREDENTIALS: Credentials = {
  source: undefined,
  token: async () => undefined,
  refresh: async () => false,
};

/**
 * Finds the token: --token-file, WFR_TOKEN, WFR_TOKEN_FILE, in this order; an empty variable counts as unset. Throws
 * UsageError where a source cannot be read or holds no token.
 */
export async function loadCredentials(flags: TokenFlags, context: Context): Promise<Credentials> {
  if (flags.token === false) return NO_CREDENTIALS;
  const { WFR_TOKEN, WFR_TOKEN_FILE } = context.env;
  if (flags.tokenFile !== undefined) {
    const name =
      flags.tokenFile === '-' ? 'standard input (--token-file -)' : `--token-file ${flags.tokenFile}`;
    return fileCredentials(flags.tokenFile, name, context);
  }
  if (WFR_TOKEN) {
    const token = checkToken(WFR_TOKEN, 'WFR_TOKEN');
    return { source: 'WFR_TOKEN', token: async () => token, refresh: async () => false };
  }
  if (WFR_TOKEN_FILE) return fileCredentials(WFR_TOKEN_FILE, `WFR_TOKEN_FILE (${WFR_TOKEN_FILE})`, context);
  return NO_CREDENTIALS;
}

/** Throws MissingTokenError where a token is needed: not on this machine, and not with --no-token. */
export function requireToken({ source }: Credentials, flags: TokenFlags, baseUrl: URL): void {
  if (source !== undefined || flags.token === false || isLoopback(baseUrl.hostname)) return;
  throw new MissingTokenError(['--token-file', 'WFR_TOKEN', 'WFR_TOKEN_FILE']);
}

async function fileCredentials(path: string, source: string, context: Context): Promise<Credentials> {
  const read = () => readToken(path, source, context);
  let token = await read();
  return {
    source,
    token: async () => token,
    async refresh(refused) {
      // Somebody else's look may have been the second one.
      if (path === '-' || token !== refused) return token !== refused;
      // What cannot be read now has not changed.
      token = await read().catch(() => token);
      return token !== refused;
    },
  };
}

async function readToken(path: string, source: string, context: Context): Promise<string> {
  const { FileError, readBytes } = await import('../inputs/files.js');
  try {
    const text = (await readBytes(path, context.cwd, context)).toString('utf8');
    return checkToken(text.replace(/\r?\n$/, ''), source);
  } catch (error) {
    if (error instanceof FileError)
      throw new UsageError([`the access token cannot be read: ${error.message}`]);
    throw error;
  }
}

/** A token travels in a header, as one word of visible ASCII (RFC 6750, section 2.1). */
function checkToken(token: string, source: string): string {
  if (token === '') throw new UsageError([`${source} is empty; it should hold the access token`]);
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new UsageError([
      `${source} does not hold a token: there is a space, a line break or a character beyond ASCII in it`,
    ]);
  }
  return token;
}
