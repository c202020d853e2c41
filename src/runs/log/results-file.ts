/** Opens the results file of a batch, new or existing: locks it, reads the row states, compares it with the command. */
import { randomBytes } from 'node:crypto';
import { BatchFileError } from '../../errors.js';
import { differentInputs } from './common-inputs.js';
import type { Header } from './events.js';
import type { Log } from './log.js';
import { assertResultsFile, openLogFile, withFileName } from './log-file.js';
import type { OwnedFileOptions } from './owned-file.js';
import { hasNoRun } from './reduce.js';
import type { RowStates } from './row-states.js';

/** The batch that a results file is for. */
export interface Batch {
  header: Header;
  /** The inputs of all rows. */
  inputs: Parameters<typeof differentInputs>[1];
}

/** Returns a new key for the digests of the rows of a file. */
export function newRowSalt(): string {
  return randomBytes(16).toString('hex');
}

/**
 * Opens or creates a results file. Throws UsageError if another process has it open, or if it belongs to another workflow,
 * service or shard, or to other inputs of all rows.
 */
export async function openResultsFile(options: OwnedFileOptions, { header, inputs }: Batch): Promise<Log> {
  const { name, path } = options;
  await withFileName('--results', name, assertResultsFile(path, name));
  const { log, header: recorded } = await withFileName('--results', name, openLogFile(options));
  try {
    const differences = recorded?.inputs && differentInputs(recorded.inputs, inputs);
    if (recorded !== undefined) {
      assertSameBatch(recorded, header, log.rows, name);
      if (!hasOnlyOpenRows(log.rows)) assertSameInputs(differences ?? [], name);
    }
    // While no run exists or may exist, everything but the shard may change.
    if (differences?.length !== 0 || !isSameTarget(recorded, header))
      await log.commit({
        event: 'batch',
        ...header,
        ...(recorded?.rowSalt && { rowSalt: recorded.rowSalt }),
      });
    return log;
  } catch (error) {
    await log.close().catch(() => {});
    throw error;
  }
}

function assertSameBatch(recorded: Header, header: Header, rowStates: RowStates, name: string): void {
  if (recorded.salt !== undefined)
    throw new BatchFileError(`--results ${name}: belongs to wfr run --once; use another file`);
  const isOpen = hasOnlyOpenRows(rowStates);
  for (const key of ['workflow', 'baseUrl', 'shard'] as const) {
    if (recorded[key] === header[key] || (isOpen && key !== 'shard')) continue;
    throw new BatchFileError(
      `--results ${name}: belongs to a batch with the ${key} ${recorded[key]}, not ${header[key]}; use another file`,
    );
  }
}

function isSameTarget(recorded: Header | undefined, { workflow, baseUrl }: Header): boolean {
  return recorded?.workflow === workflow && recorded.baseUrl === baseUrl;
}

/** Returns whether no run of a row exists or may exist. */
function hasOnlyOpenRows(rowStates: RowStates): boolean {
  return [...rowStates.counts()].every(([state, count]) => count === 0 || hasNoRun(state));
}

function assertSameInputs(differences: readonly string[], name: string): void {
  if (differences.length === 0) return;
  throw new BatchFileError(
    `--results ${name}: belongs to a batch with other inputs: ${differences.join(', ')}; use another file, or the same inputs`,
  );
}
