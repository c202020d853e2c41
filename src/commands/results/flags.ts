/** The flags and the help of `wfr results`. */
import { addFlags, type CommandEntry, collect, common } from '../shared/flags.js';

export const RESULTS: CommandEntry = {
  name: 'results',
  summary: 'list, export and check results of batches',
  help: `
Prints how many rows ended how, and why (words: wfr help exit-codes); before
that, the rows with --rows, --get or -o csv. Where a line has another row
number, as in 2 (row 6), --retry-failed takes that.

Files of shards are joined: each row must be in exactly one.

Examples:
  wfr results out.jsonl --rows
  wfr results out.jsonl --rows customers.csv -o csv --excel > out.csv
  wfr results shard-*.jsonl --report html=report.html`,
  define(command) {
    command.argument('<file...>', 'results files, ids of batches, or @last');
    addFlags(command, 'outputOfRows');
    command
      .optionsGroup('Output:')
      .addOption(
        common(
          '--get <pointer>',
          "print this value of each output, such as /total, '' for all, or this column of --rows; repeatable",
        ).argParser(collect),
      )
      .addOption(common('--rows [file|-]', 'print the rows, with columns of this table or the sent one'))
      .addOption(
        common('--only <outcome>', 'print only rows such as failed, or unfinished; repeatable').argParser(
          collect,
        ),
      )
      .addOption(common('--excel', 'print CSV for spreadsheets: no formulas, UTF-8 with a mark, CRLF'))
      .option('--delimiter <char>', "separator of CSV cells, such as ';' or tab (default: ,)");
    addFlags(command, 'saveOutputs', 'saveDocuments', 'report');
  },
  load: () => import('./results.js'),
};
