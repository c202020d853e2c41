/** Completes an unfinished command line: what its last word may be, a command, a flag or a value. */
import type { Argument, Command, Option } from 'commander';
import { type Exit, ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { isUnsafe, sanitize } from '../../text/sanitize.js';
import { SUBTOPICS, TOPICS } from '../help/topics.js';
import { choicesOf } from '../shared/flags.js';
import { type Candidate, COMPLETERS, type Completion } from './candidates.js';

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
    if (this.#command.commands.length > 0) return this.#cursor(word, commandNames(this.#command));
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
    if (this.#command !== undefined && this.#command.commands.length > 0) {
      this.#command = this.#command.commands.find((candidate) => candidate.name() === word);
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
    if (command === undefined)
      return [...commandNames(this.program), ...Object.keys(TOPICS).map(toCandidate)];
    return this.#operands.length > 1 ? [] : Object.keys(SUBTOPICS[command] ?? {}).map(toCandidate);
  }
}

/** Returns the commands that a command consists of. */
function commandNames(parent: Command): Candidate[] {
  const commands = parent.createHelp().visibleCommands(parent);
  return commands.map((command) => ({ value: command.name(), description: command.summary() }));
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

/** The word under the cursor, and what precedes it on the command line. */
interface Cursor {
  word: string;
  /** The start of the word that is not completed, such as `--output=`. */
  prefix: string;
  /** The placeholder of the value in the help, or the candidates themselves. */
  expected: string | readonly Candidate[];
  /** The command's flags that have a value, by commander's attribute name. */
  flags: Readonly<Record<string, string>>;
  operands: readonly string[];
  /** The inputs that flags have given. */
  items: readonly string[];
}

/**
 * Prints a line for each candidate: the whole word and, with `hasDescriptions`, a tab and the description. A line with an
 * empty candidate asks the shell for files: tab, `files` or `folders`, tab, the start of the word before the path. Errors
 * are ignored: a message would garble the line that is being typed.
 */
export async function complete(
  locate: () => Cursor | undefined,
  hasDescriptions: boolean,
  context: Context,
): Promise<Exit> {
  try {
    const cursor = locate();
    if (cursor !== undefined)
      await context.stdout.write(await formatCandidates(cursor, hasDescriptions, context));
  } catch {
    // No candidates.
  }
  return ExitCode.ok;
}

async function formatCandidates(
  { word, prefix, expected, ...line }: Cursor,
  hasDescriptions: boolean,
  context: Context,
): Promise<string> {
  const text = word.slice(prefix.length);
  const completion: Completion =
    typeof expected === 'string'
      ? ((await COMPLETERS[expected]?.({ text, ...line }, context)) ?? {})
      : { candidates: expected };
  const candidates = (completion.candidates ?? [])
    .filter(({ value }) => isSafeWord(value) && (typeof expected !== 'string' || !value.startsWith('-')))
    .map(({ value, description = '' }) => ({ value: prefix + value, description }))
    .filter(({ value }) => value.toLowerCase().startsWith(word.toLowerCase()));
  const lines = candidates.map(({ value, description }) =>
    hasDescriptions && description !== '' ? `${value}\t${sanitize(description)}\n` : `${value}\n`,
  );
  if (completion.paths !== undefined) {
    lines.push(`\t${completion.paths}\t${word.slice(0, prefix.length + (completion.pathStart ?? 0))}\n`);
  }
  return lines.join('');
}

/** Returns whether a text needs no escaping: an escaped word would be another one. */
function isSafeWord(text: string): boolean {
  return text !== '' && ![...text].some((character) => isUnsafe(character.codePointAt(0) ?? 0));
}
