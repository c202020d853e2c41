/**
 * What ended a command, as data for programs: the last line of stderr with --json, and `error` in `--report json`. Its
 * schema is error.schema.json.
 */
import type { Facts } from '../errors.js';
import { ERROR_CODES, type ErrorCode, type Exit, ExitCode, toExitCode } from '../exit-code.js';
import { sanitizeJson, truncate } from '../text/sanitize.js';
import type { SecretMask } from '../text/secret-mask.js';
import {
  endOf,
  exitOf,
  exitOfError,
  MAX_LISTED_RUNS,
  type Outcome,
  STATES,
  type State,
  stillText,
} from './outcome.js';

/** The response that an error is about; null for what is unknown. */
interface ServiceResponse {
  status: number | null;
  message: string | null;
  requestId: string | null;
}

/** A run, or a row of a batch, that did not succeed. */
export interface RunData {
  row?: number;
  label?: string;
  id: string | null;
  code: ErrorCode;
}

export interface ErrorData {
  code: ErrorCode;
  exitCode: number;
  message: string;
  details: readonly string[];
  hints: readonly string[];
  /** Whether the same command may be run again without the danger of a second run, and might succeed. */
  retryable: boolean;
  /** How long the service asks to wait before the next request. */
  retryAfterMs: number | null;
  /** How many requests to trigger the run were sent. */
  attempts: number | null;
  /** Whether a run may exist whose id is unknown. */
  runMayExist: boolean;
  /** An id that the run may have. */
  candidateId: string | null;
  runId: string | null;
  /** The step at which a run failed. */
  step: string | null;
  /** The inputs that are not those of the run that --once recorded. */
  differs: readonly string[];
  /** A command that continues with the runs. */
  resume: string | null;
  service: ServiceResponse | null;
  /** The number of runs and rows that did not succeed, and the first of them. */
  runCount: number;
  runs: readonly RunData[];
}

/** What every description begins with: it decides the order of the members. */
const EMPTY: Omit<ErrorData, 'code' | 'exitCode' | 'message'> & Partial<ErrorData> = {
  code: 'internal',
  exitCode: ExitCode.internalError,
  message: '',
  details: [],
  hints: [],
  retryable: false,
  retryAfterMs: null,
  attempts: null,
  runMayExist: false,
  candidateId: null,
  runId: null,
  step: null,
  differs: [],
  resume: null,
  service: null,
  runCount: 0,
  runs: [],
};

/** Why some rows did not succeed. */
interface RowsReason {
  state: State;
  /** That of their error; undefined if their runs ended. */
  code: ErrorCode | undefined;
}

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
  /** The number of rows that did not succeed, and the first of them. */
  runCount: number;
  runs: readonly RunData[];
  /** How long the service asked to wait, at most. */
  retryAfter?: number | undefined;
}

/** How a command ended. */
export interface CommandEnding {
  exit: Exit;
  outcomes: readonly Outcome[];
  /** The error that ended it before its runs, which is then that of all of them. */
  failure?: Facts | undefined;
  /** The errors of reports that could not be written. */
  failures: readonly Facts[];
  rows?: RowsEnding | undefined;
  /** The command that continues with the runs. */
  resume?: string | undefined;
  /** What to add to that command, one line each. */
  resumeHints?: readonly string[] | undefined;
  /** Whether the same command would trigger another run if one exists. */
  triggersAgain: boolean;
  /** Whether an internal error may have come after a trigger was sent. */
  mayHaveSent: boolean;
}

/** The result of a whole command, for reports. */
export interface CommandResult {
  runs: readonly Outcome[];
  exit: Exit;
  /** Milliseconds since 1970. */
  startedAt: number;
  durationMs: number;
  /** What ended the command with another exit code than 0. */
  error?: ErrorData | undefined;
}

/** Errors that are listed at most. */
const MAX_LISTED = 100;

/** Describes a command whose exit code is not 0. */
export function describeEnding(ending: CommandEnding): ErrorData {
  const { exit, outcomes, failures, rows, triggersAgain, resume = null, resumeHints = [] } = ending;
  const exitCode = toExitCode(exit);
  const errors = [...describeWork(ending), ...failures.map((facts) => describeFacts(facts, ending))];
  const [only] = errors;
  const joined =
    only !== undefined && errors.length === 1 && only.exitCode === exitCode
      ? only
      : joinErrors(errors, outcomes.length, exitCode);
  const isRepeatable =
    exitCode !== ExitCode.unknownOutcome && !(triggersAgain && outcomes.some(({ id }) => id !== undefined));
  const runId = outcomes.length === 1 ? (outcomes[0]?.id ?? null) : joined.runId;
  const hints = resume === null ? joined.hints : [...joined.hints, ...resumeHints];
  const runs = rows ?? listRuns(outcomes);
  const { runCount } = runs;
  const retryable = joined.retryable && isRepeatable;
  return { ...joined, hints, retryable, runId, resume, runCount, runs: runs.runs };
}

/** Returns the runs that did not succeed. */
function listRuns(outcomes: readonly Outcome[]): Pick<ErrorData, 'runCount' | 'runs'> {
  const failed = outcomes.filter((outcome) => exitOf(outcome) !== ExitCode.ok);
  const runs = failed.slice(0, MAX_LISTED_RUNS).map(({ row, label, id = null, run, error }): RunData => {
    const code = error?.code ?? endOf(run?.status)?.errorCode ?? 'still-running';
    return { ...(row !== undefined && { row }), ...(label !== undefined && { label }), id, code };
  });
  return { runCount: failed.length, runs };
}

/** Describes the work of a command: as a whole, or each run that did not succeed. */
function describeWork(ending: CommandEnding): ErrorData[] {
  const { exit, outcomes, failure, rows } = ending;
  const whole = [
    ...(failure === undefined ? [] : [describeFacts(failure, ending)]),
    ...(rows === undefined ? [] : [describeRows(rows, toExitCode(exit), ending)]),
  ];
  if (whole.length > 0) return whole;
  return outcomes
    .filter((outcome) => exitOf(outcome) !== ExitCode.ok)
    .map((outcome) => describeOutcome(outcome, ending));
}

/** Describes an error that ended a command before it knew of any run. */
export function describeThrown(facts: Facts): ErrorData {
  return describeFacts(facts, { triggersAgain: false, mayHaveSent: false });
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

function describeFacts(
  facts: Facts,
  { triggersAgain, mayHaveSent }: Pick<CommandEnding, 'triggersAgain' | 'mayHaveSent'>,
): ErrorData {
  const { code, hints, createdNothing, isTemporary } = facts;
  const runMayExist = facts.runMayExist || (code === 'internal' && mayHaveSent);
  const isSafe = triggersAgain ? createdNothing : !runMayExist;
  return {
    ...EMPTY,
    code,
    exitCode: toExitCode(exitOfError(facts)),
    ...textsOf(facts),
    hints,
    retryable: isSafe && isTemporary,
    retryAfterMs: facts.response?.retryAfter ?? null,
    attempts: facts.attempts ?? null,
    runMayExist,
    candidateId: facts.candidateId ?? null,
    runId: facts.recorded?.runId ?? null,
    differs: facts.recorded?.differs ?? [],
    service: serviceOf(facts),
  };
}

function textsOf({ summary, serverMessage, response, stack }: Facts): Pick<ErrorData, 'message' | 'details'> {
  if (stack !== undefined) return { message: 'internal error', details: stack };
  const [message = '', ...details] = summary;
  // The service's message has a member of its own.
  const isOther = serverMessage !== undefined && textOrNull(response?.message) === null;
  return { message, details: isOther ? [...details, ...linesOf(serverMessage)] : details };
}

function serviceOf({ response }: Facts): ServiceResponse | null {
  if (response === undefined) return null;
  const { status = null, message, requestId = null } = response;
  return { status, message: textOrNull(message), requestId };
}

// Runs and rows

function describeOutcome({ id, run, error, durationMs }: Outcome, ending: CommandEnding): ErrorData {
  const runId = id ?? null;
  if (error !== undefined) return { ...describeFacts(error, ending), runId };
  const end = endOf(run?.status);
  if (end?.errorCode === undefined) {
    return {
      ...EMPTY,
      code: 'still-running',
      exitCode: ExitCode.stillRunning,
      message: stillText(run, durationMs),
      retryable: true,
      runId,
    };
  }
  const { message, step } = run?.error ?? {};
  return {
    ...EMPTY,
    code: end.errorCode,
    exitCode: end.exit,
    message: step === undefined ? `the run ${end.state}` : `the run ${end.state} at step ${truncate(step)}`,
    runId,
    step: step === undefined ? null : truncate(step),
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
  const deciding = reasons.filter(({ state, code }) => {
    const exit = code === undefined ? STATES[state].exit : ERROR_CODES[code][0];
    return exit === exitCode;
  });
  const codes = new Set(deciding.map(({ code }) => code));
  return codes.size === 1 ? [...codes][0] : undefined;
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
  { summary, hints, reasons, hasUnknown, hasOpen, retryAfter }: RowsEnding,
  exitCode: number,
  { triggersAgain }: CommandEnding,
): ErrorData {
  const [message = '', ...details] = summary.map((line) => line.trim());
  const code = codeOfReasons(reasons, exitCode) ?? ROW_CODES[exitCode] ?? 'interrupted';
  return {
    ...EMPTY,
    code,
    exitCode,
    message,
    details,
    hints: hints.map((line) => line.trim()),
    retryable: hasOpen && !triggersAgain && !NEEDS_CHANGE.includes(exitCode),
    retryAfterMs: retryAfter ?? null,
    runMayExist: hasUnknown,
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
  const waits = errors.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
  return {
    ...EMPTY,
    code,
    exitCode,
    message: isOfRuns ? `${errors.length} of ${runs} runs did not succeed` : (first?.message ?? ''),
    details: omitted > 0 ? [...lines, `and ${omitted} more`] : lines,
    hints: [...new Set(errors.flatMap(({ hints }) => hints))],
    retryable: errors.every(({ retryable }) => retryable),
    retryAfterMs: waits.length > 0 ? Math.max(...waits) : null,
    runMayExist: errors.some(({ runMayExist }) => runMayExist),
    step: steps.size === 1 ? (first?.step ?? null) : null,
    service: deciding.length === 1 ? (first?.service ?? null) : null,
  };
}

/** Returns an error as one line: `run-1: rejected: …`. */
function errorText({ runId, code, message, details, service }: ErrorData): string {
  const texts = [message, ...details, ...(service?.message == null ? [] : [service.message])];
  const prefix = runId === null ? [] : [truncate(runId)];
  return [...prefix, code, texts.join('; ').replaceAll('\n', '; ')].join(': ');
}

function textOrNull(text: string | undefined): string | null {
  return text ? linesOf(text).join('\n') : null;
}

/** Returns the lines of a text of the service. */
function linesOf(text: string): string[] {
  return truncate(text)
    .replace(/(\r?\n)+$/, '')
    .split(/\r?\n/);
}
