/** Opens the results file of a batch, new or existing: locks it, reads the row states, compares them with the table. */
import { BatchFileError } from '../../errors.js';
import { mayChange } from '../next-action.js';
import type { Row } from '../row.js';
import type { RowStates } from '../row-states.js';
import { differentInputs } from './common-inputs.js';
import { type OpenResults, openJournalFile, withFileName } from './journal-file.js';
import type { OwnedFileOptions } from './owned-file.js';
import { assertResultsFile, type BatchHeader, type ReadEvent } from './read-events.js';

/** The batch that a results file is for. */
export interface Batch {
  header: BatchHeader;
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
): Promise<OpenResults> {
  const { name, path } = options;
  let recorded: BatchHeader | undefined;
  const checkHeader = (event: ReadEvent) => {
    if (event.event === 'batch') {
      recorded = event.fields as unknown as BatchHeader;
    } else if (recorded === undefined) {
      throw new BatchFileError(`--results ${name}: has rows before its "batch" line`);
    }
  };
  await withFileName('--results', name, assertResultsFile(path, name));
  const results = await withFileName('--results', name, openJournalFile(options, checkHeader));
  try {
    const differences = recorded?.inputs && differentInputs(recorded.inputs, inputs);
    if (recorded !== undefined) {
      assertSameBatch(recorded, header, results.rowStates, name);
      await assertSameTable(results.rowStates, rows(), name, differences);
    }
    // While no run exists or may exist, everything but the shard may change.
    if (differences?.length !== 0 || !isSameTarget(recorded, header))
      await results.journal.commit({ event: 'batch', ...header });
    return results;
  } catch (error) {
    await results.close().catch(() => {});
    throw error;
  }
}

function assertSameBatch(
  recorded: BatchHeader,
  header: BatchHeader,
  rowStates: RowStates,
  name: string,
): void {
  if (recorded.salt !== undefined)
    throw new BatchFileError(`--results ${name}: belongs to wfr run --once; use another file`);
  const isOpen = [...rowStates.counts()].every(([state, count]) => count === 0 || mayChange(state));
  for (const key of ['workflow', 'baseUrl', 'shard'] as const) {
    if (recorded[key] === header[key] || (isOpen && key !== 'shard')) continue;
    throw new BatchFileError(
      `--results ${name}: belongs to a batch with the ${key} ${recorded[key]}, not ${header[key]}; use another file`,
    );
  }
}

function isSameTarget(recorded: BatchHeader | undefined, { workflow, baseUrl }: BatchHeader): boolean {
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
    if (!mayChange(rowStates.state(number)) && rowStates.digest(number) !== digest) {
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
