/** `wfr help`: prints the help of a command, a topic or a workflow. */
import type { Command } from 'commander';
import type { ProfileFlags } from '../../config/profile.js';
import { UsageError } from '../../errors.js';
import { ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { type CommandEntry, commandPath, rawFlags, type Start } from '../shared/flags.js';
import { writeHelp } from '../shared/write-help.js';

export const HELP: CommandEntry = {
  name: 'help',
  summary: 'show help on a command or a topic',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description(
      'Show help on a command, or on a topic: inputs, tables, output, once, exit-codes, errors, environment.',
    )
    .argument(
      '[topic...]',
      'a command, a part of one such as sandbox workflows, a topic or a configured workflow',
    )
    .option('--json', 'print all commands, flags, variables and codes as JSON')
    .option('--skill', 'print instructions for agents, in the format of skills')
    .action((words: string[], flags: HelpFlags) =>
      start(async (context) => {
        const program = command.parent ?? command;
        const profile = rawFlags<ProfileFlags>(command);
        const data = await helpData(words, flags, program);
        if (data !== undefined) await context.stdout.write(data);
        else {
          const text = await helpText(words, profile, program, context);
          await writeHelp(text, program.opts().color, context.stdout, context);
        }
        return ExitCode.ok;
      }),
    );
}

interface HelpFlags {
  json?: boolean;
  skill?: boolean;
}

/** Returns what --json and --skill print; undefined without them. */
async function helpData(
  words: readonly string[],
  { json, skill }: HelpFlags,
  program: Command,
): Promise<string | undefined> {
  if (skill === true) {
    if (words.length > 0) throw new UsageError(['--skill is not about one command or topic']);
    const { default: text } = await import('../../../skills/wfr/SKILL.md?raw');
    return text;
  }
  if (json !== true) return undefined;
  return referenceText(words.length === 0 ? undefined : words.join(' '), program);
}

async function helpText(
  words: readonly string[],
  flags: ProfileFlags,
  program: Command,
  context: Context,
): Promise<string> {
  const [topic, ...rest] = words;
  if (topic === undefined) return commandHelp(program);
  const commands = program.createHelp().visibleCommands(program);
  const command = commands.find((candidate) => candidate.name() === topic);
  if (command !== undefined && rest.length === 0) return commandHelp(command);
  const { SUBTOPICS, TOPICS, workflowHelp } = await import('./topics.js');
  const texts = command === undefined ? TOPICS : { ...partsOf(command), ...SUBTOPICS[topic] };
  const name = (command === undefined ? words : rest).join(' ');
  if (Object.hasOwn(texts, name)) return texts[name] ?? '';
  const help = rest.length === 0 ? await workflowHelp(topic, flags, context) : undefined;
  if (help !== undefined) return help;
  const others = command === undefined ? commands.map((one) => one.name()) : [];
  const names = [...others, ...Object.keys(texts)];
  const problem = `no help on "${words.join(' ')}"`;
  if (names.length === 0) throw new UsageError([problem], `wfr help ${topic}`);
  throw new UsageError([`${problem}; choose ${names.length > 1 ? 'one of ' : ''}${names.join(', ')}`]);
}

/** Returns the help on each part of a command, and on each choice of its argument, which the command's own help explains. */
function partsOf(command: Command): Record<string, string> {
  const parts = command.commands.map((part) => [part.name(), commandHelp(part)]);
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  return Object.fromEntries([...parts, ...choices.map((choice) => [choice, commandHelp(command)])]);
}

/** Returns the reference, or that of one command, as JSON. */
async function referenceText(name: string | undefined, program: Command): Promise<string> {
  const { createReference, definedCommands, describeCommand } = await import('./reference.js');
  const command = definedCommands(program).find((candidate) => commandPath(candidate) === name);
  if (name !== undefined && command === undefined)
    throw new UsageError([`--json: "${name}" is not a command`]);
  return `${JSON.stringify(command ? describeCommand(command) : createReference(program), null, 2)}\n`;
}

/** Returns a command's whole help; helpInformation() would leave out the text after the flags. */
function commandHelp(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}
