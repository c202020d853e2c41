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

/** Finds the documents in JSON text (UTF-8); a string that only resembles a data URI is not one. */
export function findDocuments(json: Uint8Array, limit: number): FoundDocuments {
  const found: FoundDocuments = { documents: [], omitted: 0, invalid: [] };
  for (const { start, end, jsonPath } of scanStrings(json)) {
    const uri = parseDataUri(json.subarray(start, end));
    if (uri === undefined) continue;
    if (uri === 'invalid') {
      if (found.invalid.length < limit) found.invalid.push([...jsonPath]);
    } else if (found.documents.length < limit) {
      found.documents.push({ start, end, jsonPath: [...jsonPath], ...uri });
    } else found.omitted++;
  }
  return found;
}

/** Yields the strings that are values. It reuses `jsonPath`, so copy it to keep it. */
function* scanStrings(
  json: Uint8Array,
): Generator<{ start: number; end: number; jsonPath: JsonPath }, void, void> {
  const scanner = new JsonScanner(json);
  const jsonPath: (string | number)[] = [];
  while (scanner.next()) {
    const { token, start, end, depth } = scanner;
    if (token === 'string') yield { start, end, jsonPath };
    // Below the last level that is kept, only the mark of the cut remains.
    if (depth > MAX_LEVELS) jsonPath[MAX_LEVELS] = '…';
    else if (token === '}' || token === ']') jsonPath.length = depth;
    else if (token === '{' || token === '[') jsonPath[depth - 1] = token === '[' ? 0 : '';
    else if (token === 'key') jsonPath[depth - 1] = decodeStart(json.subarray(start, end), MAX_NAME);
    else if (token === ',') jsonPath[depth - 1] = nextIndex(jsonPath[depth - 1]);
  }
}

/** Returns the index after this one; a name stays until the next one replaces it. */
function nextIndex(segment: string | number = 0): string | number {
  return typeof segment === 'number' ? segment + 1 : segment;
}

/** Returns the path of a value in an output as messages show it, such as `output.pages[0].image`. */
export function formatJsonPath(jsonPath: JsonPath): string {
  return jsonPath.reduce<string>((text, segment) => {
    if (typeof segment === 'string' && /^[A-Za-z_$][\w$]*$/.test(segment)) return `${text}.${segment}`;
    return `${text}[${JSON.stringify(segment)}]`;
  }, 'output');
}
