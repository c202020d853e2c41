/** Formats a JSON string as the text that it stands for, in chunks. */
import { escapeCodePoint } from '../sanitize.js';
import { ChunkWriter } from './chunk-writer.js';
import { decodedPieces } from './members.js';

/**
 * Yields the text of a JSON string token (UTF-8), with a line feed at the end. Control characters other than white space,
 * which a terminal would act on, become `\uXXXX`; returns whether there were any.
 */
export function* rawString(token: Uint8Array): Generator<Buffer, boolean, void> {
  const writer = new ChunkWriter();
  let hasEscapes = false;
  for (const piece of decodedPieces(token)) {
    let start = 0;
    for (let offset = 0; offset < piece.length; offset++) {
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

/** Returns the control character at an offset of UTF-8, C0 but white space, DEL or C1; undefined for any other one. */
function controlAt(bytes: Uint8Array, offset: number): number | undefined {
  const byte = bytes[offset] ?? 0;
  if (byte < 0x20) return byte < 0x09 || byte > 0x0d ? byte : undefined;
  if (byte === 0x7f) return byte;
  if (byte !== 0xc2) return undefined;
  const next = bytes[offset + 1] ?? 0;
  return next <= 0x9f ? next : undefined;
}
