/** `wfr help`: prints the help of a command or a topic, the reference as JSON, or the skill for agents. */
import type { Command } from 'commander';
import skill from '../../../skills/wfr/SKILL.md?raw';
import { UsageError, unknownName } from '../../errors.js';
import { type Exit, ExitCode } from '../../exit-code.js';
import type { Context } from '../../platform/context.js';
import { commandPath, TOPIC_NAMES } from '../shared/flags.js';
import { helpWidth, writeHelp } from '../shared/write-help.js';
import { createReference, definedCommands, describeCommand } from './reference.js';
import { TOPICS } from './topics.js';

/** Prints what `words` name: a command, a topic, or without any the program. Throws UsageError for anything else. */
export async function execute(
  words: readonly string[],
  flags: { json?: boolean; skill?: boolean },
  context: Context,
  program: Command,
): Promise<Exit> {
  const { stdout } = context;
  const name = words.join(' ');
  const commands = definedCommands(program);
  const command = name === '' ? program : commands.find((candidate) => commandPath(candidate) === name);
  if (flags.skill) await stdout.write(skill);
  else if (flags.json) {
    if (!command) throw new UsageError(`--json: "${name}" is not a command`);
    const reference = command === program ? createReference(program) : describeCommand(command);
    await stdout.write(`${JSON.stringify(reference, null, 2)}\n`);
  } else if (command) command.outputHelp();
  else {
    const topic = TOPIC_NAMES.find((candidate) => candidate === name);
    if (!topic)
      throw unknownName(`no help on "${name}"; `, name, [...commands.map(commandPath), ...TOPIC_NAMES]);
    await writeHelp(TOPICS[topic](helpWidth(stdout)), program.opts().color, stdout, context);
  }
  return ExitCode.ok;
}
