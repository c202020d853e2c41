/** Opens the file of a log: locks it and reads its events. A batch and `run --once` share it. */
import { createReadStream, promises } from 'node:fs';
import { BatchFileError, InterruptedError, UsageError } from '../../errors.js';
import { describeSystemError } from '../../platform/system-error.js';
import { decodeEvents, type Header, isRowEvent, mayBeLog, type ReadEvent, type RowEvent } from './events.js';
import { JournalInUseError } from './lock.js';
import { Log, type LogSink } from './log.js';
import { OwnedFile, type OwnedFileOptions } from './owned-file.js';

/** A log in a file, and its first line; undefined in a new file. */
export interface LogFile {
  log: Log;
  header: Header | undefined;
}

/**
 * Locks the file and reads it. `observe` is called for each event of a row, also for later ones. Throws JournalInUseError,
 * UsageError.
 */
export async function openLogFile(
  options: OwnedFileOptions,
  observe: (event: RowEvent, time: number | undefined) => void = () => {},
): Promise<LogFile> {
  const { name, clock } = options;
  const file = await OwnedFile.open(options);
  try {
    let header: Header | undefined;
    const log = new Log(sinkOf(file), () => clock.now(), observe);
    for await (const event of decodeEvents(file.read(), name)) {
      if (event.event === 'batch') header = event;
      else if (header === undefined) throw new BatchFileError(`${name}: has rows before its "batch" line`);
      log.recorded.apply(event, event.time ?? 0);
      if (!isRowEvent(event)) continue;
      log.rows.apply(event);
      observe(event, event.time);
    }
    return { log, header };
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
}

function sinkOf(file: OwnedFile): LogSink {
  const { token, failed } = file;
  return {
    token,
    failed,
    write: (lines, isDurable) => file.append(Buffer.concat(lines), isDurable),
    close: () => file.close(),
  };
}

/** Reads the effective events of a file. Throws BatchFileError for an invalid line, and the system's error. */
export function readEvents(path: string, name: string): AsyncGenerator<ReadEvent, void, void> {
  return decodeEvents(createReadStream(path), name);
}

/** Throws BatchFileError for a device, a pipe or a directory: nothing can be continued from it. */
export async function assertRegularFile(path: string): Promise<void> {
  const found = await promises.stat(path).catch(() => undefined);
  if (found !== undefined && !found.isFile()) throw new BatchFileError('it is not a regular file');
}

/** Throws BatchFileError if a file exists that is not a results file, or the system's error. */
export async function assertResultsFile(path: string, name: string): Promise<void> {
  await assertRegularFile(path);
  const handle = await promises.open(path, 'r').catch(() => undefined);
  if (handle === undefined) return;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0).finally(() => handle.close());
  if (mayBeLog(buffer.toString('latin1', 0, bytesRead))) return;
  throw new BatchFileError(`${name}:1: is not a line of a results file; the file was not changed`);
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
