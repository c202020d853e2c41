/** A hostile service: its text neither controls the terminal nor forges a CI command, and wfr neither crashes nor hangs. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { numberedRows, startBatchService } from '../helpers/batch.js';
import { type CliOptions, runCli, temporaryFolder } from '../helpers/cli.js';
import { VirtualClock } from '../helpers/clock.js';
import { effort } from '../helpers/effort.js';
import { startTimer } from '../helpers/elapsed.js';
import { folderWith } from '../helpers/files.js';
import { aRun, type Handler, scriptedService } from '../helpers/service.js';
import { LACKS } from '../helpers/system.js';

const HOSTILE_TEXT =
  'A\u001b[2J\u001b]0;title\u0007\u009b31m\u0085\u2028\u202e\u2066\u200f\u061c\u007f\r\n::error::forged\n ::set-output name=x::y\n##[error]forged ##[command]x ##vso[task.complete]x ##teamcity[x] a\u00adb\u200bc\u2060d\ufeffe\u{e0001}\u{e0041}\u{e007f}';

/** What joins or varies letters and emoji, and stays in JSON. */
const JOINERS = /\u200c|\u200d|[\ufe00-\ufe0f]|[\u180b-\u180d\u180f]|[\u{e0100}-\u{e01ef}]/u;

/** Asserts that a text has nothing that a terminal or a CI runner would interpret. */
function assertSanitized(text: string): void {
  expect(text).not.toMatch(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u,
  );
  expect(text).not.toMatch(/^\s*::/m);
  expect(text).not.toMatch(/##[A-Za-z]*\[/);
}

async function runAgainst(handler: Handler, args: readonly string[], options: CliOptions = {}) {
  const service = await scriptedService(async (request, reply) => {
    await request.body();
    await handler(request, reply);
  });
  const env = { WFR_BASE_URL: service.baseUrl, ...options.env };
  const result = await runCli(args, { ...options, env, clock: options.clock ?? new VirtualClock() });
  return { ...result, service };
}

const COMMANDS = ['run w', 'run w --json', 'run w -o jsonl', 'run w -o id', 'run w --detach', 'run w -v'];

describe('text with control characters and CI commands', () => {
  test.each(COMMANDS)(
    '%s: control characters in any field of a run are escaped on stdout and stderr (fault 46)',
    async (command) => {
      for (const status of ['FINISHED', 'FAILED', HOSTILE_TEXT]) {
        const run = {
          ...aRun({
            id: `id ${HOSTILE_TEXT}`,
            versionName: HOSTILE_TEXT,
            createdAt: HOSTILE_TEXT,
            status,
            [`key ${HOSTILE_TEXT}`]: HOSTILE_TEXT,
          }),
          error: { message: HOSTILE_TEXT, step: HOSTILE_TEXT },
          output: { [HOSTILE_TEXT]: HOSTILE_TEXT, list: [HOSTILE_TEXT] },
        };
        const args = command.split(' ');
        const { stdout, stderr } = await runAgainst(
          (_request, reply) => reply.send(200, run),
          [...args, '--timeout', '0'],
        );
        assertSanitized(stdout);
        assertSanitized(stderr);
        // The JSON still has the same value.
        if (args.includes('--json')) expect(JSON.parse(stdout)).toEqual(run);
      }
    },
  );

  test('run and status: no character that nothing shows is printed (fault 46)', async () => {
    const invisible = Array.from({ length: 0x110000 }, (_, code) => code)
      .filter((code) => code < 0xd800 || code > 0xdfff)
      .map((code) => String.fromCodePoint(code))
      .filter((character) => /[\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(character))
      // Signs of Arabic, Syriac, Kaithi and Egyptian, which are seen.
      .filter(
        (character) =>
          !/[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}\u{13430}-\u{1343f}]/u.test(
            character,
          ),
      );
    expect(invisible.length).toBeGreaterThan(4_000);
    // Joiners are needed between letters.
    const between = (character: string) =>
      /[\u200c\u200d]/.test(character) ? `- ${character} -` : `a${character}b`;
    for (let from = 0; from < invisible.length; from += 400) {
      const some = invisible.slice(from, from + 400);
      const message = some.map(between).join('');
      const { stderr } = await runAgainst((_request, reply) => reply.send(422, { message }), ['run', 'w']);
      expect(some.filter((character) => stderr.includes(character))).toEqual([]);
      const output = { text: some.filter((character) => !JOINERS.test(character)).join('') };
      const shown = await runAgainst(
        (_request, reply) => reply.send(200, aRun({ output })),
        ['status', 'run-1', '--json'],
      );
      expect(some.filter((character) => shown.stdout.includes(character))).toEqual([]);
      expect(JSON.parse(shown.stdout).output).toEqual(output);
    }
  });

  test('run and status: what scripts and emoji are made of stays as it is', async () => {
    const texts = [
      'می\u200cخواهم',
      'क्\u200dष',
      '👩\u200d💻',
      '❤\ufe0f\u200d🔥',
      '1\ufe0f\u20e3',
      '☎\ufe0e',
      '葛\u{e0100}',
      '👍🏽',
      '\u06dd',
      'ᠠ\u180b',
    ];
    const message = texts.join(' ');
    const rejected = await runAgainst((_request, reply) => reply.send(422, { message }), ['run', 'w']);
    expect(rejected.stderr).toContain(message);
    const seen = aRun({ output: { text: message } });
    const { stdout } = await runAgainst(
      (_request, reply) => reply.send(200, seen),
      ['status', 'run-1', '--json'],
    );
    expect(stdout).toContain(message);
  });

  test('status and watch: control characters in one run and in several are escaped (fault 46)', async () => {
    const handler: Handler = (request, reply) =>
      reply.send(
        200,
        aRun({
          id: decodeURIComponent(request.path.slice('/runs/'.length)),
          status: 'FAILED',
          versionName: HOSTILE_TEXT,
          error: { message: HOSTILE_TEXT, step: HOSTILE_TEXT },
        }),
      );
    for (const args of [
      ['status', HOSTILE_TEXT],
      ['status', 'a', HOSTILE_TEXT],
      ['watch', HOSTILE_TEXT],
      ['watch', 'a', HOSTILE_TEXT],
      ['watch', 'a', HOSTILE_TEXT, '--json'],
      ['watch', HOSTILE_TEXT, 'a', '-o', 'id'],
    ]) {
      const { stdout, stderr } = await runAgainst(handler, args);
      assertSanitized(stdout);
      assertSanitized(stderr);
    }
  });

  test.each([400, 401, 403, 404, 409, 413, 422, 429, 500, 502])(
    'run: control characters in a %i response are escaped (fault 46)',
    async (status) => {
      for (const body of [
        HOSTILE_TEXT,
        { message: HOSTILE_TEXT },
        { error: { message: HOSTILE_TEXT, details: [HOSTILE_TEXT] } },
        `<html><title>${HOSTILE_TEXT}</title>`,
      ]) {
        const { stderr } = await runAgainst(
          (_request, reply) => reply.send(status, body),
          ['run', 'w', '-v'],
        );
        assertSanitized(stderr);
      }
    },
  );

  test('run: control characters in response headers and redirect targets are escaped (fault 46)', async () => {
    for (const headers of [
      { location: `https://evil.example/\u009b31m##[error]` },
      { location: 'http://::error::' },
      { 'content-type': '##[error]' },
      { 'content-encoding': '##[error]x' },
    ] as Record<string, string>[]) {
      for (const status of [200, 307, 303]) {
        const { stderr } = await runAgainst(
          (_request, reply) => reply.send(status, 'no run', headers),
          ['run', 'w', '-v'],
        );
        assertSanitized(stderr);
      }
    }
  });

  test('run: control characters are escaped in the live line of a terminal (fault 46)', async () => {
    const run = aRun({ status: HOSTILE_TEXT, versionName: HOSTILE_TEXT });
    const options = { terminal: 80, env: { TERM: 'xterm', NO_COLOR: '1' } };
    const { stderr } = await runAgainst(
      (_request, reply) => reply.send(200, run),
      ['run', 'w', '--timeout', '0'],
      options,
    );
    // The sequences of the live line itself: cursor, synchronized output, no line wrapping.
    assertSanitized(stderr.replace(/\u001b\[(\?25[lh]|\?2026[hl]|\?7[lh]|1G|K|1A)/g, ''));
  });

  test('run: a field of more than 2,000 characters is cut, with the number of characters left out (fault 46)', async () => {
    const { stderr } = await runAgainst(
      (_request, reply) =>
        reply.send(200, aRun({ status: 'FAILED', error: { message: 'm'.repeat(5000), step: 's' } })),
      ['run', 'w'],
    );
    expect(stderr).toContain(`| ${'m'.repeat(2000)}… (3000 more characters)\n`);
  });

  test.skipIf(LACKS.bash)(
    'run: the suggested watch command can be pasted into a shell, whatever the id is (fault 46)',
    async () => {
      const id = "a'b\\ \\'; ##[x] ##vso[task] $(reboot) `reboot`";
      const { stderr } = await runAgainst(
        (_request, reply) => reply.send(200, aRun({ id })),
        ['run', 'w', '--detach'],
      );
      const command = /To watch it: (.*)\n/.exec(stderr)?.[1] ?? '';
      assertSanitized(command);
      const { bash } = await import('../helpers/process.js');
      const { stdout } = await bash(`wfr() { printf '%s|' "$@"; }; ${command}`);
      expect(stdout).toBe(`watch|${id}|`);
    },
  );
});

test('run: a watch command with an id of control characters is shown as one that cannot be copied (fault 46)', async () => {
  const { stderr } = await runAgainst(
    (_request, reply) => reply.send(200, aRun({ id: `r1${HOSTILE_TEXT}` })),
    ['run', 'w', '--detach'],
  );
  assertSanitized(stderr);
  const [, command = ''] = /To watch it: (.*)\n/.exec(stderr) ?? [];
  expect(command).toContain('wfr watch r1A\\u001b[2J');
  expect(command).toMatch(/ \(this command cannot be copied: it contains control characters\)$/);
  expect(command).not.toContain("$'");
});

test('an internal error: control characters and CI commands in its stack are escaped', async () => {
  const clock = new VirtualClock();
  clock.now = () => {
    throw new Error(HOSTILE_TEXT);
  };
  const { stderr, exitCode } = await runAgainst((_request, reply) => reply.send(200, aRun()), ['run', 'w'], {
    clock,
  });
  expect(exitCode).toBe(70);
  assertSanitized(stderr);
  expect(stderr).toContain('A\\u001b[2J');
  expect(stderr).toMatch(/^wfr: error: internal error: /);
  expect(stderr).toContain('\n  Please report it with the details; remove any secrets first.\nError: ');
  expect(stderr).toMatch(/\n {4}at .*hostile\.test\.ts/);
});

test('history and batch: control characters and CI commands in ids, names and labels are escaped in JSON and the results file', async () => {
  const state = temporaryFolder();
  const id = `id ${HOSTILE_TEXT}`;
  const run = { ...aRun({ id, status: 'FINISHED' }), output: {} };
  const env = { XDG_STATE_HOME: state };
  const cwd = folderWith({ 'rows.jsonl': `${JSON.stringify({ [HOSTILE_TEXT]: HOSTILE_TEXT })}\n` });
  const args = ['batch', 'w', '--rows', 'rows.jsonl', '--results', 'out.jsonl'];
  await runAgainst((_request, reply) => reply.send(200, run), args, { env, cwd });
  await runAgainst((_request, reply) => reply.send(200, run), ['run', 'w'], { env, cwd });
  const refused = (_request: unknown, reply: Parameters<Handler>[1]) => reply.send(400, HOSTILE_TEXT);
  await runAgainst(refused, [...args.slice(0, -1), 'refused.jsonl'], { env, cwd });
  for (const name of ['out.jsonl', 'refused.jsonl']) {
    const text = readFileSync(join(cwd, name), 'utf8');
    assertSanitized(text);
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).event),
    ).toContain('intent');
  }
  for (const format of ['json', 'jsonl', 'text', 'id']) {
    const { stdout } = await runCli(['history', '-o', format], { env });
    assertSanitized(stdout);
    if (format === 'json') expect(JSON.parse(stdout)).toMatchObject([{ id }, { id }]);
  }
});

test('results and batch: mutated results files neither crash wfr nor reach the terminal unescaped', async () => {
  const service = await startBatchService();
  const cwd = folderWith({ 'rows.jsonl': numberedRows(3) });
  await service.wfr(['batch', 'w', '--rows', 'rows.jsonl', '--results', 'good.jsonl'], { cwd });
  const good = readFileSync(join(cwd, 'good.jsonl'), 'utf8');
  const random = seededRandom(4711);
  const values = [
    JSON.stringify(HOSTILE_TEXT),
    '1e15',
    '-1',
    'null',
    '{}',
    '[]',
    '"##vso[x]"',
    '1e400',
    '""',
    '1.5',
  ];
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T;
  for (let n = 0; n < effort(150); n++) {
    const lines = good.trimEnd().split('\n');
    const index = Math.floor(random() * lines.length);
    const line = JSON.parse(lines[index] ?? '{}');
    const name = pick(Object.keys(line));
    const mutated = JSON.stringify({ ...line, [name]: 'VALUE' }).replace('"VALUE"', () => pick(values));
    const { [name]: _removed, ...rest } = line;
    lines[index] = pick([
      mutated,
      mutated,
      mutated,
      JSON.stringify(rest),
      mutated.slice(0, -5),
      HOSTILE_TEXT,
    ]);
    writeFileSync(join(cwd, 'bad.jsonl'), `${lines.join('\n')}\n`);
    const args =
      n % 5 === 0
        ? ['batch', 'w', '--rows', 'rows.jsonl', '--results', 'bad.jsonl']
        : ['results', 'bad.jsonl'];
    const { stdout, stderr, exitCode } = await service.wfr(args, { cwd });
    assertSanitized(stdout + stderr);
    expect({ exitCode, text: lines[index] }).not.toMatchObject({ exitCode: 70 });
  }
});

/** Returns numbers from 0 to 1, the same for each call with one seed (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe('ids that contain paths', () => {
  test.each(['../../admin', '/etc/passwd', 'a/../b', '%2e%2e', '?x=1', '#x', 'a\r\nX-Evil: 1', '\\..\\x'])(
    'run: the id %j stays one segment of the URL path (fault 60)',
    async (id) => {
      const { service, exitCode } = await runAgainst(
        (request, reply) => {
          const shown = aRun({ id, status: request.method === 'POST' ? 'PENDING' : 'FINISHED' });
          reply.send(200, shown);
        },
        ['run', 'w'],
      );
      expect(exitCode).toBe(0);
      expect(service.requests[1]?.path).toBe(`/runs/${encodeURIComponent(id)}`);
      expect(service.requests[1]?.headers['x-evil']).toBeUndefined();
    },
  );
});

describe('JSON that is made to break its parser', () => {
  const finished = (output: string) =>
    `{"id":"r","status":"FINISHED","steps":1,"stepsCompleted":1,"output":${output}}`;

  test.each<[string, string]>([
    ['numbers beyond 2^53', '[9007199254740993,-0,1e400,1E-400,0.10000000000000000001]'],
    [
      "names of JavaScript's own properties",
      '{"__proto__":{"polluted":1},"constructor":null,"toString":0,"hasOwnProperty":[]}',
    ],
    ['duplicate names', '{"a":1,"a":2,"a":{"a":3}}'],
    ['escape sequences', '"\\ud800\\u0000\\"\\\\\\/\\b\\u2028"'],
  ])('run: %s in the output are printed unchanged (fault 45)', async (_name, output) => {
    const { stdout, exitCode } = await runAgainst(
      (_request, reply) => reply.send(200, finished(output)),
      ['run', 'w', '-o', 'jsonl'],
    );
    expect(exitCode).toBe(0);
    expect(stdout).toBe(`${finished(output)}\n`);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test('run: an output of 100,000 nested levels is printed unchanged (fault 45)', async () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const output = open.repeat(100_000) + (open === '[' ? '' : '1') + close.repeat(100_000);
      const line = await runAgainst(
        (_request, reply) => reply.send(200, finished(output)),
        ['run', 'w', '-o', 'jsonl'],
      );
      expect(line.stdout === `${finished(output)}\n`).toBe(true);
      const { stdout, exitCode } = await runAgainst(
        (_request, reply) => reply.send(200, finished(output)),
        ['run', 'w'],
      );
      expect(exitCode).toBe(0);
      expect(stdout.replace(/\s+/g, '') === output).toBe(true);
    }
  });

  test('run: an error body of 100,000 nested levels still exits 5 (fault 45)', async () => {
    const body = `${'{"error":'.repeat(7_000)}1${'}'.repeat(7_000)}`;
    expect((await runAgainst((_request, reply) => reply.send(422, body), ['run', 'w'])).exitCode).toBe(5);
    expect(
      (await runAgainst((_request, reply) => reply.send(422, '['.repeat(100_000)), ['run', 'w'])).exitCode,
    ).toBe(5);
  });

  test('run: bytes that are not UTF-8 are replaced (fault 45)', async () => {
    const { stdout, exitCode } = await runAgainst(
      (_request, reply) => {
        const body = Buffer.concat([
          Buffer.from('{"id":"r","status":"FINISHED","output":"a'),
          Buffer.from([0xff, 0xc2]),
          Buffer.from('b"}'),
        ]);
        reply.raw(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body.toString('latin1')}`);
      },
      ['run', 'w'],
    );
    expect(exitCode).toBe(0);
    expect(stdout).toBe('"a\ufffd\ufffdb"\n');
  });

  test('run: a body of more than 512 MiB without Content-Length exits 74 and keeps the id', async () => {
    const chunk = Buffer.alloc(4 * 1024 * 1024, 0x20);
    const { exitCode, stderr } = await runAgainst(
      (request, reply) => {
        if (request.method === 'POST') return reply.send(200, aRun());
        reply.raw('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n');
        const fill = () => {
          while (!reply.socket.destroyed && reply.socket.write(chunk));
          if (!reply.socket.destroyed) reply.socket.once('drain', fill);
        };
        fill();
      },
      ['run', 'w'],
    );
    expect(exitCode).toBe(74);
    expect(stderr).toContain('is larger than 512 MiB');
    expect(stderr).toContain('wfr watch run-1\n');
  });
});

describe('text that is made to be slow', () => {
  test.each(['a-', 'aaaaaaaa-'])(
    'batch and results: five messages of 60 kB of %j are read in linear time (fault 46)',
    async (part) => {
      const message = `${part.repeat(60_000 / part.length)}!`;
      const service = await startBatchService(async (request, reply) => {
        await request.body();
        reply.send(201, aRun({ status: 'FAILED', error: { message, step: message } }));
      });
      const cwd = folderWith({ 'rows.jsonl': numberedRows(5) });
      const elapsed = startTimer();
      const args = ['batch', 'w', '--rows', 'rows.jsonl', '--results', 'o.jsonl', '--rate', '0'];
      expect((await service.wfr(args, { cwd })).exitCode).toBe(1);
      expect((await runCli(['results', 'o.jsonl'], { cwd })).exitCode).toBe(1);
      expect(elapsed()).toBeLessThan(5_000);
    },
  );
});

describe('numbers and times that are invalid', () => {
  test.each([
    [-1, 3],
    [4, -3],
    [4, 99],
    [0, 0],
    [0, 5],
    [1.5, 0.5],
    [1e308, 1e308],
    ['4', '2'],
    [null, null],
    [[], {}],
  ])(
    'run and status: steps %j with stepsCompleted %j print no NaN, Infinity, undefined or null',
    async (steps, stepsCompleted) => {
      for (const options of [{}, { terminal: 80, env: { TERM: 'xterm' } }]) {
        let polls = 0;
        const handler: Handler = (_request, reply) =>
          reply.send(
            200,
            aRun({
              steps,
              stepsCompleted,
              status: polls++ < 3 ? 'RUNNING' : 'FINISHED',
              createdAt: 'yesterday',
            }),
          );
        const { exitCode, stderr } = await runAgainst(handler, ['run', 'w'], options);
        expect(exitCode).toBe(0);
        expect(stderr).not.toMatch(/NaN|Infinity|undefined|-\d+ of|null/);
      }
      expect(
        (
          await runAgainst(
            (_request, reply) => reply.send(200, aRun({ steps, stepsCompleted, createdAt: 'x' })),
            ['status', 'run-1'],
          )
        ).exitCode,
      ).toBe(0);
    },
  );
});
