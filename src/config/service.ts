/** Flags over environment over profile: where the service is, and how to speak to it. */
import { collectUsageErrors } from '../errors.js';
import type { Context } from '../platform/context.js';
import type { ProxyServer } from '../service/connect.js';
import { isLoopback } from '../text/url.js';
import { parseBaseUrl } from './base-url.js';
import { parseHeaders } from './headers.js';
import type { Profile, ProfileFlags } from './profile.js';
import { proxyFor } from './proxy.js';
import { isPermitted, rawSetting } from './settings.js';
import { type TokenFlags, tokenSource } from './token-source.js';

/** The flags that every command which talks to the service has, as they were written. */
export interface ServiceFlags extends TokenFlags, ProfileFlags {
  baseUrl?: string;
  allowHttp?: boolean;
  header?: string[];
}

export interface ServiceSettings {
  baseUrl: URL;
  proxy: ProxyServer | undefined;
  headers: Readonly<Record<string, string>>;
  warnings: string[];
  /** The flags that name the same service to another command, such as the one that watches a run again. */
  sameService: string[];
}

/** Where the service is and how to speak to it. Throws UsageError with every complaint. */
export async function serviceSettings(
  flags: ServiceFlags,
  profile: Profile | undefined,
  context: Context,
): Promise<ServiceSettings> {
  const allowHttp = isPermitted(rawSetting('allowHttp', flags, profile, context));
  const written = rawSetting('baseUrl', flags, profile, context);
  const { target, headers } = await collectUsageErrors({
    target: () => {
      const baseUrl = parseBaseUrl(written, allowHttp);
      return { baseUrl, proxy: proxyFor(baseUrl, context.env) };
    },
    headers: () => parseHeaders(flags.header ?? [], flags.token === false),
  });
  const { withheld } = tokenSource(flags, profile, context);
  const warnings = [...warningsOf(target.baseUrl, context), ...(withheld === undefined ? [] : [withheld])];
  return { ...target, headers, warnings, sameService: sameService(flags) };
}

function warningsOf(baseUrl: URL, { env }: Context): string[] {
  const warnings: string[] = [];
  if (baseUrl.protocol === 'http:' && !isLoopback(baseUrl.hostname)) {
    warnings.push(
      `${baseUrl.host} is spoken to without encryption: the token and the documents can be read on the way`,
    );
  }
  if (baseUrl.protocol === 'https:' && env.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    warnings.push('NODE_TLS_REJECT_UNAUTHORIZED=0 lets anybody pose as the service; unset it');
  }
  return warnings;
}

function sameService(flags: ServiceFlags): string[] {
  return [
    ...(flags.baseUrl === undefined ? [] : ['--base-url', flags.baseUrl]),
    ...(flags.profile === undefined ? [] : ['--profile', flags.profile]),
    ...(flags.allowHttp === true ? ['--allow-http'] : []),
    ...(flags.tokenFile === undefined || flags.tokenFile === '-' ? [] : ['--token-file', flags.tokenFile]),
    ...(flags.token === false ? ['--no-token'] : []),
  ];
}
