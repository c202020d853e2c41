/** The file of `wfr run --once`: a journal of one row, with a digest of each input. */
import { randomBytes } from 'node:crypto';
import { promises } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { BatchFileError } from '../../errors.js';
import type { Clock } from '../../platform/context.js';
import { createFile } from '../../platform/files.js';
import { resolveTrusted } from '../../platform/ownership.js';
import { errorCode } from '../../platform/system-error.js';
import { encodeEvent, type FileEvent, type Header } from './events.js';
import { parseLine } from './lock.js';
import { assertRegularFile, openLogFile, withFileName } from './log-file.js';
import { type OwnedFileOptions, syncDirectory } from './owned-file.js';
import { NEW_ROW, reduce } from './reduce.js';

/** The only row of the file. */
export const ONCE_ROW = 1;

/** The workflow and the service that a file was recorded with. */
export type OnceTarget = Pick<Header, 'workflow' | 'baseUrl'>;

/** The open file: its log, and what it says about the run so far. */
export type OnceFile = Awaited<ReturnType<typeof openOnceFile>>;

/** Creates the file unless it exists: it is whole or absent at every moment. Throws UsageError. */
export async function createOnceFile(options: OwnedFileOptions, target: OnceTarget): Promise<void> {
  const { path, name, clock, uid } = options;
  const resolved = await withFileName('--once', name, resolveTrusted(path, uid));
  if (await withFileName('--once', name, exists(path))) return;
  const events = [onceHeader(target, randomBytes(16).toString('hex')), { event: 'table', rows: 1 } as const];
  const lines = Buffer.concat(events.map((event) => encodeEvent(event, clock.now())));
  await withFileName('--once', name, createWhole(resolved, lines, options));
}

/** Locks the file and reads it. Throws JournalInUseError while another process has it, and UsageError. */
export async function openOnceFile(options: OwnedFileOptions) {
  const { path, name } = options;
  await withFileName('--once', name, assertOnceFile(path));
  let record = NEW_ROW;
  const opening = openLogFile({ ...options, mustExist: true }, (event, time) => {
    record = reduce(record, event, time);
  });
  const { log, header } = await withFileName('--once', name, opening);
  return {
    log,
    /** The first line. */
    header: header as Header,
    record: () => record,
    /** Writes what is pending, and releases the lock. Throws OutputError. */
    close: () => log.close(),
  };
}

/** Returns the first line of a file. */
export function onceHeader({ workflow, baseUrl }: OnceTarget, salt: string): FileEvent {
  return { event: 'batch', workflow, baseUrl, shard: '1/1', salt };
}

/** How long another process may have the lock of a name, and the time between two attempts to get it (ms). */
const LOCK_TIMEOUT = 5_000;
const LOCK_INTERVAL = 100;

/** Writes the file in a folder of its own and then gives it its name, unless that exists by then. */
async function createWhole(path: string, bytes: Uint8Array, { clock, signal }: OwnedFileOptions) {
  const name = `${randomBytes(4).toString('hex')}.tmp`;
  const folder = join(dirname(path), `.${basename(path)}.${name}`);
  await promises.mkdir(folder, 0o700);
  try {
    const handle = await createFile(join(folder, name), 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    try {
      await promises.link(join(folder, name), path);
    } catch (error) {
      // Another process was faster (EEXIST), or the file system has no hard links, which each says differently.
      if (errorCode(error) !== 'EEXIST') await renameUnlessExists(folder, name, path, clock, signal);
    }
  } finally {
    await removeFolder(folder);
  }
  await syncDirectory(dirname(path));
}

/**
 * Renames `folder/name` to `path` unless that exists, on a file system without hard links. The lock is a folder: a process
 * has it while its own file is in it, as no folder can be renamed to one that is not empty. The file is renamed out of the
 * lock, so a process that stalls and whose lock is removed meanwhile can no longer replace the file of another.
 */
async function renameUnlessExists(
  folder: string,
  name: string,
  path: string,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<void> {
  const lock = join(dirname(path), `.${basename(path)}.lock`);
  for (let waited = 0; !(await exists(path)); waited += LOCK_INTERVAL) {
    const failure = await promises.rename(folder, lock).catch((error: Error) => error);
    if (failure === undefined) {
      try {
        if (!(await exists(path))) await promises.rename(join(lock, name), path);
        return;
      } catch (error) {
        // Another process has removed the lock, and is creating the file.
        if (errorCode(error) !== 'ENOENT') throw error;
      } finally {
        await promises.unlink(join(lock, name)).catch(() => {});
        // It may be that of another process by now, which is not empty.
        await promises.rmdir(lock).catch(() => {});
      }
    }
    if (waited >= LOCK_TIMEOUT) {
      if (failure !== undefined && !(await exists(lock))) throw new NoExclusiveNamesError(failure);
      // The process that has it was killed or stalls.
      const abandoned = `${folder}.old`;
      await promises.rename(lock, abandoned).catch(() => {});
      await removeFolder(abandoned);
      waited = 0;
    }
    await clock.sleep(LOCK_INTERVAL, signal);
  }
}

async function removeFolder(path: string): Promise<void> {
  await promises.rm(path, { recursive: true, force: true }).catch(() => {});
}

class NoExclusiveNamesError extends BatchFileError {
  constructor(cause: Error) {
    super(
      `its file system has no hard links and cannot rename a folder (${errorCode(cause)}), so two commands could create it at once; use a file on another one`,
    );
  }
}

function exists(path: string): Promise<boolean> {
  return promises.lstat(path).then(
    () => true,
    (error) => {
      if (errorCode(error) === 'ENOENT') return false;
      throw error;
    },
  );
}

/** Longer than the first line of any file of ours. */
const HEADER_LENGTH = 64 * 1024;

/** Throws BatchFileError for a file that `run --once` has not written, and the system's error. */
async function assertOnceFile(path: string): Promise<void> {
  await assertRegularFile(path);
  const handle = await promises.open(path, 'r');
  const { buffer, bytesRead } = await handle
    .read(Buffer.alloc(HEADER_LENGTH), 0, HEADER_LENGTH, 0)
    .finally(() => handle.close());
  if (bytesRead === 0)
    throw new BatchFileError('it exists and is empty; remove it, or name a file that does not exist yet');
  const header = parseLine(buffer.subarray(0, Math.max(0, buffer.indexOf(0x0a)))) as
    | Record<string, unknown>
    | null
    | undefined;
  if (header?.event === 'batch' && typeof header.salt === 'string') return;
  throw new BatchFileError(
    header?.event === 'batch' || header?.event === 'open'
      ? 'it is the results file of a batch; use another file'
      : 'it was not written by wfr run --once; it was not changed; use another file',
  );
}
