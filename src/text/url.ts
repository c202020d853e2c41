/** Small questions about URLs. */

/** The URL that a text is, relative to `base` if given; undefined where it is none. (URL.parse is Node 22's.) */
export function parseUrl(text: string, base?: string): URL | undefined {
  return URL.canParse(text, base) ? new URL(text, base) : undefined;
}

/** Whether a URL's host name means this machine: localhost, 127.0.0.0/8, ::1 (RFC 6761, RFC 1122, RFC 4291). */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

/** An IPv6 address without the brackets that URLs put around it. */
export function stripBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
