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
    .description('Show help on a command, or on a topic: inputs, output, exit-codes, environment, scripting.')
    .argument('[topic]', 'a command or a topic')
    .action((topic: string | undefined) =>
      start(async (context) => {
        await context.stdout.write(await helpText(topic, command.parent ?? command));
        return ExitCode.ok;
      }),
    );
}

async function helpText(topic: string | undefined, program: Command): Promise<string> {
  if (topic === undefined) return commandHelp(program);
  const commands = program.createHelp().visibleCommands(program);
  const command = commands.find((candidate) => candidate.name() === topic);
  if (command !== undefined) return commandHelp(command);
  const { TOPICS } = await import('./topics.js');
  const text = Object.hasOwn(TOPICS, topic) ? TOPICS[topic] : undefined;
  if (text !== undefined) return text();
  const names = [...commands.map((candidate) => candidate.name()), ...Object.keys(TOPICS)];
  throw new UsageError([`no help on "${topic}"; choose one of ${names.join(', ')}`]);
}

/** Returns a command's whole help; helpInformation() would leave out the text after the flags. */
function commandHelp(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}
