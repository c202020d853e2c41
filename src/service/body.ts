/**
 * Streams the body of a trigger: its exact Content-Length is known in advance, documents are encoded as base64 in
 * constant memory, and the closing bytes are sent only after every document was found unchanged. Until then, the service
 * cannot have a complete request.
 */
import type { Hash, Hmac } from 'node:crypto';
import { bufferOf } from '../text/utf8.js';
import type { SendState } from './errors.js';

/** Bytes of known length that can be read repeatedly and then verified. */
export interface Source {
  /** In bytes. */
  readonly size: number;
  /**
   * Yields all bytes from the start, in blocks whose length is a multiple of three, except the last. A block is part of
   * `buffer`, and valid until the next one is requested. Throws FileChangedError or FileReadError.
   */
  blocks(buffer: Buffer): AsyncGenerator<Uint8Array, void, void>;
  /** Throws FileChangedError if the bytes may have changed since `blocks` read them. */
  verify(): Promise<void>;
  close(): Promise<void>;
}

/** A multiple of three, so that base64 pads only at the end of a document. */
const BLOCK_SIZE = 1536 * 1024;

/** Allocates a buffer for the blocks of documents of at most `most` bytes that are read one after the other. */
function blockBuffer(most: number): Buffer {
  return Buffer.allocUnsafeSlow(Math.min(BLOCK_SIZE, Math.ceil(most / 3) * 3));
}

/** Returns the digest of a document, hexadecimal. Throws as `blocks` and `verify`, and the reason of the signal. */
export async function digestSource(source: Source, hash: Hash | Hmac, signal: AbortSignal): Promise<string> {
  for await (const block of source.blocks(blockBuffer(source.size))) {
    signal.throwIfAborted();
    hash.update(block);
  }
  await source.verify();
  return hash.digest('hex');
}

/** JSON text, or a document to be embedded in it as base64. */
export type Part = Uint8Array | Source;

/** One member of `inputs`: its name, and its value as JSON text in parts. */
export interface Input {
  name: string;
  parts: readonly Part[];
  /** What else it may have to be, where the service rejects it. */
  hint?: string | undefined;
}

/**
 * Size of the reused output buffer. Larger than the socket's high-water mark (64 KiB at most), so that the socket has
 * written a chunk before the next one is requested.
 */
const OUT_SIZE = 2 * 1024 * 1024;
/** Encoding is fastest while the string fits V8's young generation. A multiple of three. */
const SLICE = 48 * 1024;

const encodedLength = (size: number) => Math.ceil(size / 3) * 4;

export interface BodyHooks {
  /** Called before the closing bytes are sent; throws to withhold them. */
  beforeLastBytes(): Promise<void>;
  onProgress(): void;
  /** Called when the whole body has been handed to the socket. */
  onSent(): void;
}

export type TriggerBody = ReturnType<typeof createTriggerBody>;

/** Returns the body of a trigger; `fields` are its members before `inputs`, one at least. */
export function createTriggerBody(fields: Readonly<Record<string, string>>, inputs: readonly Input[]) {
  const head = buildParts(fields, inputs);
  const last = Buffer.from('}}');
  const sources = head.filter((part): part is Source => !(part instanceof Uint8Array));
  const body = {
    /** In bytes. */
    length: head.reduce(
      (sum, part) => sum + (part instanceof Uint8Array ? part.length : encodedLength(part.size)),
      last.length,
    ),
    /** Whether it has documents, which are larger in it than their files. */
    hasDocuments: sources.length > 0,
    /** How many bytes, and how much of this body, have been handed to the socket. */
    bytesSent: 0,
    sendState: 'unsent' as SendState,

    /**
     * Yields the bytes; can be read only once. Throws FileChangedError, FileReadError, and what `beforeLastBytes` throws.
     */
    async *chunks(hooks: BodyHooks): AsyncGenerator<Uint8Array, void, void> {
      body.sendState = 'partial';
      for await (const chunk of packChunks(head, body.length)) {
        body.bytesSent += chunk.length;
        yield chunk;
        hooks.onProgress();
      }
      for (const source of sources) await source.verify();
      await hooks.beforeLastBytes();
      body.sendState = 'complete';
      body.bytesSent += last.length;
      yield last;
      hooks.onSent();
    },
  };
  return body;
}

/** Returns the parts of the body, without the braces that end it. */
export function buildParts(fields: Readonly<Record<string, string>>, inputs: readonly Input[]): Part[] {
  const values = inputs.flatMap(({ name, parts }, index) => [
    Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(name)}:`),
    ...parts,
  ]);
  return [Buffer.from(`${JSON.stringify(fields).slice(0, -1)},"inputs":{`), ...values];
}

/**
 * Copies and encodes the parts into one reused buffer, and yields it when the next slice does not fit. They have at most `total`
 * bytes.
 */
async function* packChunks(parts: readonly Part[], total: number): AsyncGenerator<Uint8Array, void, void> {
  const out = Buffer.allocUnsafeSlow(Math.min(OUT_SIZE, total));
  const buffer = blockBuffer(total);
  let used = 0;
  for (const part of parts) {
    const isSource = !(part instanceof Uint8Array);
    for await (const block of isSource ? part.blocks(buffer) : [part]) {
      for (let from = 0; from < block.length; from += SLICE) {
        const slice = block.subarray(from, from + SLICE);
        const length = isSource ? encodedLength(slice.length) : slice.length;
        if (used + length > out.length) {
          yield out.subarray(0, used);
          used = 0;
        }
        if (isSource) out.write(bufferOf(slice).toString('base64'), used, 'latin1');
        else out.set(slice, used);
        used += length;
      }
    }
  }
  yield out.subarray(0, used);
}
