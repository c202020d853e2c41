/** Reads the body of a response: all of a 2xx, and the start of any other. */

import { isUtf8 } from 'node:buffer';
import { WfrError } from '../errors.js';
import type { Clock, Limits } from '../platform/context.js';
import { errorCode } from '../platform/system-error.js';
import { stripByteOrderMark } from '../text/utf8.js';
import { NetworkError } from './errors.js';
import { requestIdOf } from './response-facts.js';
import type { ResponsePlace } from './response-memory.js';
import type { Deadline } from './time-limits.js';

/** Longest body of a 2xx, in bytes: 512 MiB. */
const MAX_RESPONSE = 512 * 1024 * 1024;
/** Most bytes that are read of any other body. */
const MAX_ERROR_BODY = 64 * 1024;
/** Most bytes that are kept of a 2xx that cannot be read to its end. */
const MAX_RECEIVED = 64 * 1024;
/** Bytes per millisecond of the slowest response to a trigger. */
const MIN_RATE = 64;
const DECODED_PIECE = 64 * 1024;

export interface IncomingResponse {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: IncomingBody;
}

/** `host` is `name:port`. */
export interface ReadOptions {
  host: string;
  clock: Clock;
  limits: Limits;
  /** When the response must have ended (ms of the clock), beyond the time that its bytes need at 64 kB/s. */
  endBy: number | undefined;
  /** Where a 2xx waits to be printed; undefined for one that need not wait. */
  place: ResponsePlace | undefined;
}

/** The part of a body that was read, in UTF-8 for a 2xx, which is always whole. */
export interface ReadBody {
  body: Uint8Array;
  isWhole: boolean;
  /** Whether bytes of a 2xx that are not UTF-8 were replaced. */
  isRepaired: boolean;
}

/**
 * Reads and decodes the body. Throws NetworkError with the status and, of a 2xx, what was received, NoRoomError,
 * or the signal's reason.
 */
export async function readResponse(
  response: IncomingResponse,
  options: ReadOptions,
  deadline: Deadline,
): Promise<ReadBody> {
  const { status, headers } = response;
  if (status < 200 || status > 299) return readErrorBody(response, options, deadline);
  const received = new ReceivedBytes(MAX_RESPONSE, expectedLength(headers));
  try {
    return { ...(await readAll(response, received, options, deadline)), isWhole: true };
  } catch (error) {
    const { host } = options;
    const body = received.start(MAX_RECEIVED);
    const partial = { status, headers, body };
    const requestId = requestIdOf(partial);
    const details = { host, code: errorCode(error), status, received: partial, requestId };
    // The headers have arrived, so the error carries their status.
    if (error instanceof NetworkError)
      throw new NetworkError(error.fault, { ...details, ...error.details }, { cause: error });
    if (error instanceof WfrError || deadline.signal.aborted) throw error;
    throw new NetworkError(isDecodingError(error) ? 'encoded' : 'truncated', details, { cause: error });
  }
}

/** Returns whether node:zlib found the body invalid; one that only ends too early was truncated. */
function isDecodingError(error: unknown): boolean {
  const code = errorCode(error) ?? '';
  return code.startsWith('Z_') && code !== 'Z_BUF_ERROR';
}

async function readAll(
  { body, headers }: IncomingResponse,
  received: ReceivedBytes,
  options: ReadOptions,
  deadline: Deadline,
): Promise<Omit<ReadBody, 'isWhole'>> {
  const { host } = options;
  const encoding = headers['content-encoding'];
  const coding = parseCoding(encoding);
  if (coding === 'unsupported') throw new NetworkError('encoded', { host, code: encoding });
  const length = headers['content-length'];
  const tooLarge = () => new NetworkError('too-large', { host, code: length && `${length} bytes` });
  const assertSize = (size: number) => {
    if (size > MAX_RESPONSE) throw tooLarge();
    options.place?.assertRoomFor(size);
  };
  assertSize(Number(headers['content-length'] ?? 0));
  const decoded = coding === undefined ? body : decodeBody(body, coding);
  await forEachChunk(decoded, options, deadline, (chunk) => {
    assertSize(received.size + chunk.length);
    received.add(chunk);
  });
  const bytes = stripByteOrderMark(received.take());
  if (isUtf8(bytes)) return { body: bytes, isRepaired: false };
  // A replacement character is longer than the byte that it replaces.
  const valid = new ReceivedBytes(MAX_RESPONSE);
  for (const piece of replaceInvalidUtf8(bytes)) {
    if (valid.size + piece.length > MAX_RESPONSE) throw tooLarge();
    valid.add(piece);
  }
  return { body: valid.take(), isRepaired: true };
}

/** Returns the Content-Length of a body that is not coded; 0 without one, or if it is too large. */
function expectedLength(headers: IncomingResponse['headers']): number {
  const length = Number(headers['content-length'] ?? 0);
  const isCoded = parseCoding(headers['content-encoding']) !== undefined;
  return length <= MAX_RESPONSE && !isCoded ? length : 0;
}

/** Decodes invalid UTF-8 with replacement characters, as every JSON parser does, in pieces that fit on the heap. */
function* replaceInvalidUtf8(bytes: Uint8Array): Generator<Uint8Array, void, void> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  for (let from = 0; from < bytes.length; from += DECODED_PIECE) {
    const piece = bytes.subarray(from, from + DECODED_PIECE);
    yield Buffer.from(decoder.decode(piece, { stream: from + DECODED_PIECE < bytes.length }));
  }
}

/** Reads what arrives of an error's body in a short time: the status matters, its message is a bonus. */
async function readErrorBody(response: IncomingResponse, options: ReadOptions, deadline: Deadline) {
  const coding = parseCoding(response.headers['content-encoding']);
  const { body } = response;
  const isEncoded = coding === 'gzip' || coding === 'deflate';
  const received = new ReceivedBytes(MAX_RESPONSE);
  let isWhole = false;
  const stopReading = new Error('enough has been read');
  const cancel = options.clock.after(options.limits.errorBody, () => body.destroy(stopReading));
  try {
    await forEachChunk(isEncoded ? decodeBody(body, coding) : body, options, deadline, (chunk) => {
      received.add(chunk);
      if (received.size > MAX_ERROR_BODY) throw stopReading;
    });
    isWhole = true;
  } catch {
    deadline.throwIfInterrupted();
  } finally {
    cancel();
  }
  return { body: received.start(MAX_ERROR_BODY), isWhole, isRepaired: false };
}

async function forEachChunk(
  body: AsyncIterable<Buffer>,
  { host, limits, clock, endBy = Number.POSITIVE_INFINITY }: ReadOptions,
  deadline: Deadline,
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  let size = 0;
  const restart = () => {
    const left = endBy + size / MIN_RATE - clock.monotonic();
    if (left > limits.silence)
      deadline.allow(limits.silence, () => new NetworkError('no-response', { host, after: limits.silence }));
    else deadline.allow(left, () => new NetworkError('unfinished', { host, after: limits.response }));
  };
  const reading = (async () => {
    restart();
    for await (const chunk of body) {
      size += chunk.length;
      restart();
      onChunk(chunk);
    }
  })();
  await deadline.guard(reading);
}

type Coding = 'gzip' | 'deflate';

/** Bytes of each decoded chunk. Those of Node's default, 16 KiB, take three times as long. */
const CHUNK_SIZE = 64 * 1024;

/** Values that some servers send for a body without a coding. */
const NO_CODING = new Set(['', 'identity', 'none', 'binary', 'utf-8', 'utf8']);

interface IncomingBody extends AsyncIterable<Buffer> {
  destroy(error?: Error): unknown;
}

/** Returns the coding in a Content-Encoding header, undefined without one, `unsupported` if wfr cannot decode it. */
function parseCoding(header: string | undefined): Coding | 'unsupported' | undefined {
  const labels = (header ?? '').split(',').map((label) => label.trim().toLowerCase());
  const [first, ...others] = labels.filter((label) => !NO_CODING.has(label));
  if (first === undefined) return undefined;
  if (others.length > 0) return 'unsupported';
  if (first === 'gzip' || first === 'x-gzip') return 'gzip';
  return first === 'deflate' ? 'deflate' : 'unsupported';
}

/** Decodes a body while it arrives, so that the reader can stop at any size. Throws the decoder's error. */
async function* decodeBody(body: IncomingBody, coding: Coding): AsyncGenerator<Buffer, void, void> {
  const encoded = body[Symbol.asyncIterator]();
  const first = await encoded.next();
  if (first.done === true) return;
  const all = async function* () {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => encoded };
  };
  // `{`: plain JSON in spite of the header. No coded body begins with this byte.
  if (first.value[0] === 0x7b) return yield* all();
  // Loaded on demand, because no coding is requested.
  const [zlib, { pipeline }] = await Promise.all([import('node:zlib'), import('node:stream')]);
  // Some servers omit the zlib wrapper (RFC 9110, section 8.4.1.2), whose first byte names method 8.
  const isBare = ((first.value[0] ?? 0) & 0x0f) !== 8;
  const inflate = isBare ? zlib.createInflateRaw : zlib.createInflate;
  const createDecoder = coding === 'gzip' ? zlib.createGunzip : inflate;
  const decoder = createDecoder({ chunkSize: CHUNK_SIZE });
  pipeline(all, decoder, () => {});
  yield* decoder;
}

/** From this size on, a buffer of unknown length grows in place: copied to a larger one, the bytes would be held twice. */
const LARGE = 8 * 1024 * 1024;

class ReceivedBytes {
  #bytes: Uint8Array;
  #size = 0;

  /** `max` is the most bytes that are added; `expected` how many are, if that is known. */
  constructor(
    private readonly max: number,
    expected = 0,
  ) {
    this.#bytes = Buffer.allocUnsafeSlow(expected);
  }

  /** In bytes. */
  get size(): number {
    return this.#size;
  }

  add(chunk: Uint8Array): void {
    const size = this.#size + chunk.length;
    if (size > this.#bytes.length) this.#grow(Math.min(size + Math.min(size, LARGE), this.max));
    this.#bytes.set(chunk, this.#size);
    this.#size = size;
  }

  /** Returns a copy of the first bytes. */
  start(length: number): Buffer {
    return Buffer.from(this.#bytes.subarray(0, Math.min(length, this.#size)));
  }

  /** Returns all bytes, and lets go of them. */
  take(): Buffer {
    const { buffer } = this.#bytes;
    const isResizable = buffer instanceof ArrayBuffer && buffer.resizable;
    const taken = isResizable ? this.#move(buffer) : Buffer.from(buffer, 0, this.#size);
    this.#bytes = Buffer.alloc(0);
    return taken;
  }

  #grow(length: number): void {
    const { buffer } = this.#bytes;
    if (buffer instanceof ArrayBuffer && buffer.resizable) return buffer.resize(length);
    const received = this.#bytes.subarray(0, this.#size);
    this.#bytes =
      length < LARGE
        ? Buffer.allocUnsafeSlow(length)
        : new Uint8Array(new ArrayBuffer(length, { maxByteLength: this.max }));
    this.#bytes.set(received);
  }

  /** Moves the bytes to a buffer of a fixed length, which is faster to read, from the end on, so that none is held twice. */
  #move(buffer: ArrayBuffer): Buffer {
    const moved = Buffer.allocUnsafeSlow(this.#size);
    for (let end = this.#size; end > 0; buffer.resize(end)) {
      const start = Math.max(0, end - LARGE);
      moved.set(new Uint8Array(buffer, start, end - start), start);
      end = start;
    }
    return moved;
  }
}
