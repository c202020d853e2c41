/** `wfr help`: prints the help of a command or a topic. */
import type { Command } from 'commander';
import { UsageError } from '../../errors.js';
import { ExitCode } from '../../exit-code.js';
import type { CommandEntry, Start } from '../shared/command.js';

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
    .argument('[topic]', 'a command or a topic')
    .option('--json', 'print all commands, flags, variables and exit codes as JSON')
    .option('--skill', 'print instructions for agents, in the format of skills')
    .action((topic: string | undefined, flags: HelpFlags) =>
      start(async (context) => {
        await context.stdout.write(await helpText(topic, flags, command.parent ?? command));
        return ExitCode.ok;
      }),
    );
}

interface HelpFlags {
  json?: boolean;
  skill?: boolean;
}

async function helpText(
  topic: string | undefined,
  { json, skill }: HelpFlags,
  program: Command,
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
