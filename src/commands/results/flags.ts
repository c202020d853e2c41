/** The flags and the help of `wfr results`. */
import { addFlags, type CommandEntry, collect, common } from '../shared/flags.js';

export const RESULTS: CommandEntry = {
  name: 'results',
  summary: 'join, check and summarize the results of batches',
  help: `
Joins the files of all shards of a table: every row must be in exactly one file.
The exit code is that of wfr batch for all rows, or 2 if the files do not belong
together. Without --rows, --get or --output, it prints counts and reasons (see
wfr help exit-codes).

Examples:
  wfr results out.jsonl --rows customers.csv
  wfr results out.jsonl -o csv --rows customers.csv --excel > out.csv
  wfr results shard-*.jsonl --report html=report.html --report junit=report.xml`,
  define(command) {
    command.argument('<file...>', 'results files of wfr batch, or ids of batches in the history');
    addFlags(command, 'outputOfRows');
    command
      .optionsGroup('Output:')
      .addOption(
        common('--get <pointer>', 'print this value of each output, such as /total; repeatable').argParser(
          collect,
        ),
      )
      .addOption(common('--rows <file|->', 'print the columns and rows of the table, also those never sent'))
      .addOption(
        common('--excel', 'print CSV for spreadsheets: no cell is a formula, UTF-8 with a mark, CRLF'),
      )
      .option('--delimiter <char>', "separator of CSV cells, such as ';' or tab (default: ,)");
    addFlags(command, 'saveOutputs', 'saveDocuments', 'report');
  },
  load: async () => (await import('./results.js')).results,
};
