/** An HTTP proxy that tunnels every host to this machine, or answers as a test defines. */
import { connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';

interface SeenTunnel {
  /** `host:port` of the CONNECT request. */
  authority: string;
  authorization: string | undefined;
}

interface ProxyOptions {
  /** Called instead of opening a tunnel. */
  answer?: (socket: Socket) => void;
  /** Of a proxy that is reached by TLS. */
  tls?: TlsOptions;
}

export async function startProxy({ answer, tls }: ProxyOptions = {}) {
  const tunnels: SeenTunnel[] = [];
  const waiting: (() => void)[] = [];
  const sockets = new Set<Socket>();
  const onConnection = (socket: Socket) => {
    sockets.add(socket.on('error', () => {}));
    let head = '';
    const onData = (chunk: Buffer) => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      socket.removeListener('data', onData);
      const [, authority = ''] = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head) ?? [];
      tunnels.push({ authority, authorization: /^proxy-authorization: (.*)\r$/im.exec(head)?.[1] });
      if (answer !== undefined) return answer(socket);
      const target = connect(Number(authority.split(':').at(-1)), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        socket.pipe(target);
        target.on('data', (bytes: Buffer) => {
          const isWritten = socket.write(bytes, () => {
            for (const resolve of waiting.splice(0)) resolve();
          });
          if (isWritten) return;
          target.pause();
          socket.once('drain', () => target.resume());
        });
        target.on('end', () => socket.end());
      });
      // Data of a closed side still goes to the other side; unread data turns its end into a reset.
      target.on('error', () => {});
      target.on('close', () => socket.destroySoon());
      socket.on('close', () => target.destroy());
    };
    socket.on('data', onData);
  };
  const server = tls === undefined ? createServer(onConnection) : createTlsServer(tls, onConnection);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as { port: number };
  /** Resolves when the proxy has forwarded the next bytes of a response. */
  const forwarded = () => new Promise<void>((resolve) => waiting.push(resolve));
  return { url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, port, tunnels, forwarded };
}
