/** The service's address, and the rules for it. */
import { UsageError } from '../errors.js';
import { isLoopback, parseUrl } from '../text/url.js';
import type { RawSetting } from './settings.js';

/** The URL that was written. Throws UsageError; user info is never shown. */
export function parseBaseUrl(written: RawSetting | undefined, allowHttp: boolean): URL {
  if (written === undefined) {
    throw new UsageError([
      'no base URL: set WFR_BASE_URL or give --base-url, such as https://workflows.example.com/api/v1,' +
        ' or choose a --profile (to try wfr without a service: wfr sandbox)',
    ]);
  }
  const { text, source } = written;
  const url = parseUrl(text);
  const complaint = baseUrlProblem(text, allowHttp);
  if (url === undefined || complaint !== undefined) {
    throw new UsageError([`${source} ${withoutUserInfo(text)}: ${complaint}`]);
  }
  return url;
}

/** What is wrong with a base URL, and how to mend it; undefined for a good one. */
export function baseUrlProblem(
  written: string,
  allowHttp: boolean,
  permission = '--allow-http',
): string | undefined {
  const url = parseUrl(written);
  return url === undefined ? schemeProblem(written) : urlProblem(url, written, allowHttp, permission);
}

function schemeProblem(written: string): string {
  if (written.includes('://')) return 'is not a URL';
  const scheme = isLoopback(/^[^:/]*/.exec(written)?.[0] ?? '') ? 'http' : 'https';
  return `has no scheme; write ${scheme}://${withoutUserInfo(written)}`;
}

function urlProblem(url: URL, written: string, allowHttp: boolean, permission: string): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return written.includes('://') ? 'must begin with https://' : schemeProblem(written);
  }
  if (url.username !== '' || url.password !== '') {
    return 'must not hold a user name or password; put the token into WFR_TOKEN or a file';
  }
  if (url.search !== '' || url.hash !== '') return 'must not have a query or a fragment';
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url.hostname)) {
    return `would send the token unencrypted; use https://, or ${permission} on a private network`;
  }
  return undefined;
}

/** A URL that may not parse, without what may be a secret in it: what stands before an `@`, a query, a fragment. */
export function withoutUserInfo(written: string): string {
  return written.replace(/^(https?:\/*)?.*@/is, '$1…@').replace(/[?#].*/s, (rest) => `${rest.charAt(0)}…`);
}
