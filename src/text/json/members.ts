/** The members of a JSON object, by name, with their values left as text. */
import { JsonScanner } from './scanner.js';

export interface Member {
  name: string;
  /** The value as it stands in the text, without space around it. */
  value: Uint8Array;
}

/** Decodes a JSON string token, quotes included, to the text it stands for. */
export function decodeString(token: Uint8Array): string {
  const text = Buffer.from(token.buffer, token.byteOffset, token.byteLength).toString('utf8');
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
}

/**
 * The members of the object that `bytes` hold, in their order, duplicates included; undefined where the text is a
 * JSON value of another kind. Throws JsonSyntaxError where it is not JSON.
 */
export function parseMembers(bytes: Uint8Array): Member[] | undefined {
  const scanner = new JsonScanner(bytes);
  const members: Member[] = [];
  let name: string | undefined;
  let valueStart = -1;
  let isObject = false;
  for (let first = true; scanner.next(); first = false) {
    if (first) {
      isObject = scanner.token === '{';
      continue;
    }
    if (!isObject) continue;
    if (scanner.token === 'key' && scanner.depth === 1) {
      name = decodeString(bytes.subarray(scanner.start, scanner.end));
      valueStart = -1;
    } else if (name !== undefined && scanner.token !== ':') {
      if (valueStart < 0) valueStart = scanner.start;
      if (scanner.depth === 1 && scanner.token !== ',') {
        members.push({ name, value: bytes.subarray(valueStart, scanner.end) });
        name = undefined;
      }
    }
  }
  return isObject ? members : undefined;
}
