/** The file of `wfr run --once`: a journal of one row, with a digest of each input. */
import { randomBytes } from 'node:crypto';
import { BatchFileError } from '../../errors.js';
import type { Context } from '../../platform/context.js';
import { createHidden, lstatOf } from '../../platform/files.js';
import { resolveTrusted } from '../../platform/ownership.js';
import { throwUnlessCode } from '../../platform/system-error.js';
import { asObject, parseJson } from '../../text/json/json-file.js';
import { encodeEvent, type Header } from './events.js';
import type { RowObserver } from './log.js';
import { type BatchTarget, openLogFile, readStart, withFileName } from './log-file.js';
import type { OwnedFileOptions } from './owned-file.js';
import { NEW_ROW, reduce } from './reduce.js';

/** The only row of the file. */
export const ONCE_ROW = 1;

/** The open file: its log, and what it says about the run so far. */
export type OnceFile = Awaited<ReturnType<typeof openOnceFile>>;

/** Creates the file unless it exists: other processes see it whole or not at all. Throws UsageError. */
export function createOnceFile(
  { path, name }: Pick<OwnedFileOptions, 'path' | 'name'>,
  target: BatchTarget,
  context: Context,
): Promise<void> {
  const create = async () => {
    const resolved = await resolveTrusted(path, context.uid);
    if (await lstatOf(path)) return;
    const salt = randomBytes(16).toString('hex');
    const events = [{ event: 'batch', ...target, salt } as const, { event: 'table', rows: 1 } as const];
    const hidden = await createHidden(resolved, context, 0o600);
    const lines = events.map((event) => encodeEvent(event, context.clock.now()));
    await hidden
      .write(lines, false)
      // Another process was faster.
      .catch(throwUnlessCode('EEXIST'))
      .finally(hidden.close);
  };
  return withFileName('--once', name, create());
}

/** Locks the file and reads it. Throws JournalInUseError while another process has it, and UsageError. */
export async function openOnceFile(options: OwnedFileOptions) {
  let record = NEW_ROW;
  const onEvent: RowObserver = (event, time) => {
    record = reduce(record, event, time);
  };
  const opening = assertOnceFile(options).then(() => openLogFile({ ...options, mustExist: true }, onEvent));
  const log = await withFileName('--once', options.name, opening);
  return {
    log,
    /** The first line. */
    header: log.recorded.header as Header & { salt: string },
    record: () => record,
    /** Writes what is pending, and releases the lock. Throws OutputError. */
    close: log.close,
  };
}

/** How long another process may take to write a new file, on a file system without hard links (ms). */
const CREATION_TIMEOUT = 2_000;
const CREATION_INTERVAL = 100;
/** Longer than the first line of any file of ours. */
const HEADER_LENGTH = 64 * 1024;

/** Throws BatchFileError for a file that `run --once` has not written, and the system's error. */
async function assertOnceFile({ path, clock, signal }: OwnedFileOptions): Promise<void> {
  for (let waited = 0; ; waited += CREATION_INTERVAL) {
    const start = await readStart(path, HEADER_LENGTH);
    const header = parseJson(start.subarray(0, Math.max(0, start.indexOf(0x0a))));
    const { event, salt } = asObject(header);
    if (event === 'batch' && typeof salt === 'string') return;
    if (start.length > 0) throw new BatchFileError('it was not written by wfr run --once; use another file');
    if (waited >= CREATION_TIMEOUT)
      throw new BatchFileError('it exists and is empty; remove it, or use another file');
    await clock.sleep(CREATION_INTERVAL, signal);
  }
}
