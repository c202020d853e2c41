/**
 * The events of a log: the one vocabulary of what happened to runs, in memory and as lines of a file (JSON Lines). A later
 * command continues from these lines, so an event is written before it takes effect.
 */
import { BatchFileError } from '../../errors.js';
import { ERROR_CODES, type ErrorCode } from '../../exit-code.js';
import type { FileState } from '../../inputs/file-digests.js';
import type { Facts } from '../../outcome/outcome.js';
import { parseRun } from '../../service/parse-run.js';
import type { Run } from '../../service/run.js';
import { compactJson } from '../../text/json/format-json.js';
import { parseMembers } from '../../text/json/members.js';
import { sanitizeJson } from '../../text/sanitize.js';
import type { SecretMask } from '../../text/secret-mask.js';
import { isBlank, type Line, readLines } from '../../text/utf8.js';
import { followsTornLine, isClaim, Ownership } from './lock.js';

/** Why no run was created, or why its id is not known. */
export interface RecordedError {
  code: ErrorCode;
  /** One or more lines, not sanitized. */
  reason: string;
  /** The HTTP status of the response, and the id that the service gave the request. */
  status?: number;
  requestId?: string;
  /** An id that the response names and the service did not confirm. */
  candidateId?: string;
}

/** What happened to a row; a run outside of a batch is row 1. */
export type RowEvent =
  /**
   * The row is in the table. `key` is the digest of its content, `written` of what the table has, if that names files,
   * `place` of its path or label; 32 hexadecimal digits each. `held` says why it is not sent.
   */
  | {
      event: 'recorded';
      row: number;
      key: string;
      written?: string;
      place?: string;
      label?: string;
      held?: string;
    }
  /** The row is found elsewhere. */
  | { event: 'moved'; row: number; label?: string; place?: string; written?: string }
  /** The row is held no longer. */
  | { event: 'released'; row: number }
  /** The row will be sent. `label` is how users know it; `inputs` are the names of its inputs, unless they are invalid. */
  | { event: 'intent'; row: number; label?: string; inputs?: readonly string[] }
  /** The request is about to be completed. `inputs` has the digest of each input, in the file of `run --once`. */
  | { event: 'sent'; row: number; inputs?: Readonly<Record<string, string>> }
  | { event: 'accepted'; row: number; id: string }
  /** The last request, or the row itself, has created no run. */
  | ({ event: 'refused'; row: number } & RecordedError)
  /** A run may have been created. */
  | ({ event: 'unknown'; row: number } & RecordedError)
  /** The user found that the attempt that is unknown has created no run. */
  | { event: 'uncreated'; row: number }
  /** The service no longer knows the run of an accepted row (404). */
  | { event: 'lost'; row: number }
  | { event: 'ended'; row: number; run: Run };

/** By name: 16 hexadecimal digits of salt, then 16 of the digest. */
export type RecordedInputs = Readonly<Record<string, string>>;

/** Identifies what a file records: only a command with the same values may continue it. */
export interface Header {
  workflow: string;
  baseUrl: string;
  shard: string;
  /** Of all rows. */
  inputs?: RecordedInputs;
  /** Set in the file of a batch: the key of the digests of its rows, 32 hexadecimal digits. */
  rowSalt?: string;
  /** Set in the file of `run --once`: the key of its digests, 32 hexadecimal digits. */
  salt?: string;
}

/** Rows, as ranges in order, both ends included. */
export type RowRanges = readonly (readonly [first: number, last: number])[];

export type FileEvent =
  | ({ event: 'batch' } & Header)
  /** `path` is a digest, 32 hexadecimal digits. */
  | ({ event: 'file'; path: string } & FileState)
  /** The rows that a command has found, all of which are recorded; `table` is the digest of all shards, if there are several. */
  | { event: 'present'; rows: RowRanges; table?: string; places?: string }
  /** At a place is a copy of the row `of`, which is not sent. Those of a command follow its `present`. */
  | { event: 'copy'; of: number; place: string }
  /** The command that has found these rows came to its end. */
  | { event: 'completed' }
  /** All rows of the shard were begun; the whole table has this many rows, the shard this many copies among them. */
  | { event: 'table'; rows: number; copies?: number }
  /** The batch stopped before that: `code` is that of an error of the table, `limit` the number of rows to send at most. */
  | { event: 'stopped'; rows?: number; copies?: number; code?: ErrorCode; limit?: number };

export type Event = RowEvent | FileEvent;

/** An event that was read. */
export type ReadEvent = Event & {
  /** Milliseconds since 1970; undefined in a file without times. */
  time: number | undefined;
  /** The offset of its line in the file. */
  start: number;
};

/** The version of the format; a file of another one is not read, but version 2 of the file of `run --once` is the same. */
const FORMAT = 3;

/** Returns whether an event is about a row. */
export function isRowEvent<E extends Event>(event: E): event is E & RowEvent {
  return 'row' in event;
}

/** Returns an error as it is recorded, without secrets. */
export function recordedError(
  { code, response, candidateId }: Facts,
  reason: string,
  secrets: SecretMask,
): RecordedError {
  const { status, requestId } = response ?? {};
  return {
    code,
    reason: secrets.mask(reason),
    ...(status !== undefined && { status }),
    ...(requestId !== undefined && { requestId: secrets.mask(requestId) }),
    ...(candidateId !== undefined && { candidateId: secrets.mask(candidateId) }),
  };
}

/** Returns the line of an event at the time `now` (ms since 1970); `by` is the token of the process that owns the file. */
export function encodeEvent(event: Event, now: number, by?: string): Uint8Array {
  const metadata = {
    ...(event.event === 'batch' && { format: FORMAT }),
    ...(by !== undefined && { by }),
    time: new Date(now).toISOString(),
  };
  if (event.event !== 'ended') return Buffer.from(`${sanitizeJson({ ...event, ...metadata })}\n`);
  const { run, ...rest } = event;
  const head = sanitizeJson({ ...rest, ...metadata }).slice(0, -1);
  // The run is the service's JSON, unchanged, on one line. Its line feed is dropped: ours follows the closing brace.
  const text = Buffer.concat([...compactJson(run.json)]);
  return Buffer.concat([Buffer.from(head), RUN_MEMBER, text.subarray(0, -1), Buffer.from('}\n')]);
}

// Reading

/** The first bytes of every file. */
const PREFIXES = ['{"event":"open"', '{"event":"batch"'];

/** Returns whether the first bytes of a file may be those of one that this module has written. */
export function mayBeLog(start: string): boolean {
  return PREFIXES.some((prefix) => start.startsWith(prefix) || prefix.startsWith(start));
}

/**
 * Calls `onEvent` for the effective events, in order: not those of a newer wfr, nor those of a process that had lost the
 * lock (lock.ts). Throws BatchFileError for an invalid line.
 */
export async function decodeEvents(
  bytes: AsyncIterable<Buffer>,
  name: string,
  onEvent: (event: ReadEvent) => void,
): Promise<void> {
  const ownership = new Ownership();
  let unreadable: BatchFileError | undefined;
  const decode = (line: Line) => {
    const members = parseLine(line.bytes);
    // A killed process may leave an incomplete line, followed by the claim of the next process.
    if (unreadable !== undefined && !followsTornLine(members)) throw unreadable;
    unreadable = undefined;
    const problem = members === undefined ? 'is not a line of a results file' : findProblem(members);
    const error =
      problem === undefined ? undefined : new BatchFileError(`${name}:${line.number}: ${problem}`);
    if (members === undefined) {
      unreadable = line.isComplete ? error : undefined;
      return;
    }
    if (error !== undefined) throw error;
    ownership.apply(members);
    if (isEffective(members, ownership)) onEvent(toReadEvent(members, line.start));
  };
  for await (const lines of readLines(bytes))
    for (const line of lines) if (!isBlank(line.bytes)) decode(line);
  if (unreadable !== undefined) throw unreadable;
}

/** Decodes the line at an offset, which was valid before; undefined if it is no event any more. */
export function decodeLine(bytes: Buffer, start: number): ReadEvent | undefined {
  const members = parseLine(bytes);
  if (members === undefined || !isKnownEvent(members.event)) return undefined;
  return toReadEvent(members, start);
}

type Members = Record<string, unknown>;

/**
 * Returns the members of a line, with a parsed Run as `run`, and the `time` in milliseconds since 1970, NaN if it is none;
 * undefined for a line that is not a JSON object.
 */
function parseLine(bytes: Buffer): Members | undefined {
  try {
    const isEnded = bytes.toString('latin1', 0, 20).includes('"ended"');
    const members = isEnded ? parseEnded(bytes) : JSON.parse(bytes.toString('utf8'));
    if (typeof members !== 'object' || members === null || Array.isArray(members)) return undefined;
    const { time } = members;
    if (time !== undefined) members.time = typeof time === 'string' ? Date.parse(time) : Number.NaN;
    return members;
  } catch {
    return undefined;
  }
}

/** An output may be large, and its numbers exact: it stays the text that it is. */
function parseEnded(bytes: Buffer): Members {
  const end = bytes.indexOf(RUN_MEMBER);
  // wfr writes the run last, so that the other members are JSON without it, and it is scanned once.
  const last = end < 0 ? undefined : parseRunOrUndefined(bytes.subarray(end + RUN_MEMBER.length, -1));
  if (last !== undefined && bytes.at(-1) === 0x7d) {
    const others = JSON.parse(`${bytes.toString('utf8', 0, end)}}`);
    others.run = last;
    return others;
  }
  const members: Record<string, unknown> = {};
  for (const { name, value } of parseMembers(bytes) ?? []) {
    members[name] =
      name === 'run' ? parseRunOrUndefined(value) : JSON.parse(Buffer.from(value).toString('utf8'));
  }
  return members;
}

const RUN_MEMBER = Buffer.from(',"run":');

function parseRunOrUndefined(value: Uint8Array): Run | undefined {
  try {
    return parseRun(value);
  } catch {
    // The check of the event's members reports it.
    return undefined;
  }
}

function toReadEvent(members: Members, start: number): ReadEvent {
  // A copy of each of millions of events would take as long as to parse them.
  members.start = start;
  return members as unknown as ReadEvent;
}

/** Ids are always effective: their rows were sent while the presumed dead process still owned the file. */
function isEffective({ event, by }: Members, ownership: Ownership): boolean {
  if (event === 'open' || event === 'close' || !isKnownEvent(event)) return false;
  return event === 'accepted' || !ownership.isReplaced(by);
}

// The members that each event must have

/** Limits the memory for row states; more rows than any real table has. */
const MAX_ROWS = 100_000_000;

interface Check {
  accepts(value: unknown): boolean;
  expected: string;
}

const TEXT: Check = { accepts: (value) => typeof value === 'string', expected: 'a string' };
const OPTIONAL_TEXT: Check = { ...TEXT, accepts: optional(TEXT.accepts) };
const ID: Check = { accepts: (value) => typeof value === 'string' && value !== '', expected: 'an id' };
const ROW: Check = {
  accepts: isIntegerBetween(1, MAX_ROWS),
  expected: `a whole number from 1 to ${MAX_ROWS}`,
};
const COUNT: Check = { accepts: isIntegerBetween(0, MAX_ROWS), expected: `a whole number up to ${MAX_ROWS}` };
const OPTIONAL_COUNT: Check = { ...COUNT, accepts: optional(COUNT.accepts) };
const SIZE: Check = { accepts: isIntegerBetween(0, Number.MAX_SAFE_INTEGER), expected: 'a size in bytes' };
const STATUS: Check = { accepts: optional(isIntegerBetween(100, 999)), expected: 'an HTTP status' };
const CODE: Check = {
  accepts: (value) => typeof value === 'string' && Object.hasOwn(ERROR_CODES, value),
  expected: 'the code of an error',
};
const DIGEST: Check = { accepts: matches(/^[0-9a-f]{32}$/), expected: '32 hexadecimal digits' };
const OPTIONAL_DIGEST: Check = { ...DIGEST, accepts: optional(DIGEST.accepts) };
const RANGES: Check = { accepts: isListOfRanges, expected: 'ranges of rows in order' };
const NUMBER_TEXT: Check = { accepts: matches(/^\d{1,24}$/), expected: 'a number as text' };
const SHARD: Check = { accepts: matches(/^\d+\/\d+$/), expected: 'a shard such as 2/5' };
const RUN: Check = { accepts: (value) => value !== undefined, expected: 'a run with an id' };
const TIME: Check = { accepts: optional(Number.isFinite), expected: 'a time' };
const DIGESTS: Check = { accepts: optional(isRecordOf(/^[0-9a-f]{64}$/)), expected: 'digests by input' };
const NAMES: Check = { accepts: optional(isListOfTexts), expected: 'names' };
const INPUTS: Check = {
  accepts: optional(isRecordOf(/^[0-9a-f]{32}$/)),
  expected: 'salted digests by input',
};
const OWNER: Check = { accepts: (value) => isClaim({ owner: value, file: '' }), expected: 'a process' };
const ERROR = {
  row: ROW,
  code: CODE,
  reason: TEXT,
  status: STATUS,
  requestId: OPTIONAL_TEXT,
  candidateId: OPTIONAL_TEXT,
};

/** Events that are not listed come from a newer wfr and are ignored. */
const MEMBERS: Readonly<Record<Event['event'] | 'open' | 'close', Readonly<Record<string, Check>>>> = {
  open: { owner: OWNER, file: TEXT },
  close: { by: TEXT },
  batch: {
    workflow: TEXT,
    baseUrl: TEXT,
    shard: SHARD,
    inputs: INPUTS,
    salt: OPTIONAL_DIGEST,
    rowSalt: OPTIONAL_DIGEST,
  },
  file: { path: DIGEST, size: SIZE, ctime: NUMBER_TEXT, ino: NUMBER_TEXT, digest: DIGEST },
  recorded: {
    row: ROW,
    key: DIGEST,
    written: OPTIONAL_DIGEST,
    place: OPTIONAL_DIGEST,
    label: OPTIONAL_TEXT,
    held: OPTIONAL_TEXT,
  },
  moved: { row: ROW, label: OPTIONAL_TEXT, place: OPTIONAL_DIGEST, written: OPTIONAL_DIGEST },
  released: { row: ROW },
  present: { rows: RANGES, table: OPTIONAL_DIGEST, places: OPTIONAL_TEXT },
  copy: { of: ROW, place: DIGEST },
  completed: {},
  intent: { row: ROW, label: OPTIONAL_TEXT, inputs: NAMES },
  sent: { row: ROW, inputs: DIGESTS },
  accepted: { row: ROW, id: ID },
  refused: ERROR,
  unknown: ERROR,
  uncreated: { row: ROW },
  lost: { row: ROW },
  ended: { row: ROW, run: RUN },
  table: { rows: COUNT, copies: OPTIONAL_COUNT },
  stopped: {
    rows: OPTIONAL_COUNT,
    copies: OPTIONAL_COUNT,
    code: { ...CODE, accepts: optional(CODE.accepts) },
    limit: { ...COUNT, accepts: optional(COUNT.accepts) },
  },
};

const CHECKS_OF_OTHERS = Object.entries({ time: TIME });
/** The same, as it is read for each event. */
const CHECKS: ReadonlyMap<string, readonly (readonly [name: string, check: Check])[]> = new Map(
  Object.entries(MEMBERS).map(([event, checks]) => [event, Object.entries({ ...checks, time: TIME })]),
);

function isKnownEvent(event: unknown): event is keyof typeof MEMBERS {
  return typeof event === 'string' && Object.hasOwn(MEMBERS, event);
}

/** Returns the first problem with the members of a line; undefined if they are valid. */
function findProblem(members: Members): string | undefined {
  const { event, format } = members;
  if (typeof event !== 'string') return 'is not a line of a results file';
  if (event === 'batch' && format !== FORMAT && (format !== 2 || members.salt === undefined))
    return 'was written by another version of wfr; continue with that version, or use another file';
  for (const [name, { accepts, expected }] of CHECKS.get(event) ?? CHECKS_OF_OTHERS) {
    if (!accepts(members[name])) return `"${name}" of the event "${event}" must be ${expected}`;
  }
  return undefined;
}

function isIntegerBetween(min: number, max: number) {
  return (value: unknown) =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}

function isListOfRanges(value: unknown): boolean {
  let last = 0;
  const isRange = (range: unknown) => {
    if (!Array.isArray(range) || range.length !== 2 || !range.every(ROW.accepts)) return false;
    const isInOrder = range[0] > last && range[0] <= range[1];
    last = range[1];
    return isInOrder;
  };
  return Array.isArray(value) && value.every(isRange);
}

function isRecordOf(pattern: RegExp) {
  return (value: unknown) =>
    typeof value === 'object' && value !== null && Object.values(value).every(matches(pattern));
}

function isListOfTexts(value: unknown) {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}

function optional(accepts: (value: unknown) => boolean) {
  return (value: unknown) => value === undefined || accepts(value);
}

function matches(pattern: RegExp) {
  return (value: unknown) => typeof value === 'string' && pattern.test(value);
}
