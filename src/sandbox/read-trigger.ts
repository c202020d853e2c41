/** Parses the JSON of a trigger. */
import { createHash } from 'node:crypto';
import { isBase64, parseDataUriHead } from '../parameters/check-inputs.js';
import { type Member, parseMembers } from '../text/json/members.js';
import { JsonSyntaxError } from '../text/json/scanner.js';

const MIB = 1024 * 1024;
/** The largest request, which is in memory as a whole. */
const MAX_BODY_BYTES = 256 * MIB;
/** Characters of a data URI that an output can return: the documents of all runs stay in memory. */
export const MAX_RETURNED = 16 * MIB;

/** Parses the body of a trigger. Throws Rejection for a body that is not a JSON object, or too large. */
export async function readTrigger(chunks: AsyncIterable<Buffer>): Promise<ReceivedTrigger> {
  const fields = new Map<string, unknown>();
  let inputs: Map<string, ReceivedValue> | undefined;
  for (const { name, value } of membersOf(await readBody(chunks), 'The body')) {
    if (name !== 'inputs') fields.set(name, parseJson(value));
    else inputs = new Map(membersOf(value, '"inputs"').map((input) => [input.name, receive(input.value)]));
  }
  return { fields, inputs };
}

async function readBody(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const received: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES)
      throw new Rejection(413, `The sandbox takes requests of at most ${MAX_BODY_BYTES / MIB} MiB.`);
    received.push(chunk);
  }
  return Buffer.concat(received);
}

/** Returns the members of an object. Throws Rejection for any other text, and for a name that occurs twice. */
function membersOf(json: Uint8Array, subject: string): Member[] {
  const members = parse(json);
  if (members === undefined) throw new Rejection(400, `${subject} is not a JSON object.`);
  const seen = new Set<string>();
  for (const { name } of members) {
    if (seen.has(name)) throw new Rejection(400, `${subject} has the member ${JSON.stringify(name)} twice.`);
    seen.add(name);
  }
  return members;
}

function parse(json: Uint8Array): Member[] | undefined {
  try {
    return parseMembers(json);
  } catch (error) {
    throw error instanceof JsonSyntaxError
      ? new Rejection(400, `The body is not JSON: ${error.message}.`)
      : error;
  }
}

function parseJson(json: Uint8Array): unknown {
  return JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8'));
}

function receive(json: Uint8Array): ReceivedValue {
  const value = parseJson(json);
  if (typeof value !== 'string') return { type: 'other', value };
  const head = parseDataUriHead(value);
  return head === undefined ? { type: 'string', text: value } : receiveDocument(value, head);
}

/** Decodes the base64 of a data URI (RFC 4648, section 4). */
function receiveDocument(
  uri: string,
  { length, mediaType }: { length: number; mediaType: string },
): ReceivedValue {
  const base64 = uri.slice(length);
  if (!isBase64(base64))
    return { type: 'malformed-data-uri', problem: 'it contains characters that are not base64' };
  if (base64.length % 4 !== 0)
    return { type: 'malformed-data-uri', problem: 'the length of its base64 is not a multiple of four' };
  const bytes = Buffer.from(base64, 'base64');
  const document = {
    mediaType,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
  return { type: 'data-uri', document, uri: uri.length > MAX_RETURNED ? undefined : uri };
}

/** A trigger after parsing, and the error that rejects a request. */
export interface ReceivedDocument {
  mediaType: string;
  /** Size of the decoded document. */
  bytes: number;
  /** Digest of the decoded document, in hexadecimal. */
  sha256: string;
}

/** A document that an output returns as it was received: in JSON, it is its data URI. */
export class ReturnedDocument implements ReceivedDocument {
  readonly mediaType: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly #uri: string;

  constructor({ mediaType, bytes, sha256 }: ReceivedDocument, uri: string) {
    this.mediaType = mediaType;
    this.bytes = bytes;
    this.sha256 = sha256;
    this.#uri = uri;
  }

  toJSON(): string {
    return this.#uri;
  }
}

export type ReceivedValue =
  | { type: 'string'; text: string }
  /** `uri` is undefined for a document that is too large to be returned. */
  | { type: 'data-uri'; document: ReceivedDocument; uri: string | undefined }
  | { type: 'malformed-data-uri'; problem: string }
  | { type: 'other'; value: unknown };

export interface ReceivedTrigger {
  /** The members except `inputs`, in order. */
  fields: Map<string, unknown>;
  /** Undefined if the member is missing. */
  inputs: Map<string, ReceivedValue> | undefined;
}

/** The values of inputs by name; a document is a ReceivedDocument, and an optional parameter without an input is null. */
export type InputValues = ReadonlyMap<string, unknown>;

/** Rejects a request with this status and message. */
export class Rejection extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Seconds, for a Retry-After header. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}
