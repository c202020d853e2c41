/** `wfr help`: prints the help of a command, a topic or a workflow. */
import type { Command } from 'commander';
import type { ProfileFlags } from '../../config/profile.js';
import { UsageError } from '../../errors.js';
import { ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import type { CommandEntry, Start } from '../shared/command.js';
import { rawFlags } from '../shared/flags.js';

export const HELP: CommandEntry = {
  name: 'help',
  summary: 'show help on a command or a topic',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description(
      'Show help on a command, or on a topic: inputs, tables, output, exit-codes, environment, scripting.',
    )
    .argument('[topic]', 'a command, a topic or a configured workflow')
    .option('--json', 'print all commands, flags, variables and exit codes as JSON')
    .option('--skill', 'print instructions for agents, in the format of skills')
    .action((topic: string | undefined, flags: HelpFlags) =>
      start(async (context) => {
        const raw = { ...rawFlags<ProfileFlags>(command), ...flags };
        await context.stdout.write(await helpText(topic, raw, command.parent ?? command, context));
        return ExitCode.ok;
      }),
    );
}

interface HelpFlags extends ProfileFlags {
  json?: boolean;
  skill?: boolean;
}

async function helpText(
  topic: string | undefined,
  { json, skill, ...flags }: HelpFlags,
  program: Command,
  context: Context,
): Promise<string> {
  if (skill === true) {
    if (topic !== undefined) throw new UsageError(['--skill is not about one command or topic']);
    const { SKILL } = await import('./skill.js');
    return SKILL;
  }
  if (json === true) return referenceText(topic, program);
  if (topic === undefined) return commandHelp(program);
  const commands = visibleCommands(program);
  const command = commands.find((candidate) => candidate.name() === topic);
  if (command !== undefined) return commandHelp(command);
  const { TOPICS } = await import('./topics.js');
  const text = Object.hasOwn(TOPICS, topic) ? TOPICS[topic] : undefined;
  if (text !== undefined) return text();
  const { workflowHelp } = await import('./workflow-help.js');
  const help = await workflowHelp(topic, flags, context);
  if (help !== undefined) return help;
  const names = [...commands.map((candidate) => candidate.name()), ...Object.keys(TOPICS)];
  throw new UsageError([`no help on "${topic}"; choose one of ${names.join(', ')}`]);
}

/** Returns the reference, or that of one command, as JSON. */
async function referenceText(name: string | undefined, program: Command): Promise<string> {
  const { createReference, describeCommand } = await import('./reference.js');
  const command = visibleCommands(program).find((candidate) => candidate.name() === name);
  if (name !== undefined && command === undefined)
    throw new UsageError([`--json: "${name}" is not a command`]);
  return `${JSON.stringify(command ? describeCommand(command) : createReference(program), null, 2)}\n`;
}

function visibleCommands(program: Command): readonly Command[] {
  return program.createHelp().visibleCommands(program);
}

/** Returns a command's whole help; helpInformation() would leave out the text after the flags. */
function commandHelp(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}
