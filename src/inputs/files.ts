/** The files that inputs name: opened and looked at before anything is sent. */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, stat, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { FileReadError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { describeSystemError, isResourceExhaustion } from '../platform/system-error.js';
import type { Source } from '../service/body.js';
import { createFileSource, createHandleSource } from './file-source.js';
import { createSpool } from './spool.js';

/** A file cannot be used as it is; the message names it and says why. */
export class FileError extends Error {}

/** What is wrong with a file; a FileReadError where it is not the file but this machine's resources. */
function toFileError(path: string, error: unknown, what = formatPath(path), hint = ''): Error {
  if (error instanceof Error && isResourceExhaustion(error))
    return new FileReadError(formatPath(path), error);
  return new FileError(`${what}: ${describeSystemError(error)}${hint}`);
}

/** Bytes that are read at once of a file that is only looked through. */
const CHUNK_SIZE = 256 * 1024;

/** Text is kept in memory; what is larger should travel as a document. */
const MAX_TEXT_SIZE = 64 * 1024 * 1024;

/** All bytes of a file, or of standard input for `-`. Throws FileError. */
export async function readBytes(path: string, base: string, context: Context): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const keep = (chunk: Buffer | string) => {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    chunks.push(bytes);
    size += bytes.length;
    if (size > MAX_TEXT_SIZE) {
      throw new FileError(`${formatPath(path)} has more than 64 MiB; send it as a document, with name@path`);
    }
  };
  const handle = path === '-' ? undefined : await openFile(path, base, context);
  try {
    const stream = handle?.createReadStream({ autoClose: false }) ?? (await openStdin(context));
    for await (const chunk of readChunks(stream, path)) keep(chunk);
  } finally {
    await handle?.close();
  }
  return Buffer.concat(chunks);
}

/**
 * A document's bytes, ready to be sent. What is not a regular file of known size (a pipe, standard input, /proc) is
 * first copied to a temporary file that has no name. Throws FileError.
 */
export async function openDocument(path: string, base: string, context: Context): Promise<Source> {
  if (path === '-') {
    const copy = await copyToTemporaryFile(await openStdin(context), '-', context);
    return createCopySource(copy, '-');
  }
  const absolute = resolvePath(path, base, context);
  const handle = await openFile(path, base, context);
  try {
    const identity = await handle.stat({ bigint: true });
    if (identity.isFile() && (await isSizeReal(handle, identity.size, path))) {
      return createFileSource(absolute, path, identity);
    }
    const copy = await copyToTemporaryFile(handle.createReadStream({ autoClose: false }), path, context);
    return await createCopySource(copy, path);
  } finally {
    await handle.close();
  }
}

/**
 * A file that can be read from the start as often as it is asked; what cannot (a pipe, standard input) is first copied
 * to a temporary file that has no name. Throws FileError.
 */
export async function openRereadable(
  path: string,
  context: Context,
): Promise<{ open(end?: number): Readable; close(): Promise<void> }> {
  const handle = path === '-' ? undefined : await openFile(path, context.cwd, context);
  const isRegular = handle !== undefined && (await handle.stat()).isFile();
  const kept = isRegular ? handle : await copyAndClose(handle, path, context);
  return {
    open: (end) => Readable.from(readFromStart(kept, path, end), { objectMode: false }),
    close: () => kept.close(),
  };
}

async function copyAndClose(handle: FileHandle | undefined, path: string, context: Context) {
  const stream = handle?.createReadStream({ autoClose: false }) ?? (await openStdin(context));
  return copyToTemporaryFile(stream, path, context).finally(() => handle?.close());
}

/** A stream of the file's own would close the file when it is left early. Throws FileError. */
async function* readFromStart(
  handle: FileHandle,
  path: string,
  end = Number.POSITIVE_INFINITY,
): AsyncGenerator<Buffer> {
  for (let position = 0; position < end; ) {
    const { bytesRead, buffer } = await handle
      .read(Buffer.allocUnsafe(CHUNK_SIZE), 0, CHUNK_SIZE, position)
      .catch((error) => {
        throw toFileError(path, error);
      });
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Whether a file ends where its size says: those of /proc say 0, and those of /sys 4096, whatever they hold. */
async function isSizeReal(handle: FileHandle, size: bigint, path: string): Promise<boolean> {
  if (size === 0n) return false;
  const last = await handle.read(Buffer.alloc(1), 0, 1, Number(size) - 1).catch((error) => {
    throw toFileError(path, error);
  });
  return last.bytesRead === 1;
}

/** Standard input; a person at a terminal is told that wfr waits for them. */
async function openStdin({ stdin, stderr }: Context): Promise<Context['stdin']> {
  if (stdin.isTTY === true)
    await stderr.write('wfr: reading from the terminal; Ctrl-D at the start of a line ends it\n');
  return stdin;
}

async function openFile(path: string, base: string, context: Context): Promise<FileHandle> {
  const absolute = resolvePath(path, base, context);
  try {
    const found: Stats = await stat(absolute);
    if (found.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
    return await open(absolute, constants.O_RDONLY);
  } catch (error) {
    throw toFileError(path, error);
  }
}

/** The chunks of a stream. Throws FileError where it cannot be read on. */
async function* readChunks(stream: AsyncIterable<Buffer | string>, path: string) {
  try {
    yield* stream;
  } catch (error) {
    throw toFileError(path, error);
  }
}

/** A temporary file with all that a stream gives. Throws FileError. */
async function copyToTemporaryFile(
  stream: AsyncIterable<Buffer | string>,
  path: string,
  { tmpdir }: Context,
): Promise<FileHandle> {
  let copy: FileHandle | undefined;
  try {
    copy = await createSpool(tmpdir);
    await writeFile(copy, readChunks(stream, path));
    return copy;
  } catch (error) {
    await copy?.close();
    if (error instanceof FileError || error instanceof FileReadError) throw error;
    const hint = 'TMPDIR can name another folder';
    throw toFileError(path, error, `${formatPath(path)} could not be copied to ${tmpdir}`, `; ${hint}`);
  }
}

async function createCopySource(copy: FileHandle, path: string): Promise<Source> {
  const { size } = await copy.stat();
  return createHandleSource(copy, size, formatPath(path));
}

function formatPath(path: string): string {
  return path === '-' ? 'standard input' : path;
}
