/** The end of a watched run: the closing block on stderr, the result on stdout, and the exit. */

import type { ServiceSettings } from '../../config/service.js';
import {
  InterruptedError,
  LostRunError,
  NoSuchRunError,
  NoSuchValueError,
  UnsavedDocumentError,
} from '../../errors.js';
import { type Exit, ExitCode, exitCodeOfStatus, exitOfError } from '../../exit-code.js';
import type { DocumentFolder } from '../../output-documents/document-folder.js';
import type { ReportedRun } from '../../report/reported-run.js';
import { hasEnded, type Run } from '../../service/run.js';
import { formatDuration } from '../../text/duration.js';
import { quoteLines, sanitize } from '../../text/sanitize.js';
import { isCopyable, shellCommand } from '../../text/shell-quote.js';
import { errorText, requestIdOfError } from '../../view/errors/describe-error.js';
import { stepsText } from '../../view/progress/run-progress.js';
import type { Reporter } from '../../view/reporter.js';
import type { OutputFormat, ValuePointer } from './output-flags.js';
import type { RunPrinter } from './print-run.js';
import type { CommandOutcome } from './session.js';
import type { WatchOutcome } from './watch-run.js';

/** Commands that continue with runs, quoted for a shell. */
export interface ResumeCommands {
  watch: string;
  status: string;
}

/** Returns the commands for `ids`: they use the same service and save the same documents as this one. */
export function resumeCommands(
  ids: readonly string[],
  { resumeFlags, platform }: Pick<ServiceSettings, 'resumeFlags' | 'platform'>,
  documents: DocumentFolder | undefined,
): ResumeCommands {
  const separator = ids.some((id) => id.startsWith('-')) ? ['--'] : [];
  const command = (name: string, flags: readonly string[] = []) =>
    shellCommand(['wfr', name, ...resumeFlags, ...flags, ...separator, ...ids], platform);
  return { watch: command('watch', documents?.flagsFor(ids)), status: command('status') };
}

/**
 * Prints how the watching ended, and the result on stdout. Returns the run for the reports. Without `commands`, the
 * caller prints how to continue, for all its runs together. Never throws.
 */
export async function printOutcome(
  outcome: WatchOutcome,
  commands: ResumeCommands | undefined,
  printer: RunPrinter,
  reporter: Reporter,
): Promise<ReportedRun> {
  const { run, error } = outcome;
  const outputError = run === undefined ? undefined : await catchError(printer.printEnd(run));
  const failure = error ?? outputError;
  const isPrinted = run !== undefined && outputError === undefined && printer.carriesOutput(run);
  const exit = failure === undefined ? exitOfRun(run) : exitOfError(failure);
  if (exit === ExitCode.ok || reporter.presentation.showsErrors) {
    if (failure === undefined) printEnd(outcome, commands, printer, reporter);
    else await printWatchError(outcome, failure, commands, isPrinted, reporter);
  }
  return reportedRun(outcome, failure, exit);
}

/** What continues with runs: the same service, documents, format and value. */
interface ResumePlan {
  settings: ServiceSettings;
  format: OutputFormat;
  pointer?: ValuePointer | undefined;
  documents?: DocumentFolder | undefined;
}

/** Returns the command that watches those of the runs again whose end is not known, for programs; none if there are none. */
export function resumeOf(
  runs: readonly ReportedRun[],
  { settings, format, pointer, documents }: ResumePlan,
): Pick<CommandOutcome, 'resume'> {
  const ids = runs.filter(canResume).flatMap(({ id }) => id ?? []);
  const hasNoValue = runs.some(({ failure }) => failure instanceof NoSuchValueError);
  const resumeFlags = [
    ...settings.resumeFlags,
    ...(format === 'text' ? [] : ['--output', format]),
    ...(pointer === undefined || hasNoValue ? [] : ['--get', pointer.text]),
  ];
  const resume = resumeCommands(ids, { ...settings, resumeFlags }, documents).watch;
  return ids.length > 0 && isCopyable(ids.join('')) ? { resume } : {};
}

/** Returns how the watching of a run ended, for reports and errors as data. */
export function reportedRun(
  { id, run, startedAt: started, durationMs: duration }: WatchOutcome,
  failure: unknown,
  exit: Exit,
): ReportedRun {
  const error = failure === undefined ? undefined : errorText(failure);
  const requestId = requestIdOfError(failure);
  return { id, workflowId: undefined, run, exit, started, duration, error, failure, requestId };
}

/** Returns whether watching a run again may show its end. */
export function canResume({ run, exit, failure }: ReportedRun): boolean {
  if (exit === ExitCode.ok || failure instanceof NoSuchRunError || failure instanceof LostRunError)
    return false;
  return failure !== undefined || run === undefined || !hasEnded(run);
}

/** Returns the exit of a run that is no longer watched. */
export function exitOfRun(run: Run | undefined): Exit {
  return run !== undefined && hasEnded(run) ? exitCodeOfStatus(run.status) : ExitCode.stillRunning;
}

function printEnd(
  outcome: WatchOutcome,
  commands: ResumeCommands | undefined,
  { showsEnds }: RunPrinter,
  reporter: Reporter,
): void {
  const { id, run, durationMs } = outcome;
  if (run !== undefined && showsEnds) return;
  if (run !== undefined && hasEnded(run)) {
    if (run.status === 'FINISHED') printFinished(run, outcome, reporter);
    else printFailed(run, outcome, commands, reporter);
    return;
  }
  const status = sanitize(run?.status ?? 'not seen');
  const steps = run === undefined ? '' : stepsText(run);
  const progress = steps === '' ? status : `${status} (${steps})`;
  reporter.block([`Still ${progress} after ${formatDuration(durationMs)}; run ${sanitize(id)} continues.`]);
  if (commands !== undefined) reporter.continuation(`To watch it: ${commands.watch}`);
}

function printFinished(run: Run, outcome: WatchOutcome, reporter: Reporter): void {
  if (reporter.presentation.quiet) return;
  const line = `Finished: run ${sanitize(run.id)}${formatFacts(run, outcome, '')}`;
  reporter.block([line], 'Finished', reporter.style.success);
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
    `Run ${sanitize(run.id)}${formatFacts(run, outcome, ' completed')}`,
  ];
  reporter.block(lines, 'Failed', reporter.style.error);
  if (commands !== undefined) reporter.continuation(`To show it again: ${commands.status}`, { isDim: true });
}

/** Returns `, 4 of 4 steps in 12s, version 3`, without what is unknown. */
function formatFacts(
  run: Run,
  { wasTriggered, wasRunning, durationMs }: WatchOutcome,
  completed: string,
): string {
  const steps = stepsText(run);
  // The duration of a run is known only if this command triggered it.
  const duration = wasTriggered ? `in ${formatDuration(durationMs)}` : '';
  const work = [steps && `${steps}${completed}`, duration].filter(Boolean).join(' ');
  const watched = wasRunning && !wasTriggered ? `watched for ${formatDuration(durationMs)}` : '';
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
  isPrinted: boolean,
  reporter: Reporter,
): Promise<void> {
  const shownId = sanitize(id);
  if (error instanceof InterruptedError) {
    if (commands !== undefined) reporter.notice(`Interrupted; run ${shownId} ${formatState(run)}.`);
  } else {
    if (!reporter.error(error)) await printInternalError(error, reporter);
    if (error instanceof NoSuchRunError || error instanceof LostRunError) return;
    const isUnsaved = error instanceof UnsavedDocumentError;
    const detail = isUnsaved && isPrinted ? '; the output on stdout contains its documents' : '';
    reporter.notice(
      run !== undefined && hasEnded(run)
        ? `Run ${shownId} has ended${detail}.`
        : `Run ${shownId} may still be running.`,
    );
  }
  const goal = error instanceof NoSuchValueError ? 'To print its output' : 'To watch it';
  if (commands !== undefined) reporter.continuation(`${goal}: ${commands.watch}`);
}

async function printInternalError(error: unknown, { output, presentation }: Reporter): Promise<void> {
  const { printError } = await import('../../view/errors/print-error.js');
  await printError(error, presentation.color ? 'always' : 'never', { stderr: output, env: {} });
}

function formatState(run: Run | undefined): string {
  if (run === undefined) return 'was not seen, and may still be running';
  return hasEnded(run) ? 'has ended' : 'continues';
}

async function catchError(work: Promise<void>): Promise<unknown> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error;
  }
}
