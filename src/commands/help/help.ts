/** `wfr help`: prints the help of a command, a topic or a workflow. */
import type { Command } from 'commander';
import type { ProfileFlags } from '../../config/profile.js';
import { UsageError } from '../../errors.js';
import { ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { type CommandEntry, commandPath, definedCommands, rawFlags } from '../shared/flags.js';
import { writeHelp } from '../shared/write-help.js';

export const HELP: CommandEntry = {
  name: 'help',
  summary: 'show help on a command or a topic',
  define(command) {
    command
      .description(
        'Show help on a command, or on a topic: inputs, tables, output, once, exit-codes, errors, environment.',
      )
      .argument('[topic...]', 'a command, such as run or config show, a topic or a configured workflow')
      .option('--json', 'print all commands, flags, variables and codes as JSON')
      .option('--skill', 'print instructions for agents, in the format of skills');
  },
  async run(command, context) {
    const program = command.parent ?? command;
    const data = await helpData(command.args, command.opts(), program);
    if (data !== undefined) await context.stdout.write(data);
    else {
      const text = await helpText(command.args, rawFlags(command), program, context);
      await writeHelp(text, program.opts().color, context.stdout, context);
    }
    return ExitCode.ok;
  },
};

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
  const name = words.join(' ');
  if (name === '') return commandHelp(program);
  const commands = definedCommands(program);
  const command = commands.find((candidate) => commandPath(candidate) === name);
  if (command !== undefined) return commandHelp(command);
  const { TOPICS, workflowHelp } = await import('./topics.js');
  const help = TOPICS.get(name) ?? (await workflowHelp(name, flags, context));
  if (help !== undefined) return help;
  const names = [...commands.map(commandPath), ...TOPICS.keys()];
  throw new UsageError([`no help on "${name}"; choose one of ${names.join(', ')}`]);
}

/** Returns the reference, or that of one command, as JSON. */
async function referenceText(name: string | undefined, program: Command): Promise<string> {
  const { createReference, describeCommand } = await import('./reference.js');
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
