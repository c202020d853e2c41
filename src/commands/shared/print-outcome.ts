/** How the observation of a run ended: the closing words, what belongs on stdout, and the exit. */

import { InterruptedError, NoSuchRunError, UnsavedDocumentError } from '../../errors.js';
import { type Exit, ExitCode, exitCodeOfStatus, exitOfError } from '../../exit-code.js';
import type { ReportedRun } from '../../report/reported-run.js';
import { hasEnded, type Run } from '../../service/run.js';
import { formatDuration } from '../../text/duration.js';
import { quoteLines, sanitize } from '../../text/sanitize.js';
import { errorText } from '../../view/errors/describe-error.js';
import { stepsDone, totalSteps } from '../../view/progress/run-progress.js';
import type { Reporter } from '../../view/reporter.js';
import type { RunPrinter } from './print-run.js';
import type { WatchOutcome } from './watch-run.js';

/**
 * Says how it ended, prints the last of it on stdout, and gives what the run came to. `commands` are those to go on
 * with; without them, nothing is said of going on, nor of an interruption: the caller does so for all of its runs. Never
 * throws.
 */
export async function printOutcome(
  outcome: WatchOutcome,
  commands: ResumeCommands | undefined,
  results: RunPrinter,
  reporter: Reporter,
): Promise<ReportedRun> {
  const { id, run, error, startedAt: started, durationMs: duration } = outcome;
  const unwritten = run === undefined ? undefined : await failureOf(results.closed(run));
  const failure = error ?? unwritten;
  const isHeld = run !== undefined && unwritten === undefined && results.holdsOutput(run);
  const exit =
    failure === undefined
      ? printEnd(outcome, commands, reporter)
      : await printWatchError(outcome, failure, commands, isHeld, reporter);
  const words = failure === undefined ? undefined : errorText(failure);
  return { id, workflowId: undefined, run, exit, started, duration, error: words };
}

function printEnd(outcome: WatchOutcome, commands: ResumeCommands | undefined, reporter: Reporter): Exit {
  const { id, run, durationMs } = outcome;
  if (run !== undefined && hasEnded(run)) {
    if (run.status === 'FINISHED') printFinished(run, outcome, reporter);
    else printFailed(run, outcome, commands, reporter);
    return exitCodeOfStatus(run.status);
  }
  const status = sanitize(run?.status ?? 'not seen');
  const steps = run === undefined ? '' : stepsText(run);
  const progress = steps === '' ? status : `${status} (${steps})`;
  reporter.block([`Still ${progress} after ${formatDuration(durationMs)}; run ${sanitize(id)} goes on.`]);
  if (commands !== undefined) reporter.notice(`To watch it: ${commands.watch}`);
  return ExitCode.stillRunning;
}

/** Commands that go on with a run, ready to be pasted into a shell. */
export interface ResumeCommands {
  watch: string;
  status: string;
}

function printFinished(run: Run, outcome: WatchOutcome, reporter: Reporter): void {
  if (reporter.presentation.quiet) return;
  const line = `Finished: run ${sanitize(run.id)}${facts(run, outcome, '')}`;
  reporter.block([line], 'Finished', reporter.style.good);
}

function printFailed(
  run: Run,
  outcome: WatchOutcome,
  commands: ResumeCommands | undefined,
  reporter: Reporter,
): void {
  const { message, step } = run.error ?? {};
  const lines = [
    step === undefined ? 'Failed' : `Failed at step ${sanitize(step)}`,
    ...(message ? quoteLines(message).split('\n') : ['(the service gave no message)']),
    `Run ${sanitize(run.id)}${facts(run, outcome, ' completed')}`,
  ];
  reporter.block(lines, 'Failed', reporter.style.bad);
  if (commands !== undefined) reporter.info(reporter.style.dim(`To look again: ${commands.status}`));
}

/** `, 4 of 4 steps in 12s, version 3`: what is known of it. */
function facts(run: Run, { accepted, wasUnderWay, durationMs }: WatchOutcome, completed: string): string {
  const steps = stepsText(run);
  // Only of a run that we triggered do we know how long it took.
  const duration = accepted ? `in ${formatDuration(durationMs)}` : '';
  const work = [steps && `${steps}${completed}`, duration].filter(Boolean).join(' ');
  const watched = wasUnderWay && !accepted ? `watched for ${formatDuration(durationMs)}` : '';
  const version = run.versionName === undefined ? '' : `version ${sanitize(run.versionName)}`;
  return [work, watched, version]
    .filter(Boolean)
    .map((fact) => `, ${fact}`)
    .join('');
}

async function printWatchError(
  { id, run }: WatchOutcome,
  error: unknown,
  commands: ResumeCommands | undefined,
  isHeld: boolean,
  reporter: Reporter,
): Promise<Exit> {
  const shownId = sanitize(id);
  if (error instanceof InterruptedError) {
    if (commands !== undefined) reporter.notice(`Interrupted; run ${shownId} ${stateOf(run)}.`);
  } else {
    if (!reporter.error(error)) await printInternalError(error, reporter);
    if (error instanceof NoSuchRunError) return exitOfError(error);
    const isUnsaved = error instanceof UnsavedDocumentError;
    const held = isUnsaved && isHeld ? '; the output on stdout holds its documents' : '';
    reporter.notice(
      run !== undefined && hasEnded(run) ? `Run ${shownId} has ended${held}.` : `Run ${shownId} may go on.`,
    );
  }
  if (commands !== undefined) reporter.notice(`To watch it: ${commands.watch}`);
  return exitOfError(error);
}

async function printInternalError(error: unknown, { output }: Reporter): Promise<void> {
  const { printError } = await import('../../view/errors/print-error.js');
  await printError(error, output);
}

function stateOf(run: Run | undefined): string {
  if (run === undefined) return 'was not seen, and may go on';
  return hasEnded(run) ? 'has ended' : 'goes on';
}

async function failureOf(work: Promise<void>): Promise<unknown> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error;
  }
}

function stepsText(run: Run): string {
  const total = totalSteps(run);
  return total === undefined ? '' : `${stepsDone(run)} of ${total} steps`;
}
