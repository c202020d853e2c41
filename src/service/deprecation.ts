/** Announcements that a service makes about its interface in the headers of a response. */
import { parseTime } from '../text/duration.js';

/** When the interface is deprecated and when it ends; undefined for what the response does not say. */
export interface Deprecation {
  /** True for a service that says so without a date. */
  since: Date | true | undefined;
  sunset: Date | undefined;
  /** Where to read more, not yet sanitized. */
  link: string | undefined;
}

/** Returns what `Deprecation` (RFC 9745) and `Sunset` (RFC 8594) say; undefined without a valid one. */
export function deprecationOf(headers: Readonly<Record<string, string>>): Deprecation | undefined {
  const since = parseDeprecation(headers.deprecation?.trim());
  const sunset = parseDate(headers.sunset);
  if (since === undefined && sunset === undefined) return undefined;
  const links = (headers.link ?? '').split(/,\s*(?=<)/);
  const about = links.find((entry) => /;\s*rel="?[^";]*\b(deprecation|sunset)\b/i.test(entry));
  const [, link] = /^\s*<([^>]*)>/.exec(about ?? '') ?? [];
  return { since, sunset, link };
}

/** Reads a structured date (RFC 9745, section 2.1), or the forms of its drafts: `true` and an HTTP date. */
function parseDeprecation(text: string | undefined): Date | true | undefined {
  if (text === undefined) return undefined;
  if (/^(true|\?1)$/i.test(text)) return true;
  const [, seconds] = /^@(-?\d{1,12})$/.exec(text) ?? [];
  return seconds === undefined ? parseDate(text) : validDate(Number(seconds) * 1_000);
}

/** Reads an HTTP date, also in its obsolete forms (RFC 9110, section 5.6.7). */
function parseDate(text: string | undefined): Date | undefined {
  return text !== undefined && /^\s*[A-Z][a-z]+,? .*:\d\d/.test(text)
    ? validDate(parseTime(text))
    : undefined;
}

function validDate(time: number): Date | undefined {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
