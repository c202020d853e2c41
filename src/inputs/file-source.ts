/** Reads a document from a file in blocks, and checks that the file does not change meanwhile. */

import { type BigIntStats, promises } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { NOTHING_CREATED, WfrError } from '../errors.js';
import { EXACT, fileId } from '../platform/files.js';
import { describeSystemError, errorCode } from '../platform/system-error.js';
import type { Source } from '../service/body.js';

/** A document that changed while it was being sent. */
export class FileChangedError extends WfrError {
  constructor(path: string) {
    super('usage', [`${path} changed while being read; ${NOTHING_CREATED}`], {
      hints: ['Run the same command again once the file is complete.'],
      createdNothing: true,
      isTemporary: true,
    });
  }
}

/** A file that passed the checks but could not be read when it was sent. */
export class FileReadError extends WfrError {
  constructor(path: string, cause: Error) {
    const isTemporary = isResourceExhaustion(cause);
    const fix = isTemporary
      ? ', with more open files (ulimit -n) or a smaller --concurrency.'
      : ' once it can be read.';
    const summary = `${path} cannot be read: ${describeSystemError(cause)}; ${NOTHING_CREATED}`;
    super(isTemporary ? 'not-triggered' : 'usage', [summary], {
      hints: [`Run the same command again${fix}`],
      createdNothing: true,
      isTemporary,
    });
  }
}

/** Returns what handles the error of the system for a file that passed the checks: it throws FileReadError. */
const throwAsReadError = (name: string) => (error: Error) => {
  throw new FileReadError(name, error);
};

/** Returns whether a system call failed for lack of file descriptors or memory, which may be temporary. */
export function isResourceExhaustion(error: unknown): error is Error {
  return ['EMFILE', 'ENFILE', 'ENOMEM'].includes(errorCode(error) ?? '');
}

/** What must not change about a file while it is sent; ctime, unlike mtime, cannot be set back. */
type FileIdentity = Pick<BigIntStats, 'size' | 'mtimeNs' | 'ctimeNs' | 'ino' | 'dev'>;

/** Returns a source that opens the file only while it is read; `name` is what the user calls it. */
export function createFileSource(path: string, name: string, identity: FileIdentity): Source {
  const size = Number(identity.size);
  return {
    size,
    async *blocks(buffer) {
      const handle = await promises.open(path, 'r').catch(throwAsReadError(name));
      try {
        await assertUnchanged(handle.stat(EXACT), name, identity);
        yield* createHandleSource(handle, size, name).blocks(buffer);
      } finally {
        await handle.close();
      }
    },
    verify: () => assertUnchanged(promises.stat(path, EXACT), name, identity),
    close: async () => {},
  };
}

/** Returns a source for an open file that no other process can reach, so that nothing needs to be verified. */
export function createHandleSource(handle: FileHandle, size: number, name: string): Source {
  return {
    size,
    async *blocks(buffer) {
      for (let offset = 0; offset < size; ) {
        const block = buffer.subarray(0, size - offset);
        let filled = 0;
        while (filled < block.length) {
          const { bytesRead } = await handle
            .read(block, filled, block.length - filled, offset)
            .catch(throwAsReadError(name));
          if (bytesRead === 0) throw new FileChangedError(name);
          filled += bytesRead;
          offset += bytesRead;
        }
        yield block;
      }
    },
    verify: async () => {},
    close: () => handle.close(),
  };
}

async function assertUnchanged(reading: Promise<FileIdentity>, name: string, expected: FileIdentity) {
  const actual = await reading.then(stateOf).catch(() => undefined);
  if (actual !== stateOf(expected)) throw new FileChangedError(name);
}

/** Returns what stays the same as long as a file does. */
export function stateOf(identity: FileIdentity): string {
  const { size, mtimeNs, ctimeNs } = identity;
  return `${size} ${mtimeNs} ${ctimeNs} ${fileId(identity)}`;
}
