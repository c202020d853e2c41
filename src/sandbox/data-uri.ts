/** Decodes a document's data URI as it is received, keeping only its type, length and digest. */
import { createHash } from 'node:crypto';
import { isBase64 } from '../parameters/data-uri.js';
import type { ReceivedValue } from './received.js';

export class DataUriReader {
  readonly #mediaType: string;
  readonly #hash = createHash('sha256');
  #carried = '';
  #bytes = 0;
  #padded = false;
  #problem: string | undefined;

  constructor(mediaType: string) {
    this.#mediaType = mediaType;
  }

  /** Decodes the next base64 characters (RFC 4648, section 4). */
  add(characters: string): void {
    if (this.#problem !== undefined || characters === '') return;
    const text = this.#carried + characters;
    const whole = text.length - (text.length % 4);
    this.#carried = text.slice(whole);
    this.#decode(text.slice(0, whole));
  }

  end(): ReceivedValue {
    if (this.#carried !== '') this.#problem ??= 'the length of its base64 is not a multiple of four';
    if (this.#problem !== undefined) return { type: 'malformed-data-uri', problem: this.#problem };
    const document = { mediaType: this.#mediaType, bytes: this.#bytes, sha256: this.#hash.digest('hex') };
    return { type: 'data-uri', document };
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
