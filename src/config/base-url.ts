/** The service's address, and the rules for it. */
import { UsageError } from '../errors.js';
import { isLoopback, parseUrl } from '../url.js';

/** The URL that was written in `source` (a flag or a variable). Throws UsageError; user info is never shown. */
export function parseBaseUrl(written: string | undefined, source: string, allowHttp: boolean): URL {
  if (written === undefined) {
    throw new UsageError([
      'no base URL: set WFR_BASE_URL or give --base-url, such as https://workflows.example.com/api/v1' +
        ' (to try wfr without a service: wfr sandbox)',
    ]);
  }
  const shown = `${source} ${withoutUserInfo(written)}`;
  const url = parseUrl(written);
  const complaint = url === undefined ? schemeComplaint(written) : urlComplaint(url, written, allowHttp);
  if (url === undefined || complaint !== undefined) throw new UsageError([`${shown}: ${complaint}`]);
  return url;
}

function schemeComplaint(written: string): string {
  if (written.includes('://')) return 'is not a URL';
  const scheme = isLoopback(/^[^:/]*/.exec(written)?.[0] ?? '') ? 'http' : 'https';
  return `has no scheme; write ${scheme}://${withoutUserInfo(written)}`;
}

function urlComplaint(url: URL, written: string, allowHttp: boolean): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return written.includes('://') ? 'must begin with https://' : schemeComplaint(written);
  }
  if (url.username !== '' || url.password !== '') {
    return 'must not hold a user name or password; put the token into WFR_TOKEN or a file';
  }
  if (url.search !== '' || url.hash !== '') return 'must not have a query or a fragment';
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url.hostname)) {
    return 'would send the token unencrypted; use https://, or --allow-http on a private network';
  }
  return undefined;
}

/** A URL that may not parse, without what may be a secret in it: what stands before an `@`, a query, a fragment. */
function withoutUserInfo(written: string): string {
  return written.replace(/^(https?:\/*)?.*@/is, '$1…@').replace(/[?#].*/s, (rest) => `${rest.charAt(0)}…`);
}
