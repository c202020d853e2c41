/** The flags and the help of `wfr batch`. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CommandEntry, Start } from '../shared/command.js';
import {
  addReportFlags,
  addServiceFlags,
  addTriggerFlags,
  addWaitFlags,
  collect,
  rawFlags,
} from '../shared/flags.js';
import type { BatchFlags } from './plan.js';

const HELP = `
Rows are JSON Lines, each like an --inputs-file, or CSV with a header of names
and separators: customer,amount:=,invoice@. Paths are relative to the table.

Every step is written to the results file before it takes effect, so that the
same command can continue after any interruption: no row is sent twice. An
unknown outcome exits with 6 until --adopt, or --resend-unknown after all other
arguments; a lost run (404 for 60 s) with 7.

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
    .description('Run a workflow for each row of a table or each file, and wait for all runs.')
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
    .option('--results <file|->', 'the record of each row, and where to continue')
    .addOption(
      new Option('--adopt <row>=<id>', 'the run found for an unknown row; repeatable').argParser(collect),
    )
    .addOption(
      new Option('--resend-unknown [rows]', 'send unknown rows again: all, or such as 3,7-9').argParser(
        collectRowNumbers,
      ),
    )
    .option('--retry-failed', 'run failed and refused rows again')
    .option('--retry-lost', 'run lost rows again')
    .option('--fail-fast', 'send no further rows once one has failed')
    .optionsGroup('Sending:')
    .option('--concurrency <number>', 'runs in progress at once (default: 8)')
    .option('--rate <number>', 'requests per second, in total; 0: no limit (default: 10)');
  addTriggerFlags(command);
  addWaitFlags(command);
  addReportFlags(command);
  addServiceFlags(command)
    .addHelpText('after', HELP)
    .action((workflow: string, files: string[]) =>
      start(async (context) => {
        const { batch } = await import('./batch.js');
        return batch(workflow, files, rawFlags<BatchFlags>(command), context);
      }),
    );
}

/**
 * Collects the row numbers of a flag with an optional value. Throws InvalidArgumentError for anything else: commander
 * takes the next argument as the value, which may be the workflow or a file.
 */
function collectRowNumbers(value: string, earlier: unknown): string {
  if (!/^[\d,\s-]+$/.test(value)) {
    throw new InvalidArgumentError(
      'Expected row numbers, such as 3,7-9; to select all rows, put the flag last or before another flag.',
    );
  }
  return typeof earlier === 'string' ? `${earlier},${value}` : value;
}
