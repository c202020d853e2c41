/** Formats JSON text byte for byte: only white space changes, and unsafe code points are escaped. */
import { escapeCodePoint, isUnsafe } from '../sanitize.js';
import { decodedPieces } from './members.js';
import { endOfPlain, isPlain, viewOf } from './scanner.js';

/** The control sequences that begin the tokens that have a color, and the one that ends them all. */
export interface JsonColors {
  key: string;
  string: string;
  null: string;
  punctuation: string;
  end: string;
}

/** Formats valid JSON (UTF-8) with an indentation of two spaces and a line feed at the end; yields chunks. */
export function formatJson(json: Uint8Array, colors?: JsonColors): Generator<Buffer, void, void> {
  return format(json, true, colors);
}

/** Formats valid JSON (UTF-8) on one line, with a line feed at the end; yields chunks. */
export function compactJson(json: Uint8Array, colors?: JsonColors): Generator<Buffer, void, void> {
  return format(json, false, colors);
}

const CHUNK_SIZE = 128 * 1024;
/** Deeper levels are not indented further, or n levels would become n x n bytes. */
const MAX_INDENT = 2 * 64;
/** Bytes that are free when a token or an escape begins: more than its white space and colors. */
const MARGIN = 512;
/** Bytes of a string that are copied to a chunk; more are a chunk of their own. */
const SHORT = 16 * 1024;

const QUOTE = 0x22;
const HASH = 0x23;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const LETTER_N = 0x6e;

/** What begins at a byte between strings. */
const [SCALAR, SPACE, OPEN, CLOSE, COMMA_OR_COLON, STRING] = [0, 1, 2, 3, 4, 5];
const KINDS = new Uint8Array(256);
for (const byte of Buffer.from(' \t\r\n')) KINDS[byte] = SPACE;
for (const byte of Buffer.from('{[')) KINDS[byte] = OPEN;
for (const byte of Buffer.from('}]')) KINDS[byte] = CLOSE;
for (const byte of Buffer.from(',:')) KINDS[byte] = COMMA_OR_COLON;
KINDS[QUOTE] = STRING;

/**
 * 1 for the bytes of a string that are not copied at once. With the last ones begin the unsafe code points from U+007F on,
 * such as U+00AD, U+034F, U+061C, U+115F, U+200B, U+3164, U+FEFF, U+1D173, U+E0001.
 */
const SPECIAL = new Uint8Array(256);
for (const byte of [QUOTE, BACKSLASH, HASH, 0x7f, 0xc2, 0xcd, 0xd8, 0xe1, 0xe2, 0xe3, 0xef, 0xf0, 0xf3])
  SPECIAL[byte] = 1;

function* format(bytes: Uint8Array, isIndented: boolean, colors: JsonColors | undefined) {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const formatter = new Formatter(json, isIndented, colors);
  while (formatter.offset < json.length) {
    yield formatter.fill();
    const start = formatter.offset;
    const end = formatter.skipPlain();
    if (end > start) yield json.subarray(start, end);
  }
}

class Formatter {
  offset = 0;
  private depth = 0;
  private isInString = false;
  private out!: Buffer;
  private outView!: DataView;
  private used = 0;
  private readonly view: DataView;

  constructor(
    private readonly json: Buffer,
    private readonly isIndented: boolean,
    private readonly colors: JsonColors | undefined,
  ) {
    this.view = viewOf(json);
  }

  /** Returns the next chunk: it ends where it is full, or in a long string. */
  fill(): Buffer {
    const { json, colors } = this;
    const end = json.length;
    // White space, colors and escapes may double the text.
    const full = Math.min(CHUNK_SIZE, 2 * end);
    this.out = Buffer.allocUnsafe(full + MARGIN);
    this.outView = viewOf(this.out);
    this.used = 0;
    if (this.isInString) this.copyString(full);
    while (this.offset < end && this.used <= full && !this.isInString) {
      const byte = json[this.offset] as number;
      switch (KINDS[byte]) {
        case SPACE:
          this.offset++;
          break;
        case OPEN:
          this.punctuate(byte);
          while (KINDS[json[this.offset] as number] === SPACE) this.offset++;
          if (KINDS[json[this.offset] as number] === CLOSE) this.punctuate(json[this.offset] as number);
          else this.breakLine(++this.depth);
          break;
        case CLOSE:
          this.breakLine(--this.depth);
          this.punctuate(byte);
          break;
        case COMMA_OR_COLON:
          this.punctuate(byte);
          if (byte === COMMA) this.breakLine(this.depth);
          else if (this.isIndented) this.out[this.used++] = 0x20;
          break;
        case STRING:
          if (colors !== undefined) this.write(isKey(json, this.offset) ? colors.key : colors.string);
          this.out[this.used++] = byte;
          this.offset++;
          this.copyString(full);
          break;
        default:
          if (byte === LETTER_N) this.write(colors?.null ?? '');
          this.copyScalar();
          if (byte === LETTER_N) this.write(colors?.end ?? '');
      }
    }
    if (this.offset === end) this.out[this.used++] = 0x0a;
    return this.out.subarray(0, this.used);
  }

  /** Moves over the part of a long string that needs no change; returns its end. */
  skipPlain(): number {
    if (!this.isInString) return this.offset;
    const end = Math.min(this.json.length, this.offset + CHUNK_SIZE);
    this.offset = endOfPlain(this.json, this.view, this.offset, end, SPECIAL);
    return this.offset;
  }

  /** Copies a string from its first character on, as far as it is short and the chunk not full. */
  private copyString(full: number): void {
    const { json, view, out, outView } = this;
    const end = json.length;
    let { offset, used } = this;
    const last = Math.min(full, used + SHORT);
    this.isInString = true;
    while (offset < end && used <= last) {
      const word = offset + 4 <= end ? view.getInt32(offset, true) : 0;
      if (isPlain(word)) {
        outView.setInt32(used, word, true);
        offset += 4;
        used += 4;
        continue;
      }
      const byte = json[offset++] as number;
      const unsafe = SPECIAL[byte] === 1 ? unsafeAt(json, offset - 1, byte) : -1;
      if (unsafe >= 0) {
        used += out.write(escapeCodePoint(unsafe), used, 'latin1');
        while (((json[offset] as number) & 0xc0) === 0x80) offset++;
        continue;
      }
      out[used++] = byte;
      if (byte === BACKSLASH) out[used++] = json[offset++] as number;
      if (byte !== QUOTE) continue;
      this.isInString = false;
      break;
    }
    this.offset = offset;
    this.used = used;
    if (!this.isInString && this.colors !== undefined) this.write(this.colors.end);
  }

  /** Copies a literal, or as much of a number as surely fits. */
  private copyScalar(): void {
    const { json, out } = this;
    const end = Math.min(json.length, this.offset + MARGIN / 2);
    let { offset, used } = this;
    do out[used++] = json[offset++] as number;
    while (offset < end && KINDS[json[offset] as number] === SCALAR);
    this.offset = offset;
    this.used = used;
  }

  private punctuate(byte: number): void {
    if (this.colors !== undefined) this.write(this.colors.punctuation);
    this.out[this.used++] = byte;
    this.offset++;
    if (this.colors !== undefined) this.write(this.colors.end);
  }

  private breakLine(depth: number): void {
    if (!this.isIndented) return;
    const { out, outView, used } = this;
    out[used] = 0x0a;
    const end = used + 1 + Math.min(2 * depth, MAX_INDENT);
    // Four spaces at a time: what is written beyond the end is overwritten.
    for (let at = used + 1; at < end; at += 4) outView.setInt32(at, 0x20202020);
    this.used = end;
  }

  private write(text: string): void {
    for (let index = 0; index < text.length; index++) this.out[this.used++] = text.charCodeAt(index);
  }
}

/** Returns whether a colon follows the string at `offset`. */
function isKey(json: Uint8Array, offset: number): boolean {
  let end = offset + 1;
  while (end < json.length && json[end] !== QUOTE) end += json[end] === BACKSLASH ? 2 : 1;
  do end++;
  while (KINDS[json[end] as number] === SPACE);
  return json[end] === COLON;
}

/**
 * Returns the unsafe code point whose UTF-8 begins at `offset`, or the second `#` of a log's command; -1 if there is none.
 */
function unsafeAt(json: Uint8Array, offset: number, first: number): number {
  if (first === HASH) return isLogCommand(json, offset) ? HASH : -1;
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // The first byte of n has 7 - n bits of the code point, every other one has 6.
  let codePoint = length === 1 ? first : first & (0x7f >> length);
  for (let index = 1; index < length; index++) {
    codePoint = (codePoint << 6) | ((json[offset + index] ?? 0) & 0x3f);
  }
  return isUnsafe(codePoint) ? codePoint : -1;
}

/** Returns whether the `#` at `offset` is the second of `##[`, or of `##` before letters and `[`: see LOG_COMMAND. */
function isLogCommand(json: Uint8Array, offset: number): boolean {
  if (json[offset - 1] !== HASH) return false;
  let end = offset + 1;
  while (isLetter(json[end] ?? 0)) end++;
  return json[end] === 0x5b;
}

const isLetter = (byte: number) => (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;

const WRITE_SIZE = 64 * 1024;

/** Collects small writes into chunks, which are never reused. */
export class ChunkWriter {
  readonly #size: number;
  #buffer = Buffer.alloc(0);
  #used = 0;

  /** `expected` is about the number of bytes that are written in all: few bytes need no large chunk. */
  constructor(expected = WRITE_SIZE) {
    this.#size = Math.min(expected, WRITE_SIZE);
  }

  /** Whether a chunk is to be flushed. */
  get isFull(): boolean {
    return this.#used >= this.#size;
  }

  /** Writes a text that is not large; it is never divided. */
  text(text: string): void {
    // A UTF-16 unit takes up to three bytes of UTF-8.
    while (this.#used + 3 * text.length > this.#buffer.length) this.#grow();
    this.#used += this.#buffer.write(text, this.#used);
  }

  /** Writes bytes of any length, and yields the chunks that are full; what would fill one alone is not copied. */
  *add(bytes: Uint8Array): Generator<Buffer, void, void> {
    let from = 0;
    for (; bytes.length - from >= this.#size; from += this.#size) {
      if (this.#used > 0) yield this.flush();
      yield Buffer.from(bytes.buffer, bytes.byteOffset + from, this.#size);
    }
    while (from < bytes.length) {
      if (this.isFull) yield this.flush();
      if (this.#buffer.length === 0) this.#grow();
      const taken = bytes.subarray(from, from + this.#size - this.#used);
      this.#buffer.set(taken, this.#used);
      this.#used += taken.length;
      from += taken.length;
    }
  }

  /** Returns what was written since the last chunk. */
  flush(): Buffer {
    const chunk = this.#buffer.subarray(0, this.#used);
    this.#buffer = Buffer.alloc(0);
    this.#used = 0;
    return chunk;
  }

  #grow(): void {
    const grown = Buffer.allocUnsafe(this.#buffer.length + this.#size);
    grown.set(this.#buffer.subarray(0, this.#used));
    this.#buffer = grown;
  }
}

/**
 * Yields the text of a JSON string token (UTF-8), with a line feed at the end. Control characters other than white space,
 * which a terminal would act on, become `\uXXXX`; returns whether there were any.
 */
export function* rawString(token: Uint8Array): Generator<Buffer, boolean, void> {
  const writer = new ChunkWriter();
  let hasEscapes = false;
  for (const piece of decodedPieces(token)) {
    const view = viewOf(piece);
    let start = 0;
    for (let offset = 0; offset < piece.length; offset++) {
      offset = endOfPlain(piece, view, offset, piece.length, FIRST_BYTES);
      const control = controlAt(piece, offset);
      if (control === undefined) continue;
      hasEscapes = true;
      yield* writer.add(piece.subarray(start, offset));
      writer.text(escapeCodePoint(control));
      if (control > 0x7f) offset++;
      start = offset + 1;
    }
    yield* writer.add(piece.subarray(start));
  }
  writer.text('\n');
  yield writer.flush();
  return hasEscapes;
}

/** 1 for the bytes that control characters begin with: C0 but white space, DEL and C1. */
const FIRST_BYTES = new Uint8Array(256).fill(1, 0, 0x20).fill(0, 0x09, 0x0e);
FIRST_BYTES[0x7f] = FIRST_BYTES[0xc2] = 1;

/** Returns the control character at an offset of UTF-8; undefined for any other one. */
function controlAt(bytes: Uint8Array, offset: number): number | undefined {
  const byte = bytes[offset] ?? 0x20;
  if (FIRST_BYTES[byte] === 0) return undefined;
  const codePoint = byte === 0xc2 ? (bytes[offset + 1] ?? 0) : byte;
  return codePoint <= 0x9f ? codePoint : undefined;
}
