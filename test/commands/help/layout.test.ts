/** The help on a terminal: it fits the window, and its headings are bold. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { TOPIC_NAMES } from '../../../src/commands/shared/flags.js';
import { runCli } from '../../helpers/cli.js';
import { COMMANDS } from '../../helpers/commands.js';

const ALL = ['', ...COMMANDS, ...TOPIC_NAMES].map((words) => ['help', ...words.split(' ')].filter(Boolean));

const onTerminal = async (
  args: readonly string[],
  stdoutTerminal: number,
  env: Record<string, string> = {},
) => (await runCli(args, { stdoutTerminal, env: { TERM: 'xterm', ...env } })).stdout;

describe('help on a terminal', () => {
  test.each([60, 72, 92, 100, 120])(
    'in a window of %i columns, the flags of every command fit',
    async (width) => {
      for (const command of COMMANDS) {
        const text = stripVTControlCharacters(await onTerminal(['help', command], width));
        const flags = text.slice(0, text.indexOf('--help')).split('\n');
        expect(flags.length).toBeGreaterThan(3);
        expect(flags.filter((line) => line.length > Math.min(width, 100))).toEqual([]);
      }
    },
  );

  test.each(ALL)(
    'wfr %s %s %s in a window of 40 columns wraps all but examples at words',
    async (...args) => {
      const given = args.filter((word) => word !== undefined);
      const lines = stripVTControlCharacters(await onTerminal(given, 40)).split('\n');
      const long = lines.filter((line) => line.length > 40 && !/^ {2}.*\bwfr |^ {4}\S/.test(line));
      expect(long.filter((line) => line.trim().includes(' '))).toEqual([]);
      const { stdout: plain } = await runCli(given);
      const blank = (text: readonly string[]) => text.filter((line) => line === '').length;
      expect(blank(lines)).toBe(blank(plain.split('\n')));
    },
  );

  test.each(ALL)(
    'wfr %s %s %s has the same bytes in a window of 80 columns, apart from bold headings',
    async (...args) => {
      const given = args.filter((word) => word !== undefined);
      const { stdout: plain } = await runCli(given);
      expect(stripVTControlCharacters(await onTerminal(given, 80))).toBe(plain);
      expect(await onTerminal(given, 80)).toContain('\u001b[1m');
      expect(await onTerminal(given, 80, { NO_COLOR: '1' })).toBe(plain);
      expect(await onTerminal(['--color', 'never', ...given], 80)).toBe(plain);
    },
  );

  test('in a window of 40 columns, the meaning of a term is below it, and an example keeps its lines', async () => {
    const inputs = stripVTControlCharacters(await onTerminal(['help', 'inputs'], 40));
    expect(inputs).toContain('\n  name:=json\n      any JSON value, sent unchanged:\n      amount:=12.50\n');
    expect(inputs).toContain(" \\\n    'invoice@-;type=application/pdf' customer=ACME\n");
    const exitCodes = stripVTControlCharacters(await onTerminal(['help', 'exit-codes'], 40));
    expect(exitCodes).toContain('\n  65  the run finished, but its output\n      has no value at');
    const run = stripVTControlCharacters(await onTerminal(['run', '-h'], 40));
    expect(run).toMatch(/^Usage: wfr run \[options\] <workflow>\n {2}\[input\.\.\.\]\n\n/);
  });

  test('in a window of 120 columns, lines have at most 100', async () => {
    const lines = stripVTControlCharacters(await onTerminal(['help', 'exit-codes'], 120)).split('\n');
    expect(lines).toContain(
      '  8              still PENDING or RUNNING when wfr stopped waiting (--timeout, status --exit-status)',
    );
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  test('flags, commands and other terms are bold, without the value of a flag', async () => {
    const bold = async (width: number, ...args: string[]) =>
      [...(await onTerminal(args, width)).matchAll(/\u001b\[1m {2}(.*?)\u001b\[22m/g)].map(
        ([, text]) => text,
      );
    for (const width of [80, 40]) {
      expect((await bold(width, 'run', '-h')).slice(0, 5)).toEqual([
        'workflow',
        'input',
        '--inputs-file',
        '-d, --detach',
        '--dry-run',
      ]);
      expect(await bold(width, 'config', '-h')).toEqual(['-h, --help', 'path', 'show', 'check', 'init']);
      expect(await bold(width, 'help', 'exit-codes')).toEqual([
        '0',
        '1',
        '2',
        '3',
        '4',
        '5',
        '6',
        '7',
        '8',
        '65',
        '70',
        '74',
        '129, 130, 143',
      ]);
      expect(await bold(width, 'completion', '-h')).toEqual(['shell', '-h, --help']);
    }
  });

  test('headings are bold, and sentences that end with a colon are not', async () => {
    const bold = [...(await onTerminal(['help', 'exit-codes'], 80)).matchAll(/\u001b\[1m(.*?)\u001b\[22m/g)];
    const headings = bold.flatMap(([, text = '']) => (text.startsWith(' ') ? [] : [text]));
    expect(headings).toEqual(['Exit codes', 'Example:']);
    const { stderr } = await runCli([], { terminal: 80, env: { TERM: 'xterm' } });
    expect(stderr).toContain('\u001b[1mUsage:\u001b[22m wfr [options] [command]');
    expect(stderr).toContain('\n\u001b[1mRuns:\u001b[22m\n');
    expect(await onTerminal(['batch', '-h'], 80)).toContain(
      '\n\u001b[1mExamples (invoice is a configured name):\u001b[22m\n',
    );
  });

  test('wfr --version is not bold', async () => {
    expect(await onTerminal(['--version'], 80)).not.toContain('\u001b');
  });
});
