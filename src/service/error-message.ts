/** The service's own words in an answer that is not a 2xx, whatever its format. */

/** Of a body that was not read to its end, so many characters are shown: a count of the others would be wrong. */
const MAX_OF_PART = 1_500;

/**
 * The message, passed through `hide`; undefined where the body says nothing. Reads JSON, problem details (RFC 9457),
 * text, HTML. What is left of a body that broke off, or is too long to be read, says that there is more.
 */
export function errorMessage(
  body: Uint8Array,
  isWhole: boolean,
  hide: (words: string) => string,
): string | undefined {
  const text = Buffer.from(body)
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trim();
  if (text === '') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (/^[[{]\s*[\]}]$/.test(text)) return undefined;
    // JSON of a shape that nobody has described is shown as it is: it may say what is wrong.
    return hide(messageOfJson(value) ?? text);
  } catch {
    const page = titleOfPage(text);
    if (page !== undefined || isWhole) return hide(page ?? text);
    return `${hide(text).slice(0, MAX_OF_PART).toWellFormed()}… (there is more)`;
  }
}

/** The title of an HTML page, and that it is one; undefined for any other text. */
function titleOfPage(text: string): string | undefined {
  if (!text.startsWith('<') || !/<(!doctype\s+html|html|head|body|title)\b/i.test(text)) return undefined;
  const title = /<title[^>]*>([^<]*)</i.exec(text)?.[1] ?? '';
  return `${title} (an HTML page)`.replace(/\s+/g, ' ').trim();
}

/** Members that say what is wrong, and members that list it. */
const SAYING = ['message', 'error', 'title', 'detail', 'error_description', 'description', 'msg', 'reason'];
const LISTING = ['errors', 'validation', 'details', 'issues', 'violations', 'invalid-params'];
/** Members of an entry of a list that say what it is about. */
const PLACES = ['field', 'path', 'pointer', 'param', 'parameter', 'loc', 'property', 'source', 'name'];

function messageOfJson(value: unknown): string | undefined {
  if (!isRecord(value)) return textsIn(value).join('; ') || undefined;
  // Such as "error": true, or a status that is said anyway.
  const said = SAYING.filter((key) => typeof value[key] === 'string' || typeof value[key] === 'object');
  const parts = [
    ...said.map((key) => (isRecord(value[key]) ? textOfEntry(value[key]) : textsIn(value[key])).join('; ')),
    LISTING.flatMap((key) => textsIn(value[key])).join('; '),
  ];
  return parts.filter(saysMore).join(': ') || undefined;
}

/** Whether no other part holds a part already. */
function saysMore(part: string, index: number, parts: readonly string[]): boolean {
  return !parts.some(
    (other, place) => place !== index && other.includes(part) && (other !== part || place < index),
  );
}

/** The texts of a list, or of an object that has something for each field. */
function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textOfEntry);
  if (!isRecord(value)) return value === null || value === undefined || value === '' ? [] : [String(value)];
  return Object.entries(value).flatMap(([field, entry]) => {
    const texts = isRecord(entry) ? textOfEntry(entry) : textsIn(entry);
    return texts.map((text) => `${field}: ${text}`);
  });
}

/** What one entry says, behind the place that it is about; one of an unknown shape is shown as it is. */
function textOfEntry(entry: unknown): string[] {
  if (!isRecord(entry)) return textsIn(entry);
  const words = messageOfJson(entry) ?? textsIn(entry.code)[0];
  if (words === undefined) return Object.keys(entry).length === 0 ? [] : [JSON.stringify(entry)];
  const place = placeIn(entry);
  return [place === undefined || place === words ? words : `${place}: ${words}`];
}

function placeIn(entry: Record<string, unknown>): string | undefined {
  for (const key of PLACES) {
    const place = entry[key];
    if (typeof place === 'string' && place !== '') return place;
    if (Array.isArray(place) && place.length > 0) return place.join('.');
    if (isRecord(place)) return placeIn(place);
  }
  return undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
