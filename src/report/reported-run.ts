/** The outcome of a run as all reports see it, and the texts derived from it. All returned texts are sanitized. */
import { type Exit, ExitCode } from '../exit-code.js';
import type { Run } from '../service/run.js';
import { formatDuration } from '../text/duration.js';
import { sanitize, sanitizeLines } from '../text/sanitize.js';
import type { ErrorData } from '../view/error-data/error-data.js';
import { type Outcome, outcomeOfExit } from '../view/outcome.js';
import { continuesText, stepsDone, totalSteps } from '../view/progress/run-progress.js';

export interface ReportedRun {
  /** In a batch: the row number, from 1. */
  row?: number;
  /** In a batch: the row's file and line, such as `rows.csv:12`, or the path of its document. */
  label?: string;
  /** Undefined if the service never returned it. */
  id: string | undefined;
  /** Undefined for a run that was only watched, as a Run does not name its workflow. */
  workflowId: string | undefined;
  /** The names of its inputs, if known. */
  inputs?: readonly string[];
  /** The last response for it. */
  run: Run | undefined;
  exit: Exit;
  /** In a batch: the outcome, where the exit does not tell. */
  outcome?: 'lost' | 'not sent';
  /** Milliseconds since 1970, if known: when `duration` begins. */
  started?: number;
  /** Milliseconds since it was accepted or first polled; without a run, since the command began. */
  duration: number;
  /** The message of the error that ended the work on it, if any. */
  error: string | undefined;
  /** That error, where this command has seen it. */
  failure?: unknown;
  /** The id that the service gave the request that failed, sanitized. */
  requestId?: string | undefined;
}

/** The outcome of a whole command. */
export interface CommandResult {
  runs: readonly ReportedRun[];
  exit: Exit;
  /** Milliseconds since 1970. */
  startedAt: number;
  durationMs: number;
  /** What ended the command with another exit code than 0. */
  error?: ErrorData | undefined;
}

/** Returns how the run ended, in one word. */
export function outcomeOf({ exit, run, outcome }: ReportedRun): Outcome {
  const isAccepted = exit === ExitCode.ok && run !== undefined && run.status !== 'FINISHED';
  return outcome ?? (isAccepted ? 'accepted' : outcomeOfExit(exit));
}

/** Returns `failed` for a run that ended FAILED, `unsettled` for any other outcome but success. */
export function verdictOf({ exit }: ReportedRun): 'succeeded' | 'failed' | 'unsettled' {
  if (exit === ExitCode.ok) return 'succeeded';
  return exit === ExitCode.runFailed ? 'failed' : 'unsettled';
}

/** Returns the row's label, which stays the same when the row is sent again; else the run's id, else the workflow's. */
export function nameOf({ label, id, workflowId }: ReportedRun): string {
  return sanitize(label ?? id ?? workflowId ?? 'unknown');
}

/** Returns the last known status; empty if no run was seen. */
export function statusOf({ run }: ReportedRun): string {
  return run === undefined ? '' : sanitize(run.status ?? 'accepted');
}

/** Returns progress such as `2 of 4`; empty if unknown. */
export function stepsOf({ run }: ReportedRun): string {
  const total = run === undefined ? undefined : totalSteps(run);
  return run === undefined || total === undefined ? '' : `${stepsDone(run)} of ${total}`;
}

/** Returns the step that failed; empty if none did. */
export function failingStepOf({ run }: ReportedRun): string {
  return run?.status === 'FAILED' ? sanitize(run.error?.step ?? '') : '';
}

/** Returns why the run did not succeed, in one or more lines; none if it did. */
export function problemLines(reported: ReportedRun): string[] {
  const { error, exit, run, duration } = reported;
  if (error !== undefined) return sanitizeLines(error);
  if (exit === ExitCode.ok) return [];
  if (exit === ExitCode.stillRunning) {
    const state = `the run ${continuesText(run)}`;
    if (run === undefined) return [`its end was not seen; ${state}`];
    return [`still ${statusOf(reported)} after ${formatDuration(duration)}; ${state}`];
  }
  return sanitizeLines(run?.error?.message || '(the service gave no message)');
}

/** Returns the problem's lines after one for the failed step, if known. */
export function problemLinesWithStep(reported: ReportedRun): string[] {
  const step = failingStepOf(reported);
  return [...(step === '' ? [] : [`failed at step ${step}`]), ...problemLines(reported)];
}

/** Returns a line that names the request that failed, if its id is known. */
export function requestLines({ requestId }: ReportedRun): string[] {
  return requestId === undefined ? [] : [`request id: ${sanitize(requestId)}`];
}
