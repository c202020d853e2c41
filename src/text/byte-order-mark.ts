/** The mark that some programs put before UTF-8 text. */

/** The bytes without a byte order mark. */
export function withoutByteOrderMark(bytes: Buffer): Buffer {
  return bytes.length >= 3 && bytes.readUIntBE(0, 3) === 0xefbbbf ? bytes.subarray(3) : bytes;
}
