/** Real reverse proxies in front of a service, from Debian packages, each in a temporary folder; they end with the test. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './cli.js';
import { proxyPassTo, startNginx, startPeer } from './peers.js';
import { findFreePort } from './service.js';

export interface Gateway {
  name: string;
  /** Starts it in front of 127.0.0.1:`servicePort`, with default settings but a response timeout of 1 s. Resolves to its origin. */
  start(servicePort: number): Promise<string>;
}

/** How to start a program that forwards `port` to `servicePort` and writes to `folder` only. */
interface Setup {
  command: string;
  debianPackage: string;
  config?(setting: Setting): string;
  args(setting: Setting & { configFile: string }): string[];
}

interface Setting {
  folder: string;
  port: number;
  servicePort: number;
}

const APACHE_MODULES = ['mpm_event', 'authz_core', 'proxy', 'proxy_http'];

const SETUPS: Record<string, Setup> = {
  Varnish: {
    command: 'varnishd',
    debianPackage: 'varnish',
    args: ({ folder, port, servicePort }) => [
      ...['-F', '-j', 'none', '-n', folder, '-T', 'none', '-p', 'first_byte_timeout=1'],
      ...['-a', `127.0.0.1:${port}`, '-b', `127.0.0.1:${servicePort}`],
    ],
  },
  HAProxy: {
    command: 'haproxy',
    debianPackage: 'haproxy',
    config: ({ port, servicePort }) => `
listen gateway
  mode http
  timeout connect 5s
  timeout client 50s
  timeout server 1s
  bind 127.0.0.1:${port}
  server service 127.0.0.1:${servicePort}
`,
    args: ({ configFile }) => ['-db', '-f', configFile],
  },
  Apache: {
    command: 'apache2',
    debianPackage: 'apache2',
    config: ({ folder, port, servicePort }) => `
${APACHE_MODULES.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
ServerName 127.0.0.1
Listen 127.0.0.1:${port}
User www-data
Group www-data
DefaultRuntimeDir ${folder}
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
ProxyTimeout 1
ProxyPass / http://127.0.0.1:${servicePort}/
`,
    args: ({ folder, configFile }) => ['-D', 'FOREGROUND', '-d', folder, '-f', configFile],
  },
  Squid: {
    command: 'squid',
    debianPackage: 'squid',
    config: ({ folder, port, servicePort }) => `
http_port 127.0.0.1:${port} accel defaultsite=127.0.0.1
cache_peer 127.0.0.1 parent ${servicePort} 0 no-query originserver
http_access allow all
read_timeout 1 second
access_log none
cache_log ${folder}/cache.log
coredump_dir ${folder}
pid_filename none
pinger_enable off
max_filedescriptors 1024
shutdown_lifetime 0 seconds
`,
    args: ({ configFile }) => ['-N', '-f', configFile],
  },
  lighttpd: {
    command: 'lighttpd',
    debianPackage: 'lighttpd',
    config: ({ folder, port, servicePort }) => `
server.modules = ("mod_proxy")
server.document-root = "${folder}"
server.bind = "127.0.0.1"
server.port = ${port}
proxy.server = ("" => (("host" => "127.0.0.1", "port" => ${servicePort}, "read-timeout" => 1)))
`,
    args: ({ configFile }) => ['-D', '-f', configFile],
  },
  Caddy: {
    command: 'caddy',
    debianPackage: 'caddy',
    config: ({ folder, port, servicePort }) => {
      const proxy = {
        handler: 'reverse_proxy',
        upstreams: [{ dial: `127.0.0.1:${servicePort}` }],
        transport: { protocol: 'http', response_header_timeout: '1s' },
      };
      return JSON.stringify({
        admin: { disabled: true, config: { persist: false } },
        storage: { module: 'file_system', root: folder },
        apps: {
          http: {
            servers: {
              gateway: {
                listen: [`127.0.0.1:${port}`],
                automatic_https: { disable: true },
                routes: [{ handle: [proxy] }],
              },
            },
          },
        },
      });
    },
    args: ({ configFile }) => ['run', '--config', configFile],
  },
};

export const GATEWAYS: readonly Gateway[] = [
  ...Object.entries(SETUPS).map(([name, setup]) => ({
    name,
    start: (servicePort: number) => startGateway(setup, servicePort),
  })),
  { name: 'nginx', start: startNginxBefore },
];

async function startGateway(setup: Setup, servicePort: number): Promise<string> {
  const folder = temporaryFolder();
  // Started by root, some of them switch to their own user, who must be able to write here.
  chmodSync(folder, 0o777);
  const setting = { folder, port: await findFreePort(), servicePort };
  const configFile = join(folder, 'gateway.conf');
  if (setup.config !== undefined) writeFileSync(configFile, setup.config(setting));
  const args = setup.args({ ...setting, configFile });
  const { child, ended } = await startPeer(setup.command, setup.debianPackage, args, setting.port);
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  return `http://127.0.0.1:${setting.port}`;
}

async function startNginxBefore(servicePort: number): Promise<string> {
  const nginx = await startNginx(`proxy_read_timeout 1s; ${proxyPassTo(`http://127.0.0.1:${servicePort}`)}`);
  onTestFinished(async () => void (await nginx.quit()));
  return `http://127.0.0.1:${nginx.port}`;
}
