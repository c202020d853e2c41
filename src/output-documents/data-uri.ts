/** Data URIs (RFC 2397), as services and encoders write them. */
import { decodeString } from '../text/json/members.js';

/** What a data URI stands for. */
export interface DataUri {
  /** `type/subtype`, in lower case. */
  mediaType: string;
  /** Its bytes, in pieces. */
  bytes(): Generator<Buffer, void, void>;
}

/** Longer than any header of a data URI that means one. */
const MAX_HEADER_LENGTH = 4000;
/** The media type, which may be missing, and the parameters. */
const HEADER = /^data:([\w.!#$&^+-]+\/[\w.!#$&^+-]+)? *((?:;[^;]*)*)$/i;
/** What stands for a missing media type. */
const DEFAULT_MEDIA_TYPE = 'text/plain';
/** A multiple of four, so that each piece is base64 by itself. */
const PIECE_LENGTH = 64 * 1024;
const PERCENT = 0x25;

const isSpace = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** Reads a JSON string: undefined where it is text, 'broken' where it calls itself base64 and cannot be decoded. */
export function parseDataUri(token: Uint8Array): DataUri | 'broken' | undefined {
  if (!/^data:/i.test(latin1(token.subarray(1, 6)))) return undefined;
  // An escaped solidus is common in JSON, and so are line breaks in base64.
  const text = token.includes(0x5c) ? Buffer.from(decodeString(token)) : token.subarray(1, -1);
  const comma = text.subarray(0, MAX_HEADER_LENGTH).indexOf(0x2c);
  if (comma < 0) return undefined;
  const header = latin1(text.subarray(0, comma));
  const data = text.subarray(comma + 1);
  return /; *base64 *$/i.test(header) ? parseBase64(header, data) : parsePlain(header, data);
}

function parseBase64(header: string, data: Uint8Array): DataUri | 'broken' {
  const [whole, mediaType = DEFAULT_MEDIA_TYPE] = HEADER.exec(header) ?? [];
  if (whole === undefined) return 'broken';
  const bytes = decodeBase64(data) ?? decodeBase64(decodePercent(data, isSpace));
  return bytes === undefined ? 'broken' : { mediaType: mediaType.toLowerCase(), bytes };
}

/** Prose may begin with `data:`, too, so this wants all that a URI has. */
function parsePlain(header: string, data: Uint8Array): DataUri | undefined {
  const [whole, mediaType, parameters = ''] = HEADER.exec(header) ?? [];
  if (whole === undefined || !/^(; *[^\s;=]+=[^;]*)*$/.test(parameters)) return undefined;
  if (mediaType === undefined && data.some(isSpace)) return undefined;
  return {
    mediaType: (mediaType ?? DEFAULT_MEDIA_TYPE).toLowerCase(),
    *bytes() {
      yield decodePercent(data);
    },
  };
}

function decodeBase64(data: Uint8Array): DataUri['bytes'] | undefined {
  for (let from = 0; from < data.length; from += PIECE_LENGTH) {
    const isLast = from + PIECE_LENGTH >= data.length;
    const piece = latin1(data.subarray(from, from + PIECE_LENGTH));
    const wanted = isLast ? /^([\w+/-]{4})*([\w+/-]{2,3})?={0,2}$/ : /^[\w+/-]*$/;
    if (!wanted.test(piece)) return undefined;
  }
  return function* () {
    for (let from = 0; from < data.length; from += PIECE_LENGTH) {
      yield Buffer.from(latin1(data.subarray(from, from + PIECE_LENGTH)), 'base64');
    }
  };
}

/** Byte by byte: as text, a hundred megabytes would take many seconds, in which nothing else can happen. */
function decodePercent(data: Uint8Array, isLeftOut = (_byte: number) => false): Buffer {
  const decoded = Buffer.allocUnsafe(data.length);
  let length = 0;
  for (let at = 0; at < data.length; at++) {
    let byte = data[at] as number;
    const hex = byte === PERCENT ? latin1(data.subarray(at + 1, at + 3)) : undefined;
    if (hex !== undefined && /^[0-9a-f]{2}$/i.test(hex)) {
      byte = Number.parseInt(hex, 16);
      at += 2;
    }
    if (!isLeftOut(byte)) decoded[length++] = byte;
  }
  return decoded.subarray(0, length);
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
