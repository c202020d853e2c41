/** Digests of inputs, taken while they are sent: they tell whether two commands have the same inputs, and store no value. */
import { createHmac } from 'node:crypto';
import { type BlockBuffers, blockBuffers, type Input, type Part, type Source } from '../service/body.js';

/** 64 hexadecimal digits for each input, by name. */
export type InputDigests = Readonly<Record<string, string>>;

/** Inputs whose documents are digested whenever they are read to their end, such as while they are sent. */
export class DigestedInputs {
  readonly inputs: readonly Input[];
  readonly #key: Buffer;

  /** `salt` is hexadecimal: the key of the HMAC-SHA-256 (RFC 2104). */
  constructor(inputs: readonly Input[], salt: string) {
    const key = Buffer.from(salt, 'hex');
    const digested = (part: Part) => (part instanceof Uint8Array ? part : new DigestedSource(part, key));
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

  async #digest(parts: readonly Part[]): Promise<string> {
    const hmac = createHmac('sha256', this.#key);
    const compactor = new Compactor();
    for (const part of parts) {
      if (part instanceof Uint8Array) hmac.update(compactor.compact(part));
      // JSON text has no NUL, so that no string has the digest of a document.
      else if (part instanceof DigestedSource) hmac.update(`\0${await part.digest()}\0`);
    }
    return hmac.digest('hex');
  }
}

/** A document that remembers the digest of its bytes. */
export class DigestedSource implements Source {
  readonly #source: Source;
  readonly #key: Buffer;
  #digest: string | undefined;

  constructor(source: Source, key: Buffer) {
    this.#source = source;
    this.#key = key;
  }

  get size(): number {
    return this.#source.size;
  }

  async *blocks(buffers: BlockBuffers): AsyncGenerator<Uint8Array, void, void> {
    const hmac = createHmac('sha256', this.#key);
    for await (const block of this.#source.blocks(buffers)) {
      hmac.update(block);
      yield block;
    }
    this.#digest = hmac.digest('hex');
  }

  /** Returns the digest of the bytes as last read; reads them if that did not happen yet. */
  async digest(): Promise<string> {
    if (this.#digest === undefined) {
      for await (const _block of this.blocks(blockBuffers(this.size)));
      await this.verify();
    }
    return this.#digest ?? '';
  }

  verify(): Promise<void> {
    return this.#source.verify();
  }

  close(): Promise<void> {
    return this.#source.close();
  }
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
