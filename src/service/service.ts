/** The service as a value, and what both of its requests share. */

import {
  type HttpError,
  type HttpErrorInfo,
  type NetworkError,
  type SignalName,
  UnreadableResponseError,
} from '../errors.js';
import type { Clock } from '../platform/context.js';
import type { Limits } from '../platform/limits.js';
import { parseUrl } from '../text/url.js';
import { errorMessage } from './error-message.js';
import { type IdTypes, parseRun } from './parse-run.js';
import { parseRetryAfter } from './retry.js';
import type { Run } from './run.js';
import type { HttpResponse, Transport } from './transport.js';

/** Where the access token comes from. */
export interface Credentials {
  /** What the user would call the source, such as WFR_TOKEN; undefined where no token is sent. */
  readonly source: string | undefined;
  token(signal?: AbortSignal): Promise<string | undefined>;
  /** Whether there is another token than the one that was refused; its source is read again once for each refused token. */
  refresh(refused: string | undefined, signal?: AbortSignal): Promise<boolean>;
}

/** What a watcher of the reporter is told, as it happens. */
export interface ServiceEvents {
  request(method: string, url: string, bodyBytes?: number): void;
  response(status: number, took: number): void;
  /** A trigger will be sent again after `delay` ms: `count` of at most MAX_RESENDS. */
  retrying(why: NetworkError | HttpError, phase: number, delay: number, count: number): void;
  sending(sent: number, total: number): void;
  /** A trigger has been sent; what is left is its answer. */
  sent(): void;
  /** A signal came after the request had left; its answer is waited for a little longer. */
  awaitingId(ms: number, signal: SignalName): void;
}

/** Spreads requests over time. */
export interface RequestLimiter {
  /** Resolves when the next request may be sent. Throws the signal's reason. */
  acquire(signal: AbortSignal): Promise<void>;
  /** An answer came; `retryAfter` is the milliseconds that it asks to be left alone for. */
  onResponse(status: number, retryAfter: number | undefined): void;
}

export interface Service {
  baseUrl: URL;
  transport: Transport;
  credentials: Credentials;
  /** Further request headers that the user asked for. */
  headers: Readonly<Record<string, string>>;
  userAgent: string;
  clock: Clock;
  limits: Limits;
  events: ServiceEvents;
  /** Without it, each request is sent at once. */
  rateLimiter?: RequestLimiter;
}

/** `<base>/runs`, or `<base>/runs/<id>` with the id percent-encoded; the base's path is kept. */
export function runsUrl(baseUrl: URL, id?: string): URL {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/runs${id === undefined ? '' : `/${encodeURIComponent(id)}`}`;
  return url;
}

/** The Run that a 2xx holds; `idTypes` as in parseRun. Throws UnreadableAnswerError saying what came instead. */
export function runIn(answer: HttpResponse, idTypes?: IdTypes): Run {
  try {
    return parseRun(answer.body, idTypes);
  } catch (error) {
    throw error instanceof UnreadableResponseError
      ? unreadableResponse(error.reason, answer, error.facts.fields)
      : error;
  }
}

/** A 2xx that is not what the interface promises. */
export function unreadableResponse(
  reason: string,
  answer: HttpResponse,
  fields?: readonly string[],
): UnreadableResponseError {
  const { status, headers, body } = answer;
  return new UnreadableResponseError(reason, {
    status,
    contentType: headers['content-type'] ?? 'none',
    received: { status, headers, body },
    excerpt: excerptOf(answer.body),
    ...(fields && { fields }),
  });
}

/** The most characters of such an answer that are shown. */
const MAX_EXCERPT = 200;

/** The start of a body (UTF-8), and how much more there is. */
export function excerptOf(body: Uint8Array): string {
  // No character has more than 4 bytes, and only the first of them is none of 0b10xxxxxx.
  const start = [...Buffer.from(body.subarray(0, 4 * MAX_EXCERPT)).toString('utf8')].slice(0, MAX_EXCERPT);
  let characters = 0;
  for (const byte of body) if ((byte & 0xc0) !== 0x80) characters++;
  const left = characters - start.length;
  return `${start.join('')}${left > 0 ? `… (${left} more characters)` : ''}`;
}

/** What an answer that is not a 2xx said; `token` was sent with the request, and is hidden. */
export function httpErrorInfo(
  method: 'GET' | 'POST',
  url: URL,
  answer: HttpResponse,
  service: Service,
  token: string | undefined,
  bodyBytes?: number,
): HttpErrorInfo {
  return {
    method,
    url: url.href,
    status: answer.status,
    // A service may repeat the token that it refuses.
    message: errorMessage(answer.body, answer.isWhole, (words) => withoutToken(words, token)),
    location: shownTarget(answer.headers.location, url),
    isRunLocation: method === 'POST' && isBelow(answer.headers.location, url),
    bodyBytes,
    tokenSource: service.credentials.source,
    retryAfter: retryAfterOf(answer, service),
  };
}

/** A text without a token; a very short one stays, as it would be found in every second word. */
export function withoutToken(text: string, token: string | undefined): string {
  return token === undefined || token.length < 8 ? text : text.replaceAll(token, '(the token)');
}

/** Milliseconds that an answer asks to be left alone for. */
export function retryAfterOf({ headers }: HttpResponse, { clock }: Service): number | undefined {
  return parseRetryAfter(headers, clock.now());
}

/** Of a redirect's target, the origin is shown, and the path where that is all that is new: the rest may hold secrets. */
export function shownTarget(location: string | undefined, base: URL): string | undefined {
  if (location === undefined) return undefined;
  const target = parseUrl(location, base.href);
  if (target === undefined) return 'somewhere unreadable';
  return target.origin === base.origin ? target.origin + target.pathname : target.origin;
}

/** Whether a redirect's target is below the path of `base`; a service behind a gateway may give it another host. */
function isBelow(location: string | undefined, base: URL): boolean {
  const path = location === undefined ? undefined : parseUrl(location, base.href)?.pathname;
  return path?.startsWith(`${base.pathname}/`) === true && path.length > base.pathname.length + 1;
}

/** The headers of any request. */
export function requestHeaders(
  { headers, userAgent }: Service,
  token: string | undefined,
): Record<string, string> {
  return {
    ...headers,
    'user-agent': userAgent,
    accept: 'application/json',
    // Without it, any coding is acceptable (RFC 9110, section 12.5.3).
    'accept-encoding': 'identity',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
}
