/** A document's data URI, decoded as it streams by: a gigabyte leaves behind its type, length and digest. */
import { createHash } from 'node:crypto';
import type { ReceivedValue } from './received.js';

const HEAD = /^data:([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+);base64,/i;
/** Longer heads than this are no data URI of a document. */
export const MAX_HEAD_LENGTH = 300;

/** The head of a data URI at the start of a text: its length and its media type. */
export function parseDataUriHead(text: string): { length: number; mediaType: string } | undefined {
  const [head = '', mediaType] = HEAD.exec(text) ?? [];
  return mediaType === undefined ? undefined : { length: head.length, mediaType };
}

export class DataUriReader {
  readonly #mediaType: string;
  readonly #hash = createHash('sha256');
  #carried = '';
  #bytes = 0;
  #padded = false;
  #complaint: string | undefined;

  constructor(mediaType: string) {
    this.#mediaType = mediaType;
  }

  /** The next base64 characters (RFC 4648, section 4). */
  add(characters: string): void {
    if (this.#complaint !== undefined || characters === '') return;
    const text = this.#carried + characters;
    const whole = text.length - (text.length % 4);
    this.#carried = text.slice(whole);
    this.#decode(text.slice(0, whole));
  }

  end(): ReceivedValue {
    if (this.#carried !== '') this.#complaint ??= 'its base64 does not have a multiple of four characters';
    if (this.#complaint !== undefined) return { type: 'malformed-data-uri', complaint: this.#complaint };
    const document = { mediaType: this.#mediaType, bytes: this.#bytes, sha256: this.#hash.digest('hex') };
    return { type: 'data-uri', document };
  }

  #decode(text: string): void {
    if (text === '') return;
    if (this.#padded || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) {
      this.#complaint = 'it holds characters that are not base64';
      return;
    }
    this.#padded = text.endsWith('=');
    const decoded = Buffer.from(text, 'base64');
    this.#bytes += decoded.length;
    this.#hash.update(decoded);
  }
}
