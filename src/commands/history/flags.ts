/** The flags and the help of `wfr history`. */
import { addFlags, type CommandEntry, common, rawFlags } from '../shared/flags.js';

export const HISTORY: CommandEntry = {
  name: 'history',
  summary: 'list the runs triggered on this machine',
  help: `
Each line has the beginning of a run's id, which stands for it wherever an id is
expected, the status last seen, the workflow with the row or the documents, the
age, and the service if there are several. -o id prints whole ids.

In wfr status and wfr watch, @last is the latest run at the current service,
and @last:<workflow> that of a workflow. The history is in
$XDG_STATE_HOME/wfr or ~/.local/state/wfr; WFR_HISTORY=0 turns it off.

Examples:
  wfr history --status failed
  wfr watch @last
  wfr history -o json | jq -r '.[] | select(.status == "FAILED").id'`,
  define(command) {
    command
      .description('List the runs that you triggered on this machine, latest first.')
      .addOption(common('-n, --limit <number>', 'maximum number of runs to list (default: 20)'))
      .addOption(common('--status <status>', 'only runs with this status, such as FAILED'))
      .addOption(common('--workflow <workflow>', 'only runs of this workflow: UUID, URL or configured name'));
    addFlags(command, 'output', 'profile', 'messages');
  },
  async run(command, context) {
    const { history } = await import('./history.js');
    return history(rawFlags(command), context);
  },
};
