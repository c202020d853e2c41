/** Parses the request headers that a user adds with --header. */
import { UsageError } from '../errors.js';

/** Set by wfr itself, or reserved for the connection (RFC 9110, section 7.6.1). */
const OWN_HEADERS = new Set([
  'accept',
  'accept-encoding',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
]);

/**
 * Parses lines of the form `name: value` into headers by lower-case name; Authorization is allowed only if wfr sends no
 * token. Throws UsageError, which never shows a value: it may be a secret.
 */
export function parseHeaders(lines: readonly string[], mayAuthorize: boolean): Record<string, string> {
  const headers = new Map<string, string>();
  const problems: string[] = [];
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:]*):(.*)$/s.exec(line) ?? [];
    const key = name.trim().toLowerCase();
    const isOwn = OWN_HEADERS.has(key) && !(mayAuthorize && key === 'authorization');
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(key)) {
      problems.push('--header: expected "name: value" (the value is not shown, as it may contain a secret)');
    } else if (isOwn) {
      problems.push(`--header ${name.trim()}: wfr sets this header itself`);
    } else if (!/^[\t\x20-\x7e]*$/.test(value)) {
      problems.push(`--header ${name.trim()}: the value contains a line break or a non-ASCII character`);
    } else {
      headers.set(key, value.trim());
    }
  }
  if (problems.length > 0) throw new UsageError(problems);
  return Object.fromEntries(headers);
}
