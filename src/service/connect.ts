/**
 * From an origin to an open socket: TCP, a proxy's tunnel, TLS. All of it ends with its signal, which undici's own
 * connector does not see to (nodejs/undici#386), and a proxy that closes is one failure, not an endless loop
 * (nodejs/undici#5441).
 */
import { connect as connectTcp, type Socket } from 'node:net';
import { NetworkError, type NetworkFault } from '../errors.js';
import type { Clock } from '../platform/context.js';
import { errorCode } from '../platform/system-error.js';
import { stripBrackets } from '../text/url.js';

export interface ProxyServer {
  protocol: 'http:' | 'https:';
  hostname: string;
  port: number;
  /** The value of Proxy-Authorization; a secret. */
  authorization: string | undefined;
}

export interface Route {
  origin: URL;
  proxy: ProxyServer | undefined;
}

/** Node's 250 ms for each address family is too short for real networks. */
const FAMILY_TIMEOUT = 2_000;

/** How long a write error waits for an answer that may already be under way. */
const HELD_ERROR = 1_000;

/** Opens a connection that `signal` can end at any moment. Throws NetworkError, or the signal's reason. */
export async function openSocket(route: Route, clock: Clock, signal: AbortSignal): Promise<Socket> {
  const { origin, proxy } = route;
  const secure = origin.protocol === 'https:';
  const target = { host: stripBrackets(origin.hostname), port: Number(origin.port) || (secure ? 443 : 80) };
  const through = proxy === undefined ? undefined : await openTunnel(proxy, target, signal);
  if (!secure) return holdWriteErrors(through ?? (await openTcp(target, signal, false)), clock);
  return holdWriteErrors(await openTls(target, through, signal, false), clock);
}

interface Target {
  host: string;
  port: number;
}

const hostOf = ({ host, port }: Target) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);

function openTcp(target: Target, signal: AbortSignal, proxy: boolean): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connectTcp({
    ...target,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
    autoSelectFamilyAttemptTimeout: FAMILY_TIMEOUT,
  });
  return opened(socket, 'connect', target, signal, proxy);
}

async function openTls(target: Target, through: Socket | undefined, signal: AbortSignal, proxy: boolean) {
  const socket = through ?? (await openTcp(target, signal, proxy));
  const { connect: connectTls } = await import('node:tls');
  // An address is no server name (RFC 6066, section 3).
  const servername = /^[\d.]+$|:/.test(target.host) ? '' : target.host;
  const secured = connectTls({ socket, host: target.host, servername, ALPNProtocols: ['http/1.1'] });
  return opened(secured, 'secureConnect', target, signal, proxy);
}

/** Waits for a socket to be usable. */
function opened(
  socket: Socket,
  event: string,
  target: Target,
  signal: AbortSignal,
  proxy: boolean,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      signal.removeEventListener('abort', abort);
      socket.removeListener('error', fail);
      socket.removeListener('close', closed);
      settle();
    };
    const giveUp = (reason: unknown) =>
      finish(() => {
        socket.on('error', () => {}).destroy();
        reject(reason);
      });
    const abort = () => giveUp(signal.reason);
    const fail = (error: Error) => giveUp(connectError(error, target, proxy));
    const closed = () => giveUp(new NetworkError('connect-reset', { host: hostOf(target), proxy }));
    // Whoever uses it next listens a moment later; an error in between must not go unheard.
    socket.once(event, () => finish(() => resolve(socket.on('error', () => {}))));
    socket.once('error', fail);
    socket.once('close', closed);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
  });
}

/** Asks an HTTP proxy for a tunnel (RFC 9110, section 9.3.6). */
async function openTunnel(proxy: ProxyServer, target: Target, signal: AbortSignal): Promise<Socket> {
  const place = { host: proxy.hostname, port: proxy.port };
  const socket =
    proxy.protocol === 'https:'
      ? await openTls(place, undefined, signal, true)
      : await openTcp(place, signal, true);
  // Loaded only where there is a proxy.
  const { request } = await import('node:http');
  return new Promise((resolve, reject) => {
    const authority = hostOf(target);
    const headers = {
      host: authority,
      ...(proxy.authorization === undefined ? {} : { 'proxy-authorization': proxy.authorization }),
    };
    const connect = request({
      method: 'CONNECT',
      path: authority,
      headers,
      createConnection: () => socket,
      signal,
    });
    const refuse = (fault: NetworkFault, facts: { status?: number; code?: string | undefined }) => {
      socket.on('error', () => {}).destroy();
      reject(
        signal.aborted
          ? signal.reason
          : new NetworkError(fault, { host: hostOf(place), proxy: true, ...facts }),
      );
    };
    connect.once('connect', (answer, tunnel: Socket) => {
      if (answer.statusCode === 200) resolve(tunnel);
      else refuse('proxy-refused', { status: answer.statusCode ?? 0 });
    });
    connect.once('response', (answer) => refuse('proxy-refused', { status: answer.statusCode ?? 0 }));
    connect.once('error', (error) => refuse('proxy-closed', { code: errorCode(error) }));
    connect.end();
  });
}

const FAULTS: Readonly<Record<string, NetworkFault>> = {
  ENOTFOUND: 'dns-not-found',
  EAI_NONAME: 'dns-not-found',
  EAI_NODATA: 'dns-not-found',
  EAI_AGAIN: 'dns-unavailable',
  EAI_FAIL: 'dns-unavailable',
  ECONNREFUSED: 'refused',
  ENETUNREACH: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETDOWN: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  ETIMEDOUT: 'connect-timeout',
  ECONNRESET: 'connect-reset',
  EPIPE: 'connect-reset',
  EPROTO: 'not-tls',
};

/** OpenSSL's names for a certificate that is not to be trusted, as Node passes them on. */
const CERTIFICATE_CODE =
  /CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME|CRL|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)|PATH_LENGTH/;

function connectError(error: Error, target: Target, proxy: boolean): NetworkError {
  // Several addresses fail together; the first one speaks for them.
  const first = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const code = errorCode(first);
  return new NetworkError(faultOf(code), { host: hostOf(target), code, proxy }, { cause: error });
}

function faultOf(code: string | undefined): NetworkFault {
  if (code === undefined) return 'local';
  const fault = FAULTS[code];
  if (fault !== undefined) return fault;
  if (CERTIFICATE_CODE.test(code)) return 'certificate';
  return code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') ? 'not-tls' : 'local';
}

/**
 * Keeps back write errors until the read side has closed: a server that refuses a large body answers and closes with
 * data unread, and the write error would otherwise destroy the socket with the answer still in it (nodejs/node#54366).
 */
function holdWriteErrors(socket: Socket, clock: Clock): Socket {
  type Callback = (error?: Error | null) => void;
  const held = (callback: Callback) => (error?: Error | null) => {
    if (!error || socket.destroyed || socket.readableEnded) return callback(error);
    const release = () => {
      cancel();
      socket.removeListener('end', release).removeListener('close', release);
      callback(error);
    };
    const cancel = clock.after(HELD_ERROR, release);
    socket.once('end', release).once('close', release);
  };
  const { _write: write, _writev: writev } = socket;
  socket._write = (chunk, encoding, callback) => write.call(socket, chunk, encoding, held(callback));
  socket._writev = (chunks, callback) => writev?.call(socket, chunks, held(callback));
  return socket;
}
