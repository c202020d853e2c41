/** A regular file as the bytes of a document: read in blocks, one open file at a time, and held against its first look. */
import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { FileChangedError, FileReadError } from '../errors.js';
import type { BlockBuffers, Source } from '../service/body.js';

/** What must stay the same of a file while it is sent. */
export interface FileIdentity {
  size: bigint;
  mtimeNs: bigint;
  /** Unlike the time of modification, nobody can set it back. */
  ctimeNs: bigint;
  ino: bigint;
  dev: bigint;
}

/** A file that has just been looked at; `name` is what the user calls it. */
export function createFileSource(path: string, name: string, identity: FileIdentity): Source {
  const size = Number(identity.size);
  return {
    size,
    async *blocks(buffers) {
      const handle = await open(path, constants.O_RDONLY).catch((error) => {
        throw new FileReadError(name, error);
      });
      try {
        await assertUnchanged(() => handle.stat({ bigint: true }), name, identity);
        yield* readBlocks(handle, size, name, buffers);
      } finally {
        await handle.close();
      }
    },
    verify: () => assertUnchanged(() => stat(path, { bigint: true }), name, identity),
    close: async () => {},
  };
}

/** An open file of ours that nobody else can reach, such as an unlinked one: there is nothing to verify. */
export function createHandleSource(handle: FileHandle, size: number, name: string): Source {
  return {
    size,
    blocks: (buffers) => readBlocks(handle, size, name, buffers),
    verify: async () => {},
    close: () => handle.close(),
  };
}

/** Gives `size` bytes in blocks, reading the next one while the caller works on the last. */
async function* readBlocks(
  handle: FileHandle,
  size: number,
  name: string,
  buffers: BlockBuffers,
): AsyncGenerator<Uint8Array, void, void> {
  const blockSize = buffers[0].length;
  const read = (offset: number) => {
    const buffer = buffers[(offset / blockSize) % 2 === 0 ? 0 : 1];
    return readFully(handle, buffer.subarray(0, Math.min(blockSize, size - offset)), offset, name);
  };
  let ahead: Promise<Uint8Array> | undefined;
  const readAhead = (offset: number) => {
    ahead = offset < size ? read(offset) : undefined;
    // It is awaited when its turn comes; until then its failure is not an unhandled one.
    ahead?.catch(() => {});
  };
  try {
    readAhead(0);
    for (let next = blockSize; ahead !== undefined; next += blockSize) {
      const block: Uint8Array = await ahead;
      readAhead(next);
      yield block;
    }
  } finally {
    // The file may be closed only once nothing is being read from it.
    await ahead?.catch(() => {});
  }
}

async function readFully(handle: FileHandle, into: Buffer, offset: number, name: string): Promise<Buffer> {
  let filled = 0;
  while (filled < into.length) {
    const { bytesRead } = await handle
      .read(into, filled, into.length - filled, offset + filled)
      .catch((error) => {
        throw new FileReadError(name, error);
      });
    if (bytesRead === 0) throw new FileChangedError(name);
    filled += bytesRead;
  }
  return into;
}

async function assertUnchanged(
  look: () => Promise<FileIdentity>,
  name: string,
  before: FileIdentity,
): Promise<void> {
  const now = await look().catch(() => undefined);
  const same =
    now !== undefined &&
    now.size === before.size &&
    now.mtimeNs === before.mtimeNs &&
    now.ctimeNs === before.ctimeNs &&
    now.ino === before.ino &&
    now.dev === before.dev;
  if (!same) throw new FileChangedError(name);
}
