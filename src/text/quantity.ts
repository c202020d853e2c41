/** Durations, times, sizes and counts as people write them. */

/** Returns `1.2 MB`: decimal units. */
export function formatBytes(bytes: number): string {
  if (bytes === 1) return '1 byte';
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1_000;
    unit++;
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Returns `1 run` or `10,000 runs`. */
export function pluralize(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns `1,204`. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Returns `a, b and 1,204 more`; a single further item is named instead of counted. */
export function listFirst(items: readonly string[], max: number, count = items.length): string {
  const shown = items.slice(0, count === max + 1 ? count : max);
  const more = count - shown.length;
  return shown.join(', ') + (more > 0 ? ` and ${formatCount(more)} more` : '');
}

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, '': 1_000 };

/** `500ms`, `2s`, `1.5m`, `1h` or a bare number of seconds, in whole milliseconds. */
export const DURATION = /^(\d{1,9}|\d{0,9}\.\d{1,3}(?!ms))(ms|s|m|h|)$/;

/** Parses a duration into milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, number, unit] = DURATION.exec(text) ?? [];
  return number === undefined ? undefined : Number(number) * UNITS[unit as keyof typeof UNITS];
}

/** A zone after a time of day. */
const ZONE = /:\d\d.*(?:[+-]\d\d|z|gmt|ut|[ecmp][sd]t)/i;
/** Characters; longer than any date. */
const MAX_DATE_LENGTH = 100;

/**
 * Parses a date and time, which is UTC if it names no zone, as milliseconds since 1970; NaN for anything else, and before,
 * as services write an unknown time as the year 1.
 */
export function parseTime(text: string): number {
  const time = text.trim().slice(0, MAX_DATE_LENGTH);
  const parsed = Date.parse(ZONE.test(time) ? time : `${time}Z`);
  return parsed >= 0 ? parsed : Number.NaN;
}

/** Formats milliseconds, rounded for people: `850ms`, `4.2s`, `2m 5s`, `1h 3m`, `2d 3h`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)}ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return formatUnits(seconds, 60, 'm', 's');
  if (seconds < 48 * 3_600) return formatUnits(Math.floor(seconds / 60), 60, 'h', 'm');
  return formatUnits(Math.floor(seconds / 3_600), 24, 'd', 'h');
}

/** Formats the time that something took, in whole seconds, as polls see no more of a run: `850ms`, `4s`, `2m 5s`. */
export function formatElapsed(ms: number): string {
  return formatDuration(ms < 1_000 ? ms : Math.floor(ms / 1_000) * 1_000).replace('.0', '');
}

/** Formats a number of small units, of which a large one has `size`. */
function formatUnits(number: number, size: number, large: string, small: string): string {
  const rest = number % size;
  return `${Math.floor(number / size)}${large}${rest === 0 ? '' : ` ${rest}${small}`}`;
}

/** Formats milliseconds since 1970 for data: `2026-01-02T03:04:05.678Z` (ISO 8601). */
export function formatIso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Formats milliseconds since 1970 for people: `2026-01-02 03:04:05 UTC`. */
export function formatUtc(ms: number): string {
  return formatIso(ms).replace(/T(.*)\..*/, ' $1 UTC');
}
