/** Sends requests and reads responses within limits of time and size. The only importer of undici. */
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import Client from 'undici/lib/dispatcher/client.js';
import { throwUnless, WfrError } from '../errors.js';
import { type Clock, type Limits, VERSION } from '../platform/context.js';
import { errorCode, systemError } from '../platform/system-error.js';
import type { BodyHooks, TriggerBody } from './body.js';
import { connector, type Route } from './connect.js';
import { faultOf, NetworkError, type NetworkFault } from './errors.js';
import { type HttpResponse, type ResponseReader, readResponse } from './read-response.js';
import type { ReceivedResponse } from './response-facts.js';
import { interceptHead, MAX_HEAD, type ResponseHead } from './response-head.js';
import type { ResponsePlace } from './response-memory.js';
import { startDeadline, watchStall } from './time-limits.js';

const POLL_CONNECTIONS = 8;
/** Milliseconds until a part of a response that has arrived is searched for the id of a run. */
const SEARCH_INTERVAL = 100;

type Headers = Readonly<Record<string, string>>;
type Request = Dispatcher.DispatchOptions;

export interface SendHooks extends BodyHooks {
  /** Called with what has arrived of a 2xx that is slow or is aborted. */
  onIncomplete(received: ReceivedResponse): void;
}

export type Transport = ReturnType<typeof openTransport>;

/**
 * Returns what sends requests to the service at the end of `route`. Connections are opened when they are needed: each trigger has
 * its own, polls share a few until `close`.
 */
export function openTransport(route: Route, clock: Clock, limits: Limits) {
  const { host } = route.baseUrl;
  const openSocket = connector(route, clock);
  const closed = new AbortController();
  /** Requests that wait for a connection. */
  const waiting: ((connection: Connection) => void)[] = [];

  /** Opens a socket within the time limit; aborted by the signal. */
  const connect = async (signal: AbortSignal) => {
    const deadline = startDeadline(host, signal, clock);
    deadline.restart(limits.connect, 'connect-timeout');
    try {
      return await openSocket(deadline.signal);
    } finally {
      deadline.end();
    }
  };

  const polling = Array.from(
    { length: POLL_CONNECTIONS },
    () => new Connection(route.baseUrl, () => connect(closed.signal)),
  );
  /** Those that no request uses; the last one was used last. */
  const idle = [...polling];

  /** Sends a request and returns its response; `fallback` is the fault of a lost connection. */
  const send = async (
    request: Request,
    reader: ResponseReader,
    connection: Connection,
    fallback: () => NetworkFault,
  ): Promise<HttpResponse> => {
    try {
      connection.head?.expectNext();
      const headers = { ...request.headers, 'user-agent': `wfr/${VERSION}` };
      connection.client.dispatch({ ...request, headers }, reader);
      return await reader.response();
    } catch (error) {
      const failure = toNetworkError(error, host, fallback());
      throwUnless(failure, NetworkError);
      const decoded = await reader.decodedReceived();
      const received = decoded ?? connection.head?.received();
      if (received) {
        // It may contain the id of a run.
        const { fault, details, cause } = failure;
        const isBroken = decoded && failure !== error;
        throw new NetworkError(isBroken ? 'truncated' : fault, { ...details, received }, { cause });
      }
      // undici says nothing of the alert that ended a connection.
      const { alert: code } = connection;
      if (failure.fault !== 'reset' || code === undefined) throw failure;
      throw new NetworkError('client-certificate', { host, code }, { cause: error });
    }
  };

  /**
   * Sends a body over a new connection: if a kept-alive one closed during the request, the service might have accepted
   * it. Throws NetworkError, the signal's reason, and what the body throws.
   */
  const post = async (
    path: string,
    headers: Headers,
    body: TriggerBody,
    hooks: SendHooks,
    signal: AbortSignal,
  ) => {
    const deadline = startDeadline(host, signal, clock);
    let endBy = clock.monotonic() + limits.response;
    let cancelSearch: (() => void) | undefined;
    const search = () => {
      cancelSearch = undefined;
      const received = reader.received() ?? connection.head?.received();
      if (received) hooks.onIncomplete(received);
    };
    const onReceived = () => {
      cancelSearch ??= clock.after(SEARCH_INTERVAL, search);
    };
    const reader = readResponse({ clock, limits, deadline, endBy: () => endBy, onReceived });
    let stall: ReturnType<typeof watchStall> | undefined;
    const open = async () => {
      // undici opens another one if the first was lost.
      if (stall) throw systemError('ECONNRESET');
      const socket = await connect(signal);
      stall = watchStall(socket, limits.stall, deadline);
      return socket;
    };
    const connection = new Connection(route.baseUrl, open, onReceived);
    const onProgress = () => {
      stall?.onProgress();
      hooks.onProgress();
    };
    const onSent = () => {
      endBy = clock.monotonic() + limits.response;
      hooks.onSent();
      stall?.end();
      deadline.restart(limits.response, 'no-response');
    };
    const request: Request = {
      method: 'POST',
      path,
      headers: { ...headers, 'content-type': 'application/json', 'content-length': String(body.length) },
      body: body.chunks({ ...hooks, onProgress, onSent }) as never,
      reset: true,
    };
    const fallback = () => (body.sendState === 'unsent' ? 'connect-reset' : 'reset');
    try {
      return await send(request, reader, connection, fallback);
    } catch (error) {
      if (signal.aborted) search();
      throw error;
    } finally {
      deadline.end();
      cancelSearch?.();
      connection.client.destroy().catch(() => {});
    }
  };

  /**
   * Reads a resource over one of a few kept-alive connections. Throws NetworkError, NO_ROOM where others are to be
   * printed first, or the signal's reason.
   */
  const get = async (path: string, headers: Headers, signal: AbortSignal, place?: ResponsePlace) => {
    // The time limits do not include the wait for a free connection.
    const connection = idle.pop() ?? (await new Promise<Connection>((resolve) => waiting.push(resolve)));
    const deadline = startDeadline(host, signal, clock);
    try {
      place?.assertRoom();
      deadline.restart(limits.silence, 'no-response');
      const reader = readResponse({ clock, limits, deadline, place });
      return await send({ method: 'GET', path, headers }, reader, connection, () => 'reset');
    } finally {
      deadline.end();
      const next = waiting.shift();
      if (!next) idle.push(connection);
      else next(connection);
    }
  };

  /** Closes all connections immediately. */
  const close = async () => {
    closed.abort();
    await Promise.all(polling.map(({ client }) => client.destroy()));
  };

  return { post, get, close };
}

/** A connection of undici over sockets of `open`, which it calls again where the last one was closed. */
class Connection {
  readonly client: Client;
  /** The code of the TLS alert that its socket has received. */
  alert: string | undefined;
  /** The head of the response that its socket receives. */
  head: ResponseHead | undefined;

  /** Calls `onReceived` when a part of the head of a response has arrived. */
  constructor(baseUrl: URL, open: () => Promise<Socket>, onReceived?: () => void) {
    this.client = new Client(baseUrl.origin, {
      // wfr has limits of its own for the phases of a response.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEAD,
      connect: (_options, callback) => {
        open().then(
          (socket) => {
            this.alert = undefined;
            socket.on('error', (error) => {
              const code = errorCode(error);
              if (faultOf(code) === 'client-certificate') this.alert = code;
            });
            this.head = interceptHead(socket, onReceived);
            callback(null, socket);
          },
          (error) => callback(error, null),
        );
      },
    });
  }
}

/** Converts an error of undici to a NetworkError, with `fallback` for an unspecific one; returns any other error unchanged. */
function toNetworkError(error: unknown, host: string, fallback: NetworkFault): unknown {
  if (error instanceof WfrError || !(error instanceof Error)) return error;
  // The HTTP parser is WebAssembly, for which V8 reserves address space; it is loaded before anything is sent.
  if (error instanceof RangeError && error.message.includes('Wasm memory'))
    return new NetworkError('local', { host, code: 'ENOMEM' }, { cause: error });
  const code = errorCode(error);
  // An error without a code of the system or of undici is a bug, not a network error.
  if (code === undefined && error.name !== 'HTTPParserError') return error;
  // The codes of undici mean nothing to a user.
  const details = { host, code: code?.startsWith('UND_ERR') ? undefined : code };
  return new NetworkError(findProtocolFault(error) ?? fallback, details, { cause: error });
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
