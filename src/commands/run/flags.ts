/** `wfr run`: its flags, its help. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CommandEntry, Start } from '../shared/command.js';
import {
  addDocumentFlags,
  addOutputFlags,
  addReportFlags,
  addServiceFlags,
  addTriggerFlags,
  addWaitFlags,
  rawFlags,
} from '../shared/flags.js';
import type { RunFlags } from './plan.js';

const HELP = `
An input is written as name=text, name:=json, name@document, name=@textfile or
name:=@jsonfile; see wfr help inputs. The run's output is printed as JSON once
it is FINISHED, and the exit code says how it ended; see wfr help exit-codes.

Examples:
  wfr run 5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e invoice@scan.pdf customer=ACME
  wfr run 5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e amount:=12.50 | jq .total
  id=$(wfr run --detach 5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e invoice@scan.pdf)`;

/** The second of two files would silently win. */
function once(value: string, earlier: string | undefined): string {
  if (earlier === undefined) return value;
  throw new InvalidArgumentError(`It was given already, as ${earlier}.`);
}

export const RUN: CommandEntry = {
  name: 'run',
  summary: 'trigger a run, wait for its end, print its output',
  define,
};

function define(command: Command, start: Start): void {
  command
    .description('Trigger a run of a workflow, wait for its end and print its output.')
    .argument('<workflow>', "the workflow's UUID, or its URL")
    .argument('[input...]', 'inputs, such as name=text or name@document')
    .addOption(
      new Option('-i, --input <item>', 'an input, as the arguments are; repeatable').argParser(
        (value: string, earlier: string[] | undefined) => [...(earlier ?? []), value],
      ),
    )
    .addOption(
      new Option('--inputs-file <file|->', 'inputs from a JSON object; items override its keys').argParser(
        once,
      ),
    )
    .option('-d, --detach', 'return once the run is accepted, with its id (or --no-wait)')
    .addOption(new Option('--no-wait', 'the same as --detach').hideHelp())
    .option('--dry-run', 'print what would be sent, and send nothing');
  addTriggerFlags(command);
  addWaitFlags(command);
  addOutputFlags(command);
  addDocumentFlags(command);
  addReportFlags(command);
  addServiceFlags(command)
    .addOption(new Option('--exit-status', 'accepted and ignored').hideHelp())
    .addHelpText('after', HELP)
    .action((workflow: string, items: string[]) =>
      start(async (context) => {
        const { run } = await import('./run.js');
        return run(workflow, items, rawFlags<RunFlags>(command), context);
      }),
    );
}
