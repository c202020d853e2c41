/** Tells what the value of an input is, without reading more of it than necessary. */
import type { InputKind } from '../parameters/check-inputs.js';
import { isBase64, MAX_HEAD_LENGTH, parseDataUriHead } from '../parameters/data-uri.js';
import type { ParameterType } from '../parameters/declaration.js';
import type { Part } from '../service/body.js';
import { decodeStart, decodeString } from '../text/json/members.js';

const QUOTE = 0x22;

/** Returns what the valid JSON of an input is. Of a string, no more than its start is read unless a document is expected. */
export function kindOf(parts: readonly Part[], expected: ParameterType | undefined): InputKind {
  const text = parts.find((part): part is Uint8Array => part instanceof Uint8Array && part.length > 0);
  const json = trim(text ?? Buffer.from('null'));
  if (json[0] !== QUOTE) return { type: scalarType(json[0]) };
  // The document follows the start of its data URI.
  const isDocument = parts.some((part) => !(part instanceof Uint8Array));
  if (isDocument)
    return { type: 'document', mediaType: parseDataUriHead(latin1(json.subarray(1)))?.mediaType };
  return expected === 'document' ? kindOfString(json) : { type: 'string' };
}

function scalarType(first: number | undefined): 'object' | 'array' | 'boolean' | 'null' | 'number' {
  switch (String.fromCharCode(first ?? 0)) {
    case '{':
      return 'object';
    case '[':
      return 'array';
    case 't':
    case 'f':
      return 'boolean';
    case 'n':
      return 'null';
    default:
      return 'number';
  }
}

/** The most bytes of JSON that the start of a data URI can have: an escape has six. */
const MAX_HEAD_BYTES = MAX_HEAD_LENGTH * 6;

/** Returns what a string is where a document is expected: the user may have encoded it already. */
function kindOfString(token: Uint8Array): InputKind {
  if (parseDataUriHead(decodeStart(token, MAX_HEAD_BYTES)) === undefined) return { type: 'string' };
  const uri = decodeString(token);
  const { length, mediaType } = parseDataUriHead(uri) ?? { length: 0, mediaType: undefined };
  const data = uri.slice(length);
  if (isBase64(data) && data.length % 4 === 0) return { type: 'document', mediaType };
  return { type: 'malformed-document', problem: 'the base64 of its data URI is not valid' };
}

/** Removes white space around JSON. */
function trim(json: Uint8Array): Uint8Array {
  const isSpace = (byte: number | undefined) =>
    byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
  let [start, end] = [0, json.length];
  while (isSpace(json[start])) start++;
  while (end > start && isSpace(json[end - 1])) end--;
  return json.subarray(start, end);
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
