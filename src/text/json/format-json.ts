/** Formats JSON text byte for byte: only white space changes, and unsafe code points are escaped. */
import { escapeCodePoint, escapeControls, isUnsafe } from '../sanitize.js';
import { decodeBlocks } from './members.js';
import { isPlain, viewOf } from './scanner.js';

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
  return format(new Formatter(json, true, colors));
}

/** Formats valid JSON (UTF-8) on one line, with a line feed at the end; yields chunks. */
export function compactJson(json: Uint8Array, colors?: JsonColors): Generator<Buffer, void, void> {
  return format(new Formatter(json, false, colors));
}

function* format(formatter: Formatter) {
  while (formatter.offset < formatter.json.length) yield formatter.fill();
}

const CHUNK_SIZE = 128 * 1024;
/** Deeper levels are not indented further, or n levels would become n x n bytes. */
const MAX_INDENT = 2 * 64;
/** Bytes that are free when a token or an escape begins: more than its white space and colors. */
const MARGIN = 512;

const QUOTE = 0x22;
const HASH = 0x23;
const BACKSLASH = 0x5c;
const LETTER_N = 0x6e;

/** What begins at a byte between strings. */
const [SCALAR, SPACE, OPEN, CLOSE, COMMA, COLON, STRING] = [0, 1, 2, 3, 4, 5, 6];
const KINDS = new Uint8Array(256);
for (const [kind, characters] of ['', ' \t\r\n', '{[', '}]', ',', ':', '"'].entries())
  for (const byte of Buffer.from(characters)) KINDS[byte] = kind;

/**
 * 1 for the bytes of a string that are not copied at once. With the last ones begin the unsafe code points from U+007F on,
 * such as U+00AD, U+034F, U+061C, U+115F, U+200B, U+3164, U+FEFF, U+1D173, U+E0001.
 */
const SPECIAL = new Uint8Array(256);
for (const byte of [HASH, 0x7f, 0xc2, 0xcd, 0xd8, 0xe1, 0xe2, 0xe3, 0xef, 0xf0, 0xf3]) SPECIAL[byte] = 1;

/** Its members are `private` instead of `#`, its tokens copied in loops: both make it faster by a fifth. */
class Formatter {
  offset = 0;
  private depth = 0;
  private isInString = false;
  private out!: Buffer;
  private outView!: DataView;
  private used = 0;
  private readonly view: DataView;

  constructor(
    readonly json: Uint8Array,
    private readonly isIndented: boolean,
    private readonly colors: JsonColors | undefined,
  ) {
    this.view = viewOf(json);
  }

  /** Returns the next chunk. */
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
        case COMMA:
          this.punctuate(byte);
          this.breakLine(this.depth);
          break;
        case COLON:
          this.punctuate(byte);
          if (this.isIndented) this.out[this.used++] = 0x20;
          break;
        case STRING:
          if (colors !== undefined) this.write(isKey(json, this.offset) ? colors.key : colors.string);
          this.out[this.used++] = byte;
          this.offset++;
          this.copyString(full);
          break;
        default:
          if (byte === LETTER_N) this.write(colors?.null);
          this.copyScalar();
          if (byte === LETTER_N) this.write(colors?.end);
      }
    }
    if (this.offset === end) this.out[this.used++] = 0x0a;
    return this.out.subarray(0, this.used);
  }

  /** Copies a string from its first character on, until the chunk is full. */
  private copyString(full: number): void {
    const { json, view, out, outView } = this;
    const end = json.length;
    let { offset, used } = this;
    this.isInString = true;
    while (offset < end && used <= full) {
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
    if (!this.isInString) this.write(this.colors?.end);
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
    this.write(this.colors?.punctuation);
    this.out[this.used++] = byte;
    this.offset++;
    this.write(this.colors?.end);
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

  private write(text = ''): void {
    for (let index = 0; index < text.length; index++) this.out[this.used++] = text.charCodeAt(index);
  }
}

/** Returns whether a colon follows the string at `offset`. */
function isKey(json: Uint8Array, offset: number): boolean {
  let end = offset + 1;
  while (end < json.length && json[end] !== QUOTE) end += json[end] === BACKSLASH ? 2 : 1;
  do end++;
  while (KINDS[json[end] as number] === SPACE);
  return KINDS[json[end] as number] === COLON;
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

/**
 * Yields the text of a JSON string token (UTF-8), with a line feed at the end. Control characters other than white space,
 * which a terminal would act on, become `\uXXXX`; calls `onEscape` for each block that has any.
 */
export function* rawString(token: Uint8Array, onEscape = () => {}): Generator<Buffer, void, void> {
  for (const text of decodeBlocks(token)) {
    const escaped = escapeControls(text);
    if (escaped !== text) onEscape();
    yield Buffer.from(escaped);
  }
  yield Buffer.from('\n');
}

/** Collects small pieces into chunks. */
export class ChunkWriter {
  #pieces: Uint8Array[] = [];
  #size = 0;

  /** Whether a chunk is to be flushed. */
  get isFull(): boolean {
    return this.#size >= CHUNK_SIZE;
  }

  add(piece: string | Uint8Array): void {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    this.#pieces.push(bytes);
    this.#size += bytes.length;
  }

  /** Returns what was added since the last chunk. */
  flush(): Buffer {
    const chunk = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#size = 0;
    return chunk;
  }
}
