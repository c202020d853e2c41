/** The bytes of text: UTF-8, with or without a byte order mark, and their lines, for files larger than memory. */

/** Returns the bytes without the byte order mark that some programs put before UTF-8 text. */
export function stripByteOrderMark(bytes: Buffer): Buffer {
  return bytes.toString('utf8', 0, 3) === '\uFEFF' ? bytes.subarray(3) : bytes;
}

/** Returns the offset of the first byte that is not UTF-8; `bytes` must contain one. */
export function findInvalidUtf8(bytes: Buffer): number {
  const text = bytes.toString();
  for (const { index } of text.matchAll(/\uFFFD/g)) {
    const offset = Buffer.byteLength(text.slice(0, index));
    // The file itself may contain a valid replacement character.
    if (bytes.readUIntBE(offset, Math.min(3, bytes.length - offset)) !== 0xefbfbd) return offset;
  }
  return 0;
}

/** Returns the line and the column of an offset, both from 1; columns count characters. */
export function lineAndColumn(bytes: Buffer, offset: number): { line: number; column: number } {
  const lines = bytes.subarray(0, offset).toString().split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
}

export interface Line {
  bytes: Buffer;
  /** From 1. */
  number: number;
  /** Offset of its first byte. */
  start: number;
  /** Whether a line feed ends it; false at most for the last one. */
  isComplete: boolean;
}

/** Reads the lines of a stream, without their line feeds; yields those that end in the same chunk together. */
export async function* readLines(stream: AsyncIterable<Buffer>): AsyncGenerator<Line[], void, void> {
  let rest: Buffer[] = [];
  let number = 0;
  let start = 0;
  for await (const chunk of stream) {
    const lines: Line[] = [];
    let from = 0;
    for (let feed = chunk.indexOf(0x0a); feed >= 0; feed = chunk.indexOf(0x0a, from)) {
      const ending = chunk.subarray(from, feed);
      const bytes = rest.length === 0 ? ending : Buffer.concat([...rest, ending]);
      rest = [];
      from = feed + 1;
      lines.push({ bytes, number: ++number, start, isComplete: true });
      start += bytes.length + 1;
    }
    yield lines;
    if (from < chunk.length) rest.push(Buffer.from(chunk.subarray(from)));
  }
  if (rest.length > 0) yield [{ bytes: Buffer.concat(rest), number: number + 1, start, isComplete: false }];
}

/** Returns the same bytes as a Buffer, without a copy. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Returns a character for each byte, without a copy of the bytes. */
export function latin1(bytes: Uint8Array): string {
  return bufferOf(bytes).toString('latin1');
}

/** Joins chunks of text (UTF-8), and stops behind the one with which it has more than `max` characters. */
export function joinChunks(chunks: Iterable<string | Uint8Array>, max = Number.POSITIVE_INFINITY): string {
  const decoder = new TextDecoder();
  let text = '';
  for (const chunk of chunks) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    if (text.length > max) break;
  }
  return text;
}
