/** What is wrong with a command line that commander rejects. */
import type { Command, CommanderError, Option } from 'commander';
import { UsageError, unknownName } from '../../errors.js';
import { findNearest } from '../../text/nearest.js';
import { commandPath } from './flags.js';

/** Converts an error of `command`, which is the program where no command was found. `defineOthers` returns other commands. */
export function usageErrorOf(
  { code, message }: CommanderError,
  command: Command,
  defineOthers: () => readonly Command[],
): UsageError {
  const hint = command.parent === null ? 'wfr --help' : `wfr help ${commandPath(command)}`;
  const [, quoted = ''] = /'([^']*)'/.exec(message) ?? [];
  const usageError = (problem: string, ...notes: string[]) => new UsageError(problem, hint, notes);
  switch (code) {
    case 'commander.unknownOption': {
      // The value of an unknown flag may be a secret: --token=...
      const [written = ''] = quoted.split('=', 1);
      // Some programs have long flags with one hyphen.
      const flag = written.replace(/^-(?=\w{2})/, '--');
      if (flag === '--token')
        return new UsageError('no flag takes the token: set WFR_TOKEN', 'wfr help environment');
      // Of a flag without a value, commander knows only the name.
      if (hasFlag(command.options, written)) return usageError(`${written}: takes no value`);
      const name = flag.slice(2);
      const own = command.createHelp().visibleOptions(command);
      const known = own.flatMap(({ long }) => long?.slice(2) ?? []);
      // Fewer letters could be the beginning of any flag.
      const begun = known.find((one) => name.length * 3 >= one.length && one.startsWith(name));
      const owners = begun ? [] : defineOthers();
      const all = owners.filter((owner) => hasFlag(owner.options, flag)).map((owner) => owner.name());
      if (command.parent === null && all[0])
        return usageError(`${flag} follows its command: wfr <command> ${flag}`);
      // What shows runs shows those of a batch there.
      const names = command.name() === 'batch' && all.includes('results') ? ['results'] : all;
      if (names.length > 0) {
        const list = names.map((name) => `wfr ${name}`).join(', ');
        return new UsageError(`${flag} belongs to ${list}`, `wfr help ${names[0]}`);
      }
      const meant = begun ?? findNearest(name, known);
      const suggestion = meant ? `; did you mean --${meant}?` : '';
      const isInput = !meant && /^[\w.-]+$/.test(name) && hasFlag(command.options, '--input');
      const input = isInput ? [`To send an input, write -i ${name}=text or -i ${name}@file`] : [];
      return usageError(`${written}: there is no such flag${suggestion}`, ...input);
    }
    case 'commander.unknownCommand': {
      const commands = command.createHelp().visibleCommands(command);
      const names = commands.map((one) => one.name());
      // As other programs call it.
      const meant = quoted.replace(/^(ls|list|ps)$/, 'history');
      return unknownName(`${quoted || '""'}: there is no such command; `, meant, names, hint);
    }
    case 'commander.missingArgument': {
      const path = commandPath(command);
      const last = /^(run-id|file)$/.test(quoted) ? [`For the last one: wfr ${path} @last`] : [];
      return usageError(`<${quoted}> is missing: wfr ${path} ${command.usage()}`, ...last);
    }
    case 'commander.optionMissingArgument':
      return usageError(`${quoted.replace(/^-\w, /, '')}: the value is missing`);
    case 'commander.excessArguments': {
      const word = command.args[command.registeredArguments.length] || '""';
      const isId = command.name() === 'history' && /^[\w-]+$/.test(word);
      const show = isId ? [`To show a run: wfr status ${word}; a batch: wfr results ${word}`] : [];
      return usageError(`${word}: unexpected argument`, ...show);
    }
    case 'commander.help':
      return usageError('the command is missing');
    default: {
      const invalid = /^error: option '.*?(--[\w-]+).*?' argument '(.*)' is invalid\. /s;
      return usageError(message.replace(invalid, '$1 $2: ').replace(/^error: /, ''));
    }
  }
}

function hasFlag(options: readonly Option[], flag: string): boolean {
  return options.some(({ long, short }) => flag === long || flag === short);
}
