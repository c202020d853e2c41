/** Requests and answers on the wire, each within its limits of time and size. The only place that knows undici. */
import { isUtf8 } from 'node:buffer';
import type { Socket } from 'node:net';
import { type buildConnector, Client, type Dispatcher, Pool } from 'undici';
import type { Clock, Limits } from '../context.js';
import { NetworkError, type NetworkFault, WfrError } from '../errors.js';
import { codeOf } from '../system-error.js';
import type { TriggerBody } from './body.js';
import { openSocket, type Route } from './connect.js';

export interface Answer {
  status: number;
  /** Names in lower case; of several lines of one name, the first. */
  headers: Readonly<Record<string, string>>;
  /** UTF-8. */
  body: Uint8Array;
  /** Milliseconds from the request to the end of the answer. */
  took: number;
}

/** The most of a 2xx's body that is read: 512 MiB. */
const MAX_ANSWER = 512 * 1024 * 1024;
/** The most of any other body that is read. */
const MAX_REFUSAL = 64 * 1024;
const POLL_CONNECTIONS = 8;

type Headers = Readonly<Record<string, string>>;

export interface SendHooks {
  /** Called before the closing bytes leave; throws to keep them back. */
  commit(): void;
  onProgress(): void;
}

export class Transport {
  readonly #route: Route;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #closed = new AbortController();
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
  ): Promise<Answer> {
    const started = this.#clock.monotonic();
    const socket = await this.#connect(signal);
    const client = new Client(this.#route.origin.origin, {
      connect: handOver(socket),
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const watch = new Watch(signal, this.#clock);
    let failure: unknown;
    socket.setTimeout(this.#limits.stall, () => watch.expire(this.#fault('stalled', this.#limits.stall)));
    const onSent = () => {
      socket.setTimeout(0);
      watch.allow(this.#limits.answer, this.#fault('no-answer', this.#limits.answer));
    };
    const chunks = remember(body.chunks({ ...hooks, onSent }), (error) => {
      failure = error;
    });
    try {
      const request = client.request({
        method: 'POST',
        path,
        headers: { ...headers, 'content-type': 'application/json', 'content-length': String(body.length) },
        body: chunks as never,
        reset: true,
      });
      const answer = await watch.guard(request);
      socket.setTimeout(0);
      return await this.#read(answer, watch, started);
    } catch (error) {
      throw failure ?? this.#asFault(error, body.phase === 0 ? 'connect-reset' : 'reset');
    } finally {
      watch.end();
      client.destroy().catch(() => {});
    }
  }

  /** Reads a resource over one of a few kept connections. Throws NetworkError or the signal's reason. */
  async get(path: string, headers: Headers, signal: AbortSignal): Promise<Answer> {
    const started = this.#clock.monotonic();
    this.#pool ??= new Pool(this.#route.origin.origin, {
      connections: POLL_CONNECTIONS,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_options, callback) => {
        this.#connect(this.#closed.signal).then(
          (socket) => callback(null, socket),
          (error) => callback(error, null),
        );
      },
    });
    const watch = new Watch(signal, this.#clock);
    try {
      watch.allow(this.#limits.silence, this.#fault('no-answer', this.#limits.silence));
      const answer = await watch.guard(
        this.#pool.request({ method: 'GET', path, headers, signal: watch.signal }),
      );
      return await this.#read(answer, watch, started);
    } catch (error) {
      throw this.#asFault(error, 'reset');
    } finally {
      watch.end();
    }
  }

  /** Opens a socket within the limit of time; ends with `signal`, and when this transport is closed. */
  async #connect(signal: AbortSignal): Promise<Socket> {
    const watch = new Watch(signal, this.#clock);
    watch.allow(this.#limits.connect, this.#fault('connect-timeout', this.#limits.connect));
    try {
      return await openSocket(this.#route, this.#clock, watch.signal);
    } finally {
      watch.end();
    }
  }

  async #read(answer: Dispatcher.ResponseData, watch: Watch, started: number): Promise<Answer> {
    const { statusCode: status } = answer;
    const headers = firstOfEach(answer.headers);
    const done = (body: Uint8Array) => ({ status, headers, body, took: this.#clock.monotonic() - started });
    try {
      if (status < 200 || status > 299) return done(await this.#readRefusal(answer.body, watch));
      return done(await this.#readAll(answer.body, headers, watch));
    } catch (error) {
      // Where the headers have come, the status is known, whatever becomes of the rest.
      if (error instanceof NetworkError)
        throw new NetworkError(error.fault, { ...error.facts, status }, { cause: error });
      if (error instanceof WfrError || watch.signal.aborted) throw error;
      throw new NetworkError(
        'truncated',
        { host: this.#host, status, code: codeOf(error) },
        { cause: error },
      );
    }
  }

  async #readAll(body: Dispatcher.ResponseData['body'], headers: Headers, watch: Watch): Promise<Uint8Array> {
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity') throw new NetworkError('encoded', { host: this.#host, code: encoding });
    const tooLarge = new NetworkError('too-large', { host: this.#host, code: headers['content-length'] });
    if (Number(headers['content-length'] ?? 0) > MAX_ANSWER) throw tooLarge;
    const chunks: Buffer[] = [];
    let size = 0;
    await this.#eachChunk(body, watch, (chunk) => {
      size += chunk.length;
      if (size > MAX_ANSWER) throw tooLarge;
      chunks.push(chunk);
    });
    const bytes = Buffer.concat(chunks, size);
    // What is not UTF-8 becomes replacement characters, as it does in every JSON parser.
    return isUtf8(bytes) ? bytes : Buffer.from(bytes.toString('utf8'));
  }

  /** As much of a refusal's body as comes in a short time: the status counts, the words are welcome. */
  async #readRefusal(body: Dispatcher.ResponseData['body'], watch: Watch): Promise<Uint8Array> {
    const chunks: Buffer[] = [];
    let size = 0;
    const enough = new Error('enough has been read');
    const stop = this.#clock.after(this.#limits.errorBody, () => body.destroy(enough));
    try {
      await this.#eachChunk(body, watch, (chunk) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size > MAX_REFUSAL) throw enough;
      });
    } catch {
      watch.throwIfInterrupted();
    } finally {
      stop();
    }
    return Buffer.concat(chunks).subarray(0, MAX_REFUSAL);
  }

  async #eachChunk(
    body: Dispatcher.ResponseData['body'],
    watch: Watch,
    take: (chunk: Buffer) => void,
  ): Promise<void> {
    const silent = this.#fault('no-answer', this.#limits.silence);
    const reading = (async () => {
      watch.allow(this.#limits.silence, silent);
      for await (const chunk of body) {
        watch.allow(this.#limits.silence, silent);
        take(chunk);
      }
    })();
    await watch.guard(reading);
  }

  get #host(): string {
    return this.#route.origin.host;
  }

  #fault(fault: NetworkFault, after: number): NetworkError {
    return new NetworkError(fault, { host: this.#host, after });
  }

  /** What undici throws, as one of our own faults. */
  #asFault(error: unknown, fallback: NetworkFault): unknown {
    if (error instanceof WfrError || !(error instanceof Error) || error.name === 'AssertionError')
      return error;
    return new NetworkError(
      protocolFault(error) ?? fallback,
      { host: this.#host, code: codeOf(error) },
      { cause: error },
    );
  }
}

/** What undici says of an answer that is no HTTP. A TLS alert (RFC 8446, section 6) is one to plain text. */
function protocolFault(error: Error): NetworkFault | undefined {
  if ('data' in error && String(error.data).startsWith('\x15\x03')) return 'speaks-tls';
  const isProtocol =
    error.name === 'HTTPParserError' ||
    codeOf(error) === 'UND_ERR_HEADERS_OVERFLOW' ||
    /^bad (response|upgrade)$/.test(error.message);
  return isProtocol ? 'not-http' : undefined;
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

/** One request's limits of time: ends what it guards when its signal does, or when the time it was allowed has passed. */
class Watch {
  readonly #outer: AbortSignal;
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #forward = () => this.#controller.abort(this.#outer.reason);
  #cancel = () => {};

  constructor(outer: AbortSignal, clock: Clock) {
    this.#outer = outer;
    this.#clock = clock;
    // AbortSignal.any would keep a link to a long-lived signal for every request of a long wait.
    outer.addEventListener('abort', this.#forward, { once: true });
    if (outer.aborted) this.#forward();
  }

  /** Aborts with the outer signal, or when the time is up. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on, `ms` may pass. */
  allow(ms: number, otherwise: NetworkError): void {
    this.#cancel();
    this.#cancel = this.#clock.after(ms, () => this.expire(otherwise));
  }

  expire(reason: NetworkError): void {
    this.#controller.abort(reason);
  }

  /** The promise's outcome, or the signal's reason as soon as there is one, even where undici does not listen. */
  async guard<T>(promise: Promise<T>): Promise<T> {
    promise.catch(() => {});
    let abort = () => {};
    const aborted = new Promise<never>((_resolve, reject) => {
      abort = () => reject(this.signal.reason);
      this.signal.addEventListener('abort', abort, { once: true });
      if (this.signal.aborted) abort();
    });
    try {
      return await Promise.race([promise, aborted]);
    } finally {
      this.signal.removeEventListener('abort', abort);
    }
  }

  throwIfInterrupted(): void {
    this.#outer.throwIfAborted();
  }

  end(): void {
    this.#cancel();
    this.#outer.removeEventListener('abort', this.#forward);
  }
}
