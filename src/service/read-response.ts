/** The body of an answer: all of a 2xx, and of anything else as much as comes soon. */
import { isUtf8 } from 'node:buffer';
import { NetworkError, WfrError } from '../errors.js';
import type { Clock } from '../platform/context.js';
import type { Limits } from '../platform/limits.js';
import { errorCode } from '../platform/system-error.js';
import { stripByteOrderMark } from '../text/utf8.js';
import type { Deadline } from './deadline.js';
import { codingOf, decodeBody, type IncomingBody } from './decode-body.js';

/** The most of a 2xx's body that is read: 512 MiB. */
const MAX_RESPONSE = 512 * 1024 * 1024;
/** The most of any other body that is read. */
const MAX_ERROR_BODY = 64 * 1024;
/** The most that is kept of a 2xx that cannot be read to its end. */
const MAX_RECEIVED = 64 * 1024;

export interface IncomingResponse {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: IncomingBody;
}

/** What a reader needs to know: whose answer it is (`name:port`), and how long it may take. */
export interface Reader {
  host: string;
  clock: Clock;
  limits: Limits;
}

/** A body as far as it was read (of a 2xx, UTF-8); only that of a refusal may lack its end. */
export interface ReadBody {
  body: Uint8Array;
  isWhole: boolean;
}

/**
 * Reads the body, decoded. Throws NetworkError with the answer's status and, of a 2xx, what of it had been received; or
 * the signal's reason.
 */
export async function readResponse(
  answer: IncomingResponse,
  reader: Reader,
  deadline: Deadline,
): Promise<ReadBody> {
  const { status, headers } = answer;
  if (status < 200 || status > 299) return readErrorBody(answer, reader, deadline);
  const chunks: Buffer[] = [];
  try {
    return { body: await readAll(answer, chunks, reader, deadline), isWhole: true };
  } catch (error) {
    const { host } = reader;
    const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const body = Buffer.concat(chunks, Math.min(size, MAX_RECEIVED));
    const facts = { host, code: errorCode(error), status, received: { status, headers, body } };
    // Where the headers have come, the status is known, whatever becomes of the rest.
    if (error instanceof NetworkError)
      throw new NetworkError(error.fault, { ...facts, ...error.facts }, { cause: error });
    if (error instanceof WfrError || deadline.signal.aborted) throw error;
    throw new NetworkError(isDecodingError(error) ? 'encoded' : 'truncated', facts, { cause: error });
  }
}

/** Whether the decoder of node:zlib could not read a body; one that merely ends too early was truncated. */
function isDecodingError(error: unknown): boolean {
  const code = errorCode(error) ?? '';
  return code.startsWith('Z_') && code !== 'Z_BUF_ERROR';
}

async function readAll(
  { body, headers }: IncomingResponse,
  chunks: Buffer[],
  reader: Reader,
  deadline: Deadline,
): Promise<Uint8Array> {
  const { host } = reader;
  const encoding = headers['content-encoding'];
  const coding = codingOf(encoding);
  if (coding === 'unsupported') throw new NetworkError('encoded', { host, code: encoding });
  const tooLarge = new NetworkError('too-large', { host, code: headers['content-length'] });
  if (Number(headers['content-length'] ?? 0) > MAX_RESPONSE) throw tooLarge;
  let size = 0;
  const decoded = coding === undefined ? body : decodeBody(body, coding);
  await eachChunk(decoded, reader, deadline, (chunk) => {
    size += chunk.length;
    if (size > MAX_RESPONSE) throw tooLarge;
    chunks.push(chunk);
  });
  const bytes = stripByteOrderMark(Buffer.concat(chunks, size));
  // What is not UTF-8 becomes replacement characters, as it does in every JSON parser.
  return isUtf8(bytes) ? bytes : Buffer.from(bytes.toString('utf8'));
}

/** As much of a refusal's body as comes in a short time: the status counts, the words are welcome. */
async function readErrorBody(
  answer: IncomingResponse,
  reader: Reader,
  deadline: Deadline,
): Promise<ReadBody> {
  const coding = codingOf(answer.headers['content-encoding']);
  const { body } = answer;
  const isEncoded = coding === 'gzip' || coding === 'deflate';
  const chunks: Buffer[] = [];
  let size = 0;
  let isWhole = false;
  const enough = new Error('enough has been read');
  const stop = reader.clock.after(reader.limits.errorBody, () => body.destroy(enough));
  try {
    await eachChunk(isEncoded ? decodeBody(body, coding) : body, reader, deadline, (chunk) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_ERROR_BODY) throw enough;
    });
    isWhole = true;
  } catch {
    deadline.throwIfInterrupted();
  } finally {
    stop();
  }
  return { body: Buffer.concat(chunks).subarray(0, MAX_ERROR_BODY), isWhole };
}

async function eachChunk(
  body: AsyncIterable<Buffer>,
  { host, limits }: Reader,
  deadline: Deadline,
  take: (chunk: Buffer) => void,
): Promise<void> {
  const silent = () => new NetworkError('no-response', { host, after: limits.silence });
  const reading = (async () => {
    deadline.allow(limits.silence, silent);
    for await (const chunk of body) {
      deadline.allow(limits.silence, silent);
      take(chunk);
    }
  })();
  await deadline.guard(reading);
}
