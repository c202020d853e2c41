/** Uploads through nginx: those that it forwards, and those that it rejects while they are being sent. */
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BUILT_IN_WORKFLOWS } from '../../src/sandbox/workflow.js';
import { runCli, temporaryFolder } from '../helpers/cli.js';
import { realClock } from '../helpers/clock.js';
import { folderWithSparseFile } from '../helpers/files.js';
import { proxyPassTo, rejectEarly, startNginx } from '../helpers/peers.js';
import { startWfr } from '../helpers/process.js';
import { INVOICE, startTestSandbox } from '../helpers/sandbox.js';
import { scriptedService } from '../helpers/service.js';
import { CA_FILE } from '../helpers/tls.js';

const LARGE = folderWithSparseFile(200_000_000);
const TRIES = 50;

/** Every scheme, with and without buffering of the body in nginx. */
const WAYS = (['https', 'http'] as const).flatMap((scheme) =>
  (['on', 'off'] as const).map((buffering) => [scheme, buffering] as const),
);

/** Runs `wfr run w doc@large.pdf` with 200 MB, in real time. */
const runLarge = (baseUrl: string) =>
  runCli(['run', 'w', 'doc@large.pdf'], {
    cwd: LARGE,
    clock: realClock,
    env: { WFR_BASE_URL: baseUrl, WFR_TOKEN: 'the-token' },
  });

describe('nginx: a document of 20 MB', () => {
  const cwd = temporaryFolder();
  const bytes = randomBytes(20_000_000);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  writeFileSync(join(cwd, 'scan.pdf'), bytes);

  test.each(WAYS)(
    'nginx: a document of 20 MB arrives unchanged over %s with proxy_request_buffering %s',
    async (scheme, buffering) => {
      const { sandbox, clock, env } = await startTestSandbox();
      const nginx = await startNginx(
        `client_max_body_size 0; proxy_request_buffering ${buffering}; ${proxyPassTo(sandbox.baseUrl)}`,
      );
      const { exitCode, stdout } = await runCli(['run', INVOICE, 'invoice@scan.pdf', 'customer=ACME'], {
        cwd,
        clock,
        env: { ...env, WFR_BASE_URL: nginx.baseUrl(scheme) },
      });
      expect(exitCode).toBe(0);
      expect(JSON.parse(stdout).document).toEqual({
        mediaType: 'application/pdf',
        bytes: 20_000_000,
        sha256,
      });
      const [trigger, ...polls] = await nginx.quit();
      expect(trigger).toBe('POST /v1/runs 201');
      expect(polls.length).toBeGreaterThan(0);
      for (const poll of polls) expect(poll).toMatch(/^GET \/v1\/runs\/[\w-]+ 200$/);
    },
  );

  test('nginx: a document of 20 MB arrives unchanged from the installed command', async () => {
    // A process uses real time, so the sandbox does too, and its run is short.
    const workflows = BUILT_IN_WORKFLOWS.map((workflow) => ({ ...workflow, steps: [] }));
    const { sandbox, env } = await startTestSandbox({ workflows, clock: realClock });
    const nginx = await startNginx(`client_max_body_size 0; ${proxyPassTo(sandbox.baseUrl)}`);
    const { exitCode, stdout } = await startWfr(
      ['run', INVOICE, 'invoice@scan.pdf', 'customer=ACME', '--interval', '20ms'],
      { ...env, WFR_BASE_URL: nginx.baseUrl('https'), NODE_EXTRA_CA_CERTS: CA_FILE },
      { cwd },
    ).ended;
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout).document.sha256).toBe(sha256);
    expect((await nginx.quit()).filter((line) => line.startsWith('POST'))).toEqual(['POST /v1/runs 201']);
  });
});

describe('nginx: 413 during the upload', () => {
  test.each(WAYS)(
    'nginx: 413 during the upload is read over %s with proxy_request_buffering %s, 50 times of 50',
    async (scheme, buffering) => {
      const service = await scriptedService(() => {});
      const nginx = await startNginx(
        `client_max_body_size 1m; proxy_request_buffering ${buffering}; ${proxyPassTo(service.baseUrl)}`,
      );
      for (let n = 0; n < TRIES; n++) {
        const { exitCode, stderr } = await runLarge(nginx.baseUrl(scheme));
        expect({ n, exitCode, stderr }).toEqual({
          n,
          exitCode: 5,
          stderr:
            'wfr: error: the service rejected a body of 267 MB as too large (413); no run was created\n| 413 Request Entity Too Large (an HTML page)\n',
        });
      }
      expect(await nginx.quit()).toEqual(Array(TRIES).fill('POST /v1/runs 413'));
      expect(service.connections()).toBe(0);
    },
  );

  // The hardest case: nginx resets the connection, and the reset may overtake the response.
  test.each(['https', 'http'] as const)(
    'nginx: 413 of a service during the upload is read over %s if nginx closes at once, 50 times of 50',
    async (scheme) => {
      const service = await scriptedService(rejectEarly);
      const nginx = await startNginx(
        `client_max_body_size 0; proxy_request_buffering off; lingering_close off; ${proxyPassTo(service.baseUrl)}`,
      );
      for (let n = 0; n < TRIES; n++) {
        const { exitCode, stderr } = await runLarge(nginx.baseUrl(scheme));
        expect({ n, exitCode, stderr }).toEqual({
          n,
          exitCode: 5,
          stderr:
            'wfr: error: the service rejected a body of 267 MB as too large (413); no run was created\n| the service says it is too large\n',
        });
      }
      expect(await nginx.quit()).toEqual(Array(TRIES).fill('POST /v1/runs 413'));
      expect(service.posts().length).toBe(TRIES);
    },
  );

  test('nginx: 413 during the upload is read by the installed command, 5 times of 5', async () => {
    const nginx = await startNginx('client_max_body_size 1m;');
    for (let n = 0; n < 5; n++) {
      const env = {
        WFR_BASE_URL: nginx.baseUrl('https'),
        WFR_TOKEN: 'the-token',
        NODE_EXTRA_CA_CERTS: CA_FILE,
      };
      const { exitCode, stderr } = await startWfr(['run', 'w', 'doc@large.pdf'], env, { cwd: LARGE }).ended;
      expect({ n, exitCode, stderr }).toEqual({ n, exitCode: 5, stderr: expect.stringContaining('(413)') });
    }
    expect(await nginx.quit()).toEqual(Array(5).fill('POST /v1/runs 413'));
  });
});

describe('nginx: 401 during the upload', () => {
  test.each([
    ['return 401', 'https', 'location / { return 401; }'],
    ['return 401', 'http', 'location / { return 401; }'],
    ['auth_basic', 'https', 'location / { auth_basic "staff"; auth_basic_user_file /dev/null; }'],
    ['auth_basic', 'http', 'location / { auth_basic "staff"; auth_basic_user_file /dev/null; }'],
  ] as const)('of %s over %s is exit 4, 10 times of 10', async (_name, scheme, server) => {
    const nginx = await startNginx(`client_max_body_size 0; ${server}`);
    for (let n = 0; n < 10; n++) {
      const { exitCode, stderr } = await runLarge(nginx.baseUrl(scheme));
      expect({ n, exitCode, stderr }).toEqual({
        n,
        exitCode: 4,
        stderr: expect.stringContaining(
          'wfr: error: the service rejected the access token (401); it came from WFR_TOKEN; no run was created\n| 401 Authorization Required (an HTML page)\n',
        ),
      });
      expect(stderr).not.toContain('the-token');
    }
    expect(await nginx.quit()).toEqual(Array(10).fill('POST /v1/runs 401'));
  });
});
