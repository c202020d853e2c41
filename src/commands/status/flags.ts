/** The flags and the help of `wfr status`. */
import { addFlags, type CommandEntry, common, RUN_IDS } from '../shared/flags.js';

export const STATUS: CommandEntry = {
  name: 'status',
  summary: 'show the current state of runs, without waiting',
  help: `
Examples:
  wfr status "$id"
  wfr status -o json "$id" | jq -r .status
  wfr status --exit-status "$id" && echo "finished"`,
  define(command) {
    command
      .argument(...RUN_IDS)
      .addOption(common('--exit-status', 'exit with 0 for FINISHED, 1 for FAILED, 8 while running'));
    addFlags(command, 'output', 'get', 'service');
  },
  load: () => import('./status.js'),
};
