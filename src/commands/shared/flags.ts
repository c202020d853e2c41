/** The flags that several commands share, with their help. */
import { type Command, Option } from 'commander';
import type { Exit } from '../../exit-code.js';
import { type Context, DEFAULT_LIMITS } from '../../platform/context.js';
import { REPORT_CHOICES } from '../../report/formats.js';

/** The names of the help topics. */
export const TOPIC_NAMES = ['inputs', 'exit-codes', 'environment'] as const;

/** Collects the values of a repeatable flag. */
export const collect = (value: string, earlier: string[] = []) => [...earlier, value];

/** The arguments that two commands have: their names, and their help. */
export const WORKFLOW = ['<workflow>', 'UUID, URL or configured name of the workflow'] as const;
export const RUN_IDS = [
  '<run-id...>',
  'ids that wfr run printed, their first 4 or more characters, or @last',
] as const;

/** The last heading of `--help`. */
export const ADVANCED_GROUP = 'Advanced:';

/** Returns a flag that most people need: `-h` lists no others. */
export function common(flags: string, description: string): Option {
  return Object.assign(new Option(flags, description), { isCommon: true });
}

/** Returns a flag that few people need: `--help` lists it last. */
export function rare(flags: string, description: string): Option {
  return makeRare(new Option(flags, description));
}

/** Changes a flag to one that few people need. */
export const makeRare = (flag: Option) => Object.assign(flag.helpGroup(ADVANCED_GROUP), { isCommon: false });

/** Returns whether a flag is marked as common. */
export function isCommon(flag: object & { isCommon?: boolean }): boolean {
  return flag.isCommon === true;
}

/** Puts the flags that have no heading of their own under one. */
function under(heading: string, ...flags: Option[]): Option[] {
  for (const flag of flags) flag.helpGroupHeading ??= heading;
  return flags;
}

const { interval, maxInterval } = DEFAULT_LIMITS.polling;

function serviceSettings(): Option[] {
  return under(
    'Service:',
    common('--base-url <url>', 'service address with path prefix (WFR_BASE_URL)'),
    rare('--allow-http', 'allow http:// to hosts other than this machine (WFR_ALLOW_HTTP=1)'),
    new Option('--token-file <path|->', 'read the token from a file (WFR_TOKEN_FILE)'),
    rare('--no-token', 'send no Authorization header'),
    new Option('-H, --header <name: value>', 'add a request header; repeatable').argParser(collect),
    rare('--header-file <path>', 'add the request headers in a file, one a line'),
    // Flags of settings have the names of these.
    Object.assign(rare('--cacert <file>', 'also trust the certificates in a PEM file'), {
      attributeName: () => 'caFile',
    }),
  );
}

function workflowIdField(): Option {
  return rare(
    '--workflow-id-field <field>',
    "spelling of the workflow's field: auto, worfklowId, workflowId or both (WFR_WORKFLOW_ID_FIELD) (default: auto)",
  );
}

function outputFlags(formats: string): Option[] {
  return [
    common('-o, --output <format>', `format of stdout: ${formats} (default: text)`),
    new Option('--json', 'same as --output json'),
  ];
}

/** The flags that several commands share, of which those without a heading of their own are about output. */
const SHARED_FLAGS = {
  profile: () =>
    under('Service:', common('--profile <name>', 'use a profile of the config file (WFR_PROFILE)')),
  /** Of commands that send requests. */
  service: (): Option[] => [...SHARED_FLAGS.profile(), ...serviceSettings(), ...SHARED_FLAGS.messages()],
  trigger: () => [
    workflowIdField(),
    rare('--no-check-parameters', 'send inputs that differ from declared parameters'),
    rare(
      '--resend-503',
      'send again after a 503 with Retry-After; only if the operator guarantees that it created nothing',
    ),
  ],
  wait: () =>
    under(
      'Waiting:',
      new Option('--interval <duration>', `time between polls (default: ${interval / 1_000}s)`),
      rare(
        '--max-interval <duration>',
        `longest time between polls of an unchanged run (default: ${maxInterval / 1_000}s)`,
      ),
      common(
        '--timeout <duration>',
        'stop waiting after this long, such as 90s or 2h; runs continue; 0 polls once (default: no limit)',
      ),
    ),
  output: () => outputFlags('text, json, jsonl or id; json has whole runs'),
  outputOfRows: () => outputFlags('text, json, jsonl, csv or id'),
  /** Of commands that print one run. */
  get: () => [common('--get <pointer>', 'print one value of the output, such as /total')],
  /** Of commands with several runs. */
  saveOutputs: () => [new Option('--save-outputs <folder>', 'save outputs as JSON files')],
  saveDocuments: () => [
    new Option(
      '--save-documents <folder>',
      'save the documents in the output as files; stdout has their paths instead',
    ),
    new Option('--force', 'let saved files replace others'),
  ],
  report: () => [
    common('--report <kind>', `write a report: ${REPORT_CHOICES}; repeatable`).argParser(collect),
  ],
  /** Of a command whose stdout is the same with it. */
  errorData: () => [new Option('--json', 'print an error as JSON on stderr')],
  messages: () =>
    under(
      'Messages (stderr):',
      new Option('-q, --quiet', 'print only ids, warnings, errors and summaries'),
      new Option('-v, --verbose', 'also print requests, retries and timings'),
      new Option('--color <when>', 'color messages and JSON: auto, always or never'),
    ),
} as const;

/** Adds flags that several commands share. */
export function addFlags(command: Command, ...groups: (keyof typeof SHARED_FLAGS)[]): void {
  for (const flag of groups.flatMap((group) => under('Output:', ...SHARED_FLAGS[group]())))
    command.addOption(flag);
}

/** Adds the flags of the settings that a profile may have, as `change` returns them. */
export function addSettingFlags(command: Command, change = (flag: Option) => flag): void {
  const flags = [...serviceSettings(), ...SHARED_FLAGS.wait(), workflowIdField()];
  for (const flag of flags) command.addOption(change(flag));
}

/** Adds the same flags before the command's name, where they are accepted but not listed. */
export function addHiddenGlobalFlags(program: Command): void {
  addFlags(program, 'service');
  for (const flag of program.options) if (flag.long !== '--version') flag.hideHelp();
}

/** Returns the flags of the command line, before and after the command's name, without defaults. */
export function rawFlags<T extends object>(command: Command): T {
  const raw: Record<string, unknown> = command.parent === null ? {} : rawFlags(command.parent);
  for (const [name, value] of Object.entries(command.opts())) {
    if (command.getOptionValueSource(name) !== 'cli') continue;
    // A repeatable flag may be given in both places.
    const earlier = raw[name];
    raw[name] = Array.isArray(earlier) && Array.isArray(value) ? [...earlier, ...value] : value;
  }
  return raw as T;
}

/** Returns the choices of a flag whose help is like `format of stdout: text, json or id (default: text)`. */
export function choicesOf(help: string): string[] | undefined {
  const [, list] = /: ((?:[\w-]+, )+[\w-]+ or [\w-]+)(?= \(|;|$)/.exec(help) ?? [];
  return list?.split(/, | or /);
}

/** Returns the words that name a command: `run`, or `config show`. */
export function commandPath(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${commandPath(parent)} ${command.name()}` : command.name();
}

/** A command's line in `wfr --help`, its flags and help, and what it does. */
export interface CommandEntry {
  name: string;
  /** In its own help, it is a sentence. */
  summary: string;
  /** Leaves it out of `wfr --help`. */
  isHidden?: boolean;
  /** What follows its flags: paragraphs, the first of which `-h` prints, too, and examples. */
  help?: string;
  /** The commands that it consists of. */
  parts?: readonly CommandEntry[];
  /** Adds its arguments and flags. */
  define(command: Command): void;
  /** Imports what runs the command with its arguments and flags; `program` has all commands. */
  load?(): Promise<{
    execute(args: readonly string[], flags: never, context: Context, program: Command): Promise<Exit>;
  }>;
}
