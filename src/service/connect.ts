/**
 * Opens sockets: TCP, a proxy's tunnel, TLS. Every step can be aborted, unlike in undici's own connector
 * (nodejs/undici#386), and a proxy that closes the connection is one error, not an endless loop (nodejs/undici#5441).
 */

import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { Clock } from '../platform/context.js';
import { errorCode, systemError } from '../platform/system-error.js';
import { untilAborted } from '../platform/until-aborted.js';
import { isLoopback, portOf, stripBrackets } from '../text/url.js';
import { faultOf, NetworkError, type NetworkFault } from './errors.js';

export interface ProxyServer {
  protocol: string;
  hostname: string;
  port: number;
  /** The value of Proxy-Authorization; a secret. */
  authorization: string | undefined;
}

/** A certificate of ours and its private key, in PEM. */
export interface ClientCertificate {
  cert: Buffer;
  key: Buffer;
  passphrase: string | undefined;
}

export interface TlsSettings {
  /** Certificates in PEM to trust in addition to those of Node and of the system. */
  ca?: Buffer | undefined;
  /** Shown to the service, and not to a proxy. */
  clientCertificate?: ClientCertificate | undefined;
  /** Returns those that the system trusts, in PEM. */
  readSystemCertificates(): Promise<string[]>;
}

export interface Route {
  baseUrl: URL;
  proxy: ProxyServer | undefined;
  tls: TlsSettings;
}

/** Milliseconds per address. Node's default of 250 ms is too short for slow networks. */
const FAMILY_TIMEOUT = 2_000;

/** Milliseconds for which a write error is delayed while a response may be in flight. */
const WRITE_ERROR_DELAY = 1_000;

/** The codes of a chain that leads to no trusted certificate. Any other mistake is the same whoever is trusted. */
const UNKNOWN_ISSUER = /^(UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|.*SELF_SIGNED_CERT)/;

interface Target {
  host: string;
  port: number;
  isProxy: boolean;
}

type Open = (signal: AbortSignal) => Promise<Socket>;

const hostOf = ({ host, port }: Target) => `${host.includes(':') ? `[${host}]` : host}:${port}`;
const factsOf = (target: Target) => ({ host: hostOf(target), proxy: target.isProxy });

/**
 * Returns a function that opens a connection to the service of a route. It throws NetworkError, or the signal's reason as
 * soon as it aborts.
 */
export function connector({ baseUrl, proxy, tls }: Route, clock: Clock) {
  const { ca, clientCertificate, readSystemCertificates } = tls;
  /** The user's trusted certificates, Node's (undefined, with NODE_EXTRA_CA_CERTS) and the system's, in this order. */
  const stores: (() => Promise<(string | Buffer)[] | undefined>)[] = [
    ...(ca ? [async () => [ca]] : []),
    async () => undefined,
    readSystemCertificates,
  ];

  /**
   * Returns what opens a hop to a target over a socket of `openPlain`. A secure one shows the certificate `own`, and is opened
   * with another store of certificates until one has the issuer: a later store is loaded only then, so most connections cost
   * nothing more.
   */
  const hopTo = (target: Target, isSecure: boolean, openPlain: Open, own?: ClientCertificate): Open => {
    if (!isSecure) return openPlain;
    const { host } = target;
    // An IP address is not a valid server name (RFC 6066, section 3).
    const servername = isIP(host) ? '' : host;
    /** By store; that of a system takes longer to make than a connection. */
    const contexts: Promise<SecureContext | undefined>[] = [];
    /** The store that had the issuer. */
    let known = 0;
    return async (signal) => {
      const { connect: connectTls, createSecureContext } = await import('node:tls');
      /** As in curl, a trusted certificate need not be that of a root. */
      const createContext = async (store: number) => {
        const trusted = await stores[store]?.();
        if (!trusted && !own) return undefined;
        return createSecureContext({ ...(trusted && { ca: trusted, allowPartialTrustChain: true }), ...own });
      };
      for (let store = known; ; store++) {
        contexts[store] ??= createContext(store);
        const secureContext = await contexts[store];
        const plain = await openPlain(signal);
        const options = { socket: plain, secureContext, host, servername, ALPNProtocols: ['http/1.1'] };
        const socket = connectTls(options);
        try {
          const opened = await waitUntilOpen(socket, 'secureConnect', target, signal);
          known = store;
          return opened;
        } catch (error) {
          const code = error instanceof NetworkError ? error.details.code : undefined;
          if (!UNKNOWN_ISSUER.test(code ?? '') || store + 1 === stores.length) throw error;
        }
      }
    };
  };

  const target = { host: stripBrackets(baseUrl.hostname), port: portOf(baseUrl), isProxy: false };
  const openPlain: Open = proxy ? tunnelThrough(proxy) : (signal) => openTcp(target, signal);
  const openHop = hopTo(target, baseUrl.protocol === 'https:', openPlain, clientCertificate);
  return async (signal: AbortSignal) => delayWriteErrors(await openHop(signal), clock);

  /** Returns what opens a tunnel to the target through an HTTP proxy with CONNECT (RFC 9110, section 9.3.6). */
  function tunnelThrough({ hostname, port, protocol, authorization }: ProxyServer): Open {
    const server = { host: hostname, port, isProxy: true };
    const openServer = hopTo(server, protocol === 'https:', (signal) => openTcp(server, signal));
    const path = hostOf(target);
    const headers = { host: path, ...(authorization && { 'proxy-authorization': authorization }) };
    return async (signal) => {
      const socket = await openServer(signal);
      // Loaded only when there is a proxy.
      const { request } = await import('node:http');
      const createConnection = () => socket;
      const connect = request({ method: 'CONNECT', path, headers, createConnection, signal });
      return new Promise<Socket>((resolve, reject) => {
        const fail = (fault: NetworkFault, code: string | undefined) => {
          socket.on('error', () => {}).destroy();
          reject(signal.aborted ? signal.reason : new NetworkError(fault, { ...factsOf(server), code }));
        };
        // Node.js emits this event for every status of a response to CONNECT.
        connect.once('connect', ({ statusCode }, tunnel: Socket) => {
          if (statusCode === 200) resolve(tunnel);
          else fail('proxy-refused', String(statusCode));
        });
        connect.once('error', (error) => {
          const code = errorCode(socket.errored ?? error);
          const fault = faultOf(code);
          fail(fault === 'client-certificate' || fault === 'tls-rejected' ? fault : 'proxy-closed', code);
        });
        connect.end();
      });
    };
  }
}

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
    lookup: host === 'localhost' ? lookUpLoopback : undefined,
  });
  return waitUntilOpen(socket, 'connect', target, signal);
}

/** Looks up localhost. Without an entry in the hosts file, a name server answers, and could lead the token elsewhere. */
const lookUpLoopback: LookupFunction = async (host, options, callback) => {
  const { default: dns } = await import('node:dns');
  dns.lookup(host, options, (error, found, family) => {
    const addresses = typeof found === 'string' ? [{ address: found, family }] : (found ?? []);
    const isOurs = addresses.every(({ address }) => isLoopback(address));
    callback(error ?? (isOurs ? null : systemError('ERR_NOT_LOOPBACK')), found, family);
  });
};

/** Resolves with the socket on `event`. Throws NetworkError, or the signal's reason. */
async function waitUntilOpen(socket: Socket, event: string, target: Target, signal: AbortSignal) {
  const opened = new Promise<Socket>((resolve, reject) => {
    socket.once(event, () => resolve(socket));
    // The next user adds its listener later; an error before that must not be uncaught.
    socket.on('error', reject);
    socket.once('close', () => reject(systemError('ECONNRESET')));
  });
  return untilAborted(opened, signal).catch((error) => {
    socket.destroy();
    signal.throwIfAborted();
    // If all addresses of a host fail, the code of the error is that of the first one.
    const code = errorCode(error);
    throw new NetworkError(faultOf(code), { ...factsOf(target), code }, { cause: error });
  });
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
