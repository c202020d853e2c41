/** What is wrong with a command line that commander rejects, in the style of wfr's other messages. */
import type { Command, CommanderError } from 'commander';
import { UsageError } from '../../errors.js';

/** Converts an error of `command`, which is the program where no command was found. `defineOthers` returns other commands. */
export function usageErrorOf(
  error: CommanderError,
  command: Command,
  defineOthers: (defined: string) => readonly Command[],
): UsageError {
  const hint = command.parent === null ? 'wfr --help' : `wfr help ${command.name()}`;
  if (error.code !== 'commander.unknownOption') return new UsageError([problemOf(error, command)], hint);
  // The value of an unknown flag may be a secret: --token=...
  const [, flag = ''] = /'([^'=]*)/.exec(error.message) ?? [];
  if (flag === '--token')
    return new UsageError(['no flag takes the token: set WFR_TOKEN'], 'wfr help environment');
  const owners = command.parent === null ? [] : findOwners(flag, defineOthers(command.name()));
  if (owners.length > 0) return new UsageError([`${flag}: is a flag of ${formatList(owners)}`], hint);
  const nearest = nearestOf(error);
  const unknown = `${flag}: there is no such flag${nearest}`;
  return new UsageError([unknown, ...(nearest === '' ? inputSuggestion(flag, command) : [])], hint);
}

/** Returns the commands that have a flag. */
function findOwners(flag: string, commands: readonly Command[]): string[] {
  return commands
    .filter(({ options }) =>
      options.some(({ long, short, hidden }) => !hidden && (flag === long || flag === short)),
    )
    .map((command) => `wfr ${command.name()}`);
}

/** Returns `a`, `a and b`, or `a, b and c`. */
function formatList(items: readonly string[]): string {
  return [items.slice(0, -1).join(', '), ...items.slice(-1)].filter((part) => part !== '').join(' and ');
}

/** Returns how to write the input that `--customer ACME` may stand for, without its value, which may be a secret. */
function inputSuggestion(unknownFlag: string, command: Command): string[] {
  const [, name] = /^--([\w.-]+)$/.exec(unknownFlag) ?? [];
  if (name === undefined || !command.options.some(({ long }) => long === '--input')) return [];
  const flag = command.name() === 'run' ? '' : '--input ';
  return [`to send an input, write ${flag}${name}=text or ${flag}${name}@file`];
}

/** Returns what the user wrote, a colon, and what is wrong with it. Commander's messages quote what they are about. */
function problemOf(error: CommanderError, command: Command): string {
  const { code, message } = error;
  const [, quoted = ''] = /'([^']*)'/.exec(message) ?? [];
  switch (code) {
    case 'commander.unknownCommand':
      return `${quoted}: there is no such command${nearestOf(error)}`;
    case 'commander.missingArgument':
      return `<${quoted}> is missing: wfr ${command.name()} ${command.usage()}`;
    case 'commander.optionMissingArgument':
      return `${quoted.replace(/^-\w, /, '')}: the value is missing`;
    case 'commander.excessArguments':
      return `${quote(command.args[command.registeredArguments.length])}: is one argument too many`;
    case 'commander.invalidArgument':
      return invalidArgument(message, command);
    default:
      return message.replace(/^error: /, '');
  }
}

/** Returns Commander's suggestion, or an empty text. */
function nearestOf({ message }: CommanderError): string {
  // What the user wrote is before it.
  const start = message.lastIndexOf('\n(Did you mean ');
  return start < 0 ? '' : `; did you mean ${message.slice(start + '\n(Did you mean '.length, -1)}`;
}

function invalidArgument(message: string, command: Command): string {
  // What the user wrote is before it, and may contain anything.
  const end = message.lastIndexOf("' is invalid");
  const before = message.slice(0, end);
  const reason = message.slice(message.indexOf('. ', end) + 2).replace(/\.$/, '');
  const [, flags, raw] = /^error: option '([^']+)' argument '(.*)$/s.exec(before) ?? [];
  if (flags === undefined) {
    const value = before.slice(before.indexOf("value '") + "value '".length);
    const choices = reason.replace('Allowed choices are ', '').replace(/, ([^,]*)$/, ' or $1');
    return `${command.name()} ${quote(value)}: choose ${choices}`;
  }
  const name = flags.replace(/^-\w, /, '').replace(/[ =].*/, '');
  return `${name} ${quote(raw)}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
}

const quote = (text = '') => (text === '' ? '""' : text);
