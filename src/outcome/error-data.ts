/**
 * What ended a command, as data for programs: the last line of stderr with --json, and `error` in `--report json`. Its
 * schema is error.schema.json.
 */
import { type Facts, WfrError } from '../errors.js';
import { ERROR_CODES, type ErrorCode, type Exit, ExitCode, toExitCode } from '../exit-code.js';
import { linesOf, sanitizeJson, truncate } from '../text/sanitize.js';
import type { SecretMask } from '../text/secret-mask.js';
import { exitOfError, isSuccess, MAX_LISTED_RUNS, type Outcome, stillText } from './outcome.js';

/** A run, or a row of a batch, that did not succeed. */
export interface RunData {
  row?: number | undefined;
  label?: string | undefined;
  id: string | null;
  code: ErrorCode;
}

/** What error.schema.json describes. */
export type ErrorData = ReturnType<typeof describeError>;

/** How the rows of a table ended, for this command or an earlier one. */
export interface RowsEnding {
  /** What happened, one line each. */
  summary: readonly string[];
  /** What to do next, one line each. */
  hints: readonly string[];
  /** Why rows did not succeed: the codes of their errors, undefined if their runs ended. */
  reasons: readonly { code: ErrorCode | undefined }[];
  hasUnknown: boolean;
  /** Whether the same command continues with rows that have not ended. */
  hasOpen: boolean;
  /** The number of rows that did not succeed, and the first of them. */
  runCount: number;
  runs: readonly RunData[];
  /** How long the service asked to wait, at most. */
  retryAfter?: number | undefined;
}

/** How the work of a command ended. */
export interface WorkEnding {
  runs: readonly Outcome[];
  /** The error that ended it before its runs, which is then that of all of them, and has been printed. */
  failure?: Facts | undefined;
  rows?: RowsEnding | undefined;
  /** The command that continues with the runs. */
  resume?: string | undefined;
  /** What to add to that command, one line each. */
  resumeHints?: readonly string[] | undefined;
}

/** How a command ended. */
export interface CommandEnding extends WorkEnding {
  exit: Exit;
  /** The errors of reports that could not be written. */
  failures: readonly Facts[];
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
  const { exit, runs: outcomes, failures, rows, triggersAgain, resume = null, resumeHints = [] } = ending;
  const exitCode = toExitCode(exit);
  const failed = outcomes.filter((outcome) => !isSuccess(outcome));
  const errors = [...describeWork(ending, failed), ...failures.map((facts) => describeError(facts, ending))];
  const [only] = errors;
  const joined =
    errors.length === 1 && only?.exitCode === exitCode ? only : joinErrors(errors, outcomes.length, exitCode);
  const wouldRepeat = triggersAgain && outcomes.some(({ id }) => id !== undefined);
  const listed = failed.slice(0, MAX_LISTED_RUNS).map((outcome): RunData => {
    const { row, label, id = null } = outcome;
    return { row, label, id, code: factsOfOutcome(outcome).code };
  });
  const { runCount, runs } = rows ?? { runCount: failed.length, runs: listed };
  return {
    ...joined,
    hints: [...joined.hints, ...resumeHints],
    retryable: joined.retryable && !wouldRepeat,
    runId: outcomes.length === 1 ? (outcomes[0]?.id ?? null) : joined.runId,
    resume,
    runCount,
    runs,
  };
}

/** Describes the work of a command: as a whole, or each run that did not succeed. */
function describeWork(ending: CommandEnding, failed: readonly Outcome[]): ErrorData[] {
  const { failure, rows } = ending;
  const whole = [
    ...(failure ? [describeError(failure, ending)] : []),
    ...(rows ? [describeRows(rows, ending)] : []),
  ];
  if (whole.length > 0) return whole;
  return failed.map((outcome) => {
    const facts = factsOfOutcome(outcome);
    const step = facts.code === 'run-failed' ? outcome.run?.error?.step : undefined;
    return { ...describeError(facts, ending), runId: outcome.id ?? null, step: textOrNull(step) };
  });
}

/** Returns what kept a run from success. */
function factsOfOutcome({ run, error, durationMs }: Outcome): Facts {
  if (error) return error;
  if (run?.status !== 'FAILED')
    return new WfrError('still-running', [stillText(run, durationMs)], { isTemporary: true }).facts;
  const { message, step } = run.error ?? {};
  const where = step === undefined ? '' : ` at step ${step}`;
  return new WfrError('run-failed', [`the run failed${where}`], { response: { message } }).facts;
}

/** Describes an error; by default one that ended a command before it knew of any run. */
export function describeError(
  facts: Facts,
  { triggersAgain, mayHaveSent = false }: Partial<CommandEnding> = {},
) {
  const { code, summary, hints, response, serverMessage, recorded, stack, createdNothing, isTemporary } =
    facts;
  const runMayExist = facts.runMayExist || (code === 'internal' && mayHaveSent);
  const isSafe = triggersAgain ? createdNothing : !runMayExist;
  const [message = '', ...details] = stack ? ['internal error', ...stack] : summary.map(truncate);
  const said = textOrNull(response?.message);
  // The service's message has a member of its own.
  const excerpt = said === null && serverMessage !== undefined ? linesOf(serverMessage) : [];
  return {
    code,
    exitCode: toExitCode(exitOfError(facts)),
    message,
    details: [...details, ...excerpt],
    hints: hints.map(truncate),
    retryable: isSafe && isTemporary,
    retryAfterMs: response?.retryAfter ?? null,
    attempts: facts.attempts ?? null,
    runMayExist,
    candidateId: facts.candidateId ?? null,
    runId: recorded?.runId ?? null,
    step: null as string | null,
    differs: recorded?.differs ?? [],
    resume: null as string | null,
    service: response
      ? { status: response.status ?? null, message: said, requestId: response.requestId ?? null }
      : null,
    runCount: 0,
    runs: [] as readonly RunData[],
  };
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
  { exit, triggersAgain }: CommandEnding,
): ErrorData {
  const exitCode = toExitCode(exit);
  const code = codeOfRows(reasons, exitCode);
  const lines = summary.map((line) => line.trim());
  const { facts } = new WfrError(code, lines, {
    hints,
    isTemporary: hasOpen && !triggersAgain && !NEEDS_CHANGE.includes(exitCode),
  });
  return {
    ...describeError(facts),
    exitCode,
    runMayExist: hasUnknown,
    retryAfterMs: retryAfter ?? null,
  };
}

/** Returns the code that all rows have that decide the exit code; if they have several, the one that stands for it. */
function codeOfRows(reasons: RowsEnding['reasons'], exitCode: number): ErrorCode {
  const decides = (code: ErrorCode) => ERROR_CODES[code][0] === exitCode;
  const [code, another] = new Set(reasons.flatMap(({ code }) => (code && decides(code) ? code : [])));
  if (code && !another) return code;
  return (Object.keys(ERROR_CODES) as ErrorCode[]).find(decides) ?? 'interrupted';
}

/** Joins several errors, of which the first that decides the exit code is the one that is described. */
function joinErrors(errors: readonly ErrorData[], runs: number, exitCode: number): ErrorData {
  const deciding = errors.filter((error) => error.exitCode === exitCode);
  const [first = describeError(new WfrError('mixed', []).facts)] = deciding;
  const steps = new Set(deciding.map(({ step }) => step));
  const lines = errors.slice(0, MAX_LISTED).map(errorText);
  const omitted = errors.length - lines.length;
  const isOfRuns = errors.every(({ runId }) => runId !== null);
  const waits = errors.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
  return {
    ...first,
    exitCode,
    message: isOfRuns ? `${errors.length} of ${runs} runs did not succeed` : first.message,
    details: omitted > 0 ? [...lines, `and ${omitted} more`] : lines,
    hints: [...new Set(errors.flatMap(({ hints }) => hints))],
    retryable: errors.every(({ retryable }) => retryable),
    retryAfterMs: waits.length > 0 ? Math.max(...waits) : null,
    runMayExist: errors.some(({ runMayExist }) => runMayExist),
    // What is so of one of them only.
    ...{ attempts: null, candidateId: null, runId: null, differs: [] },
    step: steps.size === 1 ? first.step : null,
    service: deciding.length === 1 ? first.service : null,
  };
}

/** Returns an error as one line: `run-1: rejected: …`. */
function errorText({ runId, code, message, details, service }: ErrorData): string {
  const texts = [message, ...details, service?.message ?? []].flat();
  const prefix = runId === null ? [] : [truncate(runId)];
  return [...prefix, code, texts.join('; ').replaceAll('\n', '; ')].join(': ');
}

function textOrNull(text: string | undefined): string | null {
  return text ? linesOf(text).join('\n') : null;
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
