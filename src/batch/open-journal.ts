/** The results file of a batch, opened to go on with it: locked, read again, and compared with the table. */
import { UsageError } from '../errors.js';
import { describeSystemError } from '../platform/system-error.js';
import { BatchFileError } from './file-error.js';
import { FileJournal, type Journal } from './journal.js';
import { type FilePlace, OwnedFile } from './owned-file.js';
import { type BatchHead, eventsIn, expectBeginning, type ReadEvent } from './read-journal.js';
import type { Row } from './row.js';
import { RowStates } from './row-states.js';

export interface OpenResultsFile {
  journal: Journal;
  ledger: RowStates;
  /** Lets go of the file; all that was written is on its way. Throws OutputError. */
  close(): Promise<void>;
}

/** Opens the results of a batch, new or begun. Throws UsageError where they are another's, or of another table. */
export async function openResultsFile(
  place: FilePlace,
  head: BatchHead,
  rows: () => AsyncIterable<Row>,
): Promise<OpenResultsFile> {
  const { name, path, clock } = place;
  await named(name, expectBeginning(path, name));
  const file = await named(name, OwnedFile.open(place));
  try {
    const { ledger, isBegun } = await named(name, readAgain(file, name, head));
    if (isBegun) await expectSameTable(ledger, rows(), name);
    const journal = new FileJournal(file, () => clock.now());
    if (!isBegun) await journal.commit({ event: 'batch', ...head });
    return { journal, ledger, close: () => journal.close() };
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
}

async function readAgain(
  file: OwnedFile,
  name: string,
  head: BatchHead,
): Promise<{ ledger: RowStates; isBegun: boolean }> {
  const ledger = new RowStates();
  let isBegun = false;
  for await (const event of eventsIn(file.read(), name)) {
    if (event.event === 'batch') {
      expectSameBatch(event, head, name);
      isBegun = true;
    } else if (!isBegun) {
      throw new BatchFileError(`--results ${name}: has rows before the line that says what they are about`);
    }
    recordRead(event, ledger);
  }
  return { ledger, isBegun };
}

/** Takes in an event as it was read. */
export function recordRead({ event, row, fields, run }: ReadEvent, ledger: RowStates): void {
  const { digest, id, exit } = fields;
  if (event === 'intent') ledger.record({ event, row, digest: String(digest) });
  else if (event === 'sent' || event === 'lost') ledger.record({ event, row });
  else if (event === 'accepted') ledger.record({ event, row, id: String(id) });
  else if (event === 'refused') ledger.record({ event, row, exit: Number(exit) });
  else if (event === 'ended') ledger.record({ event, row, status: run?.status, step: run?.error?.step });
}

function expectSameBatch({ fields }: ReadEvent, head: BatchHead, name: string): void {
  for (const key of ['workflow', 'baseUrl', 'shard'] as const) {
    if (fields[key] === head[key]) continue;
    throw new BatchFileError(
      `--results ${name}: is of a batch with the ${key} ${fields[key]}, not ${head[key]}; name another file`,
    );
  }
}

async function expectSameTable(ledger: RowStates, rows: AsyncIterable<Row>, name: string): Promise<void> {
  let last = 0;
  for await (const { number, digest, label } of rows) {
    if (number > ledger.lastRow) return;
    last = number;
    // A row of which no run can exist may be mended.
    const mayDiffer = ['new', 'intent', 'bad', 'refused'].includes(ledger.state(number));
    if (!mayDiffer && ledger.digest(number) !== digest) {
      throw new BatchFileError(
        `${label}: row ${number} is not what it was when ${name} was begun; name another --results file for another table`,
      );
    }
  }
  if (last < ledger.lastRow) {
    throw new BatchFileError(
      `the table has ${last} rows, and ${name} knows row ${ledger.lastRow}: it is another table`,
    );
  }
}

async function named<T>(name: string, work: Promise<T>): Promise<T> {
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
