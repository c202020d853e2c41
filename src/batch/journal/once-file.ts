/** The file of `wfr run --once`: a journal of one row, with a digest of each input. */
import { randomBytes } from 'node:crypto';
import { promises } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { BatchFileError } from '../../errors.js';
import { createFile } from '../../platform/files.js';
import { resolveTrusted } from '../../platform/ownership.js';
import { errorCode } from '../../platform/system-error.js';
import type { Run } from '../../service/run.js';
import { type BatchEvent, formatEvent } from './journal.js';
import { type OpenResults, openJournalFile, withFileName } from './journal-file.js';
import { parseLine } from './lock.js';
import { type OwnedFileOptions, syncDirectory } from './owned-file.js';
import { assertRegularFile, type ReadEvent } from './read-events.js';

/** The only row of the file. */
export const ONCE_ROW = 1;

/** The workflow and the service that a file was recorded with. */
export interface OnceTarget {
  workflow: string;
  baseUrl: string;
}

/** What the file says about the run. */
interface OnceRecord {
  target: OnceTarget;
  /** The key of the digests. */
  salt: string;
  /** The digests of the inputs that were sent last, by name. */
  inputs: Readonly<Record<string, string>>;
  /** When they were sent; undefined if that never happened. */
  sentAt: string | undefined;
  /** The run that was accepted last. */
  id: string | undefined;
  /** The same run, once it has ended. */
  ended: Run | undefined;
}

export interface OnceFile extends OpenResults {
  record: OnceRecord;
}

/** Creates the file unless it exists: it is whole or absent at every moment. Throws UsageError. */
export async function createOnceFile(
  { path, name, clock, uid }: OwnedFileOptions,
  target: OnceTarget,
): Promise<void> {
  const resolved = await withFileName('--once', name, resolveTrusted(path, uid));
  const exists = await promises.lstat(path).then(
    () => true,
    () => false,
  );
  if (exists) return;
  const events = [onceHeader(target, randomBytes(16).toString('hex')), { event: 'table', rows: 1 } as const];
  const lines = Buffer.concat(events.flatMap((event) => formatEvent(event, clock.now())));
  await withFileName('--once', name, createWhole(resolved, lines));
}

/** Locks the file and reads it. Throws JournalInUseError while another process has it, and UsageError. */
export async function openOnceFile(options: OwnedFileOptions): Promise<OnceFile> {
  const { path, name } = options;
  await withFileName('--once', name, assertOnceFile(path));
  const record: OnceRecord = {
    target: { workflow: '', baseUrl: '' },
    salt: '',
    inputs: {},
    sentAt: undefined,
    id: undefined,
    ended: undefined,
  };
  const opening = openJournalFile({ ...options, mustExist: true }, (event) => apply(event, record));
  return { ...(await withFileName('--once', name, opening)), record };
}

/** Returns the first line of a file. */
export function onceHeader({ workflow, baseUrl }: OnceTarget, salt: string): BatchEvent {
  return { event: 'batch', workflow, baseUrl, shard: '1/1', salt };
}

function apply({ event, fields, run }: ReadEvent, record: OnceRecord): void {
  if (event === 'batch') {
    record.target = { workflow: String(fields.workflow), baseUrl: String(fields.baseUrl) };
    record.salt = String(fields.salt);
  }
  if (event === 'sent') {
    record.inputs = (fields.inputs ?? {}) as OnceRecord['inputs'];
    record.sentAt = typeof fields.time === 'string' ? fields.time : undefined;
  }
  if (event === 'accepted') Object.assign(record, { id: String(fields.id), ended: undefined });
  if (event === 'ended') record.ended = run;
}

/** Writes a temporary file and links it to `path`, which no other process then overwrites. */
async function createWhole(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(4).toString('hex')}.tmp`);
  try {
    const handle = await createFile(temporary, 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await linkOrRename(temporary, path);
  } finally {
    await promises.unlink(temporary).catch(() => {});
  }
  await syncDirectory(dirname(path));
}

async function linkOrRename(from: string, to: string): Promise<void> {
  try {
    await promises.link(from, to);
  } catch (error) {
    // Another process was faster: its file is used.
    if (errorCode(error) === 'EEXIST') return;
    // Some file systems have no hard links; there, two processes that start together may each create the file.
    if (!['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'].includes(errorCode(error) ?? '')) throw error;
    await promises.rename(from, to);
  }
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
