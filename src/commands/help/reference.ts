/** `wfr help --json`: everything that a program can use of wfr, read from the definitions of the commands. */
import type { Argument, Command, Option } from 'commander';
import { ERROR_CODES, EXIT_CODE_MEANINGS, SIGNAL_EXIT_CODES } from '../../exit-code.js';
import { VERSION } from '../../platform/context.js';
import { choicesOf, commandPath, TypedOption } from '../shared/flags.js';
import { environmentVariables } from './topics.js';

/** A flag, an argument, a variable, an exit code: plain data, whose members are the format of `wfr help --json`. */
export interface Reference {
  name: string;
  version: string;
  description: string;
  flags: readonly FlagReference[];
  commands: readonly CommandReference[];
  environment: readonly { name: string; value?: string; description: string }[];
  exitCodes: readonly { code: number; description: string }[];
  /** The codes of errors as data, and the exit codes that they come with. */
  errorCodes: readonly { code: string; exitCodes: readonly number[]; description: string }[];
}

export interface CommandReference {
  name: string;
  summary: string;
  description: string;
  arguments: readonly {
    name: string;
    description: string;
    required: boolean;
    repeatable: boolean;
    choices?: readonly string[];
  }[];
  flags: readonly FlagReference[];
}

export interface FlagReference {
  name: string;
  short?: string;
  /** The placeholder of its value; missing for a flag without one. */
  value?: string;
  /** The flag may be given without its value. */
  valueOptional?: true;
  type: string;
  choices?: readonly string[];
  repeatable: boolean;
  default?: string;
  /** The variables that it overrides. */
  environment?: readonly string[];
  group: string;
  description: string;
}

/** Returns the reference of a program whose commands are all defined. */
export function createReference(program: Command): Reference {
  return {
    name: program.name(),
    version: VERSION,
    description: program.description(),
    flags: flagsOf(program),
    commands: definedCommands(program).map(describeCommand),
    environment: environmentVariables(),
    exitCodes: EXIT_CODE_MEANINGS.flatMap(([codes, description]) =>
      codes.split(', ').map((code) => ({ code: Number(code), description })),
    ),
    errorCodes: Object.entries(ERROR_CODES).map(([code, [exit, description]]) => ({
      code,
      exitCodes: exit === 'signal' ? Object.values(SIGNAL_EXIT_CODES) : [exit],
      description,
    })),
  };
}

/** Returns the commands, each before those that it consists of. */
export function definedCommands(program: Command): readonly Command[] {
  const commands = program.createHelp().visibleCommands(program);
  return commands.flatMap((command) => [command, ...command.commands]);
}

/** Returns the reference of one command. */
export function describeCommand(command: Command): CommandReference {
  return {
    name: commandPath(command),
    summary: command.summary(),
    description: command.description(),
    arguments: command.registeredArguments.map(describeArgument),
    flags: flagsOf(command),
  };
}

function describeArgument(argument: Argument): CommandReference['arguments'][number] {
  const { description, required, variadic, argChoices: choices } = argument;
  return {
    name: argument.name(),
    description,
    required,
    repeatable: variadic,
    ...(choices !== undefined && { choices }),
  };
}

function flagsOf(command: Command): FlagReference[] {
  return command.createHelp().visibleOptions(command).map(describeFlag);
}

function describeFlag(option: Option): FlagReference {
  const { long, short, flags, helpGroupHeading } = option;
  const [, placeholder] = / ([<[].*)/.exec(flags) ?? [];
  const value = placeholder?.replace(/[<>[\]]/g, '');
  const { description, default: initial, environment, choices, repeatable } = parseHelp(option.description);
  const type = value === undefined ? 'boolean' : option instanceof TypedOption ? option.type : 'string';
  return {
    name: long ?? '',
    ...(short !== undefined && { short }),
    ...(value !== undefined && { value }),
    ...(option.optional && { valueOptional: true }),
    type,
    ...(choices !== undefined && { choices }),
    repeatable,
    ...(initial !== undefined && { default: initial }),
    ...(environment !== undefined && { environment }),
    group: (helpGroupHeading ?? 'Options').replace(/:$/, ''),
    description,
  };
}

/**
 * Parses the help of a flag: `what it does: one, two or three; repeatable (WFR_NAME) (default: one)`. The help is the
 * definition, so that people and programs read the same.
 */
function parseHelp(
  help: string,
): Pick<FlagReference, 'description' | 'default' | 'environment' | 'choices' | 'repeatable'> {
  const [, defaultValue] = / \(default: (.+?)\)/.exec(help) ?? [];
  const [, variables] = / \((WFR_[^)]+)\)/.exec(help) ?? [];
  const choices = choicesOf(help);
  const description = help.replace(/ \((default: .+?|WFR_[^)]+)\)/g, '').replace(/; repeatable$/, '');
  return {
    description,
    repeatable: /; repeatable\b/.test(help),
    ...(defaultValue !== undefined && { default: defaultValue }),
    ...(variables !== undefined && {
      environment: variables.split(', ').map((name) => name.replace(/=.*/, '')),
    }),
    ...(choices !== undefined && { choices }),
  };
}
