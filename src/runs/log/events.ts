/**
 * The events of a log: the one vocabulary of what happened to runs, in memory and as lines of a file (JSON Lines). A later
 * command continues from these lines, so an event is written before it takes effect.
 */
import { BatchFileError, type Facts } from '../../errors.js';
import { ERROR_CODES, type ErrorCode } from '../../exit-code.js';
import { rowReason } from '../../outcome/describe-error.js';
import { parseRunJson } from '../../service/parse-run.js';
import type { Run } from '../../service/run.js';
import { compactJson } from '../../text/json/format-json.js';
import { isObject } from '../../text/json/json-file.js';
import { isSpace } from '../../text/json/scanner.js';
import { formatIso } from '../../text/quantity.js';
import { sanitizeJson } from '../../text/sanitize.js';
import type { SecretMask } from '../../text/secret-mask.js';
import { type Line, readLines } from '../../text/utf8.js';
import { createOwnership, isClaim, type Owner } from './lock.js';

// The members of each event

/** Returns whether a member is valid. */
type Check<T> = (value: unknown) => value is T;

/** Limits the memory for row states; more rows than any real table has. */
const MAX_ROWS = 100_000_000;

const TEXT = (value: unknown): value is string => typeof value === 'string';
const ID = matches(/./s);
const ROW = isIntegerBetween(1, MAX_ROWS);
const COUNT = isIntegerBetween(0, MAX_ROWS);
const STATUS = isIntegerBetween(100, 999);
const CODE = (value: unknown): value is ErrorCode => TEXT(value) && Object.hasOwn(ERROR_CODES, value);
const DIGEST = matches(/^[0-9a-f]{32}$/);
const SHARD = matches(/^\d+\/\d+$/);
const RUN = (value: unknown): value is Run => value !== undefined;
const TIME = optional((value): value is number => Number.isFinite(value));
const NAMES = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(TEXT);
/** The digest of each input, by its name. */
const DIGESTS = isRecordOf(matches(/^[0-9a-f]{64}$/));
const SHORT_DIGESTS = isRecordOf(DIGEST);
const OWNER = (value: unknown): value is Owner => isClaim({ owner: value, file: '' });

/** Why no run was created, or why its id is not known. */
const ERROR = {
  code: CODE,
  /** One or more lines, not sanitized. */
  reason: TEXT,
  /** The HTTP status of the response, and the id that the service gave the request. */
  status: optional(STATUS),
  requestId: optional(TEXT),
  /** An id that the response names and the service did not confirm. */
  candidateId: optional(TEXT),
};

/** What happened to a row; a run outside of a batch is row 1. */
const ROW_EVENTS = {
  /**
   * The row is in the table; again, if it is elsewhere now. `key` is the digest of its content, `written` of what the table
   * has, if that names files, `place` of its path or label. `held` says why it is not sent.
   */
  recorded: {
    row: ROW,
    key: DIGEST,
    written: optional(DIGEST),
    place: optional(DIGEST),
    label: optional(TEXT),
    held: optional(TEXT),
  },
  /** The row is held no longer, or was rejected with other inputs of all rows, or elsewhere. */
  released: { row: ROW },
  /** The row will be sent. `label` is how users know it; `inputs` are the names of its inputs, unless they are invalid. */
  intent: { row: ROW, label: optional(TEXT), inputs: optional(NAMES) },
  /** The request is about to be completed. `inputs` is in the file of `run --once`. */
  sent: { row: ROW, inputs: optional(DIGESTS) },
  accepted: { row: ROW, id: ID },
  /** The last request, or the row itself, has created no run. */
  refused: { row: ROW, ...ERROR },
  /** A run may have been created. */
  unknown: { row: ROW, ...ERROR },
  /** The user found that the attempt that is unknown has created no run. */
  uncreated: { row: ROW },
  /** The service no longer knows the run of an accepted row (404). */
  lost: { row: ROW },
  /** `late` where another command had triggered it, and it had ended before this one first read it. */
  ended: { row: ROW, run: RUN, late: optional((value): value is true => value === true) },
};

const FILE_EVENTS = {
  /** What a file records: only a command with the same values may continue it. */
  batch: {
    workflow: TEXT,
    baseUrl: TEXT,
    shard: SHARD,
    /** Those of all rows. */
    inputs: optional(SHORT_DIGESTS),
    /** Set in the file of `run --once`: the key of its digests. */
    salt: optional(DIGEST),
    /** Set in the file of a batch: the key of its digests. */
    rowSalt: optional(DIGEST),
  },
  /**
   * The rows that a command has found, all of which are recorded, and those that are not there and do not count as gone yet;
   * `table` is the digest of all shards, if there are several; `places` tells what a place is, such as `path`.
   */
  present: {
    rows: isListOfRanges,
    undecided: optional(isListOfRanges),
    table: optional(DIGEST),
    places: optional(TEXT),
  },
  /** At a place is a copy of the row `of`, which is not sent. Those of a command follow its `present`. */
  copy: { of: ROW, place: DIGEST, label: optional(TEXT) },
  /** The command that has found these rows came to its end. */
  completed: {},
  /** All rows of the shard were begun; the whole table has this many rows, copies included. */
  table: { rows: COUNT },
  /** The batch stopped before that: `code` is that of an error of the table, `limit` the number of rows to send at most. */
  stopped: {
    rows: optional(COUNT),
    code: optional(CODE),
    limit: optional(COUNT),
  },
};

/** Events that are not listed come from a newer wfr and are ignored. */
const EVENTS = { ...ROW_EVENTS, ...FILE_EVENTS, open: { owner: OWNER, file: TEXT }, close: { by: TEXT } };

type Checked<C> = C extends Check<infer T> ? T : never;
type OptionalName<Checks> = {
  [Name in keyof Checks]: undefined extends Checked<Checks[Name]> ? Name : never;
}[keyof Checks];
/** An object that the checks accept. */
type Valid<Checks> = { [Name in Exclude<keyof Checks, OptionalName<Checks>>]: Checked<Checks[Name]> } & {
  [Name in OptionalName<Checks>]?: Checked<Checks[Name]>;
};
type EventOf<Events> = { [Name in keyof Events]: { event: Name } & Valid<Events[Name]> }[keyof Events];

/** In those without a label, it is undefined. */
export type RowEvent = EventOf<typeof ROW_EVENTS> & { label?: string | undefined };
type FileEvent = EventOf<typeof FILE_EVENTS>;
export type Event = RowEvent | FileEvent;
export type RecordedError = Valid<typeof ERROR>;
export type Header = Valid<typeof FILE_EVENTS.batch>;
export type Presence = Valid<typeof FILE_EVENTS.present>;
/** Rows in order, both ends of each range included. */
export type RowRanges = readonly (readonly [first: number, last: number])[];

function isIntegerBetween(min: number, max: number) {
  return (value: unknown): value is number =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

function isListOfRanges(value: unknown): value is RowRanges {
  let last = 0;
  const isRange = (range: unknown) => {
    if (!Array.isArray(range) || range.length !== 2 || !range.every(ROW)) return false;
    const [from = 0, to = 0] = range;
    const isInOrder = from > last && from <= to;
    last = to;
    return isInOrder;
  };
  return Array.isArray(value) && value.every(isRange);
}

function isRecordOf(accepts: Check<string>) {
  return (value: unknown): value is Readonly<Record<string, string>> =>
    isObject(value) && Object.values(value).every(accepts);
}

function matches(pattern: RegExp) {
  return (value: unknown): value is string => TEXT(value) && pattern.test(value);
}

function optional<T>(accepts: Check<T>): Check<T | undefined> {
  return (value): value is T | undefined => value === undefined || accepts(value);
}

// Events

/** An event that was read. */
export type ReadEvent = Event & {
  /** Milliseconds since 1970; undefined in a file without times. */
  time: number | undefined;
  /** The offset of its line in the file. */
  start: number;
};

/** The version of the format; a file of another one is not read. */
const FORMAT = 3;

/** Returns whether an event is about a row. */
export function isRowEvent<E extends Event>(event: E): event is E & RowEvent {
  return 'row' in event;
}

/** Returns an error as it is recorded, without secrets. */
export function recordedError(facts: Facts, secrets: SecretMask): RecordedError {
  const { code, response, candidateId } = facts;
  const mask = (text: string | undefined) => text && secrets.mask(text);
  return {
    code,
    reason: secrets.mask(rowReason(facts)),
    status: response?.status,
    requestId: mask(response?.requestId),
    candidateId: mask(candidateId),
  };
}

/** Returns the line of an event at the time `now` (ms since 1970); `by` is the token of the process that owns the file. */
export function encodeEvent(event: Event | { event: 'close' }, now: number, by?: string): Uint8Array {
  const format = event.event === 'batch' ? FORMAT : undefined;
  const { run, ...rest }: { run?: Run; event: string } = event;
  const line = sanitizeJson({ ...rest, format, by, time: formatIso(now) });
  if (!run) return Buffer.from(`${line}\n`);
  // The run is the service's JSON, unchanged, on one line. Its line feed is dropped: ours follows the closing brace.
  const text = Buffer.concat([...compactJson(run.json)]);
  return Buffer.concat([
    Buffer.from(line.slice(0, -1)),
    RUN_MEMBER,
    text.subarray(0, -1),
    Buffer.from('}\n'),
  ]);
}

// Reading

/** What is wrong with other text than the lines of a file that this module has written. */
export const NO_LINE = 'is not a line of a results file';

/** The first bytes of every file. */
const PREFIXES = ['{"event":"open"', '{"event":"batch"'];

/** Returns whether the first bytes of a file may be those of one that this module has written. */
export function mayBeLog(bytes: Buffer): boolean {
  const start = bytes.toString('latin1');
  return PREFIXES.some((prefix) => start.startsWith(prefix) || prefix.startsWith(start));
}

/**
 * Calls `onEvent` for the effective events, in order: not those of a newer wfr, nor those of a process that had lost the
 * lock (lock.ts). Returns the last owner, if it has not closed the file. Throws BatchFileError for an invalid line.
 */
export async function decodeEvents(
  bytes: AsyncIterable<Buffer>,
  name: string,
  onEvent: (event: ReadEvent) => void,
): Promise<Owner | undefined> {
  const ownership = createOwnership();
  let unreadable: BatchFileError | undefined;
  const decode = (line: Line) => {
    const members = parseLine(line.bytes, line.start);
    // A killed process may leave an incomplete line, followed by the claim of the next process.
    if (unreadable && !(isClaim(members) && members.torn)) throw unreadable;
    unreadable = undefined;
    const problem = findProblem(members);
    if (problem !== undefined) {
      const error = new BatchFileError(`${name}:${line.number}: ${problem}`);
      if (members) throw error;
      if (line.isComplete) unreadable = error;
    } else if (members) {
      ownership.apply(members);
      const { event, by } = members;
      const isOfLog = event !== 'open' && event !== 'close' && CHECKS.has(event);
      // Ids are always effective: their rows were sent while the presumed dead process still owned the file.
      const isEffective = event === 'accepted' || !ownership.isReplaced(by);
      if (isOfLog && isEffective) onEvent(members as unknown as ReadEvent);
    }
  };
  for await (const lines of readLines(bytes))
    for (const line of lines) if (!line.bytes.every(isSpace)) decode(line);
  if (unreadable) throw unreadable;
  return ownership.claim?.owner;
}

/** Decodes the line at an offset, which was that of a row before; undefined if it is no event any more. */
export function decodeLine(bytes: Buffer, start: number): (ReadEvent & RowEvent) | undefined {
  const members = parseLine(bytes, start);
  return CHECKS.has(members?.event) ? (members as unknown as ReadEvent & RowEvent) : undefined;
}

type Members = Record<string, unknown>;

/**
 * Returns the members of the line at the offset `start`, with that, a parsed Run as `run`, and the `time` in milliseconds since
 * 1970, NaN if it is none; undefined for a line that is not a JSON object.
 */
function parseLine(bytes: Buffer, start: number): Members | undefined {
  try {
    const isEnded = bytes.toString('latin1', 0, 20).includes('"ended"');
    const members = isEnded ? parseEnded(bytes) : JSON.parse(bytes.toString());
    if (!isObject(members)) return undefined;
    const { time } = members;
    // A copy of each of millions of events would take as long as to parse them.
    members.start = start;
    if (time !== undefined) members.time = typeof time === 'string' ? Date.parse(time) : Number.NaN;
    return members;
  } catch {
    return undefined;
  }
}

/** An output may be large, and its numbers exact: it stays the text that it is. wfr writes the run last. */
function parseEnded(bytes: Buffer): Members {
  const end = bytes.indexOf(RUN_MEMBER);
  const run = parseRunJson(bytes.subarray(end + RUN_MEMBER.length, -1));
  if (typeof run !== 'string')
    return Object.assign(JSON.parse(`${bytes.toString('utf8', 0, end)}}`), { run });
  // The check of the event's members reports it, unless the line is incomplete.
  return Object.assign(JSON.parse(bytes.toString()), { run: undefined });
}

const RUN_MEMBER = Buffer.from(',"run":');

type Checks = Readonly<Record<string, Check<unknown>>>;
const CHECKS: ReadonlyMap<unknown, [name: string, accepts: Check<unknown>][]> = new Map(
  Object.entries(EVENTS).map(([event, checks]: [string, Checks]) => [event, Object.entries(checks)]),
);

/** Returns the first problem with the members of a line; undefined if they are valid. */
function findProblem(members: Members = {}): string | undefined {
  const { event, format, time } = members;
  if (typeof event !== 'string') return NO_LINE;
  if (event === 'batch' && format !== FORMAT)
    return 'was written by another version of wfr; continue with that version, or use another file';
  const invalid = CHECKS.get(event)?.find(([name, accepts]) => !accepts(members[name]));
  if (!invalid && TIME(time)) return undefined;
  return `"${invalid?.[0] ?? 'time'}" of the event "${event}" is invalid`;
}
