/** What is wrong with a command line that commander rejects, in the style of wfr's other messages. */
import type { Command, CommanderError, Option } from 'commander';
import { UsageError } from '../../errors.js';
import { findNearest } from '../../text/nearest.js';
import { commandPath } from './flags.js';

/** Converts an error of `command`, which is the program where no command was found. `defineOthers` returns other commands. */
export function usageErrorOf(
  error: CommanderError,
  command: Command,
  defineOthers: (defined: string) => readonly Command[],
): UsageError {
  const hint = command.parent === null ? 'wfr --help' : `wfr help ${commandPath(command)}`;
  if (error.code !== 'commander.unknownOption') return new UsageError([problemOf(error, command)], hint);
  // The value of an unknown flag may be a secret: --token=...
  const [, flag = ''] = /'([^'=]*)/.exec(error.message) ?? [];
  if (flag === '--token')
    return new UsageError(['no flag takes the token: set WFR_TOKEN'], 'wfr help environment');
  // Of a flag without a value, commander knows only the name.
  if (hasFlag(command.options, flag)) return new UsageError([`${flag}: takes no value`], hint);
  const others = command.parent === null ? [] : defineOthers(commandPath(command));
  const visible = ({ options }: Command) => options.filter(({ hidden }) => !hidden);
  const owners = others.filter((other) => hasFlag(visible(other), flag));
  const [owner] = owners;
  if (owner !== undefined) {
    const names = formatList(owners.map((one) => `wfr ${one.name()}`));
    return new UsageError([`${flag} belongs to ${names}`], `wfr help ${owner.name()}`);
  }
  const nearest = suggest(flag, longFlagsOf(command));
  const unknown = `${flag}: there is no such flag${nearest}`;
  return new UsageError([unknown, ...(nearest === '' ? inputSuggestion(flag, command) : [])], hint);
}

/** Returns whether a flag is one of these, or the one for help. */
function hasFlag(options: readonly Option[], flag: string): boolean {
  const isHelp = flag === '--help' || flag === '-h';
  return isHelp || options.some(({ long, short }) => flag === long || flag === short);
}

function longFlagsOf({ options }: Command): string[] {
  return ['--help', ...options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : []))];
}

/** Returns `; did you mean …?` for a similar name, else an empty text. Dashes do not make two names similar. */
function suggest(text: string, names: readonly string[]): string {
  const plain = (name: string) => name.replace(/^-+/, '');
  const nearest = findNearest(plain(text), names.map(plain));
  const name = names.find((one) => plain(one) === nearest);
  return name === undefined ? '' : `; did you mean ${name}?`;
}

/** Returns `a`, `a and b`, or `a, b and c`. */
function formatList(items: readonly string[], word = 'and'): string {
  return [items.slice(0, -1).join(', '), ...items.slice(-1)].filter((part) => part !== '').join(` ${word} `);
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
      if (command.parent !== null)
        return `${command.name()} ${quote(quoted)}: choose ${formatList(commandNames(command), 'or')}`;
      return `${quoted}: there is no such command${suggest(quoted, commandNames(command))}`;
    case 'commander.missingArgument':
      return `<${quoted}> is missing: wfr ${commandPath(command)} ${command.usage()}`;
    case 'commander.optionMissingArgument':
      return `${quoted.replace(/^-\w, /, '')}: the value is missing`;
    case 'commander.excessArguments':
      return `${quote(command.args[command.registeredArguments.length])}: unexpected argument`;
    case 'commander.invalidArgument':
      return invalidArgument(message, command);
    default:
      return message.replace(/^error: /, '');
  }
}

/** Returns the names of the commands that are not hidden; commander keeps what is hidden to itself. */
function commandNames(program: Command): string[] {
  return program
    .createHelp()
    .visibleCommands(program)
    .map((command) => command.name());
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
