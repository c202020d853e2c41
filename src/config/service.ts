/** Where the service is and how to connect to it: base URL, proxy, headers. */
import { collectUsageErrors, UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { readSystemCertificates } from '../platform/system-certificates.js';
import type { TlsSettings } from '../service/connect.js';
import { toArgs } from '../text/shell-quote.js';
import { baseUrlProblem, isLoopback, portOf, redactUrl, stripBrackets } from '../text/url.js';
import { readHeaders, traceContext } from './headers.js';
import {
  isOn,
  resolveRunPages,
  resolveSetting,
  type ServiceFlags,
  type ServiceSources,
} from './resolve-setting.js';
import { workflowNames } from './workflow.js';

/** Resolves where the service is and how to connect to it. Throws UsageError with every error. */
export async function resolveServiceSettings(sources: ServiceSources) {
  const { flags, profile, context } = sources;
  const { connection, headers, tls } = await collectUsageErrors({
    connection: () => {
      const baseUrl = resolveBaseUrl(sources);
      return { baseUrl, proxy: findProxy(baseUrl, context.env) };
    },
    headers: () => readHeaders(sources),
    tls: async (): Promise<TlsSettings> => {
      const hasFiles = resolveSetting('caFile', sources) ?? resolveSetting('certFile', sources);
      return {
        ...(hasFiles && (await (await import('./tls.js')).readTlsFiles(sources))),
        readSystemCertificates: () => readSystemCertificates(context),
      };
    },
  });
  const warnings = [...findWarnings(connection.baseUrl, context), ...(profile?.warnings ?? [])];
  const { platform } = context;
  const trace = traceContext(context.env, headers);
  return {
    ...connection,
    tls,
    headers: { ...trace.headers, ...headers },
    warnings,
    /** What only --verbose prints. */
    notes: trace.notes,
    /** The flags that make another command use the same service, such as the one that watches a run again. */
    resumeFlags: findResumeFlags(flags),
    /** Decides how that command is quoted. */
    platform,
    pageOf: resolveRunPages(sources),
    workflowNameOf: workflowNames(profile),
  };
}

export type ServiceSettings = Awaited<ReturnType<typeof resolveServiceSettings>>;

/** Returns the base URL. Throws UsageError if it is missing or cannot be used, which never shows user info. */
export function resolveBaseUrl(sources: ServiceSources): URL {
  const raw = resolveSetting('baseUrl', sources);
  if (!raw) {
    throw new UsageError(
      'no base URL: set WFR_BASE_URL or pass --base-url or --profile; to try wfr: wfr sandbox -- bash',
    );
  }
  const { text, source } = raw;
  const problem = baseUrlProblem(text, isOn(resolveSetting('allowHttp', sources)));
  if (problem !== undefined) throw new UsageError(`${source.name} ${redactUrl(text)}: ${problem}`);
  return new URL(text);
}

function findWarnings({ protocol, hostname, host }: URL, { env }: Context): string[] {
  if (protocol === 'http:' && !isLoopback(hostname))
    return [
      `the connection to ${host} is not encrypted: others on the network can read the token and the documents`,
    ];
  if (protocol === 'https:' && env.NODE_TLS_REJECT_UNAUTHORIZED === '0')
    return [
      'NODE_TLS_REJECT_UNAUTHORIZED=0 turns off certificate checks: anyone can impersonate the service; unset it',
    ];
  return [];
}

function findResumeFlags(flags: ServiceFlags): string[] {
  const { baseUrl, profile, allowHttp, tokenFile: token, headerFile, caFile: cacert } = flags;
  const tokenFile = token === '-' ? undefined : token;
  const noToken = flags.token === false || undefined;
  return toArgs({ baseUrl, profile, allowHttp, tokenFile, noToken, headerFile, cacert });
}

/**
 * Returns the proxy for `url`, its URL for people, without user info, and the variable that names it; undefined for a direct
 * connection, as always to loopback. An empty variable counts as unset. Throws UsageError that names an invalid variable, but
 * not its value, which may contain a password.
 */
function findProxy(url: URL, env: Context['env']) {
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const variable = env[name.toLowerCase()] ? name.toLowerCase() : name;
  const value = env[variable];
  if (!value || isLoopback(url.hostname) || isExempt(url, env.no_proxy || env.NO_PROXY || ''))
    return undefined;
  try {
    const proxy = new URL(value.includes('://') ? value : `http://${value}`);
    const { protocol, hostname, username, password } = proxy;
    if (!hostname || !/^https?:$/.test(protocol)) throw new Error();
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    const authorization = pair === ':' ? undefined : `Basic ${Buffer.from(pair).toString('base64')}`;
    const port = portOf(proxy);
    const shown = `${protocol}//${hostname}:${port}`;
    return { protocol, hostname: stripBrackets(hostname), port, authorization, url: shown, variable };
  } catch {
    throw new UsageError(
      `${variable} is not a supported proxy URL; use http://host:port or https://host:port`,
    );
  }
}

/** NO_PROXY: names (with their subdomains), `.suffixes`, `*.suffixes`, addresses, each with an optional port; `*` for all. */
function isExempt(url: URL, noProxy: string): boolean {
  const hostname = stripBrackets(url.hostname);
  const port = String(portOf(url));
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
