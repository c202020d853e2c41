/** Compares a command with the one that is recorded in its --once file. */
import { ONCE_ROW, type OnceFile, type OnceTarget } from '../../batch/journal/once-file.js';
import { mayChange } from '../../batch/next-action.js';
import { UsageError } from '../../errors.js';
import type { DigestedInputs, InputDigests } from '../../inputs/digest-inputs.js';
import { resumeCommands } from '../shared/print-outcome.js';
import type { OncePlan } from './once-plan.js';
import type { RunPlan } from './plan.js';

/**
 * Throws UsageError, naming each difference, if a run of the recorded command exists or may exist and this command has
 * another workflow, service or inputs. Reads all documents.
 */
export async function assertSameCommand(
  { record, rowStates }: OnceFile,
  target: OnceTarget,
  inputs: DigestedInputs,
  plan: RunPlan,
  { file: { name } }: OncePlan,
): Promise<void> {
  if (mayChange(rowStates.state(ONCE_ROW))) return;
  const differences = [
    ...differentTarget('workflow', record.target.workflow, target.workflow),
    ...differentTarget('service', record.target.baseUrl, target.baseUrl),
    ...differentInputs(record.inputs, await inputs.digests()),
  ];
  if (differences.length === 0) return;
  const { id } = record;
  const next =
    id === undefined
      ? 'for another run, use another file'
      : `to watch its run: ${resumeCommands([id], plan.settings, undefined).watch}; for another run, use another file`;
  throw new UsageError([
    ...differences.map((difference) => `--once ${name}: ${difference}`),
    `--once ${name}: was recorded by another command; ${next}`,
  ]);
}

function differentTarget(what: string, recorded: string, actual: string): string[] {
  return recorded === actual ? [] : [`the ${what} is ${actual}, and was ${recorded}`];
}

function differentInputs(recorded: InputDigests, actual: InputDigests): string[] {
  const names = [...new Set([...Object.keys(recorded), ...Object.keys(actual)])];
  return names.flatMap((name) => {
    if (!Object.hasOwn(recorded, name)) return [`the input "${name}" is new`];
    if (!Object.hasOwn(actual, name)) return [`the input "${name}" is missing`];
    return recorded[name] === actual[name] ? [] : [`the input "${name}" has changed`];
  });
}
