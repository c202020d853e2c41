/** Requests and answers on the wire, each within its limits of time and size. The only place that knows undici. */
import type { Socket } from 'node:net';
import type { buildConnector, Dispatcher } from 'undici';
import requestOn from 'undici/lib/api/api-request.js';
import Client from 'undici/lib/dispatcher/client.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { NetworkError, type NetworkFault } from '../errors.js';
import type { Clock } from '../platform/context.js';
import type { Limits } from '../platform/limits.js';
import type { TriggerBody } from './body.js';
import { openSocket, type Route } from './connect.js';
import { Deadline } from './deadline.js';
import { RawResponse } from './raw-response.js';
import { type ReadBody, readResponse } from './read-response.js';
import { Semaphore } from './semaphore.js';
import { StallTimer } from './stall.js';
import { toNetworkError } from './undici-error.js';

export interface HttpResponse extends ReadBody {
  status: number;
  /** Names in lower case; of several lines of one name, the first. */
  headers: Readonly<Record<string, string>>;
  /** Milliseconds from the request to the end of the answer. */
  durationMs: number;
}

const POLL_CONNECTIONS = 8;

type Headers = Readonly<Record<string, string>>;

export interface SendHooks {
  /** Called before the closing bytes leave; throws to keep them back. */
  beforeLastBytes(): Promise<void>;
  onProgress(): void;
  /** Called when all of it has been handed over. */
  onSent(): void;
}

export class Transport {
  readonly #route: Route;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #closed = new AbortController();
  readonly #polls = new Semaphore(POLL_CONNECTIONS);
  #pool: Pool | undefined;

  constructor(route: Route, clock: Clock, limits: Limits) {
    this.#route = route;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Ends every connection at once. */
  async close(): Promise<void> {
    this.#closed.abort(new Error('closed'));
    await this.#pool?.destroy();
  }

  /**
   * Sends a body over a connection of its own: a kept-alive one that dies as the request arrives cannot be told from
   * a request that was taken. Throws NetworkError, the signal's reason, and what the body throws.
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
      connect: handOver(socket),
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const deadline = new Deadline(signal, this.#clock);
    let failure: unknown;
    const { stall } = this.#limits;
    const watch = new StallTimer(socket, stall, () => deadline.expire(this.#fault('stalled', stall)));
    const onProgress = () => {
      watch.moved();
      hooks.onProgress();
    };
    const onSent = () => {
      hooks.onSent();
      watch.end();
      deadline.allow(this.#limits.response, () => this.#fault('no-response', this.#limits.response));
    };
    const chunks = remember(body.chunks({ ...hooks, onProgress, onSent }), (error) => {
      failure = error;
    });
    try {
      const request = requestOn.call(client, {
        method: 'POST',
        path,
        headers: { ...headers, 'content-type': 'application/json', 'content-length': String(body.length) },
        body: chunks as never,
        reset: true,
      });
      const answer = await deadline.guard(request);
      watch.end();
      return await this.#read(answer, deadline, started);
    } catch (error) {
      const fallback = body.sendState === 'unsent' ? 'connect-reset' : 'reset';
      throw failure ?? withReceived(toNetworkError(error, this.#host, fallback), raw);
    } finally {
      deadline.end();
      client.destroy().catch(() => {});
    }
  }

  /** Reads a resource over one of a few kept connections. Throws NetworkError or the signal's reason. */
  get(path: string, headers: Headers, signal: AbortSignal): Promise<HttpResponse> {
    // The limits of time are for a request, not for its place in the queue.
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
            callback(null, socket);
          },
          (error) => callback(error, null),
        );
      },
    });
    const deadline = new Deadline(signal, this.#clock);
    try {
      deadline.allow(this.#limits.silence, () => this.#fault('no-response', this.#limits.silence));
      const answer = await deadline.guard(
        requestOn.call(this.#pool, { method: 'GET', path, headers, signal: deadline.signal }),
      );
      return await this.#read(answer, deadline, started);
    } catch (error) {
      throw toNetworkError(error, this.#host, 'reset');
    } finally {
      deadline.end();
    }
  }

  /** Opens a socket within the limit of time; ends with `signal`, and when this transport is closed. */
  async #connect(signal: AbortSignal): Promise<Socket> {
    const deadline = new Deadline(signal, this.#clock);
    deadline.allow(this.#limits.connect, () => this.#fault('connect-timeout', this.#limits.connect));
    try {
      return await openSocket(this.#route, this.#clock, deadline.signal);
    } finally {
      deadline.end();
    }
  }

  async #read(response: Dispatcher.ResponseData, deadline: Deadline, started: number): Promise<HttpResponse> {
    const { statusCode: status, body } = response;
    const headers = firstOfEach(response.headers);
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

/** What undici could not read of a 2xx, kept with the error: the id of a run may be in it. */
function withReceived(error: unknown, raw: RawResponse): unknown {
  if (!(error instanceof NetworkError) || error.facts.status !== undefined) return error;
  const received = raw.received();
  if (received === undefined || received.status < 200 || received.status > 299) return error;
  const { status } = received;
  return new NetworkError(error.fault, { ...error.facts, status, received }, { cause: error.cause });
}

/** Gives undici a socket that is open already, once: a second asking means that the first one was lost. */
function handOver(socket: Socket): buildConnector.connector {
  let open: Socket | undefined = socket;
  return (_options, callback) => {
    const given = open;
    open = undefined;
    // undici overlooks an answer that comes before its question has returned.
    queueMicrotask(() => {
      if (given !== undefined && !given.destroyed) callback(null, given);
      else callback(Object.assign(new Error('connection lost'), { code: 'ECONNRESET' }), null);
    });
  };
}

/** Passes chunks on and keeps what was thrown while making them: undici may wrap it or lose it. */
async function* remember(chunks: AsyncGenerator<Uint8Array>, onError: (error: unknown) => void) {
  try {
    yield* chunks;
  } catch (error) {
    onError(error);
    throw error;
  }
}

function firstOfEach(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const pairs = Object.entries(headers).flatMap(([name, value]) => {
    const first = Array.isArray(value) ? value[0] : value;
    return first === undefined ? [] : [[name, first] as const];
  });
  return Object.fromEntries(pairs);
}
