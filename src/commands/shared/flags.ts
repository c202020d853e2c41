/** The flags that several commands have, with their help. */
import { type Command, Option } from 'commander';

/** Keeps each value of a flag that may be given several times. */
export const collect = (value: string, earlier: string[] | undefined) => [...(earlier ?? []), value];

function serviceFlags(): Option[] {
  return [
    new Option('--profile <name>', 'a profile of the config file (WFR_PROFILE); see wfr help config'),
    new Option('--base-url <url>', "the service's address, with its path prefix (WFR_BASE_URL)"),
    new Option('--allow-http', 'allow http:// to other hosts than this one (WFR_ALLOW_HTTP=1)'),
    new Option('--token-file <path|->', 'read the access token from a file (WFR_TOKEN, WFR_TOKEN_FILE)'),
    new Option('--no-token', 'send no Authorization header'),
    new Option('-H, --header <name: value>', 'a further request header, repeatable').argParser(collect),
  ];
}

function talkFlags(): Option[] {
  return [
    new Option('-q, --quiet', "only the run's id, warnings and errors on stderr"),
    new Option('-v, --verbose', 'also requests, retries and timings on stderr'),
    new Option('--color <when>', 'auto, always or never (default: auto)'),
  ];
}

/** How a trigger is sent, and when it is sent again. */
function triggerFlags(): Option[] {
  return [
    new Option('--workflow-id-field <field>', 'auto, worfklowId, workflowId or both (default: auto)'),
    new Option(
      '--resend-503',
      'send again after a 503 with Retry-After: only if the operator guarantees that nothing was created',
    ),
  ];
}

function waitFlags(): Option[] {
  return [
    new Option('--interval <duration>', 'time between polls (default: 2s)'),
    new Option('--max-interval <duration>', 'unchanged polls slow down to this (default: 10s)'),
    new Option(
      '--timeout <duration>',
      'stop waiting this long after the run was accepted; 0 looks once; the run goes on (default: for ever)',
    ),
  ];
}

function outputFlags(): Option[] {
  return [
    new Option('-o, --output <format>', 'what stdout carries: text, json, jsonl or id (default: text)'),
    new Option('--json', 'short for --output json'),
  ];
}

function documentFlags(): Option[] {
  return [
    new Option(
      '--save-documents <folder>',
      'write the documents in the output to files; stdout has their paths instead',
    ),
    new Option('--force', 'let --save-documents overwrite files'),
  ];
}

function reportFlags(): Option[] {
  return [
    new Option(
      '--report <kind>',
      'github, junit=<file>, markdown=<file>, json=<file> or html=<file>; repeatable',
    ).argParser(collect),
  ];
}

/** The flags of every command that talks to the service. */
export function addServiceFlags(command: Command): Command {
  addAll(command, serviceFlags(), 'Service:');
  return addAll(command, talkFlags(), 'Conversation, on stderr:');
}

export function addTriggerFlags(command: Command): Command {
  return addAll(command, triggerFlags());
}

export function addWaitFlags(command: Command): Command {
  return addAll(command, waitFlags(), 'Waiting:');
}

export function addOutputFlags(command: Command): Command {
  return addAll(command, outputFlags(), OUTPUT_GROUP);
}

/** What becomes of documents in the output of a run that is watched to its end. */
export function addDocumentFlags(command: Command): Command {
  return addAll(command, documentFlags(), OUTPUT_GROUP);
}

/** Where results are written besides stdout. */
export function addReportFlags(command: Command): Command {
  return addAll(command, reportFlags(), OUTPUT_GROUP);
}

/** The same flags before the command's name, where they are understood but not listed. */
export function addHiddenGlobalFlags(program: Command): Command {
  return addAll(
    program,
    [...serviceFlags(), ...talkFlags()].map((option) => option.hideHelp()),
  );
}

/** What was written on the command line, before the command's name and after it; defaults are left out. */
export function rawFlags<T extends object>(command: Command): T {
  const written: Record<string, unknown> = {};
  for (const source of [command.parent, command]) {
    for (const [name, value] of Object.entries(source?.opts() ?? {})) {
      if (source?.getOptionValueSource(name) !== 'cli') continue;
      // What may be given several times may be given in both places.
      const earlier = written[name];
      written[name] = Array.isArray(earlier) && Array.isArray(value) ? [...earlier, ...value] : value;
    }
  }
  return written as T;
}

const OUTPUT_GROUP = 'Output:';

function addAll(command: Command, options: readonly Option[], group?: string): Command {
  for (const option of options) command.addOption(group === undefined ? option : option.helpGroup(group));
  return command;
}
