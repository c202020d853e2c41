/** Formats a JSON string as the text that it stands for, in chunks. */
import { escapeCodePoint } from '../sanitize.js';
import { ChunkWriter } from './chunk-writer.js';
import { decodedPieces } from './members.js';
import { endOfPlain, viewOf } from './scanner.js';

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
      writer.ascii(escapeCodePoint(control));
      if (control > 0x7f) offset++;
      start = offset + 1;
    }
    yield* writer.add(piece.subarray(start));
  }
  writer.ascii('\n');
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
