/**
 * A log of JSON records that many processes append to at once. Each record is one write at the end of the file, so none
 * tears another; when the file has grown, it becomes the older of two, so the log is bounded and no writer waits.
 */
import { promises, readFileSync } from 'node:fs';
import { join } from 'node:path';

const CURRENT = 'history.jsonl';
const OLDER = 'history.1.jsonl';
const LOCK = 'history.lock';

/** Bytes of one of the two files. */
const MAX_SIZE = 256 * 1024;
/** Milliseconds after which whoever held the lock has been killed. */
const STALE = 10_000;

/** Adds a record, at `now` (ms since 1970). What fails is left: a full disk or a folder that cannot be written. */
export async function appendRecord(folder: string, record: object, now: number): Promise<void> {
  try {
    await promises.mkdir(folder, { recursive: true, mode: 0o700 });
    const file = await promises.open(join(folder, CURRENT), 'a', 0o600);
    try {
      // The line feed before it ends what a writer that was killed may have left.
      await file.appendFile(`\n${JSON.stringify(record)}\n`);
      if ((await file.stat()).size > MAX_SIZE) await rotate(folder, now);
    } finally {
      await file.close();
    }
  } catch {
    // The run matters more.
  }
}

/** The records of both files, the oldest first; what is not a JSON object is skipped. */
export function readRecords(folder: string): Record<string, unknown>[] {
  // Two small files: asking for them in the background would take longer than reading them.
  const texts = [OLDER, CURRENT].map((name) => textOf(join(folder, name)));
  return texts.flatMap((text) => text.split('\n')).flatMap(parseRecord);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
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
    if (now - mtimeMs > STALE) await promises.unlink(lock);
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
