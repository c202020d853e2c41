/**
 * A log of JSON records that many processes append to at once. Each record is one write at the end of the file, so none
 * tears another; when the file has grown, it becomes the older of two, so the log is bounded and no writer waits.
 */
import { constants, promises } from 'node:fs';
import { join } from 'node:path';
import { mkdirp } from '../platform/files.js';

const CURRENT = 'history.jsonl';
const OLDER = 'history.1.jsonl';
const LOCK = 'history.lock';
/** A pipe in the place of a file must not keep a run waiting; Windows has no such flag. */
const NON_BLOCKING = constants.O_NONBLOCK ?? 0;

/** Bytes of one of the two files. */
const MAX_SIZE = 256 * 1024;
/** Milliseconds after which whoever held the lock has been killed. */
const LOCK_TIMEOUT = 10_000;

/** Adds a record, at `now` (ms since 1970). Resolves with what kept it from being written, such as a full disk; undefined if nothing did. */
export async function appendRecord(folder: string, record: object, now: number): Promise<unknown> {
  try {
    await mkdirp(folder, 0o700);
    const { O_APPEND, O_CREAT, O_WRONLY } = constants;
    const file = await promises.open(
      join(folder, CURRENT),
      O_APPEND | O_CREAT | O_WRONLY | NON_BLOCKING,
      0o600,
    );
    try {
      // The line feed before it ends what a writer that was killed may have left.
      await file.appendFile(`\n${JSON.stringify(record)}\n`);
      if ((await file.stat()).size > MAX_SIZE) await rotate(folder, now);
    } finally {
      await file.close();
    }
    return undefined;
  } catch (error) {
    // The run matters more.
    return error;
  }
}

/** The records of both files, the oldest first; what is not a JSON object is skipped. */
export async function readRecords(folder: string): Promise<Record<string, unknown>[]> {
  const texts = await Promise.all([OLDER, CURRENT].map((name) => readText(join(folder, name))));
  return texts.flatMap((text) => text.split('\n')).flatMap(parseRecord);
}

async function readText(path: string): Promise<string> {
  try {
    const file = await promises.open(path, constants.O_RDONLY | NON_BLOCKING);
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

/** Of several that find the file too large, the one that holds the lock looks again and renames it. */
async function rotate(folder: string, now: number): Promise<void> {
  const lock = join(folder, LOCK);
  const held = await promises.open(lock, 'wx').catch(() => undefined);
  if (held === undefined) {
    const { mtimeMs } = await promises.stat(lock);
    if (now - mtimeMs > LOCK_TIMEOUT) await promises.unlink(lock);
    return;
  }
  try {
    const current = join(folder, CURRENT);
    if ((await promises.stat(current)).size > MAX_SIZE) await promises.rename(current, join(folder, OLDER));
  } finally {
    await held.close();
    await promises.unlink(lock);
  }
}
