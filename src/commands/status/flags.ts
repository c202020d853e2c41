/** The flags and the help of `wfr status`. */
import { type Command, Option } from 'commander';
import { addFlags, type CommandEntry, common, rawFlags, type Start } from '../shared/flags.js';
import type { StatusFlags } from './status.js';

const HELP = `
Examples:
  wfr status "$id"
  wfr status --json "$id" | jq -r .status
  wfr status --exit-status "$id" && echo "finished"`;

export const STATUS: CommandEntry = {
  name: 'status',
  summary: 'show the current state of runs',
  help: HELP,
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('Show the current state of runs, without waiting.')
    .argument('<run-id...>', 'ids that wfr run printed, their first 4 or more characters, or @last')
    .addOption(
      common(new Option('--exit-status', 'exit with 0 for FINISHED, 1 for FAILED, 8 while running')),
    );
  addFlags(command, 'output', 'get', 'service', 'messages').action((ids: string[]) =>
    start(async (context) => {
      const { status } = await import('./status.js');
      return status(ids, rawFlags<StatusFlags>(command), context);
    }),
  );
}
