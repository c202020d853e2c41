/** Faults before anything has been sent: no run can exist. */
import { spawn } from 'node:child_process';
import dns from 'node:dns';
import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type CliOptions, runCli, Signals } from '../helpers/cli.js';
import { AutoAdvancingClock, realClock } from '../helpers/clock.js';
import { CLOSED_PORT, CLOSED_URL } from '../helpers/closed-port.js';
import { startTimer } from '../helpers/elapsed.js';
import { answerLookups, failLookups } from '../helpers/lookups.js';
import { startWfr } from '../helpers/process.js';
import { aFinishedRun, aRun, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';
import { CA_FILE, certificate } from '../helpers/tls.js';

const run = (baseUrl: string, options: CliOptions = {}) =>
  runCli(['run', 'w', 'a=1', '--allow-http'], {
    ...options,
    env: { WFR_BASE_URL: baseUrl, WFR_TOKEN: 't', ...options.env },
  });

/** Returns a port whose backlog is full: connection attempts get no response. */
async function blackHole(): Promise<number> {
  const script = `
    const server = require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      require('fs').writeSync(1, server.address().port + '\\n');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const fillers: Socket[] = [];
  onTestFinished(() => {
    child.kill('SIGKILL');
    for (const socket of fillers) socket.destroy();
  });
  const port = Number(
    await new Promise((resolve) => child.stdout.once('data', (data) => resolve(String(data)))),
  );
  // The first two fill the backlog; all others wait.
  for (let n = 0; n < 6; n++) fillers.push(connect(port, '127.0.0.1').on('error', () => {}));
  await Promise.all(
    fillers.slice(0, 2).map((socket) => new Promise((resolve) => socket.once('connect', resolve))),
  );
  return port;
}

describe('run: a host that does not exist', () => {
  test('run: an unknown host is retried with backoff, then exits 7 with its name (fault 1)', async () => {
    const lookup = failLookups('ENOTFOUND');
    const { exitCode, stderr, clock, stdout } = await run('http://no-such-host.test:81');
    expect({ exitCode, stdout }).toEqual({ exitCode: 7, stdout: '' });
    expect(stderr).toContain(
      'host not found: no-such-host.test:81 (ENOTFOUND), 4 tries; no run was created\n  Check the base URL.',
    );
    expect(clock.sleeps).toEqual([1000, 2000, 4000]);
    expect(lookup).toHaveBeenCalledTimes(4);
  });
});

describe('localhost', () => {
  test.each(['203.0.113.5', '2001:db8::1', '127.0.0.1, 203.0.113.5'])(
    'run: a name server that says localhost is %s gets neither the token nor a connection, and wfr exits 7',
    async (answer) => {
      const service = await scriptedService((_request, reply) => reply.send(200, aRun()));
      answerLookups(answer.split(', '));
      const { port } = service;
      for (const args of [
        ['run', 'w'],
        ['status', 'run-1'],
      ]) {
        const env = { WFR_BASE_URL: `http://localhost:${port}`, WFR_TOKEN: 'secret-token' };
        const { exitCode, stderr } = await runCli(args, { env });
        expect(exitCode).toBe(7);
        expect(stderr).toContain(`the name localhost:${port} leads to another machine`);
        expect(stderr).toContain('Use http://127.0.0.1');
      }
      expect(service.requests).toEqual([]);
    },
  );

  test('run: localhost at any address of this machine is used', async () => {
    const service = await scriptedService((_request, reply) => reply.send(200, aFinishedRun()));
    answerLookups(['127.0.0.1']);
    const env = { WFR_BASE_URL: `http://localhost:${service.port}` };
    expect((await runCli(['status', 'run-1'], { env })).exitCode).toBe(0);
  });
});

describe('run: a name server that does not respond', () => {
  test('run: a name server that does not respond is retried with a count of the tries, then exits 7 (fault 2)', async () => {
    failLookups('EAI_AGAIN');
    const { exitCode, stderr, clock } = await run('http://host.test');
    expect(exitCode).toBe(7);
    expect(stderr).toContain(
      'the DNS server does not respond for host.test:80 (EAI_AGAIN); retrying in 1.0s (1/3)',
    );
    expect(stderr).toContain('retrying in 4.0s (3/3)');
    expect(clock.sleeps).toEqual([1000, 2000, 4000]);
  });

  test.each([
    [0.998, '999ms'],
    [0.9992, '1.0s'],
  ])('run: a delay of one second times 0.5 + %d / 2 is shown as %s', async (random, text) => {
    failLookups('EAI_AGAIN');
    const clock = Object.assign(new AutoAdvancingClock(), { random: () => random });
    expect((await run('http://host.test', { clock })).stderr).toContain(`retrying in ${text} (1/3)`);
  });
});

describe('run: a port on which nothing listens', () => {
  test('run: a refused connection is retried after short waits, then exits 7 with the host and port (fault 3)', async () => {
    const { exitCode, stderr, clock } = await run(CLOSED_URL);
    expect(exitCode).toBe(7);
    expect(stderr).toContain(`nothing listens at 127.0.0.1:${CLOSED_PORT} (ECONNREFUSED)`);
    expect(stderr).toContain('no run was created');
    expect(clock.sleeps).toEqual([250, 500, 1000]);
  });

  test('run: a service that becomes available during the retries gets one POST (fault 3)', async () => {
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      reply.send(200, aRun({ status: 'FINISHED' }));
    });
    let calls = 0;
    const lookup = vi.spyOn(dns, 'lookup').mockImplementation(((
      _host: string,
      options: { all?: boolean },
      callback: (...args: unknown[]) => void,
    ) => {
      if (calls++ === 0) setImmediate(() => callback(Object.assign(new Error(), { code: 'EAI_AGAIN' })));
      else if (options.all) callback(null, [{ address: '127.0.0.1', family: 4 }]);
      else callback(null, '127.0.0.1', 4);
    }) as never);
    onTestFinished(() => lookup.mockRestore());
    const { exitCode } = await run(`http://host.test:${service.port}`);
    expect(exitCode).toBe(0);
    expect(service.posts().length).toBe(1);
  });
});

describe.skipIf(LACKS.silentPorts)('run: a connection that is never established', () => {
  test('run: a connection attempt is abandoned after 10 s and retried, then exits 7 (fault 4)', async () => {
    const port = await blackHole();
    const { exitCode, stderr, clock } = await run(`http://127.0.0.1:${port}`, {
      clock: new AutoAdvancingClock(),
    });
    expect(exitCode).toBe(7);
    expect(stderr).toContain(`no connection to 127.0.0.1:${port} within 10s, 4 tries`);
    expect(clock.sleeps.filter((ms) => ms >= 1000)).toEqual([1000, 2000, 4000]);
  });

  test('run: Ctrl-C while connecting exits 130 within 100 ms (fault 4)', async () => {
    const port = await blackHole();
    const signals = new Signals();
    const baseUrl = `http://127.0.0.1:${port}`;
    let elapsed = () => 0;
    setTimeout(() => {
      elapsed = startTimer();
      signals.raise('SIGINT');
    }, 50);
    const { exitCode, stderr } = await run(baseUrl, { signals, clock: realClock });
    expect(elapsed()).toBeLessThan(100);
    expect(exitCode).toBe(130);
    expect(stderr).toContain('cancelled; no run was created');
  });
});

describe.skipIf(LACKS.unreachableAddresses)('run: a network that cannot be reached', () => {
  test('run: an unreachable network is retried after short waits, then exits 7 (fault 5)', async () => {
    // The kernel rejects a connection to the broadcast address before it sends anything.
    const { exitCode, stderr, clock } = await run('http://255.255.255.255');
    expect(exitCode).toBe(7);
    expect(stderr).toContain('255.255.255.255:80 cannot be reached from here (ENETUNREACH)');
    expect(clock.sleeps).toEqual([250, 500, 1000]);
  });
});

describe('run: the certificate of the service', () => {
  test.each([
    ['self-signed', 'DEPTH_ZERO_SELF_SIGNED_CERT', true],
    ['expired', 'CERT_HAS_EXPIRED', false],
    ['wrong-name', 'ERR_TLS_CERT_ALTNAME_INVALID', false],
  ] as const)(
    'run: an untrusted certificate (%s) exits 7 without a retry, suggesting --cacert only where it helps, and no way to skip the check (fault 6)',
    async (name, reason, helpsIssuer) => {
      const service = await scriptedService(() => {}, { tls: certificate(name) });
      const { exitCode, stderr, clock } = await run(service.baseUrl);
      expect(exitCode).toBe(7);
      expect(stderr).toContain(
        `the certificate of 127.0.0.1:${service.port} is not trusted (${reason}); no run was created`,
      );
      expect(stderr.includes('--cacert')).toBe(helpsIssuer);
      expect(stderr).not.toMatch(/insecure|REJECT_UNAUTHORIZED|--no-/i);
      expect(clock.sleeps).toEqual([]);
      expect(service.requests.length).toBe(0);
    },
  );

  test('run: a trusted certificate is accepted for an address and a name (fault 6)', async () => {
    const service = await scriptedService(
      async (request, reply) => {
        await request.body();
        reply.send(200, aRun({ status: 'FINISHED' }));
      },
      { tls: certificate('good') },
    );
    expect((await run(service.baseUrl)).exitCode).toBe(0);
    expect((await run(service.baseUrl.replace('127.0.0.1', 'localhost'))).exitCode).toBe(0);
  });

  test('run: NODE_TLS_REJECT_UNAUTHORIZED=0 prints a warning (fault 6)', async () => {
    const { stderr } = await run(CLOSED_URL.replace('http', 'https'), {
      env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    });
    expect(stderr).toContain(
      'warning: NODE_TLS_REJECT_UNAUTHORIZED=0 turns off certificate checks: anyone can impersonate the service; unset it',
    );
  });

  test('status: NODE_EXTRA_CA_CERTS makes a private certificate trusted (fault 6)', async () => {
    const service = await scriptedService((_request, reply) => reply.send(200, aRun()), {
      tls: certificate('good'),
    });
    const env = { WFR_BASE_URL: service.baseUrl };
    expect((await startWfr(['status', 'run-1'], env).ended).exitCode).toBe(7);
    expect(
      (await startWfr(['status', 'run-1'], { ...env, NODE_EXTRA_CA_CERTS: CA_FILE }).ended).exitCode,
    ).toBe(0);
  });
});

describe('run: a scheme that does not match the service', () => {
  test('run: https to a port without TLS exits 7 without a retry, suggesting http (fault 7)', async () => {
    const service = await scriptedService(() => {}, {
      onConnection: (socket) =>
        void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    });
    const { exitCode, stderr, clock } = await run(service.baseUrl.replace('http:', 'https:'));
    expect(exitCode).toBe(7);
    expect(stderr).toContain(`127.0.0.1:${service.port} does not speak TLS`);
    expect(stderr).toContain('Check whether the base URL should begin with http://.');
    expect(clock.sleeps).toEqual([]);
  });

  test('run: http to a port that answers with a TLS alert exits 7 without a retry, suggesting https (fault 7)', async () => {
    // The alert that OpenSSL sends instead of a handshake: fatal, http request.
    const alert = '\x15\x03\x01\x00\x02\x02\x46';
    const service = await scriptedService((_request, reply) => void reply.socket.end(alert, 'latin1'));
    const { exitCode, stderr, clock } = await run(service.baseUrl);
    expect(exitCode).toBe(7);
    expect(stderr).toContain(`127.0.0.1:${service.port} expects TLS: use https`);
    expect(stderr).toContain('no run was created');
    expect(clock.sleeps).toEqual([]);
  });
});

describe('run: a connection that is reset when it is accepted', () => {
  test('run: a reset before the TLS handshake is retried after short waits, then exits 7 (fault 8)', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.resetAndDestroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const { exitCode, stderr, clock } = await run(`https://127.0.0.1:${port}`);
    expect(exitCode).toBe(7);
    // On Windows, a write may fail before the read does.
    const message = `127.0.0.1:${port} closed the connection at once (ECONNRESET), 4 tries`;
    expect(stderr.replaceAll('ECONNABORTED', 'ECONNRESET')).toContain(message);
    expect(clock.sleeps).toEqual([250, 500, 1000]);
    expect(connections).toBe(4);
  });
});

test('run: a connection that Windows says it has aborted is retried as after a reset (fault 8)', async () => {
  failLookups('ECONNABORTED');
  const { exitCode, stderr, clock } = await run('https://service.test');
  expect(exitCode).toBe(7);
  expect(stderr).toContain('service.test:443 closed the connection at once (ECONNABORTED), 4 tries');
  expect(clock.sleeps).toEqual([250, 500, 1000]);
});

test.skipIf(LACKS.silentPorts)(
  'run: Ctrl-C ends a real process that is still connecting, without waiting for the 10 s that it may take',
  async () => {
    const port = await blackHole();
    const wfr = startWfr(['run', 'w', '-v'], { WFR_BASE_URL: `http://127.0.0.1:${port}` });
    await wfr.waitForOutput('> POST');
    const elapsed = startTimer();
    wfr.child.kill('SIGINT');
    const { signal, stderr } = await wfr.ended;
    // A busy machine may keep the process from running, but not for seconds.
    expect(elapsed()).toBeLessThan(5_000);
    expect(signal).toBe('SIGINT');
    expect(stderr).toContain('cancelled; no run was created');
  },
);
