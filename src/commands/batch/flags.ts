/** The flags and the help of `wfr batch`. */
import { InvalidArgumentError } from 'commander';
import { addFlags, type CommandEntry, collect, common, rare, WORKFLOW } from '../shared/flags.js';

export const BATCH: CommandEntry = {
  name: 'batch',
  summary: 'trigger a run for each row of a table or each file',
  help: `
The results file records every step of every row: the same command, run again,
continues after any interruption and sends no row twice. The header of a table
has the names of inputs with their separators: customer,amount:=,invoice@.
docs/batch.md has the rest; wfr help exit-codes explains the words.

Examples (invoice is a configured name):
  wfr batch invoice --each invoice scans/inv-*.pdf
  wfr batch invoice --rows customers.csv --check
  wfr batch invoice --rows customers.csv -i to=EU`,
  define(command) {
    command
      .argument(...WORKFLOW)
      .argument('[file...]', 'the files of --each, or patterns')
      .optionsGroup('Rows:')
      .addOption(common('--rows <file|->', 'read a table: JSON Lines, or CSV with a header'))
      .option('--delimiter <char>', 'separator of CSV cells, if it is none of , ; or tab')
      .option('--label <column>', 'also show this input in row names')
      .option('--files-under <folder>', 'also allow files in this folder')
      .addOption(common('--each <parameter>', 'one run for each file, sent as this document'))
      .addOption(common('-i, --input <item>', 'default input of all rows; repeatable').argParser(collect))
      .option('--shard <i/n>', 'only the rows of shard i of n, such as 2/5')
      .option('--limit <number>', 'send at most so many rows never sent before')
      .addOption(common('--check', 'check all rows and files, and send nothing'))
      .optionsGroup('Results:')
      .addOption(common('--results <file|->', "each row's record (default: beside the table or folder)"))
      .option('--adopt <row>=<id>', 'the run of an unknown row, or none; repeatable', collect)
      .option('--resend-unknown [rows]', 'send unknown rows again: all, or such as 3,7-9', collectRowNumbers)
      .addOption(
        common(
          '--retry-failed [rows]',
          'trigger failed, rejected and lost rows again: all, or such as 3,7-9',
        ).argParser(collectRowNumbers),
      )
      .option('--send-changed', 'send held rows, such as changed ones')
      .option('--fail-fast', 'send no more rows after the first failure')
      .addOption(rare('--keep-going', 'send all rows, even if each is rejected alike'))
      .optionsGroup('Sending:')
      .option('--concurrency <number>', 'maximum number of concurrent runs (default: 8)')
      .option('--rate <number>', 'requests per second; 0 for no limit (default: 10)');
    addFlags(command, 'trigger', 'wait', 'saveOutputs', 'saveDocuments', 'report', 'errorData', 'service');
  },
  load: () => import('./batch.js'),
};

/**
 * Collects the row numbers of a flag with an optional value. Throws InvalidArgumentError for anything else: commander
 * takes the next argument as the value, which may be the workflow or a file.
 */
function collectRowNumbers(value: string, earlier: unknown): string {
  if (!/^[\d,\s-]+$/.test(value)) {
    throw new InvalidArgumentError(
      'expected row numbers, such as 3,7-9; without them, put the flag last or before another flag',
    );
  }
  return typeof earlier === 'string' ? `${earlier},${value}` : value;
}
