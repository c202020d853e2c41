/**
 * Opens sockets: TCP, a proxy's tunnel, TLS. Every step can be aborted, unlike in undici's own connector
 * (nodejs/undici#386), and a proxy that closes the connection is one error, not an endless loop (nodejs/undici#5441).
 */

import dns from 'node:dns';
import { connect as connectTcp, type LookupFunction, type Socket } from 'node:net';
import type { Clock } from '../platform/context.js';
import { errorCode } from '../platform/system-error.js';
import { untilAborted } from '../platform/until-aborted.js';
import { isLoopback, stripBrackets } from '../text/url.js';
import { NetworkError, type NetworkFault } from './errors.js';
import type { Trust } from './trust.js';

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
  trust: Trust;
}

/** Milliseconds per address. Node's default of 250 ms is too short for slow networks. */
const FAMILY_TIMEOUT = 2_000;

/** Milliseconds for which a write error is delayed while a response may be in flight. */
const WRITE_ERROR_DELAY = 1_000;

/** Opens a connection to the origin. Throws NetworkError, or the signal's reason as soon as it aborts. */
export async function openSocket(route: Route, clock: Clock, signal: AbortSignal): Promise<Socket> {
  const { origin, proxy, trust } = route;
  const secure = origin.protocol === 'https:';
  const port = Number(origin.port) || (secure ? 443 : 80);
  const target = { host: stripBrackets(origin.hostname), port, isProxy: false };
  const openPlain = () =>
    proxy === undefined ? openTcp(target, signal) : openTunnel(proxy, target, trust, signal);
  const socket = secure ? await openTls(target, openPlain, trust, signal) : await openPlain();
  return delayWriteErrors(socket, clock);
}

interface Target {
  host: string;
  port: number;
  isProxy: boolean;
}

const hostOf = ({ host, port }: Target) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);
const factsOf = (target: Target) => ({ host: hostOf(target), proxy: target.isProxy });

function openTcp(target: Target, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const { host, port } = target;
  const socket = connectTcp({
    host,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
    autoSelectFamilyAttemptTimeout: FAMILY_TIMEOUT,
    ...(host === 'localhost' && { lookup: lookUpLoopback }),
  });
  return waitUntilOpen(socket, 'connect', target, signal);
}

/** Looks up localhost. Without an entry in the hosts file, a name server answers, and could lead the token elsewhere. */
const lookUpLoopback: LookupFunction = (host, options, callback) => {
  dns.lookup(host, options, (error, found, family) => {
    const addresses = typeof found === 'string' ? [{ address: found, family }] : (found ?? []);
    const isOurs = addresses.every(({ address }) => isLoopback(address === '::1' ? '[::1]' : address));
    const refused = isOurs ? null : Object.assign(new Error(host), { code: 'ERR_NOT_LOOPBACK' });
    callback(error ?? refused, found, family);
  });
};

/** Opens TLS over a socket of `openPlain`, which is called again where another store of certificates is tried. */
async function openTls(target: Target, openPlain: () => Promise<Socket>, trust: Trust, signal: AbortSignal) {
  const { connect: connectTls } = await import('node:tls');
  const { host, isProxy } = target;
  // An IP address is not a valid server name (RFC 6066, section 3).
  const servername = /^[\d.]+$|:/.test(host) ? '' : host;
  return trust.connect(hostOf(target), isProxy, async (secureContext) => {
    const socket = await openPlain();
    const options = { socket, host, servername, ALPNProtocols: ['http/1.1'] };
    const secured = connectTls(secureContext === undefined ? options : { ...options, secureContext });
    return waitUntilOpen(secured, 'secureConnect', target, signal);
  });
}

/** Resolves with the socket on `event`. Throws NetworkError, or the signal's reason. */
async function waitUntilOpen(socket: Socket, event: string, target: Target, signal: AbortSignal) {
  const opened = new Promise<Socket>((resolve, reject) => {
    socket.once(event, () => resolve(socket));
    // The next user adds its listener later; an error before that must not be uncaught.
    socket.on('error', reject);
    socket.once('close', () => reject(undefined));
  });
  return untilAborted(opened, signal).catch((error) => {
    socket.destroy();
    if (error === signal.reason && signal.aborted) throw error;
    throw error === undefined
      ? new NetworkError('connect-reset', factsOf(target))
      : toConnectError(error, target);
  });
}

/** Opens a tunnel through an HTTP proxy with CONNECT (RFC 9110, section 9.3.6). */
async function openTunnel(proxy: ProxyServer, target: Target, trust: Trust, signal: AbortSignal) {
  const proxyTarget = { host: proxy.hostname, port: proxy.port, isProxy: true };
  const openPlain = () => openTcp(proxyTarget, signal);
  const isSecure = proxy.protocol === 'https:';
  const socket = await (isSecure ? openTls(proxyTarget, openPlain, trust, signal) : openPlain());
  // Loaded only when there is a proxy.
  const { request } = await import('node:http');
  return new Promise<Socket>((resolve, reject) => {
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
    const fail = (fault: NetworkFault, facts: { status?: number; code?: string | undefined }) => {
      socket.on('error', () => {}).destroy();
      reject(signal.aborted ? signal.reason : new NetworkError(fault, { ...factsOf(proxyTarget), ...facts }));
    };
    connect.once('connect', (response, tunnel: Socket) => {
      if (response.statusCode === 200) resolve(tunnel);
      else fail('proxy-refused', { status: response.statusCode ?? 0 });
    });
    connect.once('response', (response) => fail('proxy-refused', { status: response.statusCode ?? 0 }));
    connect.once('error', (error) => {
      const code = errorCode(socket.errored ?? error);
      const fault = faultOf(code);
      fail(fault === 'client-certificate' || fault === 'tls-rejected' ? fault : 'proxy-closed', { code });
    });
    connect.end();
  });
}

/**
 * The error codes of the system, of Node and of TLS alerts (RFC 8446, section 6.2); the first entry that matches counts. In
 * TLS 1.3, the alert for want of a client certificate comes after the client's first request, which the server has not read.
 */
const FAULTS: readonly (readonly [codes: RegExp, fault: NetworkFault])[] = [
  [/^(ENOTFOUND|EAI_NONAME|EAI_NODATA)$/, 'dns-not-found'],
  [/^(EAI_AGAIN|EAI_FAIL)$/, 'dns-unavailable'],
  [/^ECONNREFUSED$/, 'refused'],
  [/^(ENETUNREACH|EHOSTUNREACH|ENETDOWN|EADDRNOTAVAIL)$/, 'unreachable'],
  [/^ETIMEDOUT$/, 'connect-timeout'],
  // The second is that of Windows.
  [/^(ECONNRESET|ECONNABORTED|EPIPE)$/, 'connect-reset'],
  [/^ERR_ACCESS_DENIED$/, 'not-permitted'],
  [/^ERR_NOT_LOOPBACK$/, 'not-loopback'],
  [/^ERR_SSL_.*_ALERT_.*(CERTIFICATE|UNKNOWN_CA)/, 'client-certificate'],
  [/^ERR_SSL_.*_ALERT_/, 'tls-rejected'],
  [
    /CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME|CRL|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)|PATH_LENGTH/,
    'certificate',
  ],
  [/^(EPROTO$|ERR_SSL_|ERR_TLS_)/, 'not-tls'],
];

/** Returns the fault of a connection that could not be opened. */
export function faultOf(code = ''): NetworkFault {
  return FAULTS.find(([codes]) => codes.test(code))?.[1] ?? 'local';
}

function toConnectError(error: Error, target: Target): NetworkError {
  // If all addresses of a host fail, the first error is reported.
  const first = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const code = errorCode(first);
  return new NetworkError(faultOf(code), { ...factsOf(target), code }, { cause: error });
}

/**
 * Delays write errors until the read side has closed: a server that rejects a large body responds and closes with data
 * unread, and the write error would destroy the socket before the response is read (nodejs/node#54366).
 */
function delayWriteErrors(socket: Socket, clock: Clock): Socket {
  type Callback = (error?: Error | null) => void;
  const delayed = (callback: Callback) => (error?: Error | null) => {
    if (!error || socket.destroyed || socket.readableEnded) return callback(error);
    const release = () => {
      cancel();
      socket.removeListener('end', release).removeListener('close', release);
      callback(error);
    };
    const cancel = clock.after(WRITE_ERROR_DELAY, release);
    socket.once('end', release).once('close', release);
  };
  const { _write: write, _writev: writev } = socket;
  socket._write = (chunk, encoding, callback) => write.call(socket, chunk, encoding, delayed(callback));
  socket._writev = (chunks, callback) => writev?.call(socket, chunks, delayed(callback));
  return socket;
}
