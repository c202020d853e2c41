/** Sends requests and reads responses within limits of time and size. The only importer of undici. */

import type { Socket } from 'node:net';
import type { buildConnector, Dispatcher } from 'undici';
import requestOn from 'undici/lib/api/api-request.js';
import Client from 'undici/lib/dispatcher/client.js';
import { WfrError } from '../errors.js';
import type { Clock, Limits } from '../platform/context.js';
import { errorCode } from '../platform/system-error.js';
import type { TriggerBody } from './body.js';
import { findAlert, openSocket, type Route } from './connect.js';
import { NetworkError, type NetworkFault, type ReceivedResponse } from './errors.js';
import { MAX_HEAD, RawResponse } from './raw-response.js';
import { type ReadBody, readResponse } from './read-response.js';
import { requestIdOf } from './response-facts.js';
import type { ResponsePlace } from './response-memory.js';
import { Deadline, StallTimer } from './time-limits.js';
import { type TlsSettings, Trust } from './trust.js';

export interface HttpResponse extends ReadBody {
  status: number;
  /** Names in lower case; of repeated headers, the first. */
  headers: Readonly<Record<string, string>>;
  /** Milliseconds from the request to the end of the response. */
  durationMs: number;
}

const POLL_CONNECTIONS = 8;

/** Why a connection that is no longer needed is closed: an error for each would cost a stack trace. */
const CLOSED = Object.assign(new Error('closed'), { code: 'UND_ERR_DESTROYED' });

/** wfr has limits of its own for the phases of a response. */
const CLIENT_OPTIONS = { headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: MAX_HEAD };

/** A kept-alive connection, which is opened again where it was closed. */
interface PollConnection {
  client: Client;
  /** What its socket receives; undefined before it was opened. */
  raw?: RawResponse;
  socket?: Socket;
}

type Headers = Readonly<Record<string, string>>;

export interface SendHooks {
  /** Called before the closing bytes are sent; throws to withhold them. */
  beforeLastBytes(): Promise<void>;
  onProgress(): void;
  /** Called when the whole body has been handed to the socket. */
  onSent(): void;
  /** Called with what has arrived of a 2xx that is slow or is aborted; returns whether more is of no interest. */
  onIncomplete(received: ReceivedResponse): boolean;
}

export class Transport {
  readonly #route: Route;
  readonly #host: string;
  readonly #closed = new AbortController();
  readonly #connections = new Set<PollConnection>();
  readonly #idle: PollConnection[] = [];
  /** Requests that wait for a connection. */
  readonly #waiting: ((connection: PollConnection) => void)[] = [];
  /** The code of the TLS alert that a socket received after its request was written. */
  readonly #alerts = new WeakMap<Socket, string | undefined>();

  constructor(
    { tls, ...route }: Omit<Route, 'trust'> & { tls: TlsSettings },
    private readonly clock: Clock,
    private readonly limits: Limits,
  ) {
    this.#route = { ...route, trust: new Trust(tls) };
    this.#host = route.origin.host;
  }

  /** Closes all connections immediately. */
  async close(): Promise<void> {
    this.#closed.abort(new Error('closed'));
    await Promise.all([...this.#connections].map(({ client }) => client.destroy(CLOSED)));
  }

  /**
   * Sends a body over a new connection: if a kept-alive one closed during the request, the service might have accepted
   * it. Throws NetworkError, the signal's reason, and what the body throws.
   */
  async post(
    path: string,
    headers: Headers,
    body: TriggerBody,
    hooks: SendHooks,
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    const started = this.clock.monotonic();
    const socket = await this.#connect(signal);
    const raw = new RawResponse(socket, () => incomplete.onReceived());
    const incomplete = new IncompleteResponse(raw, hooks, this.clock);
    const client = new Client(this.#route.origin.origin, {
      ...CLIENT_OPTIONS,
      connect: provideSocket(socket),
    });
    const deadline = new Deadline(signal, this.clock);
    let bodyError: unknown;
    const { stall, response: responseLimit } = this.limits;
    const stallTimer = new StallTimer(socket, stall, () => deadline.expire(this.#fault('stalled', stall)));
    let endBy = started + responseLimit;
    const limitedHooks = {
      ...hooks,
      onProgress() {
        stallTimer.onProgress();
        hooks.onProgress();
      },
      onSent: () => {
        endBy = this.clock.monotonic() + responseLimit;
        hooks.onSent();
        stallTimer.end();
        deadline.allow(responseLimit, () => this.#fault('no-response', responseLimit));
      },
    };
    const chunks = captureError(body.chunks(limitedHooks), (error) => {
      bodyError = error;
    });
    try {
      const request = requestOn.call(client, {
        method: 'POST',
        path,
        headers: { ...headers, 'content-type': 'application/json', 'content-length': String(body.length) },
        body: chunks as never,
        reset: true,
      });
      const response = await deadline.guard(request);
      stallTimer.end();
      return await this.#read(response, deadline, { started, endBy });
    } catch (error) {
      if (signal.aborted) incomplete.tell();
      const fallback = body.sendState === 'unsent' ? 'connect-reset' : 'reset';
      const failure = withReceived(toNetworkError(error, this.#host, fallback), raw);
      throw bodyError ?? this.#explainReset(failure, socket);
    } finally {
      deadline.end();
      incomplete.end();
      client.destroy(CLOSED).catch(() => {});
    }
  }

  /**
   * Reads a resource over one of a few kept-alive connections. Throws NetworkError, NoRoomError where others are to be
   * printed first, or the signal's reason.
   */
  async get(
    path: string,
    headers: Headers,
    signal: AbortSignal,
    place?: ResponsePlace,
  ): Promise<HttpResponse> {
    // The time limits do not include the wait for a free connection.
    const connection = await this.#takeConnection();
    const started = this.clock.monotonic();
    const deadline = new Deadline(signal, this.clock);
    try {
      place?.assertRoom();
      deadline.allow(this.limits.silence, () => this.#fault('no-response', this.limits.silence));
      connection.raw?.expectNext();
      const response = await deadline.guard(
        requestOn.call(connection.client, { method: 'GET', path, headers, signal: deadline.signal }),
      );
      return await this.#read(response, deadline, { started, place });
    } catch (error) {
      throw this.#explainReset(toNetworkError(error, this.#host, 'reset'), connection.socket);
    } finally {
      deadline.end();
      const next = this.#waiting.shift();
      if (next === undefined) this.#idle.push(connection);
      else next(connection);
    }
  }

  /** Returns a connection that no other request uses; there are only a few. */
  async #takeConnection(): Promise<PollConnection> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#connections.size < POLL_CONNECTIONS) return this.#addConnection();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #addConnection(): PollConnection {
    const open = async () => {
      const socket = await this.#connect(this.#closed.signal);
      connection.raw = new RawResponse(socket);
      connection.socket = socket;
      return socket;
    };
    const connection: PollConnection = {
      client: new Client(this.#route.origin.origin, {
        ...CLIENT_OPTIONS,
        connect(_options, callback) {
          open().then(
            (socket) => callback(null, socket),
            (error) => callback(error, null),
          );
        },
      }),
    };
    this.#connections.add(connection);
    return connection;
  }

  /** Returns the error of a lost connection; where its socket received an alert, of which undici says nothing, that of the alert. */
  #explainReset(error: unknown, socket: Socket | undefined): unknown {
    const isReset =
      error instanceof NetworkError && error.fault === 'reset' && error.details.status === undefined;
    const code = socket && this.#alerts.get(socket);
    return isReset && code !== undefined
      ? new NetworkError('client-certificate', { host: this.#host, code }, { cause: error })
      : error;
  }

  /** Opens a socket within the time limit; aborted by the signal. */
  async #connect(signal: AbortSignal): Promise<Socket> {
    const deadline = new Deadline(signal, this.clock);
    deadline.allow(this.limits.connect, () => this.#fault('connect-timeout', this.limits.connect));
    try {
      const socket = await openSocket(this.#route, this.clock, deadline.signal);
      return socket.on('error', (error) => {
        const code = errorCode(error);
        if (findAlert(code) === 'client-certificate') this.#alerts.set(socket, code);
      });
    } finally {
      deadline.end();
    }
  }

  async #read(
    response: Dispatcher.ResponseData,
    deadline: Deadline,
    { started, endBy, place }: { started: number; endBy?: number; place?: ResponsePlace | undefined },
  ): Promise<HttpResponse> {
    const { statusCode: status, body } = response;
    const headers = firstValues(response.headers);
    const reader = { host: this.#host, clock: this.clock, limits: this.limits, endBy, place };
    try {
      const read = await readResponse({ status, headers, body }, reader, deadline);
      return { status, headers, ...read, durationMs: this.clock.monotonic() - started };
    } finally {
      // What was not read would delay the next response on this connection.
      body.on('error', () => {}).destroy();
    }
  }

  #fault(fault: NetworkFault, after: number): NetworkError {
    return new NetworkError(fault, { host: this.#host, after });
  }
}

/** A response is slow if it has not ended so many milliseconds after its first byte. */
const SLOW_RESPONSE = 100;
/** Most bytes that are searched in all parts of a slow response, so that single bytes take little time. */
const MAX_SEARCHED = 16 * 1024 * 1024;

/** Tells what has arrived of a response that is slow, whenever there is more of it. */
class IncompleteResponse {
  #cancel: (() => void) | undefined;
  #isTold = true;
  #searched = 0;

  constructor(
    private readonly raw: RawResponse,
    private readonly hooks: SendHooks,
    private readonly clock: Clock,
  ) {}

  onReceived(): void {
    this.#cancel ??= this.clock.after(SLOW_RESPONSE, () => {
      this.#isTold = false;
      this.onReceived();
    });
    if (!this.#isTold && this.#searched < MAX_SEARCHED) this.tell();
  }

  tell(): void {
    const received = this.raw.parseAccepted();
    this.#searched += received?.body.length ?? 0;
    if (received !== undefined) this.#isTold = this.hooks.onIncomplete(received);
  }

  end(): void {
    this.#cancel?.();
    this.#isTold = true;
  }
}

/** Adds the part of a 2xx that undici could not read to the error: it may contain the id of a run. */
function withReceived(error: unknown, raw: RawResponse): unknown {
  if (!(error instanceof NetworkError) || error.details.status !== undefined) return error;
  const received = raw.parseAccepted();
  if (received === undefined) return error;
  const { status } = received;
  const details = { ...error.details, status, received, requestId: requestIdOf(received) };
  return new NetworkError(error.fault, details, { cause: error.cause });
}

/** Returns a connector that provides an open socket once: a second call means that the first connection was lost. */
function provideSocket(socket: Socket): buildConnector.connector {
  let open: Socket | undefined = socket;
  return (_options, callback) => {
    const provided = open;
    open = undefined;
    // undici misses a callback that is called before the connector returns.
    queueMicrotask(() => {
      if (provided !== undefined && !provided.destroyed) callback(null, provided);
      else callback(Object.assign(new Error('connection lost'), { code: 'ECONNRESET' }), null);
    });
  };
}

/** Yields the chunks and reports the error that they throw: undici may wrap it or lose it. */
async function* captureError(chunks: AsyncGenerator<Uint8Array>, onError: (error: unknown) => void) {
  try {
    yield* chunks;
  } catch (error) {
    onError(error);
    throw error;
  }
}

function firstValues(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const pairs = Object.entries(headers).flatMap(([name, value]) => {
    const first = Array.isArray(value) ? value[0] : value;
    return first === undefined ? [] : [[name, first] as const];
  });
  return Object.fromEntries(pairs);
}

/** Converts an error of undici to a NetworkError, with `fallback` for an unspecific one; returns any other error unchanged. */
function toNetworkError(error: unknown, host: string, fallback: NetworkFault): unknown {
  if (error instanceof WfrError || !(error instanceof Error)) return error;
  // The HTTP parser is WebAssembly, for which V8 reserves address space; it is loaded before anything is sent.
  if (error instanceof RangeError && error.message.includes('Wasm memory'))
    return new NetworkError('local', { host, code: 'ENOMEM' }, { cause: error });
  // An error without a code of the system or of undici is a bug, not a network error.
  if (errorCode(error) === undefined && error.name !== 'HTTPParserError') return error;
  // The codes of undici mean nothing to a user.
  const code = errorCode(error)?.startsWith('UND_ERR') ? undefined : errorCode(error);
  return new NetworkError(findProtocolFault(error) ?? fallback, { host, code }, { cause: error });
}

/** Returns the fault of a response that is not HTTP. A TLS alert (RFC 8446, section 6) responds to plain text. */
function findProtocolFault(error: Error): NetworkFault | undefined {
  if ('data' in error && String(error.data).startsWith('\x15\x03')) return 'expects-tls';
  const isProtocol =
    error.name === 'HTTPParserError' ||
    // A response that undici does not expect, such as 101 without an upgrade.
    error.name === 'AssertionError' ||
    errorCode(error) === 'UND_ERR_HEADERS_OVERFLOW' ||
    /^bad (response|upgrade)$/.test(error.message);
  return isProtocol ? 'not-http' : undefined;
}
