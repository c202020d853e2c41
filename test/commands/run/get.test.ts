/** --get: one value of a run on stdout, for run, watch and status. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCli, temporaryFolder } from '../../helpers/cli.js';
import { VirtualClock } from '../../helpers/clock.js';
import { prepareOnce } from '../../helpers/once.js';
import { bash } from '../../helpers/process.js';
import { scriptedService } from '../../helpers/service.js';
import { LACKS } from '../../helpers/system.js';

const OUTPUT = `{"text":"Zeile 1\\nZeile \\u00fc 2","big":9007199254740993,"price": 1.0,"none":null,"":"empty",
  "a/b":{"~":"slash and tilde"},"twice":1,"twice":{"it":2},"\\u0065scaped":true,"list":["x",{"y":[10,[],"z"]}]}`;

/** Starts a service whose run has this text as its members after the id. */
async function serviceWith(members: string) {
  const run = ` {"id":"run-1",${members}}`;
  const service = await scriptedService(async (request, reply) => {
    await request.body();
    reply.send(200, run);
  });
  const wfr = (args: string[], options = {}) =>
    runCli(args, { env: { WFR_BASE_URL: service.baseUrl }, clock: new VirtualClock(), ...options });
  return { ...service, wfr };
}

const finished = (output = OUTPUT) => serviceWith(`"status":"FINISHED","steps":4,"output":${output}`);

const COMMANDS = [
  ['run', 'w'],
  ['watch', 'run-1'],
  ['status', 'run-1'],
];

/** Returns the error in the last line of stderr. */
const lastError = ({ stderr }: { stderr: string }) =>
  JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '').error;

describe('--get', () => {
  test.each([
    ['/text', 'Zeile 1\nZeile ü 2\n'],
    ['/big', '9007199254740993\n'],
    ['/price', '1.0\n'],
    ['/none', 'null\n'],
    ['/', 'empty\n'],
    ['/a~1b/~0', 'slash and tilde\n'],
    ['/twice/it', '2\n'],
    ['/escaped', 'true\n'],
    ['/list/0', 'x\n'],
    ['/list/1/y/2', 'z\n'],
    ['/list/1', '{\n  "y": [\n    10,\n    [],\n    "z"\n  ]\n}\n'],
  ])('run, watch, status: --get %s prints that value alone, a string as its text', async (pointer, value) => {
    const { wfr } = await finished();
    for (const command of COMMANDS) {
      const { stdout, exitCode } = await wfr([...command, '--get', pointer]);
      expect({ stdout, exitCode }).toEqual({ stdout: value, exitCode: 0 });
    }
  });

  test('run: an empty pointer prints the whole output, and with --json the whole Run', async () => {
    const { wfr } = await finished();
    const output = await wfr(['run', 'w', '--get', '']);
    expect(output.stdout).toBe((await wfr(['run', 'w'])).stdout);
    const run = await wfr(['run', 'w', '--get', '', '--json']);
    expect(run.stdout).toBe((await wfr(['run', 'w', '--json'])).stdout);
  });

  test.each([
    ['/list/1/y/3', '/list/1/y is an array of 3 values'],
    ['/list/-', '/list is an array of 2 values'],
    ['/list/01', '/list is an array of 2 values'],
    ['/list/1/y/1/0', '/list/1/y/1 is an array of 0 values'],
    ['/a~1b/x/y', '/a~1b has the keys ~'],
    ['/big/x', '/big is a number'],
    ['/text/0', '/text is a string'],
    ['/none/x', '/none is null'],
    ['/escaped/x', '/escaped is a boolean'],
    ['/total', 'the output has the keys text, big, price, none, , a/b, twice, escaped, list'],
  ])(
    'run, watch, status: --get %s, which does not exist, exits 65 with "%s" (fault 104)',
    async (pointer, found) => {
      const { wfr } = await finished();
      for (const command of COMMANDS) {
        const { stdout, stderr, exitCode } = await wfr([...command, '--get', pointer]);
        expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 65 });
        expect(stderr).toContain(`wfr: error: the output has no value at ${pointer}\n  ${found}\n`);
      }
    },
  );

  test('run: the keys that --get found instead are sanitized, and 20 at most', async () => {
    const keys = Array.from({ length: 50 }, (_, index) => `"\u001b[31mk${index}${'x'.repeat(9_000)}":1`);
    const { wfr } = await finished(`{${keys.join()}}`.replaceAll('\u001b', '\\u001b'));
    const { stderr, exitCode } = await wfr(['run', 'w', '--get', '/total']);
    expect(exitCode).toBe(65);
    expect(stderr).toContain('\\u001b[31mk0x');
    expect(stderr).toContain('… (30 more)\n');
    expect(stderr).not.toContain('\u001b');
    expect(stderr.length).toBeLessThan(8_000);
  });

  test('run: after --get without a value, stderr has the command that shows the run, and reports have the code', async () => {
    const { wfr } = await finished();
    const cwd = temporaryFolder();
    const { stderr } = await wfr(['run', 'w', '--get', '/total', '--report', 'json=r.json'], { cwd });
    expect(stderr).toContain('Run run-1 has ended.\nTo print its output: wfr watch run-1\n');
    const [run] = JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8')).runs;
    expect(run).toMatchObject({ id: 'run-1', exitCode: 65, outcome: 'no value' });
    expect(run.error).toContain('no value at /total');
  });

  test('run, watch: a run that is not FINISHED keeps its code, whatever --get asks for', async () => {
    const failed = await serviceWith('"status":"FAILED","output":null,"error":{"message":"no credit"}');
    const running = await serviceWith('"status":"RUNNING","output":null');
    for (const command of COMMANDS.slice(0, 2)) {
      const get = (pointer: string, ...args: string[]) => [...command, '--get', pointer, ...args];
      const missing = { stdout: '', exitCode: 1 };
      expect(await failed.wfr(get('/total'))).toMatchObject(missing);
      expect(await failed.wfr(get(''))).toMatchObject(missing);
      expect(await failed.wfr(get('/total', '--json'))).toMatchObject(missing);
      expect(await failed.wfr(get('/error/message', '--json'))).toMatchObject({
        stdout: 'no credit\n',
        exitCode: 1,
      });
      expect(await running.wfr(get('/total', '--timeout', '0'))).toMatchObject({ stdout: '', exitCode: 8 });
      expect(await running.wfr(get('/status', '--timeout', '0', '--json'))).toMatchObject({
        stdout: 'RUNNING\n',
        exitCode: 8,
      });
    }
  });

  test('status: --get exits 0 only if it printed a value; else with the code of --exit-status', async () => {
    const failed = await serviceWith('"status":"FAILED","output":null,"error":{"message":"no credit"}');
    const running = await serviceWith('"status":"RUNNING","output":null');
    const status = ['status', 'run-1', '--get'];
    expect(await running.wfr([...status, '/total'])).toMatchObject({
      stdout: '',
      stderr: 'Run run-1 is RUNNING and has no value at /total.\n',
      exitCode: 8,
    });
    expect(await failed.wfr([...status, '/total', '--json'])).toMatchObject({ stdout: '', exitCode: 1 });
    expect(await running.wfr([...status, '/status', '--json'])).toMatchObject({
      stdout: 'RUNNING\n',
      exitCode: 0,
    });
    expect(await running.wfr([...status, '/status', '--json', '--exit-status'])).toMatchObject({
      stdout: 'RUNNING\n',
      exitCode: 8,
    });
  });

  test.each([
    [['--get', 'total'], '--get "total": is not a JSON Pointer; did you mean /total?\n'],
    [['--get', '.a.b'], '; did you mean /a/b?\n'],
    [['--get', '$.a'], '; did you mean /a?\n'],
    [['--get', '/a~2'], '--get "/a~2": is not a JSON Pointer'],
    [['--get', '/a~'], '--get "/a~": is not a JSON Pointer; write ~1 for / and ~0 for ~\n'],
    [['--get', '#/a'], '--get "#/a": is not a JSON Pointer; did you mean /a?\n'],
    [['--get', '/a', '-o', 'jsonl'], '--get and --output jsonl exclude each other'],
    [['--get', '/a', '-o', 'id'], '--get and --output id exclude each other'],
  ])('run, watch, status: %j exits 2 before anything is sent', async (args, message) => {
    const { wfr, requests } = await finished();
    for (const command of COMMANDS) {
      const { stdout, stderr, exitCode } = await wfr([...command, ...args]);
      expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
      expect(stderr).toContain(message);
    }
    expect(requests).toEqual([]);
  });

  test('run --detach, watch and status of two runs: --get exits 2 before anything is sent', async () => {
    const { wfr, requests } = await finished();
    const detached = await wfr(['run', 'w', '--get', '/a', '--detach', '--json']);
    expect(detached.stderr).toContain('--get cannot be used with --detach; pass it to wfr watch');
    expect(detached.exitCode).toBe(2);
    for (const command of ['watch', 'status']) {
      const { stderr, exitCode } = await wfr([command, 'a', 'b', '--get', '/a']);
      expect(stderr).toContain('--get /a: prints a value of one run; pass one id');
      expect(exitCode).toBe(2);
    }
    expect(requests).toEqual([]);
    expect((await wfr(['watch', 'run-1', 'run-1', '--get', '/big'])).stdout).toBe('9007199254740993\n');
  });

  test('run --once: --get prints a value of the recorded run without a request, also another one', async () => {
    const { once, requests } = await prepareOnce();
    const clock = new VirtualClock();
    expect(await once(['a=1', '--get', '/total'], { clock })).toMatchObject({ stdout: '1\n', exitCode: 0 });
    const before = requests.length;
    expect(await once(['a=1', '--get', '/total'])).toMatchObject({ stdout: '1\n', exitCode: 0 });
    expect(await once(['a=1', '--get', '/id', '--json'])).toMatchObject({ stdout: 'run-1\n', exitCode: 0 });
    expect(await once(['a=1', '--get', '/sum'])).toMatchObject({ stdout: '', exitCode: 65 });
    expect(requests.length).toBe(before);
  });

  test('run, watch: the command that continues prints the same value, unless the run has none', async () => {
    const running = await serviceWith('"status":"RUNNING","output":null');
    const { wfr } = await finished();
    for (const command of COMMANDS.slice(0, 2)) {
      const open = await running.wfr([...command, '--get', '/output/a~1b', '--timeout', '0', '--json']);
      expect(lastError(open)).toMatchObject({
        code: 'still-running',
        resume: "wfr watch --output json --get '/output/a~1b' run-1",
      });
      const without = await wfr([...command, '--get', '/output/total', '--json']);
      expect(lastError(without)).toMatchObject({
        code: 'no-such-value',
        exitCode: 65,
        message: 'the Run has no value at /output/total',
        runId: 'run-1',
        resume: 'wfr watch --output json run-1',
      });
    }
  });

  test('run: --get of a saved document prints the path of its file', async () => {
    const uri = 'data:application/pdf;base64,JVBERi0=';
    const { wfr } = await finished(JSON.stringify({ pages: [{ scan: uri }] }));
    const cwd = temporaryFolder();
    const saved = `${join('out', 'pages-0-scan.pdf')}\n`;
    const args = ['run', 'w', '--save-documents', 'out', '--get'];
    const output = await wfr([...args, '/pages/0/scan'], { cwd });
    expect(output).toMatchObject({ stdout: saved, exitCode: 0 });
    const run = await wfr([...args, '/output/pages/0/scan', '--json', '--force'], { cwd });
    expect(run).toMatchObject({ stdout: saved, exitCode: 0 });
    expect(existsSync(join(cwd, 'out/pages-0-scan.pdf'))).toBe(true);
    expect((await wfr(['run', 'w', '--get', '/pages/0/scan'], { cwd })).stdout).toBe(`${uri}\n`);
  });

  test('run: with --get, a document that cannot be saved is not said to be on stdout', async () => {
    const { wfr } = await finished('{"scan":"data:application/pdf;base64,JVBERi0=","total":1}');
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'out/scan.pdf'), { recursive: true });
    const { stdout, stderr, exitCode } = await wfr(
      ['run', 'w', '--save-documents', 'out', '--get', '/total'],
      { cwd },
    );
    expect({ stdout, exitCode }).toEqual({ stdout: '1\n', exitCode: 74 });
    expect(stderr).toContain('Run run-1 has ended.\nTo print its output: wfr watch ');
  });

  test('run: control characters of a string are escaped, with a warning; other text is unchanged', async () => {
    const text = 'a\tb\r\n\fc \u200f\u00ad✓ 😀 ## [x] ::';
    const plain = await finished(JSON.stringify({ text }));
    expect(await plain.wfr(['run', 'w', '--get', '/text'])).toMatchObject({
      stdout: `${text}\n`,
      stderr: expect.not.stringContaining('warning'),
    });
    const raw = '"\\u001b]0;x\\u0007 \\b \\u0000 \\u009b31m \u007f \u0085 \u009d é \\ud83d\\ude00 \\\\u001b"';
    const hostile = await finished(`{"text":${raw}}`);
    const { stdout, stderr, exitCode } = await hostile.wfr(['run', 'w', '--get', '/text']);
    expect({ stdout, exitCode }).toEqual({
      stdout: '\\u001b]0;x\\u0007 \\u0008 \\u0000 \\u009b31m \\u007f \\u0085 \\u009d é 😀 \\u001b\n',
      exitCode: 0,
    });
    expect(stderr).toContain('wfr: warning: the value has control characters, which are printed as \\uXXXX');
  });

  test('run: every control character but white space is escaped in a string, and nothing beside it', async () => {
    const characters = Array.from({ length: 0xa1 }, (_, code) => String.fromCharCode(code));
    const { wfr } = await finished(JSON.stringify({ text: `${characters.join('|')}|` }));
    const { stdout } = await wfr(['run', 'w', '--get', '/text']);
    const expected = characters.map((character) =>
      /[\u0000-\u0008\u000e-\u001f\u007f-\u009f]/.test(character)
        ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
        : character,
    );
    expect(stdout).toBe(`${expected.join('|')}|\n`);
  });

  test('run: a string of several chunks is printed whole', async () => {
    const text = `${'äöü\n"'.repeat(50_000)}${'x'.repeat(200_000)}`;
    const { wfr } = await finished(JSON.stringify({ text }));
    const { stdout } = await wfr(['run', 'w', '--get', '/text']);
    expect(stdout === `${text}\n`).toBe(true);
  });

  test('run: a FINISHED run without an output has the value null', async () => {
    const { wfr } = await serviceWith('"status":"FINISHED"');
    expect((await wfr(['run', 'w', '--get', ''])).stdout).toBe('null\n');
    const { stderr, exitCode } = await wfr(['run', 'w', '--get', '/a']);
    expect(exitCode).toBe(65);
    expect(stderr).toContain('  the output is null\n');
  });

  test('run: --get does not change what is sent, nor the exit code of an unknown outcome', async () => {
    const service = await scriptedService(async (request, reply) => {
      await request.body();
      reply.reset();
    });
    const { exitCode, stdout } = await runCli(['run', 'w', '--get', '/total'], {
      env: { WFR_BASE_URL: service.baseUrl },
    });
    expect({ exitCode, stdout, posts: service.posts().length }).toEqual({
      exitCode: 6,
      stdout: '',
      posts: 1,
    });
  });

  test.each([
    ['::add-mask::x', true],
    [' \t::stop-commands::x', true],
    ['##vso[task.setvariable]x', true],
    ['a ##[error]x', true],
    ['a\r::error::x', true],
    [`${' '.repeat(70_000)}\n${'x'.repeat(70_000)}\n  ::error::x`, true],
    ['a::b\n#[x]', false],
  ])(
    'run, watch, status: in CI, a value with a command of a runner is exact, and gives one warning (%#)',
    async (line, isCommand) => {
      const { wfr, baseUrl } = await finished(JSON.stringify({ text: `a\n${line}` }));
      for (const command of COMMANDS) {
        const args = [...command, '--get', '/text'];
        for (const [CI, stdoutTerminal] of [
          ['true', undefined],
          ['1', 80],
          ['', undefined],
        ] as const) {
          const { stdout, stderr } = await wfr(args, { env: { WFR_BASE_URL: baseUrl, CI }, stdoutTerminal });
          expect(stdout).toBe(`a\n${line}\n`);
          const warnings = stderr.match(/warning: the output has lines that a CI\s+runner acts on/g) ?? [];
          expect(warnings.length).toBe(isCommand && CI !== '' ? 1 : 0);
        }
      }
    },
  );

  test.skipIf(LACKS.devices)('run: in CI, a value that is written to a file gives no warning', async () => {
    const { baseUrl } = await finished('{"text":"::error::x"}');
    const file = join(temporaryFolder(), 'value');
    const env = { WFR_BASE_URL: baseUrl, CI: 'true', FILE: file };
    const { stderr } = await bash('wfr run w --quiet --get /text > "$FILE"', env);
    expect({ stderr, value: readFileSync(file, 'utf8') }).toEqual({
      stderr: expect.not.stringContaining('warning'),
      value: '::error::x\n',
    });
  });
});
