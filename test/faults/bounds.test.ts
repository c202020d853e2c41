/** A service that sends too much of anything: wfr stays within its memory, and still says that a run may exist. */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runCli, temporaryFolder } from '../helpers/cli.js';
import { VirtualClock } from '../helpers/clock.js';
import { effort } from '../helpers/effort.js';
import { BIN, start } from '../helpers/process.js';
import { acceptThenShow, aFinishedRun, aRun, inTurn, scriptedService } from '../helpers/service.js';

/** More than the heap of the process has room for, but not the machine. */
const HEAP_MB = 12;
const SIZE = 10_000_000;

/** Begins a string of two bytes for each character: Node keeps long strings of ASCII outside of the heap. */
const EURO = '\\u20ac';

/** Serves `body` for every request, without a copy for each. */
async function serveLarge(body: Buffer) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(201, { 'content-length': body.length });
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return `http://127.0.0.1:${port}`;
}

/** Runs wfr as a process with a small heap, which ends with 134 where it is too small. */
const withSmallHeap = (args: readonly string[], baseUrl: string) =>
  start(process.execPath, [`--max-old-space-size=${HEAP_MB}`, '--max-semi-space-size=2', BIN, ...args], {
    WFR_BASE_URL: baseUrl,
  }).ended;

/** Repeats a text between `before` and `after`, to about 10 MB. */
function large(before: string, repeated: string, after: string): Buffer {
  const middle = Buffer.alloc(Math.floor(SIZE / repeated.length) * repeated.length, repeated);
  return Buffer.concat([Buffer.from(before), middle, Buffer.from(after)]);
}

describe('a response to the trigger of 10 MB', () => {
  test.each<[string, Buffer]>([
    ['members without a name', large('{', '"":1,', '"":1}')],
    ['equal ids', large('{', '"id":"0123456789abcdef",', '"id":1}')],
    ['an id of 10 MB', large(`{"id":"${EURO}`, '\\n', '"}')],
    ['a name of 10 MB', large(`{"${EURO}`, '\\n', '":1}')],
    ['open brackets', large('', '[', '')],
    ['open objects in a member', large('{"run":', '{"id":', '')],
    ['bytes that are not UTF-8', large('{"a":"', '\\u00ff\\ud800', '"}').fill(0xff, 10, 1_000_000)],
  ])('run: %s exits 6 on a heap of 12 MB, and a run may exist (fault 45)', async (_name, body) => {
    const { exitCode, stderr } = await withSmallHeap(['run', 'w', '--timeout', '0'], await serveLarge(body));
    expect({ exitCode, stderr: stderr.slice(0, 2_000) }).toMatchObject({
      exitCode: 6,
      stderr: expect.stringContaining('the outcome is unknown: a run may have been created'),
    });
  });

  test('run: unknown members and a long status beside the id are accepted on a heap of 12 MB', async () => {
    const body = large('{"id":"run-1","status":"', '\\"', '","":1,"steps":1}');
    const { exitCode, stderr } = await withSmallHeap(['run', 'w', '--timeout', '0'], await serveLarge(body));
    expect(exitCode).toBe(8);
    expect(stderr).toContain('Run run-1');
    expect(stderr.length).toBeLessThan(20_000);
  });
});

describe('an output of 12 MB', () => {
  const text = JSON.stringify(Array.from({ length: 120_000 }, (_, n) => `${n}-é-${'x'.repeat(80)}`));
  const body = Buffer.from(`{"id":"r","status":"FINISHED","output":${text}}`);
  const invalid = Buffer.from(body);
  invalid[body.indexOf('-x') + 1] = 0xff;
  const coded = gzipSync(body, { level: 1 });

  test.each<[string, Buffer, string]>([
    ['with a Content-Length', body, `content-length: ${body.length}\r\n`],
    ['without one', body, ''],
    ['without one that is not UTF-8', invalid, ''],
    ['in gzip', coded, `content-length: ${coded.length}\r\ncontent-encoding: gzip\r\n`],
  ])('watch: a response %s is printed whole', async (_name, sent, lines) => {
    const { baseUrl } = await scriptedService((_request, { socket }) => {
      socket.write(`HTTP/1.1 200 OK\r\n${lines}connection: close\r\n\r\n`);
      socket.end(sent);
    });
    const { stdout, exitCode } = await runCli(['watch', 'r', '-o', 'jsonl'], {
      env: { WFR_BASE_URL: baseUrl },
    });
    const expected = sent === invalid ? invalid.toString() : body.toString();
    expect({ exitCode, isWhole: stdout === `${expected}\n` }).toEqual({ exitCode: 0, isWhole: true });
  });
});

describe('a response that arrives faster than it is decoded', () => {
  // The parser is paused at the end of some of them, which depends on the size.
  const sizes = [65_536, 100_000, 131_072, 150_000, 170_000, 200_000, 300_000, 500_000];

  test.each(['run', 'watch'])(
    '%s: is read whole although the service closes the connection (fault 120)',
    async (command) => {
      const results = [];
      for (const size of sizes) {
        const body = Buffer.from(
          `{"id":"r","status":"FINISHED","output":"${randomBytes(size).toString('base64')}"}`,
        );
        const coded = gzipSync(body, { level: 1 });
        const { baseUrl } = await scriptedService(async (request, { socket }) => {
          if (command === 'run') await request.body();
          socket.write(
            `HTTP/1.1 200 OK\r\ncontent-length: ${coded.length}\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n`,
          );
          socket.end(coded);
        });
        const { stdout, exitCode } = await runCli([command, 'r', '-o', 'jsonl'], {
          env: { WFR_BASE_URL: baseUrl },
        });
        results.push({ size, exitCode, isWhole: stdout === `${body}\n` });
      }
      expect(results).toEqual(sizes.map((size) => ({ size, exitCode: 0, isWhole: true })));
    },
  );
});

describe('--get in an output of 10 MB', () => {
  const output = (before: string, repeated: string, after: string) =>
    large(`{"id":"r","status":"FINISHED","output":${before}`, repeated, `${after}}`);

  test.each<[string, Buffer, string, number, string]>([
    ['a string with escapes', output(`{"text":"${EURO}`, '\\n', '"}'), '/text', 0, ''],
    ['a string without', output('{"text":"', 'é', '"}'), '/text', 0, ''],
    ['a list after a name of 10 MB', output(`{"${EURO}`, '\\n', '":1,"list":[1,2]}'), '/list/1', 0, ''],
    ['no member of names', output('{', '"n":1,', '"":1}'), '/none', 65, 'has the keys n, … ('],
    ['no index of a list', output('[', '1,', '1]'), '/x', 65, 'the output is an array of 5,000,001 values'],
  ])('watch: %s is read on a heap of 12 MB', async (_name, body, pointer, expected, message) => {
    const { exitCode, stderr, stdout } = await withSmallHeap(
      ['watch', 'r', '--get', pointer],
      await serveLarge(body),
    );
    expect({ exitCode, stderr: stderr.slice(0, 2_000) }).toEqual({
      exitCode: expected,
      stderr: expect.stringContaining(message),
    });
    expect(stdout === '').toBe(expected !== 0);
  });
});

test('watch --save-documents: an output of two million levels is searched on a heap of 12 MB (fault 45)', async () => {
  const levels = SIZE / 5;
  const body = `{"id":"r","status":"FINISHED","output":${'{"":'.repeat(levels)}1${'}'.repeat(levels)}}`;
  const { exitCode, stderr } = await withSmallHeap(
    ['watch', 'r', '-o', 'id', '--save-documents', join(temporaryFolder(), 'out')],
    await serveLarge(Buffer.from(body)),
  );
  expect(stderr.slice(0, 2_000)).toContain('Saved 0 documents');
  expect(exitCode).toBe(0);
});

describe('long members of a run', () => {
  test('run: status, version, time and step are cut to a few kilobytes, and "…" says so', async () => {
    const long = (letter: string) => letter.repeat(1_000_000);
    const clock = new VirtualClock();
    const run = aRun({
      status: 'FAILED',
      versionName: long('v'),
      createdAt: long('c'),
      error: { message: long('m'), step: long('s') },
    });
    const { baseUrl } = await scriptedService(acceptThenShow(run));
    // Only a watched run names its version.
    for (const [command, letters] of [
      ['run', ['s', 'm']],
      ['watch', ['v', 's', 'm']],
    ] as const) {
      const args = [command, 'run-1', '--report', 'json=r.json', '--report', 'html=r.html', '-v'];
      const { stderr, exitCode } = await runCli(args, { env: { WFR_BASE_URL: baseUrl }, clock });
      expect(exitCode).toBe(1);
      for (const letter of letters) expect(stderr).toMatch(new RegExp(`${letter}{1900}…`));
      expect(stderr.length).toBeLessThan(30_000);
    }
  });

  test('run: a new status of 4 MB in each poll is one warning of a few kilobytes for each', async () => {
    let polls = 0;
    const { baseUrl } = await scriptedService((request, reply) => {
      if (request.method === 'POST') return reply.send(201, aRun());
      reply.send(200, ++polls > 10 ? aFinishedRun() : aRun({ status: `${polls}${'x'.repeat(4_000_000)}` }));
    });
    const { stderr, exitCode } = await runCli(['run', 'w'], { env: { WFR_BASE_URL: baseUrl } });
    expect(exitCode).toBe(0);
    expect(stderr.match(/the status \d+x{1900,}… /g)).toHaveLength(10);
    expect(stderr.length).toBeLessThan(100_000);
  });

  test.each(['x'.repeat(8_000), 'x'.repeat(1_000_000)])(
    'run: an id of more than 8 kB is unusable, and exits 6 after one POST',
    async (id) => {
      const { baseUrl, posts, requests } = await scriptedService(async (request, reply) => {
        await request.body();
        reply.send(201, aRun({ id }));
      });
      const { exitCode, stderr } = await runCli(['run', 'w'], { env: { WFR_BASE_URL: baseUrl } });
      expect({ exitCode, posts: posts().length, requests: requests.length }).toEqual({
        exitCode: 6,
        posts: 1,
        requests: 1,
      });
      expect(stderr.length).toBeLessThan(5_000);
    },
  );

  test('run: escapes and characters beyond U+FFFF are never cut in half', async () => {
    for (const character of ['\u{1f600}', '"', '\\', 'é', '\u0001']) {
      const step = `${'a'.repeat(3_999)}${character.repeat(100)}`;
      const run = aRun({ status: 'FAILED', error: { message: 'm', step } });
      const { baseUrl } = await scriptedService(inTurn((_request, reply) => reply.send(200, run)));
      const { exitCode, stderr } = await runCli(['watch', 'run-1'], { env: { WFR_BASE_URL: baseUrl } });
      expect({ exitCode, broken: stderr.includes('\ufffd') }).toEqual({ exitCode: 1, broken: false });
    }
  });

  test.each(['1e400', '9'.repeat(400)])(
    'run: a Retry-After of %s is a wait that is too long, with a finite number (fault 25)',
    async (value) => {
      const { baseUrl, posts } = await scriptedService((_request, reply) =>
        reply.send(429, {}, { 'retry-after': value }),
      );
      const { exitCode, stderr } = await runCli(['run', 'w'], { env: { WFR_BASE_URL: baseUrl } });
      expect({ exitCode, posts: posts().length }).toEqual({ exitCode: 7, posts: 1 });
      expect(stderr).toContain('The service asks to wait 365d; wfr waits 5m at most.');
    },
  );

  test('run: a body in packets of one byte is read on a heap of 12 MB', async () => {
    // With a part of them, the heap has room even if each is kept as it arrives.
    const run = JSON.stringify(aFinishedRun('x'.repeat(effort(400_000))));
    const { baseUrl } = await scriptedService(async (request, reply) => {
      await request.body();
      reply.socket.setNoDelay(true);
      reply.raw(`HTTP/1.1 201 Created\r\ncontent-length: ${run.length}\r\n\r\n`);
      for (const byte of run) {
        reply.raw(byte);
        await new Promise(setImmediate);
      }
    });
    const { exitCode, stderr } = await withSmallHeap(['run', 'w', '-o', 'id'], baseUrl);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  });
});
