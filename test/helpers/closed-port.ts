/** Ports of this machine on which nothing listens, and which nobody else is given meanwhile. */
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { findFreePort } from './service.js';

/** A port on which nothing listens. It is privileged: the kernel gives it to no program that asks for a free one. */
export const CLOSED_PORT = 1;

/** The base URL of a service to which connections are refused. */
export const CLOSED_URL = `http://127.0.0.1:${CLOSED_PORT}`;

/** A port for a server that is to start, or to start again, during a test. */
export interface ReservedPort {
  port: number;
  /** Resolves when a server may listen on it. */
  release(): Promise<void>;
  /** Resolves when connections to it are refused again, after its server has been closed. */
  hold(): Promise<void>;
}

/** Reserves a port until the test has finished. Connections to it are refused, and no other server can listen on it. */
export async function reservePort(): Promise<ReservedPort> {
  // The local port of an open connection is in use, although nothing listens on it.
  const anchor = createServer((socket) => void socket.on('error', () => {}));
  await new Promise<void>((resolve) => anchor.listen(0, '127.0.0.1', resolve));
  const { port: target } = anchor.address() as { port: number };
  const open = (localPort: number) =>
    new Promise<Socket>((resolve, reject) => {
      const socket = connect({ port: target, host: '127.0.0.1', localPort }, () => resolve(socket));
      socket.on('error', reject);
    });
  // A port that the system chooses for a connection could have another one: it has to be bound.
  let port = await findFreePort();
  let holder = await open(port).catch(async () => {
    // Meanwhile, another program was given it.
    port = await findFreePort();
    return open(port);
  });
  const release = () =>
    new Promise<void>((resolve) => {
      if (holder.destroyed) resolve();
      else holder.on('close', () => resolve()).resetAndDestroy();
    });
  onTestFinished(async () => {
    await release();
    anchor.close();
  });
  return {
    port,
    release,
    hold: async () => {
      holder = await open(port);
    },
  };
}
