/** Finds the documents in JSON text: strings that are data URIs. */
import { decodeStart } from '../text/json/members.js';
import { JsonScanner } from '../text/json/scanner.js';
import { type DataUri, parseDataUri } from './data-uri.js';

/** The names and indexes that lead to a value; "…" is the last one of a path that is cut. */
export type JsonPath = readonly (string | number)[];

export interface EmbeddedDocument extends DataUri {
  /** The bytes `[start, end)` of its string in the text, with the quotes. */
  start: number;
  end: number;
  jsonPath: JsonPath;
}

export interface FoundDocuments {
  /** In their order, at most `limit`. */
  documents: EmbeddedDocument[];
  /** The number of documents beyond the limit. */
  omitted: number;
  /** The paths of data URIs whose base64 cannot be decoded, at most `limit`. */
  invalid: JsonPath[];
}

/** Levels of a path, and bytes of a name in it: far more than a file name shows. */
const MAX_LEVELS = 100;
const MAX_NAME = 400;
const LETTER_D = 0x64;

/** Finds the documents in JSON text (UTF-8); a string that only resembles a data URI is not one. */
export function findDocuments(json: Uint8Array, limit: number): FoundDocuments {
  const found: FoundDocuments = { documents: [], omitted: 0, invalid: [] };
  const scanner = new JsonScanner(json);
  /** Of each level: the index in an array, or the offset of the name in an object. */
  const segments = new Int32Array(MAX_LEVELS);
  const isName = new Uint8Array(MAX_LEVELS);
  while (scanner.next()) {
    const { token, start, end, depth } = scanner;
    const level = depth - 1;
    if (token === 'string') {
      // Millions of other strings must not be decoded.
      if (((json[start + 1] as number) | 0x20) !== LETTER_D) continue;
      const uri = parseDataUri(json.subarray(start, end));
      if (uri === undefined) continue;
      const jsonPath = () => pathOf(json, depth, segments, isName);
      if (uri === 'invalid') {
        if (found.invalid.length < limit) found.invalid.push(jsonPath());
      } else if (found.documents.length < limit) {
        found.documents.push({ start, end, jsonPath: jsonPath(), ...uri });
      } else found.omitted++;
    } else if (level >= MAX_LEVELS) continue;
    else if (token === '{' || token === '[') {
      segments[level] = 0;
      isName[level] = token === '{' ? 1 : 0;
    } else if (token === 'key') segments[level] = start;
    else if (token === ',' && isName[level] === 0) segments[level] = (segments[level] as number) + 1;
  }
  return found;
}

/** Returns the path of a string. Below the last level that is kept, only the mark of the cut remains. */
function pathOf(json: Uint8Array, depth: number, segments: Int32Array, isName: Uint8Array): JsonPath {
  const path = Array.from(segments.subarray(0, depth), (segment, level) => {
    if (isName[level] === 0) return segment;
    const key = new JsonScanner(json.subarray(segment));
    key.next();
    return decodeStart(json.subarray(segment, segment + key.end), MAX_NAME);
  });
  return depth > MAX_LEVELS ? [...path, '…'] : path;
}

/** Returns the path of a value in an output as messages show it, such as `output.pages[0].image`. */
export function formatJsonPath(jsonPath: JsonPath): string {
  return jsonPath.reduce<string>((text, segment) => {
    if (typeof segment === 'string' && /^[A-Za-z_$][\w$]*$/.test(segment)) return `${text}.${segment}`;
    return `${text}[${JSON.stringify(segment)}]`;
  }, 'output');
}
