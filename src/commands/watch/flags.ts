/** `wfr watch`: its flags, its help. */
import { type Command, Option } from 'commander';
import type { CommandEntry, Start } from '../shared/command.js';
import {
  addDocumentFlags,
  addOutputFlags,
  addReportFlags,
  addServiceFlags,
  addWaitFlags,
  rawFlags,
} from '../shared/flags.js';
import type { WatchFlags } from './watch.js';

const HELP = `
The exit code is the same as that of wfr run: 0 for FINISHED, 1 for FAILED.
Watching a run that has ended gives the same code as watching it live.

Examples:
  wfr watch "$id"
  wfr watch --timeout 10m "$id" > output.json
  wfr watch "$id" "$other" --output jsonl
  wfr watch "$id" --report github --report junit=report.xml`;

export const WATCH: CommandEntry = {
  name: 'watch',
  summary: 'wait for runs that already exist',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('Wait for runs that already exist, and print the output of a single one.')
    .argument('<run-id...>', 'the ids that wfr run printed');
  addWaitFlags(command);
  addOutputFlags(command);
  addDocumentFlags(command);
  addReportFlags(command);
  addServiceFlags(command)
    .addOption(new Option('--exit-status', 'accepted and ignored').hideHelp())
    .addHelpText('after', HELP)
    .action((ids: string[]) =>
      start(async (context) => {
        const { watch } = await import('./watch.js');
        return watch(ids, rawFlags<WatchFlags>(command), context);
      }),
    );
}
