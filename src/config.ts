/** Flags over environment over defaults: the settings of one command. */
import type { Context } from './context.js';
import { loadCredentials, type TokenFlags } from './credentials.js';
import { parseDuration } from './duration.js';
import { UsageError } from './errors.js';
import { type ProxyServer, proxyFor } from './service/proxy.js';
import type { Credentials } from './service/service.js';
import { WORKFLOW_ID_FIELD_CHOICES, type WorkflowIdFieldChoice } from './service/workflow-id-field.js';
import { isLoopback, parseUrl } from './url.js';

/** The flags that every command which talks to the service has, as they were written. */
export interface ServiceFlags extends TokenFlags {
  baseUrl?: string;
  allowHttp?: boolean;
  header?: string[];
}

/** The flags of waiting, as they were written. */
export interface WaitFlags {
  interval?: string;
  maxInterval?: string;
  timeout?: string;
}

export interface ServiceSettings {
  baseUrl: URL;
  proxy: ProxyServer | undefined;
  headers: Readonly<Record<string, string>>;
  warnings: string[];
  /** The flags that name the same service to another command, such as the one that watches a run again. */
  sameService: string[];
}

/** Milliseconds. */
export interface WaitSettings {
  interval: number;
  maxInterval: number;
  timeout: number | undefined;
}

/** Collects complaints, so that a user sees all of them at once. */
export class Complaints {
  readonly #problems: string[] = [];

  add(problem: string): void {
    this.#problems.push(problem);
  }

  /** Runs `step`; the complaints of a UsageError are kept, and undefined is returned. */
  async collect<T>(step: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      this.#problems.push(...error.problems);
      return undefined;
    }
  }

  /** Throws UsageError if there was any. */
  throwIfAny(hint?: string): void {
    if (this.#problems.length > 0) throw new UsageError(this.#problems, hint);
  }
}

/** Where the service is and how to speak to it. Throws UsageError with every complaint. */
export async function serviceSettings(flags: ServiceFlags, context: Context): Promise<ServiceSettings> {
  const { env } = context;
  const complaints = new Complaints();
  const allowHttp = flags.allowHttp === true || env.WFR_ALLOW_HTTP === '1';
  const written = flags.baseUrl ?? (env.WFR_BASE_URL || undefined);
  const variable = flags.baseUrl === undefined ? 'WFR_BASE_URL' : '--base-url';
  const baseUrl = await complaints.collect(() => parseBaseUrl(written, variable, allowHttp));
  const headers = await complaints.collect(() => parseHeaders(flags.header ?? [], flags.token === false));
  const proxy = await complaints.collect(() => (baseUrl === undefined ? undefined : proxyFor(baseUrl, env)));
  complaints.throwIfAny();
  if (baseUrl === undefined || headers === undefined) throw new Error('complaints were lost');
  return { baseUrl, proxy, headers, warnings: warningsOf(baseUrl, context), sameService: sameService(flags) };
}

/** The token for a service; required unless it is on this machine. Throws MissingTokenError or UsageError. */
export function credentialsFor(flags: ServiceFlags, baseUrl: URL, context: Context): Promise<Credentials> {
  return loadCredentials(flags, !isLoopback(baseUrl.hostname), context);
}

/** Throws UsageError with every complaint. */
export function waitSettings(flags: WaitFlags): WaitSettings {
  const problems: string[] = [];
  const parse = (name: string, text: string | undefined, fallback: number, least: number) => {
    if (text === undefined) return fallback;
    const duration = parseDuration(text);
    if (duration !== undefined && duration >= least) return duration;
    const not = duration === undefined ? 'is not a duration' : 'is too short';
    problems.push(`${name} ${text}: ${not}; write 500ms, 2s, 1.5m or 1h (a bare number means seconds)`);
    return fallback;
  };
  const interval = parse('--interval', flags.interval, 2_000, 1);
  const maxInterval = parse('--max-interval', flags.maxInterval, 10_000, 1);
  const timeout = parse('--timeout', flags.timeout, Number.POSITIVE_INFINITY, 0);
  if (problems.length > 0) throw new UsageError(problems);
  return {
    interval,
    maxInterval: Math.max(interval, maxInterval),
    timeout: Number.isFinite(timeout) ? timeout : undefined,
  };
}

/** Throws UsageError. */
export function workflowIdField(flag: string | undefined, context: Context): WorkflowIdFieldChoice {
  const written = flag ?? (context.env.WFR_WORKFLOW_ID_FIELD || 'auto');
  const choice = WORKFLOW_ID_FIELD_CHOICES.find((candidate) => candidate === written);
  if (choice !== undefined) return choice;
  const source = flag === undefined ? 'WFR_WORKFLOW_ID_FIELD' : '--workflow-id-field';
  throw new UsageError([`${source} ${written}: choose one of ${WORKFLOW_ID_FIELD_CHOICES.join(', ')}`]);
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;

/** The id of a workflow that was given as such or as its URL. Throws UsageError. */
export function workflowId(workflow: string): string {
  if (workflow === '') throw new UsageError(['the workflow is empty; give its UUID or its URL']);
  if (!/^https?:\/\//i.test(workflow)) return workflow;
  const ids = [...new Set((workflow.match(UUID) ?? []).map((id) => id.toLowerCase()))];
  if (ids.length > 1) {
    throw new UsageError([`${workflow}: holds several UUIDs; give the workflow's own: ${ids.join(' or ')}`]);
  }
  return ids[0] ?? workflow;
}

function parseBaseUrl(written: string | undefined, source: string, allowHttp: boolean): URL {
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
  return written.includes('://')
    ? 'is not a URL'
    : `has no scheme; write https://${withoutUserInfo(written)}`;
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

/** A URL that may not parse, without what stands before an `@`. */
function withoutUserInfo(written: string): string {
  return written.replace(/(^|\/\/)[^/]*@/, '$1…@');
}

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

/** The value of a header is never shown: it may be a secret. */
function parseHeaders(written: readonly string[], mayAuthorize: boolean): Record<string, string> {
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
    ...(flags.allowHttp === true ? ['--allow-http'] : []),
    ...(flags.tokenFile === undefined || flags.tokenFile === '-' ? [] : ['--token-file', flags.tokenFile]),
    ...(flags.token === false ? ['--no-token'] : []),
  ];
}
