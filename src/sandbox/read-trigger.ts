/** Parses the JSON of a trigger as it is received, so that documents of any size need constant memory. */
import { MAX_HEAD_LENGTH, parseDataUriHead } from '../parameters/data-uri.js';
import { ByteStream } from './byte-stream.js';
import { DataUriReader } from './data-uri.js';
import { type ReceivedTrigger, type ReceivedValue, Rejection } from './received.js';

/** Limit of every value except documents. */
const MAX_VALUE_BYTES = 16 * 1024 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Parses the body of a trigger. Throws Rejection for a body that is not a JSON object. */
export async function readTrigger(chunks: AsyncIterable<Buffer>): Promise<ReceivedTrigger> {
  const bytes = new ByteStream(chunks);
  const fields = new Map<string, unknown>();
  let inputs: Map<string, ReceivedValue> | undefined;
  await readObject(bytes, 'The body', async (name) => {
    if (name !== 'inputs') {
      fields.set(name, JSON.parse((await readRawValue(bytes)).toString('utf8')));
      return;
    }
    const received = new Map<string, ReceivedValue>();
    inputs = received;
    await readObject(bytes, '"inputs"', async (key) => {
      received.set(key, await readInput(bytes));
    });
  }).catch((error) => {
    throw error instanceof SyntaxError ? new Rejection(400, `The body is not JSON: ${error.message}`) : error;
  });
  if ((await bytes.peekPastSpace()) !== undefined)
    throw new Rejection(400, 'Unexpected data after the JSON object.');
  return { fields, inputs };
}

async function readObject(
  bytes: ByteStream,
  subject: string,
  onMember: (name: string) => Promise<void>,
): Promise<void> {
  if ((await bytes.peekPastSpace()) !== 0x7b) throw new Rejection(400, `${subject} is not a JSON object.`);
  await bytes.take();
  const seen = new Set<string>();
  if ((await bytes.peekPastSpace()) === 0x7d) {
    await bytes.take();
    return;
  }
  for (;;) {
    if ((await bytes.peekPastSpace()) !== QUOTE)
      throw new Rejection(400, `${subject} has a member without a name.`);
    const name = JSON.parse((await readRawString(bytes)).toString('utf8')) as string;
    if (seen.has(name)) throw new Rejection(400, `${subject} has the member ${JSON.stringify(name)} twice.`);
    seen.add(name);
    await bytes.peekPastSpace();
    if ((await bytes.take()) !== 0x3a) throw new Rejection(400, `${subject} has a member without a value.`);
    await bytes.peekPastSpace();
    await onMember(name);
    await bytes.peekPastSpace();
    const next = await bytes.take();
    if (next === 0x7d) return;
    if (next !== 0x2c) throw new Rejection(400, `${subject} is not JSON: a comma or its end is missing.`);
  }
}

async function readInput(bytes: ByteStream): Promise<ReceivedValue> {
  if ((await bytes.peek()) === QUOTE) return readStringInput(bytes);
  return { type: 'other', value: JSON.parse((await readRawValue(bytes)).toString('utf8')) };
}

/** Reads a string; a data URI is decoded while it is received. */
async function readStringInput(bytes: ByteStream): Promise<ReceivedValue> {
  const pieces: Buffer[] = [];
  let length = 0;
  let reader: DataUriReader | undefined;
  await readStringPieces(bytes, (piece) => {
    if (reader !== undefined) return reader.add(unescapeJson(piece));
    pieces.push(piece);
    length += piece.length;
    if (length > MAX_VALUE_BYTES) throw new Rejection(413, 'A string is larger than 16 MiB.');
    // The head may arrive in several pieces; without one in this length it is a plain string.
    if (length - piece.length > MAX_HEAD_LENGTH) return;
    const text = unescapeJson(Buffer.concat(pieces));
    const head = parseDataUriHead(text);
    if (head === undefined) return;
    reader = new DataUriReader(head.mediaType, text.slice(0, head.length));
    reader.add(text.slice(head.length));
  });
  if (reader !== undefined) return (reader as DataUriReader).end();
  return { type: 'string', text: JSON.parse(`"${Buffer.concat(pieces).toString('utf8')}"`) as string };
}

/** Decodes a piece that contains only whole escapes. */
function unescapeJson(piece: Buffer): string {
  if (!piece.includes(BACKSLASH)) return piece.toString('latin1');
  return JSON.parse(`"${piece.toString('latin1')}"`) as string;
}

/** Passes the content of the string that begins here to `onPiece`, never splitting an escape. */
async function readStringPieces(bytes: ByteStream, onPiece: (piece: Buffer) => void): Promise<void> {
  await bytes.take();
  for (;;) {
    const piece = await bytes.takeUntil(QUOTE, BACKSLASH);
    if (piece.length > 0) onPiece(piece);
    const byte = await bytes.peek();
    if (byte === QUOTE) {
      await bytes.take();
      return;
    }
    if (byte === BACKSLASH) onPiece(await readEscape(bytes));
  }
}

async function readEscape(bytes: ByteStream): Promise<Buffer> {
  const sequence = [await bytes.take(), await bytes.take()];
  const digits = sequence[1] === 0x75 ? 4 : 0;
  for (let n = 0; n < digits; n++) sequence.push(await bytes.take());
  return Buffer.from(sequence);
}

async function readRawString(bytes: ByteStream): Promise<Buffer> {
  const pieces: Buffer[] = [Buffer.from('"')];
  let length = 0;
  await readStringPieces(bytes, (piece) => {
    length += piece.length;
    if (length > MAX_VALUE_BYTES) throw new Rejection(413, 'A string is larger than 16 MiB.');
    pieces.push(piece);
  });
  return Buffer.concat([...pieces, Buffer.from('"')]);
}

/** Reads the text of any value by balancing brackets; JSON.parse validates it. */
async function readRawValue(bytes: ByteStream): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  let depth = 0;
  for (;;) {
    const byte = await bytes.peek();
    const isEnd = byte === undefined || byte === 0x2c || byte === 0x7d || byte === 0x5d;
    if (depth === 0 && isEnd) return Buffer.concat(pieces);
    const piece = byte === QUOTE ? await readRawString(bytes) : await bytes.takeValuePiece();
    // Brackets are always pieces of their own.
    const last = piece.at(-1);
    if (byte !== QUOTE && (last === 0x7b || last === 0x5b)) depth++;
    if (byte !== QUOTE && (last === 0x7d || last === 0x5d)) depth--;
    length += piece.length;
    if (length > MAX_VALUE_BYTES) throw new Rejection(413, 'A value is larger than 16 MiB.');
    pieces.push(piece);
  }
}
