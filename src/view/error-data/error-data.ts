/**
 * What ended a command, as data for programs: the last line of stderr with --json, and `error` in `--report json`. Its
 * schema is error.schema.json.
 */
import {
  FileChangedError,
  FileReadError,
  HttpError,
  InterruptedError,
  MissingTokenError,
  NetworkError,
  NoSuchRunError,
  NotTriggeredError,
  UnknownOutcomeError,
  UnknownStatusError,
  UnreachableRunError,
  UnreadableResponseError,
  UnsettledRunError,
  UsageError,
} from '../../errors.js';
import {
  type ErrorCode,
  type Exit,
  ExitCode,
  errorCodeOf,
  exitOfError,
  toExitCode,
} from '../../exit-code.js';
import { isResourceExhaustion } from '../../platform/system-error.js';
import { BUGS_URL } from '../../platform/version.js';
import { isPermanent, isTransient } from '../../service/retry.js';
import { hasEnded, type Run } from '../../service/run.js';
import { formatDuration } from '../../text/duration.js';
import { sanitize, sanitizeJson, sanitizeLines, sanitizeStack } from '../../text/sanitize.js';
import type { SecretMask } from '../../text/secret-mask.js';
import type { OutcomeReason } from '../batch-summary.js';
import { describeError, requestIdOfError } from '../errors/describe-error.js';
import { continuesText } from '../progress/run-progress.js';

/** The response that an error is about; null for what is unknown. */
interface ServiceResponse {
  status: number | null;
  message: string | null;
  requestId: string | null;
}

export interface ErrorData {
  code: ErrorCode;
  exitCode: number;
  message: string;
  details: readonly string[];
  hints: readonly string[];
  /** Whether the same command may be run again without the danger of a second run, and might succeed. */
  retryable: boolean;
  /** Whether a run may exist whose id is unknown. */
  runMayExist: boolean;
  runId: string | null;
  /** The step at which a run failed; only with `run-failed`. */
  step?: string | null;
  /** A command that continues with the runs. */
  resume: string | null;
  service: ServiceResponse | null;
}

/** How a run ended for this command. */
interface RunEnding {
  id: string | undefined;
  run: Run | undefined;
  exit: Exit;
  /** In milliseconds. */
  duration: number;
  /** The error that ended the work on it, if any. */
  failure?: unknown;
}

/** Why some rows did not succeed. */
type RowsReason = Pick<OutcomeReason, 'outcome' | 'message'>;

/** How the rows of a table ended, for this command or an earlier one. */
export interface RowsEnding {
  /** What happened, one line each. */
  summary: readonly string[];
  /** What to do next, one line each. */
  hints: readonly string[];
  /** Why rows did not succeed. */
  reasons: readonly RowsReason[];
  hasUnknown: boolean;
  /** Whether the same command continues with rows that have not ended. */
  hasOpen: boolean;
}

/** How a command ended. */
export interface CommandEnding {
  exit: Exit;
  runs: readonly RunEnding[];
  /** The error that ended it before its runs, which is then that of all of them. */
  failure?: unknown;
  /** The errors of reports that could not be written. */
  failures: readonly unknown[];
  rows?: RowsEnding | undefined;
  /** The command that continues with the runs. */
  resume?: string | undefined;
  /** Whether the same command would trigger another run if one exists. */
  triggersAgain: boolean;
  /** Whether an internal error may have come after a trigger was sent. */
  mayHaveSent: boolean;
}

/** Errors that are listed at most. */
const MAX_LISTED = 100;

/** Describes a command whose exit code is not 0. */
export function describeEnding(ending: CommandEnding): ErrorData {
  const { exit, runs, failures, triggersAgain, resume = null } = ending;
  const exitCode = toExitCode(exit);
  const errors = [...describeWork(ending), ...failures.map((error) => describeFailure(error, ending))];
  const [only] = errors;
  const joined =
    only !== undefined && errors.length === 1 && only.exitCode === exitCode
      ? only
      : joinErrors(errors, runs.length, exitCode);
  const isRepeatable =
    exitCode !== ExitCode.unknownOutcome && !(triggersAgain && runs.some(({ id }) => id !== undefined));
  const runId = runs.length === 1 ? (runs[0]?.id ?? null) : null;
  return { ...joined, retryable: joined.retryable && isRepeatable, runId, resume };
}

/** Describes the work of a command: as a whole, or each run that did not succeed. */
function describeWork(ending: CommandEnding): ErrorData[] {
  const { exit, runs, failure, rows } = ending;
  const whole = [
    ...(failure === undefined ? [] : [describeFailure(failure, ending)]),
    ...(rows === undefined ? [] : [describeRows(rows, toExitCode(exit), ending)]),
  ];
  if (whole.length > 0) return whole;
  return runs.filter((run) => run.exit !== ExitCode.ok).map((run) => describeRun(run, ending));
}

/** Describes an error that ended a command before it knew of any run. */
export function describeThrown(error: unknown): ErrorData {
  return describeFailure(error, { triggersAgain: false, mayHaveSent: false });
}

/** Returns the data without secrets: text by text, as the escapes of JSON would hide those of a shell. */
export function maskErrorData(data: ErrorData, secrets: SecretMask): ErrorData {
  const masked: ErrorData = JSON.parse(JSON.stringify(data), (key, value) =>
    typeof value === 'string' && key !== 'code' ? secrets.mask(value) : value,
  );
  // A command that masking has changed cannot be copied.
  return { ...masked, resume: masked.resume === data.resume ? data.resume : null };
}

/** Returns the last line of stderr, as bytes: masking it as a whole could change its structure. */
export function errorLine(masked: ErrorData): Uint8Array {
  return Buffer.from(`${sanitizeJson({ error: masked })}\n`);
}

function describeFailure(
  error: unknown,
  { triggersAgain, mayHaveSent }: Pick<CommandEnding, 'triggersAgain' | 'mayHaveSent'>,
): ErrorData {
  const code = errorCodeOf(error);
  const runMayExist = mayHaveCreated(error) || (code === 'internal' && mayHaveSent);
  const isSafe = triggersAgain ? createsNothing(error) : !runMayExist;
  return {
    code,
    exitCode: toExitCode(exitOfError(error)),
    ...textsOf(error),
    retryable: isSafe && mightSucceed(error),
    runMayExist,
    runId: null,
    resume: null,
    service: responseOf(error),
  };
}

function textsOf(error: unknown): Pick<ErrorData, 'message' | 'details' | 'hints'> {
  const description = describeError(error);
  if (description === undefined) {
    const stack = sanitizeStack((error instanceof Error && error.stack) || String(error));
    const hints = [`Report it at ${BUGS_URL} with the details (remove any secrets first).`];
    return { message: 'internal error', details: stack.split('\n'), hints };
  }
  const { serverMessage, hints } = description;
  const [message = '', ...details] = description.summary;
  // The service's message has a member of its own.
  const isOther = serverMessage !== undefined && responseOf(error)?.message == null;
  return { message, details: isOther ? [...details, ...sanitizeLines(serverMessage)] : details, hints };
}

// Runs and rows

function describeRun({ id, run, failure, duration }: RunEnding, ending: CommandEnding): ErrorData {
  const runId = id ?? null;
  if (failure !== undefined) return { ...describeFailure(failure, ending), runId };
  const known = { details: [], hints: [], runMayExist: false, runId, resume: null };
  if (run === undefined || !hasEnded(run)) {
    const status = sanitize(run?.status ?? 'not seen');
    return {
      ...known,
      code: 'still-running',
      exitCode: ExitCode.stillRunning,
      message: `still ${status} after ${formatDuration(duration)}; the run ${continuesText(run)}`,
      retryable: true,
      service: null,
    };
  }
  const { message, step } = run.error ?? {};
  return {
    ...known,
    code: 'run-failed',
    exitCode: ExitCode.runFailed,
    message: step === undefined ? 'the run failed' : `the run failed at step ${sanitize(step)}`,
    retryable: false,
    step: step === undefined ? null : sanitize(step),
    service: { status: null, message: textOrNull(message), requestId: null },
  };
}

/** The codes of rows, whose errors may be those of earlier commands. */
const ROW_CODES: Readonly<Record<number, ErrorCode>> = {
  [ExitCode.runFailed]: 'run-failed',
  [ExitCode.usage]: 'usage',
  [ExitCode.mixed]: 'mixed',
  [ExitCode.unauthorized]: 'unauthorized',
  [ExitCode.rejected]: 'rejected',
  [ExitCode.unknownOutcome]: 'unknown-outcome',
  [ExitCode.unreachable]: 'unreachable',
  [ExitCode.stillRunning]: 'still-running',
  [ExitCode.outputNotWritten]: 'output-not-written',
  [ExitCode.internalError]: 'internal',
};

/** Returns the code of the rows that decide the exit code, where it has several and these rows have the same. */
function codeOfReasons(reasons: readonly RowsReason[], exitCode: number): ErrorCode | undefined {
  const codeOf = { [ExitCode.unauthorized]: tokenErrorOf, [ExitCode.unreachable]: unreachableCodeOf }[
    exitCode
  ];
  if (codeOf === undefined) return undefined;
  const codes = new Set(reasons.map(codeOf).filter((code) => code !== undefined));
  return codes.size === 1 ? [...codes][0] : undefined;
}

/** Reads the status from the text of the error, which is all that is known of the rows of earlier commands. */
function tokenErrorOf({ outcome, message }: RowsReason): ErrorCode | undefined {
  if (outcome !== 'unauthorized' && outcome !== 'running') return undefined;
  const [, status] = /^(?:the service [^()]*\()?(401|403)[:)]/.exec(message) ?? [];
  if (status === '403') return 'forbidden';
  return status === '401' || outcome === 'unauthorized' ? 'unauthorized' : undefined;
}

function unreachableCodeOf({ outcome }: RowsReason): ErrorCode | undefined {
  if (outcome === 'unreachable') return 'not-triggered';
  return outcome === 'lost' || outcome === 'running' ? 'unreachable' : undefined;
}

/** Exit codes of a batch that are the same for the same command, whatever rows are left. */
const NEEDS_CHANGE: readonly number[] = [
  ExitCode.usage,
  ExitCode.unauthorized,
  ExitCode.unknownOutcome,
  ExitCode.outputNotWritten,
  ExitCode.internalError,
];

function describeRows(
  { summary, hints, reasons, hasUnknown, hasOpen }: RowsEnding,
  exitCode: number,
  { triggersAgain }: CommandEnding,
): ErrorData {
  const [message = '', ...details] = summary.map((line) => line.trim());
  const code = codeOfReasons(reasons, exitCode) ?? ROW_CODES[exitCode] ?? 'interrupted';
  return {
    code,
    exitCode,
    message,
    details,
    hints: hints.map((line) => line.trim()),
    retryable: hasOpen && !triggersAgain && !NEEDS_CHANGE.includes(exitCode),
    runMayExist: hasUnknown,
    runId: null,
    ...(code === 'run-failed' && { step: null }),
    resume: null,
    service: null,
  };
}

/** Joins several errors, of which the first that decides the exit code is the one that is described. */
function joinErrors(errors: readonly ErrorData[], runs: number, exitCode: number): ErrorData {
  const deciding = errors.filter((error) => error.exitCode === exitCode);
  const [first] = deciding;
  const code = first?.code ?? 'mixed';
  const steps = new Set(deciding.map(({ step }) => step));
  const lines = errors.slice(0, MAX_LISTED).map(errorText);
  const omitted = errors.length - lines.length;
  const isOfRuns = errors.every(({ runId }) => runId !== null);
  return {
    code,
    exitCode,
    message: isOfRuns ? `${errors.length} of ${runs} runs did not succeed` : (first?.message ?? ''),
    details: omitted > 0 ? [...lines, `and ${omitted} more`] : lines,
    hints: [...new Set(errors.flatMap(({ hints }) => hints))],
    retryable: errors.every(({ retryable }) => retryable),
    runMayExist: errors.some(({ runMayExist }) => runMayExist),
    runId: null,
    ...(code === 'run-failed' && { step: steps.size === 1 ? (first?.step ?? null) : null }),
    resume: null,
    service: deciding.length === 1 ? (first?.service ?? null) : null,
  };
}

/** Returns an error as one line: `run-1: rejected: …`. */
function errorText({ runId, code, message, details, service }: ErrorData): string {
  const texts = [message, ...details, ...(service?.message == null ? [] : [service.message])];
  const prefix = runId === null ? [] : [sanitize(runId)];
  return [...prefix, code, texts.join('; ').replaceAll('\n', '; ')].join(': ');
}

// What an error says about another attempt

/** Returns whether the same command might succeed without any change. */
function mightSucceed(error: unknown): boolean {
  if (error instanceof InterruptedError || error instanceof FileChangedError) return true;
  if (error instanceof UnknownStatusError || error instanceof UnreadableResponseError) return true;
  if (error instanceof FileReadError) return isResourceExhaustion(error.cause);
  if (error instanceof NetworkError) return !isPermanent(error.fault) && error.fault !== 'too-large';
  if (error instanceof NotTriggeredError || error instanceof UnreachableRunError)
    return error.cause instanceof HttpError
      ? isTransient(error.cause.info.status)
      : mightSucceed(error.cause);
  return false;
}

/** Returns whether an error proves that the command created no run. */
function createsNothing(error: unknown): boolean {
  if (error instanceof InterruptedError) return error.sendState === 'unsent' || error.sendState === 'partial';
  return (
    error instanceof UsageError ||
    error instanceof FileChangedError ||
    error instanceof FileReadError ||
    error instanceof MissingTokenError ||
    error instanceof NotTriggeredError
  );
}

/** Returns whether a run may exist whose id is unknown. */
function mayHaveCreated(error: unknown): boolean {
  if (error instanceof InterruptedError) return error.sendState === 'complete';
  return error instanceof UnknownOutcomeError || error instanceof UnsettledRunError;
}

// The response that an error is about

function responseOf(error: unknown): ServiceResponse | null {
  const response = findResponse(error);
  if (response === undefined) return null;
  const { status = null, message } = response;
  return { status, message: textOrNull(message), requestId: requestIdOfError(error) ?? null };
}

interface FoundResponse {
  status?: number | undefined;
  message?: string | undefined;
}

function findResponse(error: unknown): FoundResponse | undefined {
  if (error instanceof HttpError || error instanceof NoSuchRunError) return error.info;
  if (error instanceof UnreadableResponseError) {
    const { status, excerpt, fields } = error.facts;
    return { status, message: fields === undefined ? excerpt : undefined };
  }
  if (error instanceof NetworkError) {
    const { status, proxy } = error.facts;
    return status === undefined || proxy ? undefined : { status };
  }
  const hasCause =
    error instanceof NotTriggeredError ||
    error instanceof UnreachableRunError ||
    error instanceof UnknownOutcomeError;
  return hasCause ? findResponse(error.cause) : undefined;
}

function textOrNull(text: string | undefined): string | null {
  return text ? sanitizeLines(text).join('\n') : null;
}
