/** Digests of inputs, and of the files that rows name, which are compared with those of earlier commands. */
import { createHmac } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Context } from '../platform/context.js';
import { blockBuffers, type Input, type Source } from '../service/body.js';
import { assertReadable, openDocument, type PathRules, readBytes, toFileError } from './files.js';

/** What a file is read as; of JSON, white space counts for nothing. */
export type FileKind = 'document' | 'text' | 'json';

/** Returns the digest of a file, 32 hexadecimal digits. */
export type DigestFile = (path: string, rules: PathRules, kind: FileKind) => Promise<string>;

/** What a file was like when its digest was taken. */
export interface FileState {
  size: number;
  /** Nanoseconds since 1970. */
  ctime: string;
  ino: string;
  /** 32 hexadecimal digits. */
  digest: string;
}

/** Hexadecimal digits of a digest: 128 bits. */
const LENGTH = 32;
/** A file that changed so shortly before its digest was recorded may have changed again within the same tick of its clock (ms). */
const CLOCK_TICK = 2_000;
/** Files whose state is kept for one command. */
const MAX_SEEN = 10_000;

interface FileDigesterOptions {
  key: Uint8Array;
  context: Context;
  signal: AbortSignal;
  /** What earlier commands have recorded, by the digest of the path, with its time (ms since 1970). */
  known: ReadonlyMap<string, FileState & { time: number }>;
  record(path: string, state: FileState): void;
}

/**
 * Returns a function that digests files, unless it did before, in this command or an earlier one, and they have not changed
 * since. It throws FileError, FileChangedError, FileReadError, and the reason of the signal.
 */
export function fileDigester({ key, context, signal, known, record }: FileDigesterOptions): DigestFile {
  const seen = new Map<string, FileState>();
  const read: DigestFile = async (path, rules, kind) => {
    if (kind === 'document') {
      const source = await openDocument(path, rules, context);
      const digest = digestSource(source, key, signal).finally(() => source.close());
      return (await digest).slice(0, LENGTH);
    }
    const bytes = await readBytes(path, rules, context);
    return hmac(key, kind === 'json' ? new Compactor().compact(bytes) : bytes);
  };
  return async (path, rules, kind) => {
    signal.throwIfAborted();
    const absolute = await assertReadable(path, rules, true, context);
    const place = hmac(key, `${kind} ${absolute}`);
    const stats = await stat(absolute, { bigint: true }).catch((error) => {
      throw toFileError(path, error);
    });
    const file = { size: Number(stats.size), ctime: `${stats.ctimeNs}`, ino: `${stats.ino}` };
    const isSame = (other: FileState) =>
      other.size === file.size && other.ctime === file.ctime && other.ino === file.ino;
    const earlier = seen.get(place);
    if (earlier !== undefined && isSame(earlier)) return earlier.digest;
    const before = known.get(place);
    const isKnown =
      before !== undefined && isSame(before) && Number(stats.ctimeNs / 1_000_000n) < before.time - CLOCK_TICK;
    const digest = isKnown ? before.digest : await read(path, rules, kind);
    if (!isKnown) record(place, { ...file, digest });
    if (seen.size < MAX_SEEN) seen.set(place, { ...file, digest });
    return digest;
  };
}

function hmac(key: Uint8Array, content: string | Uint8Array): string {
  return createHmac('sha256', key).update(content).digest('hex').slice(0, LENGTH);
}

/** Reads a document. Throws FileChangedError, FileReadError, and the reason of the signal. */
async function digestSource(source: Source, key: Uint8Array, signal: AbortSignal): Promise<string> {
  const hmac = createHmac('sha256', key);
  for await (const block of source.blocks(blockBuffers(source.size))) {
    signal.throwIfAborted();
    hmac.update(block);
  }
  await source.verify();
  return hmac.digest('hex');
}

/** 64 hexadecimal digits for each input, by name. */
export type InputDigests = Readonly<Record<string, string>>;

/**
 * Returns the digest of each input: of its JSON without insignificant white space, and of the bytes and the media type of
 * documents, which are read. `salt` is hexadecimal: the key of the HMAC-SHA-256 (RFC 2104). Throws FileChangedError,
 * FileReadError, and the reason of the signal.
 */
export async function digestInputs(
  inputs: readonly Input[],
  salt: string,
  signal: AbortSignal,
): Promise<InputDigests> {
  const key = Buffer.from(salt, 'hex');
  const digests: [string, string][] = [];
  for (const { name, parts } of inputs) {
    const hmac = createHmac('sha256', key);
    const compactor = new Compactor();
    for (const part of parts) {
      if (part instanceof Uint8Array) hmac.update(compactor.compact(part));
      // JSON text has no NUL, so that no string has the digest of a document.
      else hmac.update(`\0${await digestSource(part, key, signal)}\0`);
    }
    digests.push([name, hmac.digest('hex')]);
  }
  return Object.fromEntries(digests);
}

const WHITE_SPACE: readonly number[] = [0x20, 0x09, 0x0a, 0x0d];
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Removes white space outside of strings from valid JSON, which may come in several parts. */
export class Compactor {
  #isInString = false;
  #isEscaped = false;

  compact(bytes: Uint8Array): Uint8Array {
    return bytes.filter((byte) => {
      if (!this.#isInString) {
        this.#isInString = byte === QUOTE;
        return !WHITE_SPACE.includes(byte);
      }
      if (byte === QUOTE && !this.#isEscaped) this.#isInString = false;
      this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
      return true;
    });
  }
}
