/** The help on a terminal: it fits the window, and its headings are bold. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { SUBTOPICS } from '../../../src/commands/help/subtopics.js';
import { TOPICS } from '../../../src/commands/help/topics.js';
import { runCli } from '../../helpers/cli.js';

const COMMANDS = [
  'run',
  'status',
  'watch',
  'batch',
  'results',
  'history',
  'sandbox',
  'config',
  'completion',
  'help',
];
const PARTS = Object.entries(SUBTOPICS).flatMap(([command, parts]) =>
  Object.keys(parts).map((part) => `${command} ${part}`),
);
const ALL = ['', ...COMMANDS, ...Object.keys(TOPICS), ...PARTS, 'config show'].map((words) =>
  ['help', ...words.split(' ')].filter(Boolean),
);

const onTerminal = async (
  args: readonly string[],
  stdoutTerminal: number,
  env: Record<string, string> = {},
) => (await runCli(args, { stdoutTerminal, env: { TERM: 'xterm', ...env } })).stdout;

/** Returns the words of a text in order, without what lays it out: an id may have a comment or a line end beside it. */
const words = (text: string) =>
  stripVTControlCharacters(text)
    .split(/\s+/)
    .filter((word) => word !== '' && word !== '\\')
    .sort();

/** An indented line of JSON or of a quoted word, or a line with a word that is too long for the window. */
const isUnbreakable = (line: string, width: number) =>
  /^( +["']| *[{}[\]])/.test(line) || line.split(' ').some((word) => word.length > width - 4);

describe('help on a terminal', () => {
  test.each(ALL)(
    'wfr %s %s %s fits windows of 40 to 100 columns, and says the same in all of them',
    async (...args) => {
      const given = args.filter((word) => word !== undefined);
      const { stdout: plain } = await runCli(given);
      for (const width of [40, 52, 64, 72, 80, 92, 100, 120]) {
        const text = await onTerminal(given, width);
        const lines = stripVTControlCharacters(text).split('\n');
        const tooLong = lines.filter(
          (line) => line.length > Math.min(width, 100) && !isUnbreakable(line, width),
        );
        expect({ width, tooLong }).toEqual({ width, tooLong: [] });
        expect(words(text)).toEqual(words(plain));
      }
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

  test('headings are bold, and sentences that end with a colon are not', async () => {
    const bold = [...(await onTerminal(['help', 'scripting'], 80)).matchAll(/\u001b\[1m(.*?)\u001b\[22m/g)];
    expect(bold.map(([, text]) => text)).toEqual(['Scripting', 'Example:']);
    const { stderr } = await runCli([], { terminal: 80, env: { TERM: 'xterm' } });
    expect(stderr).toContain('\u001b[1mUsage:\u001b[22m wfr [options] [command]');
    expect(stderr).toContain('\n\u001b[1mCommands:\u001b[22m\n');
  });

  test('in 40 columns, a flag is above its description, and a command is continued with backslashes', async () => {
    const text = await onTerminal(['help', 'sandbox'], 40, { NO_COLOR: '1' });
    expect(text).toContain('  --strict\n      reject triggers with unknown\n      fields\n');
    expect(text).toContain(
      '  wfr sandbox -- wfr run \\\n  5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e \\\n  invoice@scan.pdf customer=ACME\n',
    );
  });

  test.each([['run'], ['once'], ['sandbox']])(
    'wfr help %s continues a command on the next line only where the next word does not fit',
    async (topic) => {
      for (let width = 40; width <= 80; width++) {
        const lines = (await onTerminal(['help', topic], width, { NO_COLOR: '1' })).split('\n');
        for (const [index, line] of lines.entries()) {
          const next = lines[index + 1] ?? '';
          if (!line.endsWith(' \\')) continue;
          const [word = ''] = next.trim().match(/^('[^']*'|"[^"]*"|[^\s'"])+/) ?? [];
          // All lines have room for the indentation of those that continue the first.
          const isFirst = lines[index - 1]?.endsWith(' \\') !== true;
          const indentation = isFirst ? next.search(/\S/) - line.search(/\S/) : 0;
          const joined = `${line.slice(0, -1)}${word} \\`;
          expect({ joined, isTooLong: joined.length + indentation > width }).toEqual({
            joined,
            isTooLong: true,
          });
        }
      }
    },
  );

  test('in 40 columns, the cells of a table are below its first, each from the start of a line', async () => {
    const text = await onTerminal(['help', 'inputs'], 40, { NO_COLOR: '1' });
    expect(text).toContain('  name:=json\n      any JSON value, sent unchanged\n      amount:=12.50\n');
  });

  test('wfr --version is not bold', async () => {
    expect(await onTerminal(['--version'], 80)).not.toContain('\u001b');
  });
});
