/** The help on a terminal: it fits the window, and its headings are bold. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { SUBTOPICS, TOPICS } from '../../../src/commands/help/topics.js';
import { runCli } from '../../helpers/cli.js';
import { COMMANDS } from '../../helpers/commands.js';

const PARTS = Object.entries(SUBTOPICS).flatMap(([command, parts]) =>
  Object.keys(parts).map((part) => `${command} ${part}`),
);
const ALL = ['', ...COMMANDS, ...Object.keys(TOPICS), ...PARTS].map((words) =>
  ['help', ...words.split(' ')].filter(Boolean),
);

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

  test.each([40, 60, 72])('in a window of %i columns, no line is wrapped twice', async (width) => {
    for (const args of ALL) {
      const lines = stripVTControlCharacters(await onTerminal(args, width)).split('\n');
      const words = (line = '') => line.trim().split(' ')[0] ?? '';
      // A text ends where the next word would not fit, or with its paragraph.
      const early = lines.filter((line, index) => {
        const next = lines[index + 1] ?? '';
        const isText = /^(?: {4})?[a-z]/.test(next) && /^(?: {4})?\S/.test(line) && !/[:\\]$/.test(line);
        return isText && line.length + 1 + words(next).length <= width;
      });
      expect(early).toEqual([]);
    }
  });

  test('in a window of 40 columns, an example is continued as in a shell', async () => {
    expect(await onTerminal(['sandbox', '-h'], 40)).toContain(
      '  wfr sandbox -- wfr run \\\n    5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e \\\n    invoice@scan.pdf customer=ACME\n',
    );
  });

  test('in a window of 40 columns, the meaning of a command is below it', async () => {
    expect(await onTerminal(['-h'], 40)).toContain(
      '\n  run\n    trigger a run, wait for it to end,\n    print its output\n',
    );
  });

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

  test('headings are bold, and sentences that end with a colon are not', async () => {
    const bold = [...(await onTerminal(['help', 'exit-codes'], 80)).matchAll(/\u001b\[1m(.*?)\u001b\[22m/g)];
    expect(bold.map(([, text]) => text)).toEqual(['Exit codes', 'Example:']);
    const { stderr } = await runCli([], { terminal: 80, env: { TERM: 'xterm' } });
    expect(stderr).toContain('\u001b[1mUsage:\u001b[22m wfr [options] [command]');
    expect(stderr).toContain('\n\u001b[1mCommands:\u001b[22m\n');
  });

  test('wfr --version is not bold', async () => {
    expect(await onTerminal(['--version'], 80)).not.toContain('\u001b');
  });
});
