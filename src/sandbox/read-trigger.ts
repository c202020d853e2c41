/** Parses the JSON of a trigger, and checks its inputs, which "must exactly match the Start Node parameters (keys and types)". */
import { createHash } from 'node:crypto';
import {
  checkInputs,
  type InputKind,
  isBase64,
  type Mismatch,
  parseDataUriHead,
} from '../parameters/check-inputs.js';
import { type Member, parseMembers } from '../text/json/members.js';
import { JsonSyntaxError } from '../text/json/scanner.js';
import { type InputValues, type Workflow, wholePlaceholders } from './workflow.js';

const MIB = 1024 * 1024;
/** The largest request, which is in memory as a whole. */
const MAX_BODY_BYTES = 256 * MIB;
/** Characters of a data URI that an output can return: the documents of all runs stay in memory. */
const MAX_RETURNED = 16 * MIB;

/** An input as it was received: what it is, and the value that an output can have of it. */
interface ReceivedInput {
  kind: InputKind;
  /** Of a document, its media type, size and digest. */
  value: unknown;
  /** The data URI of a document, unless it is too large to be returned. */
  uri?: string | undefined;
}

/** A trigger after parsing. */
export interface ReceivedTrigger {
  /** The members except `inputs`, in order. */
  fields: Map<string, unknown>;
  /** Undefined if the member is missing. */
  inputs: Map<string, ReceivedInput> | undefined;
}

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

/** Parses the body of a trigger. Throws Rejection for a body that is not a JSON object, or too large. */
export async function readTrigger(chunks: AsyncIterable<Buffer>): Promise<ReceivedTrigger> {
  const fields = new Map<string, unknown>();
  let inputs: Map<string, ReceivedInput> | undefined;
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

function receive(json: Uint8Array): ReceivedInput {
  const value = parseJson(json);
  const head = typeof value === 'string' ? parseDataUriHead(value) : undefined;
  return typeof value === 'string' && head !== undefined
    ? receiveDocument(value, head)
    : { kind: { type: jsonTypeOf(value) }, value };
}

function jsonTypeOf(value: unknown): Exclude<InputKind['type'], 'document' | 'malformed-document'> {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value as 'string' | 'number' | 'boolean' | 'object';
}

/** Decodes the base64 of a data URI (RFC 4648, section 4). */
function receiveDocument(
  uri: string,
  { length, mediaType }: { length: number; mediaType: string },
): ReceivedInput {
  const base64 = uri.slice(length);
  if (!isBase64(base64)) return malformed('it contains characters that are not base64');
  if (base64.length % 4 !== 0) return malformed('the length of its base64 is not a multiple of four');
  const bytes = Buffer.from(base64, 'base64');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return {
    kind: { type: 'document', mediaType },
    value: { mediaType, bytes: bytes.length, sha256 },
    uri: uri.length > MAX_RETURNED ? undefined : uri,
  };
}

function malformed(problem: string): ReceivedInput {
  return { kind: { type: 'malformed-document', problem }, value: `data: (${problem})` };
}

/**
 * Returns the values of the inputs. Throws Rejection (422) naming every input that does not match, or (413) for a
 * document that is too large for the output.
 */
export function readValues(
  inputs: ReadonlyMap<string, ReceivedInput>,
  { parameters, output }: Pick<Workflow, 'parameters' | 'output'>,
): InputValues {
  const kinds = new Map([...inputs].map(([name, { kind }]) => [name, kind]));
  const mismatches = parameters === undefined ? [] : checkInputs(parameters, kinds);
  if (mismatches.length > 0) {
    const problems = mismatches.map((mismatch) => `inputs.${mismatch.name} ${describe(mismatch)}`);
    throw new Rejection(422, `The inputs do not match the Start Node: ${problems.join('; ')}.`);
  }
  const values = new Map<string, unknown>([...(parameters?.keys() ?? [])].map((name) => [name, null]));
  const returned = wholePlaceholders(output);
  for (const [name, { kind, value, uri }] of inputs)
    values.set(name, kind.type === 'document' && returned.has(name) ? asReturned(name, value, uri) : value);
  return values;
}

/** Returns a document that is its data URI in JSON. */
function asReturned(name: string, value: unknown, uri: string | undefined): unknown {
  if (uri !== undefined) return Object.assign({ toJSON: () => uri }, value);
  const limit = `the sandbox returns data URIs of at most ${MAX_RETURNED / MIB} MiB`;
  throw new Rejection(413, `inputs.${name} is too large for the output "{{${name}}}": ${limit}.`);
}

function describe(mismatch: Mismatch): string {
  switch (mismatch.code) {
    case 'missing':
      return `is missing (${mismatch.parameter.type})`;
    case 'unknown':
      return 'is not a parameter of the Start Node';
    case 'not-accepted':
      return `must be ${mismatch.parameter.accept?.join(' or ')}, found ${mismatch.mediaType}`;
    case 'mistyped':
      return describeType(mismatch.parameter.type, mismatch.found);
  }
}

function describeType(type: string, found: InputKind): string {
  if (found.type === 'malformed-document' && type === 'document')
    return `is not a valid document: ${found.problem}`;
  if (found.type === 'string' && type === 'document')
    return 'must be a document: data:<media type>;base64,<data>';
  const foundType = found.type === 'malformed-document' ? 'document' : found.type;
  return `must be of type ${type}, found ${foundType}`;
}
