/** A service that a test scripts down to the bytes, and that records its requests; sample runs. */
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';
import { stillText } from '../../src/outcome/outcome.js';
import type { Run } from '../../src/service/run.js';
import type { VirtualClock } from './clock.js';

interface SeenRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  /** Bytes of the body received so far. */
  received: number;
  /** The time on the test's clock, in milliseconds. */
  at: number;
  /** Resolves with the body, or with a part of it when the connection ends before. */
  body(): Promise<Buffer>;
  /** Resolves once that many bytes of the body have been received. */
  atLeast(bytes: number): Promise<void>;
}

interface Reply {
  socket: Socket;
  /** Sends a complete HTTP response with a JSON (or text) body. */
  send(status: number, body?: unknown, headers?: Record<string, string>): void;
  /** Sends any bytes. */
  raw(text: string): void;
  /** Resets the connection. */
  reset(): void;
}

export type Handler = (request: SeenRequest, reply: Reply) => void | Promise<void>;

export interface ScriptedService {
  baseUrl: string;
  port: number;
  requests: SeenRequest[];
  posts(): SeenRequest[];
  connections(): number;
}

interface ServiceOptions {
  clock?: VirtualClock;
  tls?: TlsOptions;
  onConnection?: (socket: Socket) => void;
  /** Called when TCP is connected, before TLS. */
  onTcp?: () => void;
}

/** Starts a service that ends with the test. `handler` is called when the head of a request has been received. */
export async function scriptedService(
  handler: Handler,
  options: ServiceOptions = {},
): Promise<ScriptedService> {
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const accept = (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    options.onConnection?.(socket);
    readRequests(socket, options.clock, (request) => {
      requests.push(request);
      void handler(request, createReply(socket));
    });
  };
  const server: Server = options.tls ? createTlsServer(options.tls, accept) : createServer(accept);
  if (options.onTcp !== undefined) server.on('connection', options.onTcp);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    baseUrl: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    requests,
    posts: () => requests.filter(({ method }) => method === 'POST'),
    connections: () => connections,
  };
}

function readRequests(
  socket: Socket,
  clock: VirtualClock | undefined,
  onRequest: (request: SeenRequest) => void,
) {
  let pending: Buffer = Buffer.alloc(0);
  let current: BodyReader | undefined;
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (;;) {
      if (current !== undefined) {
        pending = current.feed(pending);
        if (!current.complete) return;
        current = undefined;
      }
      const end = pending.indexOf('\r\n\r\n');
      if (end < 0) return;
      const [line = '', ...lines] = pending.subarray(0, end).toString('latin1').split('\r\n');
      pending = pending.subarray(end + 4);
      const headers = Object.fromEntries(
        lines.map((text) => [
          text.split(':', 1)[0]?.toLowerCase() ?? '',
          text.slice(text.indexOf(':') + 1).trim(),
        ]),
      );
      const [method = '', path = ''] = line.split(' ');
      const reader = new BodyReader(Number(headers['content-length'] ?? 0));
      current = reader;
      onRequest({
        method,
        path,
        headers,
        at: clock?.monotonic() ?? 0,
        get received() {
          return reader.received;
        },
        body: () => reader.body,
        atLeast: (bytes) => reader.atLeast(bytes),
      });
    }
  });
  socket.on('close', () => current?.finish());
}

class BodyReader {
  received = 0;
  readonly body: Promise<Buffer>;
  #chunks: Buffer[] = [];
  #finish!: (body: Buffer) => void;
  #waiting: { bytes: number; resolve: () => void }[] = [];

  constructor(readonly length: number) {
    this.body = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  get complete(): boolean {
    return this.received >= this.length;
  }

  feed(bytes: Buffer): Buffer {
    const bodyBytes = bytes.subarray(0, this.length - this.received);
    this.#chunks.push(Buffer.from(bodyBytes));
    this.received += bodyBytes.length;
    for (const { bytes: wanted, resolve } of this.#waiting) if (this.received >= wanted) resolve();
    if (this.complete) this.finish();
    return bytes.subarray(bodyBytes.length);
  }

  finish(): void {
    this.#finish(Buffer.concat(this.#chunks));
  }

  atLeast(bytes: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.received >= bytes) resolve();
      else this.#waiting.push({ bytes, resolve });
    });
  }
}

function createReply(socket: Socket): Reply {
  return {
    socket,
    send(status, body = {}, headers = {}) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const all = {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(text)),
        ...headers,
      };
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`HTTP/1.1 ${status} Text\r\n${lines.join('')}\r\n${text}`);
    },
    raw: (text) => void socket.write(text, 'latin1'),
    reset: () => void socket.resetAndDestroy(),
  };
}

/** Returns a port of 127.0.0.1 on which nothing listens. */
export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** Returns a Run object as the service sends it, with `changes`. */
export function aRun(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: 'run-1',
    versionName: 'v1',
    status: 'RUNNING',
    createdAt: '2026-01-02T03:04:05Z',
    steps: 4,
    stepsCompleted: 1,
    output: null,
    ...changes,
  };
}

/** Returns a FINISHED Run object. */
export function aFinishedRun(output: unknown = { total: 1 }): Record<string, unknown> {
  return aRun({ status: 'FINISHED', stepsCompleted: 4, output });
}

/** Returns what is said of a run with these changes that wfr stopped waiting for; reports.test.ts has the words. */
export function stillRunning(durationMs: number | undefined, subject?: string, changes = {}): string {
  return stillText(aRun(changes) as unknown as Run, durationMs, subject).slice(1);
}

/** Returns a handler that answers with a run that has these `changes`. */
export const showRun =
  (changes: Record<string, unknown> = {}): Handler =>
  (_request, reply) =>
    reply.send(200, aRun(changes));

/** Returns a handler that uses each of `handlers` for one request, and the last one from then on. */
export function inTurn(...handlers: readonly Handler[]): Handler {
  let requests = 0;
  return (request, reply) => handlers[Math.min(requests++, handlers.length - 1)]?.(request, reply);
}

/** Returns a handler that accepts every trigger with a PENDING run, and answers polls with `shown` in turn. */
export function acceptThenShow(...shown: Record<string, unknown>[]): Handler {
  let polls = 0;
  return async (request, reply) => {
    await request.body();
    if (request.method === 'POST') reply.send(201, aRun({ status: 'PENDING', stepsCompleted: 0 }));
    else reply.send(200, shown[Math.min(polls++, shown.length - 1)]);
  };
}
