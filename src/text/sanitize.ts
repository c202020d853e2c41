/**
 * Escapes what a terminal or a CI log would act on, or what a reader cannot see, in text from outside: control, bidi and
 * invisible characters, and the commands of GitHub's, Azure's and TeamCity's runners (`##[`, `##vso[`, `##teamcity[`
 * anywhere, `::` at the start of a line). Finds such commands in output that is printed as it is.
 */

import { latin1 } from './utf8.js';

/** Printable ASCII: the expressions for all other text take longer to build than most commands sanitize. */
const PLAIN = /^[ -~]*$/;

/**
 * Returns whether a character is a control character or line separator, or shows nothing, as not all signs of Arabic do;
 * not one that joins or varies the character before it, as scripts and emoji need it.
 */
function isHidden(character: string): boolean {
  return /(?!\u200c|\u200d|[\ufe00-\ufe0f]|[\u180b-\u180d\u180f]|[\u{e0100}-\u{e01ef}]|[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}\u{13430}-\u{1343f}])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(
    character,
  );
}

/** Matches a joiner where scripts and emoji have none: not between letters, or not after a character that it can vary. */
let looseJoiner: RegExp | undefined;

function findLooseJoiners(): RegExp {
  looseJoiner ??= new RegExp(
    [
      String.raw`(?<![\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])(\u200c|\u200d)`,
      String.raw`(\u200c|\u200d)(?![\p{L}\p{M}\p{Extended_Pictographic}])`,
      String.raw`(?<![\p{S}\p{Emoji}]|(?!\p{Script=Latin})\p{L})[\ufe00-\ufe0f]`,
      String.raw`(?<!\p{Script=Mongolian})[\u180b-\u180d\u180f]`,
      String.raw`(?<!\p{Script=Han})[\u{e0100}-\u{e01ef}]`,
    ].join('|'),
    'gu',
  );
  return looseJoiner;
}

/** Tells most letters, signs and emoji apart quickly: in these ranges everything is safe. */
function isCommon(codePoint: number): boolean {
  return (
    (codePoint > 0xad && codePoint < 0x34f) ||
    (codePoint > 0x206f && codePoint < 0xfe00 && codePoint !== 0x3164) ||
    (codePoint > 0x1d17a && codePoint < 0xe0000)
  );
}

/**
 * Returns whether a terminal or a log would act on a code point, or show nothing for it. What joins letters and emoji is
 * safe: where it does not, only `sanitize` can tell.
 */
export function isUnsafe(codePoint: number): boolean {
  return !isCommon(codePoint) && isHidden(String.fromCodePoint(codePoint));
}

/** Characters of one field; longer text is truncated. */
const MAX_FIELD_LENGTH = 2_000;

/** Matches the `##` that begins a command of a CI log. */
export const LOG_COMMAND = /##(?=[A-Za-z]*\[)/g;

/** Returns the JSON escape of a character: `\uXXXX`, twice for one beyond U+FFFF. */
export function escapeCharacter(character: string): string {
  // Without the flag u, a dot is half of a pair of surrogates, too.
  return character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Sanitizes one field for one line: escapes unsafe code points, and truncates long text visibly. */
export function sanitize(text: string): string {
  return sanitizeLine(truncate(text));
}

/** Returns whether a text is safe on one line without any change. */
export function isSanitized(text: string): boolean {
  return sanitizeLine(text) === text;
}

/** Sanitizes a field of several lines: truncates it as a whole, and escapes each line. */
export function sanitizeLines(text: string): string[] {
  return linesOf(text).map(sanitizeLine);
}

/** Returns the lines of a field, truncated as a whole. */
export function linesOf(text: string): string[] {
  return truncate(text)
    .replace(/(\r?\n)+$/, '')
    .split(/\r?\n/);
}

/** Escapes the control characters of a text that is kept as it is otherwise: all but white space. */
export function escapeControls(text: string): string {
  return text.replace(/[^\P{Cc}\t\n\v\f\r]/gu, escapeCharacter);
}

/** Returns the JSON text of a value on one line, with unsafe code points escaped, and lone surrogates replaced. */
export function sanitizeJson(value: unknown): string {
  // JSON.stringify escapes surrogates only where they are alone, which other parsers reject.
  const text = JSON.stringify(value).replace(
    /(\\\\)|\\ud[89a-f][0-9a-f]{2}/g,
    (_escape, backslash?: string) => backslash ?? '\ufffd',
  );
  return escapeUnsafe(text);
}

/** Escapes the unsafe code points of one line, whatever its length. */
export function sanitizeLine(line: string): string {
  const escaped = escapeUnsafe(line);
  // A command may have white space before it.
  return escaped.replace(/^(\s*):(?=:)/, '$1\\u003a');
}

/** Sanitizes a field of several lines, each behind `| `, so that none can be a command. */
export function quoteLines(text: string): string[] {
  return linesOf(text).map((line) => `| ${escapeUnsafe(line.replaceAll('\t', '    '))}`);
}

/** Returns a field, truncated visibly if it is long. */
export function truncate(text: string): string {
  if (text.length <= MAX_FIELD_LENGTH) return text;
  const start = text.slice(0, MAX_FIELD_LENGTH).replace(/[\ud800-\udbff]$/, '');
  return `${start}… (${text.length - start.length} more characters)`;
}

function escapeUnsafe(text: string): string {
  const safe = PLAIN.test(text)
    ? text
    : text
        .replace(findLooseJoiners(), escapeCharacter)
        .replace(/[^ -~]/gu, (character) =>
          isUnsafe(character.codePointAt(0) ?? 0) ? escapeCharacter(character) : character,
        );
  return safe.replace(LOG_COMMAND, '#\\u0023');
}

/** A line that begins with `::`, or `##[`, `##vso[` and the like anywhere, in a text that begins with a line feed. */
const COMMAND = /[\r\n][^\S\r\n]*::|##[A-Za-z]*\[/;
/** Characters in which a command begins that a chunk divides. */
const MAX_START = 200;

/** What to say about output with such commands: it is exact, so the danger is the reader's. */
export const COMMANDS_WARNING =
  'the output has lines that a CI runner acts on, such as ::add-mask:: or ##vso[; write it to a file instead';

/** Returns a function that takes the chunks of an output one by one, and returns whether a command was in one so far. */
export function createCommandFinder(): (chunk: Uint8Array) => boolean {
  let tail = '\n';
  let isFound = false;
  return (chunk) => {
    // A character for each byte: a chunk may end within one of several bytes.
    const text = tail + latin1(chunk);
    isFound ||= COMMAND.test(text);
    tail = text.slice(-MAX_START);
    return isFound;
  };
}
