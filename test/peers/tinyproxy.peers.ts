/**
 * Through tinyproxy to nginx. wfr reaches this machine without a proxy, and a test cannot give the machine another
 * name. So most tests use the address 0.0.0.0: Linux connects it to this machine, and wfr treats it as another host;
 * nginx has a certificate for it. tinyproxy cannot resolve the name service.test: it forwards it (Upstream) to the
 * proxy of test/helpers/proxy.ts.
 */
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli, temporaryFolder } from '../helpers/cli.js';
import { realClock } from '../helpers/clock.js';
import { folderWithSparseFile } from '../helpers/files.js';
import { type Nginx, proxyPassTo, rejectEarly, startNginx, startTinyproxy } from '../helpers/peers.js';
import { startProxy } from '../helpers/proxy.js';
import { INVOICE, startTestSandbox } from '../helpers/sandbox.js';
import { scriptedService } from '../helpers/service.js';

type Scheme = 'http' | 'https';
const SCHEMES = ['http', 'https'] as const;

const LARGE = folderWithSparseFile(200_000_000);

const USER = 'joe';
const PASSWORD = 'pr0xy-s3cret';
const BASIC_AUTH = `BasicAuth ${USER} ${PASSWORD}`;
/** The password, and the start of its encoding in Proxy-Authorization. */
const SECRET = new RegExp(
  `${PASSWORD}|${Buffer.from(`${USER}:${PASSWORD}`).toString('base64').slice(0, -4)}`,
);

/** Returns the environment that reaches nginx at `host` over `scheme` through a proxy. */
const through = (
  proxy: { port: number },
  nginx: Nginx,
  scheme: Scheme,
  credentials = '',
  host = '0.0.0.0',
) => ({
  WFR_BASE_URL: nginx.baseUrl(scheme, host),
  WFR_ALLOW_HTTP: '1',
  [`${scheme.toUpperCase()}_PROXY`]: `http://${credentials}127.0.0.1:${proxy.port}`,
});

const portOf = (nginx: Nginx, scheme: Scheme) => (scheme === 'https' ? nginx.tlsPort : nginx.port);

/** Starts an nginx in front of a sandbox; `run` sends a document of 20 MB with more environment. */
async function sandboxBehindNginx(certificate: 'good' | 'any-address') {
  const { sandbox, clock, env } = await startTestSandbox();
  const nginx = await startNginx(`client_max_body_size 0; ${proxyPassTo(sandbox.baseUrl)}`, certificate);
  const cwd = temporaryFolder();
  const bytes = randomBytes(20_000_000);
  writeFileSync(join(cwd, 'scan.pdf'), bytes);
  const run = (more: Record<string, string>) =>
    runCli(['run', INVOICE, 'invoice@scan.pdf', 'customer=ACME', '-v'], {
      cwd,
      clock,
      env: { ...env, ...more },
    });
  return { nginx, run, sha256: createHash('sha256').update(bytes).digest('hex') };
}

describe.each(SCHEMES)('tinyproxy: %s', (scheme) => {
  test.each([
    ['that asks for nothing', '', ''],
    ['that asks for a password, which is right', BASIC_AUTH, `${USER}:${PASSWORD}@`],
  ])('tinyproxy: through a proxy %s, a run finishes', async (_name, config, credentials) => {
    const { nginx, run, sha256 } = await sandboxBehindNginx('any-address');
    const tinyproxy = await startTinyproxy(config);
    const { exitCode, stdout, stderr } = await run(through(tinyproxy, nginx, scheme, credentials));
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout).document.sha256).toBe(sha256);
    expect(stdout + stderr).not.toMatch(SECRET);
    // One tunnel for the trigger, one for the polls.
    expect(tinyproxy.tunnels()).toEqual(Array(2).fill(`0.0.0.0:${portOf(nginx, scheme)}`));
    expect((await nginx.quit()).filter((line) => line.startsWith('POST'))).toEqual(['POST /v1/runs 201']);
  });

  test('tinyproxy: a run finishes through a second proxy, at a host name that only that proxy knows', async () => {
    const { nginx, run, sha256 } = await sandboxBehindNginx('good');
    const behind = await startProxy();
    const tinyproxy = await startTinyproxy(`Upstream http 127.0.0.1:${behind.port}`);
    const { exitCode, stdout } = await run(through(tinyproxy, nginx, scheme, '', 'service.test'));
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout).document.sha256).toBe(sha256);
    const authority = `service.test:${portOf(nginx, scheme)}`;
    expect(tinyproxy.tunnels()).toEqual([authority, authority]);
    expect(behind.tunnels.map((tunnel) => tunnel.authority)).toEqual([authority, authority]);
  });

  // tinyproxy answers a wrong password with 401, although a proxy should send 407.
  test.each([
    ['missing', '', 407],
    ['wrong', `${USER}:${PASSWORD}x@`, 401],
    ['somebody else’s', `jim:${PASSWORD}@`, 401],
  ])(
    'tinyproxy: a password that is %s exits 7 and names the proxy, and nothing is sent',
    async (_name, credentials, status) => {
      const { nginx, run } = await sandboxBehindNginx('any-address');
      const tinyproxy = await startTinyproxy(BASIC_AUTH);
      const { exitCode, stdout, stderr } = await run(through(tinyproxy, nginx, scheme, credentials));
      expect({ exitCode, stdout }).toEqual({ exitCode: 7, stdout: '' });
      expect(stderr).toContain(
        `wfr: error: the proxy 127.0.0.1:${tinyproxy.port} rejected the tunnel (${status}); no run was created\n`,
      );
      expect(stderr).not.toMatch(SECRET);
      expect(tinyproxy.tunnels().length).toBe(1);
      expect(await nginx.quit()).toEqual([]);
    },
  );

  test('tinyproxy: a proxy that is not running is tried 3 more times, then exits 7 and names the proxy', async () => {
    const { nginx, run } = await sandboxBehindNginx('any-address');
    const tinyproxy = await startTinyproxy();
    await tinyproxy.stop();
    const { exitCode, stdout, stderr, clock } = await run(
      through(tinyproxy, nginx, scheme, `${USER}:${PASSWORD}@`),
    );
    expect({ exitCode, stdout, sleeps: clock.sleeps }).toEqual({
      exitCode: 7,
      stdout: '',
      sleeps: [250, 500, 1000],
    });
    expect(stderr).toContain(
      `wfr: error: nothing listens at the proxy 127.0.0.1:${tinyproxy.port} (ECONNREFUSED), 4 tries; no run was created\n`,
    );
    expect(stderr).not.toMatch(SECRET);
  });

  test('tinyproxy: a port that ConnectPort forbids exits 7 with the status of the proxy', async () => {
    const { nginx, run } = await sandboxBehindNginx('any-address');
    const tinyproxy = await startTinyproxy('ConnectPort 1');
    const { exitCode, stderr } = await run(through(tinyproxy, nginx, scheme));
    expect(exitCode).toBe(7);
    expect(stderr).toContain(`the proxy 127.0.0.1:${tinyproxy.port} rejected the tunnel (403);`);
  });

  test('tinyproxy: an nginx that does not run exits 7 with the status of the proxy', async () => {
    const { nginx, run } = await sandboxBehindNginx('any-address');
    const tinyproxy = await startTinyproxy();
    await nginx.quit();
    const { exitCode, stderr } = await run(through(tinyproxy, nginx, scheme));
    expect(exitCode).toBe(7);
    expect(stderr).toContain(`the proxy 127.0.0.1:${tinyproxy.port} rejected the tunnel (500);`);
  });

  // If nginx closes at once (lingering_close off), tinyproxy itself may lose the response.
  test.each([
    ['nginx', 'client_max_body_size 1m;', '413 Request Entity Too Large (an HTML page)'],
    ['a service behind nginx', 'client_max_body_size 0;', 'the service says it is too large'],
  ])(
    'tinyproxy: 413 of %s during an upload of 200 MB is read, 20 times of 20',
    async (_name, limit, words) => {
      const service = await scriptedService(rejectEarly);
      const server = `${limit} proxy_request_buffering off; ${proxyPassTo(service.baseUrl)}`;
      const nginx = await startNginx(server, 'any-address');
      const tinyproxy = await startTinyproxy();
      const env = { ...through(tinyproxy, nginx, scheme), WFR_TOKEN: 'the-token' };
      for (let n = 0; n < 20; n++) {
        const { exitCode, stderr } = await runCli(['run', 'w', 'doc@large.pdf'], {
          cwd: LARGE,
          env,
          clock: realClock,
        });
        expect({ n, exitCode, stderr }).toEqual({
          n,
          exitCode: 5,
          stderr: expect.stringContaining(`(413); no run was created\n| ${words}\n`),
        });
      }
      expect(tinyproxy.tunnels()).toEqual(Array(20).fill(`0.0.0.0:${portOf(nginx, scheme)}`));
      expect(await nginx.quit()).toEqual(Array(20).fill('POST /v1/runs 413'));
    },
  );
});
