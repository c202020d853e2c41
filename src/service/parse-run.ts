/** Parses the body of a response as a Run. */

import { throwUnless } from '../errors.js';
import { decodeStart, listNames, pickMembers } from '../text/json/members.js';
import { JsonSyntaxError } from '../text/json/scanner.js';
import { latin1 } from '../text/utf8.js';
import { UnreadableResponseError } from './errors.js';
import type { ReceivedResponse } from './response-facts.js';
import type { Run } from './run.js';

/** The JSON type of ids; undefined also accepts integers, which some services send instead of strings. */
type IdType = 'string';

/** Bytes of the JSON of an id that is usable. */
const MAX_ID = 8_000;
/** Bytes of the JSON of a status, a version, a time, a step or a number: more is cut, and "…" says so. */
const MAX_TEXT = 4_000;
/** Bytes of the JSON of an error's message. */
const MAX_MESSAGE = 64 * 1024;

/** The members of a Run, as parseRunJson names their values. */
const RUN_MEMBERS: readonly (keyof Run)[] = [
  'id',
  'status',
  'versionName',
  'createdAt',
  'steps',
  'stepsCompleted',
  'error',
  'output',
];

/** Parses the body of a response as a Run (UTF-8 JSON). Throws UnreadableResponseError. */
export function parseRun(response: ReceivedResponse, idType?: IdType): Run {
  const run = parseRunJson(response.body, idType);
  if (typeof run === 'string') throw new UnreadableResponseError(run, response);
  return run;
}

/**
 * Parses a Run object (UTF-8 JSON). What it takes beside the text is bounded, whatever a service sends. Returns why it is
 * not an object with a usable id otherwise.
 */
export function parseRunJson(bytes: Uint8Array, idType?: IdType): Run | string {
  let values: ReturnType<typeof pickMembers>;
  try {
    values = pickMembers(bytes, RUN_MEMBERS);
  } catch (error) {
    throwUnless(error, JsonSyntaxError);
    return error.message;
  }
  if (!values) return 'a JSON value that is not an object';
  const [idJson, status, versionName, createdAt, steps, stepsCompleted, error, output] = values;
  const id = parseId(idJson, idType);
  if (id === undefined || !isUsableId(id))
    return `no usable run id in it; its fields are ${listNames(bytes)}`;
  return {
    id,
    status: asText(status),
    versionName: asText(versionName),
    createdAt: asText(createdAt),
    steps: asNumber(steps),
    stepsCompleted: asNumber(stepsCompleted),
    error: asError(error),
    output,
    json: bytes,
  };
}

/** Returns whether an id can be part of a path: `.` and `..` would be removed (RFC 3986, section 5.2.4). */
export function isUsableId(id: string): boolean {
  return id !== '' && id !== '.' && id !== '..' && id.isWellFormed();
}

function asText(value: Uint8Array | undefined, maxBytes = MAX_TEXT): string | undefined {
  return value?.[0] === 0x22 ? decodeStart(value, maxBytes) : undefined;
}

/** Returns the text of an id; undefined for another type. One that is too long is not cut: it would be another id. */
export function parseId(value: Uint8Array | undefined, idType?: IdType): string | undefined {
  if (!value || value.length > MAX_ID) return undefined;
  if (value[0] === 0x22 || idType) return asText(value, MAX_ID);
  const text = latin1(value);
  return /^\d+$/.test(text) ? text : undefined;
}

function asNumber(value: Uint8Array | undefined): number | undefined {
  if (!value || value.length > MAX_TEXT) return undefined;
  // JSON of any other type is not the text of a number either.
  const number = Number(latin1(value));
  return Number.isFinite(number) ? number : undefined;
}

function asError(value: Uint8Array | undefined): Run['error'] {
  if (value?.[0] === 0x22) return { message: asText(value, MAX_MESSAGE), step: undefined };
  const values = value && pickMembers(value, ['message', 'step']);
  return values && { message: asText(values[0], MAX_MESSAGE), step: asText(values[1]) };
}
