/** Real nginx and tinyproxy as the current user, in temporary folders; they end with the test file. */
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { temporaryFolder } from './cli.js';
import { type RunningProcess, start } from './process.js';
import { findFreePort, type Handler } from './service.js';

export interface Nginx {
  /** Returns the base URL of the service behind it. */
  baseUrl(scheme: 'http' | 'https', host?: string): string;
  port: number;
  tlsPort: number;
  /**
   * Stops it gracefully, and resolves with its access log: `POST /v1/runs 201` for each request. Only then is the
   * log complete, because nginx writes a line at the end of a connection, which may be after its response.
   */
  quit(): Promise<string[]>;
}

export interface Tinyproxy {
  port: number;
  /** Returns the targets of the CONNECT requests, as `host:port`. */
  tunnels(): string[];
  stop(): Promise<void>;
}

const running = new Set<RunningProcess>();

afterAll(async () => {
  for (const peer of running) peer.child.kill(stopSignalFor(peer));
  await Promise.allSettled([...running].map(({ ended }) => ended));
});

/**
 * nginx ends its workers on SIGTERM; tinyproxy, which has none, may miss a SIGTERM that arrives just before it waits
 * for a connection.
 */
function stopSignalFor({ child }: RunningProcess): NodeJS.Signals {
  return child.spawnfile.endsWith('tinyproxy') ? 'SIGKILL' : 'SIGTERM';
}

/** Starts nginx with the directives `server` in its single server block, which listens with and without TLS. */
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

/** Returns a configuration with which nginx writes only to its folder. */
function nginxConfig(folder: string, certificate: string, server: string): string {
  const tls = fileURLToPath(new URL(`../fixtures/tls/${certificate}`, import.meta.url));
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  // Root's nginx would change to another user, who may not read the folder.
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
  ssl_certificate "${tls}.pem";
  ssl_certificate_key "${tls}.key";
  server {
    ${server}
  }
}
`;
}

/** Returns the directive with which nginx forwards requests to the origin of `baseUrl`. */
export const proxyPassTo = (baseUrl: string) => `location / { proxy_pass ${new URL(baseUrl).origin}; }`;

/** Rejects a body when it begins, and continues to read it, so that nginx gets the response. */
export const rejectEarly: Handler = async (request, reply) => {
  await request.atLeast(1);
  reply.send(413, { message: 'the service says it is too large' }, { connection: 'close' });
};

/** Starts tinyproxy with `config` added. Clients of this machine may connect to any port. */
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

/** Starts a program in the foreground, and resolves once it listens. Rejects when it ends before. */
export async function startPeer(
  command: string,
  debianPackage: string,
  args: readonly string[],
  port: number,
): Promise<RunningProcess> {
  // Debian installs nginx in /usr/sbin, which is only in root's PATH.
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
  // Ending later is not a failure.
  await Promise.race([failed, waitUntilListening(port, peer)]);
  return peer;
}

/** Resolves once the port accepts connections; never resolves when the program has ended. */
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
