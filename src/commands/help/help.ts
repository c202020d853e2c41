/** `wfr help`: prints the help of a command or a topic. */
import type { Command } from 'commander';
import { UsageError } from '../../errors.js';
import { ExitCode } from '../../exit-code.js';
import { type CommandEntry, commandPath, definedCommands } from '../shared/flags.js';
import { writeHelp } from '../shared/write-help.js';

export const HELP: CommandEntry = {
  name: 'help',
  summary: 'show help on a command or a topic',
  define(command) {
    command
      .description('Show help on a command, or on a topic: inputs, exit-codes, environment.')
      .argument('[topic...]', 'a command, such as run or config show, or a topic')
      .option('--json', 'print all commands, flags, variables and codes as JSON')
      .option('--skill', 'print instructions for agents, in the format of skills');
  },
  async run(command, context) {
    const program = command.parent ?? command;
    const { json, skill } = command.opts();
    const name = command.args.join(' ');
    if (skill === true) await context.stdout.write(await skillText());
    else if (json === true) await context.stdout.write(await referenceText(name, program));
    else {
      const text = await helpText(name, program);
      await writeHelp(text, program.opts().color, context.stdout, context);
    }
    return ExitCode.ok;
  },
};

async function skillText(): Promise<string> {
  const { default: text } = await import('../../../skills/wfr/SKILL.md?raw');
  return text;
}

async function helpText(name: string, program: Command): Promise<string> {
  if (name === '') return commandHelp(program);
  const commands = definedCommands(program);
  const command = commands.find((candidate) => commandPath(candidate) === name);
  if (command !== undefined) return commandHelp(command);
  const { TOPICS } = await import('./topics.js');
  const help = TOPICS.get(name);
  if (help !== undefined) return help;
  const names = [...commands.map(commandPath), ...TOPICS.keys()];
  throw new UsageError([`no help on "${name}"; choose one of ${names.join(', ')}`]);
}

/** Returns the reference, or that of one command, as JSON. */
async function referenceText(name: string, program: Command): Promise<string> {
  const { createReference, describeCommand } = await import('./reference.js');
  const command = definedCommands(program).find((candidate) => commandPath(candidate) === name);
  if (name !== '' && command === undefined) throw new UsageError([`--json: "${name}" is not a command`]);
  return `${JSON.stringify(command ? describeCommand(command) : createReference(program), null, 2)}\n`;
}

/** Returns a command's whole help; helpInformation() would leave out the text after the flags. */
function commandHelp(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}
