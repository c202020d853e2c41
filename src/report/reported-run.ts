/** What a run came to, as every report sees it, and what follows from that. All texts given here are inert. */

import { type Exit, ExitCode } from '../exit-code.js';
import type { Run } from '../service/run.js';
import { formatDuration } from '../text/duration.js';
import { sanitize, sanitizeLines } from '../text/sanitize.js';
import { stepsDone, totalSteps } from '../view/progress/run-progress.js';

export interface ReportedRun {
  /** Of a batch: the number of its row, from 1. */
  row?: number;
  /** Of a batch: where its row stands, such as `rows.csv:12`, or the path of its file. */
  label?: string;
  /** Undefined where the service never told it. */
  id: string | undefined;
  /** Undefined for a run that was only watched: a Run does not name its workflow. */
  workflowId: string | undefined;
  /** As it was seen last. */
  run: Run | undefined;
  exit: Exit;
  /** Of a batch: whether the service no longer knows the run that it accepted. */
  isLost?: true;
  /** Milliseconds since 1970, where it is known: the moment from which `duration` counts. */
  started?: number;
  /** Milliseconds since it was accepted or first asked for; where there is no run, since the command began. */
  duration: number;
  /** The words of the error that ended the work on it, if one did. */
  error: string | undefined;
}

/** All that one command came to. */
export interface CommandResult {
  runs: readonly ReportedRun[];
  exit: Exit;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** Milliseconds of the whole command. */
  durationMs: number;
}

/** `failed` is the run's own verdict; `unsettled` means that wfr did not see it end well, for whatever reason. */
export function verdictOf({ exit }: ReportedRun): 'succeeded' | 'failed' | 'unsettled' {
  if (exit === ExitCode.ok) return 'succeeded';
  return exit === ExitCode.runFailed ? 'failed' : 'unsettled';
}

/** The place of its row, which is the same however often it is sent; else the run's id, or its workflow's where it has none. */
export function nameOf({ label, id, workflowId }: ReportedRun): string {
  return sanitize(label ?? id ?? workflowId ?? 'unknown');
}

/** The status as it was seen last; empty where no run was seen. */
export function statusOf({ run }: ReportedRun): string {
  return run === undefined ? '' : sanitize(run.status ?? 'accepted');
}

/** `2 of 4`; empty where it is not known. */
export function stepsOf({ run }: ReportedRun): string {
  const total = run === undefined ? undefined : totalSteps(run);
  return run === undefined || total === undefined ? '' : `${stepsDone(run)} of ${total}`;
}

/** The step that failed; empty where none did. */
export function failingStepOf({ run }: ReportedRun): string {
  return run?.status === 'FAILED' ? sanitize(run.error?.step ?? '') : '';
}

/** Why it did not succeed, in one or more lines; none where it did. */
export function problemLines(reported: ReportedRun): string[] {
  const { error, exit, run, duration } = reported;
  if (error !== undefined) return sanitizeLines(error);
  if (exit === ExitCode.ok) return [];
  if (exit === ExitCode.stillRunning) {
    if (run === undefined) return ['it was not seen to end; the run goes on'];
    return [`still ${statusOf(reported)} after ${formatDuration(duration)}; the run goes on`];
  }
  return sanitizeLines(run?.error?.message || '(the service gave no message)');
}

/** The same, after a line for the step that failed. */
export function problemLinesWithStep(reported: ReportedRun): string[] {
  const step = failingStepOf(reported);
  return [...(step === '' ? [] : [`failed at step ${step}`]), ...problemLines(reported)];
}
