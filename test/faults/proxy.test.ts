/** Proxies: tunnels with and without credentials, rejected tunnels, and proxies that fail. */
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { runCli } from '../helpers/cli.js';
import { CLOSED_PORT, CLOSED_URL } from '../helpers/closed-port.js';
import { failLookups } from '../helpers/lookups.js';
import { startProxy } from '../helpers/proxy.js';
import { acceptThenShow, aFinishedRun, scriptedService } from '../helpers/service.js';
import { certificate } from '../helpers/tls.js';

const PASSWORD = 'proxy-s3cret';

const run = (baseUrl: string, env: Record<string, string>) =>
  runCli(['run', 'w', '-v', '--allow-http'], { env: { WFR_BASE_URL: baseUrl, WFR_TOKEN: 't', ...env } });

describe('run: a proxy that works', () => {
  test.each(['http', 'https'] as const)(
    'run: %s goes through a proxy tunnel with the credentials of the proxy URL',
    async (scheme) => {
      const service = await scriptedService(
        acceptThenShow(aFinishedRun()),
        scheme === 'https' ? { tls: certificate('good') } : {},
      );
      const proxy = await startProxy();
      const url = proxy.url.replace('//', `//joe%40x:${PASSWORD}@`);
      const { exitCode, stderr, stdout } = await run(`${scheme}://service.test:${service.port}`, {
        [`${scheme.toUpperCase()}_PROXY`]: url,
      });
      expect(exitCode).toBe(0);
      expect(stderr + stdout).not.toContain(PASSWORD);
      const authorization = `Basic ${Buffer.from(`joe@x:${PASSWORD}`).toString('base64')}`;
      // One tunnel for the trigger, one for the polls.
      expect(proxy.tunnels).toEqual(
        Array(2).fill({ authority: `service.test:${service.port}`, authorization }),
      );
    },
  );

  test.each(['http', 'https'] as const)(
    'run: %s goes through a proxy that is reached by TLS',
    async (scheme) => {
      const service = await scriptedService(
        acceptThenShow(aFinishedRun()),
        scheme === 'https' ? { tls: certificate('good') } : {},
      );
      const proxy = await startProxy({ tls: certificate('good') });
      const { exitCode } = await run(`${scheme}://service.test:${service.port}`, {
        [`${scheme.toUpperCase()}_PROXY`]: proxy.url,
      });
      expect({ exitCode, tunnels: proxy.tunnels.length }).toEqual({ exitCode: 0, tunnels: 2 });
    },
  );

  test('status: a proxy whose certificate is not trusted is not given the credentials of its URL', async () => {
    const proxy = await startProxy({ tls: certificate('self-signed') });
    const { exitCode, stderr } = await run('http://service.test:9', {
      HTTP_PROXY: proxy.url.replace('//', `//joe:${PASSWORD}@`),
    });
    expect(exitCode).toBe(7);
    expect(stderr).toContain('is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)');
    expect(stderr).toContain('pass the certificate of the issuer with --cacert');
    expect(proxy.tunnels).toEqual([]);
  });

  test('run: a proxy URL without credentials sends none, and the lower-case variable takes precedence', async () => {
    const service = await scriptedService(acceptThenShow(aFinishedRun()));
    const proxy = await startProxy();
    const env = { http_proxy: proxy.url.replace('http://', ''), HTTP_PROXY: CLOSED_URL };
    expect((await run(`http://service.test:${service.port}`, env)).exitCode).toBe(0);
    expect(proxy.tunnels[0]).toEqual({ authority: `service.test:${service.port}`, authorization: undefined });
  });

  test.each([
    ['this machine', 'http://127.0.0.1', {}],
    ['a name of this machine', 'http://localhost', {}],
  ])('run: %s is reached without the proxy', async (_name, base, env) => {
    const service = await scriptedService(acceptThenShow(aFinishedRun()));
    const proxy = await startProxy();
    const { exitCode } = await run(`${base}:${service.port}`, { HTTP_PROXY: proxy.url, ...env });
    expect([0, 7]).toContain(exitCode);
    expect(proxy.tunnels).toEqual([]);
  });

  test.each([
    ['service.test', true],
    ['.test', true],
    ['*.test', true],
    ['*', true],
    ['SERVICE.TEST', true],
    ['service.test:9', true],
    ['service.test:1', false],
    ['vice.test', false],
    ['', false],
  ])('status: NO_PROXY=%j bypasses the proxy for service.test: %s', async (noProxy, isExempt) => {
    const proxy = await startProxy({ answer: (socket) => void socket.end('HTTP/1.1 403 No\r\n\r\n') });
    failLookups('ENOTFOUND');
    const { stderr } = await runCli(['status', 'x', '--allow-http'], {
      env: {
        WFR_BASE_URL: 'http://service.test:9',
        WFR_TOKEN: 't',
        HTTP_PROXY: proxy.url,
        NO_PROXY: noProxy,
      },
    });
    expect(stderr.includes('the proxy')).toBe(!isExempt);
    expect(proxy.tunnels.length > 0).toBe(!isExempt);
  });
});

describe('run: a proxy that fails', () => {
  test('run: a proxy that refuses connections is retried, then exits 7 without printing its password (fault 31)', async () => {
    const { exitCode, stderr, clock } = await run('http://service.test', {
      HTTP_PROXY: `http://joe:${PASSWORD}@127.0.0.1:${CLOSED_PORT}`,
    });
    expect(exitCode).toBe(7);
    expect(stderr).toContain(
      `nothing listens at the proxy 127.0.0.1:${CLOSED_PORT} (ECONNREFUSED), 4 tries; no run was created\n  Check HTTPS_PROXY`,
    );
    expect(stderr).not.toContain(PASSWORD);
    expect(clock.sleeps).toEqual([250, 500, 1000]);
  });

  const startFailingProxy = (answer: (socket: Socket) => void) => startProxy({ answer });

  test.each([407, 403, 502])(
    'run: a proxy that rejects the tunnel with %i exits 7 without a retry (fault 32)',
    async (status) => {
      const proxy = await startFailingProxy(
        (socket) => void socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`),
      );
      const { exitCode, stderr } = await run('https://service.test', {
        HTTPS_PROXY: proxy.url.replace('//', `//joe:${PASSWORD}@`),
      });
      expect(exitCode).toBe(7);
      expect(stderr).toContain(
        `the proxy 127.0.0.1:${proxy.port} rejected the tunnel (${status}); no run was created`,
      );
      expect(stderr).not.toContain(PASSWORD);
      expect(proxy.tunnels.length).toBe(1);
    },
  );

  test.each(['end', 'destroy', 'resetAndDestroy'] as const)(
    'run: a proxy that closes on CONNECT (socket.%s) is tried four times with backoff (fault 33)',
    async (how) => {
      const proxy = await startFailingProxy((socket) => void socket[how]());
      for (const scheme of ['http', 'https']) {
        const { exitCode, stderr, clock } = await run(`${scheme}://service.test`, {
          HTTP_PROXY: proxy.url,
          HTTPS_PROXY: proxy.url,
        });
        expect(exitCode).toBe(7);
        expect(stderr).toContain(`the proxy 127.0.0.1:${proxy.port} closed the tunnel`);
        expect(clock.sleeps).toEqual([1000, 2000, 4000]);
      }
      expect(proxy.tunnels.length).toBe(8);
    },
  );

  test('status: a proxy that closes on CONNECT is tried four times (fault 33)', async () => {
    const proxy = await startFailingProxy((socket) => void socket.end());
    const { exitCode } = await runCli(['status', 'x'], {
      env: { WFR_BASE_URL: 'https://service.test', WFR_TOKEN: 't', HTTPS_PROXY: proxy.url },
    });
    expect(exitCode).toBe(7);
    expect(proxy.tunnels.length).toBe(4);
  });

  test('run: a proxy that resets the tunnel during the TLS handshake exits 7, as no run was created', async () => {
    const proxy = await startFailingProxy((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.once('data', () => socket.resetAndDestroy());
    });
    const { exitCode, stderr } = await run('https://service.test', { HTTPS_PROXY: proxy.url });
    // The TLS handshake was not complete, so nothing had been sent.
    expect(exitCode).toBe(7);
    expect(stderr).toContain('no run was created');
    expect(proxy.tunnels.length).toBe(4);
  });

  test.each([
    'http://',
    'socks5://127.0.0.1:1',
    `http://joe:${PASSWORD}@:x`,
    `http://%zz:${PASSWORD}@127.0.0.1:${CLOSED_PORT}`,
  ])(
    'run: the malformed proxy URL %s exits 2 with the name of its variable, but not its value (fault 34)',
    async (value) => {
      const { exitCode, stderr } = await run('https://service.test', { https_proxy: value });
      expect(exitCode).toBe(2);
      expect(stderr).toMatch(/^wfr: error: https_proxy is not a supported proxy URL/);
      expect(stderr).not.toContain(PASSWORD);
    },
  );
});
