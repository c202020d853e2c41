/** The rules for the base URL of the service, wherever it comes from. */
import { isLoopback, parseUrl } from '../text/url.js';

/** Returns what is wrong with a base URL and how to fix it; undefined for a valid one. `permission` is what allows http. */
export function baseUrlProblem(
  text: string,
  allowHttp: boolean,
  permission = '--allow-http',
): string | undefined {
  const url = parseUrl(text);
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    if (text.includes('://')) return url === undefined ? 'is not a URL' : 'must begin with https://';
    const scheme = isLoopback(/^[^:/]*/.exec(text)?.[0] ?? '') ? 'http' : 'https';
    return `has no scheme; use ${scheme}://${redactUrl(text)}`;
  }
  if (url.username !== '' || url.password !== '') {
    return 'must not contain a user name or password';
  }
  if (url.port === '0') return 'has port 0, to which nothing can connect';
  if (url.search !== '' || url.hash !== '') return 'must not have a query or a fragment';
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url.hostname)) {
    return `would send the token unencrypted; use https://, or ${permission} on a private network`;
  }
  return undefined;
}

/** Hides what may be a secret in a URL, valid or not: everything before an `@`, a query, a fragment. */
export function redactUrl(text: string): string {
  return text.replace(/^(https?:\/{0,2})?.*@/is, '$1…@').replace(/[?#].*/s, (rest) => `${rest.charAt(0)}…`);
}
