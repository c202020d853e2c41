/** Exit codes and error codes: the tables that users see. */

/** A signal after which wfr cleans up and ends. */
export type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

export enum ExitCode {
  ok = 0,
  runFailed = 1,
  usage = 2,
  mixed = 3,
  unauthorized = 4,
  rejected = 5,
  unknownOutcome = 6,
  unreachable = 7,
  stillRunning = 8,
  noSuchValue = 65,
  internalError = 70,
  outputNotWritten = 74,
}

/** How wfr ends: with an exit code, or by a signal that bin/wfr.js raises again. */
export type Exit = number | SignalName;

export const SIGNAL_EXIT_CODES: Readonly<Record<SignalName, number>> = {
  SIGHUP: 129,
  SIGINT: 130,
  SIGTERM: 143,
};

/** The table in `wfr help exit-codes` and the README. */
export const EXIT_CODE_MEANINGS: readonly (readonly [codes: string, meaning: string])[] = [
  ['0', 'every run FINISHED; or accepted, with --detach; or read, with status'],
  ['1', 'a run ended FAILED'],
  ['2', 'invalid flags, inputs, files or configuration; no run was created'],
  ['3', 'several runs that ended differently, and none of the codes below'],
  ['4', 'no token, or it was rejected (401, 403)'],
  ['5', 'the service rejected the request, or knows no such run; no run was created'],
  ['6', 'the outcome is unknown: a run may exist; check before you run the command again'],
  ['7', 'the service could not be reached (no run was created), or no longer while watching'],
  ['8', 'still PENDING or RUNNING when wfr stopped waiting (--timeout, status --exit-status)'],
  ['65', 'the run finished, but its output has no value at the --get pointer'],
  ['70', 'internal error'],
  ['74', 'the result is known but could not be written'],
  ['129, 130, 143', 'ended by SIGHUP, SIGINT (Ctrl-C), SIGTERM'],
];

/**
 * What ends a command, in one word for programs: its exit code, and the state that it leaves a run in (outcome/outcome.ts).
 * Where several errors have the same exit code, the first one stands for them all. error.schema.json describes them.
 */
export const ERROR_CODES = {
  usage: [ExitCode.usage, 'invalid'],
  unauthorized: [ExitCode.unauthorized, 'unauthorized'],
  forbidden: [ExitCode.unauthorized, 'unauthorized'],
  'no-token': [ExitCode.unauthorized, 'unauthorized'],
  rejected: [ExitCode.rejected, 'rejected'],
  'no-such-run': [ExitCode.rejected, 'rejected'],
  'unknown-outcome': [ExitCode.unknownOutcome, 'unknown'],
  unreachable: [ExitCode.unreachable, 'unreachable'],
  'unknown-status': [ExitCode.unreachable, 'unreachable'],
  'not-triggered': [ExitCode.unreachable, 'unreachable'],
  'run-failed': [ExitCode.runFailed, 'failed'],
  'still-running': [ExitCode.stillRunning, 'running'],
  mixed: [ExitCode.mixed, 'unreachable'],
  interrupted: ['signal', 'interrupted'],
  'no-such-value': [ExitCode.noSuchValue, 'no value'],
  'output-not-written': [ExitCode.outputNotWritten, 'not written'],
  internal: [ExitCode.internalError, 'internal error'],
} as const satisfies Record<string, readonly [ExitCode | 'signal', state: string]>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Returns an exit as a number. */
export function toExitCode(exit: Exit): number {
  return typeof exit === 'number' ? exit : SIGNAL_EXIT_CODES[exit];
}

/**
 * Returns the one exit of several runs: the first that applies of a signal, 70, 74, 6, 4, 7, 8; else the code that all
 * of them share; else 3.
 */
export function exitOfSeveral(exits: readonly Exit[]): Exit {
  const signal = exits.find((exit) => typeof exit === 'string');
  if (signal) return signal;
  const precedence = [
    ExitCode.internalError,
    ExitCode.outputNotWritten,
    ExitCode.unknownOutcome,
    ExitCode.unauthorized,
    ExitCode.unreachable,
    ExitCode.stillRunning,
  ];
  const first = precedence.find((code) => exits.includes(code));
  if (first !== undefined) return first;
  return new Set(exits).size > 1 ? ExitCode.mixed : (exits[0] ?? ExitCode.ok);
}
