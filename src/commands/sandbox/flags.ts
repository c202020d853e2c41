/** `wfr sandbox`: its flags, its help. */
import type { Command } from 'commander';
import type { CommandEntry, Start } from '../shared/command.js';
import { rawFlags } from '../shared/flags.js';
import type { SandboxFlags } from './options.js';

const HELP = `
Without a command it serves until it is interrupted, and prints the settings to
paste into another shell. With one, it runs the command with WFR_BASE_URL and
WFR_TOKEN set, and exits as the command did. With --fail-step, --reject,
--drop-answer and --slow, a script meets what it must survive.

Examples:
  wfr sandbox --list
  wfr sandbox -- wfr run 5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e \\
    invoice@scan.pdf customer=ACME
  wfr sandbox --workflows workflows.json -- ./pipeline.sh
  wfr sandbox --slow 0.1 --fail-step "Check totals" -- ./pipeline.sh
  wfr sandbox --drop-answer -- ./pipeline.sh`;

export const SANDBOX: CommandEntry = {
  name: 'sandbox',
  summary: 'a local service that speaks the same interface',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('Serve the same interface on 127.0.0.1, to try wfr and to test scripts.')
    .argument('[command...]', 'a command to run against it, after --')
    .option('--port <number>', 'the port to listen at (default: one that is free)')
    .option('--workflows <file>', 'define workflows in a JSON file, instead of the built-in ones')
    .option('--list', 'show the workflows and how to run each, and exit')
    .option(
      '--workflow-id-field <spelling>',
      'the spelling it reads: worfklowId, workflowId or either (default: either)',
    )
    .option('--strict', 'refuse unknown fields in a trigger')
    .option('--fail-step <step>', 'every run whose workflow has this step fails there')
    .option('--reject <status>', 'answer every trigger with this status, 400 to 599')
    .option('--drop-answer', 'start the run of a trigger, but close without an answer')
    .option('--slow <factor>', 'multiply the durations of runs, by 0.01 to 1000')
    .passThroughOptions()
    .addHelpText('after', HELP)
    .action((words: string[]) =>
      start(async (context) => {
        const { sandbox } = await import('./sandbox.js');
        return sandbox(words, rawFlags<SandboxFlags>(command), context);
      }),
    );
}
