/** Real nginx and tinyproxy, as the current user, in folders of their own; they end with the test file. */
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { temporaryFolder } from './cli.js';
import { type RunningProcess, start } from './process.js';
import { findFreePort, type Handler } from './service.js';

export interface Nginx {
  /** The base URL of the service behind it. */
  baseUrl(scheme: 'http' | 'https', host?: string): string;
  port: number;
  tlsPort: number;
  /**
   * Ends it once it has nothing left to do, and gives its access log: `POST /v1/runs 201` for each request. Only then
   * is the log complete, for nginx writes a line when it is done with a connection, which may be after its answer.
   */
  quit(): Promise<string[]>;
}

export interface Tinyproxy {
  port: number;
  /** What it was asked to connect to, `host:port` each. */
  tunnels(): string[];
  stop(): Promise<void>;
}

const running = new Set<RunningProcess>();

afterAll(async () => {
  for (const peer of running) peer.child.kill(stopSignalFor(peer));
  await Promise.allSettled([...running].map(({ ended }) => ended));
});

/**
 * nginx ends its workers when it is asked to end; tinyproxy, which has none, misses a SIGTERM that comes just before it waits
 * for a connection.
 */
function stopSignalFor({ child }: RunningProcess): NodeJS.Signals {
  return child.spawnfile.endsWith('tinyproxy') ? 'SIGKILL' : 'SIGTERM';
}

/** Starts nginx with `server` as what its one server says, which listens with TLS and without. */
export async function startNginx(
  server: string,
  certificate: 'good' | 'any-address' = 'good',
): Promise<Nginx> {
  const folder = temporaryFolder();
  const [port, tlsPort] = await Promise.all([findFreePort(), findFreePort()]);
  const listen = `listen 127.0.0.1:${port}; listen 127.0.0.1:${tlsPort} ssl;`;
  writeFileSync(join(folder, 'nginx.conf'), nginxConfig(folder, certificate, `${listen}\n${server}`));
  const args = ['-p', folder, '-e', join(folder, 'error.log'), '-c', join(folder, 'nginx.conf')];
  const nginx = await startPeer('nginx', 'nginx-light', args, tlsPort);
  return {
    port,
    tlsPort,
    baseUrl: (scheme, host = '127.0.0.1') => `${scheme}://${host}:${scheme === 'https' ? tlsPort : port}/v1`,
    async quit() {
      nginx.child.kill('SIGQUIT');
      await nginx.ended;
      return readLines(join(folder, 'access.log'));
    },
  };
}

/** Everything that nginx would write elsewhere goes to its folder. */
function nginxConfig(folder: string, certificate: string, server: string): string {
  const tls = fileURLToPath(new URL(`../fixtures/tls/${certificate}`, import.meta.url));
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  // Root's nginx would go on as somebody else, who may not read the folder.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  return `${user}
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
events {}
http {
  ${kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join('\n  ')}
  log_format requests '$request_method $request_uri $status';
  access_log ${folder}/access.log requests;
  ssl_certificate ${tls}.pem;
  ssl_certificate_key ${tls}.key;
  server {
    ${server}
  }
}
`;
}

/** What makes nginx pass requests on to where `baseUrl` is served. */
export const proxyPassTo = (baseUrl: string) => `location / { proxy_pass ${new URL(baseUrl).origin}; }`;

/** A service behind nginx that refuses a body as soon as it begins, and reads on, so that nginx gets its answer. */
export const rejectEarly: Handler = async (request, reply) => {
  await request.atLeast(1);
  reply.send(413, { message: 'the service says it is too large' }, { connection: 'close' });
};

/** Starts tinyproxy with `config` added. It lets whoever comes from this machine connect to any port. */
export async function startTinyproxy(config = ''): Promise<Tinyproxy> {
  const folder = temporaryFolder();
  const port = await findFreePort();
  const log = join(folder, 'log');
  const file = join(folder, 'tinyproxy.conf');
  const common = `Port ${port}\nListen 127.0.0.1\nAllow 127.0.0.1\nTimeout 60\nLogFile "${log}"\nLogLevel Connect`;
  writeFileSync(file, `${common}\n${config}\n`);
  const tinyproxy = await startPeer('tinyproxy', 'tinyproxy', ['-d', '-c', file], port);
  return {
    port,
    tunnels: () => readLines(log).flatMap((line) => /Request .*: CONNECT (\S+) /.exec(line)?.[1] ?? []),
    async stop() {
      tinyproxy.child.kill(stopSignalFor(tinyproxy));
      await tinyproxy.ended;
    },
  };
}

const readLines = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');

/** Starts a program that stays in the foreground, and waits until it listens. Throws where it does not. */
export async function startPeer(
  command: string,
  debianPackage: string,
  args: readonly string[],
  port: number,
): Promise<RunningProcess> {
  // Debian has nginx where only root looks.
  const peer = start(command, args, { PATH: `${process.env.PATH}:/usr/local/sbin:/usr/sbin` });
  const failed = peer.ended.then(
    ({ stdout, stderr }) => {
      throw new Error(`${command} did not start: ${stderr}${stdout}`);
    },
    (error: NodeJS.ErrnoException) => {
      throw error.code === 'ENOENT'
        ? new Error(`${command} is not installed; on Debian: apt-get install ${debianPackage}`)
        : error;
    },
  );
  running.add(peer);
  // That it ends later is no failure.
  await Promise.race([failed, waitUntilListening(port, peer)]);
  return peer;
}

/** Resolves once it does, and not at all where the program has ended. */
async function waitUntilListening(port: number, { child }: RunningProcess): Promise<void> {
  const isUp = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  while (isUp()) if (await canConnect(port)) return;
  return new Promise(() => {});
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
  });
}
