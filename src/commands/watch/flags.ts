/** The flags and the help of `wfr watch`. */
import { addFlags, type CommandEntry, RUN_IDS } from '../shared/flags.js';

export const WATCH: CommandEntry = {
  name: 'watch',
  summary: 'wait for existing runs to end, and print the output of one',
  help: `
The exit code is that of wfr run, also for a run that has ended; 3 for several
that end differently.

Examples:
  wfr watch "$id"
  wfr watch --timeout 10m "$id" > output.json
  wfr watch "$id" --report junit=report.xml`,
  define(command) {
    command.argument(...RUN_IDS);
    addFlags(command, 'wait', 'output', 'get', 'saveOutputs', 'saveDocuments', 'report', 'service');
  },
  load: () => import('./watch.js'),
};
