/** Formats JSON text byte for byte: only white space changes, and unsafe code points are escaped. */
import { escapeCharacter, escapeControls, isUnsafe } from '../sanitize.js';
import { decodeBlocks } from './members.js';
import { BACKSLASH, isPlain, QUOTE, viewOf } from './scanner.js';

/** The control sequences that begin the tokens that have a color, and the one that ends them all. */
export interface JsonColors {
  key: string;
  string: string;
  null: string;
  punctuation: string;
  end: string;
}

/** Formats valid JSON (UTF-8) with an indentation of two spaces and a line feed at the end; yields chunks. */
export function* formatJson(
  json: Uint8Array,
  colors?: JsonColors,
  isIndented = true,
): Generator<Buffer, void, void> {
  const position = { offset: 0, depth: 0, isInString: false };
  while (position.offset < json.length) yield formatChunk(json, position, isIndented, colors);
}

/** Formats valid JSON (UTF-8) on one line, with a line feed at the end; yields chunks. */
export function compactJson(json: Uint8Array, colors?: JsonColors): Generator<Buffer, void, void> {
  return formatJson(json, colors, false);
}

const CHUNK_SIZE = 128 * 1024;
/** Deeper levels are not indented further, or n levels would become n x n bytes. */
const MAX_INDENT = 2 * 64;
/** Bytes that are free when a token or an escape begins: more than its white space and colors. */
const MARGIN = 512;

const HASH = 0x23;
const LETTER_N = 0x6e;

/** What begins at a byte between strings. */
enum Kind {
  scalar,
  space,
  open,
  close,
  comma,
  colon,
  string,
}
const KINDS = new Uint8Array(256);
for (const [kind, characters] of ['', ' \t\r\n', '{[', '}]', ',', ':', '"'].entries())
  for (const byte of Buffer.from(characters)) KINDS[byte] = kind;

/**
 * 1 for the bytes of a string that are not copied at once. With the last ones begin the unsafe code points from U+007F on,
 * such as U+00AD, U+034F, U+061C, U+115F, U+200B, U+3164, U+FEFF, U+1D173, U+E0001.
 */
const SPECIAL = new Uint8Array(256);
for (const byte of [HASH, 0x7f, 0xc2, 0xcd, 0xd8, 0xe1, 0xe2, 0xe3, 0xef, 0xf0, 0xf3]) SPECIAL[byte] = 1;

/**
 * Returns the next chunk, and moves the position behind it. Tokens are copied in its own loops, and its functions capture
 * nothing: without either, it would take a fifth longer.
 */
function formatChunk(
  json: Uint8Array,
  position: { offset: number; depth: number; isInString: boolean },
  isIndented: boolean,
  colors: JsonColors | undefined,
): Buffer {
  const end = json.length;
  const view = viewOf(json);
  // White space, colors and escapes may double the text.
  const full = Math.min(CHUNK_SIZE, 2 * end);
  const out = Buffer.allocUnsafe(full + MARGIN);
  const outView = viewOf(out);
  let { offset, depth, isInString } = position;
  let used = 0;
  while (offset < end && used <= full) {
    while (isInString && offset < end && used <= full) {
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
        used = write(out, used, escapeCharacter(String.fromCodePoint(unsafe)));
        while (((json[offset] as number) & 0xc0) === 0x80) offset++;
        continue;
      }
      out[used++] = byte;
      if (byte === BACKSLASH) out[used++] = json[offset++] as number;
      isInString = byte !== QUOTE;
      if (!isInString) used = write(out, used, colors?.end);
    }
    if (offset >= end || used > full) break;
    const byte = json[offset] as number;
    const kind = KINDS[byte] as number;
    if (kind === Kind.space) {
      offset++;
    } else if (kind === Kind.string) {
      if (colors) used = write(out, used, isKey(json, offset) ? colors.key : colors.string);
      out[used++] = byte;
      offset++;
      isInString = true;
    } else if (kind === Kind.scalar) {
      if (byte === LETTER_N) used = write(out, used, colors?.null);
      // A literal, or as much of a number as surely fits.
      const last = Math.min(end, offset + MARGIN / 2);
      do out[used++] = json[offset++] as number;
      while (offset < last && KINDS[json[offset] as number] === Kind.scalar);
      if (byte === LETTER_N) used = write(out, used, colors?.end);
    } else {
      if (kind === Kind.close && isIndented) used = breakLine(outView, used, --depth);
      used = punctuate(out, used, byte, colors);
      offset++;
      if (kind === Kind.comma && isIndented) used = breakLine(outView, used, depth);
      if (kind === Kind.colon && isIndented) out[used++] = 0x20;
      if (kind !== Kind.open) continue;
      while (KINDS[json[offset] as number] === Kind.space) offset++;
      if (KINDS[json[offset] as number] === Kind.close)
        used = punctuate(out, used, json[offset++] as number, colors);
      else if (isIndented) used = breakLine(outView, used, ++depth);
    }
  }
  if (offset === end) out[used++] = 0x0a;
  Object.assign(position, { offset, depth, isInString });
  return out.subarray(0, used);
}

/** Writes a mark of punctuation at a position, and returns the next one. */
function punctuate(out: Buffer, used: number, byte: number, colors: JsonColors | undefined): number {
  const at = write(out, used, colors?.punctuation);
  out[at] = byte;
  return write(out, at + 1, colors?.end);
}

/** Writes a line feed and the indentation, and returns the next position. */
function breakLine(outView: DataView, used: number, depth: number): number {
  outView.setUint8(used, 0x0a);
  const end = used + 1 + Math.min(2 * depth, MAX_INDENT);
  // Four spaces at a time: what is written beyond the end is overwritten.
  for (let at = used + 1; at < end; at += 4) outView.setInt32(at, 0x20202020);
  return end;
}

/** Writes a text, and returns the next position. */
function write(out: Buffer, used: number, text = ''): number {
  for (let index = 0; index < text.length; index++) out[used + index] = text.charCodeAt(index);
  return used + text.length;
}

/** Returns whether a colon follows the string at `offset`. */
function isKey(json: Uint8Array, offset: number): boolean {
  let end = offset + 1;
  while (end < json.length && json[end] !== QUOTE) end += json[end] === BACKSLASH ? 2 : 1;
  do end++;
  while (KINDS[json[end] as number] === Kind.space);
  return KINDS[json[end] as number] === Kind.colon;
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
