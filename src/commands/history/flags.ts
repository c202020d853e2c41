/** The flags and the help of `wfr history`. */
import { type Command, Option } from 'commander';
import { addFlags, type CommandEntry, common, rawFlags, type Start } from '../shared/flags.js';
import type { HistoryFlags } from './history.js';

const HELP = `
Each line has the beginning of a run's id, the status last seen, the row in a
batch or the names of the documents, the age, and where there is room the
service, if there are several, and the workflow. -o id prints whole ids, and
--json all that is known. Where an id is expected, its beginning is enough.

In wfr status and wfr watch, @last is the id of the latest run at the current
service, and @last:<workflow> that of a workflow. The history is stored in
$XDG_STATE_HOME/wfr or ~/.local/state/wfr; WFR_HISTORY=0 turns it off.

Examples:
  wfr history --status failed
  wfr watch @last
  wfr history --json | jq -r '.[] | select(.status == "FAILED").id'`;

export const HISTORY: CommandEntry = {
  name: 'history',
  summary: 'list the runs triggered on this machine',
  help: HELP,
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('List the runs that you triggered on this machine, latest first.')
    .addOption(common(new Option('-n, --limit <number>', 'maximum number of runs to list (default: 20)')))
    .addOption(common(new Option('--status <status>', 'only runs with this status, such as FAILED')))
    .addOption(
      common(new Option('--workflow <workflow>', 'only runs of this workflow: UUID, URL or configured name')),
    );
  addFlags(command, 'output', 'profile', 'messages').action(() =>
    start(async (context) => {
      const { history } = await import('./history.js');
      return history(rawFlags<HistoryFlags>(command), context);
    }),
  );
}
