/** The reader of results files: parses and checks their lines, and skips those of processes that had lost the lock. */

import { createReadStream, promises } from 'node:fs';
import { BatchFileError } from '../../errors.js';
import { parseRun } from '../../service/parse-run.js';
import type { Run } from '../../service/run.js';
import { parseMembers } from '../../text/json/members.js';
import { isBlank, readLines } from '../read-lines.js';
import type { RecordedInputs } from './common-inputs.js';
import { findEventProblem, isKnownEvent } from './event-schema.js';
import { followsTornLine, Ownership } from './ownership.js';

/** Identifies a batch: only a command with the same values may resume it. */
export interface BatchHeader {
  workflow: string;
  baseUrl: string;
  shard: string;
  /** Of all rows; not in the file of `run --once`, nor in one of wfr 0.1.0. */
  inputs?: RecordedInputs;
  /** Set in the file of `run --once`. */
  salt?: string;
}

/** An event read from a results file. */
export interface ReadEvent {
  event: string;
  row: number;
  /** All members as parsed, except `run`. */
  fields: Readonly<Record<string, unknown>>;
  run: Run | undefined;
  /** The offset of its line in the file. */
  start: number;
}

/** Throws BatchFileError for a device, a pipe or a directory: a batch cannot resume from it. */
export async function assertRegularFile(path: string): Promise<void> {
  const found = await promises.stat(path).catch(() => undefined);
  if (found !== undefined && !found.isFile()) throw new BatchFileError('it is not a regular file');
}

/** The first bytes of every results file. */
const PREFIXES = ['{"event":"open"', '{"event":"batch"'];

/** Throws BatchFileError if a file exists that is not a results file, or the system's error. */
export async function assertResultsFile(path: string, name: string): Promise<void> {
  await assertRegularFile(path);
  const handle = await promises.open(path, 'r').catch(() => undefined);
  if (handle === undefined) return;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0).finally(() => handle.close());
  const text = buffer.toString('latin1', 0, bytesRead);
  if (PREFIXES.some((prefix) => text.startsWith(prefix) || prefix.startsWith(text))) return;
  throw new BatchFileError(`${name}:1: is not a line of a results file; the file was not changed`);
}

/** Reads the effective events of a results file. Throws BatchFileError for an invalid line, and the system's error. */
export function readEvents(path: string, name: string): AsyncGenerator<ReadEvent, void, void> {
  return parseEvents(createReadStream(path), name);
}

/**
 * Parses the effective events, in order: not those of a newer wfr, nor those of a process that had lost the lock
 * (lock.ts). Throws BatchFileError for an invalid line.
 */
export async function* parseEvents(
  bytes: AsyncIterable<Buffer>,
  name: string,
): AsyncGenerator<ReadEvent, void, void> {
  const ownership = new Ownership();
  let unreadable: BatchFileError | undefined;
  for await (const line of readLines(bytes)) {
    if (isBlank(line.bytes)) continue;
    const parsed = parseEvent(line.bytes, line.start);
    // A killed process may leave an incomplete line, followed by the claim of the next process.
    if (unreadable !== undefined && !followsTornLine(parsed?.fields)) throw unreadable;
    unreadable = undefined;
    const position = `${name}:${line.number}`;
    if (parsed === undefined) {
      unreadable = line.isComplete
        ? new BatchFileError(`${position}: is not a line of a results file`)
        : undefined;
      continue;
    }
    const problem = findEventProblem({
      ...parsed.fields,
      ...(parsed.event === 'ended' && { run: parsed.run }),
    });
    if (problem !== undefined) throw new BatchFileError(`${position}: ${problem}`);
    ownership.apply(parsed.fields);
    if (isEffective(parsed, ownership)) yield parsed;
  }
  if (unreadable !== undefined) throw unreadable;
}

/** Ids are always effective: their rows were sent while the presumed dead process still owned the file. */
function isEffective({ event, fields }: ReadEvent, ownership: Ownership): boolean {
  if (event === 'open' || event === 'close' || !isKnownEvent(event)) return false;
  return event === 'accepted' || !ownership.isReplaced(fields.by);
}

/** Parses the line at an offset; returns undefined for one that is not a JSON object. */
export function parseEvent(bytes: Buffer, start: number): ReadEvent | undefined {
  try {
    if (bytes.subarray(0, 20).includes('"ended"')) return parseEnded(bytes, start);
    const fields: unknown = JSON.parse(bytes.toString('utf8'));
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return undefined;
    return toReadEvent(fields as Record<string, unknown>, undefined, start);
  } catch {
    return undefined;
  }
}

function parseEnded(bytes: Buffer, start: number): ReadEvent {
  const fields: Record<string, unknown> = {};
  let run: Run | undefined;
  for (const { name, value } of parseMembers(bytes) ?? []) {
    if (name === 'run') run = parseRunOrUndefined(value);
    else fields[name] = JSON.parse(Buffer.from(value).toString('utf8'));
  }
  return toReadEvent(fields, run, start);
}

function parseRunOrUndefined(value: Uint8Array): Run | undefined {
  try {
    return parseRun(value);
  } catch {
    // The check of the event's members reports it.
    return undefined;
  }
}

function toReadEvent(fields: Record<string, unknown>, run: Run | undefined, start: number): ReadEvent {
  const { event, row } = fields;
  return {
    event: typeof event === 'string' ? event : '',
    row: typeof row === 'number' ? row : 0,
    fields,
    run,
    start,
  };
}
