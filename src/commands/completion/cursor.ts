/** A command line as far as it has been written -> what its last word is. */
import type { Argument, Command, Option } from 'commander';
import { TOPICS } from '../help/topics.js';
import type { Candidate, Cursor } from './complete.js';

/**
 * What the last of the words is; undefined where nothing can stand there. Those of the program's commands that the
 * words name need to have been defined.
 */
export function cursorAt(words: readonly string[], program: Command): Cursor | undefined {
  const line = new CommandLine(program);
  for (const word of words.slice(0, -1)) line.take(word);
  return line.placeOf(words.at(-1) ?? '');
}

class CommandLine {
  /** The program itself until a command is named; undefined behind the name of one that there is not. */
  #command: Command | undefined;
  #flags: Record<string, string> = {};
  #operands: string[] = [];
  /** The flag whose value is to come. */
  #open: Option | undefined;
  /** Whether flags can no longer stand here. */
  #flagsEnded = false;

  constructor(private readonly program: Command) {
    this.#begin();
  }

  take(word: string): void {
    if (this.#open !== undefined) {
      this.#flags[this.#open.attributeName()] = word;
      this.#open = undefined;
    } else if (this.#flagsEnded || !word.startsWith('-') || word === '-') this.#takeOperand(word);
    else if (word === '--') this.#flagsEnded = true;
    else this.#takeFlag(word);
  }

  placeOf(word: string): Cursor | undefined {
    if (this.#command === undefined) return undefined;
    if (this.#open !== undefined) return this.#place(word, valueName(this.#open));
    if (!this.#flagsEnded && word.startsWith('-')) return this.#placeOfFlag(word, this.#command);
    if (this.#command === this.program) return this.#place(word, this.#commandNames());
    const argument = this.#argument();
    return argument && this.#place(word, argument.argChoices?.map(toCandidate) ?? argument.name());
  }

  #place(word: string, wanted: Cursor['wanted'], prefix = ''): Cursor {
    const isTopic = wanted === 'topic';
    const names = isTopic ? [...this.#commandNames(), ...Object.keys(TOPICS).map(toCandidate)] : wanted;
    return { word, prefix, wanted: names, flags: this.#flags, operands: this.#operands };
  }

  #placeOfFlag(word: string, command: Command): Cursor {
    const { option, prefix, value } = readFlag(word, command.options) ?? {};
    if (option !== undefined && value !== undefined) return this.#place(word, valueName(option), prefix);
    const options = command.createHelp().visibleOptions(command);
    const flags = options.map(({ long, short, description }) => ({
      value: long ?? short ?? '',
      description,
    }));
    return this.#place(word, flags);
  }

  #takeFlag(word: string): void {
    const { option, value } = readFlag(word, this.#command?.options ?? []) ?? {};
    if (option === undefined) return;
    if (value === undefined) this.#open = option;
    else this.#flags[option.attributeName()] = value;
  }

  #takeOperand(word: string): void {
    const argument = this.#argument();
    if (this.#command === this.program) {
      this.#command = this.program.commands.find((candidate) => candidate.name() === word);
    } else if (argument?.name() === 'command' && word === 'wfr' && this.#operands.length === 0) {
      // What the sandbox is to run is a command line of our own.
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
    this.#flagsEnded = false;
  }

  #argument(): Argument | undefined {
    const known = this.#command?.registeredArguments ?? [];
    const last = known.at(-1);
    return known[this.#operands.length] ?? (last?.variadic ? last : undefined);
  }

  #commandNames(): Candidate[] {
    const commands = this.program.createHelp().visibleCommands(this.program);
    return commands.map((command) => ({ value: command.name(), description: command.summary() }));
  }
}

/** A flag that takes a value, with as much of the word as stands before that; of `-vo` it is the last one. */
interface ReadFlag {
  option: Option;
  prefix: string;
  /** Undefined where it is the next word. */
  value: string | undefined;
}

/** Undefined for a word without such a flag. */
function readFlag(word: string, options: readonly Option[]): ReadFlag | undefined {
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

/** The name that the help has for a flag's value: `file` of `--workflows <file>`. */
function valueName({ flags }: Option): string {
  return /<(.+)>/.exec(flags)?.[1] ?? '';
}

function toCandidate(value: string): Candidate {
  return { value };
}
