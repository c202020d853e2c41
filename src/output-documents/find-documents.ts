/** Documents that stand in JSON text as data URIs. */
import { decodeString } from '../text/json/members.js';
import { JsonScanner } from '../text/json/scanner.js';
import { type DataUri, parseDataUri } from './data-uri.js';

/** A member's name or an item's index for each level. */
export type JsonPath = readonly (string | number)[];

export interface EmbeddedDocument extends DataUri {
  /** Where its string stands in the text, quotes included: bytes `[start, end)`. */
  start: number;
  end: number;
  jsonPath: JsonPath;
}

export interface FoundDocuments {
  /** In their order, `most` at most. */
  documents: EmbeddedDocument[];
  /** How many further ones there are. */
  omitted: number;
  /** Where strings stand that call themselves base64 and cannot be decoded, `most` at most. */
  invalid: JsonPath[];
}

/** The documents in JSON text (UTF-8); a string that only looks like a data URI is none. */
export function findDocuments(json: Uint8Array, most: number): FoundDocuments {
  const found: FoundDocuments = { documents: [], omitted: 0, invalid: [] };
  for (const { start, end, place } of scanStrings(json)) {
    const uri = parseDataUri(json.subarray(start, end));
    if (uri === undefined) continue;
    if (uri === 'broken') {
      if (found.invalid.length < most) found.invalid.push([...place]);
    } else if (found.documents.length < most) {
      found.documents.push({ start, end, jsonPath: [...place], ...uri });
    } else found.omitted++;
  }
  return found;
}

/** The text's strings that are values; `place` changes with the next one. */
function* scanStrings(
  json: Uint8Array,
): Generator<{ start: number; end: number; place: JsonPath }, void, void> {
  const scanner = new JsonScanner(json);
  const place: (string | number)[] = [];
  while (scanner.next()) {
    const { token, start, end } = scanner;
    const last = place.length - 1;
    const index = place[last];
    if (token === '{') place.push('');
    else if (token === '[') place.push(0);
    else if (token === '}' || token === ']') place.pop();
    else if (token === 'key') place[last] = decodeString(json.subarray(start, end));
    else if (token === ',' && typeof index === 'number') place[last] = index + 1;
    else if (token === 'string') yield { start, end, place };
  }
}

/** `output.pages[0].image` for a place in an output. */
export function formatJsonPath(place: JsonPath): string {
  return place.reduce<string>((text, step) => {
    if (typeof step === 'string' && /^[A-Za-z_$][\w$]*$/.test(step)) return `${text}.${step}`;
    return `${text}[${JSON.stringify(step)}]`;
  }, 'output');
}
