/** Opens the results file of a batch, new or existing: locks it, reads the row states, compares them with the table. */
import { BatchFileError } from '../../errors.js';
import type { Row } from '../../table/row.js';
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
  rows(): AsyncIterable<Row>;
}

/**
 * Opens or creates a results file. Throws UsageError if another process has it open, or if it belongs to another workflow,
 * service, shard or table.
 */
export async function openResultsFile(
  options: OwnedFileOptions,
  { header, inputs, rows }: Batch,
): Promise<Log> {
  const { name, path } = options;
  await withFileName('--results', name, assertResultsFile(path, name));
  const { log, header: recorded } = await withFileName('--results', name, openLogFile(options));
  try {
    const differences = recorded?.inputs && differentInputs(recorded.inputs, inputs);
    if (recorded !== undefined) {
      assertSameBatch(recorded, header, log.rows, name);
      await assertSameTable(log.rows, rows(), name, differences);
    }
    // While no run exists or may exist, everything but the shard may change.
    if (differences?.length !== 0 || !isSameTarget(recorded, header))
      await log.commit({ event: 'batch', ...header });
    return log;
  } catch (error) {
    await log.close().catch(() => {});
    throw error;
  }
}

function assertSameBatch(recorded: Header, header: Header, rowStates: RowStates, name: string): void {
  if (recorded.salt !== undefined)
    throw new BatchFileError(`--results ${name}: belongs to wfr run --once; use another file`);
  const isOpen = [...rowStates.counts()].every(([state, count]) => count === 0 || hasNoRun(state));
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

async function assertSameTable(
  rowStates: RowStates,
  rows: AsyncIterable<Row>,
  name: string,
  differences: readonly string[] = [],
): Promise<void> {
  let last = 0;
  for await (const { number, digest, label } of rows) {
    if (number > rowStates.lastRow) return;
    last = number;
    if (!hasNoRun(rowStates.state(number)) && rowStates.digest(number) !== digest) {
      if (differences.length > 0) {
        const what = differences.join(', ');
        throw new BatchFileError(
          `--results ${name}: belongs to a batch with other inputs: ${what}; use another file, or the same inputs`,
        );
      }
      throw new BatchFileError(
        `${label}: has changed since ${name} was created; use another --results file for another table`,
      );
    }
  }
  if (last < rowStates.lastRow) {
    throw new BatchFileError(
      `the table ends with row ${last}, but ${name} has row ${rowStates.lastRow}; use another --results file for another table`,
    );
  }
}
