/** The encoding of files and responses: UTF-8, with or without a byte order mark. */

/** Returns the bytes without the byte order mark that some programs put before UTF-8 text. */
export function stripByteOrderMark(bytes: Buffer): Buffer {
  return bytes.length >= 3 && bytes.readUIntBE(0, 3) === 0xefbbbf ? bytes.subarray(3) : bytes;
}

/** Returns the offset of the first byte that is not UTF-8; `bytes` must contain one. */
export function findInvalidUtf8(bytes: Buffer): number {
  const text = bytes.toString('utf8');
  for (let index = text.indexOf('\uFFFD'); index >= 0; index = text.indexOf('\uFFFD', index + 1)) {
    const offset = Buffer.byteLength(text.slice(0, index));
    // The file itself may contain a valid replacement character.
    if (bytes.readUIntBE(offset, Math.min(3, bytes.length - offset)) !== 0xefbfbd) return offset;
  }
  return 0;
}
