/**
 * The sandbox's HTTP server and its runs, whose state is computed from the elapsed time: a second implementation of the
 * interface, independent of wfr's client.
 */
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { finished } from 'node:stream/promises';
import {
  checkInputs,
  describeMismatch,
  type InputKind,
  isBase64,
  parseDataUriHead,
} from '../parameters/declaration.js';
import { type Member, parseMembers } from '../text/json/members.js';
import { JsonSyntaxError } from '../text/json/scanner.js';
import { fillTemplate, findValue, type InputValues, type Workflow, wholePlaceholders } from './workflow.js';

export const FIELD_SPELLINGS = ['worfklowId', 'workflowId', 'either'] as const;
export type FieldSpelling = (typeof FIELD_SPELLINGS)[number];

export interface SandboxOptions {
  workflows: readonly Workflow[];
  token: string;
  /** 0 for any free port. */
  port: number;
  /** The accepted spelling of the member with the workflow's id. */
  spelling: FieldSpelling;
  /** Reject a trigger with unknown members. */
  strict: boolean;
  /** What all durations are multiplied by; 1 by default. */
  slow?: number;
  /** Reject every trigger with this status. */
  reject?: number | undefined;
  /** Start the run of every trigger, then close the connection without a response. */
  dropAnswer?: boolean;
  clock: SandboxClock;
  /** Called with one line for each request. */
  log?(line: string): void;
}

const PREFIX = '/v1';
/** How long a run is PENDING (ms). */
const PENDING_TIME = 300;

/** Serves on 127.0.0.1 until it is stopped. Throws the system error if it cannot listen. */
export async function startSandbox(options: SandboxOptions) {
  const runs: Runs = new Map();
  const server = createServer((request, response) => void respond(request, response, options, runs));
  // Large documents may take longer than Node's limit of 5 minutes.
  server.requestTimeout = 0;
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}${PREFIX}`,
    /** Returns how many runs have been started. */
    runCount: () => runs.size,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  options: SandboxOptions,
  runs: Runs,
): Promise<void> {
  const { status, body, retryAfter } = await handle(request, options, runs).catch(toErrorReply);
  const line = `${request.method} ${request.url} ${status}`;
  // Rejections are still answered.
  if (options.dropAnswer === true && status === 201) {
    options.log?.(`${line}, response dropped: run ${(body as { id: string }).id}`);
    request.socket.destroy();
    return;
  }
  options.log?.(line);
  if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
  response.writeHead(status, {
    'content-type': 'application/json',
    // Do not read the rest of a rejected body.
    ...(request.complete ? {} : { connection: 'close' }),
  });
  response.end(`${JSON.stringify(body)}\n`);
}

interface Reply {
  status: number;
  body: object;
  /** Seconds. */
  retryAfter?: number | undefined;
}

function toErrorReply(error: unknown): Reply {
  if (error instanceof Rejection) {
    const { status, message, retryAfter } = error;
    return { status, body: { error: { message } }, retryAfter };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { status: 500, body: { error: { message: `The sandbox failed: ${message}` } } };
}

async function handle(request: IncomingMessage, options: SandboxOptions, runs: Runs): Promise<Reply> {
  assertOwnHost(request);
  if (request.headers.authorization !== `Bearer ${options.token}`) {
    throw new Rejection(401, 'The access token is missing or invalid; use the one that the sandbox printed.');
  }
  const path = /^\/v1\/runs(?:\/([^/]+))?$/.exec(request.url ?? '');
  if (path === null) throw new Rejection(404, `Unknown path; runs are at ${PREFIX}/runs.`);
  const id = path[1];
  const allowed = id === undefined ? 'POST' : 'GET';
  if (request.method !== allowed)
    throw new Rejection(405, `Method not allowed; this path supports ${allowed}.`);
  if (id === undefined) return handleTrigger(request, options, runs);
  const stateOfRun = runs.get(decodeId(id));
  if (stateOfRun === undefined) throw new Rejection(404, 'There is no run with this id.');
  return { status: 200, body: stateOfRun() };
}

/** Throws Rejection for any other host: a web page can make a name of its own resolve to this machine (DNS rebinding). */
function assertOwnHost({ headers: { host = '' }, socket }: IncomingMessage): void {
  const [, name = '', port = '80'] = /^(127\.0\.0\.1|localhost|\[::1\])(?::(\d+))?$/i.exec(host) ?? [];
  if (name !== '' && Number(port) === socket.localPort) return;
  const own = `127.0.0.1:${socket.localPort}`;
  throw new Rejection(421, `The Host must be ${own}; localhost and [::1] are accepted, too.`);
}

/** Returns an empty id, which no run has, for invalid percent-encoding. */
function decodeId(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return '';
  }
}

async function handleTrigger(request: IncomingMessage, options: SandboxOptions, runs: Runs): Promise<Reply> {
  if (options.reject !== undefined) return rejectTrigger(request, options.reject);
  const [mediaType = ''] = (request.headers['content-type'] ?? '').split(';');
  if (mediaType.trim().toLowerCase() !== 'application/json') {
    throw new Rejection(415, 'The content type must be application/json.');
  }
  const { fields, inputs } = await readTrigger(request);
  const workflow = findWorkflow(fields, options);
  if (inputs === undefined) throw new Rejection(400, 'The field "inputs" is missing.');
  return { status: 201, body: startRun(workflow, readValues(inputs, workflow), options, runs) };
}

/** Reads the whole request first, because the outcome for the client depends on how much it has sent. */
async function rejectTrigger(request: IncomingMessage, status: number): Promise<never> {
  await finished(request.resume());
  const isBusy = status === 429 || status === 503;
  throw new Rejection(
    status,
    `The sandbox rejects every trigger (--reject ${status}).`,
    isBusy ? 1 : undefined,
  );
}

function findWorkflow(
  fields: ReadonlyMap<string, unknown>,
  { spelling, strict, workflows }: SandboxOptions,
): Workflow {
  const read = spelling === 'either' ? ['worfklowId', 'workflowId'] : [spelling];
  const unknown = [...fields.keys()].find((name) => !read.includes(name));
  if (strict && unknown !== undefined) throw new Rejection(400, `Unknown field ${JSON.stringify(unknown)}.`);
  const ids = new Set(read.flatMap((name) => (fields.has(name) ? [fields.get(name)] : [])));
  if (ids.size > 1) throw new Rejection(400, 'The fields "worfklowId" and "workflowId" differ.');
  const [id] = ids;
  if (typeof id !== 'string') throw new Rejection(400, `The field ${JSON.stringify(read[0])} is missing.`);
  // UUIDs compare without regard to case (RFC 9562, section 4).
  const workflow = workflows.find((candidate) => candidate.id.toLowerCase() === id.toLowerCase());
  if (workflow === undefined) throw new Rejection(404, `There is no workflow ${JSON.stringify(id)}.`);
  return workflow;
}

/** By id, functions that return the Run as it is now. */
type Runs = Map<string, () => object>;

interface SandboxClock {
  now(): number;
  monotonic(): number;
}

/** Starts a run, whose state follows from the elapsed time, and returns it. */
function startRun(
  { steps, versionName, output, failure }: Workflow,
  values: InputValues,
  { clock, slow = 1 }: SandboxOptions,
  runs: Runs,
): object {
  const id = randomUUID();
  const started = clock.monotonic();
  const createdAt = new Date(clock.now()).toISOString();
  const fails = Object.entries(failure?.when ?? {}).every(
    ([name, value]) => JSON.stringify(findValue(name, values)) === JSON.stringify(value),
  );
  const failing = fails ? steps.findIndex(({ name }) => name === failure?.step) : -1;
  const ends = steps.map((_, last) =>
    steps.slice(0, last + 1).reduce((sum, { duration }) => sum + duration, 0),
  );
  const stateOfRun = () => {
    const elapsed = (clock.monotonic() - started) / slow - PENDING_TIME;
    const ended = ends.filter((end) => end <= elapsed).length;
    const stepsCompleted = failing < 0 ? ended : Math.min(ended, failing);
    const run = (status: string, rest: object) => {
      return { id, versionName, status, createdAt, steps: steps.length, stepsCompleted, ...rest };
    };
    if (elapsed < 0) return run('PENDING', { output: null });
    if (failing >= 0 && ended > failing)
      return run('FAILED', { output: null, error: { message: failure?.message, step: failure?.step } });
    if (ended < steps.length) return run('RUNNING', { output: null });
    return run('FINISHED', { output: fillTemplate(output, values) });
  };
  runs.set(id, stateOfRun);
  return stateOfRun();
}

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

/** Rejects a request with this status and message. */
class Rejection extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Seconds, for a Retry-After header. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

/** Parses the body of a trigger: its inputs, if it has them, and its other members. Throws Rejection for a body that is not a JSON object, or too large. */
async function readTrigger(chunks: AsyncIterable<Buffer>) {
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
  try {
    const members = parseMembers(json);
    if (members === undefined) throw new Rejection(400, `${subject} is not a JSON object.`);
    const seen = new Set<string>();
    for (const { name } of members) {
      if (seen.has(name))
        throw new Rejection(400, `${subject} has the member ${JSON.stringify(name)} twice.`);
      seen.add(name);
    }
    return members;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new Rejection(400, `The body is not JSON: ${error.message}.`);
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
function readValues(
  inputs: ReadonlyMap<string, ReceivedInput>,
  { parameters, output }: Pick<Workflow, 'parameters' | 'output'>,
): InputValues {
  const kinds = new Map([...inputs].map(([name, { kind }]) => [name, kind]));
  const problems =
    parameters === undefined
      ? []
      : checkInputs(parameters, kinds).map((one) => {
          // What the user may have meant is the client's to say.
          const told = one.code === 'unknown' ? { ...one, nearest: undefined } : one;
          return `inputs.${one.name}: ${describeMismatch(told, parameters)}`;
        });
  if (problems.length > 0)
    throw new Rejection(422, `The inputs do not match the Start Node: ${problems.join('; ')}.`);
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
