/** A results file, read again: what is known of its rows, and what the file is about. */
import { createReadStream, promises } from 'node:fs';
import { membersOf } from '../json/members.js';
import { parseRun } from '../service/parse-run.js';
import type { Run } from '../service/run.js';
import { BatchFileError } from './file-error.js';
import { type Line, linesOf } from './lines.js';

/** What a batch is about: the same command goes on with it, and no other. */
export interface BatchHead {
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
export async function expectFile(path: string): Promise<void> {
  const found = await promises.stat(path).catch(() => undefined);
  if (found !== undefined && !found.isFile()) throw new BatchFileError('it is not a regular file');
}

/** The events of a results file, in their order. Throws BatchFileError for a line that is none. */
export async function* eventsOf(path: string, name: string): AsyncGenerator<ReadEvent, void, void> {
  for await (const line of linesOf(createReadStream(path))) {
    if (line.bytes.length === 0) continue;
    const event = parseEvent(line.bytes);
    if (event !== undefined) yield event;
    else if (line.isComplete)
      throw new BatchFileError(`${name}:${line.number}: is not a line of a batch's results`);
  }
}

/** How the first line of every results file begins. */
const BEGINNING = '{"event":"batch"';

/**
 * Takes away what a process that was killed has left of its last line. Throws BatchFileError, and leaves the file as it
 * is, where it does not begin as results do; or the system's error.
 */
export async function repair(path: string, name: string): Promise<void> {
  let last: Line | undefined;
  for await (const line of linesOf(createReadStream(path))) {
    if (line.number === 1) expectBeginning(line, name);
    last = line;
  }
  if (last === undefined || last.isComplete) return;
  if (parseEvent(last.bytes) === undefined) await promises.truncate(path, last.start);
  else await promises.appendFile(path, '\n');
}

function expectBeginning({ bytes, isComplete }: Line, name: string): void {
  const text = bytes.subarray(0, BEGINNING.length).toString('latin1');
  if (text === BEGINNING || (!isComplete && BEGINNING.startsWith(text))) return;
  throw new BatchFileError(`${name}:1: is not a line of a batch's results; the file was left as it is`);
}

function asEvent(fields: Record<string, unknown>, run: Run | undefined): ReadEvent | undefined {
  const { event, row = 0 } = fields;
  return typeof event === 'string' && typeof row === 'number' ? { event, row, fields, run } : undefined;
}

function parseEvent(bytes: Buffer): ReadEvent | undefined {
  try {
    if (!bytes.subarray(0, 20).includes('"ended"')) {
      return asEvent(JSON.parse(bytes.toString('utf8')), undefined);
    }
    const fields: Record<string, unknown> = {};
    let run: Run | undefined;
    for (const { name, value } of membersOf(bytes) ?? []) {
      if (name === 'run') run = parseRun(value);
      else fields[name] = JSON.parse(Buffer.from(value).toString('utf8'));
    }
    return asEvent(fields, run);
  } catch {
    // Whatever it is, it is no event of ours.
    return undefined;
  }
}
