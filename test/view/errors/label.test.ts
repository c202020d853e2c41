/** The words that begin errors and warnings, and their colors. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { runCli, Signals, temporaryFolder } from '../../helpers/cli.js';
import { CLOSED_URL } from '../../helpers/closed-port.js';
import { aRun, scriptedService, showRun } from '../../helpers/service.js';
import { LACKS } from '../../helpers/system.js';

const TERMINAL = { terminal: 80, env: { TERM: 'xterm' } };
const RED_ERROR = '\u001b[31merror:\u001b[39m';

describe('the label of a message', () => {
  test('a usage error begins with "wfr: error:", whose second word is red on a terminal and nowhere else', async () => {
    const args = ['history', '--limit', 'all'];
    const plain = await runCli(args);
    const colored = await runCli(args, TERMINAL);
    expect(plain.stderr).toMatch(/^wfr: error: --limit all: expected a whole number/);
    expect(colored.stderr).toContain(`wfr: ${RED_ERROR} --limit all`);
    expect(stripVTControlCharacters(colored.stderr).replace(/\s+/g, ' ')).toBe(
      plain.stderr.replace(/\s+/g, ' '),
    );
  });

  test.each([
    [['--color', 'never'], {}, false],
    [['--color=never'], { FORCE_COLOR: '1' }, false],
    [['--color', 'always'], { NO_COLOR: '1' }, true],
    [[], { NO_COLOR: '1' }, false],
    [[], { TERM: 'dumb' }, false],
  ])(
    'a mistake on the command line with the flags %j and the variables %j is red: %s',
    async (flags, env, isRed) => {
      const { stderr } = await runCli(['status', ...flags, '--no-such-flag'], {
        ...TERMINAL,
        env: { ...TERMINAL.env, ...env },
      });
      expect(stderr.includes(RED_ERROR)).toBe(isRed);
    },
  );

  test('a command at the end of a line of advice is bold, unless the service wrote the line', async () => {
    const { stderr } = await runCli(['status', '--no-such-flag'], TERMINAL);
    expect(stderr).toContain('  See: \u001b[1mwfr help status\u001b[22m\n');
    const { baseUrl } = await scriptedService((_request, reply) => reply.send(422, { message: 'x: wfr y' }));
    const rejected = await runCli(['run', 'w', '--base-url', baseUrl], TERMINAL);
    expect(rejected.stderr).toContain('\n| x: wfr y\n');
  });

  test('several mistakes are counted, each on a line of its own, and wrapped with a hanging indent', async () => {
    const { stderr } = await runCli(['history', '--limit', 'all', '--status', 'no-such-status'], {
      terminal: 40,
    });
    expect(stripVTControlCharacters(stderr)).toBe(`wfr: error: 2 problems
  --limit all: expected a whole number
    from 1 to 100000000
  --status no-such-status: choose one of
    PENDING, RUNNING, FINISHED, FAILED,
    UNKNOWN, STOPPED, UNREACHABLE,
    REJECTED, LOST, HELD, INVALID
`);
  });

  test.each([
    ['wfr sandbox -- bash', ['run', 'w']],
    ['wfr help inputs', ['run', 'w', 'x.pdf']],
    ['wfr help config', ['config', 'show', '--profile', 'none']],
  ])('the command %s in a line of advice is on one line at every width', async (command, args) => {
    for (let terminal = 30; terminal <= 140; terminal++) {
      const lines = stripVTControlCharacters((await runCli(args, { terminal })).stderr).split('\n');
      expect({ terminal, lines }).toEqual({
        terminal,
        lines: expect.arrayContaining([expect.stringContaining(command)]),
      });
      // Only a word without a space, such as the path of a file, may be longer.
      expect(lines.filter((line) => line.length > terminal && line.trim().includes(' '))).toEqual([]);
    }
  });

  test('a word that fills the window is indented less, so that the terminal does not break it', async () => {
    const limit = '9'.repeat(38);
    const { stderr } = await runCli(['history', '--limit', limit], { terminal: 40 });
    expect(stripVTControlCharacters(stderr).split('\n').slice(0, 3)).toEqual([
      'wfr: error: --limit',
      ` ${limit}:`,
      '    expected a whole number from 1 to',
    ]);
  });

  test('an id that ends with a number is not kept with what is after it, as a count is', async () => {
    const id = '11111111-2222-3333-4444-555555555555';
    const service = await scriptedService((_request, reply) =>
      reply.send(404, { message: `run ${id} is closed` }),
    );
    const env = { WFR_BASE_URL: service.baseUrl };
    const { stderr } = await runCli(['status', id], { terminal: 40, env });
    const lines = stripVTControlCharacters(stderr).split('\n');
    const alone = expect.stringMatching(/^\W*[-\d]+$/);
    expect(lines.filter((line) => line.includes(id))).toEqual([alone, alone]);
  });

  test('an error of the service begins with a red "error:" and a warning with a yellow "warning:" on a terminal', async () => {
    const { baseUrl } = await scriptedService((_request, reply) => reply.send(404));
    const env = { ...TERMINAL.env, WFR_BASE_URL: baseUrl };
    const { stderr } = await runCli(['status', 'run-1'], { ...TERMINAL, env });
    expect(stderr).toContain(`wfr: ${RED_ERROR} the service has no run run-1 (404)`);
    const paused = await scriptedService(showRun({ status: 'PAUSED' }));
    const warned = await runCli(['status', 'run-1'], {
      ...TERMINAL,
      env: { ...env, WFR_BASE_URL: paused.baseUrl },
    });
    expect(warned.stderr).toContain('wfr: \u001b[33mwarning:\u001b[39m the status PAUSED is unknown');
  });

  test.skipIf(LACKS.fileModes)(
    'the warnings of wfr config check and of --dry-run begin with a yellow "warning:" on a terminal',
    async () => {
      const config = join(temporaryFolder(), 'config.json');
      writeFileSync(
        config,
        JSON.stringify({ defaultProfile: 'p', profiles: { p: { baseUrl: CLOSED_URL } } }),
      );
      chmodSync(config, 0o664);
      const env = { ...TERMINAL.env, WFR_CONFIG: config };
      for (const args of [
        ['config', 'check'],
        ['run', 'w', 'a=1', '--dry-run'],
      ]) {
        const { stderr } = await runCli(args, { ...TERMINAL, env });
        expect(stderr).toContain('wfr: \u001b[33mwarning:\u001b[39m');
      }
    },
  );

  test('a command that the user cancels is no error', async () => {
    const { baseUrl } = await scriptedService((_request, reply) => reply.send(200, aRun()));
    const signals = new Signals();
    const stdin = new Readable({ read: () => void setImmediate(() => signals.raise('SIGINT')) });
    const { stderr, exitCode } = await runCli(['run', 'w', 'a@=-'], {
      env: { WFR_BASE_URL: baseUrl },
      stdin,
      signals,
    });
    expect({ stderr, exitCode }).toEqual({ stderr: 'wfr: cancelled; no run was created\n', exitCode: 130 });
  });
});
