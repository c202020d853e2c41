/**
 * The sandbox's HTTP server and its runs, whose state is computed from the elapsed time: a second implementation of the
 * interface, independent of wfr's client.
 */
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { checkInputs, type InputKind, kindOfString } from '../parameters/declaration.js';
import { typeOf } from '../text/json/check-schema.js';
import { isObject } from '../text/json/json-file.js';
import { formatIso } from '../text/quantity.js';
import { fillWorkflow, type InputValues, type Workflow } from './workflow.js';

export interface SandboxOptions {
  workflows: readonly Workflow[];
  token: string;
  /** 0 for any free port. */
  port: number;
  /** What all durations are multiplied by; 1 by default. */
  slow?: number | undefined;
  /** Reject every trigger with this status. */
  reject?: number | undefined;
  /** Start the run of every trigger, then close the connection without a response. */
  dropAnswer?: boolean | undefined;
  clock: { now(): number; monotonic(): number };
  /** Called with a text for each request: a line, and below it why it was rejected, or why the run failed. */
  log?: ((line: string) => void) | undefined;
}

/** A run as the interface has it, of which the log shows these members. */
interface Run {
  id: string;
  versionName: string;
  status: string;
  error?: { message: string; step: string };
}

const PREFIX = '/v1';
/** How long a run is PENDING (ms). */
const PENDING_TIME = 300;
/** The largest request, which is in memory as a whole. */
const MAX_BODY_MIB = 256;

/** Serves on 127.0.0.1 until it is stopped. Throws the system error if it cannot listen. */
export async function startSandbox(options: SandboxOptions) {
  const { workflows, token, slow = 1, clock, log } = options;
  /** By id, what returns the run as it is now. */
  const runs = new Map<string, () => Run>();
  const server = createServer((request, response) => void respond(request, response));
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

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body, detail } = await handle(request).catch((error: Error) => {
      const { status, detail } = error instanceof Rejection ? error : { status: 500, detail: '' };
      return { status, body: { error: { message: error.message } }, detail: `${detail}\n${error.message}` };
    });
    const isDropped = options.dropAnswer && status === 201;
    const line = `${status} ${request.method?.padEnd(4)} ${request.url}${detail}`;
    log?.(line + (isDropped ? ', response dropped' : ''));
    if (isDropped) {
      request.socket.destroy();
      return;
    }
    if (status === 429 || status === 503) response.setHeader('retry-after', 1);
    // Do not read the rest of a rejected body.
    if (!request.complete) response.setHeader('connection', 'close');
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(`${JSON.stringify(body)}\n`);
  }

  /** Returns the status and the body of the response, and what the log says behind the path. Throws Rejection. */
  async function handle(request: IncomingMessage) {
    assertOwnHost(request);
    if (request.headers.authorization !== `Bearer ${token}`)
      throw new Rejection(401, 'This sandbox takes its own access token (WFR_TOKEN).');
    if (request.method === 'POST' && request.url === `${PREFIX}/runs`) {
      const body = await handleTrigger(request);
      return { status: 201, body, detail: ` ${body.id} ${body.versionName}` };
    }
    const [, id] = /^\/v1\/runs\/([^/]+)$/.exec(request.url ?? '') ?? [];
    if (request.method !== 'GET' || id === undefined)
      throw new Rejection(404, `This sandbox has only POST ${PREFIX}/runs and GET ${PREFIX}/runs/{id}.`);
    const stateOfRun = runs.get(id);
    if (!stateOfRun) throw new Rejection(404, 'This sandbox has no run with this id; its runs end with it.');
    const body = stateOfRun();
    const { status, error } = body;
    return { status: 200, body, detail: ` ${status}${error ? `\n${error.step}: ${error.message}` : ''}` };
  }

  async function handleTrigger(request: IncomingMessage): Promise<Run> {
    const { reject } = options;
    if (reject !== undefined) {
      // The outcome for the client depends on how much it has sent.
      await finished(request.resume());
      throw new Rejection(
        reject,
        `The sandbox rejects every trigger, whatever its inputs (--reject ${reject}).`,
      );
    }
    if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
      throw new Rejection(415, 'The content type must be application/json.');
    if (Number(request.headers['content-length']) > MAX_BODY_MIB * 2 ** 20)
      throw new Rejection(413, `The sandbox takes requests of at most ${MAX_BODY_MIB} MiB.`);
    const body: unknown = await json(request).catch(() => undefined);
    if (!isObject(body)) throw new Rejection(400, 'The body is not a JSON object.');
    const { inputs, ...fields } = body;
    const workflow = findWorkflow(fields, workflows);
    if (!isObject(inputs)) throw new Rejection(400, 'The field "inputs" must be an object.');
    return startRun(fillWorkflow(workflow, readValues(inputs, workflow)));
  }

  /** Starts a run, whose state follows from the elapsed time, and returns it. */
  function startRun({ steps, versionName, output, failure }: Workflow): Run {
    const id = crypto.randomUUID();
    const started = clock.monotonic();
    const createdAt = formatIso(clock.now());
    const stateOfRun = () => {
      const run = (status: string, stepsCompleted: number, ended = {}) => {
        return {
          id,
          versionName,
          status,
          createdAt,
          steps: steps.length,
          stepsCompleted,
          output: null,
          ...ended,
        };
      };
      let rest = (clock.monotonic() - started) / slow - PENDING_TIME;
      if (rest < 0) return run('PENDING', 0);
      for (const [index, { name, duration }] of steps.entries()) {
        rest -= duration;
        if (rest < 0) return run('RUNNING', index);
        if (name === failure?.step)
          return run('FAILED', index, { error: { message: failure.message, step: name } });
      }
      return run('FINISHED', steps.length, { output });
    };
    runs.set(id, stateOfRun);
    return stateOfRun();
  }
}

/** Rejects a request with this status and message; `detail` is what the log says behind the path. */
class Rejection extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly detail = '',
  ) {
    super(message);
  }
}

/** Throws Rejection for any other host: a web page can make a name of its own resolve to this machine (DNS rebinding). */
function assertOwnHost({ headers: { host = '' }, socket }: IncomingMessage): void {
  const [, name = '', port = '80'] = /^(127\.0\.0\.1|localhost|\[::1\])(?::(\d+))?$/i.exec(host) ?? [];
  if (name !== '' && Number(port) === socket.localPort) return;
  throw new Rejection(421, `The Host must be 127.0.0.1:${socket.localPort}.`);
}

/** The two spellings of the interface; a request may have both. */
const WORKFLOW_FIELDS = ['worfklowId', 'workflowId'];

function findWorkflow(fields: Record<string, unknown>, workflows: readonly Workflow[]): Workflow {
  const unknown = Object.keys(fields).find((name) => !WORKFLOW_FIELDS.includes(name));
  if (unknown !== undefined) throw new Rejection(400, `Unknown field ${JSON.stringify(unknown)}.`);
  const [id, other = id] = Object.values(fields);
  if (id !== other) throw new Rejection(400, 'The fields "worfklowId" and "workflowId" differ.');
  if (typeof id !== 'string') throw new Rejection(400, 'The field "worfklowId" is missing.');
  // UUIDs compare without regard to case (RFC 9562, section 4).
  const workflow = workflows.find((candidate) => candidate.id.toLowerCase() === id.toLowerCase());
  if (workflow) return workflow;
  // Ids are all that the interface takes.
  const meant = workflows.find(
    (one) => one.id.startsWith(id.toLowerCase()) || one.versionName.startsWith(`${id} `),
  );
  // The id is the last word, so that no terminal breaks the line behind it.
  const suggestion = meant ? `${meant.versionName} is ${meant.id}` : 'see wfr sandbox --list';
  throw new Rejection(404, `There is no workflow ${JSON.stringify(id)}; ${suggestion}`);
}

/** Returns the inputs and their members, by placeholder. Throws Rejection naming every input that does not match. */
function readValues(inputs: Record<string, unknown>, { parameters, versionName }: Workflow): InputValues {
  const entries = Object.entries(inputs);
  const kinds = new Map(entries.map(([name, value]) => [name, kindOf(value)]));
  const mismatches = parameters ? checkInputs(parameters, kinds) : [];
  if (mismatches.length > 0) {
    // What is missing or unknown, the message names.
    const problems = mismatches.map(({ name, message }) =>
      message.startsWith('must') ? `inputs.${name}: ${message}` : message,
    );
    const message = `The inputs do not match the Start Node: ${problems.join('\n')}`;
    throw new Rejection(422, message, ` ${versionName}`);
  }
  const values = new Map(entries);
  for (const [name, value] of entries) {
    const kind = kinds.get(name);
    const isDocument = kind?.type === 'document';
    const object = typeof value === 'object' ? value : {};
    const members = isDocument ? { mediaType: kind.mediaType, ...describeContent(String(value)) } : object;
    for (const [member, part] of Object.entries(members ?? {})) values.set(`${name}.${member}`, part);
  }
  return values;
}

function kindOf(value: unknown): InputKind {
  return typeof value === 'string' ? kindOfString(value) : { type: typeOf(value) };
}

/** Returns what outputs can have of the content of a data URI. */
function describeContent(uri: string): object {
  const bytes = Buffer.from(uri.slice(uri.indexOf(',') + 1), 'base64');
  return { bytes: bytes.length, sha256: hash('sha256', bytes) };
}
