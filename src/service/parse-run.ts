/** Parses the body of a response as a Run. */
import { UnreadableResponseError } from '../errors.js';
import { decodeString, parseMembers } from '../text/json/members.js';
import { JsonSyntaxError } from '../text/json/scanner.js';
import type { Run } from './run.js';

/** The JSON types that are accepted as ids. The interface promises strings, but some services send integers. */
export type IdTypes = 'string' | 'string or integer';

/** Parses a Run object (UTF-8 JSON). Throws UnreadableResponseError when it is not an object with a usable id. */
export function parseRun(bytes: Uint8Array, idTypes: IdTypes = 'string or integer'): Run {
  const members = readMembers(bytes);
  // Of duplicate members the last one is used, as in JSON.parse.
  const fields = new Map(members.map((member) => [member.name, member.value]));
  const id = asId(fields.get('id'), idTypes);
  if (id === undefined || !isUsableId(id)) {
    throw new UnreadableResponseError('no usable run id in it', { fields: [...fields.keys()] });
  }
  const output = fields.get('output');
  return {
    id,
    status: asString(fields.get('status')),
    versionName: asString(fields.get('versionName')),
    createdAt: asString(fields.get('createdAt')),
    steps: asNumber(fields.get('steps')),
    stepsCompleted: asNumber(fields.get('stepsCompleted')),
    error: asError(fields.get('error')),
    output,
    json: bytes,
  };
}

/** Returns whether an id can be part of a path: `.` and `..` would be removed (RFC 3986, section 5.2.4). */
export function isUsableId(id: string): boolean {
  return id !== '' && id !== '.' && id !== '..' && id.isWellFormed();
}

function readMembers(bytes: Uint8Array) {
  try {
    const members = parseMembers(bytes);
    if (members !== undefined) return members;
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new UnreadableResponseError(error.message);
    throw error;
  }
  throw new UnreadableResponseError('a JSON value that is not an object');
}

function asString(value: Uint8Array | undefined): string | undefined {
  return value?.[0] === 0x22 ? decodeString(value) : undefined;
}

function asId(value: Uint8Array | undefined, idTypes: IdTypes): string | undefined {
  if (value === undefined || value[0] === 0x22 || idTypes === 'string') return asString(value);
  const text = Buffer.from(value).toString('latin1');
  return /^\d+$/.test(text) ? text : undefined;
}

function asNumber(value: Uint8Array | undefined): number | undefined {
  if (value === undefined || !/[-0-9]/.test(String.fromCharCode(value[0] ?? 0))) return undefined;
  const number = Number(Buffer.from(value).toString('latin1'));
  return Number.isFinite(number) ? number : undefined;
}

function asError(value: Uint8Array | undefined): Run['error'] {
  if (value?.[0] === 0x22) return { message: decodeString(value), step: undefined };
  if (value?.[0] !== 0x7b) return undefined;
  const fields = new Map(parseMembers(value)?.map((member) => [member.name, member.value]));
  return { message: asString(fields.get('message')), step: asString(fields.get('step')) };
}
