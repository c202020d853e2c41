/** Opens the results file of a batch, new or existing: locks it, reads the row states, compares them with the table. */
import { BatchFileError, UsageError } from '../../errors.js';
import { describeSystemError } from '../../platform/system-error.js';
import type { Row } from '../row.js';
import { RowStates } from '../row-states.js';
import { FileJournal, type Journal } from './journal.js';
import { OwnedFile, type OwnedFileOptions } from './owned-file.js';
import { assertResultsFile, type BatchHeader, parseEvents, type ReadEvent } from './read-events.js';

/** The journal of a batch, and the row states recorded so far. */
export interface OpenResults {
  journal: Journal;
  rowStates: RowStates;
  /** Writes what is pending, and releases the lock. Throws OutputError. */
  close(): Promise<void>;
}

/**
 * Opens or creates a results file. Throws UsageError if another process has it open, or if it belongs to another workflow,
 * service, shard or table.
 */
export async function openResultsFile(
  options: OwnedFileOptions,
  header: BatchHeader,
  rows: () => AsyncIterable<Row>,
): Promise<OpenResults> {
  const { name, path, clock } = options;
  await withFileName(name, assertResultsFile(path, name));
  const file = await withFileName(name, OwnedFile.open(options));
  try {
    const { rowStates, hasHeader } = await withFileName(name, readRowStates(file, name, header));
    if (hasHeader) await assertSameTable(rowStates, rows(), name);
    const journal = new FileJournal(file, () => clock.now());
    if (!hasHeader) await journal.commit({ event: 'batch', ...header });
    return { journal, rowStates, close: () => journal.close() };
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
}

async function readRowStates(
  file: OwnedFile,
  name: string,
  header: BatchHeader,
): Promise<{ rowStates: RowStates; hasHeader: boolean }> {
  const rowStates = new RowStates();
  let hasHeader = false;
  for await (const event of parseEvents(file.read(), name)) {
    if (event.event === 'batch') {
      assertSameBatch(event, header, name);
      hasHeader = true;
    } else if (!hasHeader) {
      throw new BatchFileError(`--results ${name}: has rows before its "batch" line`);
    }
    recordEvent(event, rowStates);
  }
  return { rowStates, hasHeader };
}

/** Updates the row states with an event of a results file. */
export function recordEvent({ event, row, fields, run }: ReadEvent, rowStates: RowStates): void {
  const { digest, id, exit } = fields;
  if (event === 'intent') rowStates.record({ event, row, digest: String(digest) });
  else if (event === 'sent' || event === 'lost') rowStates.record({ event, row });
  else if (event === 'accepted') rowStates.record({ event, row, id: String(id) });
  else if (event === 'refused') rowStates.record({ event, row, exit: Number(exit) });
  else if (event === 'ended') rowStates.record({ event, row, status: run?.status, step: run?.error?.step });
}

function assertSameBatch({ fields }: ReadEvent, header: BatchHeader, name: string): void {
  for (const key of ['workflow', 'baseUrl', 'shard'] as const) {
    if (fields[key] === header[key]) continue;
    throw new BatchFileError(
      `--results ${name}: belongs to a batch with the ${key} ${fields[key]}, not ${header[key]}; use another file`,
    );
  }
}

async function assertSameTable(rowStates: RowStates, rows: AsyncIterable<Row>, name: string): Promise<void> {
  let last = 0;
  for await (const { number, digest, label } of rows) {
    if (number > rowStates.lastRow) return;
    last = number;
    // A row that created no run may be edited.
    const mayDiffer = ['new', 'intent', 'bad', 'refused'].includes(rowStates.state(number));
    if (!mayDiffer && rowStates.digest(number) !== digest) {
      throw new BatchFileError(
        `${label}: row ${number} has changed since ${name} was created; use another --results file for another table`,
      );
    }
  }
  if (last < rowStates.lastRow) {
    throw new BatchFileError(
      `the table has ${last} rows, but ${name} has row ${rowStates.lastRow}; use another --results file for another table`,
    );
  }
}

/** Names the file in the errors of `work`, which become UsageErrors. */
async function withFileName<T>(name: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof BatchFileError) {
      const problem = error.problems.join(' ');
      // A problem with a line names the file already.
      throw problem.includes(name) ? error : new BatchFileError(`--results ${name}: ${problem}`);
    }
    throw new UsageError([`--results ${name}: ${describeSystemError(error)}`]);
  }
}
