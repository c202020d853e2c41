/**
 * A log of JSON records that several processes may append to at once. Each record is one append, so records never
 * interleave. A file that grows too large replaces the older of the two files, so the log is bounded and no process waits.
 */
import { constants, promises } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isFolder, mkdirp } from '../platform/files.js';
import { findFolderRisk } from '../platform/ownership.js';
import { sanitizeJson } from '../text/sanitize.js';

const CURRENT = 'history.jsonl';
const OLDER = 'history.1.jsonl';
const LOCK = 'history.lock';
/** Opening a pipe instead of a file must not block, and no link is followed; Windows has no such flags. */
const SAFELY = (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

/** Bytes of each file. */
const MAX_SIZE = 256 * 1024;
/** Age after which the owner of the lock is presumed dead (ms). */
const LOCK_TIMEOUT = 10_000;

/** The folder of a log, and the user who alone may write to it: see Context.uid. */
export interface LogFolder {
  path: string;
  uid: number | undefined;
  /** A folder above it that is not made: without it, root would make a home folder for a user who has none. */
  home?: string | undefined;
}

/** Returns why the folder is not used: others could have planted its files. Undefined if it is, or if there is none. */
export async function findLogRisk({ path, uid }: LogFolder): Promise<string | undefined> {
  return findFolderRisk(path, uid);
}

/** Returns the real path of the folder, in which no link can change any more. Throws if others could have planted its files. */
async function openFolder({ path, uid }: LogFolder): Promise<string> {
  const real = join(await promises.realpath(dirname(path)), basename(path));
  const risk = await findFolderRisk(real, uid);
  if (risk !== undefined) throw new Error(risk);
  return real;
}

/** Appends records at the time `now` (ms since 1970). Resolves with the error if one cannot be written, else undefined. */
export async function appendRecords(
  log: LogFolder,
  records: readonly object[],
  now: number,
): Promise<unknown> {
  const { home } = log;
  try {
    if (home !== undefined && !(await isFolder(home))) throw new Error(`there is no home folder ${home}`);
    const risk = await findLogRisk(log);
    if (risk !== undefined) throw new Error(risk);
    await mkdirp(log.path, 0o700);
    const folder = await openFolder(log);
    const { O_APPEND, O_CREAT, O_WRONLY } = constants;
    const file = await promises.open(join(folder, CURRENT), O_APPEND | O_CREAT | O_WRONLY | SAFELY, 0o600);
    try {
      // The first line feed ends a partial record, if another process was killed while writing it.
      for (const record of records) await file.appendFile(`\n${sanitizeJson(record)}\n`);
      if ((await file.stat()).size > MAX_SIZE) await rotate(folder, now);
    } finally {
      await file.close();
    }
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Reads the records of both files, the oldest first, and skips lines that are not JSON objects. */
export async function readRecords(log: LogFolder): Promise<Record<string, unknown>[]> {
  const folder = await openFolder(log).catch(() => undefined);
  if (folder === undefined) return [];
  const texts = await Promise.all([OLDER, CURRENT].map((name) => readText(join(folder, name))));
  return texts.flatMap((text) => text.split('\n')).flatMap(parseRecord);
}

async function readText(path: string): Promise<string> {
  try {
    const file = await promises.open(path, constants.O_RDONLY | SAFELY);
    try {
      return (await file.stat()).isFile() ? await file.readFile('utf8') : '';
    } finally {
      await file.close();
    }
  } catch {
    return '';
  }
}

function parseRecord(line: string): Record<string, unknown>[] {
  try {
    const record: unknown = JSON.parse(line);
    return typeof record === 'object' && record !== null ? [record as Record<string, unknown>] : [];
  } catch {
    return [];
  }
}

/** Of several processes that find the file too large, the one with the lock checks again and renames it. */
async function rotate(folder: string, now: number): Promise<void> {
  const lock = join(folder, LOCK);
  const lockFile = await promises.open(lock, 'wx', 0o600).catch(() => undefined);
  if (lockFile === undefined) {
    const { mtimeMs } = await promises.stat(lock);
    if (now - mtimeMs > LOCK_TIMEOUT) await promises.unlink(lock);
    return;
  }
  try {
    const current = join(folder, CURRENT);
    if ((await promises.stat(current)).size > MAX_SIZE) await promises.rename(current, join(folder, OLDER));
  } finally {
    await lockFile.close();
    await promises.unlink(lock);
  }
}
