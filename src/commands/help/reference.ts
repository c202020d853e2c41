/** `wfr help --json`: everything that a program can use of wfr, read from the definitions of the commands. */
import type { Command, Option } from 'commander';
import { ERROR_CODES, EXIT_CODE_MEANINGS, SIGNAL_EXIT_CODES } from '../../exit-code.js';
import { choicesOf, commandPath } from '../shared/flags.js';
import { environmentVariables } from './topics.js';

/** Plain data, whose members are the format of `wfr help --json`; JSON has none that are undefined. */
export type Reference = ReturnType<typeof createReference>;
export type CommandReference = ReturnType<typeof describeCommand>;
export type FlagReference = ReturnType<typeof describeFlag>;

/** Returns the reference of a program whose commands are all defined. */
export function createReference(program: Command) {
  return {
    name: program.name(),
    version: program.version(),
    description: program.description(),
    flags: flagsOf(program),
    commands: definedCommands(program).map(describeCommand),
    environment: environmentVariables(),
    exitCodes: EXIT_CODE_MEANINGS.flatMap(([codes, description]) =>
      codes.split(', ').map((code) => ({ code: Number(code), description })),
    ),
    // With the exit codes that they come with; error.schema.json describes them.
    errorCodes: Object.entries(ERROR_CODES).map(([code, [exit]]) => ({
      code,
      exitCodes: exit === 'signal' ? Object.values(SIGNAL_EXIT_CODES) : [exit],
    })),
  };
}

/** Returns the commands of a program, each before those that it consists of. */
export function definedCommands(program: Command): readonly Command[] {
  const commands = program.createHelp().visibleCommands(program);
  return commands.flatMap((command) => [command, ...command.commands]);
}

/** Returns the reference of one command. */
export function describeCommand(command: Command) {
  return {
    name: commandPath(command),
    summary: command.summary(),
    description: command.description(),
    arguments: command.registeredArguments.map((argument) => {
      const { description, required, variadic: repeatable } = argument;
      return { name: argument.name(), description, required, repeatable, choices: choicesOf(description) };
    }),
    flags: flagsOf(command),
  };
}

function flagsOf(command: Command) {
  return command.createHelp().visibleOptions(command).map(describeFlag);
}

/** What values are, by their placeholders; any other one is a string. */
const TYPES: Readonly<Record<string, string>> = {
  path: 'path',
  file: 'path',
  folder: 'path',
  number: 'number',
  code: 'number',
  factor: 'number',
  duration: 'duration',
  url: 'URL',
  pointer: 'JSON Pointer',
};

/**
 * Returns the reference of a flag, whose help is `what it does: one, two or three; repeatable (WFR_NAME) (default: one)`. The
 * help is the definition, so that people and programs read the same.
 */
function describeFlag(option: Option) {
  const { long: name = '', short, flags, optional, helpGroupHeading = 'Options', description: help } = option;
  const [, placeholder] = / ([<[].*)/.exec(flags) ?? [];
  const value = placeholder?.replace(/[<>[\]]/g, '');
  const [, variables] = / \((WFR_[^)]+)\)/.exec(help) ?? [];
  return {
    name,
    short,
    // The placeholder of its value, which may be left out of some.
    value,
    valueOptional: optional || undefined,
    type: value === undefined ? 'boolean' : (TYPES[value.replace('|-', '')] ?? 'string'),
    choices: choicesOf(help),
    repeatable: /; repeatable\b/.test(help),
    default: / \(default: (.+?)\)/.exec(help)?.[1],
    environment: variables?.split(', ').map((variable) => variable.replace(/=.*/, '')),
    group: helpGroupHeading.replace(/:$/, ''),
    description: help.replace(/ \((default: .+?|WFR_[^)]+)\)/g, '').replace(/; repeatable$/, ''),
  };
}
