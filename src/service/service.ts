/** The service that wfr talks to, and what POST /runs and GET /runs/{id} share. */

import type { Clock, Limits } from '../platform/context.js';
import { formatBytes, formatDuration, formatIso, parseTime } from '../text/quantity.js';
import { sanitize } from '../text/sanitize.js';
import { parseUrl } from '../text/url.js';
import type { NetworkError, PollFailure, SendState } from './errors.js';
import { HttpError, type HttpErrorInfo } from './http-error.js';
import type { HttpResponse } from './read-response.js';
import { errorMessage, requestIdOf } from './response-facts.js';
import type { OpenPlace } from './response-memory.js';
import type { Transport } from './transport.js';

/** The source of the access token. */
export interface Credentials {
  /** The source's name for users, such as WFR_TOKEN; undefined if no token is sent. */
  readonly source?: string | undefined;
  token(signal: AbortSignal): Promise<string | undefined>;
  /** Reads the source again, once per rejected token; returns whether it has a different token now. */
  refresh(rejected: string | undefined, signal: AbortSignal): Promise<boolean>;
}

/** Progress of requests, for logging. Times are in milliseconds. */
export interface ServiceEvents {
  /** What is sent and received. */
  debug(text: string): void;
  /** What is wrong with a response that can be used, or what the service announced: said once. */
  warnOnce(text: string): void;
  /** What happens to a trigger that was sent and has no response yet: said once. */
  blockOnce(text: string): void;
  /** A trigger will be sent again after `delay`; `count` is 1 to MAX_RESENDS. */
  retrying(why: NetworkError | HttpError, sendState: SendState, delay: number, count: number): void;
  sending(sent: number, total: number, hasDocuments: boolean): void;
  /** The whole trigger has been sent; its response has not arrived. */
  sent(): void;
}

/** Decides when a request of a batch may be sent. */
interface RequestGate {
  /** Resolves when the next request may be sent. Throws the signal's reason. */
  acquire(signal: AbortSignal): Promise<void>;
  /** Reports a response and its Retry-After in milliseconds. */
  onResponse(status: number, retryAfter: number | undefined): void;
  /** Reports that a run will be read again after `delay` ms. */
  onFailedPoll(why: PollFailure, delay: number): void;
  /** Reports that a trigger will be sent again after `delay` ms. */
  onRetry(why: NetworkError | HttpError, delay: number): void;
}

export interface Service {
  baseUrl: URL;
  transport: Transport;
  credentials: Credentials;
  /** Request headers that the user added. */
  headers: Readonly<Record<string, string>>;
  clock: Clock;
  limits: Limits;
  events: ServiceEvents;
  openPlace: OpenPlace;
  /** If undefined, requests are sent immediately. */
  gate?: RequestGate;
}

/** Returns `<base>/runs`, or `<base>/runs/<id>` with the id percent-encoded. */
export function runsUrl(baseUrl: URL, id?: string): URL {
  const url = new URL(baseUrl);
  const end = id === undefined ? '/runs' : `/runs/${encodeURIComponent(id)}`;
  url.pathname = url.pathname.replace(/(?<!\/)\/*$/, end);
  return url;
}

/**
 * Calls `send` with the headers of a request as soon as it may be sent, and reports its response to the loggers and the rate
 * limiter. Returns the response, its Retry-After in milliseconds, what creates its error if it is not a 2xx, and the token
 * that was sent.
 */
export async function sendRequest(
  url: URL,
  service: Service,
  signal: AbortSignal,
  send: (headers: Record<string, string>) => Promise<HttpResponse>,
  request: HttpErrorInfo['request'],
) {
  const { gate, events, credentials, clock } = service;
  await gate?.acquire(signal);
  const what = 'runId' in request ? `GET ${url}` : `POST ${url} (${formatBytes(request.length)})`;
  events.debug(`> ${what}`);
  const token = await credentials.token(signal);
  const response = await send({
    ...service.headers,
    accept: 'application/json',
    // Without this header, any coding is acceptable (RFC 9110, section 12.5.3).
    'accept-encoding': 'identity',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  });
  const { status, headers, durationMs, isRepaired } = response;
  const retryAfter = parseRetryAfter(headers, clock.now());
  const requestId = requestIdOf(response, url.pathname);
  const id = requestId === undefined ? '' : `, request id ${sanitize(requestId)}`;
  events.debug(`< ${status} (${formatDuration(durationMs)})${id}`);
  const announcement = deprecationOf(headers);
  if (announcement !== '') events.warnOnce(`the service announces that this interface ${announcement}`);
  if (isRepaired) events.warnOnce('the response is not valid UTF-8; invalid bytes were replaced by U+FFFD');
  gate?.onResponse(status, retryAfter);
  // Made only where it is thrown: another attempt to read the token changes what is known of its source.
  const createError = () =>
    new HttpError({
      url: url.href,
      status,
      message: errorMessage(response.body, response.isWhole),
      ...readLocation(headers.location, url),
      request,
      tokenSource: credentials.source,
      retryAfter,
      requestId,
    });
  const isAccepted = status >= 200 && status <= 299;
  return { response, token, retryAfter, createError: isAccepted ? undefined : createError };
}

/** Longest Retry-After that is told apart (ms): a year. `1e400` would be infinite. */
const LONGEST_RETRY_AFTER = 365 * 24 * 3_600_000;

/**
 * Returns a Retry-After header in milliseconds (RFC 9110, section 10.2.3): seconds, or a date relative to the response's
 * Date. Returns a year at most, 0 if it is in the past or invalid, undefined if there is none.
 */
function parseRetryAfter(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const value = headers['retry-after']?.trim();
  if (value === undefined) return undefined;
  const isNumber = /^\d+(\.\d+)?(e\+?\d+)?$/i.test(value);
  const delay = isNumber ? Number(value) * 1_000 : parseTime(value) - (parseTime(headers.date ?? '') || now);
  return Math.min(Math.max(0, delay || 0), LONGEST_RETRY_AFTER);
}

/**
 * Returns the target of a redirect, if a response has one, without what may be secret: its origin, and its path if the origin
 * is that of `base`; and whether its path is below that of `base`. A service behind a gateway may name another host.
 */
export function readLocation(text: string | undefined, base: URL) {
  if (text === undefined) return {};
  const target = parseUrl(text, base.href);
  if (!target) return { location: 'an invalid address' };
  const { origin, pathname } = target;
  const location = origin === base.origin ? origin + pathname : origin;
  const below = `${base.pathname}/`;
  return { location, isRunLocation: pathname.startsWith(below) && pathname !== below };
}

/** Returns what `Deprecation` (RFC 9745) and `Sunset` (RFC 8594) say of the interface, if they have a date. */
function deprecationOf({ deprecation = '', sunset = '' }: Readonly<Record<string, string>>): string {
  const [, seconds] = /^\s*@(\d{1,12})\s*$/.exec(deprecation) ?? [];
  const isDate = /^\s*[A-Z][a-z]+,? .*:\d\d/.test(sunset);
  const facts = [
    ['is deprecated as of', Number(seconds) * 1_000],
    ['ends on', isDate ? parseTime(sunset) : Number.NaN],
  ] as const;
  return facts
    .filter(([, time]) => !Number.isNaN(time))
    .map(([text, time]) => `${text} ${formatIso(time).slice(0, 10)}`)
    .join(' and ');
}
