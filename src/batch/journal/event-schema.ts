/** The members that each event of a results file must have. */
import { isClaim } from './ownership.js';

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
const EXIT: Check = { accepts: isIntegerBetween(0, 255), expected: 'an exit code' };
const DIGEST: Check = { accepts: matches(/^[0-9a-f]{16}$/), expected: '16 hexadecimal digits' };
const SHARD: Check = { accepts: matches(/^\d+\/\d+$/), expected: 'a shard such as 2/5' };
const RUN: Check = { accepts: (value) => value !== undefined, expected: 'a run with an id' };
const TIME: Check = { accepts: isTime, expected: 'a time' };
const SALT: Check = { accepts: optional(matches(/^[0-9a-f]{32}$/)), expected: '32 hexadecimal digits' };
const DIGESTS: Check = { accepts: optional(isRecordOf(/^[0-9a-f]{64}$/)), expected: 'digests by input' };
const NAMES: Check = { accepts: optional(isListOfTexts), expected: 'names' };
const INPUTS: Check = {
  accepts: optional(isRecordOf(/^[0-9a-f]{32}$/)),
  expected: 'salted digests by input',
};
const OWNER: Check = { accepts: (value) => isClaim({ owner: value, file: '' }), expected: 'a process' };

/** Events that are not listed come from a newer wfr and are ignored. */
const MEMBERS: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  open: { owner: OWNER, file: TEXT },
  close: { by: TEXT },
  batch: { workflow: TEXT, baseUrl: TEXT, shard: SHARD, inputs: INPUTS, salt: SALT },
  intent: { row: ROW, digest: DIGEST, inputs: NAMES },
  sent: { row: ROW, inputs: DIGESTS },
  unknown: { row: ROW, reason: TEXT, requestId: OPTIONAL_TEXT },
  accepted: { row: ROW, id: ID },
  refused: { row: ROW, exit: EXIT, reason: TEXT, requestId: OPTIONAL_TEXT },
  lost: { row: ROW },
  ended: { row: ROW, run: RUN },
  table: { rows: COUNT },
  stopped: { rows: COUNT },
};

/** Returns whether this version of wfr knows the event. */
export function isKnownEvent(event: string): boolean {
  return Object.hasOwn(MEMBERS, event);
}

/** Returns the first problem with the members of a line; undefined if they are valid. */
export function findEventProblem(members: Readonly<Record<string, unknown>>): string | undefined {
  const { event } = members;
  if (typeof event !== 'string') return 'is not a line of a results file';
  const checks = { time: TIME, ...(isKnownEvent(event) && MEMBERS[event]) };
  for (const [name, { accepts, expected }] of Object.entries(checks)) {
    if (!accepts(members[name])) return `"${name}" of the event "${event}" must be ${expected}`;
  }
  return undefined;
}

function isIntegerBetween(min: number, max: number) {
  return (value: unknown) =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}

function isTime(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && !Number.isNaN(Date.parse(value)));
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
