/** `wfr sandbox -- command`, in the test's process: what the command is given, and which signals it gets. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type CliOptions, runCli, Signals } from '../../helpers/cli.js';
import { folderWith } from '../../helpers/files.js';

/** Runs `wfr sandbox -- <command>`; the command ends by the first signal it gets, or when `ended` resolves. */
async function start(
  command: readonly string[],
  options: CliOptions,
  ended: () => Promise<void>,
  flags: readonly string[] = [],
) {
  const received: string[] = [];
  let settings: Record<string, string> = {};
  const { exitCode, stderr } = await runCli(['sandbox', ...flags, '--', ...command], {
    ...options,
    spawn: async (_program, _args, env) => {
      settings = env;
      return {
        exited: ended().then(() => 0),
        kill: (signal) => void received.push(signal),
      };
    },
  });
  return { exitCode, received, settings, stderr };
}

const PASSED = 'is passed to the command';
const KEPT = 'is not passed to the command';

describe('sandbox -- command, in process', () => {
  test.each([
    [['wfr', 'run', 'w'], true],
    [['/usr/local/bin/wfr', 'run', 'w'], true],
    [['WFR.CMD', 'run', 'w'], true],
    [['wfr.exe', 'run', 'w'], true],
    [['node', 'bin/wfr.js', 'run', 'w'], true],
    [['bash', '-c', 'wfr run w'], false],
    [['./run-wfr', 'w'], false],
    [['node', 'wfr.json'], false],
    [['node'], false],
  ])(
    'sandbox: the command %j is told that it is wfr itself and nothing follows it: %s',
    async (command, isTold) => {
      const { settings } = await start(command, {}, () => Promise.resolve());
      expect('WFR_SANDBOX' in settings).toBe(isTold);
    },
  );

  test.each<[command: string[], terminal: number | undefined, isTold: boolean]>([
    [['bash'], 80, true],
    [['/bin/zsh'], 80, true],
    [['bash', '--norc', '-i'], 80, true],
    [['bash'], undefined, false],
    [['bash', 'script'], 80, false],
    [['bash', '-ec', 'wfr --version'], 80, false],
    [['./pipeline.py'], 80, false],
  ])('sandbox: %j with %s columns says what to do in it: %s', async (command, terminal, isTold) => {
    const cwd = folderWith({ 'examples/invoice.pdf': '%PDF' });
    const options = { cwd, ...(terminal !== undefined && { terminal }) };
    const { stderr } = await start(command, options, () => Promise.resolve());
    const marked = stderr.replaceAll('\u001b[1m', 'BOLD').replaceAll('\u001b[22m', 'END');
    const [first, ...examples] = marked.split('\n');
    expect(/^Sandbox at BOLDhttp:.*END until this shell exits\. To try it:$/.test(first ?? '')).toBe(isTold);
    if (isTold)
      expect(examples.filter((line) => line !== '')).toEqual([
        'greeting v1 (500ms)',
        expect.stringMatching(/^ {2}BOLDwfr run \S+ name=textEND$/),
        'invoice v3 (3.6s)',
        expect.stringMatching(/^ {2}BOLDwfr run \S+ invoice@examples\/invoice\.pdf customer=textEND$/),
        'All workflows: BOLDwfr sandbox --listEND',
        'The sandbox has ended, and so have its runs.',
      ]);
  });

  test('sandbox: the first workflows of --list are those to try, and none of them always fails', async () => {
    const { stdout } = await runCli(['sandbox', '--list']);
    const { stderr } = await start(['bash'], { terminal: 80 }, () => Promise.resolve());
    const [, examples = ''] = /\n\n([\s\S]*)\nAll workflows: /.exec(stripVTControlCharacters(stderr)) ?? [];
    expect(stdout.startsWith(examples)).toBe(true);
    expect(examples).toMatch(/^greeting v1 .*\n.*\n\ninvoice v3 .*\n.* invoice@your\.pdf .*\n$/);
  });

  test.each([
    [['--drop-answer', '--slow', '0.1'], 'runs take 0.1 times as long; responses to triggers are dropped'],
    [['--reject', '422'], 'triggers are rejected with 422'],
    [
      ['--drop-answer', '--fail-step', 'Check totals'],
      'runs fail at step Check totals; responses to triggers are dropped',
    ],
  ])('sandbox: with %j, the first line in a shell says what is forced', async (flags, forced) => {
    const { stderr } = await start(['bash'], { terminal: 120 }, () => Promise.resolve(), flags);
    expect(stderr.split('\n').slice(0, 2)).toEqual([
      `Forced: ${forced}.`,
      expect.stringMatching(/To try it:$/),
    ]);
  });

  test.each<[signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', where: string, outcome: string, options: CliOptions]>([
    ['SIGTERM', 'without a terminal', PASSED, {}],
    ['SIGHUP', 'without a terminal', PASSED, {}],
    ['SIGINT', 'without a terminal', PASSED, {}],
    ['SIGTERM', 'on a terminal', PASSED, { terminal: 80 }],
    ['SIGHUP', 'on a terminal', PASSED, { terminal: 80 }],
    ['SIGINT', 'with stderr on a terminal, which sends it too,', KEPT, { terminal: 80 }],
    ['SIGINT', 'with stdout on a terminal, which sends it too,', KEPT, { stdoutTerminal: 80 }],
  ])('sandbox: %s %s %s', async (signal, _where, outcome, options) => {
    const signals = new Signals();
    const { received, exitCode } = await start(['bash'], { ...options, signals }, async () => {
      // The command has been returned by then.
      await new Promise((resolve) => setImmediate(resolve));
      signals.raise(signal);
      await new Promise((resolve) => setImmediate(resolve));
    });
    expect({ received, exitCode }).toEqual({ received: outcome === PASSED ? [signal] : [], exitCode: 0 });
  });
});
