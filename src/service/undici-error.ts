/** What undici throws, as one of our own faults. */
import { NetworkError, type NetworkFault, WfrError } from '../errors.js';
import { errorCode } from '../platform/system-error.js';

/** A NetworkError of `host`, `fallback` where nothing more is known; what is a defect, or an error of ours, as it is. */
export function toNetworkError(error: unknown, host: string, fallback: NetworkFault): unknown {
  if (error instanceof WfrError || !(error instanceof Error)) return error;
  // What neither the system nor undici has given a code must not pass for a broken network.
  if (errorCode(error) === undefined && error.name !== 'HTTPParserError') return error;
  return new NetworkError(
    protocolFault(error) ?? fallback,
    { host, code: errorCode(error) },
    { cause: error },
  );
}

/** What undici says of an answer that is no HTTP. A TLS alert (RFC 8446, section 6) is one to plain text. */
function protocolFault(error: Error): NetworkFault | undefined {
  if ('data' in error && String(error.data).startsWith('\x15\x03')) return 'expects-tls';
  const isProtocol =
    error.name === 'HTTPParserError' ||
    // An answer that undici had thought impossible, such as 101 without an upgrade.
    error.name === 'AssertionError' ||
    errorCode(error) === 'UND_ERR_HEADERS_OVERFLOW' ||
    /^bad (response|upgrade)$/.test(error.message);
  return isProtocol ? 'not-http' : undefined;
}
