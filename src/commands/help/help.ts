/** `wfr help`: prints the help of a command or a topic, the reference as JSON, or the skill for agents. */
import type { Command } from 'commander';
import skill from '../../../skills/wfr/SKILL.md?raw';
import { UsageError } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { commandPath, definedCommands } from '../shared/flags.js';
import { writeHelp } from '../shared/write-help.js';
import { createReference, describeCommand } from './reference.js';
import { TOPICS } from './topics.js';

export interface HelpFlags {
  json?: boolean;
  skill?: boolean;
}

/** Prints what `words` name: a command, a topic, or without any the program. Throws UsageError for anything else. */
export async function help(
  words: readonly string[],
  flags: HelpFlags,
  program: Command,
  context: Context,
): Promise<Exit> {
  const name = words.join(' ');
  if (flags.skill === true) await context.stdout.write(skill);
  else if (flags.json === true) await context.stdout.write(referenceText(name, program));
  else await writeHelp(helpText(name, program), program.opts().color, context.stdout, context);
  return ExitCode.ok;
}

function helpText(name: string, program: Command): string {
  if (name === '') return commandHelp(program);
  const commands = definedCommands(program);
  const command = commands.find((candidate) => commandPath(candidate) === name);
  if (command !== undefined) return commandHelp(command);
  const topic = TOPICS.get(name);
  if (topic !== undefined) return topic;
  const names = [...commands.map(commandPath), ...TOPICS.keys()];
  throw new UsageError([`no help on "${name}"; choose one of ${names.join(', ')}`]);
}

/** Returns the reference, or that of one command, as JSON. */
function referenceText(name: string, program: Command): string {
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
