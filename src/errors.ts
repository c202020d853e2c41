/** Every failure that wfr foresees, as data; anything else that is thrown is a defect of wfr itself. */

/** A signal that ends wfr in good order. */
export type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/**
 * How much of a trigger had left this machine: 0 nothing, 1 an incomplete body, 2 the complete body.
 * Only in phase 2 can the service have started a run.
 */
export type Phase = 0 | 1 | 2;

export abstract class WfrError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Bad flags, inputs, files or configuration: every complaint of one command line at once. */
export class UsageError extends WfrError {
  constructor(
    readonly problems: readonly string[],
    readonly hint?: string,
    /** What a program said that was run, as it came. */
    readonly quoted?: string,
  ) {
    super(problems.join('\n'));
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
 * Runs all steps, one after the other, and returns their results by name. Throws UsageError with the problems of all of
 * them; what other steps have opened is closed then.
 */
export async function collectUsageErrors<S extends Steps>(steps: S, hint?: string): Promise<StepResults<S>> {
  const problems: string[] = [];
  const results: Record<string, unknown> = {};
  for (const [name, step] of Object.entries(steps)) {
    try {
      results[name] = await step();
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length === 0) return results as StepResults<S>;
  for (const result of Object.values(results)) if (isOpen(result)) await result.close();
  throw new UsageError(problems, hint);
}

function isOpen(result: unknown): result is { close(): Promise<void> } {
  return (
    typeof result === 'object' && result !== null && 'close' in result && typeof result.close === 'function'
  );
}

export type NetworkFault =
  | 'dns-not-found'
  | 'dns-unavailable'
  | 'refused'
  | 'unreachable'
  | 'connect-timeout'
  | 'connect-reset'
  | 'certificate'
  | 'not-tls'
  | 'speaks-tls'
  | 'proxy-refused'
  | 'proxy-closed'
  | 'local'
  | 'reset'
  | 'stalled'
  | 'no-answer'
  | 'not-http'
  | 'truncated'
  | 'too-large'
  | 'encoded';

/** What came of a 2xx before it turned out to be unusable; names of headers in lower case, the body (decoded) cut. */
export interface ReceivedAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/** No usable answer came over the wire. `host` is `name:port`; `code` the system's or TLS's own name for it. */
export class NetworkError extends WfrError {
  constructor(
    readonly fault: NetworkFault,
    readonly facts: {
      host: string;
      code?: string | undefined;
      /** The HTTP status, where the headers of an answer had arrived; the proxy's, for `proxy-refused`. */
      status?: number | undefined;
      proxy?: boolean | undefined;
      /** Milliseconds, for the faults that are limits of time. */
      after?: number | undefined;
      /** What had been received of an answer with a 2xx status. */
      received?: ReceivedAnswer | undefined;
    },
    options?: ErrorOptions,
  ) {
    super(`${fault} ${facts.code ?? ''}`, options);
  }
}

/** A 2xx whose body does not say what the interface promises; `fields` are the names it held, if it was an object. */
export class UnreadableResponseError extends WfrError {
  constructor(
    readonly reason: string,
    readonly facts: {
      status?: number;
      contentType?: string;
      excerpt?: string;
      fields?: readonly string[];
      /** Set where the service answered a trigger so. */
      received?: ReceivedAnswer;
    } = {},
  ) {
    super(reason);
  }
}

/** What an HTTP status that is not a 2xx said. */
export interface HttpErrorInfo {
  method: 'POST' | 'GET';
  /** Where the request went, without user info. */
  url: string;
  status: number;
  /** The service's own words, as they came; undefined where it said nothing. */
  message?: string | undefined;
  /** Where a redirect points: its origin. */
  location?: string | undefined;
  /** Whether that is below `{base}/runs/`, where the run may be that was created. */
  isRunLocation?: boolean | undefined;
  /** Bytes of the request's body. */
  bodyBytes?: number | undefined;
  /** What a token that was refused came from. */
  tokenSource?: string | undefined;
  /** Milliseconds that Retry-After asked for. */
  retryAfter?: number | undefined;
}

/** The service answered and did not take the request: nothing was created by it. */
export class HttpError extends WfrError {
  constructor(
    readonly info: HttpErrorInfo,
    /** Whether every spelling of the workflow's field was refused, or the service did not say that it was one of them. */
    readonly spellingHint?: 'refused' | 'perhaps',
  ) {
    super(`${info.method} answered with ${info.status}`);
  }
}

/** The trigger was not taken, and no run was created. `attempts` counts the requests that were tried. */
export class NotTriggeredError extends WfrError {
  constructor(
    override readonly cause: NetworkError | HttpError,
    readonly phase: Phase,
    readonly attempts: number,
    /** Share of the body that had been handed over, 0 to 1. */
    readonly progress: number,
    /** Milliseconds that the service asked to be left alone for, where that is too long to wait. */
    readonly retryAfter?: number | undefined,
  ) {
    super('no run was created', { cause });
  }
}

/** What an unusable answer to a trigger tells about the run that it may have created. */
export interface RunEvidence {
  /** Ids that the run may have, none of them confirmed; the likeliest first. */
  ids: readonly string[];
  /** Where the answer points to, without what may be secret. */
  location: string | undefined;
  /** The start of the answer's body. */
  excerpt: string | undefined;
}

/** The trigger may have created a run, and nobody here can tell. */
export class UnknownOutcomeError extends WfrError {
  constructor(
    override readonly cause: NetworkError | HttpError | UnreadableResponseError,
    readonly evidence?: RunEvidence,
  ) {
    super('a run may have been created', { cause });
  }
}

/** A run that exists could not be read any longer. `forMs` is how long it had been out of sight. */
export class UnreachableRunError extends WfrError {
  constructor(
    readonly id: string,
    override readonly cause: NetworkError | HttpError | UnreadableResponseError,
    readonly seen: boolean,
    readonly unreachableMs: number,
  ) {
    super('the run could not be observed', { cause });
  }
}

/** The service knows no run of this id, and never showed us one. */
export class NoSuchRunError extends WfrError {
  constructor(
    readonly id: string,
    readonly info: HttpErrorInfo,
  ) {
    super('no such run');
  }
}

/** A run whose status wfr does not know, and which stayed so too long. */
export class UnknownStatusError extends WfrError {
  constructor(
    readonly status: string,
    readonly forMs: number,
  ) {
    super('unknown status');
  }
}

/** A signal came. `phase` is set while triggering, undefined where a run is only being read. */
export class InterruptedError extends WfrError {
  constructor(
    readonly signal: SignalName,
    readonly phase?: Phase,
    /** Set where a signal came while the id in an unusable answer was being confirmed. */
    readonly evidence?: RunEvidence,
  ) {
    super(signal);
  }
}

/** The result is known but could not be written; `what` names the part of it. */
export class OutputError extends WfrError {
  constructor(
    override readonly cause: Error,
    readonly what = 'the result',
  ) {
    super('cannot write the result', { cause });
  }
}

/** No access token for another machine. `lookedFor` was searched; `withheld` says why one found is not sent there. */
export class MissingTokenError extends WfrError {
  constructor(
    readonly lookedFor: readonly string[],
    readonly withheld?: string,
  ) {
    super('no access token');
  }
}

/** A document was not the same at the end of sending as at the start. */
export class FileChangedError extends WfrError {
  constructor(readonly path: string) {
    super('changed while being read');
  }
}

/** A file could not be read after the checks had passed. */
export class FileReadError extends WfrError {
  constructor(
    readonly path: string,
    override readonly cause: Error,
  ) {
    super('cannot be read', { cause });
  }
}

/** A document of the output could not be saved; `what` is the path in question, and the output holds it still. */
export class UnsavedDocumentError extends OutputError {}
