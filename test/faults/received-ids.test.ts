/** An id in the response to a trigger is never lost, whatever the format of the response. */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type CliOptions, runCli, Signals, temporaryFolder } from '../helpers/cli.js';
import { AutoAdvancingClock, VirtualClock } from '../helpers/clock.js';
import { aFinishedRun, aRun, type Handler, scriptedService } from '../helpers/service.js';

/** Runs `wfr run -o id` against a service that answers POST with `post`, and GET with `get`. */
async function runAgainst(post: Handler, get: Handler, options: CliOptions = {}) {
  const service = await scriptedService(async (request, reply) => {
    await request.body();
    await (request.method === 'POST' ? post : get)(request, reply);
  });
  const args = ['run', 'w', 'a=1', '--workflow-id-field', 'both', '-o', 'id'];
  const env = { WFR_BASE_URL: service.baseUrl, WFR_TOKEN: 'the-token' };
  const result = await runCli(args, { ...options, env, clock: options.clock ?? new VirtualClock() });
  const gets = service.requests.filter(({ method }) => method === 'GET').map(({ path }) => path);
  return { ...result, posts: service.posts().length, gets, requests: service.requests };
}

const JSON_TYPE = 'content-type: application/json\r\n';

/** Answers with the bytes of these header lines and a body. */
const respondRaw =
  (lines: string, body: Buffer | string, status = 201): Handler =>
  (_request, { socket }) => {
    socket.write(
      Buffer.concat([Buffer.from(`HTTP/1.1 ${status} X\r\n${JSON_TYPE}${lines}\r\n`), Buffer.from(body)]),
    );
  };

/** Answers with a Content-Length, and closes before that many bytes. */
const cutOff =
  (body: string, lines = ''): Handler =>
  (_request, { socket }) =>
    void socket.end(`HTTP/1.1 201 Created\r\n${JSON_TYPE}${lines}content-length: 5000\r\n\r\n${body}`);

const show =
  (changes: Record<string, unknown> = {}): Handler =>
  (_request, reply) =>
    reply.send(200, { ...aFinishedRun(), ...changes });

const notFound: Handler = (_request, reply) => reply.send(404, { message: 'no such run' });

const ACCEPTED = JSON.stringify(aRun());
const contentLength = (body: Buffer | string) => `content-length: ${Buffer.byteLength(body)}\r\n`;

describe('run: a complete Run in the response to the trigger', () => {
  const encoded = (label: string, body: Buffer | string): [string, Handler] => [
    `with Content-Encoding: ${label}`,
    respondRaw(`content-encoding: ${label}\r\n${contentLength(body)}`, body),
  ];
  test.each<[string, Handler]>([
    ...['utf-8', 'UTF-8', 'none', 'binary', 'identity', 'identity, none'].map((label) =>
      encoded(label, ACCEPTED),
    ),
    encoded('gzip', gzipSync(ACCEPTED)),
    encoded('x-gzip', gzipSync(ACCEPTED)),
    encoded('deflate', deflateSync(ACCEPTED)),
    [
      'with Content-Encoding: gzip over plain JSON',
      respondRaw(`content-encoding: gzip\r\n${contentLength(ACCEPTED)}`, ACCEPTED),
    ],
    [
      'with a deflate coding that lacks its wrapper',
      respondRaw(
        'content-encoding: deflate\r\ntransfer-encoding: chunked\r\n',
        chunked(deflateRawSync(ACCEPTED)),
      ),
    ],
    ['with the same Content-Length twice', respondRaw(contentLength(ACCEPTED).repeat(2), ACCEPTED)],
    [
      'with a Content-Length that is a list of the same value',
      respondRaw(`content-length: ${ACCEPTED.length}, ${ACCEPTED.length}\r\n`, ACCEPTED),
    ],
    ...[[100], [102, 103, 100], [101], Array<number>(100).fill(103)].map((statuses): [string, Handler] => [
      `after ${statuses.length} unrequested 1xx, beginning with ${statuses[0]} (fault 113)`,
      afterInterim(statuses, respondRaw(contentLength(ACCEPTED), ACCEPTED)),
    ]),
    [
      'with different Content-Lengths',
      respondRaw(`content-length: 5\r\n${contentLength(ACCEPTED)}`, ACCEPTED),
    ],
    [
      'with a Content-Length that is no number',
      (request, reply) => {
        respondRaw('content-length: abc\r\n', ACCEPTED)(request, reply);
        reply.socket.end();
      },
    ],
    [
      'with white space before the colon of its Content-Length',
      respondRaw(`content-length : ${ACCEPTED.length}\r\n`, ACCEPTED),
    ],
    ['with headers of 17 kB (fault 114)', respondChunked(`x: ${'y'.repeat(17_000)}\r\n`)],
    ['with headers of 120 kB (fault 114)', respondChunked(`x: ${'y'.repeat(120_000)}\r\n`)],
    ['with an invalid header name (fault 114)', respondChunked('x y: z\r\nno colon\r\n')],
    ['with a control character in a header (fault 114)', respondChunked('x: \u0001\r\n')],
    ['with a Content-Length beside chunked (fault 114)', respondChunked('content-length: 5\r\n')],
    ['whose head ends its lines with line feeds alone (fault 114)', respondChunked('', '\n')],
  ])(
    'run: a response %s is accepted after one POST, without a GET that confirms its id',
    async (_name, post) => {
      const { stdout, exitCode, posts, gets, stderr } = await runAgainst(post, show());
      expect({ stdout, exitCode, posts, gets, stderr }).toMatchObject({
        stdout: 'run-1\n',
        exitCode: 0,
        posts: 1,
      });
      expect(gets).toEqual(['/runs/run-1']);
      expect(stderr).toMatch(/^Run run-1 \(version v1\)\n/);
    },
  );

  test('run: polls in gzip, of plain JSON that is said to be in gzip, or with a repeated Content-Length on a kept-alive connection, are read', async () => {
    let polls = 0;
    const text = JSON.stringify(aFinishedRun());
    const { exitCode, gets, stderr } = await runAgainst(
      respondRaw(contentLength(ACCEPTED), ACCEPTED),
      (request, reply) => {
        polls++;
        if (polls <= 2) {
          const body = polls === 1 ? gzipSync(ACCEPTED) : ACCEPTED;
          return respondRaw(`content-encoding: gzip\r\n${contentLength(body)}`, body, 200)(request, reply);
        }
        return respondRaw(
          contentLength(polls === 3 ? ACCEPTED : text).repeat(2),
          polls === 3 ? ACCEPTED : text,
          200,
        )(request, reply);
      },
    );
    expect({ exitCode, polls: gets.length }).toEqual({ exitCode: 0, polls: 4 });
    expect(stderr).not.toContain('retrying');
  });

  test('run: a response head that arrives byte by byte is read', async () => {
    const { exitCode } = await runAgainst(async (_request, { socket }) => {
      for (const byte of `HTTP/1.1 201 Created\r\n${contentLength(ACCEPTED).repeat(2)}\r\n`) {
        socket.write(byte);
        await new Promise((resolve) => setImmediate(resolve));
      }
      socket.write(ACCEPTED);
    }, show());
    expect(exitCode).toBe(0);
  });

  test('status: runs are read whose answers on kept connections follow several 1xx (fault 113)', async () => {
    const service = await scriptedService(({ path }, reply) =>
      afterInterim([100, 102, 100], (_request, { send }) =>
        send(200, { ...aFinishedRun(), id: path.slice(6) }),
      )({ path } as never, reply),
    );
    const ids = Array.from({ length: 20 }, (_, n) => `run-${n}`);
    const { exitCode, stdout } = await runCli(['status', ...ids, '-o', 'id'], {
      env: { WFR_BASE_URL: service.baseUrl },
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${ids.join('\n')}\n` });
    expect({ requests: service.requests.length, connections: service.connections() }).toEqual({
      requests: 20,
      connections: 8,
    });
  });

  test('run: every request sends Accept-Encoding: identity', async () => {
    const { requests } = await runAgainst(respondRaw(contentLength(ACCEPTED), ACCEPTED), show());
    expect(requests.map(({ headers }) => headers['accept-encoding'])).toEqual(['identity', 'identity']);
  });
});

/** Answers with a chunked Run, in a packet after that of a head with these header lines. */
function respondChunked(lines: string, lineEnd = '\r\n'): Handler {
  return async (_request, { socket }) => {
    const head = `HTTP/1.1 201 Created\r\n${lines}transfer-encoding: chunked\r\n\r\n`;
    socket.write(head.replaceAll('\r\n', lineEnd), 'latin1');
    await setTimeout(20);
    socket.write(chunked(Buffer.from(ACCEPTED)));
  };
}

/** Sends 1xx responses, each in a packet of its own, before the answer of `handler`. */
function afterInterim(statuses: readonly number[], handler: Handler): Handler {
  return async (request, reply) => {
    for (const status of statuses) {
      reply.raw(`HTTP/1.1 ${status} X\r\nlink: </style.css>\r\n\r\n`);
      await setTimeout(1);
    }
    await handler(request, reply);
  };
}

function chunked(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
}

/** Responses from which only a candidate for the id can be read, and that candidate. */
const CANDIDATES: [string, Handler, string][] = [
  ['a body that is cut off after the id', cutOff('{"id":"run-1","status":"RUN'), 'run-1'],
  [
    'a body that is reset after the id',
    (_request, reply) => {
      reply.raw(
        'HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n40\r\n{"id":"run-1","status":"RUN',
      );
      void setTimeout(20).then(() => reply.reset());
    },
    'run-1',
  ],
  [
    'an invalid chunk after the id',
    (_request, reply) =>
      reply.raw(
        'HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\ne\r\n{"id":"run-1",\r\nnonsense\r\n',
      ),
    'run-1',
  ],
  [
    'a body in gzip that is cut off after the id',
    (_request, { socket }) => {
      const body = gzipSync(`{"id":"run-1","output":"${randomBytes(2_000).toString('hex')}"}`);
      const head = `HTTP/1.1 201 Created\r\ncontent-encoding: gzip\r\n${contentLength(body)}\r\n`;
      socket.end(Buffer.concat([Buffer.from(head), body.subarray(0, -500)]));
    },
    'run-1',
  ],
  [
    'a Content-Length beside an unknown transfer coding',
    respondRaw(`transfer-encoding: identity\r\n${contentLength(ACCEPTED)}`, ACCEPTED),
    'run-1',
  ],
  [
    'a response of an unknown version of HTTP',
    (_request, reply) => reply.raw(`HTTP/1.2 201 X\r\n${contentLength(ACCEPTED)}\r\n${ACCEPTED}`),
    'run-1',
  ],
  ['an id that is a number', (_request, reply) => reply.send(201, { ...aRun(), id: 7 }), '7'],
  ['an id in "data"', (_request, reply) => reply.send(201, { data: aRun() }), 'run-1'],
  [
    'an id in "run"',
    (_request, reply) => reply.send(201, { workflow: { id: 'other' }, run: aRun() }),
    'run-1',
  ],
  ['an id in "result"', (_request, reply) => reply.send(200, { result: aRun() }), 'run-1'],
  ['a runId', (_request, reply) => reply.send(202, { status: 'ok', runId: 'run-1' }), 'run-1'],
  ['a run_id', (_request, reply) => reply.send(202, { run_id: 'run-1' }), 'run-1'],
  [
    'a Location alone',
    (_request, reply) => reply.send(201, '', { location: 'http://internal:8080/api/runs/run-1?x=y' }),
    'run-1',
  ],
  [
    'a Location beside a web page',
    (_request, reply) => reply.send(201, '<html>', { location: '/runs/run%2D1' }),
    'run-1',
  ],
  [
    'a Location in a response head that is cut off',
    (_request, { socket }) => void socket.end('HTTP/1.1 201 Created\r\nLocation: /runs/run-1\r\nX'),
    'run-1',
  ],
  [
    'an unknown content coding beside a Location',
    respondRaw('content-encoding: br\r\ncontent-length: 3\r\nlocation: /runs/run-1\r\n', 'xyz'),
    'run-1',
  ],
];

describe('run: a candidate for the id of the run', () => {
  test.each(CANDIDATES)(
    'run: %s is used as the id after one POST, once a GET confirms it',
    async (_name, post, id) => {
      const run = { id: id === '7' ? 7 : id };
      const { stdout, stderr, exitCode, posts, gets } = await runAgainst(post, show(run));
      expect({ stdout, exitCode, posts, gets, stderr }).toMatchObject({
        stdout: `${id}\n`,
        exitCode: 0,
        posts: 1,
      });
      expect(gets).toEqual([`/runs/${id}`]);
      expect(stderr).toMatch(new RegExp(`^Run ${id} \\(version v1\\)\n`));
    },
  );

  test.each(CANDIDATES)('run: %s is printed with exit 6 if no GET confirms it', async (_name, post, id) => {
    const { stdout, stderr, exitCode, posts, gets } = await runAgainst(post, notFound);
    expect({ stdout, exitCode, posts }).toEqual({ stdout: '', exitCode: 6, posts: 1 });
    expect(new Set(gets)).toEqual(new Set([`/runs/${id}`]));
    expect(gets.length).toBe(4);
    expect(stderr).toContain(`  the response names the id ${id}, which the service did not confirm\n`);
    expect(stderr).toContain(`  To look for the run: wfr status ${id}\n`);
  });

  test('run: the command that looks for an unconfirmed id is complete, also for an id that begins with a hyphen', async () => {
    const { exitCode, stderr } = await runAgainst(
      (_request, reply) => reply.send(201, { runId: '-5' }),
      notFound,
    );
    expect(exitCode).toBe(6);
    expect(stderr).toContain('  To look for the run: wfr status -- -5\n');
  });

  test('run: a candidate id that replicas do not know yet is requested again (fault 84)', async () => {
    let polls = 0;
    const { exitCode, gets } = await runAgainst(cutOff('{"id":"run-1",'), (request, reply) =>
      (polls++ < 3 ? notFound : show())(request, reply),
    );
    expect({ exitCode, gets: gets.length }).toEqual({ exitCode: 0, gets: 4 });
  });

  test('run: of many ids in a response, the three that are the likeliest are requested', async () => {
    const post = cutOff('{"run_id":"c","data":{"id":"d"},"runId":"b","id":"a",');
    const { exitCode, gets } = await runAgainst(post, show({ id: 'other' }));
    expect({ exitCode, gets }).toEqual({ exitCode: 6, gets: ['/runs/a', '/runs/b', '/runs/c'] });
  });

  test('run: a GET that shows another id does not confirm a candidate; the partial body and the Location are printed', async () => {
    const post = cutOff('{"id":"run-1","status":"RUN', 'location: /v2/runs/run-2?key=secret\r\n');
    const { exitCode, stderr, posts, gets } = await runAgainst(post, show({ id: 'run-9' }));
    expect({ exitCode, posts }).toEqual({ exitCode: 6, posts: 1 });
    expect(gets).toEqual(['/runs/run-1', '/runs/run-2']);
    expect(stderr).toContain('the response names the id run-1,');
    expect(stderr).toContain('the response names the id run-2,');
    expect(stderr).toMatch(/the response points to http:\/\/127\.0\.0\.1:\d+\/v2\/runs\/run-2\n/);
    expect(stderr).toContain('\n| {"id":"run-1","status":"RUN\n');
    expect(stderr).not.toContain('secret');
  });

  test.each([
    ['a number that may be cut off', cutOff('{"id":12')],
    ['a string that is cut off', cutOff('{"id":"run-')],
    ['the id of another object', (_request, reply) => reply.send(201, { workflow: { id: 'run-1' } })],
    ['a number that is no whole one', (_request, reply) => reply.send(201, { runId: 12.5 })],
    ['a number with an exponent', (_request, reply) => reply.send(201, '{"runId":1e3}')],
    ['an id of more than 200 characters', (_request, reply) => reply.send(201, { runId: 'x'.repeat(201) })],
    ['an id with a control character', (_request, reply) => reply.send(201, { runId: 'run-1\n' })],
    ['a Location that ends in ".."', (_request, reply) => reply.send(201, '', { location: '/runs/..' })],
  ] as [string, Handler][])('run: %s is not requested: exits 6 after one POST', async (_name, post) => {
    const { exitCode, posts, gets } = await runAgainst(post, show());
    expect({ exitCode, posts, gets }).toEqual({ exitCode: 6, posts: 1, gets: [] });
  });

  test('run: the text of a response with a candidate id is sanitized', async () => {
    const post = cutOff('{"runId":"a##[error]b","x":"\u001b[2J the-token');
    const { exitCode, stderr } = await runAgainst(post, notFound);
    expect(exitCode).toBe(6);
    expect(stderr).toContain('(the token)');
    expect(stderr).not.toMatch(/\u001b|##\[|the-token/);
  });

  test('run: Ctrl-C while a candidate id is being confirmed waits up to 10 s, prints it and exits 130', async () => {
    const signals = new Signals();
    const clock = new AutoAdvancingClock();
    const get: Handler = () => signals.raise('SIGINT');
    const { exitCode, stderr, posts } = await runAgainst(cutOff('{"id":"run-1",'), get, { signals, clock });
    expect({ exitCode, posts }).toEqual({ exitCode: 130, posts: 1 });
    expect(stderr).toContain('waiting up to 10s for the run id');
    expect(stderr).toContain('the response names the id run-1,');
  });
});

test('batch: a row with a candidate id is accepted once a GET confirms it', async () => {
  const service = await scriptedService(async (request, reply) => {
    await request.body();
    if (request.method === 'POST') reply.send(202, { runId: 'run-1' });
    else reply.send(200, aFinishedRun());
  });
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'rows.csv'), 'a\n1\n');
  const options = { cwd, env: { WFR_BASE_URL: service.baseUrl } };
  const { exitCode } = await runCli(
    ['batch', 'w', '--rows', 'rows.csv', '--results', 'results.jsonl'],
    options,
  );
  expect({ exitCode, posts: service.posts().length }).toEqual({ exitCode: 0, posts: 1 });
  expect(readFileSync(join(cwd, 'results.jsonl'), 'utf8')).toMatch(/"accepted".*"id":"run-1"/);
});

describe('run: a response with a content coding', () => {
  test('run: a gzip response that expands to more than 512 MiB exits 6', async () => {
    // 600 MiB of spaces, in members of 1 MiB each.
    const bomb = Buffer.concat(Array<Buffer>(600).fill(gzipSync(Buffer.alloc(1024 * 1024, 0x20))));
    const post = respondRaw(`content-encoding: gzip\r\n${contentLength(bomb)}`, bomb);
    const { exitCode, stderr, posts } = await runAgainst(post, show());
    expect({ exitCode, posts }).toEqual({ exitCode: 6, posts: 1 });
    expect(stderr).toContain('is larger than 512 MiB');
  });

  test('run: a response in an unsupported content coding exits 6 and names the coding', async () => {
    const post = respondRaw('content-encoding: br\r\ncontent-length: 3\r\n', 'xyz');
    const { exitCode, stderr } = await runAgainst(post, show());
    expect(exitCode).toBe(6);
    expect(stderr).toContain('sent a content encoding that wfr cannot read (br), after the status 201');
  });

  test('run: the message of an error response in gzip is printed', async () => {
    const body = gzipSync('{"message":"amount is missing"}');
    const { exitCode, stderr } = await runAgainst(
      respondRaw(`content-encoding: gzip\r\n${contentLength(body)}`, body, 422),
      show(),
    );
    expect(exitCode).toBe(5);
    expect(stderr).toContain('\n| amount is missing\n');
  });
});

describe('run: ids on stdout', () => {
  const long = `r-${'é'.repeat(3_000)}`;
  const flags = ['-o id', '--detach', '--detach -o id'];

  const start = async (id: string, args: readonly string[]) => {
    const { baseUrl } = await scriptedService(async (request, reply) => {
      await request.body();
      reply.send(200, { ...aFinishedRun(), id });
    });
    const env = { WFR_BASE_URL: baseUrl, XDG_STATE_HOME: temporaryFolder() };
    const started = await runCli(['run', 'w', 'a=1', ...args], { env });
    return { ...started, listed: (await runCli(['history', '-o', 'id'], { env })).stdout };
  };

  test.each(flags)('run %s: an id of 6 kB is printed byte for byte', async (line) => {
    for (const id of [long, 'a b#[/é', '-x']) {
      const { stdout, exitCode, listed } = await start(id, line.split(' '));
      expect({ stdout, exitCode, listed }).toEqual({ stdout: `${id}\n`, exitCode: 0, listed: `${id}\n` });
    }
  });

  test.each(flags)(
    'run %s: an id that a script would misread is not printed, and wfr exits 74',
    async (line) => {
      for (const id of ['a\nb', 'a\u001b[2J', 'a\u2028b', '::error::x', 'a##[error]b']) {
        const { stdout, exitCode, stderr, listed } = await start(id, line.split(' '));
        expect({ stdout, exitCode, listed }).toEqual({ stdout: '', exitCode: 74, listed: '' });
        expect(stderr).toContain('cannot write the run id: it contains control characters\n');
        expect(stderr).toMatch(/^Run a?.*\nTo watch it: wfr watch /);
      }
    },
  );
});
