/** Sends requests and reads responses within limits of time and size. The only importer of undici. */
import type { Socket } from 'node:net';
import type { buildConnector, Dispatcher } from 'undici';
import requestOn from 'undici/lib/api/api-request.js';
import Client from 'undici/lib/dispatcher/client.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { NetworkError, type NetworkFault, WfrError } from '../errors.js';
import type { Clock } from '../platform/context.js';
import type { Limits } from '../platform/limits.js';
import { errorCode } from '../platform/system-error.js';
import type { TriggerBody } from './body.js';
import { findAlert, openSocket, type Route } from './connect.js';
import { Deadline, StallTimer } from './deadline.js';
import { RawResponse } from './raw-response.js';
import { type ReadBody, readResponse } from './read-response.js';
import { Semaphore } from './semaphore.js';
import { type TlsSettings, Trust } from './trust.js';

export interface HttpResponse extends ReadBody {
  status: number;
  /** Names in lower case; of repeated headers, the first. */
  headers: Readonly<Record<string, string>>;
  /** Milliseconds from the request to the end of the response. */
  durationMs: number;
}

const POLL_CONNECTIONS = 8;

type Headers = Readonly<Record<string, string>>;

export interface SendHooks {
  /** Called before the closing bytes are sent; throws to withhold them. */
  beforeLastBytes(): Promise<void>;
  onProgress(): void;
  /** Called when the whole body has been handed to the socket. */
  onSent(): void;
}

export class Transport {
  readonly #route: Route;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #closed = new AbortController();
  readonly #polls = new Semaphore(POLL_CONNECTIONS);
  #pool: Pool | undefined;
  /** The code of the TLS alert that a socket received after its request was written. */
  readonly #alerts = new WeakMap<Socket, string | undefined>();
  /** The latest sockets of the pool. */
  #polled: readonly Socket[] = [];

  constructor({ tls, ...route }: Omit<Route, 'trust'> & { tls: TlsSettings }, clock: Clock, limits: Limits) {
    this.#route = { ...route, trust: new Trust(tls) };
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Closes all connections immediately. */
  async close(): Promise<void> {
    this.#closed.abort(new Error('closed'));
    await this.#pool?.destroy();
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
    const started = this.#clock.monotonic();
    const socket = await this.#connect(signal);
    const raw = new RawResponse(socket);
    const client = new Client(this.#route.origin.origin, {
      connect: provideSocket(socket),
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const deadline = new Deadline(signal, this.#clock);
    let bodyError: unknown;
    const { stall } = this.#limits;
    const stallTimer = new StallTimer(socket, stall, () => deadline.expire(this.#fault('stalled', stall)));
    const chunks = captureError(body.chunks(this.#limitTime(hooks, stallTimer, deadline)), (error) => {
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
      return await this.#read(response, deadline, started);
    } catch (error) {
      const fallback = body.sendState === 'unsent' ? 'connect-reset' : 'reset';
      const failure = withReceived(toNetworkError(error, this.#host, fallback), raw);
      throw bodyError ?? this.#explainReset(failure, [socket]);
    } finally {
      deadline.end();
      client.destroy().catch(() => {});
    }
  }

  /** Returns hooks that apply the time limits of an upload, and of the wait for its response. */
  #limitTime(hooks: SendHooks, stallTimer: StallTimer, deadline: Deadline): SendHooks {
    const { response } = this.#limits;
    return {
      ...hooks,
      onProgress() {
        stallTimer.onProgress();
        hooks.onProgress();
      },
      onSent: () => {
        hooks.onSent();
        stallTimer.end();
        deadline.allow(response, () => this.#fault('no-response', response));
      },
    };
  }

  /** Reads a resource over one of a few kept-alive connections. Throws NetworkError or the signal's reason. */
  get(path: string, headers: Headers, signal: AbortSignal): Promise<HttpResponse> {
    // The time limits do not include the wait for a free connection.
    return this.#polls.use(() => this.#get(path, headers, signal));
  }

  async #get(path: string, headers: Headers, signal: AbortSignal): Promise<HttpResponse> {
    const started = this.#clock.monotonic();
    this.#pool ??= new Pool(this.#route.origin.origin, {
      connections: POLL_CONNECTIONS,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_options, callback) => {
        this.#connect(this.#closed.signal).then(
          (socket) => {
            new RawResponse(socket);
            this.#polled = [...this.#polled, socket].slice(-POLL_CONNECTIONS);
            callback(null, socket);
          },
          (error) => callback(error, null),
        );
      },
    });
    const deadline = new Deadline(signal, this.#clock);
    try {
      deadline.allow(this.#limits.silence, () => this.#fault('no-response', this.#limits.silence));
      const response = await deadline.guard(
        requestOn.call(this.#pool, { method: 'GET', path, headers, signal: deadline.signal }),
      );
      return await this.#read(response, deadline, started);
    } catch (error) {
      throw this.#explainReset(toNetworkError(error, this.#host, 'reset'), this.#polled);
    } finally {
      deadline.end();
    }
  }

  /** Returns the error of a lost connection; where a socket received an alert, of which undici says nothing, that of the alert. */
  #explainReset(error: unknown, sockets: readonly Socket[]): unknown {
    const isReset =
      error instanceof NetworkError && error.fault === 'reset' && error.facts.status === undefined;
    const code = sockets.map((socket) => this.#alerts.get(socket)).find((one) => one !== undefined);
    return isReset && code !== undefined
      ? new NetworkError('client-certificate', { host: this.#host, code }, { cause: error })
      : error;
  }

  /** Opens a socket within the time limit; aborted by the signal. */
  async #connect(signal: AbortSignal): Promise<Socket> {
    const deadline = new Deadline(signal, this.#clock);
    deadline.allow(this.#limits.connect, () => this.#fault('connect-timeout', this.#limits.connect));
    try {
      const socket = await openSocket(this.#route, this.#clock, deadline.signal);
      return socket.on('error', (error) => {
        const code = errorCode(error);
        if (findAlert(code) === 'client-certificate') this.#alerts.set(socket, code);
      });
    } finally {
      deadline.end();
    }
  }

  async #read(response: Dispatcher.ResponseData, deadline: Deadline, started: number): Promise<HttpResponse> {
    const { statusCode: status, body } = response;
    const headers = firstValues(response.headers);
    const reader = { host: this.#host, clock: this.#clock, limits: this.#limits };
    const read = await readResponse({ status, headers, body }, reader, deadline);
    return { status, headers, ...read, durationMs: this.#clock.monotonic() - started };
  }

  get #host(): string {
    return this.#route.origin.host;
  }

  #fault(fault: NetworkFault, after: number): NetworkError {
    return new NetworkError(fault, { host: this.#host, after });
  }
}

/** Adds the part of a 2xx that undici could not read to the error: it may contain the id of a run. */
function withReceived(error: unknown, raw: RawResponse): unknown {
  if (!(error instanceof NetworkError) || error.facts.status !== undefined) return error;
  const received = raw.parse();
  if (received === undefined || received.status < 200 || received.status > 299) return error;
  const { status } = received;
  return new NetworkError(error.fault, { ...error.facts, status, received }, { cause: error.cause });
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
