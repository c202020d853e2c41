/** Writes a zip archive, which Windows opens without another program. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';

const VERSION = 20;
const DEFLATE = 8;
/** 1 January 1980, the first day that a zip archive knows. */
const DATE = 0x21;

/** Writes files of a directory into an archive (below 4 GB), without what differs between machines. */
export function writeZip(archive, directory, files) {
  const parts = [];
  const entries = [];
  let offset = 0;
  for (const file of files) {
    const content = readFileSync(join(directory, file));
    const compressed = deflateRawSync(content, { level: 9 });
    const facts = describe(file, crc32(content), compressed.length, content.length);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), facts, Buffer.from(file)]);
    entries.push(centralEntry(file, facts, offset));
    parts.push(local, compressed);
    offset += local.length + compressed.length;
  }
  const directoryPart = Buffer.concat(entries);
  writeFileSync(
    archive,
    Buffer.concat([...parts, directoryPart, endOf(entries.length, directoryPart.length, offset)]),
  );
}

/** Returns the part of a header that stands both before a file and in the directory. */
function describe(file, checksum, compressed, size) {
  const facts = Buffer.alloc(26);
  facts.writeUInt16LE(VERSION, 0);
  facts.writeUInt16LE(DEFLATE, 4);
  facts.writeUInt16LE(DATE, 8);
  facts.writeUInt32LE(checksum, 10);
  facts.writeUInt32LE(compressed, 14);
  facts.writeUInt32LE(size, 18);
  facts.writeUInt16LE(file.length, 22);
  return facts;
}

function centralEntry(file, facts, offset) {
  const start = Buffer.from('PK\x01\x02\0\0', 'latin1');
  start.writeUInt16LE(VERSION, 4);
  const rest = Buffer.alloc(14);
  rest.writeUInt32LE(offset, 10);
  return Buffer.concat([start, facts, rest, Buffer.from(file)]);
}

function endOf(count, size, offset) {
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(offset, 16);
  return end;
}
