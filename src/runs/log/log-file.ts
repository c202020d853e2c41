/**
 * Opens the file of a log: locks it and reads its events. A batch and `run --once` share it. Of a batch, it also compares
 * the file with the command.
 */

import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { BatchFileError, closeOnError, InterruptedError } from '../../errors.js';
import type { Item } from '../../inputs/item.js';
import { statOf } from '../../platform/files.js';
import { throwAsUsageError } from '../../platform/system-error.js';
import { saltedDigest } from '../../table/row.js';
import { decodeEvents, type Header, mayBeLog, NO_LINE, type ReadEvent } from './events.js';
import { JournalInUseError } from './lock.js';
import { createLog, type Log, type RowObserver } from './log.js';
import { assertRegular, type OwnedFileOptions, openOwnedFile } from './owned-file.js';
import { haveNoRuns } from './reduce.js';

/** Locks the file and reads it. Throws JournalInUseError, UsageError. */
export async function openLogFile(options: OwnedFileOptions, onRowEvent?: RowObserver): Promise<Log> {
  const { name, clock } = options;
  const file = await openOwnedFile(options);
  return closeOnError(file, async () => {
    const log = createLog(clock, file, onRowEvent);
    await decodeEvents(file.read(), name, (event) => {
      if (event.event !== 'batch' && !log.recorded.header)
        throw new BatchFileError(`${name}: has rows before its "batch" line`);
      log.apply(event, event.time);
    });
    return log;
  });
}

/**
 * Reads the effective events of a file, and returns its owner as decodeEvents does. Throws BatchFileError for an invalid line,
 * or a file that is not regular, and the system's error.
 */
export async function readEvents(path: string, name: string, onEvent: (event: ReadEvent) => void) {
  assertRegular(await statOf(path));
  return decodeEvents(createReadStream(path), name, onEvent);
}

/** Reads the first bytes of a file. Throws BatchFileError for one that is not regular, and the system's error. */
export async function readStart(path: string, length = 16): Promise<Buffer> {
  // Opening a pipe would wait for its writer.
  assertRegular(await statOf(path));
  return buffer(createReadStream(path, { end: length - 1 }));
}

/** Returns whether a file may be a results file: what wfr has written is no row, although a pattern matches it. */
export async function beginsAsLog(path: string): Promise<boolean> {
  const start = await readStart(path).catch(() => Buffer.alloc(0));
  return start.length > 0 && mayBeLog(start);
}

/** Throws BatchFileError if a file exists that is not a results file. */
async function assertResultsFile(path: string, name: string): Promise<void> {
  const start = await readStart(path).catch((error) => {
    if (error instanceof BatchFileError) throw error;
    // It is opened again, with the same error.
    return Buffer.alloc(0);
  });
  if (!mayBeLog(start)) throw new BatchFileError(`${name}:1: ${NO_LINE}; the file was not changed`);
}

/** Names the file, after the flag if there is one, in the errors of `work`. Throws JournalInUseError unchanged, and UsageError. */
export async function withFileName<T>(flag: string, name: string, work: Promise<T>): Promise<T> {
  const subject = `${flag} ${name}`.trim();
  try {
    return await work;
  } catch (error) {
    if (error instanceof InterruptedError) throw error;
    // run --once waits for the other process.
    if (error instanceof JournalInUseError && flag === '--once') throw error;
    if (error instanceof BatchFileError) {
      const problem = error.problems.join(' ');
      // A problem with a line names the file already.
      throw problem.startsWith(`${name}:`) ? error : new BatchFileError(`${subject}: ${problem}`);
    }
    return throwAsUsageError(subject)(error);
  }
}

/** What the file of a batch is for. */
export type BatchTarget = Pick<Header, 'workflow' | 'baseUrl' | 'shard'>;

/**
 * Opens or creates a results file. Throws UsageError if another process has it open, or if it belongs to another workflow,
 * service or shard, or to other inputs of all rows. While no run exists, the new ones are recorded, and with `releasesRejected`
 * rejected rows wait to be sent with them.
 */
export async function openResultsFile(
  options: OwnedFileOptions,
  target: BatchTarget,
  inputs: readonly WrittenInput[],
  releasesRejected: boolean,
): Promise<Log> {
  const { name, path } = options;
  const opening = assertResultsFile(path, name).then(() => openLogFile(options));
  const log = await withFileName('--results', name, opening);
  return closeOnError(log, async () => {
    const { header: recorded } = log.recorded;
    const header = createHeader(target, inputs, recorded?.rowSalt);
    // While no run exists or may exist, everything but the shard may change.
    const isOpen = haveNoRuns(log.rows.counts());
    const differences = recorded ? differencesOf(recorded, header, recorded.inputs, header.inputs) : [];
    const isOther = differences.length > 0 && (!isOpen || recorded?.shard !== header.shard);
    const owner =
      recorded?.salt === undefined ? isOther && `a batch ${differences.join(', ')}` : 'a command with --once';
    const fix = 'correct that, or use another file with --results, which sends all rows again';
    if (owner) throw new BatchFileError(`${name}: belongs to ${owner}; ${fix}`);
    if (recorded && differences.length === 0) return log;
    // What the service has rejected was something else.
    for (const [row, state] of releasesRejected ? log.rows.entries() : [])
      if (state === 'rejected') log.record({ event: 'released', row });
    await log.commit(header);
    return log;
  });
}

/** Returns what a file was recorded with, where a command has something else, also among the digests of inputs. */
export function differencesOf(
  recorded: BatchTarget,
  now: BatchTarget,
  before: Digests = {},
  inputs: Digests = {},
): readonly string[] {
  const keys = (['workflow', 'baseUrl', 'shard'] as const).filter((key) => recorded[key] !== now[key]);
  return [
    ...keys.map((key) => `with the ${key} ${recorded[key]}, not ${now[key]}`),
    ...otherInputs(before, inputs).map((name) => {
      if (!Object.hasOwn(before, name)) return `without the input ${name}`;
      return Object.hasOwn(inputs, name)
        ? `with another value of ${name}`
        : `with the input ${name}, which this command lacks`;
    }),
  ];
}

/** Returns the names of the inputs whose digests differ, or that only one of the two has. */
export function otherInputs(before: Digests = {}, now: Digests = {}): string[] {
  return Object.keys({ ...before, ...now }).filter((name) => before[name] !== now[name]);
}

type Digests = Readonly<Record<string, string>>;

type WrittenInput = Pick<Item, 'name' | 'raw'>;

/** Returns the first line of the file of a batch; `rowSalt` is the key of all digests in it. */
export function createHeader(
  target: BatchTarget,
  inputs: readonly WrittenInput[],
  rowSalt = randomBytes(16).toString('hex'),
) {
  const salt = Buffer.from(rowSalt, 'hex');
  const digests = inputs.map(({ name, raw }) => [name, saltedDigest(salt, raw)]);
  return { event: 'batch', ...target, inputs: Object.fromEntries(digests), rowSalt } as const;
}
