/** Decodes gzip and deflate (RFC 9110, section 8.4): wfr requests no coding, but some servers send one anyway. */

type Coding = 'gzip' | 'deflate';

/** Bytes of each decoded chunk. Those of Node's default, 16 KiB, take three times as long. */
const CHUNK_SIZE = 64 * 1024;

/** Values that some servers send for a body without a coding. */
const NO_CODING = new Set(['', 'identity', 'none', 'binary', 'utf-8', 'utf8']);

export interface IncomingBody extends AsyncIterable<Buffer> {
  destroy(error?: Error): unknown;
}

/** Returns the coding in a Content-Encoding header, undefined without one, `unsupported` if wfr cannot decode it. */
export function parseCoding(header: string | undefined): Coding | 'unsupported' | undefined {
  const labels = (header ?? '').split(',').map((label) => label.trim().toLowerCase());
  const [first, ...others] = labels.filter((label) => !NO_CODING.has(label));
  if (first === undefined) return undefined;
  if (others.length > 0) return 'unsupported';
  if (first === 'gzip' || first === 'x-gzip') return 'gzip';
  return first === 'deflate' ? 'deflate' : 'unsupported';
}

/** Decodes a body while it arrives, so that the reader can stop at any size. Iteration throws the decoder's error. */
export function decodeBody(body: IncomingBody, coding: Coding): IncomingBody {
  return {
    [Symbol.asyncIterator]: () => decodedChunks(body, coding),
    destroy: (error) => body.destroy(error),
  };
}

async function* decodedChunks(body: IncomingBody, coding: Coding): AsyncGenerator<Buffer, void, void> {
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
