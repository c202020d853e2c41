/** The flags and the help of `wfr run`. */
import { InvalidArgumentError } from 'commander';
import { addFlags, type CommandEntry, collect, common, rare, WORKFLOW } from '../shared/flags.js';

/** Rejects a second value, which would silently override the first. */
function onlyOnce(value: string, earlier: string | undefined): string {
  if (earlier === undefined) return value;
  throw new InvalidArgumentError(`it may be given only once; it is already ${earlier}`);
}

export const RUN: CommandEntry = {
  name: 'run',
  summary: 'trigger a run, wait for it to end, and print its output',
  help: `
Prints the output as JSON once the run is FINISHED; the exit code tells how it
ended (wfr help exit-codes).

With --once, the same command continues after any interruption and triggers no
second run. If it says that one may exist, look in the service, then add
--adopt <id>, or --resend-unknown if there is none.
docs/once.md has the rest.

Examples (invoice is a configured name):
  wfr run 3c0ffee1-4a2b-4c3d-8e5f-6a7b8c9d0e1f name=Ada
  wfr run invoice amount:=12.50 --get /total
  id=$(wfr run --detach invoice invoice@scan.pdf)`,
  define(command) {
    command
      .argument(...WORKFLOW)
      .argument(
        '[input...]',
        'name=text, name:=json, name@document, name@=textfile or name@:=jsonfile; see wfr help inputs',
      )
      .option('-i, --input <item>', 'an input, the same as an argument; repeatable', collect)
      .addOption(
        common(
          '--inputs-file <file|->',
          'read inputs from a JSON object; other inputs override its keys',
        ).argParser(onlyOnce),
      )
      .addOption(rare('--no-documents', 'reject documents in the inputs file, for JSON from outside'))
      .addOption(common('-d, --detach', 'print the id once accepted, and do not wait'))
      .addOption(common('--dry-run', 'print what would be sent, without sending it'))
      .optionsGroup('At most once:')
      .addOption(common('--once <file>', 'trigger one run at most: the file records it'))
      .option('--adopt <id>', 'the run found for an unknown outcome')
      .option('--resend-unknown', 'send again although the outcome is unknown')
      .option('--retry-failed', 'trigger a FAILED or lost run again');
    addFlags(command, 'trigger', 'wait', 'output', 'get', 'saveDocuments', 'report', 'service');
  },
  load: () => import('./run.js'),
};
