/** Opens the file of a journal: locks it and reads its events. A batch and `run --once` share it. */
import { BatchFileError, InterruptedError, UsageError } from '../../errors.js';
import { describeSystemError } from '../../platform/system-error.js';
import { RowStates } from '../row-states.js';
import { FileJournal, type Journal } from './journal.js';
import { JournalInUseError } from './lock.js';
import { OwnedFile, type OwnedFileOptions } from './owned-file.js';
import { parseEvents, type ReadEvent } from './read-events.js';

/** A journal, and the row states recorded so far. */
export interface OpenResults {
  journal: Journal;
  rowStates: RowStates;
  /** Writes what is pending, and releases the lock. Throws OutputError. */
  close(): Promise<void>;
}

/** Locks the file and calls `onEvent` for each effective event. Throws JournalInUseError, UsageError. */
export async function openJournalFile(
  options: OwnedFileOptions,
  onEvent: (event: ReadEvent) => void,
): Promise<OpenResults> {
  const { name, clock } = options;
  const file = await OwnedFile.open(options);
  try {
    const rowStates = new RowStates();
    for await (const event of parseEvents(file.read(), name)) {
      onEvent(event);
      recordEvent(event, rowStates);
    }
    const journal = new FileJournal(file, () => clock.now());
    return { journal, rowStates, close: () => journal.close() };
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
}

/** Updates the row states with an event of a results file. */
export function recordEvent({ event, row, fields, run }: ReadEvent, rowStates: RowStates): void {
  const { label = `row ${row}`, digest, id, exit, reason } = fields;
  if (event === 'intent') rowStates.record({ event, row, label: String(label), digest: String(digest) });
  else if (event === 'sent' || event === 'lost') rowStates.record({ event, row });
  else if (event === 'unknown') rowStates.record({ event, row, reason: String(reason) });
  else if (event === 'accepted') rowStates.record({ event, row, id: String(id) });
  else if (event === 'refused') rowStates.record({ event, row, exit: Number(exit), reason: String(reason) });
  else if (event === 'ended') rowStates.record({ event, row, status: run?.status, error: run?.error });
}

/** Names the file, as `--results out.jsonl`, in the errors of `work`. Throws JournalInUseError unchanged, and UsageError. */
export async function withFileName<T>(flag: string, name: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof InterruptedError) throw error;
    // run --once waits for the other process.
    if (error instanceof JournalInUseError && flag === '--once') throw error;
    if (error instanceof BatchFileError) {
      const problem = error.problems.join(' ');
      // A problem with a line names the file already.
      throw problem.includes(name) ? error : new BatchFileError(`${flag} ${name}: ${problem}`);
    }
    throw new UsageError([`${flag} ${name}: ${describeSystemError(error)}`]);
  }
}
