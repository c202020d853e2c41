/** What each way of ending means to a script: the one table of exit codes. */
import {
  FileChangedError,
  FileReadError,
  HttpError,
  InterruptedError,
  MissingTokenError,
  NetworkError,
  NoSuchRunError,
  NotTriggeredError,
  OutputError,
  type SignalName,
  UnknownOutcomeError,
  UnknownStatusError,
  UnreachableRunError,
  UnreadableResponseError,
  UsageError,
} from './errors.js';
import { isResourceExhaustion } from './platform/system-error.js';
import type { TerminalStatus } from './service/run.js';

export const ExitCode = {
  ok: 0,
  runFailed: 1,
  usage: 2,
  mixed: 3,
  notAuthorized: 4,
  refused: 5,
  unknownOutcome: 6,
  unreachable: 7,
  stillRunning: 8,
  defect: 70,
  cannotWrite: 74,
} as const;

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** How wfr ends: with a code, or by a signal that bin raises again. */
export type Exit = number | SignalName;

export const SIGNAL_EXIT_CODES: Readonly<Record<SignalName, number>> = {
  SIGHUP: 129,
  SIGINT: 130,
  SIGTERM: 143,
};

/** The rows of the table that `wfr help exit-codes` and the README show. */
export const EXIT_CODE_MEANINGS: readonly (readonly [codes: string, meaning: string])[] = [
  ['0', 'every run FINISHED; or accepted, with --detach; or read, with status'],
  ['1', 'a run ended FAILED'],
  ['2', 'bad flags, inputs, files or configuration; no run was created'],
  ['3', 'several runs that ended differently, and none of the rest'],
  ['4', 'no token, or the service refused it (401, 403)'],
  ['5', 'the service refused the request, or knows no such run; no run was created'],
  ['6', "the trigger's outcome is unknown: a run may exist, look before you repeat it"],
  ['7', 'the service could not be reached (no run was created), or no longer observed'],
  ['8', 'still PENDING or RUNNING when we stopped (--timeout, status --exit-status)'],
  ['70', 'a defect of wfr itself'],
  ['74', 'the result is known but could not be written'],
  ['129, 130, 143', 'ended by SIGHUP, SIGINT (Ctrl-C), SIGTERM'],
];

/** The code for the way a run ended by itself. */
export function exitCodeOfStatus(status: TerminalStatus): ExitCode {
  switch (status) {
    case 'FINISHED':
      return ExitCode.ok;
    case 'FAILED':
      return ExitCode.runFailed;
    default:
      return status satisfies never;
  }
}

/** The code, or the signal, that stands for a thrown value; whatever wfr does not foresee is its own defect. */
export function exitOfError(error: unknown): Exit {
  if (error instanceof InterruptedError) return error.signal;
  if (error instanceof UsageError || error instanceof FileChangedError) return ExitCode.usage;
  if (error instanceof FileReadError)
    return isResourceExhaustion(error.cause) ? ExitCode.unreachable : ExitCode.usage;
  if (error instanceof MissingTokenError) return ExitCode.notAuthorized;
  if (error instanceof HttpError) return exitCodeOfRefusal(error.info.status);
  if (error instanceof NoSuchRunError) return ExitCode.refused;
  if (error instanceof UnknownOutcomeError) return ExitCode.unknownOutcome;
  if (error instanceof OutputError) return ExitCode.cannotWrite;
  if (error instanceof UnreachableRunError) {
    const tooLarge = error.cause instanceof NetworkError && error.cause.fault === 'too-large';
    return tooLarge ? ExitCode.cannotWrite : ExitCode.unreachable;
  }
  if (
    error instanceof NotTriggeredError ||
    error instanceof UnknownStatusError ||
    error instanceof NetworkError ||
    error instanceof UnreadableResponseError
  ) {
    return ExitCode.unreachable;
  }
  return ExitCode.defect;
}

function exitCodeOfRefusal(status: number): ExitCode {
  return status === 401 || status === 403 ? ExitCode.notAuthorized : ExitCode.refused;
}

/** The one exit of several runs: the first that applies of a signal, 70, 74, 6, 4, 7, 8; else what they share; else 3. */
export function exitOfSeveral(exits: readonly Exit[]): Exit {
  const signal = exits.find((exit) => typeof exit === 'string');
  if (signal !== undefined) return signal;
  const order = [
    ExitCode.defect,
    ExitCode.cannotWrite,
    ExitCode.unknownOutcome,
    ExitCode.notAuthorized,
    ExitCode.unreachable,
    ExitCode.stillRunning,
  ];
  const first = order.find((code) => exits.includes(code));
  if (first !== undefined) return first;
  return new Set(exits).size > 1 ? ExitCode.mixed : (exits[0] ?? ExitCode.ok);
}
