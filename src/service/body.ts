/**
 * The body of a trigger, as a stream: parts of known length add up to an exact Content-Length, documents go from disk
 * to socket as base64 in constant memory, and the closing bytes are held back until every document has been found
 * unchanged. Only with them can the service have a complete request.
 */
import type { SendState } from '../errors.js';

/** Bytes of known length that can be read several times, and checked afterwards. */
export interface Source {
  /** Bytes. */
  readonly size: number;
  /**
   * All bytes from the start, in blocks whose lengths are multiples of three but for the last. A block lies in one of
   * `buffers`, and may be overwritten once the next one is asked for. Throws FileChangedError or FileReadError.
   */
  blocks(buffers: BlockBuffers): AsyncGenerator<Uint8Array, void, void>;
  /** Throws FileChangedError if the bytes may no longer be those that `blocks` gave. */
  verify(): Promise<void>;
  /** Lets go of what it holds open. */
  close(): Promise<void>;
}

/** What blocks are read into, in turn: one is read while the other is being sent. */
export type BlockBuffers = readonly [Buffer, Buffer];

/** A multiple of three, so that base64 pads only at the end of a document. */
const BLOCK_SIZE = 1536 * 1024;

/** Buffers for documents that are read one after the other, none of them larger than `largest` bytes. */
export function blockBuffers(largest: number): BlockBuffers {
  const size = Math.min(BLOCK_SIZE, Math.ceil(largest / 3) * 3);
  return [Buffer.allocUnsafeSlow(size), Buffer.allocUnsafeSlow(largest > size ? size : 0)];
}

/** JSON text, or a document that stands in it as base64. */
export type Part = Uint8Array | Source;

/** One member of `inputs`: its name, and its value as JSON text in parts. */
export interface Input {
  name: string;
  parts: readonly Part[];
}

/** The members before `inputs`, and the inputs. */
export interface TriggerContent {
  fields: Readonly<Record<string, string>>;
  inputs: readonly Input[];
}

/**
 * The socket must have taken a buffer before it is filled again: it has, once the writer asks for the next chunk,
 * whenever a chunk is larger than the socket's high-water mark (64 KiB at most).
 */
const OUT_SIZE = 2 * 1024 * 1024;
/** Encoding is fastest while its string stays in V8's young generation. A multiple of three. */
const SLICE = 48 * 1024;

const encodedLength = (size: number) => Math.ceil(size / 3) * 4;

export class TriggerBody {
  /** Bytes. */
  readonly length: number;
  readonly #head: readonly Part[];
  readonly #end = Buffer.from('}}');
  readonly #sources: readonly Source[];
  #handedOver = 0;
  #sendState: SendState = 'unsent';

  constructor(content: TriggerContent) {
    this.#head = partsOf(content);
    this.#sources = this.#head.filter((part): part is Source => !(part instanceof Uint8Array));
    this.length = this.#head.reduce((sum, part) => sum + partLength(part), this.#end.length);
  }

  /** How much of this body has been handed to the socket. */
  get sendState(): SendState {
    return this.#sendState;
  }

  /** Bytes handed to the socket. */
  get bytesSent(): number {
    return this.#handedOver;
  }

  /**
   * The bytes, once. `beforeLastBytes` is called before the closing ones, and may throw to keep them back; `onSent` when the
   * socket has asked for what comes after them. Throws FileChangedError, FileReadError, and what `beforeLastBytes` throws.
   */
  async *chunks(hooks: {
    beforeLastBytes(): Promise<void>;
    onProgress(): void;
    onSent(): void;
  }): AsyncGenerator<Uint8Array, void, void> {
    this.#sendState = 'partial';
    for await (const chunk of packed(this.#head)) {
      this.#handedOver += chunk.length;
      yield chunk;
      hooks.onProgress();
    }
    for (const source of this.#sources) await source.verify();
    await hooks.beforeLastBytes();
    this.#sendState = 'complete';
    this.#handedOver += this.#end.length;
    yield this.#end;
    hooks.onSent();
  }
}

function partsOf({ fields, inputs }: TriggerContent): Part[] {
  const members = Object.entries(fields).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`,
  );
  const parts: Part[] = [Buffer.from(`{${members.join('')}"inputs":{`)];
  inputs.forEach((input, index) => {
    parts.push(Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(input.name)}:`), ...input.parts);
  });
  return parts;
}

function partLength(part: Part): number {
  return part instanceof Uint8Array ? part.length : encodedLength(part.size);
}

/** Copies and encodes the parts into one buffer, which is given out when it is full; only the last chunk is smaller. */
async function* packed(parts: readonly Part[]): AsyncGenerator<Uint8Array, void, void> {
  const total = parts.reduce((sum, part) => sum + partLength(part), 0);
  const out = Buffer.allocUnsafeSlow(Math.min(OUT_SIZE, total));
  const sizes = parts.map((part) => (part instanceof Uint8Array ? 0 : part.size));
  const buffers = blockBuffers(sizes.reduce((largest, size) => Math.max(largest, size), 0));
  let used = 0;
  for (const part of parts) {
    const encode = !(part instanceof Uint8Array);
    for await (const block of encode ? part.blocks(buffers) : [part]) {
      for (let from = 0; from < block.length; from += SLICE) {
        const slice = block.subarray(from, from + SLICE);
        const length = encode ? encodedLength(slice.length) : slice.length;
        if (used + length > out.length) {
          yield out.subarray(0, used);
          used = 0;
        }
        if (encode) out.write(asBuffer(slice).toString('base64'), used, 'latin1');
        else out.set(slice, used);
        used += length;
      }
    }
  }
  yield out.subarray(0, used);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
