/** URLs, host names and UUIDs (RFC 9562) as text, and the rules for the base URL of the service. */

/** Parses a URL, relative to `base` if given; undefined if there is none, or it is invalid. URL.parse requires Node 22. */
export function parseUrl(text = '', base?: string): URL | undefined {
  return URL.canParse(text, base) ? new URL(text, base) : undefined;
}

/** Returns whether a host name or an address is this machine: localhost, 127.0.0.0/8, ::1 (RFC 6761, RFC 1122, RFC 4291). */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/.test(hostname);
}

/** Removes the brackets around an IPv6 address in a URL. */
export function stripBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** Returns the port of an http or https URL, also where it is the usual one. */
export function portOf({ port, protocol }: URL): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

/**
 * Returns what is wrong with a base URL of the service and how to fix it; undefined for a valid one. `permission` is what
 * allows http.
 */
export function baseUrlProblem(
  text: string,
  allowHttp: boolean,
  permission = '--allow-http',
): string | undefined {
  const url = parseUrl(text);
  if (!url || !/^https?:$/.test(url.protocol)) {
    if (text.includes('://')) return url ? 'must begin with https:// or http://' : 'is not a URL';
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
  return text.replace(/^(https?:\/{0,2})?.*@/is, '$1…@').replace(/([?#]).*/s, '$1…');
}

/** Without a flag, as the schema of the config file has it, too. */
export const UUID = /^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/;

/** Returns whether a text is a UUID, of any version (RFC 9562, section 4). */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Returns an id such that equal ones are the same text: UUIDs compare without regard to case (RFC 9562, section 4). */
export function comparableId(id: string): string {
  return isUuid(id) ? id.toLowerCase() : id;
}
