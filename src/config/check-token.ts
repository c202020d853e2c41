import { UsageError } from '../errors.js';

/** The token, which travels in a header, as one word of visible ASCII (RFC 6750, section 2.1). Throws UsageError. */
export function checkToken(token: string, source: string): string {
  if (token === '') throw new UsageError([`${source} is empty; it should hold the access token`]);
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new UsageError([
      `${source} does not hold a token: there is a space, a line break or a character beyond ASCII in it`,
    ]);
  }
  return token;
}
