/** Splits a JSON object into its members, whose values stay unparsed text. */
import { JsonScanner } from './scanner.js';

export interface Member {
  name: string;
  /** The text of the value, without white space around it. */
  value: Uint8Array;
}

/** Decodes a JSON string token, with its quotes, to the text that it stands for. */
export function decodeString(token: Uint8Array): string {
  const text = Buffer.from(token.buffer, token.byteOffset, token.byteLength).toString('utf8');
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
}

/**
 * Returns the members of a JSON object in their order, with duplicates; undefined for any other JSON value. Throws
 * JsonSyntaxError if the text is not JSON.
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
