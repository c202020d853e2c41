/** Content codings of answers (RFC 9110, section 8.4): wfr asks for none, and reads those that come all the same. */

type Coding = 'gzip' | 'deflate';

/** Labels that some servers use for a body without a coding. */
const NO_CODING = new Set(['', 'identity', 'none', 'binary', 'utf-8', 'utf8']);

export interface IncomingBody extends AsyncIterable<Buffer> {
  destroy(error?: Error): unknown;
}

/** The one coding that a Content-Encoding header names: undefined without one, `unsupported` where wfr cannot decode it. */
export function codingOf(header: string | undefined): Coding | 'unsupported' | undefined {
  const labels = (header ?? '').split(',').map((label) => label.trim().toLowerCase());
  const [first, ...others] = labels.filter((label) => !NO_CODING.has(label));
  if (first === undefined) return undefined;
  if (others.length > 0) return 'unsupported';
  if (first === 'gzip' || first === 'x-gzip') return 'gzip';
  return first === 'deflate' ? 'deflate' : 'unsupported';
}

/** Decodes a body as it arrives, so that its reader can stop at any size. Iterating throws the decoder's error. */
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
  // JSON with a label of a coding that nothing applied: no coding makes a first byte like this of an object.
  if (first.value[0] === 0x7b) return yield* all();
  // Loaded only here: no coding is asked for.
  const [zlib, { pipeline }] = await Promise.all([import('node:zlib'), import('node:stream')]);
  // Some servers leave out the wrapper that RFC 9110 (section 8.4.1.2) wants; its first byte names method 8.
  const isBare = ((first.value[0] ?? 0) & 0x0f) !== 8;
  const deflate = isBare ? zlib.createInflateRaw : zlib.createInflate;
  const decoder = coding === 'gzip' ? zlib.createGunzip() : deflate();
  pipeline(all, decoder, () => {});
  yield* decoder;
}
