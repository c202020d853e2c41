/** The flags that several commands share, with their help. */
import { type Command, Option } from 'commander';
import type { Exit } from '../../exit-code.js';
import { type Context, DEFAULT_LIMITS } from '../../platform/context.js';
import { REPORT_CHOICES } from '../../report/formats.js';

/** Collects the values of a repeatable flag. */
export const collect = (value: string, earlier: string[] | undefined) => [...(earlier ?? []), value];

/** The last heading of `--help`. */
export const ADVANCED_GROUP = 'Advanced:';

/** Marks a flag that most people need: `-h` lists no others. */
export function common<Flag extends Option>(flag: Flag): Flag {
  return Object.assign(flag, { isCommon: true });
}

/** Marks a flag that few people need: `--help` lists it last. */
export function rare<Flag extends Option>(flag: Flag): Flag {
  flag.helpGroup(ADVANCED_GROUP);
  return Object.assign(flag, { isCommon: false });
}

/** Returns whether a flag is marked as common. */
export function isCommon(flag: object): boolean {
  return 'isCommon' in flag && flag.isCommon === true;
}

function profileFlag(): Option {
  return common(new Option('--profile <name>', 'use a profile of the config file (WFR_PROFILE)'));
}

function serviceFlags(): Option[] {
  return [
    profileFlag(),
    common(new Option('--base-url <url>', 'service address with path prefix (WFR_BASE_URL)')),
    rare(new Option('--allow-http', 'allow http:// to hosts other than this machine (WFR_ALLOW_HTTP=1)')),
    new Option('--token-file <path|->', 'read the token from a file (WFR_TOKEN_FILE)'),
    rare(new Option('--no-token', 'send no Authorization header')),
    new Option('-H, --header <name: value>', 'add a request header; repeatable').argParser(collect),
    rare(new Option('--header-file <path>', 'add the request headers in a file, one a line')),
    // Flags of settings have the names of these.
    Object.assign(rare(new Option('--cacert <file>', 'also trust the certificates in a PEM file')), {
      attributeName: () => 'caFile',
    }),
  ];
}

function messageFlags(): Option[] {
  return [
    new Option('-q, --quiet', "print only the run's id, warnings and errors"),
    new Option('-v, --verbose', 'also print requests, retries and timings'),
    new Option('--color <when>', 'color messages and JSON: auto, always or never'),
  ];
}

function triggerFlags(): Option[] {
  return [
    new Option(
      '--workflow-id-field <field>',
      'workflow field: auto, worfklowId, workflowId or both (WFR_WORKFLOW_ID_FIELD) (default: auto)',
    ),
    new Option('--no-check-parameters', 'send inputs that differ from declared parameters'),
    new Option(
      '--resend-503',
      'send again after a 503 with Retry-After; only if the operator guarantees that it created nothing',
    ),
  ].map(rare);
}

function waitFlags(): Option[] {
  const { interval, maxInterval } = DEFAULT_LIMITS.polling;
  return [
    new Option('--interval <duration>', `time between polls (default: ${interval / 1_000}s)`),
    rare(
      new Option(
        '--max-interval <duration>',
        `longest time between polls of an unchanged run (default: ${maxInterval / 1_000}s)`,
      ),
    ),
    common(
      new Option(
        '--timeout <duration>',
        'stop waiting this long after acceptance; the run continues; 0 polls once (default: no limit)',
      ),
    ),
  ];
}

/** What several commands share: the heading in `--help`, and the flags. */
const SHARED_FLAGS = {
  profile: ['Service:', () => [profileFlag()]],
  service: ['Service:', serviceFlags],
  trigger: [ADVANCED_GROUP, triggerFlags],
  wait: ['Waiting:', waitFlags],
  output: [
    'Output:',
    () => [
      common(
        new Option('-o, --output <format>', 'format of stdout: text, json, jsonl or id (default: text)'),
      ),
      new Option('--json', 'same as --output json'),
    ],
  ],
  /** Of commands that print one run. */
  get: [
    'Output:',
    () => [common(new Option('--get <pointer>', 'print one value of the output, such as /total'))],
  ],
  /** Of commands with several runs. */
  saveOutputs: ['Output:', () => [new Option('--save-outputs <folder>', 'save outputs as JSON files')]],
  saveDocuments: [
    'Output:',
    () => [
      new Option(
        '--save-documents <folder>',
        'save the documents in the output as files; stdout has their paths instead',
      ),
      new Option('--force', 'let files that are saved replace others'),
    ],
  ],
  report: [
    'Output:',
    () => [
      common(
        new Option('--report <kind>', `write a report: ${REPORT_CHOICES}; repeatable`).argParser(collect),
      ),
    ],
  ],
  /** Of a command whose stdout is the same with it. */
  errorData: ['Output:', () => [new Option('--json', 'print an error as JSON on stderr; see help errors')]],
  messages: ['Messages (stderr):', messageFlags],
} as const;

/** Adds flags that several commands share. */
export function addFlags(command: Command, ...groups: (keyof typeof SHARED_FLAGS)[]): Command {
  for (const group of groups) {
    const [heading, flags] = SHARED_FLAGS[group];
    addAll(command, flags(), heading);
  }
  return command;
}

/** Adds the flags of the settings that a profile may have. */
export function addSettingFlags(command: Command, mark = (flag: Option) => flag): Command {
  const [, ...service] = serviceFlags();
  const [workflowIdField] = triggerFlags();
  addAll(command, service.map(mark), 'Service:');
  return addAll(command, [...waitFlags(), workflowIdField as Option].map(mark), 'Waiting:');
}

/** Adds the same flags before the command's name, where they are accepted but not listed. */
export function addHiddenGlobalFlags(program: Command): Command {
  return addAll(
    program,
    [...serviceFlags(), ...messageFlags()].map((option) => option.hideHelp()),
  );
}

/** Returns the flags of the command line, before and after the command's name, without defaults. */
export function rawFlags<T extends object>(command: Command): T {
  const raw: Record<string, unknown> = {};
  const chain = [command];
  for (let above = command.parent; above !== null; above = above.parent) chain.unshift(above);
  for (const source of chain) {
    for (const [name, value] of Object.entries(source.opts())) {
      if (source.getOptionValueSource(name) !== 'cli') continue;
      // A repeatable flag may be given in both places.
      const earlier = raw[name];
      raw[name] = Array.isArray(earlier) && Array.isArray(value) ? [...earlier, ...value] : value;
    }
  }
  return raw as T;
}

function addAll(command: Command, options: readonly Option[], group?: string): Command {
  for (const option of options) {
    if (group !== undefined && option.helpGroupHeading === undefined) option.helpGroup(group);
    command.addOption(option);
  }
  return command;
}

/** Returns the choices of a flag whose help is like `format of stdout: text, json or id (default: text)`. */
export function choicesOf(help: string): string[] | undefined {
  const [, list] = /: ((?:[\w-]+, )+[\w-]+ or [\w-]+)(?= \(|;|$)/.exec(help) ?? [];
  return list?.split(/, | or /);
}

/** Returns the commands of a program, each before those that it consists of. */
export function definedCommands(program: Command): readonly Command[] {
  const commands = program.createHelp().visibleCommands(program);
  return commands.flatMap((command) => [command, ...command.commands]);
}

/** Returns the words that name a command: `run`, or `config show`. */
export function commandPath(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${commandPath(parent)} ${command.name()}` : command.name();
}

/** Registers the action of the chosen command, which imports the command's code when it runs. */
export type Start = (action: (context: Context) => Promise<Exit>) => void;

/** A command's line in `wfr --help`, and the definition of its flags, help and action. */
export interface CommandEntry {
  name: string;
  summary: string;
  /** Leaves it out of `wfr --help`. */
  isHidden?: boolean;
  /** What follows its flags: paragraphs, the first of which `-h` prints, too, and examples. */
  help?: string;
  /** The commands that it consists of. */
  parts?: readonly CommandEntry[];
  define(command: Command, start: Start): void;
}
