/** `wfr status`: its flags, its help. */
import type { Command } from 'commander';
import type { CommandEntry, Start } from '../shared/command.js';
import { addOutputFlags, addServiceFlags, rawFlags } from '../shared/flags.js';
import type { StatusFlags } from './status.js';

const HELP = `
Examples:
  wfr status "$id"
  wfr status --json "$id" | jq -r .status
  wfr status --exit-status "$id" && echo "finished"`;

export const STATUS: CommandEntry = {
  name: 'status',
  summary: 'show a run as it is now',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('Show runs as they are now, without waiting.')
    .argument('<run-id...>', 'the ids that wfr run printed')
    .option('--exit-status', 'exit as watch would: 0, 1, or 8 while the run goes on');
  addOutputFlags(command);
  addServiceFlags(command)
    .addHelpText('after', HELP)
    .action((ids: string[]) =>
      start(async (context) => {
        const { status } = await import('./status.js');
        return status(ids, rawFlags<StatusFlags>(command), context);
      }),
    );
}
