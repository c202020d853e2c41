/**
 * Scans JSON text token by token without building values, so that numbers, key order and duplicates are preserved, and
 * deep nesting takes one byte per level instead of a stack frame.
 */

/** The text is not JSON (RFC 8259) at the byte `offset`. */
export class JsonSyntaxError extends Error {
  constructor(
    readonly offset: number,
    readonly reason: string,
  ) {
    super(`${reason} at byte ${offset + 1}`);
  }
}

/** Punctuation stands for itself; `key` is a string before a colon. */
type JsonToken = '{' | '}' | '[' | ']' | ':' | ',' | 'key' | 'string' | 'number' | 'literal';

/** What may come next. */
enum Next {
  value,
  valueOrClose,
  key,
  keyOrClose,
  colon,
  commaOrBrace,
  commaOrBracket,
  end,
}
const EXPECTED = [
  'a value',
  'a value or ]',
  'a name in double quotes',
  'a name in double quotes, or }',
  'a colon',
  'a comma or }',
  'a comma or ]',
  'the end',
];

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
const SCALARS: Readonly<Record<number, Buffer>> = {
  116: Buffer.from('true'),
  102: Buffer.from('false'),
  110: Buffer.from('null'),
};
/** Of four bytes in an integer of 32 bits. */
const HIGHEST_BITS = 0x80808080 | 0;
const ESCAPES = Buffer.from('"\\/bfnrt');

const SPACE = new Uint8Array(256);
SPACE[0x20] = SPACE[0x0a] = SPACE[0x0d] = SPACE[0x09] = 1;

/** Returns whether a byte is white space between tokens (RFC 8259, section 2). */
export const isSpace = (byte: number) => SPACE[byte] === 1;

const isDigit = (byte = 0) => byte >= 0x30 && byte <= 0x39;
const isHex = (byte = 0) => isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);

export class JsonScanner {
  /** The token that `next` found: the bytes `[start, end)`. */
  token: JsonToken = 'literal';
  start = 0;
  end = 0;
  /** The number of objects and arrays that are open after the token. */
  depth = 0;

  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #maxDepth: number;
  #expected = Next.value;
  /** What may come after a value, for each level. */
  #after: Uint8Array = Buffer.alloc(64, Next.end);

  /** Tokens with more than `maxDepth` levels both before and after them are checked, but not reported. */
  constructor(bytes: Uint8Array, maxDepth = Number.POSITIVE_INFINITY) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
    this.#maxDepth = maxDepth;
  }

  /** The bytes of the token. */
  get text(): Uint8Array {
    return this.#bytes.subarray(this.start, this.end);
  }

  /** Moves to the next token. Returns false at the end of a complete text. Throws JsonSyntaxError. */
  next(): boolean {
    const bytes = this.#bytes;
    const length = bytes.length;
    let { end: offset, depth } = this;
    let expected = this.#expected;
    let after = this.#after;
    const maxDepth = this.#maxDepth;
    for (;;) {
      while (offset < length && isSpace(bytes[offset] as number)) offset++;
      if (offset >= length) {
        if (expected !== Next.end) throw notJson(offset, 'unexpected end');
        return false;
      }
      const start = offset++;
      const byte = bytes[start] as number;
      const before = depth;
      let token: JsonToken;
      switch (byte) {
        case QUOTE:
          if (expected > Next.keyOrClose) throw unexpected(expected, start);
          offset = endOfString(bytes, this.#view, start);
          token = expected >= Next.key ? 'key' : 'string';
          expected = token === 'key' ? Next.colon : (after[depth] as Next);
          break;
        case 0x3a:
          if (expected !== Next.colon) throw unexpected(expected, start);
          token = ':';
          expected = Next.value;
          break;
        case 0x2c:
          if (expected !== Next.commaOrBrace && expected !== Next.commaOrBracket)
            throw unexpected(expected, start);
          token = ',';
          expected = expected === Next.commaOrBrace ? Next.key : Next.value;
          break;
        case 0x7b:
        case 0x5b: {
          if (expected > Next.valueOrClose) throw unexpected(expected, start);
          const isObject = byte === 0x7b;
          token = isObject ? '{' : '[';
          expected = isObject ? Next.keyOrClose : Next.valueOrClose;
          if (++depth === after.length) after = this.#after = Buffer.concat([after], 2 * depth);
          after[depth] = isObject ? Next.commaOrBrace : Next.commaOrBracket;
          break;
        }
        case 0x7d:
        case 0x5d: {
          const isObject = byte === 0x7d;
          const isEmpty = expected === (isObject ? Next.keyOrClose : Next.valueOrClose);
          const hasValue = expected === (isObject ? Next.commaOrBrace : Next.commaOrBracket);
          if (!isEmpty && !hasValue) throw unexpected(expected, start);
          token = isObject ? '}' : ']';
          expected = after[--depth] as Next;
          break;
        }
        default: {
          if (expected > Next.valueOrClose) throw unexpected(expected, start);
          const isNumber = byte === 0x2d || isDigit(byte);
          offset = isNumber ? endOfNumber(bytes, start) : endOfLiteral(bytes, start, expected);
          token = isNumber ? 'number' : 'literal';
          expected = after[depth] as Next;
        }
      }
      if (before > maxDepth && depth > maxDepth) continue;
      this.token = token;
      this.start = start;
      this.end = offset;
      this.depth = depth;
      this.#expected = expected;
      return true;
    }
  }
}

/** Returns a view of bytes, for `isPlain`. */
export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Returns whether each of four bytes is a printable ASCII character other than `"`, `#` and a backslash. */
export function isPlain(word: number): boolean {
  const quotes = (word | 0x01010101) ^ 0x23232323;
  const backslashes = word ^ 0x5c5c5c5c;
  // Each term sets the highest bit of a byte: where `quotes` or `backslashes` is 0, from 0x80 on, below 0x20, and at 0x7f.
  const found =
    (quotes - 0x01010101) | (backslashes - 0x01010101) | word | (word - 0x20202020) | (word + 0x01010101);
  return (found & HIGHEST_BITS) === 0;
}

function endOfString(bytes: Uint8Array, view: DataView, start: number): number {
  const length = bytes.length;
  let offset = start + 1;
  for (;;) {
    while (offset + 4 <= length && isPlain(view.getInt32(offset, true))) offset += 4;
    const byte = bytes[offset];
    if (byte === QUOTE) return offset + 1;
    if (byte === undefined) throw notJson(start, 'unterminated string');
    if (byte < 0x20) throw notJson(offset, 'control character in a string');
    offset = byte === BACKSLASH ? endOfEscape(bytes, offset) : offset + 1;
  }
}

function endOfEscape(bytes: Uint8Array, start: number): number {
  const letter = bytes[start + 1] ?? 0;
  let end = start + 2;
  if (ESCAPES.includes(letter)) return end;
  while (letter === 0x75 && end < start + 6 && isHex(bytes[end])) end++;
  if (end < start + 6) throw notJson(start, 'invalid escape in a string');
  return end;
}

function endOfLiteral(bytes: Uint8Array, start: number, expected: Next): number {
  const word = SCALARS[bytes[start] as number];
  if (!word) throw unexpected(expected, start);
  for (let index = 1; index < word.length; index++) {
    if (bytes[start + index] !== word[index]) throw unexpected(expected, start);
  }
  return start + word.length;
}

function endOfNumber(bytes: Uint8Array, start: number): number {
  let offset = bytes[start] === 0x2d ? start + 1 : start;
  offset = bytes[offset] === 0x30 ? offset + 1 : endOfDigits(bytes, offset);
  if (bytes[offset] === 0x2e) offset = endOfDigits(bytes, offset + 1);
  if (((bytes[offset] ?? 0) | 0x20) !== 0x65) return offset;
  const sign = bytes[offset + 1];
  return endOfDigits(bytes, offset + (sign === 0x2b || sign === 0x2d ? 2 : 1));
}

function endOfDigits(bytes: Uint8Array, start: number): number {
  let offset = start;
  while (isDigit(bytes[offset])) offset++;
  if (offset === start) throw notJson(start, 'invalid number');
  return offset;
}

function unexpected(expected: Next, offset: number): JsonSyntaxError {
  return notJson(offset, `expected ${EXPECTED[expected]}`);
}

function notJson(offset: number, problem: string): JsonSyntaxError {
  return new JsonSyntaxError(offset, `not JSON: ${problem}`);
}
