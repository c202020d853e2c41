/** The flags and the help of `wfr history`. */
import { addFlags, type CommandEntry, common } from '../shared/flags.js';

export const HISTORY: CommandEntry = {
  name: 'history',
  summary: 'list the runs triggered on this machine, latest first',
  help: `
In wfr status and wfr watch, the beginning of an id stands for it, @last for the
latest run at the current service, and @last:<workflow> for that of a workflow.
A batch is one line, with its rows as its last command left them; wfr results
takes its id. --status lists the runs of its rows, too. The history is in
$XDG_STATE_HOME/wfr or ~/.local/state/wfr; WFR_HISTORY=0 turns it off.

Examples:
  wfr history --status failed -o id
  wfr watch @last`,
  define(command) {
    command
      .addOption(common('-n, --limit <number>', 'list at most so many (default: 20)'))
      .addOption(common('--status <status>', 'only those with this status, such as FAILED'))
      .addOption(common('--workflow <workflow>', 'only runs of this workflow'));
    addFlags(command, 'output', 'profile', 'messages');
  },
  load: () => import('./history.js'),
};
