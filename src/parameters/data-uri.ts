/** The syntax of a document in a request: `data:<type>/<subtype>[;parameter…];base64,<data>` (RFC 2397). */

const HEAD = /^data:([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)(?:;[^,]*)?;base64,/i;
/** A longer head is not that of a document. */
export const MAX_HEAD_LENGTH = 300;

/** Returns the length and the media type, without its parameters, of the data URI head at the start of a text, if there is one. */
export function parseDataUriHead(text: string): { length: number; mediaType: string } | undefined {
  const [head = '', mediaType] = HEAD.exec(text.slice(0, MAX_HEAD_LENGTH)) ?? [];
  return mediaType === undefined ? undefined : { length: head.length, mediaType };
}

/** Returns whether characters are base64 that may be the end of a document (RFC 4648, section 4). */
export function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}
