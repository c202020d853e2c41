/** What went wrong on the network, in words. */

import type { NetworkError, NetworkFault } from '../../errors.js';
import { formatDuration } from '../../text/duration.js';
import { sanitize } from '../../text/sanitize.js';
import type { ErrorDescription } from './error-description.js';

type Words = (error: NetworkError) => string;

const seconds = ({ facts }: NetworkError) => formatDuration(facts.after ?? 0);

const WORDS: Readonly<Record<NetworkFault, Words>> = {
  'dns-not-found': ({ facts }) => `host not found: ${facts.host}`,
  'dns-unavailable': ({ facts }) => `the name service does not answer for ${facts.host}`,
  refused: ({ facts }) => `nothing listens at ${facts.host}`,
  unreachable: ({ facts }) => `${facts.host} cannot be reached from here`,
  'connect-timeout': (error) => `no connection to ${error.facts.host} within ${seconds(error)}`,
  'connect-reset': ({ facts }) => `${facts.host} closed the connection at once`,
  certificate: ({ facts }) => `the certificate of ${facts.host} is not trusted`,
  'not-tls': ({ facts }) => `${facts.host} does not speak TLS`,
  'speaks-tls': ({ facts }) => `${facts.host} speaks TLS, and was spoken to without`,
  'proxy-refused': ({ facts }) => `the proxy ${facts.host} refused the tunnel with ${facts.status}`,
  'proxy-closed': ({ facts }) => `the proxy ${facts.host} closed the tunnel`,
  local: ({ facts }) => `no connection to ${facts.host}`,
  reset: ({ facts }) => `the connection to ${facts.host} was lost`,
  stalled: (error) => `no byte moved to ${error.facts.host} for ${seconds(error)}`,
  'no-answer': (error) => `no answer from ${error.facts.host} for ${seconds(error)}`,
  'not-http': ({ facts }) => `${facts.host} sent something that is not an HTTP answer`,
  truncated: ({ facts }) => `the connection to ${facts.host} was lost in the middle of its answer`,
  'too-large': ({ facts }) =>
    `the answer of ${facts.host} is larger than 512 MiB${facts.code ? ` (${facts.code} bytes)` : ''}`,
  encoded: ({ facts }) => `${facts.host} sent its answer in a content encoding that wfr cannot read`,
};

const NEXT: Partial<Record<NetworkFault, string>> = {
  'dns-not-found': 'Check the base URL.',
  refused: 'Check the base URL; to try wfr without a service: wfr sandbox',
  certificate:
    'If its issuer is your own, name its certificate in NODE_EXTRA_CA_CERTS; otherwise do not send anything there.',
  'not-tls': 'Should the base URL begin with http:// ?',
  'speaks-tls': 'Should the base URL begin with https:// ?',
};

const CERTIFICATE_WORDS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its chain ends in a self-signed certificate',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for another name',
  UNABLE_TO_GET_ISSUER_CERT: 'its issuer is unknown',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its issuer is unknown',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its issuer is unknown',
};

/** What, why (the cause in plain words, the code in parentheses), and what to do next. */
export function describeNetworkError(error: NetworkError): ErrorDescription {
  const { code, status, proxy } = error.facts;
  const because = error.fault === 'certificate' && code !== undefined ? CERTIFICATE_WORDS[code] : undefined;
  const shownCode = code === undefined || error.fault === 'too-large' ? '' : ` (${sanitize(code)})`;
  const where = proxy === true && !error.fault.startsWith('proxy-') ? ' (the proxy)' : '';
  const suffix = because === undefined ? shownCode : `: ${because}${shownCode}`;
  const after = status === undefined || proxy === true ? '' : `, after the status ${status}`;
  const next = proxy === true ? 'Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.' : NEXT[error.fault];
  return {
    summary: [`${WORDS[error.fault](error)}${where}${suffix}${after}`],
    hints: next === undefined ? [] : [next],
  };
}
