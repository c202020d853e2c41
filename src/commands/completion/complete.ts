/** Completes an unfinished command line: what its last word may be, a command, a flag or a value. */
import type { Command } from 'commander';
import { chooseProfile, loadConfig } from '../../config/profile.js';
import { currentBaseUrl, type ServiceFlags, type ServiceSources } from '../../config/resolve-setting.js';
import { findDeclaredWorkflow, namedWorkflows, workflowNames } from '../../config/workflow.js';
import { unknownName } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { isBatch, openHistory } from '../../history/history.js';
import { itemStart, splitItem } from '../../inputs/item.js';
import { describeParameter, type Parameter } from '../../parameters/declaration.js';
import type { Context } from '../../platform/context.js';
import { REPORT_KINDS } from '../../report/formats.js';
import { KNOWN_STATUSES } from '../../service/run.js';
import { sanitize } from '../../text/sanitize.js';
import { choicesOf, rawFlags, TOPIC_NAMES } from '../shared/flags.js';
import bash from './wfr.bash?raw';
import fish from './wfr.fish?raw';
import powershell from './wfr.ps1?raw';
import zsh from './wfr.zsh?raw';

/** By shell: a script that calls `wfr __complete` on every Tab. */
const SCRIPTS: ReadonlyMap<string, string> = new Map(Object.entries({ bash, zsh, fish, powershell }));

/** Prints the script of a shell. Throws UsageError for any other word. */
export async function printScript(
  [shell = '']: readonly string[],
  _flags: object,
  { stdout }: Context,
): Promise<Exit> {
  const script = SCRIPTS.get(shell);
  if (script === undefined)
    throw unknownName(`${shell || '""'}: `, shell, [...SCRIPTS.keys()], 'wfr help completion');
  await stdout.write(script);
  return ExitCode.ok;
}

/** A word, with or without a description, or files or folders that the shell adds, after `start` in the value. */
type Candidate =
  | string
  | { value: string; description: string }
  | { paths: 'files' | 'folders'; start?: string };

/** The word under the cursor, and what precedes it. */
interface Cursor {
  /** The start of the word that is not completed, such as `--output=`. */
  prefix: string;
  /** The value typed so far. */
  text: string;
  /** The placeholder of the value in the help, or the candidates themselves. */
  expected: string | readonly Candidate[];
  flags: ServiceFlags & { input?: string[] };
  /** The operands before it. */
  operands: readonly string[];
}

/**
 * Completes the last word, and prints a line for each candidate: the whole word and, except in bash, a tab and the
 * description. A line with an empty candidate asks the shell for files: tab, `files` or `folders`, tab, the start of the word
 * before the path. Errors are ignored: a message would garble the line that is being typed. The commands that the words name
 * must have been defined in the program.
 */
export async function execute(
  [shell, ...words]: readonly string[],
  _flags: object,
  context: Context,
  program: Command,
): Promise<Exit> {
  try {
    const cursor = locate(words, program);
    if (cursor) await context.stdout.write(await formatCandidates(cursor, shell !== 'bash', context));
  } catch {
    // No candidates.
  }
  return ExitCode.ok;
}

/** Marks the cursor: no argument of a command contains it. */
const MARK = '\0';

/** Returns what the last word is, which commander parses with a mark; undefined where nothing is allowed. */
function locate(words: readonly string[], program: Command): Cursor | undefined {
  const word = words.at(-1) ?? '';
  let command = program;
  let { operands, unknown } = command.parseOptions([...words.slice(0, -1), word + MARK]);
  for (;;) {
    const [name, ...others] = operands;
    const part = command.commands.find((candidate) => candidate.name() === name);
    // The command that the sandbox runs may be wfr itself.
    const isWfr = command.name() === 'sandbox' && name === 'wfr' && others.length > 0;
    if (!part && !isWfr) break;
    command = part ?? program;
    ({ operands, unknown } = command.parseOptions([...others, ...unknown]));
  }
  const flags = rawFlags<Cursor['flags'] & Record<string, unknown>>(command);
  const found = (text: string, expected: Cursor['expected']): Cursor => {
    const prefix = word.slice(0, word.length - text.length);
    return { prefix, text, expected, flags, operands: operands.filter((one) => !one.endsWith(MARK)) };
  };
  for (const option of command.options) {
    const value = String([flags[option.attributeName()]].flat().at(-1));
    const [, placeholder = ''] = /<(.+)>/.exec(option.flags) ?? [];
    if (value.endsWith(MARK)) return found(value.slice(0, -1), choicesOf(option.description) ?? placeholder);
  }
  if (unknown.at(-1)?.startsWith('-')) return found(word, flagNames(command));
  // An unknown flag has no value.
  operands.push(...unknown.filter((one) => !one.startsWith('-')));
  const expected = expectedOperand(command, operands.length - 1, program);
  return expected === undefined ? undefined : found(word, expected);
}

/** Returns what an operand of a command is, counted from 0; undefined if there may be none. */
function expectedOperand(command: Command, index: number, program: Command): Cursor['expected'] | undefined {
  const { commands, registeredArguments } = command;
  if (commands.length > 0) return index === 0 ? commandNames(command) : undefined;
  const last = registeredArguments.at(-1);
  const argument = registeredArguments[index] ?? (last?.variadic ? last : undefined);
  if (argument?.name() !== 'topic') return choicesOf(argument?.description ?? '') ?? argument?.name();
  return index === 0 ? [...commandNames(program), ...TOPIC_NAMES] : undefined;
}

function flagNames(command: Command): Candidate[] {
  const options = command.createHelp().visibleOptions(command);
  return options.map(({ long = '', description }) => ({ value: long, description }));
}

function commandNames(parent: Command): Candidate[] {
  const commands = parent.createHelp().visibleCommands(parent);
  return commands.map((command) => ({ value: command.name(), description: command.summary() }));
}

async function formatCandidates(cursor: Cursor, hasDescriptions: boolean, context: Context): Promise<string> {
  const { prefix, text, expected, flags } = cursor;
  const isList = typeof expected !== 'string';
  const profile = await chooseProfile(flags, context).catch(() => undefined);
  const candidates = isList
    ? expected
    : ((await COMPLETERS[expected.replace('|-', '')]?.({ ...cursor, profile, context })) ?? []);
  const lines = candidates.flatMap((candidate) => {
    const word = typeof candidate === 'string' ? { value: candidate, description: '' } : candidate;
    if ('paths' in word) return `\t${word.paths}\t${prefix}${word.start ?? ''}\n`;
    const { value, description } = word;
    // An escaped word would be another one.
    const isSafe = value !== '' && sanitize(value) === value;
    if (!isSafe || !begins(value, text) || (!isList && value.startsWith('-'))) return [];
    const end = hasDescriptions && description !== '' ? `\t${sanitize(description)}` : '';
    return `${prefix}${value}${end}\n`;
  });
  return lines.join('');
}

/** Returns whether a word may be meant by what was typed of it, in either case. */
function begins(word: string, typed: string): boolean {
  return word.toLowerCase().startsWith(typed.toLowerCase());
}

/** A cursor with what is looked up. The profile is undefined where it is invalid, as the history may still have runs. */
type Query = Cursor & ServiceSources;

type Completer = (query: Query) => readonly Candidate[] | Promise<readonly Candidate[]>;

/** The most run ids offered, the default of `wfr history`. */
const MAX_IDS = 20;

const files: Completer = () => [{ paths: 'files' }];

/** By placeholder, for values that the help does not list; others have no completion. */
const COMPLETERS: Readonly<Record<string, Completer>> = {
  file: files,
  path: files,
  folder: () => [{ paths: 'folders' }],
  input,
  item: input,
  /** The names of documents, for `--each`. */
  parameter(query) {
    const documents = declaredParameters(query).filter(({ type }) => type === 'document');
    return documents.map((one) => ({ value: one.name, description: describeParameter(one) }));
  },
  kind({ text }) {
    const kind = REPORT_KINDS.find((candidate) => candidate.endsWith('=') && text.startsWith(candidate));
    return kind === undefined ? REPORT_KINDS : [{ paths: 'files', start: kind }];
  },
  status: () => KNOWN_STATUSES,
  async name({ context }) {
    const { profiles = {} } = (await loadConfig(context))?.content ?? {};
    return Object.entries(profiles).map(([value, { baseUrl = '' }]) => ({ value, description: baseUrl }));
  },
  workflow: ({ profile }) =>
    namedWorkflows(profile).map(({ name, id }) => ({ value: name, description: id })),
  'run-id': pastRuns,
  command: ({ operands }) => [...(operands.length === 0 ? ['wfr'] : []), { paths: 'files' }],
};

/** Offers the declared parameters that are still missing, and then the files of those that are read from one. */
function input(query: Query): readonly Candidate[] {
  const { text, operands, flags } = query;
  const { separator, value = '' } = splitItem(text) ?? {};
  if (separator?.startsWith('@'))
    return [{ paths: 'files', start: text.slice(0, text.length - value.length) }];
  if (separator) return [];
  const given = [...operands.slice(1), ...(flags.input ?? [])].map((item) => splitItem(item)?.name);
  const missing = declaredParameters(query).filter(({ name }) => !given.includes(name));
  return missing.map((one) => ({ value: itemStart(one), description: describeParameter(one) }));
}

function declaredParameters({ operands: [workflow = ''], profile }: Query): Parameter[] {
  const declared = findDeclaredWorkflow(workflow, {}, profile);
  return [...(declared?.parameters.values() ?? [])];
}

async function pastRuns(query: Query): Promise<readonly Candidate[]> {
  const { text, operands, profile, context } = query;
  const baseUrl = currentBaseUrl(query);
  const nameOf = workflowNames(profile);
  const latest = new Map<string, Candidate>();
  const ids: Candidate[] = [];
  for (const run of await openHistory(context).readAll()) {
    if (isBatch(run) || (baseUrl !== undefined && run.baseUrl !== baseUrl)) continue;
    const { id, workflow, status = 'accepted', triggered } = run;
    const name = nameOf(workflow) ?? workflow;
    const time = triggered.replace(/\.\d+Z$/, 'Z');
    // zsh merges candidates that share a description.
    const references = { '@last': `${name} ${time} ${id}`, [`@last:${name}`]: `${time} ${id}` };
    for (const [value, description] of Object.entries(references))
      if (!latest.has(value)) latest.set(value, { value, description: `${status} ${description}` });
    const isMatch = begins(id, text) && !operands.includes(id);
    if (isMatch && ids.length < MAX_IDS) ids.push({ value: id, description: `${status} ${name} ${time}` });
  }
  return [...latest.values(), ...ids];
}
