/** `wfr results`: its flags, its help. */
import type { Command } from 'commander';
import type { CommandEntry, Start } from '../shared/command.js';
import { addReportFlags, rawFlags } from '../shared/flags.js';
import type { ReportFlags } from '../shared/reports.js';

const HELP = `
The files of all shards of a table are joined: no row may be missing, and none
may be in two files. The exit code is that of wfr batch over all rows; 2 where
the files do not belong together.

Examples:
  wfr results out.jsonl
  wfr results shard-*.jsonl --report html=report.html --report junit=report.xml`;

export const RESULTS: CommandEntry = {
  name: 'results',
  summary: 'join and summarise the results of batches',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('Join the results files of batches, check that no row is missing or twice, and summarise.')
    .argument('<file...>', 'the files that wfr batch wrote with --results');
  addReportFlags(command)
    .addHelpText('after', HELP)
    .action((files: string[]) =>
      start(async (context) => {
        const { results } = await import('./results.js');
        return results(files, rawFlags<ReportFlags>(command), context);
      }),
    );
}
