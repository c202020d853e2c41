/** Documents that stand in JSON text as data URIs (RFC 2397). */
import { decodeString } from '../json/members.js';
import { JsonScanner } from '../json/scanner.js';

/** A member's name or an item's index for each level. */
export type Place = readonly (string | number)[];

export interface EmbeddedDocument {
  /** Where its string stands in the text, quotes included: bytes `[start, end)`. */
  start: number;
  end: number;
  place: Place;
  /** `type/subtype`, in lower case. */
  mediaType: string;
  /** Its bytes, in pieces. */
  bytes(): Generator<Buffer, void, void>;
}

/** Longer than any header of a data URI that means one. */
const MAX_HEADER = 500;
const HEADER = /^data:([\w.+-]+\/[\w.+-]+)((?:;[\w.+-]+=[^;,]*)*)(;base64)?$/i;
/** A multiple of four, so that each piece is base64 by itself. */
const PIECE = 64 * 1024;

/** The documents in JSON text (UTF-8), in their order; a string that only looks like a data URI is none. */
export function* embeddedDocuments(json: Uint8Array): Generator<EmbeddedDocument, void, void> {
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
    else if (token === 'string') {
      const document = parseDataUri(json.subarray(start, end));
      if (document !== undefined) yield { start, end, place: [...place], ...document };
    }
  }
}

function parseDataUri(token: Uint8Array): Pick<EmbeddedDocument, 'mediaType' | 'bytes'> | undefined {
  const beginning = latin1(token.subarray(1, MAX_HEADER));
  // An escaped solidus is common in JSON; a data URI of ours has no other escape.
  if (!/^data:/i.test(beginning)) return undefined;
  const text = token.includes(0x5c) ? Buffer.from(decodeString(token)) : token.subarray(1, -1);
  const comma = text.subarray(0, MAX_HEADER).indexOf(0x2c);
  const [, mediaType, , base64] = comma < 0 ? [] : (HEADER.exec(latin1(text.subarray(0, comma))) ?? []);
  if (mediaType === undefined) return undefined;
  const data = text.subarray(comma + 1);
  const bytes = base64 === undefined ? percentDecoded(data) : base64Decoded(data);
  return bytes && { mediaType: mediaType.toLowerCase(), bytes };
}

function base64Decoded(data: Uint8Array): EmbeddedDocument['bytes'] | undefined {
  for (let from = 0; from < data.length; from += PIECE) {
    const isLast = from + PIECE >= data.length;
    const piece = latin1(data.subarray(from, from + PIECE));
    if (!(isLast ? /^[\w+/-]*={0,2}$/ : /^[\w+/-]*$/).test(piece)) return undefined;
  }
  return function* () {
    for (let from = 0; from < data.length; from += PIECE) {
      yield Buffer.from(latin1(data.subarray(from, from + PIECE)), 'base64');
    }
  };
}

function percentDecoded(data: Uint8Array): EmbeddedDocument['bytes'] {
  return function* () {
    const text = latin1(data);
    const decoded = text.replace(/%([0-9a-f]{2})/gi, (_match, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    yield Buffer.from(decoded, 'latin1');
  };
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
