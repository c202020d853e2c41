/** `wfr batch`: its flags, its help. */
import { type Command, Option } from 'commander';
import type { BatchFlags } from '../commands/batch-plan.js';
import { addReportFlags, addServiceFlags, addWaitFlags, collect, writtenFlags } from './flags.js';
import type { CommandEntry, Start } from './start.js';

const HELP = `
Rows are JSON Lines, each like an --inputs-file, or CSV whose header has the
heads of items: customer,amount:=,invoice@. Paths are relative to the table.

Every step of every row is written to the results file before it counts, so that
the same command goes on where it stopped, whatever stopped it: no row is sent
twice. A row whose outcome nobody knows is listed, and exits with 6; a lost one
(404 for 60 s) with 7.

Examples:
  wfr batch invoice --each invoice scans/*.pdf --results out.jsonl
  wfr batch invoice --rows customers.csv -i region=EU --results out.jsonl
  wfr batch invoice --rows customers.csv --check`;

export const BATCH: CommandEntry = {
  name: 'batch',
  summary: 'many runs from a table or a list of files, resumable',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('Trigger a run of a workflow for each row of a table or each file, and wait for all.')
    .argument('<workflow>', "the workflow's UUID, its URL, or a name from the config")
    .argument('[file...]', 'with --each, the files')
    .optionsGroup('Rows:')
    .option('--rows <file|->', 'a table: JSON Lines, or CSV with a header')
    .option('--each <name>', 'one run for each file, sent as the document <name>')
    .addOption(
      new Option('-i, --input <item>', "an input of every row; a row's own wins; repeatable").argParser(
        collect,
      ),
    )
    .option('--shard <i/n>', 'only every n-th row, the i-th of them')
    .option('--check', 'check all rows and files, and send nothing')
    .optionsGroup('Results:')
    .option('--results <file|->', 'where to write what becomes of each row, and to go on from')
    .option('--resend-unknown', 'send rows again whose outcome is unknown')
    .option('--retry-failed', 'trigger rows anew that FAILED or were refused')
    .option('--retry-lost', 'trigger lost rows anew')
    .option('--fail-fast', 'send no further row once one has failed')
    .optionsGroup('Pace:')
    .option('--concurrency <number>', 'runs under way at once (default: 8)')
    .option('--rate <number>', 'requests a second, for everything; 0: no limit (default: 10)');
  addWaitFlags(command);
  addReportFlags(command);
  addServiceFlags(command)
    .option('--workflow-id-field <field>', 'auto, worfklowId, workflowId or both (default: auto)')
    .addHelpText('after', HELP)
    .action((workflow: string, files: string[]) =>
      start(async (context) => {
        const { batch } = await import('../commands/batch.js');
        return batch(workflow, files, writtenFlags<BatchFlags>(command), context);
      }),
    );
}
