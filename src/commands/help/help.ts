/** `wfr help`: the commands' help, and the topics. */
import type { Command } from 'commander';
import { UsageError } from '../../errors.js';
import { ExitCode } from '../../exit-code.js';
import type { CommandEntry, Start } from '../shared/command.js';

export const HELP: CommandEntry = {
  name: 'help',
  summary: 'help on a command or a topic',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('Help on a command, or on a topic: inputs, output, exit-codes, environment, scripting.')
    .argument('[topic]', 'a command or a topic')
    .action((topic: string | undefined) =>
      start(async (context) => {
        await context.stdout.write(await helpOn(topic, command.parent ?? command));
        return ExitCode.ok;
      }),
    );
}

async function helpOn(topic: string | undefined, program: Command): Promise<string> {
  if (topic === undefined) return textOf(program);
  const commands = program.createHelp().visibleCommands(program);
  const command = commands.find((candidate) => candidate.name() === topic);
  if (command !== undefined) return textOf(command);
  const { TOPICS } = await import('./topics.js');
  const text = Object.hasOwn(TOPICS, topic) ? TOPICS[topic] : undefined;
  if (text !== undefined) return text();
  const names = [...commands.map((candidate) => candidate.name()), ...Object.keys(TOPICS)];
  throw new UsageError([`there is no help on ${topic}; there is help on ${names.join(', ')}`]);
}

/** All of a command's help: helpInformation() alone leaves out what was added to it. */
function textOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}
