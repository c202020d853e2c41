/** UUIDs (RFC 9562) as text, in any case. */

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const NIL = '00000000-0000-0000-0000-000000000000';

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Returns whether a text is the beginning of a UUID, but not a whole one. */
export function isUuidPrefix(text: string): boolean {
  return text.length < NIL.length && isUuid(text + NIL.slice(text.length));
}
