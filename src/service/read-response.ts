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

/** Longest body of a 2xx, in bytes: 512 MiB. */
const MAX_RESPONSE = 512 * 1024 * 1024;
/** Most bytes that are read of any other body. */
const MAX_ERROR_BODY = 64 * 1024;
/** Most bytes that are kept of a 2xx that cannot be read to its end. */
const MAX_RECEIVED = 64 * 1024;
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
}

/** The part of a body that was read, in UTF-8 for a 2xx, which is always whole. */
export interface ReadBody {
  body: Uint8Array;
  isWhole: boolean;
}

/**
 * Reads and decodes the body. Throws NetworkError with the status and, of a 2xx, what was received, or the signal's reason.
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
    return { body: await readAll(response, received, options, deadline), isWhole: true };
  } catch (error) {
    const { host } = options;
    const body = received.start(MAX_RECEIVED);
    const facts = { host, code: errorCode(error), status, received: { status, headers, body } };
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
): Promise<Uint8Array> {
  const { host } = options;
  const encoding = headers['content-encoding'];
  const coding = parseCoding(encoding);
  if (coding === 'unsupported') throw new NetworkError('encoded', { host, code: encoding });
  const tooLarge = new NetworkError('too-large', { host, code: headers['content-length'] });
  if (Number(headers['content-length'] ?? 0) > MAX_RESPONSE) throw tooLarge;
  const add = (to: ReceivedBytes, chunk: Uint8Array) => {
    if (to.size + chunk.length > MAX_RESPONSE) throw tooLarge;
    to.add(chunk);
  };
  const decoded = coding === undefined ? body : decodeBody(body, coding);
  await forEachChunk(decoded, options, deadline, (chunk) => add(received, chunk));
  const bytes = stripByteOrderMark(received.take());
  if (isUtf8(bytes)) return bytes;
  // A replacement character is longer than the byte that it replaces.
  const valid = new ReceivedBytes(MAX_RESPONSE);
  for (const piece of replaceInvalidUtf8(bytes)) add(valid, piece);
  return valid.take();
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
  return { body: received.start(MAX_ERROR_BODY), isWhole };
}

async function forEachChunk(
  body: AsyncIterable<Buffer>,
  { host, limits }: ReadOptions,
  deadline: Deadline,
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  const timeoutError = () => new NetworkError('no-response', { host, after: limits.silence });
  const reading = (async () => {
    deadline.allow(limits.silence, timeoutError);
    for await (const chunk of body) {
      deadline.allow(limits.silence, timeoutError);
      onChunk(chunk);
    }
  })();
  await deadline.guard(reading);
}
