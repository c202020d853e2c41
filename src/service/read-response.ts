/** Reads the body of a response: all of a 2xx, and the start of any other. */
import { isUtf8 } from 'node:buffer';
import { NetworkError, WfrError } from '../errors.js';
import type { Clock } from '../platform/context.js';
import type { Limits } from '../platform/limits.js';
import { errorCode } from '../platform/system-error.js';
import { stripByteOrderMark } from '../text/utf8.js';
import type { Deadline } from './deadline.js';
import { decodeBody, type IncomingBody, parseCoding } from './decode-body.js';
import { ReceivedBytes } from './received-bytes.js';
import { requestIdOf } from './request-id.js';
import type { ResponsePlace } from './response-memory.js';

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
    const facts = { host, code: errorCode(error), status, received: partial, requestId };
    // The headers have arrived, so the error carries their status.
    if (error instanceof NetworkError)
      throw new NetworkError(error.fault, { ...facts, ...error.facts }, { cause: error });
    if (error instanceof WfrError || deadline.signal.aborted) throw error;
    throw new NetworkError(isDecodingError(error) ? 'encoded' : 'truncated', facts, { cause: error });
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
  const tooLarge = new NetworkError('too-large', { host, code: headers['content-length'] });
  const assertSize = (size: number) => {
    if (size > MAX_RESPONSE) throw tooLarge;
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
    if (valid.size + piece.length > MAX_RESPONSE) throw tooLarge;
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
async function readErrorBody(
  response: IncomingResponse,
  options: ReadOptions,
  deadline: Deadline,
): Promise<ReadBody> {
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
