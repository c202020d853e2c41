/** A results file, read again: what is known of its rows, and what the file is about. */

import { createReadStream, promises } from 'node:fs';
import { BatchFileError } from '../../errors.js';
import { parseRun } from '../../service/parse-run.js';
import type { Run } from '../../service/run.js';
import { parseMembers } from '../../text/json/members.js';
import { isBlank, readLines } from '../read-lines.js';
import { findEventProblem, isKnownEvent } from './event-schema.js';
import { followsTornLine, Ownership } from './ownership.js';

/** What a batch is about: the same command goes on with it, and no other. */
export interface BatchHeader {
  workflow: string;
  baseUrl: string;
  shard: string;
}

/** An event as it was read. */
export interface ReadEvent {
  event: string;
  row: number;
  /** The other members that are text or numbers. */
  fields: Readonly<Record<string, unknown>>;
  run: Run | undefined;
}

/** Throws BatchFileError for a device, a pipe or a folder, which nobody could read to its end or go on from. */
export async function assertRegularFile(path: string): Promise<void> {
  const found = await promises.stat(path).catch(() => undefined);
  if (found !== undefined && !found.isFile()) throw new BatchFileError('it is not a regular file');
}

/** How the first line of every results file begins. */
const FIRST_LINES = ['{"event":"open"', '{"event":"batch"'];

/** Throws BatchFileError where a file is there that does not begin as results do; or the system's error. */
export async function assertResultsFile(path: string, name: string): Promise<void> {
  await assertRegularFile(path);
  const stream = await promises.open(path, 'r').catch(() => undefined);
  if (stream === undefined) return;
  const { buffer, bytesRead } = await stream.read(Buffer.alloc(16), 0, 16, 0).finally(() => stream.close());
  const text = buffer.toString('latin1', 0, bytesRead);
  if (FIRST_LINES.some((beginning) => text.startsWith(beginning) || beginning.startsWith(text))) return;
  throw new BatchFileError(`${name}:1: is not a line of a batch's results; the file was left as it is`);
}

/** The events of a results file. Throws BatchFileError for a line that is none, and the system's error. */
export function readEvents(path: string, name: string): AsyncGenerator<ReadEvent, void, void> {
  return parseEvents(createReadStream(path), name);
}

/**
 * The events that count, in their order: not those of a newer wfr, nor those of a process that had lost the file
 * (lock.ts). Throws BatchFileError for a line that is none.
 */
export async function* parseEvents(
  bytes: AsyncIterable<Buffer>,
  name: string,
): AsyncGenerator<ReadEvent, void, void> {
  const ownership = new Ownership();
  let unreadable: BatchFileError | undefined;
  for await (const line of readLines(bytes)) {
    if (isBlank(line.bytes)) continue;
    const parsed = parseEvent(line.bytes);
    // Half a line, in front of the claim of the next process, is what a killed one has left.
    if (unreadable !== undefined && !followsTornLine(parsed?.fields)) throw unreadable;
    unreadable = undefined;
    const at = `${name}:${line.number}`;
    if (parsed === undefined) {
      unreadable = line.isComplete
        ? new BatchFileError(`${at}: is not a line of a batch's results`)
        : undefined;
      continue;
    }
    const problem = findEventProblem({
      ...parsed.fields,
      ...(parsed.event === 'ended' && { run: parsed.run }),
    });
    if (problem !== undefined) throw new BatchFileError(`${at}: ${problem}`);
    ownership.apply(parsed.fields);
    if (isEffective(parsed, ownership)) yield parsed;
  }
  if (unreadable !== undefined) throw unreadable;
}

/** An id counts in any case: its row was sent while the process that was taken for dead still had the file. */
function isEffective({ event, fields }: ReadEvent, ownership: Ownership): boolean {
  if (event === 'open' || event === 'close' || !isKnownEvent(event)) return false;
  return event === 'accepted' || !ownership.isReplaced(fields.by);
}

/** A line that is an object, whatever it says; undefined where it is none. */
function parseEvent(bytes: Buffer): ReadEvent | undefined {
  try {
    if (bytes.subarray(0, 20).includes('"ended"')) return parseEnded(bytes);
    const fields: unknown = JSON.parse(bytes.toString('utf8'));
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return undefined;
    return toReadEvent(fields as Record<string, unknown>, undefined);
  } catch {
    return undefined;
  }
}

function parseEnded(bytes: Buffer): ReadEvent {
  const fields: Record<string, unknown> = {};
  let run: Run | undefined;
  for (const { name, value } of parseMembers(bytes) ?? []) {
    if (name === 'run') run = parseRunOrUndefined(value);
    else fields[name] = JSON.parse(Buffer.from(value).toString('utf8'));
  }
  return toReadEvent(fields, run);
}

function parseRunOrUndefined(value: Uint8Array): Run | undefined {
  try {
    return parseRun(value);
  } catch {
    // The check of the event's members says so.
    return undefined;
  }
}

function toReadEvent(fields: Record<string, unknown>, run: Run | undefined): ReadEvent {
  const { event, row } = fields;
  return {
    event: typeof event === 'string' ? event : '',
    row: typeof row === 'number' ? row : 0,
    fields,
    run,
  };
}
