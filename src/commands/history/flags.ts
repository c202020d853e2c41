/** The flags and the help of `wfr history`. */
import type { Command } from 'commander';
import type { CommandEntry, Start } from '../shared/command.js';
import { addOutputFlags, rawFlags } from '../shared/flags.js';
import type { HistoryFlags } from './history.js';

const HELP = `
Each line has a run's id, the status last seen, the time of the trigger, the
workflow, the names of the inputs (never their values) and the service.

In wfr status and wfr watch, @last is the id of the latest run at the current
service, and @last:<workflow> that of a workflow. The history is stored in
$XDG_STATE_HOME/wfr or ~/.local/state/wfr; WFR_HISTORY=0 turns it off.

Examples:
  wfr history
  wfr watch @last
  wfr history --json | jq -r '.[] | select(.status == "FAILED").id'`;

export const HISTORY: CommandEntry = {
  name: 'history',
  summary: 'list the runs triggered on this machine',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('List the runs that you triggered on this machine, latest first.')
    .option('-n, --limit <number>', 'maximum number of runs to list (default: 20)');
  addOutputFlags(command)
    .addHelpText('after', HELP)
    .action(() =>
      start(async (context) => {
        const { history } = await import('./history.js');
        return history(rawFlags<HistoryFlags>(command), context);
      }),
    );
}
