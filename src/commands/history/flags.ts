/** `wfr history`: its flags, its help. */
import type { Command } from 'commander';
import type { CommandEntry, Start } from '../shared/command.js';
import { addOutputFlags, rawFlags } from '../shared/flags.js';
import type { HistoryFlags } from './history.js';

const TEXT = `
A line has the run's id, its status as it was seen last, when it was triggered,
the workflow, the names of its inputs (never their values) and the service.

@last stands for the id of the latest run at the service in use, in wfr status
and wfr watch; @last:<workflow> for the latest one of a workflow. The history is
in $XDG_STATE_HOME/wfr or ~/.local/state/wfr; WFR_HISTORY=0 keeps none.

Examples:
  wfr history
  wfr watch @last
  wfr history --json | jq -r '.[] | select(.status == "FAILED").id'`;

export const HISTORY: CommandEntry = {
  name: 'history',
  summary: 'the runs that were triggered from here',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('Show the runs that were triggered from here, the latest first.')
    .option('-n, --limit <number>', 'at most so many runs (default: 20)');
  addOutputFlags(command)
    .addHelpText('after', TEXT)
    .action(() =>
      start(async (context) => {
        const { history } = await import('./history.js');
        return history(rawFlags<HistoryFlags>(command), context);
      }),
    );
}
