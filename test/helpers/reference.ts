/** Everything that people can use of wfr, read from the definitions of the commands: for docs/reference.md. */
import type { Argument, Command, Option } from 'commander';
import { VARIABLES } from '../../src/commands/help/topics.js';
import { choicesOf, commandPath, definedCommands } from '../../src/commands/shared/flags.js';
import { ERROR_CODES, EXIT_CODE_MEANINGS, SIGNAL_EXIT_CODES } from '../../src/exit-code.js';
import type { Context } from '../../src/platform/context.js';
import { createProgram } from '../../src/program.js';

export type CommandReference = ReturnType<typeof describeCommand>;
export type FlagReference = ReturnType<typeof describeFlag>;

/** Returns the reference of the whole program. */
export function createReference() {
  // No command is run.
  const create = (args: string[]) => createProgram(args, {} as Context, [], () => {});
  // Only the commands that the arguments name are defined.
  const program = create(create([]).commands.map((command) => command.name()));
  return {
    description: program.description(),
    commands: definedCommands(program).map(describeCommand),
    environment: Object.entries(VARIABLES).flatMap(([names, description]) =>
      names.split(', ').map((name) => ({ name, description })),
    ),
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

export type Reference = ReturnType<typeof createReference>;

/** Returns the reference of one command. */
function describeCommand(command: Command) {
  return {
    name: commandPath(command),
    summary: command.summary(),
    description: command.description(),
    arguments: command.registeredArguments.map(describeArgument),
    flags: command.createHelp().visibleOptions(command).map(describeFlag),
  };
}

function describeArgument(argument: Argument) {
  const { description, required, variadic: repeatable, argChoices: choices } = argument;
  return { name: argument.name(), description, required, repeatable, choices };
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
 * Returns the reference of a flag, whose help is `what it does: one, two or three; repeatable (WFR_NAME) (default: one)`.
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
