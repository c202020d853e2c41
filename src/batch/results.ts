/** The results file of a batch, opened to go on with it: locked, repaired, and held against the table. */
import { promises } from 'node:fs';
import { UsageError } from '../errors.js';
import { describeSystemError } from '../system-error.js';
import { BatchFileError } from './file-error.js';
import { FileJournal, type Journal } from './journal.js';
import { Ledger } from './ledger.js';
import { type LockTools, lock } from './lock.js';
import { type BatchHead, eventsOf, expectFile, type ReadEvent, repair } from './results-file.js';
import type { Row } from './table.js';

export interface OpenResults {
  journal: Journal;
  ledger: Ledger;
  /** Lets go of the file; all that was written is on its way. Throws OutputError. */
  close(): Promise<void>;
}

/** What is on the disk, and who opens it. */
export interface ResultsPlace extends LockTools {
  /** Absolute. */
  path: string;
  /** As the user wrote it. */
  name: string;
}

/** Opens the results of a batch, new or begun. Throws UsageError where they are another's, or of another table. */
export async function openResults(
  place: ResultsPlace,
  head: BatchHead,
  rows: () => AsyncIterable<Row>,
): Promise<OpenResults> {
  const { name, clock } = place;
  // Behind a link, one file would have two locks.
  const path = await promises.realpath(place.path).catch(() => place.path);
  await named(name, expectFile(path));
  const held = await named(name, lock(`${path}.lock`, place));
  try {
    const ledger = (await exists(path)) ? await readAgain(path, name, head) : undefined;
    if (ledger !== undefined) await expectSameTable(ledger, rows(), name);
    const expectOurs = () => named(name, held.expectOurs());
    const journal = await named(
      name,
      FileJournal.open(path, () => clock.now(), expectOurs),
    );
    if (ledger === undefined) await journal.commit({ event: 'batch', ...head });
    const close = async () => {
      await journal.close().finally(() => held.release());
    };
    return { journal, ledger: ledger ?? new Ledger(), close };
  } catch (error) {
    await held.release();
    throw error;
  }
}

async function readAgain(path: string, name: string, head: BatchHead): Promise<Ledger | undefined> {
  await named(name, repair(path, name));
  const ledger = new Ledger();
  let isBegun = false;
  for await (const event of eventsOf(path, name)) {
    if (event.event === 'batch') expectSameBatch(event, head, name);
    isBegun = true;
    recordRead(event, ledger);
  }
  return isBegun ? ledger : undefined;
}

/** Takes in an event as it was read. */
export function recordRead({ event, row, fields, run }: ReadEvent, ledger: Ledger): void {
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

async function expectSameTable(ledger: Ledger, rows: AsyncIterable<Row>, name: string): Promise<void> {
  let last = 0;
  for await (const { number, digest, place } of rows) {
    if (number > ledger.lastRow) return;
    last = number;
    // A row of which no run can exist may be mended.
    const mayDiffer = ['new', 'intent', 'bad', 'refused'].includes(ledger.state(number));
    if (!mayDiffer && ledger.digest(number) !== digest) {
      throw new BatchFileError(
        `${place}: row ${number} is not what it was when ${name} was begun; name another --results file for another table`,
      );
    }
  }
  if (last < ledger.lastRow) {
    throw new BatchFileError(
      `the table has ${last} rows, and ${name} knows row ${ledger.lastRow}: it is another table`,
    );
  }
}

async function exists(path: string): Promise<boolean> {
  return (await promises.stat(path).catch(() => undefined)) !== undefined;
}

async function named<T>(name: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof BatchFileError)
      throw new BatchFileError(`--results ${name}: ${error.problems.join(' ')}`);
    throw new UsageError([`--results ${name}: ${describeSystemError(error)}`]);
  }
}
