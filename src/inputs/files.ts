/** The files that inputs name: opened and looked at before anything is sent. */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, stat, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Context } from '../context.js';
import { resolvePath } from '../path.js';
import type { Source } from '../service/body.js';
import { describeSystemError } from '../system-error.js';
import { fileSource, handleSource } from './file-source.js';
import { createSpool } from './spool.js';

/** A file cannot be used as it is; the message names it and says why. */
export class FileError extends Error {}

/** Bytes that are read at once of a file that is only looked through. */
const CHUNK = 256 * 1024;

/** Text is kept in memory; what is larger should travel as a document. */
const MAX_TEXT = 64 * 1024 * 1024;

/** All bytes of a file, or of standard input for `-`. Throws FileError. */
export async function readBytes(path: string, base: string, context: Context): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const keep = (chunk: Buffer | string) => {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    chunks.push(bytes);
    size += bytes.length;
    if (size > MAX_TEXT) {
      throw new FileError(`${nameOf(path)} has more than 64 MiB; send it as a document, with name@path`);
    }
  };
  if (path === '-') {
    for await (const chunk of await standardInput(context)) keep(chunk);
  } else {
    const handle = await openFile(path, base, context);
    try {
      for await (const chunk of handle.createReadStream({ autoClose: false })) keep(chunk);
    } catch (error) {
      throw error instanceof FileError ? error : new FileError(`${path}: ${describeSystemError(error)}`);
    } finally {
      await handle.close();
    }
  }
  return Buffer.concat(chunks);
}

/**
 * A document's bytes, ready to be sent. What is not a regular file of known size (a pipe, standard input, /proc) is
 * first copied to a temporary file that has no name. Throws FileError.
 */
export async function openDocument(path: string, base: string, context: Context): Promise<Source> {
  if (path === '-') return spool(await standardInput(context), '-', context);
  const absolute = resolvePath(path, base, context);
  const handle = await openFile(path, base, context);
  try {
    const identity = await handle.stat({ bigint: true });
    // Files of /proc and the like say 0 until they are read.
    if (identity.isFile() && identity.size > 0n) return fileSource(absolute, path, identity);
    return await spool(handle.createReadStream({ autoClose: false }), path, context);
  } finally {
    await handle.close();
  }
}

/**
 * A file that can be read from the start as often as it is asked; what cannot (a pipe, standard input) is first copied
 * to a temporary file that has no name. Throws FileError.
 */
export async function openAgainAndAgain(
  path: string,
  context: Context,
): Promise<{ open(end?: number): Readable; close(): Promise<void> }> {
  const handle = path === '-' ? undefined : await openFile(path, context.cwd, context);
  const isRegular = handle !== undefined && (await handle.stat()).isFile();
  const kept = isRegular ? handle : await createSpool(context.tmpdir);
  if (!isRegular) {
    const from = handle?.createReadStream() ?? (await standardInput(context));
    await writeFile(kept, from as AsyncIterable<Uint8Array>);
  }
  return {
    open: (end) => Readable.from(readFromStart(kept, end), { objectMode: false }),
    close: () => kept.close(),
  };
}

/** A stream of the file's own would close the file when it is left early. */
async function* readFromStart(handle: FileHandle, end = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
  for (let position = 0; position < end; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Standard input; a person at a terminal is told that wfr waits for them. */
async function standardInput({ stdin, stderr }: Context): Promise<Context['stdin']> {
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
    throw new FileError(`${path}: ${describeSystemError(error)}`);
  }
}

async function spool(
  stream: AsyncIterable<Buffer | string>,
  path: string,
  context: Context,
): Promise<Source> {
  let handle: FileHandle | undefined;
  try {
    handle = await createSpool(context.tmpdir);
    await writeFile(handle, stream);
    const { size } = await handle.stat();
    return handleSource(handle, size, nameOf(path));
  } catch (error) {
    await handle?.close();
    throw new FileError(
      `${nameOf(path)} could not be copied to ${context.tmpdir}: ${describeSystemError(error)}`,
    );
  }
}

function nameOf(path: string): string {
  return path === '-' ? 'standard input' : path;
}
