/** Digests of the files that rows name: before rows are sent, with those of earlier commands, and while they are sent. */

import { createHmac } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Context } from '../platform/context.js';
import { type BlockBuffers, blockBuffers, type Input, type Part, type Source } from '../service/body.js';
import { FileChangedError } from './file-source.js';
import {
  assertReadable,
  assertRegular,
  openDocument,
  type PathRules,
  readBytes,
  toFileError,
} from './files.js';

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
/** Files that are looked at once a command. */
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
 * Returns a function that digests files, unless an earlier command did and they have not changed since. It throws FileError,
 * FileChangedError, FileReadError, and the reason of the signal.
 */
export function fileDigester({ key, context, signal, known, record }: FileDigesterOptions): DigestFile {
  const seen = new Map<string, string>();
  const read: DigestFile = async (path, rules, kind) => {
    if (kind !== 'document') return digestText(await readBytes(path, rules, context), kind, key);
    const source = digestSource(await openDocument(path, rules, context), Buffer.from(key));
    try {
      return (await source.digest(signal)).slice(0, LENGTH);
    } finally {
      await source.close();
    }
  };
  return async (path, rules, kind) => {
    signal.throwIfAborted();
    const absolute = await assertReadable(path, rules, false, context);
    const place = hmac(key, `${kind} ${absolute}`);
    const earlier = seen.get(place);
    if (earlier !== undefined) return earlier;
    const stats = await stat(absolute, { bigint: true }).catch((error) => {
      throw toFileError(path, error);
    });
    if (!stats.isFile()) await assertRegular(absolute, path);
    const file = { size: Number(stats.size), ctime: `${stats.ctimeNs}`, ino: `${stats.ino}` };
    const before = known.get(place);
    const isKnown =
      before !== undefined &&
      before.size === file.size &&
      before.ctime === file.ctime &&
      before.ino === file.ino &&
      Number(stats.ctimeNs / 1_000_000n) < before.time - CLOCK_TICK;
    const digest = isKnown ? before.digest : await read(path, rules, kind);
    if (!isKnown) record(place, { ...file, digest });
    if (seen.size < MAX_SEEN) seen.set(place, digest);
    return digest;
  };
}

/** The digests of the files of one row, as they were read last. */
export class FilesOfRow {
  /** By kind and path; a file that is named twice is read twice. */
  readonly #digests = new Map<string, (() => Promise<string>)[]>();

  constructor(private readonly key: Uint8Array) {}

  addText(absolute: string, kind: 'text' | 'json', bytes: Uint8Array): void {
    const digest = digestText(bytes, kind, this.key);
    this.#add(absolute, kind, async () => digest);
  }

  /** Returns a source whose bytes are digested while they are sent. */
  addDocument(absolute: string, source: Source): Source {
    const digested = digestSource(source, Buffer.from(this.key));
    this.#add(absolute, 'document', async () => (await digested.digest()).slice(0, LENGTH));
    return digested;
  }

  /** Throws FileChangedError if the file was read as different ones. */
  async digestOf(absolute: string, kind: FileKind): Promise<string> {
    const digests = (this.#digests.get(`${kind} ${absolute}`) ?? []).map((digest) => digest());
    const [first, ...others] = await Promise.all(digests);
    if (first === undefined || others.some((other) => other !== first)) throw new FileChangedError(absolute);
    return first;
  }

  #add(absolute: string, kind: FileKind, digest: () => Promise<string>): void {
    const key = `${kind} ${absolute}`;
    this.#digests.set(key, [...(this.#digests.get(key) ?? []), digest]);
  }
}

function digestText(bytes: Uint8Array, kind: 'text' | 'json', key: Uint8Array): string {
  return hmac(key, kind === 'json' ? new Compactor().compact(bytes) : bytes);
}

function hmac(key: Uint8Array, content: string | Uint8Array): string {
  return createHmac('sha256', key).update(content).digest('hex').slice(0, LENGTH);
}

/** 64 hexadecimal digits for each input, by name. */
export type InputDigests = Readonly<Record<string, string>>;

/** Inputs whose documents are digested whenever they are read to their end, such as while they are sent. */
export class DigestedInputs {
  readonly inputs: readonly { name: string; parts: readonly (Uint8Array | DigestedSource)[] }[];
  readonly #key: Buffer;

  /** `salt` is hexadecimal: the key of the HMAC-SHA-256 (RFC 2104). */
  constructor(inputs: readonly Input[], salt: string) {
    const key = Buffer.from(salt, 'hex');
    const digested = (part: Part) => (part instanceof Uint8Array ? part : digestSource(part, key));
    this.#key = key;
    this.inputs = inputs.map(({ name, parts }) => ({ name, parts: parts.map(digested) }));
  }

  /**
   * Returns the digest of each input: of its JSON without insignificant white space, and of the bytes and the media type
   * of documents. Reads the documents that were not sent. Throws FileChangedError or FileReadError.
   */
  async digests(): Promise<InputDigests> {
    const entries: [string, string][] = [];
    for (const { name, parts } of this.inputs) entries.push([name, await this.#digest(parts)]);
    return Object.fromEntries(entries);
  }

  async #digest(parts: DigestedInputs['inputs'][number]['parts']): Promise<string> {
    const hmac = createHmac('sha256', this.#key);
    const compactor = new Compactor();
    for (const part of parts) {
      if (part instanceof Uint8Array) hmac.update(compactor.compact(part));
      // JSON text has no NUL, so that no string has the digest of a document.
      else hmac.update(`\0${await part.digest()}\0`);
    }
    return hmac.digest('hex');
  }
}

type DigestedSource = ReturnType<typeof digestSource>;

/** Returns a document that remembers the digest of its bytes. */
function digestSource(source: Source, key: Buffer) {
  let known: string | undefined;
  async function* blocks(buffers: BlockBuffers): AsyncGenerator<Uint8Array, void, void> {
    const hmac = createHmac('sha256', key);
    for await (const block of source.blocks(buffers)) {
      hmac.update(block);
      yield block;
    }
    known = hmac.digest('hex');
  }
  return {
    ...source,
    blocks,
    /** Returns the digest of the bytes as last read; reads them if that did not happen yet. */
    async digest(signal?: AbortSignal): Promise<string> {
      if (known === undefined) {
        for await (const _block of blocks(blockBuffers(source.size))) signal?.throwIfAborted();
        await source.verify();
      }
      return known ?? '';
    },
  };
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
