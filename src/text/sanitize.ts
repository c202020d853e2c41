/**
 * Text from the service, made inert: a terminal must not move, and a CI log must not take a command, because of it
 * (GitHub's runner acts on `##[` anywhere and on `::` at the start of a line).
 */

/** Whether a terminal or a log would act on a code point: C0, DEL, C1, bidi controls, line separators. */
export function isUnsafe(codePoint: number): boolean {
  return (
    codePoint < 0x20 ||
    (codePoint >= 0x7f && codePoint <= 0x9f) ||
    codePoint === 0x61c ||
    codePoint === 0x200e ||
    codePoint === 0x200f ||
    (codePoint >= 0x2028 && codePoint <= 0x202e) ||
    (codePoint >= 0x2066 && codePoint <= 0x2069)
  );
}

/** The most characters of one field that are shown. */
const MAX_FIELD_LENGTH = 2_000;

/** `\uXXXX`, as JSON writes it. */
export function escapeCodePoint(codePoint: number): string {
  return `\\u${codePoint.toString(16).padStart(4, '0')}`;
}

/** One field on one line: what is dangerous is escaped, what is too long is cut, and says so. */
export function sanitize(text: string): string {
  return sanitizeLine(truncate(text));
}

/** Whether a text stands on one line as it is: no terminal, log or script would act on it, or see two lines. */
export function isSanitized(text: string): boolean {
  return sanitizeLine(text) === text;
}

/** A field of several lines, cut as a whole, each line as safeLine would have it. */
export function sanitizeLines(text: string): string[] {
  return truncate(text)
    .replace(/(\r?\n)+$/, '')
    .split(/\r?\n/)
    .map(sanitizeLine);
}

/** JSON text on one line with escapes in place of what is dangerous: the same value. */
export function sanitizeJson(value: unknown): string {
  return escapeUnsafe(JSON.stringify(value), () => false);
}

function sanitizeLine(line: string): string {
  const inert = escapeUnsafe(line, () => false);
  // White space before a command does not make it less of one.
  return inert.replace(/^(\s*):(?=:)/, (_match, space: string) => space + escapeCodePoint(0x3a));
}

/** A field of several lines, each behind `| `, so that none of them can be a command. */
export function quoteLines(text: string): string {
  const lines = truncate(text.replaceAll('\r\n', '\n'));
  const kept = escapeUnsafe(lines, (character) => character === '\n' || character === '\t');
  return kept
    .replace(/\n+$/, '')
    .split('\n')
    .map((line) => `| ${line}`)
    .join('\n');
}

function truncate(text: string): string {
  if (text.length <= MAX_FIELD_LENGTH) return text;
  const end = /[\ud800-\udbff]/.test(text.charAt(MAX_FIELD_LENGTH - 1))
    ? MAX_FIELD_LENGTH - 1
    : MAX_FIELD_LENGTH;
  return `${text.slice(0, end)}… (${text.length - end} more characters)`;
}

function escapeUnsafe(text: string, isKept: (character: string) => boolean): string {
  let inert = '';
  for (const character of text) {
    const codePoint = character.codePointAt(0) ?? 0;
    inert += isUnsafe(codePoint) && !isKept(character) ? escapeCodePoint(codePoint) : character;
  }
  return inert.replaceAll('##[', `#${escapeCodePoint(0x23)}[`);
}
