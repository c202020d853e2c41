/** `wfr help --json`: the whole surface of wfr, as its help and its tables have it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CommandReference, FlagReference, Reference } from '../../../src/commands/help/reference.js';
import { OUTPUT_FORMATS } from '../../../src/commands/shared/output-flags.js';
import { SETTINGS } from '../../../src/config/settings-table.js';
import { ExitCode, SIGNAL_EXIT_CODES } from '../../../src/exit-code.js';
import { WORKFLOW_ID_FIELD_CHOICES } from '../../../src/service/workflow-id-field.js';
import { COLOR_CHOICES } from '../../../src/view/presentation.js';
import { runCli } from '../../helpers/cli.js';
import { errorData } from '../../helpers/error-data.js';
import { ROOT } from '../../helpers/process.js';

const readReference = async (): Promise<Reference> => JSON.parse((await runCli(['help', '--json'])).stdout);

/** Returns a command of the reference, and its flags by name. */
async function readCommand(name: string) {
  const { commands } = await readReference();
  const command = commands.find((candidate) => candidate.name === name) as CommandReference;
  const flags: Record<string, FlagReference> = Object.fromEntries(
    command.flags.map((flag) => [flag.name, flag]),
  );
  return { command, flags };
}

describe('help --json', () => {
  test('help --json: every command has the arguments and flags of its help, and no others', async () => {
    const { commands } = await readReference();
    const { stdout } = await runCli(['--help']);
    expect(commands.map(({ name }) => name).filter((name) => !name.includes(' '))).toEqual(
      Array.from(stdout.matchAll(/^ {2}([a-z]+) {2,}/gm), ([, name]) => name),
    );
    for (const { name, flags, arguments: operands, description } of commands) {
      const help = (await runCli(['help', ...name.split(' ')])).stdout;
      const column = Array.from(help.matchAll(/^ {2}(?:-\w, )?(--[a-z0-9-]+)/gm), ([, flag]) => flag);
      expect([...flags.map((flag) => flag.name)].sort()).toEqual(column.sort());
      for (const operand of operands) expect(help).toMatch(new RegExp(`^ {2}${operand.name} {2,}`, 'm'));
      expect(help.replace(/\s+/g, ' ')).toContain(description);
    }
  });

  test('help --json: the type of a value follows from its placeholder', async () => {
    const { commands } = await readReference();
    const typed = commands.flatMap(({ name: command, arguments: operands, flags }) =>
      flags.map(({ name, type }) => ({
        command,
        operands: operands.flatMap(({ required }) => (required ? ['w'] : [])),
        name,
        type,
      })),
    );
    const namesOf = (wanted: string) =>
      [...new Set(typed.filter(({ type }) => type === wanted).map(({ name }) => name))].sort();
    expect(namesOf('path')).toEqual(
      [
        '--cacert',
        '--files-under',
        '--header-file',
        '--inputs-file',
        '--once',
        '--results',
        '--rows',
        '--save-documents',
        '--save-outputs',
      ].concat(['--token-file', '--workflows']),
    );
    expect(namesOf('URL')).toEqual(['--base-url']);
    expect(namesOf('JSON Pointer')).toEqual(['--get']);
    expect(namesOf('duration')).toEqual(['--interval', '--max-interval', '--timeout']);
    const { flags } = await readCommand('history');
    expect(flags['--status']?.type).toBe('string');
    expect((await runCli(['__complete', 'fish', '--', 'sandbox', '--reject', ''])).stdout).toBe('');
    // wfr config show prints values as they are, and init names the settings.
    const numbers = typed.filter(
      ({ command, type }) => !command.startsWith('config ') && (type === 'number' || type === 'duration'),
    );
    expect(numbers.length).toBeGreaterThan(10);
    for (const { command, operands, name } of numbers) {
      const { stderr, exitCode } = await runCli([...command.split(' '), ...operands, name, 'ten']);
      expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringMatching(`${name} .*ten`) });
    }
  });

  test('help --json: defaults and variables are those of the settings', async () => {
    const { flags } = await readCommand('run');
    for (const { flag = '', default: initial, variable } of Object.values(SETTINGS)) {
      if (flag === '') continue;
      if (typeof initial === 'string') expect(flags[flag]?.default).toBe(initial);
      if (variable !== undefined) expect(flags[flag]?.environment).toContain(variable);
    }
  });

  test('help --json: choices are those that the commands accept', async () => {
    const { flags } = await readCommand('run');
    expect(flags['--output']?.choices).toEqual(OUTPUT_FORMATS);
    expect(flags['--color']?.choices).toEqual(COLOR_CHOICES);
    expect(flags['--workflow-id-field']?.choices).toEqual(WORKFLOW_ID_FIELD_CHOICES);
    const { command } = await readCommand('completion');
    expect(command.arguments[0]?.choices).toEqual(['bash', 'zsh', 'fish', 'powershell']);
  });

  test('help --json: flags have types, and say whether they can be repeated', async () => {
    const run = (await readCommand('run')).flags;
    expect(run['--once']).toEqual({
      name: '--once',
      value: 'file',
      type: 'path',
      repeatable: false,
      group: 'At most once',
      description: expect.any(String),
    });
    expect(run['--header']).toMatchObject({ short: '-H', value: 'name: value', repeatable: true });
    expect(run['--timeout']).toMatchObject({ type: 'duration', default: 'no limit' });
    expect(run['--detach']).toMatchObject({ short: '-d', type: 'boolean', repeatable: false });
    const batch = (await readCommand('batch')).flags;
    expect(batch['--concurrency']).toMatchObject({ type: 'number', default: '8' });
    expect(batch['--adopt']).toMatchObject({ value: 'row=id', repeatable: true });
    expect(batch['--resend-unknown']).toMatchObject({ value: 'rows', valueOptional: true });
  });

  test('help --json: everything that has a name is described', async () => {
    const undescribed: string[] = [];
    JSON.stringify(await readReference(), (_key, value) => {
      const { name, description, summary = 'none' } = value ?? {};
      const texts = [description, summary].map(String);
      if (`${name ?? ''}` !== '' && !texts.every((text) => /\w{3}/.test(text))) undescribed.push(name);
      return value;
    });
    expect(undescribed).toEqual([]);
  });

  test('help --json: every exit code and every variable is described', async () => {
    const { exitCodes, environment } = await readReference();
    const codes = Object.values(ExitCode).filter((code) => typeof code === 'number');
    const known = [...codes, ...Object.values(SIGNAL_EXIT_CODES)];
    expect(exitCodes.map(({ code }) => code).sort()).toEqual(known.sort());
    const topic = (await runCli(['help', 'environment'])).stdout;
    for (const { name, value } of environment)
      expect(topic).toContain(value === undefined ? name : `${name}=${value}`);
    const names = environment.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['WFR_CONFIG', 'WFR_HISTORY', 'HTTPS_PROXY', 'SSL_CERT_FILE']),
    );
    expect(environment).toContainEqual({
      name: 'WFR_ALLOW_HTTP',
      value: '1',
      description: 'allow http to other hosts',
    });
  });

  test('help --json: the codes of errors are those of the schema, with their exit codes', async () => {
    const { errorCodes, exitCodes } = await readReference();
    const schema = JSON.parse(readFileSync(join(ROOT, 'error.schema.json'), 'utf8'));
    expect(errorCodes.map(({ code }) => code).sort()).toEqual(
      schema.$defs.error.properties.code.oneOf.map((code: { const: string }) => code.const).sort(),
    );
    const known = exitCodes.map(({ code }) => code);
    for (const { exitCodes } of errorCodes) expect(known).toEqual(expect.arrayContaining([...exitCodes]));
    expect(errorCodes.filter(({ exitCodes }) => exitCodes.length === 0)).toEqual([]);
    expect(errorCodes.find(({ code }) => code === 'usage')?.exitCodes).toEqual([2]);
    expect(errorCodes).toContainEqual({
      code: 'interrupted',
      exitCodes: Object.values(SIGNAL_EXIT_CODES),
    });
  });

  test('help <command> --json: prints that command alone; anything else exits 2', async () => {
    const { command } = await readCommand('watch');
    expect(JSON.parse((await runCli(['help', 'watch', '--json'])).stdout)).toEqual(command);
    const { stdout, stderr, exitCode } = await runCli(['help', 'inputs', '--json']);
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
    expect(errorData(stderr).message).toContain('--json: "inputs" is not a command');
  });
});
