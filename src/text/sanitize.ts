/**
 * Text from the service, made inert: a terminal must not move, and a CI log must not take a command, because of it
 * (GitHub's runner acts on `##[` anywhere and on `::` at the start of a line).
 */

/** Whether a terminal or a log would act on a code point: C0, DEL, C1, bidi controls, line separators. */
export function isDangerous(codePoint: number): boolean {
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
const MAX_FIELD = 2_000;

/** `\uXXXX`, as JSON writes it. */
export function escapeCodePoint(codePoint: number): string {
  return `\\u${codePoint.toString(16).padStart(4, '0')}`;
}

/** One field on one line: what is dangerous is escaped, what is too long is cut, and says so. */
export function safeLine(text: string): string {
  return inertLine(cut(text));
}

/** Whether a text stands on one line as it is: no terminal, log or script would act on it, or see two lines. */
export function isInertLine(text: string): boolean {
  return inertLine(text) === text;
}

/** A field of several lines, cut as a whole, each line as safeLine would have it. */
export function safeLines(text: string): string[] {
  return cut(text)
    .replace(/(\r?\n)+$/, '')
    .split(/\r?\n/)
    .map(inertLine);
}

/** JSON text on one line with escapes in place of what is dangerous: the same value. */
export function safeJson(value: unknown): string {
  return escapeDangerous(JSON.stringify(value), () => false);
}

function inertLine(line: string): string {
  const inert = escapeDangerous(line, () => false);
  // White space before a command does not make it less of one.
  return inert.replace(/^(\s*):(?=:)/, (_match, space: string) => space + escapeCodePoint(0x3a));
}

/** A field of several lines, each behind `| `, so that none of them can be a command. */
export function safeBlock(text: string): string {
  const lines = cut(text.replaceAll('\r\n', '\n'));
  const kept = escapeDangerous(lines, (character) => character === '\n' || character === '\t');
  return kept
    .replace(/\n+$/, '')
    .split('\n')
    .map((line) => `| ${line}`)
    .join('\n');
}

function cut(text: string): string {
  if (text.length <= MAX_FIELD) return text;
  const end = /[\ud800-\udbff]/.test(text.charAt(MAX_FIELD - 1)) ? MAX_FIELD - 1 : MAX_FIELD;
  return `${text.slice(0, end)}… (${text.length - end} more characters)`;
}

function escapeDangerous(text: string, isKept: (character: string) => boolean): string {
  let inert = '';
  for (const character of text) {
    const codePoint = character.codePointAt(0) ?? 0;
    inert += isDangerous(codePoint) && !isKept(character) ? escapeCodePoint(codePoint) : character;
  }
  return inert.replaceAll('##[', `#${escapeCodePoint(0x23)}[`);
}
