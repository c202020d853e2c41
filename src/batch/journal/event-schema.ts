/** What each line of a results file must say. */
import { isClaim } from './ownership.js';

/** More rows than any table has: what is said of each of them is kept in memory. */
const MAX_ROWS = 100_000_000;

interface Check {
  accepts(value: unknown): boolean;
  expected: string;
}

const TEXT: Check = { accepts: (value) => typeof value === 'string', expected: 'a string' };
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
const OWNER: Check = { accepts: (value) => isClaim({ owner: value, file: '' }), expected: 'a process' };

/** The members of each event. One that is not listed is of a newer wfr, and is ignored. */
const MEMBERS: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  open: { owner: OWNER, file: TEXT },
  close: { by: TEXT },
  batch: { workflow: TEXT, baseUrl: TEXT, shard: SHARD },
  intent: { row: ROW, digest: DIGEST, time: TIME },
  sent: { row: ROW, time: TIME },
  accepted: { row: ROW, id: ID, time: TIME },
  refused: { row: ROW, exit: EXIT, reason: TEXT, time: TIME },
  lost: { row: ROW, time: TIME },
  ended: { row: ROW, run: RUN, time: TIME },
  table: { rows: COUNT },
};

/** Whether wfr knows an event of that name. */
export function isKnownEvent(event: string): boolean {
  return Object.hasOwn(MEMBERS, event);
}

/** Returns what is wrong with a line's members; undefined where nothing is. */
export function findEventProblem(members: Readonly<Record<string, unknown>>): string | undefined {
  const { event } = members;
  if (typeof event !== 'string') return "is not a line of a batch's results";
  for (const [name, { accepts, expected }] of Object.entries((isKnownEvent(event) && MEMBERS[event]) || {})) {
    if (!accepts(members[name])) return `"${name}" of the event "${event}" must be ${expected}`;
  }
  return undefined;
}

function isIntegerBetween(least: number, most: number) {
  return (value: unknown) =>
    typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most;
}

function isTime(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && !Number.isNaN(Date.parse(value)));
}

function matches(pattern: RegExp) {
  return (value: unknown) => typeof value === 'string' && pattern.test(value);
}
