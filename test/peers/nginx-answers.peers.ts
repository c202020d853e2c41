/** Responses of nginx for a service that is stopped, silent or elsewhere. */
import { describe, expect, test } from 'vitest';
import { runCli } from '../helpers/cli.js';
import { realClock, VirtualClock } from '../helpers/clock.js';
import { CLOSED_URL } from '../helpers/closed-port.js';
import { folderWithSparseFile } from '../helpers/files.js';
import { proxyPassTo, startNginx } from '../helpers/peers.js';
import { scriptedService } from '../helpers/service.js';

const WARNING = 'Check the service before you run the command again: a second run may cost a second time.';

const settings = (baseUrl: string) => ({ env: { WFR_BASE_URL: baseUrl, WFR_TOKEN: 'the-token' } });
const run = (baseUrl: string, clock = new VirtualClock()) =>
  runCli(['run', 'w', 'a=1'], { ...settings(baseUrl), clock });

/** Starts an nginx whose service refuses every connection. */
const beforeNothing = (server = '') => startNginx(`${server} ${proxyPassTo(CLOSED_URL)}`);

describe.each(['https', 'http'] as const)('nginx: responses over %s', (scheme) => {
  test('nginx: 502 for a stopped service after the complete body exits 6 after one request', async () => {
    const nginx = await beforeNothing();
    const { exitCode, stdout, stderr, clock } = await run(nginx.baseUrl(scheme));
    expect({ exitCode, stdout, sleeps: clock.sleeps }).toEqual({ exitCode: 6, stdout: '', sleeps: [] });
    expect(stderr.replace(/Sent .* UTC: .*/, 'Sent')).toBe(
      'wfr: error: the outcome is unknown: a run may have been created\n' +
        '  the service answered the trigger with an error (502)\n| 502 Bad Gateway (an HTML page)\n' +
        `  Sent\n  ${WARNING}\n  Next time, add --once <file>: --adopt <id> can then settle this.\n`,
    );
    expect(await nginx.quit()).toEqual(['POST /v1/runs 502']);
  });

  test('nginx: 502 for a stopped service makes wfr status try 3 more times, then exit 7', async () => {
    const nginx = await beforeNothing();
    const { exitCode, stdout, stderr, clock } = await runCli(
      ['status', 'run-1'],
      settings(nginx.baseUrl(scheme)),
    );
    expect({ exitCode, stdout, sleeps: clock.sleeps.filter((ms) => ms > 0) }).toEqual({
      exitCode: 7,
      stdout: '',
      sleeps: [1000, 2000, 4000],
    });
    expect(stderr).toContain('wfr: error: run run-1 could not be read');
    expect(stderr).toContain(
      'the service answered the request with an error (502)\n| 502 Bad Gateway (an HTML page)\n',
    );
    expect(await nginx.quit()).toEqual(Array(4).fill('GET /v1/runs/run-1 502'));
  });

  test('nginx: 504 for a service that does not respond exits 6 after one request', async () => {
    const service = await scriptedService(() => {});
    const nginx = await startNginx(`proxy_read_timeout 1s; ${proxyPassTo(service.baseUrl)}`);
    const { exitCode, stdout, stderr } = await run(nginx.baseUrl(scheme));
    expect({ exitCode, stdout }).toEqual({ exitCode: 6, stdout: '' });
    expect(stderr).toContain(
      'the service answered the trigger with an error (504)\n| 504 Gateway Time-out (an HTML page)\n',
    );
    expect(stderr).toContain(WARNING);
    expect(await nginx.quit()).toEqual(['POST /v1/runs 504']);
    expect(service.posts().length).toBe(1);
  });
});

test('nginx: 502 during the upload, with proxy_request_buffering off, exits 7 as no run exists', async () => {
  const nginx = await beforeNothing('client_max_body_size 0; proxy_request_buffering off;');
  const cwd = folderWithSparseFile(200_000_000);
  for (let n = 0; n < 10; n++) {
    const { exitCode, stderr } = await runCli(['run', 'w', 'doc@large.pdf'], {
      ...settings(nginx.baseUrl('https')),
      cwd,
      clock: realClock,
    });
    expect({ n, exitCode, stderr }).toEqual({
      n,
      exitCode: 7,
      stderr:
        'wfr: error: the service answered the trigger with an error (502); no run was created\n| 502 Bad Gateway (an HTML page)\n' +
        '  It is safe to run the same command again later.\n',
    });
  }
  expect(await nginx.quit()).toEqual(Array(10).fill('POST /v1/runs 502'));
});

test('nginx: 503 without Retry-After exits 6, and the trigger is not sent again', async () => {
  const nginx = await startNginx('location / { return 503; }');
  expect((await run(nginx.baseUrl('https'))).exitCode).toBe(6);
  expect(await nginx.quit()).toEqual(['POST /v1/runs 503']);
});

test('nginx: 301 to https exits 5 with the target, and is not followed', async () => {
  const nginx = await startNginx(
    'if ($scheme = http) { return 301 https://127.0.0.1:1$request_uri?key=s3cret; }',
  );
  const { exitCode, stdout, stderr } = await run(nginx.baseUrl('http'));
  expect({ exitCode, stdout }).toEqual({ exitCode: 5, stdout: '' });
  expect(stderr).toContain(
    'wfr: error: the service redirects the trigger to https://127.0.0.1:1 (301); wfr does not follow redirects; no run was created\n',
  );
  expect(stderr).not.toMatch(/s3cret|the-token/);
  expect(await nginx.quit()).toEqual(['POST /v1/runs 301']);
});

test('nginx: http to a TLS port exits 5 with the message of nginx after one request', async () => {
  const nginx = await startNginx('location / { return 201; }');
  const { exitCode, stdout, stderr } = await run(`http://127.0.0.1:${nginx.tlsPort}/v1`);
  expect({ exitCode, stdout }).toEqual({ exitCode: 5, stdout: '' });
  expect(stderr).toBe(
    'wfr: error: the service rejected the trigger (400); no run was created\n| 400 The plain HTTP request was sent to HTTPS port (an HTML page)\n' +
      '  wfr run --dry-run shows what would be sent. If the field of the workflow is wrong, choose it with --workflow-id-field.\n',
  );
  expect(await nginx.quit()).toEqual(['POST /v1/runs 400']);
});

test('nginx: https to an http port exits 7, and nothing is sent', async () => {
  const nginx = await startNginx('location / { return 201; }');
  const { exitCode, stderr } = await run(`https://127.0.0.1:${nginx.port}/v1`);
  expect(exitCode).toBe(7);
  expect(stderr).toContain(`127.0.0.1:${nginx.port} does not speak TLS`);
  expect(stderr).toContain('no run was created');
  // nginx logs an unreadable request without method and path.
  expect(await nginx.quit()).toEqual(['- - 400']);
});
