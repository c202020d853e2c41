/** The commander program: every command's name and summary, and the flags of the one that is run. */
import { Command, CommanderError } from 'commander';
import { BATCH } from './commands/batch/flags.js';
import { COMPLETE, COMPLETION } from './commands/completion/flags.js';
import { CONFIG } from './commands/config/flags.js';
import { HELP } from './commands/help/flags.js';
import { HISTORY } from './commands/history/flags.js';
import { RESULTS } from './commands/results/flags.js';
import { RUN } from './commands/run/flags.js';
import { SANDBOX } from './commands/sandbox/flags.js';
import { addHiddenGlobalFlags, type CommandEntry, rawFlags } from './commands/shared/flags.js';
import type { ReportFlags } from './commands/shared/output-flags.js';
import { usageErrorOf } from './commands/shared/usage-problem.js';
import { helpLayout, helpWidth, shortenHelp, writeHelp } from './commands/shared/write-help.js';
import { STATUS } from './commands/status/flags.js';
import { WATCH } from './commands/watch/flags.js';
import { throwUnless, type UsageError } from './errors.js';
import { type Exit, ExitCode } from './exit-code.js';
import { type Context, VERSION } from './platform/context.js';

const COMMANDS: Readonly<Record<string, readonly CommandEntry[]>> = {
  'Runs:': [RUN, STATUS, WATCH, HISTORY],
  'Batches:': [BATCH, RESULTS],
  'Setup:': [SANDBOX, CONFIG, COMPLETION, HELP, COMPLETE],
};

const EXAMPLES = `
Set WFR_BASE_URL and WFR_TOKEN_FILE first. Or try wfr in a shell with a local
service, which prints what to run: wfr sandbox -- bash

Examples:
  wfr run 3c0ffee1-4a2b-4c3d-8e5f-6a7b8c9d0e1f name=Ada
  wfr watch @last

Help: wfr <command> -h, wfr help inputs, config, exit-codes or environment
Agents: wfr help --skill`;

/** With the command that commander was parsing. */
type ParseError = CommanderError & { command?: Command };

/** Parses `args` (without node and script) and runs their command. Throws UsageError, and what the command throws. */
export async function runProgram(args: readonly string[], context: Context): Promise<Exit> {
  const { stdout, stderr } = context;
  let output = stdout;
  // Unless an action says otherwise.
  let exit: Exit = ExitCode.internalError;
  const written: string[] = [];
  const program = createProgram();
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    throwUnless(error, CommanderError);
    const { command = program } = error as ParseError;
    if (error.code === 'commander.help' && (command !== program || args.length === 0)) {
      command.configureOutput({ getOutHelpWidth: () => helpWidth(stderr) }).outputHelp();
      exit = ExitCode.usage;
      output = stderr;
    } else if (error.exitCode !== 0)
      return failParsing(usageErrorOf(error, command, defineOthers), command, context);
    // commander also throws after --help and --version, which have been written.
    else exit = ExitCode.ok;
  }
  // The help that was asked for, also by wfr help, or the version.
  if (written.length > 0) await writeHelp(written.join(''), program.opts().color, output, context);
  return exit;

  function createProgram(): Command {
    const throwFrom = (command: Command) =>
      command.exitOverride((error) => {
        throw Object.assign(error, { command });
      });
    const isShort = args.includes('-h');
    const program = new Command('wfr')
      .description('Trigger runs of hosted workflows and watch them to their end.')
      .version(VERSION, '-V, --version', 'print the version')
      .helpOption('-h, --help', 'show this help')
      .helpCommand(false)
      .enablePositionalOptions()
      .configureHelp(helpLayout(isShort))
      .configureOutput({
        getOutHelpWidth: () => helpWidth(stdout),
        writeOut: (text) => written.push(text),
        writeErr: () => {},
      })
      .addHelpText('after', EXAMPLES);
    throwFrom(program);
    // Defining them would take half a millisecond at every start.
    const [first = ''] = args;
    if (/^-(?!h$|-help$)/.test(first) || first === COMPLETE.name) addHiddenGlobalFlags(program);
    const isReference = args.includes(HELP.name) && args.includes('--json');
    const add = (parent: Command, { name, summary, isHidden = false, ...entry }: CommandEntry) => {
      const command = throwFrom(
        parent.command(name, { hidden: isHidden }).summary(summary).helpCommand(false),
      );
      command.description(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`);
      // Defining the flags of all commands would take 3 ms at every start; wfr help --json describes them.
      if (!args.includes(name) && !isReference && parent === program) return;
      entry.define(command);
      const { load } = entry;
      if (load)
        command.action(async () => {
          const { execute } = await load();
          exit = await execute(command.args, rawFlags<never>(command), context, program);
        });
      for (const part of entry.parts ?? []) add(command, part);
      const { help } = entry;
      if (help !== undefined) command.addHelpText('after', isShort ? shortenHelp(command, help) : help);
    };
    for (const [group, entries] of Object.entries(COMMANDS)) {
      program.commandsGroup(group);
      for (const entry of entries) add(program, entry);
    }
    return program;
  }
}

/** Defines the commands whose flags are mistaken for one another. */
function defineOthers(): Command[] {
  return [RUN, WATCH, STATUS, BATCH, RESULTS, HISTORY].map(({ name, define }) => {
    const command = new Command(name);
    define(command);
    return command;
  });
}

/** Writes the reports that were parsed before the mistake. Throws the error, unless it is a part of them. */
async function failParsing(error: UsageError, command: Command, context: Context): Promise<Exit> {
  const flags = rawFlags<ReportFlags>(command);
  if (!flags.report) throw error;
  const { runCommand } = await import('./commands/shared/session.js');
  return runCommand(flags, [], context, () => Promise.reject(error));
}
