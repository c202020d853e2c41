/** The request headers that a user may add. */
import { UsageError } from '../errors.js';

/** Those that wfr sets itself, or that HTTP keeps for the connection. */
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
 * Headers by name in lower case, from lines of the form `name: value`; Authorization is among them only where wfr sends
 * no token. Throws UsageError. The value of a header is never shown: it may be a secret.
 */
export function parseHeaders(written: readonly string[], mayAuthorize: boolean): Record<string, string> {
  const headers = new Map<string, string>();
  const problems: string[] = [];
  for (const line of written) {
    const [, name = '', value = ''] = /^([^:]*):(.*)$/s.exec(line) ?? [];
    const key = name.trim().toLowerCase();
    const isOwn = OWN_HEADERS.has(key) && !(mayAuthorize && key === 'authorization');
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(key)) {
      problems.push('--header: is not of the form "name: value" (it is not shown, as it may hold a secret)');
    } else if (isOwn) {
      problems.push(`--header ${name.trim()}: wfr sets this header itself`);
    } else if (!/^[\t\x20-\x7e]*$/.test(value)) {
      problems.push(`--header ${name.trim()}: the value holds a line break or a character beyond ASCII`);
    } else {
      headers.set(key, value.trim());
    }
  }
  if (problems.length > 0) throw new UsageError(problems);
  return Object.fromEntries(headers);
}
