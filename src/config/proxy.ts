/** Finds the proxy for a URL in the environment: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in upper or lower case. */
import { UsageError } from '../errors.js';
import type { ProxyServer } from '../service/connect.js';
import { isLoopback, parseUrl, stripBrackets } from '../text/url.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the proxy for `url`; undefined for a direct connection, as always to loopback. An empty variable counts as
 * unset. Throws UsageError that names an invalid variable, but not its value, which may contain a password.
 */
export function findProxy(url: URL, env: Environment): ProxyServer | undefined {
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const variable = env[name.toLowerCase()] ? name.toLowerCase() : name;
  const value = env[variable];
  if (!value || isLoopback(url.hostname) || isExempt(url, env.no_proxy || env.NO_PROXY || ''))
    return undefined;
  return parseProxy(variable, value);
}

function parseProxy(variable: string, value: string): ProxyServer {
  const url = parseUrl(value.includes('://') ? value : `http://${value}`);
  if (url === undefined || url.hostname === '' || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new UsageError(
      [`${variable} is not a supported proxy URL; use http://host:port or https://host:port`],
      'wfr help environment',
    );
  }
  const { protocol, hostname, username, password } = url;
  const port = Number(url.port) || (protocol === 'https:' ? 443 : 80);
  return {
    protocol,
    hostname: stripBrackets(hostname),
    port,
    authorization: basic(variable, username, password),
  };
}

function basic(variable: string, username: string, password: string): string | undefined {
  if (username === '' && password === '') return undefined;
  try {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(pair).toString('base64')}`;
  } catch {
    throw new UsageError([`${variable} has a user name or password that is not valid percent-encoding`]);
  }
}

/** NO_PROXY: names (with their subdomains), `.suffixes`, `*.suffixes`, addresses, each with an optional port; `*` for all. */
function isExempt(url: URL, noProxy: string): boolean {
  const hostname = stripBrackets(url.hostname);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === '*') return true;
      const [, name, onlyPort] = /^(.*?)(?::(\d+))?$/.exec(entry.replace(/^\*?\./, '')) ?? [];
      const isAddress = entry.split(':').length > 2;
      const pattern = isAddress ? stripBrackets(entry) : name;
      if (!pattern || (!isAddress && onlyPort !== undefined && onlyPort !== port)) return false;
      return hostname === pattern || hostname.endsWith(`.${pattern}`);
    });
}
