/** Where a report goes: a file that is replaced in one step, or one that is only added to. */
import { constants } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, describeSystemError } from '../system-error.js';

/** A report that can be written once, or be left unwritten. */
interface Destination {
  /** Throws the system's error. */
  write(chunks: Iterable<string | Uint8Array>): Promise<void>;
  /** Leaves nothing behind of what was not written. Never throws. */
  discard(): Promise<void>;
}

interface ReplacedFile extends Destination {
  /** Its path, where links lead to. */
  target: string;
}

export interface AppendedFile extends Destination {
  /** Bytes that it has now. */
  size(): Promise<number>;
}

/** A file cannot be written; the message says why. */
export class DestinationError extends Error {}

/** A file that is there, whole, once it has been written, and as before until then. Throws DestinationError. */
export async function openReplaced(path: string, uuid: string): Promise<ReplacedFile> {
  const { target, mode } = await lookAt(path);
  const temporary = join(dirname(target), `.wfr-${uuid}`);
  const handle = await opened(open(temporary, 'wx', mode), target);
  return {
    target,
    async write(chunks) {
      await writeFile(handle, chunks);
      await handle.close();
      await rename(temporary, target);
    },
    async discard() {
      await handle.close().catch(() => {});
      await rm(temporary, { force: true }).catch(() => {});
    },
  };
}

/** A file that others write to as well. Throws DestinationError. */
export async function openAppended(path: string): Promise<AppendedFile> {
  const handle = await opened(open(path, 'a'), path);
  return {
    size: async () => (await handle.stat()).size,
    write: (chunks) => writeFile(handle, chunks),
    discard: () => handle.close().catch(() => {}),
  };
}

/** Where a path leads, and the mode of what is there. */
async function lookAt(path: string): Promise<{ target: string; mode?: number }> {
  const target = await realpath(path).catch(() => path);
  try {
    const found = await stat(target);
    if (found.isDirectory()) throw new DestinationError('it is a directory');
    if (!found.isFile()) throw new DestinationError('it is not a regular file');
    // A file that may not be written is not to be replaced either, though its folder would allow it.
    await (await open(target, constants.O_WRONLY)).close();
    return { target, mode: found.mode };
  } catch (error) {
    // There is nothing yet, or not even a folder, which shows when the file is created.
    if (codeOf(error) === 'ENOENT') return { target };
    throw error instanceof DestinationError ? error : new DestinationError(describeSystemError(error));
  }
}

async function opened(opening: Promise<FileHandle>, path: string): Promise<FileHandle> {
  try {
    return await opening;
  } catch (error) {
    if (codeOf(error) === 'ENOENT')
      throw new DestinationError(`there is no folder ${dirname(path)} (ENOENT)`);
    throw new DestinationError(describeSystemError(error));
  }
}
