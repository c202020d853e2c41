/** What is wrong with a command line that commander rejects. */
import type { Command, CommanderError, Option } from 'commander';
import { UsageError, unknownName } from '../../errors.js';
import { commandPath } from './flags.js';

/** Commands that are listed at most as those that have a flag. */
const MAX_LISTED = 4;

/** The fewest characters of a flag that tell which one is meant, with its hyphens. */
const MIN_BEGINNING = 5;

/** Converts an error of `command`, which is the program where no command was found. `defineOthers` returns other commands. */
export function usageErrorOf(
  { code, message }: CommanderError,
  command: Command,
  defineOthers: () => readonly Command[],
): UsageError {
  const hint = command.parent === null ? 'wfr --help' : `wfr help ${commandPath(command)}`;
  const [, quoted = ''] = /'([^']*)'/.exec(message) ?? [];
  const [, nearest] = /\n\(Did you mean (.*)\?\)$/.exec(message) ?? [];
  const usageError = (problem: string, ...notes: string[]) => new UsageError(problem, hint, notes);
  switch (code) {
    case 'commander.unknownOption': {
      // The value of an unknown flag may be a secret: --token=...
      const [flag = ''] = quoted.split('=', 1);
      if (flag === '--token')
        return new UsageError('no flag takes the token: set WFR_TOKEN', 'wfr help environment');
      // Of a flag without a value, commander knows only the name.
      if (hasFlag(command.options, flag)) return usageError(`${flag}: takes no value`);
      // Commander suggests only what differs in few letters.
      const begun = command.options.find(
        ({ long }) => flag.length >= MIN_BEGINNING && long?.startsWith(flag),
      );
      const owners = command.parent === null || begun ? [] : defineOthers();
      const names = owners.filter((owner) => hasFlag(owner.options, flag)).map((owner) => owner.name());
      if (names.length > MAX_LISTED) return usageError(`${flag} belongs to other commands`);
      if (names.length > 0) {
        const list = names.map((name) => `wfr ${name}`).join(', ');
        return new UsageError(`${flag} belongs to ${list}`, `wfr help ${names[0]}`);
      }
      const [, name] = /^--([\w.-]+)$/.exec(flag) ?? [];
      const meant = begun?.long ?? nearest;
      const suggestion = meant ? `; did you mean ${meant}?` : '';
      const isInput = !meant && name && hasFlag(command.options, '--input');
      const input = isInput ? [`To send an input, write --input ${name}=text or --input ${name}@file`] : [];
      return usageError(`${flag}: there is no such flag${suggestion}`, ...input);
    }
    case 'commander.unknownCommand': {
      const commands = command.createHelp().visibleCommands(command);
      const names = commands.map((one) => one.name());
      return unknownName(`${quoted}: there is no such command`, quoted, names, hint);
    }
    case 'commander.missingArgument':
      return usageError(`<${quoted}> is missing: wfr ${commandPath(command)} ${command.usage()}`);
    case 'commander.optionMissingArgument':
      return usageError(`${quoted.replace(/^-\w, /, '')}: the value is missing`);
    case 'commander.excessArguments': {
      const word = command.args[command.registeredArguments.length] || '""';
      const isId = command.name() === 'history' && /^[\w-]+$/.test(word);
      return usageError(
        `${word}: unexpected argument`,
        ...(isId ? [`To show a run: wfr status ${word}`] : []),
      );
    }
    case 'commander.help':
      return usageError('the command is missing');
    default: {
      const [, allowed] = /^error: command-argument .* Allowed choices are (.*)\.$/s.exec(message) ?? [];
      if (allowed !== undefined) return usageError(`${quoted || '""'}: choose one of ${allowed}`);
      const invalid = /^error: option '.*?(--[\w-]+).*?' argument '(.*)' is invalid\. /s;
      return usageError(message.replace(invalid, '$1 $2: ').replace(/^error: /, ''));
    }
  }
}

function hasFlag(options: readonly Option[], flag: string): boolean {
  return options.some(({ long, short }) => flag === long || flag === short);
}
