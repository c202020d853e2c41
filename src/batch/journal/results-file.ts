/** The results file of a batch, opened to go on with it: locked, read again, and compared with the table. */
import { BatchFileError, UsageError } from '../../errors.js';
import { describeSystemError } from '../../platform/system-error.js';
import type { Row } from '../row.js';
import { RowStates } from '../row-states.js';
import { FileJournal, type Journal } from './journal.js';
import { OwnedFile, type OwnedFileOptions } from './owned-file.js';
import { assertResultsFile, type BatchHeader, parseEvents, type ReadEvent } from './read-events.js';

export interface OpenResultsFile {
  journal: Journal;
  rowStates: RowStates;
  /** Lets go of the file; all that was written is on its way. Throws OutputError. */
  close(): Promise<void>;
}

/** Opens the results of a batch, new or begun. Throws UsageError where they are another's, or of another table. */
export async function openResultsFile(
  place: OwnedFileOptions,
  head: BatchHeader,
  rows: () => AsyncIterable<Row>,
): Promise<OpenResultsFile> {
  const { name, path, clock } = place;
  await withFileName(name, assertResultsFile(path, name));
  const file = await withFileName(name, OwnedFile.open(place));
  try {
    const { rowStates, isBegun } = await withFileName(name, readRowStates(file, name, head));
    if (isBegun) await assertSameTable(rowStates, rows(), name);
    const journal = new FileJournal(file, () => clock.now());
    if (!isBegun) await journal.commit({ event: 'batch', ...head });
    return { journal, rowStates, close: () => journal.close() };
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
}

async function readRowStates(
  file: OwnedFile,
  name: string,
  head: BatchHeader,
): Promise<{ rowStates: RowStates; isBegun: boolean }> {
  const rowStates = new RowStates();
  let isBegun = false;
  for await (const event of parseEvents(file.read(), name)) {
    if (event.event === 'batch') {
      assertSameBatch(event, head, name);
      isBegun = true;
    } else if (!isBegun) {
      throw new BatchFileError(`--results ${name}: has rows before the line that says what they are about`);
    }
    recordEvent(event, rowStates);
  }
  return { rowStates, isBegun };
}

/** Takes in an event as it was read. */
export function recordEvent({ event, row, fields, run }: ReadEvent, rowStates: RowStates): void {
  const { digest, id, exit } = fields;
  if (event === 'intent') rowStates.record({ event, row, digest: String(digest) });
  else if (event === 'sent' || event === 'lost') rowStates.record({ event, row });
  else if (event === 'accepted') rowStates.record({ event, row, id: String(id) });
  else if (event === 'refused') rowStates.record({ event, row, exit: Number(exit) });
  else if (event === 'ended') rowStates.record({ event, row, status: run?.status, step: run?.error?.step });
}

function assertSameBatch({ fields }: ReadEvent, head: BatchHeader, name: string): void {
  for (const key of ['workflow', 'baseUrl', 'shard'] as const) {
    if (fields[key] === head[key]) continue;
    throw new BatchFileError(
      `--results ${name}: is of a batch with the ${key} ${fields[key]}, not ${head[key]}; name another file`,
    );
  }
}

async function assertSameTable(rowStates: RowStates, rows: AsyncIterable<Row>, name: string): Promise<void> {
  let last = 0;
  for await (const { number, digest, label } of rows) {
    if (number > rowStates.lastRow) return;
    last = number;
    // A row of which no run can exist may be mended.
    const mayDiffer = ['new', 'intent', 'bad', 'refused'].includes(rowStates.state(number));
    if (!mayDiffer && rowStates.digest(number) !== digest) {
      throw new BatchFileError(
        `${label}: row ${number} is not what it was when ${name} was begun; name another --results file for another table`,
      );
    }
  }
  if (last < rowStates.lastRow) {
    throw new BatchFileError(
      `the table has ${last} rows, and ${name} knows row ${rowStates.lastRow}: it is another table`,
    );
  }
}

async function withFileName<T>(name: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof BatchFileError) {
      const problem = error.problems.join(' ');
      // Of a line, it says the place already.
      throw problem.includes(name) ? error : new BatchFileError(`--results ${name}: ${problem}`);
    }
    throw new UsageError([`--results ${name}: ${describeSystemError(error)}`]);
  }
}
