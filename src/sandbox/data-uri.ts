/** Decodes a document's data URI as it is received; of a large one, it keeps only the type, length and digest. */
import { createHash } from 'node:crypto';
import { isBase64 } from '../parameters/data-uri.js';
import type { ReceivedValue } from './received.js';

/** Characters of a data URI that an output can return: the documents of all runs stay in memory. */
export const MAX_RETURNED = 16 * 1024 * 1024;

export class DataUriReader {
  readonly #mediaType: string;
  /** The text so far; undefined once it is too long. */
  #pieces: string[] | undefined;
  #length: number;
  readonly #hash = createHash('sha256');
  #carried = '';
  #bytes = 0;
  #padded = false;
  #problem: string | undefined;

  /** `head` is the text before the base64. */
  constructor(mediaType: string, head: string) {
    this.#mediaType = mediaType;
    this.#pieces = [head];
    this.#length = head.length;
  }

  /** Decodes the next base64 characters (RFC 4648, section 4). */
  add(characters: string): void {
    if (this.#problem !== undefined || characters === '') return;
    this.#keep(characters);
    const text = this.#carried + characters;
    const whole = text.length - (text.length % 4);
    this.#carried = text.slice(whole);
    this.#decode(text.slice(0, whole));
  }

  end(): ReceivedValue {
    if (this.#carried !== '') this.#problem ??= 'the length of its base64 is not a multiple of four';
    if (this.#problem !== undefined) return { type: 'malformed-data-uri', problem: this.#problem };
    const document = { mediaType: this.#mediaType, bytes: this.#bytes, sha256: this.#hash.digest('hex') };
    return { type: 'data-uri', document, uri: this.#pieces?.join('') };
  }

  #keep(characters: string): void {
    this.#length += characters.length;
    if (this.#length > MAX_RETURNED) this.#pieces = undefined;
    this.#pieces?.push(characters);
  }

  #decode(text: string): void {
    if (text === '') return;
    if (this.#padded || !isBase64(text)) {
      this.#problem = 'it contains characters that are not base64';
      return;
    }
    this.#padded = text.endsWith('=');
    const decoded = Buffer.from(text, 'base64');
    this.#bytes += decoded.length;
    this.#hash.update(decoded);
  }
}
