/** The help of every command and topic, and the messages for mistakes on the command line. */

import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { EXIT_CODE_MEANINGS, ExitCode } from '../../../src/exit-code.js';
import { runCli } from '../../helpers/cli.js';
import * as wfr from '../../helpers/commands.js';
import { writeTestConfig } from '../../helpers/config.js';
import { errorData } from '../../helpers/error-data.js';

const COMMANDS = wfr.COMMANDS.filter((name) => name !== 'help');
const TOPICS = ['inputs', 'exit-codes', 'environment'];

describe('help', () => {
  test.each([
    '--help',
    '-h',
    'help',
    ...COMMANDS.map((name) => `help ${name}`),
    ...TOPICS.map((name) => `help ${name}`),
  ])('help: wfr %s fits into 80 columns and one screen on stdout, and exits 0', async (line) => {
    const args = line.split(' ');
    const { stdout, stderr, exitCode } = await runCli(args);
    expect(exitCode).toBe(0);
    expect(stderr).toBe('');
    const lines = stdout.split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    const isTopic = TOPICS.includes(args.slice(1).join(' '));
    expect(lines.length).toBeLessThan(isTopic ? 50 : 90);
    expect(stdout).toContain('Example');
  });

  test('help: an invalid config file does not prevent the help', async () => {
    const { stdout, stderr, exitCode } = await runCli(['help', 'run'], writeTestConfig('{'));
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    expect(stdout).toMatch(/^Usage: wfr run/);
  });

  test.each(COMMANDS)('help: wfr %s --help prints the same as wfr help for that command', async (command) => {
    expect((await runCli([command, '--help'])).stdout).toBe((await runCli(['help', command])).stdout);
  });

  test.each(COMMANDS)('help: every flag of wfr %s has a description', async (command) => {
    const { stdout } = await runCli(['help', command]);
    const flags = [...stdout.matchAll(/^ {2}(-.*?)(?: {2,}(\S.*))?$(?:\n {10,}(\S.*)$)?/gm)];
    expect(flags.length).toBeGreaterThan(0);
    for (const [, flag, beside, below] of flags)
      expect({ flag, text: beside ?? below ?? '' }).toEqual({
        flag,
        text: expect.stringMatching(/[a-z]{3}/),
      });
  });

  test.each([
    'run',
    'batch',
    'watch',
    'results',
    'config',
    'status',
    'history',
    'config show',
    'config init',
  ])('help: wfr %s -h has at most 40 lines, with at most ten flags and three examples', async (command) => {
    const { stdout, stderr, exitCode } = await runCli([...command.split(' '), '-h']);
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    const lines = stdout.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(40);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    const flags = lines.filter((line) => /^ {2}-/.test(line) && !line.includes('--help'));
    expect(flags.length).toBeLessThanOrEqual(10);
    const examples = lines.slice(lines.findIndex((line) => line.startsWith('Example')) + 1, -2);
    expect(examples.length).toBeLessThanOrEqual(3);
    const names = new Set(flags.join().match(/(?<=[ ,])--?[a-z][\w-]*/g));
    for (const [flag] of examples.join('\n').matchAll(/(?<=^.*wfr [^|]*)(?<= )--?[a-z][\w-]*/gm))
      if (command !== 'config') expect(names).toContain(flag);
    expect(lines.at(-1)).toBe(`More: wfr ${command} --help`);
    const long = (await runCli([...command.split(' '), '--help'])).stdout;
    for (const flag of flags) expect(long).toContain(/--[\w-]+/.exec(flag)?.[0]);
  });

  test('help: wfr completion -h is the whole help, which has nothing to leave out', async () => {
    const { stdout } = await runCli(['completion', '-h']);
    expect(stdout).toBe((await runCli(['completion', '--help'])).stdout);
  });

  test('help: wfr config show -h offers no flag of a run', async () => {
    const { stdout } = await runCli(['config', 'show', '-h']);
    expect([...stdout.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag]) => flag)).toEqual([
      '--json',
      '--profile',
      '--help',
    ]);
  });

  test.each(COMMANDS)(
    'help: wfr %s --help has each flag in exactly one group, the rare ones last',
    async (command) => {
      const { stdout } = await runCli([command, '--help']);
      const { flags } = JSON.parse((await runCli(['help', command, '--json'])).stdout);
      const [list = ''] = stdout.split(/^Examples?\b.*:$/m);
      const listed = [...list.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag = '']) => flag);
      expect(listed.toSorted()).toEqual(flags.map(({ name }: { name: string }) => name).toSorted());
      const headings = [...list.matchAll(/^([A-Z][\w ()]*):$/gm)].map(([, heading]) => heading);
      expect(new Set(headings).size).toBe(headings.length);
      // Only --help follows, where it is alone.
      const grouped = headings.filter((heading) => heading !== 'Options');
      if (headings.includes('Advanced')) expect(grouped.at(-1)).toBe('Advanced');
    },
  );

  test.each([
    ['run', ['Arguments', 'Options', 'At most once', 'Waiting', 'Output', 'Service', 'Advanced']],
    [
      'batch',
      ['Arguments', 'Rows', 'Results', 'Sending', 'Waiting', 'Output', 'Service', 'Advanced', 'Options'],
    ],
    ['watch', ['Arguments', 'Waiting', 'Output', 'Service', 'Advanced', 'Options']],
    ['status', ['Arguments', 'Options', 'Output', 'Service', 'Advanced']],
    ['results', ['Arguments', 'Output', 'Options']],
  ])('help: the flags of wfr %s are under the headings %j', async (command, headings) => {
    const { stdout } = await runCli(['help', command]);
    expect([...stdout.matchAll(/^([A-Z][a-z ]*?)(?: \(invoice .*\))?:$/gm)].map(([, name]) => name)).toEqual([
      ...headings,
      'Examples',
    ]);
  });

  test('help: wfr without arguments prints the help to stderr and exits 2', async () => {
    const { stdout, stderr, exitCode } = await runCli([]);
    expect(exitCode).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toBe((await runCli(['--help'])).stdout);
  });

  test('help: wfr config without a command prints its help to stderr and exits 2', async () => {
    const { stdout, stderr, exitCode } = await runCli(['config']);
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
    expect(stderr).toBe((await runCli(['config', '--help'])).stdout);
  });

  test('wfr --version: only the version of package.json is printed', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
    for (const flag of ['--version', '-V']) {
      expect(await runCli([flag])).toMatchObject({ stdout: `${version}\n`, stderr: '', exitCode: 0 });
    }
  });

  test('help exit-codes: every exit code has a row', async () => {
    const { stdout } = await runCli(['help', 'exit-codes']);
    const codes = Object.values(ExitCode).filter((code) => typeof code === 'number');
    for (const code of codes) expect(stdout).toMatch(new RegExp(`^ {2}${code} `, 'm'));
    expect(EXIT_CODE_MEANINGS.length).toBe(codes.length + 1);
  });
});

describe('wfr: mistakes on the command line', () => {
  test.each(['-v', '-q', '--color always', '--'])(
    'wfr: the flags %s without a command exit 2, and say how to print the version and the help',
    async (line) => {
      const { stdout, stderr, exitCode } = await runCli(line.split(' '));
      expect({ stdout, stderr: stripVTControlCharacters(stderr), exitCode }).toEqual({
        stdout: '',
        stderr: 'wfr: error: the command is missing\n  See: wfr --help\n',
        exitCode: 2,
      });
    },
  );

  test.each([
    [['run', 'x', '--json=1'], '--json: takes no value', 'wfr help run'],
    [['run', 'x', '--json', '--rows', 'y'], '--rows belongs to wfr batch, wfr results', 'wfr help batch'],
    [
      ['sandbox', '--list', '--json'],
      '--json belongs to wfr run, wfr watch, wfr status, wfr batch, wfr results, wfr history',
      'wfr help run',
    ],
    [['history', '--json', '--timout', '5m'], '--timout: there is no such flag', 'wfr help history'],
  ])('help: %j is an error as data', async (args, message, hint) => {
    const { stderr, exitCode } = await runCli(args);
    expect(exitCode).toBe(2);
    expect(errorData(stderr)).toMatchObject({ code: 'usage', message, hints: [`See: ${hint}`] });
  });

  test.each([
    [['', 'x'], 'error: "": there is no such command; choose one of run,', 'wfr --help'],
    [['rnu', 'x'], 'rnu: there is no such command; did you mean run?', 'wfr --help'],
    [['run', 'x', '--detatch'], '--detatch: there is no such flag; did you mean --detach?', 'wfr help run'],
    [
      ['batch', 'x', '--conc', '5'],
      '--conc: there is no such flag; did you mean --concurrency?',
      'wfr help batch',
    ],
    [
      ['watch'],
      '<run-id> is missing: wfr watch [options] <run-id...>\n  For the last one: wfr watch @last\n',
      'wfr help watch',
    ],
    [
      ['results'],
      '<file> is missing: wfr results [options] <file...>\n  For the last one: wfr results @last\n',
      'wfr help results',
    ],
    [['run', 'x', '--timeout'], '--timeout <duration>: the value is missing', 'wfr help run'],
    [
      ['help', 'foo'],
      'no help on "foo"; choose one of run, status, watch, history, batch, results, sandbox, config, completion, help, inputs, exit-codes, environment',
      '',
    ],
    [['help', 'ruun'], 'no help on "ruun"; did you mean run?\n', ''],
    [['help', 'exit-code'], 'no help on "exit-code"; did you mean exit-codes?\n', ''],
    [['help', 'env'], 'no help on "env"; did you mean environment?\n', ''],
    [['list'], 'list: there is no such command; did you mean history?\n', 'wfr --help'],
    [['ps', '-a'], 'ps: there is no such command; did you mean history?\n', 'wfr --help'],
    [
      ['cancel', 'x'],
      'cancel: there is no such command; choose one of run, status, watch, history, batch, results, sandbox, config, completion, help\n',
      'wfr --help',
    ],
    [['completion', 'foo'], 'foo: choose one of bash, zsh, fish, powershell\n', 'wfr help completion'],
    [['completion', ''], '"": choose one of bash, zsh, fish, powershell\n', 'wfr help completion'],
    [['config', 'shwo'], 'shwo: there is no such command; did you mean show?\n', 'wfr help config'],
    [
      ['config', 'set'],
      'set: there is no such command; choose one of path, show, check, init\n',
      'wfr help config',
    ],
    [['sandbox', '--bogus', '--', 'wfr', 'run', 'x'], '--bogus: there is no such flag', 'wfr help sandbox'],
    [
      ['history', '2fa7f59a'],
      '2fa7f59a: unexpected argument\n  To show a run: wfr status 2fa7f59a; a batch: wfr results 2fa7f59a\n',
      'wfr help history',
    ],
    [['completion', 'zsh', 'x'], 'x: unexpected argument\n  See: ', 'wfr help completion'],
    [
      ['sandbox', '--list', '-v'],
      '-v belongs to wfr run, wfr watch, wfr status, wfr batch, wfr history\n',
      'wfr help run',
    ],
    [['run', 'x', '--nope=secret'], '--nope: there is no such flag\n', 'wfr help run'],
    [
      ['run', 'x', '--invoice', 'scan.pdf'],
      '--invoice: there is no such flag\n  To send an input, write -i invoice=text or -i invoice@file\n',
      'wfr help run',
    ],
    [
      ['batch', 'x', '--customer=ACME'],
      '  To send an input, write -i customer=text or -i customer@file\n',
      'wfr help batch',
    ],
    [
      ['run', 'x', '--timout', '5m'],
      '--timout: there is no such flag; did you mean --timeout?\n  See: ',
      'wfr help run',
    ],
    [['status', 'x', '--invoice', 'a'], '--invoice: there is no such flag\n  See: ', 'wfr help status'],
    [
      ['sandbox', '--workflow', 'a'],
      '--workflow: there is no such flag; did you mean --workflows?\n',
      'wfr help sandbox',
    ],
    [['run', 'x', '--det'], '--det: there is no such flag; did you mean --detach?\n', 'wfr help run'],
    [['history', '$(x)'], '$(x): unexpected argument\n  See: ', 'wfr help history'],
    [['run', 'x', '--results', 'y'], '--results belongs to wfr batch\n  See: ', 'wfr help batch'],
    [
      ['status', 'x', '--timeout=secret'],
      '--timeout belongs to wfr run, wfr watch, wfr batch\n  See: ',
      'wfr help run',
    ],
    [['results', '-d', 'x'], '-d belongs to wfr run\n', 'wfr help run'],
    [['batch', 'x', '--fail-fast=30'], '--fail-fast: takes no value\n', 'wfr help batch'],
    [['run', 'x', '--detach=true'], '--detach: takes no value\n', 'wfr help run'],
    [['run', 'x', '--no-token=secret'], '--no-token: takes no value\n', 'wfr help run'],
    [['--allow-http=1', 'run', 'x'], '--allow-http: takes no value\n', 'wfr --help'],
    [['history', '--timout', '5m'], '--timout: there is no such flag\n', 'wfr help history'],
    [
      ['run', 'x', '-timeout=5m'],
      'error: -timeout: there is no such flag; did you mean --timeout?\n',
      'wfr help run',
    ],
    [['watch', 'x', '-intervl', '5'], '-intervl: there is no such flag; did you mean --interval?\n', ''],
    [['run', 'x', '-verbose'], 'there is no such flag; did you mean --verbose?\n', 'wfr help run'],
    [['run', '-help'], '-help: there is no such flag; did you mean --help?\n', 'wfr help run'],
    [['run', 'x', '-rows', 'y'], '--rows belongs to wfr batch, wfr results\n', 'wfr help batch'],
    [['run', 'x', '-token=secret'], 'error: no flag takes the token: set WFR_TOKEN\n', ''],
    [['--detach', 'run', 'x'], '--detach follows its command: wfr <command> --detach\n', ''],
    [['-o', 'text', 'status', 'x'], '-o follows its command: wfr <command> -o\n', ''],
    [['batch', 'x', '--get', '/a'], '--get belongs to wfr results\n', 'wfr help results'],
    [['batch', 'x', '-o', 'csv'], '-o belongs to wfr results\n', 'wfr help results'],
    [['status', 'x', '-o', 'jsn'], '--output jsn: did you mean json?\n', ''],
    [['status', 'x', '--color', 'alway'], '--color alway: did you mean always?\n', ''],
    [['status', 'x', '--no-wait'], '--no-wait: there is no such flag\n', 'wfr help status'],
    [['status', '--all'], '--all: there is no such flag\n', 'wfr help status'],
    [['status', '--allow'], '--allow: there is no such flag; did you mean --allow-http?\n', ''],
    [['help', 'config', 'edit'], 'no help on "config edit"; did you mean config init?\n', ''],
    [['help', 'watch', 'x'], 'no help on "watch x"', ''],
    [['help', 'inputs', 'x'], 'no help on "inputs x"; did you mean inputs?\n', ''],
    [['run', ''], 'the workflow is empty', ''],
    [['run', 'customer=A', 'amount:=5'], 'customer=A: is an input; the workflow must be before it\n', ''],
    [['batch', 'scan@a.pdf', '--rows', 'x.csv'], 'scan@a.pdf: is an input; the workflow must', ''],
    [
      ['run', 'w', '--inputs-file', 'a', '--inputs-file', 'b'],
      '--inputs-file b: it may be given only once; it is already a',
      'wfr help run',
    ],
    [['run', 'w', '-i', ''], '"": not an input', ''],
    [['watch', 'x', '--timeout', ''], '--timeout "": must be a duration', ''],
    [['status', 'x', '--color', 'blue'], '--color blue: choose one of auto, always, never', ''],
  ])('wfr: the arguments %j exit 2 with the message "%s"', async (args, message, hint) => {
    const { stdout, stderr, exitCode } = await runCli(args);
    expect(exitCode).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(`wfr: error: `);
    expect(stderr).toContain(message);
    expect(stderr).toContain(hint);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});
