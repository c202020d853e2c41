/** Parses an unfinished command line to find what its last word is: a command, a flag, a value. */
import type { Argument, Command, Option } from 'commander';
import { SUBTOPICS } from '../help/subtopics.js';
import { TOPICS } from '../help/topics.js';
import { choicesOf } from '../shared/flag-choices.js';
import type { Candidate, Cursor } from './complete.js';

/**
 * Returns what the last word is; undefined where nothing is allowed. The commands that the words name must have been
 * defined in the program.
 */
export function findCursor(words: readonly string[], program: Command): Cursor | undefined {
  const line = new CommandLine(program);
  for (const word of words.slice(0, -1)) line.take(word);
  return line.locate(words.at(-1) ?? '');
}

class CommandLine {
  /** The program until a command is named; undefined after an unknown one. */
  #command: Command | undefined;
  #flags: Record<string, string> = {};
  #operands: string[] = [];
  /** The inputs that flags have given. */
  #items: string[] = [];
  /** The flag whose value comes next. */
  #pendingFlag: Option | undefined;
  /** Whether flags are no longer allowed. */
  #flagsEnded = false;

  constructor(private readonly program: Command) {
    this.#begin();
  }

  take(word: string): void {
    if (this.#pendingFlag !== undefined) {
      this.#setFlag(this.#pendingFlag, word);
      this.#pendingFlag = undefined;
    } else if (this.#flagsEnded || !word.startsWith('-') || word === '-') this.#takeOperand(word);
    else if (word === '--') this.#flagsEnded = true;
    else this.#takeFlag(word);
  }

  locate(word: string): Cursor | undefined {
    if (this.#command === undefined) return undefined;
    if (this.#pendingFlag !== undefined) return this.#cursor(word, expectedValue(this.#pendingFlag));
    if (!this.#flagsEnded && word.startsWith('-')) return this.#locateFlag(word, this.#command);
    if (this.#command === this.program) return this.#cursor(word, this.#commandNames());
    const argument = this.#argument();
    return argument && this.#cursor(word, argument.argChoices?.map(toCandidate) ?? argument.name());
  }

  #cursor(word: string, placeholder: Cursor['expected'], prefix = ''): Cursor {
    const expected = placeholder === 'topic' ? this.#topics() : placeholder;
    return { word, prefix, expected, flags: this.#flags, operands: this.#operands, items: this.#items };
  }

  #locateFlag(word: string, command: Command): Cursor {
    const { option, prefix, value } = parseFlag(word, command.options) ?? {};
    if (option !== undefined && value !== undefined) return this.#cursor(word, expectedValue(option), prefix);
    const options = command.createHelp().visibleOptions(command);
    const flags = options.map(({ long, short, description }) => ({
      value: long ?? short ?? '',
      description,
    }));
    return this.#cursor(word, flags);
  }

  #takeFlag(word: string): void {
    const flag = parseFlag(word, this.#command?.options ?? []);
    if (flag?.value === undefined) this.#pendingFlag = flag?.option;
    else this.#setFlag(flag.option, flag.value);
  }

  #setFlag(option: Option, value: string): void {
    this.#flags[option.attributeName()] = value;
    if (placeholderOf(option) === 'item') this.#items.push(value);
  }

  #takeOperand(word: string): void {
    const argument = this.#argument();
    if (this.#command === this.program) {
      this.#command = this.program.commands.find((candidate) => candidate.name() === word);
    } else if (argument?.name() === 'command' && word === 'wfr' && this.#operands.length === 0) {
      // The command that the sandbox runs is wfr itself: its command line starts here.
      this.#begin();
    } else {
      this.#operands.push(word);
      this.#flagsEnded ||= argument?.name() === 'command';
    }
  }

  #begin(): void {
    this.#command = this.program;
    this.#flags = {};
    this.#operands = [];
    this.#items = [];
    this.#flagsEnded = false;
  }

  #argument(): Argument | undefined {
    const declared = this.#command?.registeredArguments ?? [];
    const last = declared.at(-1);
    return declared[this.#operands.length] ?? (last?.variadic ? last : undefined);
  }

  /** Returns commands and topics, or the parts of the command that the help is about. */
  #topics(): Candidate[] {
    const [command] = this.#operands;
    if (command === undefined) return [...this.#commandNames(), ...Object.keys(TOPICS).map(toCandidate)];
    return this.#operands.length > 1 ? [] : Object.keys(SUBTOPICS[command] ?? {}).map(toCandidate);
  }

  #commandNames(): Candidate[] {
    const commands = this.program.createHelp().visibleCommands(this.program);
    return commands.map((command) => ({ value: command.name(), description: command.summary() }));
  }
}

/** A flag that takes a value, and the start of the word before the value; the last flag of `-vo`. */
interface ParsedFlag {
  option: Option;
  prefix: string;
  /** Undefined if it is the next word. */
  value: string | undefined;
}

/** Returns undefined for a word without such a flag. */
function parseFlag(word: string, options: readonly Option[]): ParsedFlag | undefined {
  if (word.startsWith('--')) {
    const [name = ''] = word.split('=', 1);
    const option = options.find(({ long }) => long === name);
    const value = name === word ? undefined : word.slice(name.length + 1);
    return option?.required ? { option, prefix: `${name}=`, value } : undefined;
  }
  for (let end = 2; end <= word.length; end++) {
    const option = options.find(({ short }) => short === `-${word.charAt(end - 1)}`);
    if (option === undefined) return undefined;
    if (option.required) return { option, prefix: word.slice(0, end), value: word.slice(end) || undefined };
  }
  return undefined;
}

/** Returns the choices in the help of a flag, or the placeholder of its value. */
function expectedValue(option: Option): Cursor['expected'] {
  return choicesOf(option.description)?.map(toCandidate) ?? placeholderOf(option);
}

/** Returns the placeholder of a flag's value: `file` of `--workflows <file>`. */
function placeholderOf({ flags }: Option): string {
  return /<(.+)>/.exec(flags)?.[1] ?? '';
}

function toCandidate(value: string): Candidate {
  return { value };
}
