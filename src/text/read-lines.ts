/** Splits a stream into lines, for files larger than memory. */

export interface Line {
  bytes: Buffer;
  /** From 1. */
  number: number;
  /** Offset of its first byte. */
  start: number;
  /** Whether a line feed ends it; false at most for the last one. */
  isComplete: boolean;
}

/** Returns whether a line has only spaces. */
export function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20);
}

/** Reads the lines of a stream, without their line feeds. */
export async function* readLines(stream: AsyncIterable<Buffer>): AsyncGenerator<Line, void, void> {
  let rest: Buffer[] = [];
  let number = 0;
  let start = 0;
  for await (const chunk of stream) {
    let from = 0;
    for (let feed = chunk.indexOf(0x0a); feed >= 0; feed = chunk.indexOf(0x0a, from)) {
      const bytes = Buffer.concat([...rest, chunk.subarray(from, feed)]);
      rest = [];
      from = feed + 1;
      yield { bytes, number: ++number, start, isComplete: true };
      start += bytes.length + 1;
    }
    if (from < chunk.length) rest.push(Buffer.from(chunk.subarray(from)));
  }
  if (rest.length > 0) yield { bytes: Buffer.concat(rest), number: number + 1, start, isComplete: false };
}
