/** Digests of the files that rows name: before rows are sent, with those of earlier commands, and while they are sent. */
import { createHmac } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { FileChangedError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { blockBuffers, type Source } from '../service/body.js';
import { assertReadable, fileRules, type PathRules } from './boundary.js';
import { Compactor, DigestedSource } from './digest-inputs.js';
import { assertRegular, openDocument, readBytes, toFileError } from './files.js';

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

interface KnownFilesOptions {
  key: Uint8Array;
  context: Context;
  signal: AbortSignal;
  /** What earlier commands have recorded, by the digest of the path, with its time (ms since 1970). */
  known: ReadonlyMap<string, FileState & { time: number }>;
  record(path: string, state: FileState): void;
}

/** Digests files, unless an earlier command did and they have not changed since. */
export class KnownFiles {
  readonly #options: KnownFilesOptions;
  readonly #seen = new Map<string, string>();

  constructor(options: KnownFilesOptions) {
    this.#options = options;
  }

  /** Throws FileError, FileChangedError, FileReadError, and the reason of the signal. */
  readonly digest: DigestFile = async (path, rules, kind) => {
    const { key, context, signal, known } = this.#options;
    signal.throwIfAborted();
    const absolute = await assertReadable(path, rules, false, context);
    const place = hmac(key, `${kind} ${absolute}`);
    const seen = this.#seen.get(place);
    if (seen !== undefined) return seen;
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
    const digest = isKnown ? before.digest : await this.#read(path, rules, kind);
    if (!isKnown) this.#options.record(place, { ...file, digest });
    if (this.#seen.size < MAX_SEEN) this.#seen.set(place, digest);
    return digest;
  };

  async #read(path: string, rules: PathRules, kind: FileKind): Promise<string> {
    const { key, context, signal } = this.#options;
    if (kind !== 'document') return digestText(await readBytes(path, fileRules(rules), context), kind, key);
    const source = await openDocument(path, fileRules(rules), context);
    try {
      const digest = createHmac('sha256', key);
      for await (const block of source.blocks(blockBuffers(source.size))) {
        signal.throwIfAborted();
        digest.update(block);
      }
      await source.verify();
      return digest.digest('hex').slice(0, LENGTH);
    } finally {
      await source.close();
    }
  }
}

/** The digests of the files of one row, as they were read last. */
export class FilesOfRow {
  readonly #key: Uint8Array;
  /** By kind and path; a file that is named twice is read twice. */
  readonly #digests = new Map<string, (() => Promise<string>)[]>();

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  addText(absolute: string, kind: 'text' | 'json', bytes: Uint8Array): void {
    const digest = digestText(bytes, kind, this.#key);
    this.#add(absolute, kind, async () => digest);
  }

  /** Returns a source whose bytes are digested while they are sent. */
  addDocument(absolute: string, source: Source): Source {
    const digested = new DigestedSource(source, Buffer.from(this.#key));
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
