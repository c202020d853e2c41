/** The colors of JSON on stdout. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { runCli } from '../helpers/cli.js';
import { scriptedService } from '../helpers/service.js';

const OUTPUT =
  '{"text":"a\\u001b[31m","n":-1.50e3,"big":9007199254740993,"yes":true,"no":false,"none":null,"list":[1,[],{}],"text":"é"}';
const RUN = `{"id":"run-1","status":"FINISHED","steps":1,"stepsCompleted":1,"output":${OUTPUT}}`;

const COMMANDS = [
  ['watch', 'run-1'],
  ['watch', 'run-1', '--json'],
  ['watch', 'run-1', '-o', 'jsonl'],
  ['status', 'run-1', '--json'],
  ['run', 'w', 'a=1'],
  ['run', 'w', 'a=1', '--dry-run'],
];

async function startService() {
  const { baseUrl } = await scriptedService(async (request, reply) => {
    await request.body();
    reply.send(200, RUN);
  });
  return { TERM: 'xterm', WFR_BASE_URL: baseUrl };
}

describe('JSON on stdout', () => {
  test.each(COMMANDS)(
    'wfr %s %s %s %s: the JSON is colored on a terminal, and its bytes are otherwise the same',
    async (...args) => {
      const words = args.filter((word) => word !== undefined);
      const env = await startService();
      const plain = await runCli(words, { env });
      const colored = await runCli(words, { env, stdoutTerminal: 80 });
      expect(plain.stdout).not.toContain('\u001b');
      expect(colored.stdout).toContain('\u001b[1m{\u001b[0m');
      expect(stripVTControlCharacters(colored.stdout)).toBe(plain.stdout);
    },
  );

  test('names are blue, strings green and null gray, as in jq; numbers and booleans have no color', async () => {
    const { stdout } = await runCli(['watch', 'run-1'], { env: await startService(), stdoutTerminal: 80 });
    const lines = stdout.split('\n');
    const bold = (text: string) => `\u001b[1m${text}\u001b[0m`;
    const member = (name: string, value: string) =>
      `  \u001b[1;34m"${name}"\u001b[0m${bold(':')} ${value}${bold(',')}`;
    expect(lines.slice(0, 7)).toEqual([
      bold('{'),
      member('text', '\u001b[32m"a\\u001b[31m"\u001b[0m'),
      member('n', '-1.50e3'),
      member('big', '9007199254740993'),
      member('yes', 'true'),
      member('no', 'false'),
      member('none', '\u001b[90mnull\u001b[0m'),
    ]);
  });

  test.each([
    [{}, {}, [], false],
    [{}, { FORCE_COLOR: '1' }, [], false],
    [{}, {}, ['--color', 'always'], true],
    [{ stdoutTerminal: 80 }, { NO_COLOR: '1' }, [], false],
    [{ stdoutTerminal: 80 }, { TERM: 'dumb' }, [], false],
    [{ stdoutTerminal: 80 }, {}, ['--color', 'never'], false],
    [{ terminal: 80 }, {}, [], false],
  ])(
    'with the streams %j, the variables %j and the flags %j, JSON is colored: %s',
    async (streams, env, flags, isColored) => {
      const { stdout } = await runCli(['watch', '-q', 'run-1', ...flags], {
        ...streams,
        env: { ...(await startService()), ...env },
      });
      expect(stdout.includes('\u001b')).toBe(isColored);
    },
  );
});
