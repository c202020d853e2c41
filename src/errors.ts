/**
 * Every error that wfr expects, with its facts: the code, whether a run may exist, whether the same command might succeed.
 * Anything else that is thrown is an internal error.
 */
import type { ErrorCode, SignalName } from './exit-code.js';

/** How much of a trigger's body was handed to the socket. Only after a complete one can the service have started a run. */
export type SendState = 'unsent' | 'partial' | 'complete';

/** A response that an error is about. */
export interface ErrorResponse {
  status?: number | undefined;
  /** The service's own message, unsanitized. */
  message?: string | undefined;
  /** The id that the service gave the request, unsanitized. */
  requestId?: string | undefined;
  /** Retry-After in milliseconds. */
  retryAfter?: number | undefined;
}

/** What programs and later commands need to know of an error; what is not given is not so, or not known. */
export abstract class WfrError extends Error {
  abstract readonly code: ErrorCode;
  /** How many requests to trigger the run were sent; undefined if the error is not about a trigger. */
  attempts?: number;
  /** Whether a run may exist whose id is unknown. */
  readonly runMayExist: boolean = false;
  /** Whether the error proves that the command created no run. */
  readonly createdNothing: boolean = false;
  /** Whether the same command might succeed without any change. */
  readonly isTemporary: boolean = false;
  readonly response?: ErrorResponse | undefined;
  /** An id that a response named and the service did not confirm. */
  readonly candidateId?: string | undefined;

  constructor(message: string, facts: ErrorFacts = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    Object.assign(this, facts);
  }
}

type ErrorFacts = Partial<
  Pick<WfrError, 'runMayExist' | 'createdNothing' | 'isTemporary' | 'response' | 'candidateId'>
>;

/** Invalid flags, inputs, files or configuration: all problems of one command line at once. */
export class UsageError extends WfrError {
  readonly code = 'usage';

  constructor(
    readonly problems: readonly string[],
    readonly hint?: string,
    /** The stderr of a program that failed, unsanitized. */
    readonly quoted?: string,
  ) {
    super(problems.join('\n'), { createdNothing: true });
  }
}

/** The file of `run --once` belongs to another command than this one. */
export class OtherCommandError extends UsageError {
  constructor(
    problems: readonly string[],
    /** The names of the inputs that are not those of the recorded command. */
    readonly differs: readonly string[],
    /** The run of the recorded command, if it is known. */
    readonly runId: string | undefined,
  ) {
    super(problems);
  }
}

/** The results file or the table of a batch cannot be used: unreadable, or not the one the batch was started with. */
export class BatchFileError extends UsageError {
  constructor(problem: string) {
    super([problem]);
  }
}

type Steps = Record<string, () => unknown>;
type StepResults<S extends Steps> = { [Name in keyof S]: Awaited<ReturnType<S[Name]>> };

/**
 * Runs all steps in order and returns their results by name. Throws UsageError with the problems of all of them, after
 * closing what the other steps have opened.
 */
export async function collectUsageErrors<S extends Steps>(steps: S, hint?: string): Promise<StepResults<S>> {
  const problems: string[] = [];
  let where = hint;
  const results: Record<string, unknown> = {};
  for (const [name, step] of Object.entries(steps)) {
    try {
      results[name] = await step();
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      problems.push(...error.problems);
      where ??= error.hint;
    }
  }
  if (problems.length === 0) return results as StepResults<S>;
  for (const result of Object.values(results)) if (isOpen(result)) await result.close();
  throw new UsageError(problems, where);
}

function isOpen(result: unknown): result is { close(): Promise<void> } {
  return (
    typeof result === 'object' && result !== null && 'close' in result && typeof result.close === 'function'
  );
}

/** Faults of a connection that a retry does not fix. */
const PERMANENT_FAULTS = [
  'certificate',
  'client-certificate',
  'tls-rejected',
  'not-tls',
  'expects-tls',
  'not-permitted',
  'not-loopback',
  'proxy-refused',
] as const;

export type NetworkFault =
  | (typeof PERMANENT_FAULTS)[number]
  | 'dns-not-found'
  | 'dns-unavailable'
  | 'refused'
  | 'unreachable'
  | 'connect-timeout'
  | 'connect-reset'
  | 'proxy-closed'
  | 'local'
  | 'reset'
  | 'stalled'
  | 'no-response'
  | 'unfinished'
  | 'not-http'
  | 'truncated'
  | 'too-large'
  | 'encoded';

function isPermanent(fault: NetworkFault): boolean {
  return PERMANENT_FAULTS.some((permanent) => permanent === fault);
}

/** The part of an unusable 2xx that arrived: header names in lower case, the body decoded and truncated. */
export interface ReceivedResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/** A request that got no usable response. `host` is `name:port`; `code` is the error code of the system or of TLS. */
export class NetworkError extends WfrError {
  get code(): ErrorCode {
    return this.fault === 'too-large' ? 'output-not-written' : 'unreachable';
  }

  /** Whether a retry cannot succeed. */
  get isPermanent(): boolean {
    return isPermanent(this.fault);
  }

  constructor(
    readonly fault: NetworkFault,
    readonly facts: {
      host: string;
      code?: string | undefined;
      /** The HTTP status, if headers had arrived; for `proxy-refused`, the proxy's. */
      status?: number | undefined;
      proxy?: boolean | undefined;
      /** The limit in milliseconds, for timeouts. */
      after?: number | undefined;
      /** Set for a 2xx. */
      received?: ReceivedResponse | undefined;
      requestId?: string | undefined;
    },
    options?: ErrorOptions,
  ) {
    const { status, proxy, requestId } = facts;
    super(
      `${fault} ${facts.code ?? ''}`,
      {
        isTemporary: !isPermanent(fault) && fault !== 'too-large',
        response: status === undefined || proxy ? undefined : { status, requestId },
      },
      options,
    );
  }
}

/** The first names of the members of an object, and the number of other members. */
export interface FieldNames {
  names: readonly string[];
  omitted: number;
}

/** A 2xx whose body is not a valid Run; `fields` are those of its members, if it was an object. */
export class UnreadableResponseError extends WfrError {
  readonly code = 'unreachable';

  constructor(
    readonly reason: string,
    readonly facts: {
      requestId?: string | undefined;
      status?: number;
      contentType?: string;
      excerpt?: string;
      fields?: FieldNames;
      /** Set for the response to a trigger. */
      received?: ReceivedResponse;
    } = {},
  ) {
    const { status, excerpt, fields, requestId } = facts;
    const message = fields === undefined ? excerpt : undefined;
    super(reason, { isTemporary: true, response: { status, requestId, message } });
  }
}

/** A response whose status is not 2xx. */
export interface HttpErrorInfo extends ErrorResponse {
  method: 'POST' | 'GET';
  /** The request's URL, without user info. */
  url: string;
  status: number;
  /** The target of a redirect, without what may be secret. */
  location?: string | undefined;
  /** Whether the target is below `{base}/runs/`, so that it may be the run that was created. */
  isRunLocation?: boolean | undefined;
  /** Length of the request's body in bytes. */
  bodyBytes?: number | undefined;
  /** The workflow to run, of a trigger. */
  workflowId?: string | undefined;
  /** The inputs that were sent, with those that are short texts. */
  inputs?: readonly { name: string; text: string | undefined }[] | undefined;
  /** The source of the token that was sent, such as WFR_TOKEN. */
  tokenSource?: string | undefined;
  /** What to change for another token, as a sentence. */
  tokenFix?: string | undefined;
}

/** The service responded with a status other than 2xx. */
export class HttpError extends WfrError {
  get code(): ErrorCode {
    const { status } = this.info;
    if (status === 401) return 'unauthorized';
    return status === 403 ? 'forbidden' : 'rejected';
  }

  /** Whether the status says that another attempt may succeed. */
  get isTransient(): boolean {
    const { status } = this.info;
    return status === 408 || status === 425 || status === 429 || status >= 500;
  }

  constructor(
    readonly info: HttpErrorInfo,
    /** `rejected`: every variant of the workflow's field was rejected. `possible`: the variant may be the reason. */
    readonly variantHint?: 'rejected' | 'possible',
  ) {
    super(`${info.method} failed with status ${info.status}`, { response: info });
  }
}

/** A trigger that certainly created no run. */
export class NotTriggeredError extends WfrError {
  readonly code = 'not-triggered';

  constructor(
    override readonly cause: NetworkError | HttpError,
    readonly sendState: SendState,
    override readonly attempts: number,
    /** Share of the body that was handed to the socket, 0 to 1. */
    readonly progress: number,
    /** Retry-After in milliseconds, if it was too long to wait. */
    readonly retryAfter?: number | undefined,
  ) {
    const { response } = cause;
    super('no run was created', { createdNothing: true, isTemporary: mayPass(cause), response });
  }
}

/** What an unusable response to a trigger says about the run that may have been created. */
export interface RunEvidence {
  /** Unconfirmed ids that the run may have, the likeliest first. */
  ids: readonly string[];
  /** The response's Location, without what may be secret. */
  location: string | undefined;
  /** The start of the response's body. */
  excerpt: string | undefined;
}

/** A trigger that may have created a run. */
export class UnknownOutcomeError extends WfrError {
  readonly code = 'unknown-outcome';
  /** The file of `run --once`, if it records that the outcome is unknown. */
  onceFile?: string;

  constructor(
    override readonly cause: NetworkError | HttpError | UnreadableResponseError,
    readonly evidence?: RunEvidence,
  ) {
    const { response } = cause;
    super('a run may have been created', { runMayExist: true, response, candidateId: evidence?.ids[0] });
  }
}

/** An earlier command sent a trigger and recorded no answer in `file`, the one of `run --once`. */
export class UnsettledRunError extends WfrError {
  readonly code = 'unknown-outcome';

  constructor(
    readonly file: string,
    /** When it was sent (ms since 1970), if known. */
    readonly sentAt: number | undefined,
    /** Why there is no answer, if the command recorded it. */
    readonly reason: string | undefined,
    candidateId: string | undefined,
  ) {
    super('a run may have been created by an earlier command', { runMayExist: true, candidateId });
  }
}

/** The service no longer knows the run that is recorded in `file`, the one of `run --once`. */
export class LostRunError extends WfrError {
  readonly code = 'unreachable';

  constructor(
    readonly file: string,
    readonly id: string,
  ) {
    super('the run is lost');
  }
}

/** A run that can no longer be read. `seen`: whether it was ever read; `unreachableMs`: time since the first failed poll. */
export class UnreachableRunError extends WfrError {
  get code(): ErrorCode {
    return this.cause.code === 'output-not-written' ? 'output-not-written' : 'unreachable';
  }

  constructor(
    readonly id: string,
    override readonly cause: NetworkError | HttpError | UnreadableResponseError,
    readonly seen: boolean,
    readonly unreachableMs: number,
  ) {
    super('the run is unreachable', { isTemporary: mayPass(cause), response: cause.response });
  }
}

/** The service has no run of this id, and wfr has never read one. */
export class NoSuchRunError extends WfrError {
  readonly code = 'no-such-run';

  constructor(
    readonly id: string,
    readonly info: HttpErrorInfo,
    /** The base URL of another service that the history has the run of. */
    readonly otherBaseUrl?: string,
  ) {
    super('no such run', { response: info });
  }
}

/** A run whose status is unknown to wfr and did not change for too long. */
export class UnknownStatusError extends WfrError {
  readonly code = 'unknown-status';

  constructor(
    readonly status: string,
    readonly forMs: number,
  ) {
    super('unknown status', { isTemporary: true });
  }
}

/** A signal was received. `sendState` is undefined if no trigger was in progress. */
export class InterruptedError extends WfrError {
  readonly code = 'interrupted';
  /** The file of `run --once`, if it records that a run may exist. */
  onceFile?: string;

  constructor(
    readonly signal: SignalName,
    readonly sendState?: SendState,
    /** Set if the signal came while wfr was confirming the id in an unusable response. */
    readonly evidence?: RunEvidence,
  ) {
    super(signal, {
      runMayExist: sendState === 'complete',
      createdNothing: sendState === 'unsent' || sendState === 'partial',
      isTemporary: true,
      candidateId: evidence?.ids[0],
    });
  }
}

/** What a JSON Pointer leads to: an object's keys or an array's length tell what it could have led to. */
export type FoundValue =
  | { type: 'object'; keys: FieldNames }
  | { type: 'array'; length: number }
  | { type: 'string' | 'number' | 'boolean' | 'null' };

/** The run finished, but has no value at the JSON Pointer of --get. */
export class NoSuchValueError extends WfrError {
  readonly code = 'no-such-value';

  constructor(
    readonly pointer: string,
    /** What the pointer is into. */
    readonly subject: 'output' | 'Run',
    /** The longest part of the pointer that leads to a value, and that value. */
    readonly prefix: string,
    readonly found: FoundValue,
  ) {
    super('no such value');
  }
}

/** The result is known but could not be written; `what` names the part. */
export class OutputError extends WfrError {
  readonly code = 'output-not-written';

  constructor(
    override readonly cause: Error,
    readonly what = 'the result',
  ) {
    super('cannot write the result');
  }
}

/** No access token for a remote service. `lookedFor` lists the sources; `withheld` says why a token was found but not sent. */
export class MissingTokenError extends WfrError {
  readonly code = 'no-token';

  constructor(
    readonly lookedFor: readonly string[],
    readonly withheld?: string,
  ) {
    super('no access token', { createdNothing: true });
  }
}

/** A document that changed while it was being sent. */
export class FileChangedError extends WfrError {
  readonly code = 'usage';

  constructor(readonly path: string) {
    super('changed while being read', { createdNothing: true, isTemporary: true });
  }
}

/** A file that passed the checks but could not be read when it was sent. */
export class FileReadError extends WfrError {
  get code(): ErrorCode {
    return this.isTemporary ? 'not-triggered' : 'usage';
  }

  constructor(
    readonly path: string,
    override readonly cause: Error,
  ) {
    super('cannot be read', { createdNothing: true, isTemporary: isResourceExhaustion(cause) });
  }
}

/** Returns whether a system call failed for lack of file descriptors or memory, which may be temporary. */
export function isResourceExhaustion(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM';
}

/** Returns whether the same request might succeed later. */
function mayPass(cause: NetworkError | HttpError | UnreadableResponseError): boolean {
  return cause instanceof HttpError ? cause.isTransient : cause.isTemporary;
}

/** A document of the output that could not be saved; `what` is its path. The printed output still contains it. */
export class UnsavedDocumentError extends OutputError {}
