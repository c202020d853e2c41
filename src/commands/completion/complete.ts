/** Completes an unfinished command line: what its last word may be, a command, a flag or a value. */
import type { Argument, Command, Option } from 'commander';
import { chooseProfile, loadConfig, type Profile } from '../../config/profile.js';
import { resolveSetting } from '../../config/resolve-setting.js';
import { findDeclaredWorkflow, namedWorkflows, workflowNames } from '../../config/workflow.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import { History } from '../../history/history.js';
import { findName, findPathStart, itemStart } from '../../inputs/item.js';
import { describeParameter, type Parameter } from '../../parameters/declaration.js';
import type { Context } from '../../platform/context.js';
import { REPORT_KINDS } from '../../report/formats.js';
import { KNOWN_STATUSES } from '../../service/run.js';
import { isUnsafe, sanitize } from '../../text/sanitize.js';
import { parseUrl } from '../../text/url.js';
import { SUBTOPICS, TOPICS } from '../help/topics.js';
import { choicesOf } from '../shared/flags.js';

class CommandLine {
  /** The program until a command is named; undefined after an unknown one. */
  #command: Command | undefined;
  #line = emptyLine();
  /** The flag whose value comes next. */
  #pendingFlag: Option | undefined;
  /** Whether flags are no longer allowed. */
  #flagsEnded = false;

  constructor(private readonly program: Command) {
    this.#command = program;
  }

  take(word: string): void {
    if (this.#pendingFlag !== undefined) {
      this.#setFlag(this.#pendingFlag, word);
      this.#pendingFlag = undefined;
    } else if (this.#flagsEnded || !word.startsWith('-') || word === '-') this.#takeOperand(word);
    else if (word === '--') this.#flagsEnded = true;
    else this.#takeFlag(word);
  }

  /** Returns what the last word is; undefined where nothing is allowed. */
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
    return { word, prefix, expected, ...this.#line };
  }

  #locateFlag(word: string, command: Command): Cursor {
    const { option, prefix, value } = parseFlag(word, command.options) ?? {};
    if (option !== undefined && value !== undefined) return this.#cursor(word, expectedValue(option), prefix);
    const options = command.createHelp().visibleOptions(command);
    return this.#cursor(
      word,
      options.map(({ long, short, description }) => ({ value: long ?? short ?? '', description })),
    );
  }

  #takeFlag(word: string): void {
    const flag = parseFlag(word, this.#command?.options ?? []);
    if (flag?.value === undefined) this.#pendingFlag = flag?.option;
    else this.#setFlag(flag.option, flag.value);
  }

  #setFlag(option: Option, value: string): void {
    this.#line.flags[option.attributeName()] = value;
    if (placeholderOf(option) === 'item') this.#line.items.push(value);
  }

  #takeOperand(word: string): void {
    const argument = this.#argument();
    if (this.#command !== undefined && this.#command.commands.length > 0) {
      this.#command = this.#command.commands.find((candidate) => candidate.name() === word);
    } else if (argument?.name() === 'command' && word === 'wfr' && this.#line.operands.length === 0) {
      // The command that the sandbox runs is wfr itself: its command line starts here.
      this.#command = this.program;
      this.#line = emptyLine();
      this.#flagsEnded = false;
    } else {
      this.#line.operands.push(word);
      this.#flagsEnded ||= argument?.name() === 'command';
    }
  }

  #argument(): Argument | undefined {
    const declared = this.#command?.registeredArguments ?? [];
    const last = declared.at(-1);
    return declared[this.#line.operands.length] ?? (last?.variadic ? last : undefined);
  }

  /** Returns commands and topics, or the parts of the command that the help is about. */
  #topics(): Candidate[] {
    const [command] = this.#line.operands;
    if (command === undefined)
      return [...commandNames(this.program), ...Object.keys(TOPICS).map(toCandidate)];
    return this.#line.operands.length > 1 ? [] : Object.keys(SUBTOPICS[command] ?? {}).map(toCandidate);
  }
}

/** Returns the commands that a command consists of. */
function commandNames(parent: Command): Candidate[] {
  const commands = parent.createHelp().visibleCommands(parent);
  return commands.map((command) => ({ value: command.name(), description: command.summary() }));
}

/**
 * Returns a flag that takes a value, the last one of `-vo`; the start of the word before the value, and the value, which is
 * undefined if it is the next word. Undefined for a word without such a flag.
 */
function parseFlag(word: string, options: readonly Option[]) {
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

/**
 * Returns what precedes a word on the command line: the flags that have a value, by commander's attribute name, the operands,
 * and the inputs that flags have given.
 */
const emptyLine = () => ({
  flags: {} as Record<string, string>,
  operands: [] as string[],
  items: [] as string[],
});

type LineBefore = ReturnType<typeof emptyLine>;

/** The word under the cursor. */
interface Cursor extends LineBefore {
  word: string;
  /** The start of the word that is not completed, such as `--output=`. */
  prefix: string;
  /** The placeholder of the value in the help, or the candidates themselves. */
  expected: string | readonly Candidate[];
}

/**
 * Completes the last word, and prints a line for each candidate: the whole word and, with `hasDescriptions`, a tab and the description. A line with an
 * empty candidate asks the shell for files: tab, `files` or `folders`, tab, the start of the word before the path. Errors
 * are ignored: a message would garble the line that is being typed. The commands that the words name must have been
 * defined in the program.
 */
export async function complete(
  words: readonly string[],
  program: Command,
  hasDescriptions: boolean,
  context: Context,
): Promise<Exit> {
  try {
    const line = new CommandLine(program);
    for (const word of words.slice(0, -1)) line.take(word);
    const cursor = line.locate(words.at(-1) ?? '');
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
  const completion =
    typeof expected === 'string' ? await COMPLETERS[expected]?.({ text, ...line }, context) : expected;
  const {
    candidates = [],
    paths,
    pathStart = 0,
  } = completion && 'paths' in completion ? completion : { candidates: completion };
  const shown = candidates
    .filter(({ value }) => isSafeWord(value) && (typeof expected !== 'string' || !value.startsWith('-')))
    .map(({ value, description = '' }) => ({ value: prefix + value, description }))
    .filter(({ value }) => value.toLowerCase().startsWith(word.toLowerCase()));
  const lines = shown.map(({ value, description }) =>
    hasDescriptions && description !== '' ? `${value}\t${sanitize(description)}\n` : `${value}\n`,
  );
  if (paths !== undefined) lines.push(`\t${paths}\t${word.slice(0, prefix.length + pathStart)}\n`);
  return lines.join('');
}

/** Returns whether a text needs no escaping: an escaped word would be another one. */
function isSafeWord(text: string): boolean {
  return text !== '' && ![...text].some((character) => isUnsafe(character.codePointAt(0) ?? 0));
}

interface Candidate {
  value: string;
  description?: string;
}

/** Files or folders that the shell adds, where in the text their path begins, and candidates. */
interface Paths {
  paths: 'files' | 'folders';
  pathStart?: number;
  candidates?: readonly Candidate[];
}

type Completion = readonly Candidate[] | Paths;

/** The value typed so far. */
interface CompletionRequest extends LineBefore {
  text: string;
}

type Completer = (request: CompletionRequest, context: Context) => Completion | Promise<Completion>;

/** The most run ids offered, the default of `wfr history`. */
const MAX_IDS = 20;

const files: Completer = () => ({ paths: 'files' });

/** By placeholder, for values that the help does not list; others have no completion. */
const COMPLETERS: Readonly<Record<string, Completer>> = {
  file: files,
  'file|-': files,
  'path|-': files,
  folder: () => ({ paths: 'folders' }),
  input,
  item: input,
  parameter,
  kind: report,
  status: () => KNOWN_STATUSES.map(toCandidate),
  name: profiles,
  workflow: aliases,
  'run-id': pastRuns,
  step,
  command: ({ operands }) => ({
    candidates: operands.length === 0 ? [toCandidate('wfr')] : [],
    paths: 'files',
  }),
};

/** Offers the declared parameters that are still missing, and then the files of those that are read from one. */
async function input(request: CompletionRequest, context: Context): Promise<Completion> {
  const { text, operands, items } = request;
  const pathStart = findPathStart(text);
  if (pathStart !== undefined) return { paths: 'files', pathStart };
  if (findName(text) !== undefined) return [];
  const given = new Set([...operands.slice(1), ...items].map(findName));
  const missing = (await declaredParameters(request, context)).filter(({ name }) => !given.has(name));
  return missing.map((one) => ({ value: itemStart(one), description: describeParameter(one) }));
}

/** The names of documents, for `--each`. */
async function parameter(request: CompletionRequest, context: Context): Promise<Completion> {
  const documents = (await declaredParameters(request, context)).filter(({ type }) => type === 'document');
  return documents.map((one) => ({ value: one.name, description: describeParameter(one) }));
}

async function declaredParameters(
  { flags, operands: [workflow = ''] }: CompletionRequest,
  context: Context,
): Promise<Parameter[]> {
  const declared = findDeclaredWorkflow(workflow, {}, await profileOf(flags, context));
  return [...(declared?.parameters.values() ?? [])];
}

function report({ text }: CompletionRequest): Completion {
  const kind = REPORT_KINDS.find((candidate) => candidate.endsWith('=') && text.startsWith(candidate));
  return kind === undefined ? REPORT_KINDS.map(toCandidate) : { paths: 'files', pathStart: kind.length };
}

async function profiles(_request: CompletionRequest, context: Context): Promise<Completion> {
  const { profiles = {} } = (await loadConfig(context))?.content ?? {};
  return Object.entries(profiles).map(([value, { baseUrl = '' }]) => ({ value, description: baseUrl }));
}

async function aliases({ flags }: CompletionRequest, context: Context): Promise<Completion> {
  const workflows = namedWorkflows(await profileOf(flags, context));
  return workflows.map(({ name, id }) => ({ value: name, description: id }));
}

async function pastRuns({ text, flags, operands }: CompletionRequest, context: Context): Promise<Completion> {
  const profile = await profileOf(flags, context);
  const baseUrl = parseUrl(resolveSetting('baseUrl', { flags, profile, context })?.text ?? '')?.href;
  const runs = (await History.open(context).readRuns()).filter(
    (run) => baseUrl === undefined || run.baseUrl === baseUrl,
  );
  const nameOf = workflowNames(profile);
  const latest = new Map<string, Candidate>();
  const ids: Candidate[] = [];
  for (const { id, workflow, status = 'accepted', triggered } of runs) {
    const name = nameOf(workflow) ?? workflow;
    const time = triggered.replace(/\.\d+Z$/, 'Z');
    const references = [
      { value: '@last', description: `${status} ${name} ${time} ${id}` },
      // zsh merges candidates that share a description, so it differs from that of @last.
      { value: `@last:${name}`, description: `${status} ${time} ${id}` },
    ];
    for (const reference of references)
      if (!latest.has(reference.value)) latest.set(reference.value, reference);
    const isMatch = id.toLowerCase().startsWith(text.toLowerCase()) && !operands.includes(id);
    if (isMatch && ids.length < MAX_IDS) ids.push({ value: id, description: `${status} ${name} ${time}` });
  }
  return [...latest.values(), ...ids];
}

async function step({ flags }: CompletionRequest, context: Context): Promise<Completion> {
  const { parseSandboxFlags } = await import('../sandbox/sandbox.js');
  const { workflows: path, fromProfile } = flags;
  const { workflows } = await parseSandboxFlags(
    { ...(path && { workflows: path }), ...(fromProfile && { fromProfile }) },
    context,
  );
  const names = workflows.flatMap(({ steps }) => steps.map(({ name }) => name));
  return [...new Set(names)].map(toCandidate);
}

/** Returns the profile; undefined where it is invalid, as the history may still have runs. */
function profileOf(flags: CompletionRequest['flags'], context: Context): Promise<Profile | undefined> {
  return chooseProfile(flags, context).catch(() => undefined);
}
