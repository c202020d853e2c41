/** The flags and the help of `wfr results`. */
import type { Command } from 'commander';
import type { CommandEntry, Start } from '../shared/command.js';
import { addReportFlags, rawFlags } from '../shared/flags.js';
import type { ReportFlags } from '../shared/reports.js';

const HELP = `
Joins the files of all shards of a table: no row may be missing, and none may be
in two files. The exit code is that of wfr batch over all rows, or 2 if the
files do not belong to the same batch.

Examples:
  wfr results out.jsonl
  wfr results shard-*.jsonl --report html=report.html --report junit=report.xml`;

export const RESULTS: CommandEntry = {
  name: 'results',
  summary: 'join and summarize the results of batches',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('Join the results files of batches, check that each row is in exactly one, and summarize.')
    .argument('<file...>', 'files written by wfr batch --results');
  addReportFlags(command)
    .addHelpText('after', HELP)
    .action((files: string[]) =>
      start(async (context) => {
        const { results } = await import('./results.js');
        return results(files, rawFlags<ReportFlags>(command), context);
      }),
    );
}
