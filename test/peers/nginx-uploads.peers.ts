/** Documents sent to nginx: those it passes on, and those it refuses while they are still being sent. */
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BUILT_IN_WORKFLOWS } from '../../src/sandbox/built-in.js';
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

/** Every way to nginx, and what it does with a body: pass it on as it comes, or once it has all of it. */
const WAYS = (['https', 'http'] as const).flatMap((scheme) =>
  (['on', 'off'] as const).map((buffering) => [scheme, buffering] as const),
);

/** `wfr run w doc@large.pdf`, 200 MB of it, with time as it really passes. */
const runLarge = (baseUrl: string) =>
  runCli(['run', 'w', 'doc@large.pdf'], {
    cwd: LARGE,
    clock: realClock,
    env: { WFR_BASE_URL: baseUrl, WFR_TOKEN: 'the-token' },
  });

describe('a document of 20 MB', () => {
  const cwd = temporaryFolder();
  const bytes = randomBytes(20_000_000);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  writeFileSync(join(cwd, 'scan.pdf'), bytes);

  test.each(WAYS)('arrives unchanged over %s with proxy_request_buffering %s', async (scheme, buffering) => {
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
    expect(JSON.parse(stdout).document).toEqual({ mediaType: 'application/pdf', bytes: 20_000_000, sha256 });
    const [trigger, ...polls] = await nginx.quit();
    expect(trigger).toBe('POST /v1/runs 201');
    expect(polls.length).toBeGreaterThan(0);
    for (const poll of polls) expect(poll).toMatch(/^GET \/v1\/runs\/[\w-]+ 200$/);
  });

  test('arrives unchanged from the command as it is installed', async () => {
    // A process has the time of the world: the sandbox gets it too, and its run takes as little of it as can be.
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

describe('413 while the body is being sent', () => {
  test.each(WAYS)(
    'is read over %s with proxy_request_buffering %s, 50 times of 50',
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
            'wfr: the service rejected a body of 267 MB as too large (413)\n| 413 Request Entity Too Large (an HTML page)\n' +
            '  Send smaller documents, or ask the operator of the service to raise the limit.\n',
        });
      }
      expect(await nginx.quit()).toEqual(Array(TRIES).fill('POST /v1/runs 413'));
      expect(service.connections()).toBe(0);
    },
  );

  // The hardest of them: what is still under way is answered with a reset, which may overtake the answer.
  test.each(['https', 'http'] as const)(
    'is read over %s of a service behind an nginx that closes at once, 50 times of 50',
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
            'wfr: the service rejected a body of 267 MB as too large (413)\n| the service says it is too large\n' +
            '  Send smaller documents, or ask the operator of the service to raise the limit.\n',
        });
      }
      expect(await nginx.quit()).toEqual(Array(TRIES).fill('POST /v1/runs 413'));
      expect(service.posts().length).toBe(TRIES);
    },
  );

  test('is read by the command as it is installed, 5 times of 5', async () => {
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

describe('401 while the body is being sent', () => {
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
          'wfr: the service rejected the access token (401); it came from WFR_TOKEN\n| 401 Authorization Required (an HTML page)\n',
        ),
      });
      expect(stderr).not.toContain('the-token');
    }
    expect(await nginx.quit()).toEqual(Array(10).fill('POST /v1/runs 401'));
  });
});
