/** Whom wfr trusts, and how it identifies itself: all before anything is sent. */
import { readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { type CliOptions, runCli } from '../helpers/cli.js';
import { writeTestConfig } from '../helpers/config.js';
import { errorData } from '../helpers/error-data.js';
import { folderWith } from '../helpers/files.js';
import { startProxy } from '../helpers/proxy.js';
import { acceptThenShow, aFinishedRun, aRun, inTurn, scriptedService, showRun } from '../helpers/service.js';
import { CA_FILE, CERTIFICATES, certificate } from '../helpers/tls.js';

const SELF_SIGNED = join(CERTIFICATES, 'self-signed.pem');
const status = (baseUrl: string, options: CliOptions = {}, ...flags: string[]) =>
  runCli(['status', 'run-1', ...flags], {
    ...options,
    env: { WFR_BASE_URL: baseUrl, WFR_TOKEN: 't', ...options.env },
  });

describe('status: a certificate that Node does not trust', () => {
  test('status: is accepted if the file of SSL_CERT_FILE has its issuer (fault 6)', async () => {
    const service = await scriptedService(showRun(), { tls: certificate('self-signed') });
    const { exitCode } = await status(service.baseUrl, { env: { SSL_CERT_FILE: SELF_SIGNED } });
    expect(exitCode).toBe(0);
  });

  test('status: is accepted if a folder of SSL_CERT_DIR has its issuer under the name of its hash (fault 6)', async () => {
    const service = await scriptedService(showRun(), { tls: certificate('self-signed') });
    const hashed = folderWith({ '0a1b2c3d.0': readFileSync(SELF_SIGNED, 'utf8') });
    const other = folderWith({ 'authority.pem': readFileSync(SELF_SIGNED, 'utf8') });
    const env = (folder: string) => ({ env: { SSL_CERT_DIR: `/nonexistent:${folder}` } });
    expect((await status(service.baseUrl, env(hashed))).exitCode).toBe(0);
    expect((await status(service.baseUrl, env(other))).exitCode).toBe(7);
  });

  test('run: one connection of two is for the store of the system, and its POST is the only one (fault 6)', async () => {
    const service = await scriptedService(acceptThenShow(aFinishedRun()), {
      tls: certificate('self-signed'),
    });
    const env = { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: 't', SSL_CERT_FILE: SELF_SIGNED };
    const { exitCode } = await runCli(['run', 'w', 'a=1'], { env });
    expect({ exitCode, posts: service.posts().length }).toEqual({ exitCode: 0, posts: 1 });
  });

  test('status: an IP address is not sent as a server name', async () => {
    const names: unknown[] = [];
    const service = await scriptedService(showRun(), {
      tls: certificate('self-signed'),
      onConnection: (socket) => names.push((socket as TLSSocket).servername),
    });
    expect((await status(service.baseUrl, { env: { SSL_CERT_FILE: SELF_SIGNED } })).exitCode).toBe(0);
    expect(names).toEqual([false]);
  });

  test('watch: the store that has the issuer is read once, and tried first from the second connection on (fault 6)', async () => {
    let [connections, requests] = [0, 0];
    const store = join(folderWith({ 'store.pem': readFileSync(SELF_SIGNED, 'utf8') }), 'store.pem');
    const service = await scriptedService(
      (_request, reply) => {
        rmSync(store, { force: true });
        reply.send(200, ++requests < 3 ? aRun() : aFinishedRun(), { connection: 'close' });
      },
      { tls: certificate('self-signed'), onTcp: () => connections++ },
    );
    const env = { WFR_BASE_URL: service.baseUrl, SSL_CERT_FILE: store };
    const { exitCode } = await runCli(['watch', 'run-1'], { env });
    expect({ exitCode, requests, connections }).toEqual({ exitCode: 0, requests: 3, connections: 4 });
  });

  test.each(['expired', 'wrong-name'] as const)(
    'status: the store of the system is not tried for a certificate with another mistake (%s) (fault 6)',
    async (name) => {
      let connections = 0;
      const service = await scriptedService(showRun(), {
        tls: certificate(name),
        onTcp: () => connections++,
      });
      const { exitCode } = await status(service.baseUrl, { env: { SSL_CERT_FILE: SELF_SIGNED } });
      expect({ exitCode, connections }).toEqual({ exitCode: 7, connections: 1 });
    },
  );

  test('status: through a proxy that speaks TLS, the store of the system is for both (fault 6)', async () => {
    const service = await scriptedService(showRun(), { tls: certificate('self-signed-name') });
    const proxy = await startProxy({ tls: certificate('self-signed') });
    const both =
      readFileSync(SELF_SIGNED, 'utf8') + readFileSync(join(CERTIFICATES, 'self-signed-name.pem'), 'utf8');
    const env = {
      SSL_CERT_FILE: join(folderWith({ 'both.pem': both }), 'both.pem'),
      HTTPS_PROXY: proxy.url,
      WFR_BASE_URL: `https://service.test:${service.port}`,
    };
    const { exitCode } = await status('', { env });
    expect({ exitCode, requests: service.requests.length }).toEqual({ exitCode: 0, requests: 1 });
  });

  test('status: through a tunnel of CONNECT, --cacert is for the service (fault 6)', async () => {
    const service = await scriptedService(showRun(), { tls: certificate('self-signed-name') });
    const proxy = await startProxy();
    const env = { HTTPS_PROXY: proxy.url };
    const ca = join(CERTIFICATES, 'self-signed-name.pem');
    const { exitCode } = await status(`https://service.test:${service.port}`, { env }, '--cacert', ca);
    expect({ exitCode, tunnels: proxy.tunnels.length }).toEqual({ exitCode: 0, tunnels: 1 });
  });
});

describe('--cacert and caFile', () => {
  test.each([{ flag: true }, { flag: false }])(
    'status: a certificate of --cacert or caFile is trusted (%o)',
    async ({ flag }) => {
      const service = await scriptedService(showRun(), { tls: certificate('self-signed') });
      const { env } = writeTestConfig({
        defaultProfile: 'p',
        profiles: { p: { baseUrl: service.baseUrl, ...(flag ? {} : { caFile: SELF_SIGNED }) } },
      });
      const { exitCode, stderr } = await runCli(
        ['status', 'run-1', ...(flag ? ['--cacert', SELF_SIGNED] : [])],
        { env },
      );
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    },
  );

  test('status: the certificates of Node stay trusted beside those of --cacert', async () => {
    const service = await scriptedService(showRun(), { tls: certificate('good') });
    expect((await status(service.baseUrl, {}, '--cacert', SELF_SIGNED)).exitCode).toBe(0);
  });

  test('status: the caFile of a profile is not for a --base-url of another origin', async () => {
    const service = await scriptedService(showRun(), { tls: certificate('self-signed') });
    const profile = { baseUrl: 'https://workflows.example.com', caFile: SELF_SIGNED };
    const { env } = writeTestConfig({ defaultProfile: 'p', profiles: { p: profile } });
    expect((await runCli(['status', 'run-1', '--base-url', service.baseUrl], { env })).exitCode).toBe(7);
  });

  test('run: --cacert is repeated in the command that watches the run', async () => {
    const service = await scriptedService(acceptThenShow(aRun()), { tls: certificate('self-signed') });
    const { stderr } = await runCli(['run', 'w', '--detach', '--cacert', SELF_SIGNED], {
      env: { WFR_BASE_URL: service.baseUrl },
    });
    // A path with spaces is quoted.
    expect(stderr.replaceAll("'", '')).toContain(`To watch it: wfr watch --cacert ${SELF_SIGNED} run-1`);
  });

  test.each([
    ['missing.pem', 'no such file (ENOENT)'],
    ['empty.pem', 'has no certificate in PEM'],
    ['der.pem', 'has no certificate in PEM'],
    ['key.pem', 'has no certificate'],
    ['broken.pem', 'has a certificate that cannot be read'],
    ['.', 'it is a folder'],
  ])(
    'run: --cacert with an unusable file (%s) exits 2 before a connection is opened',
    async (name, reason) => {
      const service = await scriptedService(showRun(), { tls: certificate('self-signed') });
      const cwd = folderWith({
        'empty.pem': '',
        'der.pem': '0\u0082',
        'key.pem': readFileSync(join(CERTIFICATES, 'good.key'), 'utf8'),
        'broken.pem': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      });
      const { exitCode, stderr } = await runCli(['run', 'w', 'a=1', '--cacert', name], {
        env: { WFR_BASE_URL: service.baseUrl },
        cwd,
      });
      expect({ exitCode, connections: service.connections() }).toEqual({ exitCode: 2, connections: 0 });
      expect(stderr).toContain(`wfr: error: --cacert ${name}: `);
      expect(stderr).toContain(reason);
    },
  );

  test('run: an untrusted certificate names --cacert and caFile (fault 6)', async () => {
    const service = await scriptedService(showRun(), { tls: certificate('self-signed') });
    const { exitCode, stderr } = await status(service.baseUrl);
    expect(exitCode).toBe(7);
    expect(stderr).toContain('--cacert, or set caFile in a profile');
  });
});

const CLIENT = {
  certFile: join(CERTIFICATES, 'client.pem'),
  keyFile: join(CERTIFICATES, 'client.key'),
};
const DEMANDING = { requestCert: true, rejectUnauthorized: true, ca: readFileSync(CLIENT.certFile) };
const withProfile = (baseUrl: string, settings: object) =>
  writeTestConfig({ defaultProfile: 'p', profiles: { p: { baseUrl, ...settings } } });

describe.each(['TLSv1.3', 'TLSv1.2'] as const)(
  'a service that demands a client certificate (%s)',
  (maxVersion) => {
    const demanding = () =>
      scriptedService(acceptThenShow(aFinishedRun({ total: 1 })), {
        tls: { ...certificate('good'), ...DEMANDING, maxVersion },
      });

    test.each(['run', 'batch', 'status', 'watch'])(
      '%s: without one exits 7 with these words, and no run can exist (fault 117)',
      async (command) => {
        const service = await demanding();
        const cwd = folderWith({ 'table.csv': 'a\n1\n' });
        const args: Record<string, string[]> = { run: ['w', 'a=1'], batch: ['w', '--rows', 'table.csv'] };
        const { exitCode, stderr } = await runCli([command, ...(args[command] ?? ['run-1']), '--json'], {
          env: { WFR_BASE_URL: service.baseUrl },
          cwd,
        });
        expect(exitCode).toBe(7);
        expect(stderr).toMatch(/requires? a client certificate/);
        expect(stderr).toContain('certFile and keyFile in a profile');
        expect(errorData(stderr)).toMatchObject({ exitCode: 7, runMayExist: false });
        expect(service.requests).toEqual([]);
      },
    );

    test('run: certFile and keyFile identify wfr (fault 117)', async () => {
      const service = await demanding();
      const { env } = withProfile(service.baseUrl, CLIENT);
      const { exitCode, stdout } = await runCli(['run', 'w', 'a=1', '--get', '/total'], { env });
      expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '1\n' });
    });
  },
);

test('run: a proxy that demands a client certificate is not given that of the service', async () => {
  const service = await scriptedService(acceptThenShow(aFinishedRun()), { tls: certificate('good') });
  const proxy = await startProxy({ tls: { ...certificate('good'), ...DEMANDING } });
  const baseUrl = `https://service.test:${service.port}`;
  const { env } = withProfile(baseUrl, CLIENT);
  const options = { env: { ...env, HTTPS_PROXY: proxy.url } };
  const { exitCode, stderr } = await runCli(['run', 'w', '--no-token'], options);
  expect({ exitCode, tunnels: proxy.tunnels }).toEqual({ exitCode: 7, tunnels: [] });
  expect(stderr).toContain(`the proxy 127.0.0.1:${proxy.port} requires a client certificate, or rejected it`);
});

test('watch: a connection that is lost after one without a client certificate is called lost', async () => {
  const tls = certificate('good');
  const service = await scriptedService(
    inTurn(
      (_request, reply) => reply.send(200, aRun(), { connection: 'close' }),
      (_request, reply) => void reply.socket.destroy(),
      (_request, reply) => reply.send(200, aFinishedRun()),
    ),
    { tls },
  );
  const demanding = await scriptedService(showRun(), { tls: { ...tls, ...DEMANDING } });
  const ports = [service.port, demanding.port];
  const proxy = await startProxy({
    answer(socket) {
      const target = connect(ports.shift() ?? service.port, '127.0.0.1');
      target.on('error', () => {}).on('close', () => socket.destroy());
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(target).pipe(socket);
    },
  });
  const env = { WFR_BASE_URL: 'https://service.test', WFR_TOKEN: 't', HTTPS_PROXY: proxy.url };
  const { exitCode, stderr } = await runCli(['watch', 'run-1'], { env });
  expect(exitCode).toBe(0);
  expect(stderr.match(/requires a client certificate|was lost/g)).toEqual([
    'requires a client certificate',
    'was lost',
  ]);
});

describe('keyFile', () => {
  const { certFile } = CLIENT;
  const encrypted = join(CERTIFICATES, 'client-encrypted.key');
  const setUp = async () => {
    const service = await scriptedService(showRun(), { tls: { ...certificate('good'), ...DEMANDING } });
    const run = (settings: object, options: CliOptions = {}) => {
      const { env } = withProfile(service.baseUrl, { certFile, ...settings });
      return runCli(['status', 'run-1'], { ...options, env });
    };
    return { service, run };
  };

  test('status: an encrypted key asks for its passphrase on a terminal, and never shows it', async () => {
    const { run } = await setUp();
    const typed = (text: string) => {
      const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode() {} });
      stdin.end(`${text}\n`);
      return { stdin, terminal: 200 };
    };
    const settings = { keyFile: encrypted };
    const right = await run(settings, typed('correct-horse'));
    expect(right.exitCode).toBe(0);
    expect(right.stderr).toContain('client-encrypted.key (not shown): ');
    expect(right.stderr).not.toContain('correct-horse');
    const wrong = await run(settings, typed('battery-staple'));
    expect(wrong.exitCode).toBe(2);
    expect(wrong.stderr).toContain('client-encrypted.key: the passphrase is wrong');
  });

  test('status: an encrypted key without a terminal exits 2 before a connection is opened', async () => {
    const { service, run } = await setUp();
    const { exitCode, stderr } = await run({ keyFile: encrypted });
    expect({ exitCode, connections: service.connections() }).toEqual({ exitCode: 2, connections: 0 });
    expect(stderr).toContain('is encrypted, and there is no terminal to ask for its passphrase');
  });

  test.each([
    ['of another certificate', { keyFile: join(CERTIFICATES, 'good.key') }, 'is not the key of certFile'],
    ['that is a certificate', { keyFile: CA_FILE }, 'has no private key'],
    ['that is missing', {}, 'has no private key'],
  ])('status: a key %s exits 2', async (_what, settings, reason) => {
    const { run } = await setUp();
    const { exitCode, stderr } = await run(settings);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(reason);
  });

  test('config check: a keyFile without a certFile is a mistake', async () => {
    const { env } = writeTestConfig({ profiles: { p: { baseUrl: 'https://a.test', keyFile: 'k' } } });
    const { exitCode, stdout } = await runCli(['config', 'check'], { env });
    expect(exitCode).toBe(2);
    expect(stdout).toContain('"keyFile" requires "certFile" in the same profile');
  });
});
