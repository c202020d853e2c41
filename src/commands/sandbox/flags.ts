/** The flags and the help of `wfr sandbox`. */
import type { CommandEntry } from '../shared/flags.js';

export const SANDBOX: CommandEntry = {
  name: 'sandbox',
  summary: 'run a local service, to try wfr and to test scripts',
  help: `
Without a command, serves until interrupted and prints settings for another
shell; a command gets them, and wfr exits as it does.
docs/sandbox.md describes the file of --workflows.

Examples:
  wfr sandbox --list
  wfr sandbox -- bash
  wfr sandbox --from-profile production -- ./pipeline.sh
  wfr sandbox --slow 0.1 --fail-step "Check totals" -- ./pipeline.sh`,
  define(command) {
    command
      .argument('[command...]', 'a command to run against it, after --')
      .option('--port <number>', 'port on 127.0.0.1 (default: any free)')
      .option('--workflows <file>', 'read workflows from a JSON file')
      .option('--from-profile <name>', 'serve the workflows of a profile')
      .option('--list', 'list the workflows and how to run them, and exit')
      .option('--fail-step <step>', 'fail every run that has this step, at this step')
      .option('--reject <code>', 'reject every trigger with this status, 400 to 599')
      .option('--drop-answer', 'start runs, but close the connection unanswered')
      .option('--slow <factor>', 'multiply the durations of runs by 0.01 to 1000')
      .passThroughOptions();
  },
  load: () => import('./sandbox.js'),
};
