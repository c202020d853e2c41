/** The end of a watched run: the closing block on stderr, the result on stdout, and the exit. */

import type { ServiceFlags } from '../../config/resolve-setting.js';
import type { ServiceSettings } from '../../config/service.js';
import type { Facts } from '../../errors.js';
import { ExitCode } from '../../exit-code.js';
import {
  continuesText,
  endOf,
  exitOf,
  NO_MESSAGE,
  type Outcome,
  statusText,
  stepsText,
  stillText,
} from '../../outcome/outcome.js';
import type { DocumentFolder } from '../../output-documents/document-folder.js';
import { hasEnded, type Run } from '../../service/run.js';
import { formatDuration, parseDuration } from '../../text/quantity.js';
import { quoteLines, sanitize } from '../../text/sanitize.js';
import { isCopyable, shellCommand } from '../../text/shell-quote.js';
import type { PresentationFlags } from '../../view/presentation.js';
import type { Reporter } from '../../view/reporter.js';
import type { OutputFormat, ValuePointer } from './output-flags.js';
import type { RunPrinter } from './print-run.js';
import type { ReportFlags } from './reports.js';
import type { CommandOutcome } from './session.js';
import { type WatchOutcome, withError } from './watch-run.js';

/** What is saved in folders, as the flags of another command. */
type SavedFiles = Pick<DocumentFolder, 'flagsFor'>;

/** The command that continues with runs, quoted for a shell, and the page of the only one. */
export type ResumeCommands = ReturnType<typeof resumeCommands>;

/** Returns the command for `ids`: it uses the same service and saves the same documents as this one. */
export function resumeCommands(
  ids: readonly string[],
  { resumeFlags, platform, pageOf }: Pick<ServiceSettings, 'resumeFlags' | 'platform' | 'pageOf'>,
  documents: SavedFiles | undefined,
) {
  const separator = ids.some((id) => id.startsWith('-')) ? ['--'] : [];
  const flags = documents?.flagsFor(ids) ?? [];
  const watch = shellCommand(['wfr', 'watch', ...resumeFlags, ...flags, ...separator, ...ids], platform);
  const [id = '', another] = ids;
  return { watch, page: another === undefined ? pageOf(id) : undefined };
}

/**
 * Prints how the watching ended, and the result on stdout. Returns the outcome with the error of that, if there was one.
 * Without `commands`, the caller prints how to continue, for all its runs together. Never throws.
 */
export async function printOutcome(
  watched: WatchOutcome,
  commands: ResumeCommands | undefined,
  printer: RunPrinter,
): Promise<WatchOutcome> {
  const { run } = watched;
  const { reporter } = printer.output;
  const outputError = await (run && printer.printEnd(run).catch((error: unknown) => error));
  const isPrinted = run !== undefined && outputError === undefined && printer.carriesOutput(run);
  const outcome = withError(watched.thrown ?? outputError, watched);
  const { error } = outcome;
  if (exitOf(outcome) === ExitCode.ok || reporter.presentation.showsErrors) {
    if (error === undefined) printEnd(outcome, commands, printer);
    else printWatchError(outcome, error, commands, isPrinted, reporter);
    const isKnown = run !== undefined && commands?.page !== undefined;
    if (isKnown && !reporter.presentation.quiet) reporter.notice(`Page: ${commands.page}`);
  }
  return outcome;
}

/** What continues with runs: the same service, documents, format, value, waiting and messages. */
interface ResumePlan {
  settings: ServiceSettings;
  format: OutputFormat;
  pointer?: ValuePointer | undefined;
  documents?: SavedFiles | undefined;
  /** As the user wrote them. */
  flags: ServiceFlags & PresentationFlags & ReportFlags;
}

/**
 * Returns the command that watches those of the runs again whose end is not known, for programs, and what must be added to
 * it; nothing if there are none.
 */
export function resumeOf(
  runs: readonly Outcome[],
  { settings, format, pointer, documents, flags }: ResumePlan,
): Pick<CommandOutcome, 'resume' | 'resumeHints'> {
  const ids = runs.filter(canResume).flatMap(({ id }) => id ?? []);
  const hasNoValue = runs.some(({ state }) => state === 'noValue');
  const resumeFlags = [
    ...settings.resumeFlags,
    ...(format === 'text' ? [] : ['--output', format]),
    ...(pointer === undefined || hasNoValue ? [] : ['--get', pointer.text]),
    ...watchFlags(flags),
  ];
  const resume = resumeCommands(ids, { ...settings, resumeFlags }, documents).watch;
  return ids.length > 0 && isCopyable(ids.join('')) ? { resume, resumeHints: secretFlags(flags) } : {};
}

/** Returns the flags of waiting, messages and reports. Without --timeout 0, which would never wait. */
function watchFlags(flags: ResumePlan['flags']): string[] {
  const { interval, maxInterval, timeout, quiet, verbose, color, report = [] } = flags;
  const valued = { '--interval': interval, '--max-interval': maxInterval, '--color': color };
  return [
    ...Object.entries(valued).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value])),
    ...(timeout === undefined || parseDuration(timeout) === 0 ? [] : ['--timeout', timeout]),
    ...(quiet === true ? ['--quiet'] : []),
    ...(verbose === true ? ['--verbose'] : []),
    ...report.flatMap((value) => ['--report', value]),
  ];
}

/** Returns what a command must be given again that cannot be printed. */
function secretFlags({ header = [], tokenFile }: ResumePlan['flags']): string[] {
  const names = header.map((line) => line.split(':', 1)[0]?.trim() ?? '');
  return [
    ...(tokenFile === '-' ? ['To resume, add --token-file -, with the token on standard input.'] : []),
    ...names.map((name) => `To resume, add -H ${name}, with its value.`),
  ];
}

/** Returns whether watching a run again may show its end. */
export function canResume(outcome: Outcome): boolean {
  const { state, error, run } = outcome;
  if (exitOf(outcome) === ExitCode.ok || state === 'lost' || error?.code === 'no-such-run') return false;
  return error !== undefined || run === undefined || !hasEnded(run);
}

function printEnd(outcome: WatchOutcome, commands: ResumeCommands | undefined, printer: RunPrinter): void {
  const { id, run, durationMs, wasTriggered } = outcome;
  const { reporter } = printer.output;
  if (run !== undefined && printer.showsEnds) return;
  if (run !== undefined && hasEnded(run)) return printEnded(run, outcome, reporter);
  const text = sanitize(stillText(run, durationMs, wasTriggered ? 'the run' : `run ${id}`));
  const { style } = reporter;
  const status = run === undefined ? '' : statusText(run);
  reporter.block([`${text.charAt(0).toUpperCase()}${text.slice(1)}.`], status, style.warning);
  if (commands !== undefined) reporter.continuation(`To watch it: ${commands.watch}`);
}

function printEnded(run: Run, outcome: WatchOutcome, reporter: Reporter): void {
  const { exit, title = 'Ended' } = endOf(run.status) ?? {};
  const facts = formatFacts(run, outcome);
  if (exit === ExitCode.ok) {
    if (reporter.presentation.quiet) return;
    const separator = facts === '' ? '' : facts.startsWith('in ') ? ' ' : ': ';
    return reporter.block([title + separator + facts], title, reporter.style.success);
  }
  const { message, step } = run.error ?? {};
  const end = step === undefined ? title : `${title} at step ${sanitize(step)}`;
  reporter.block(
    [facts === '' ? end : `${end} (${facts})`, ...(message ? quoteLines(message).split('\n') : [NO_MESSAGE])],
    title,
    reporter.style.error,
  );
}

/** Returns `4 of 4 steps in 12s`, of a run that this command did not name first also its id and version, without what is unknown. */
function formatFacts(run: Run, { wasTriggered, wasRunning, durationMs }: WatchOutcome): string {
  const steps = stepsText(run);
  // The duration of a run is known only if this command triggered it.
  const duration = wasTriggered ? `in ${formatDuration(durationMs)}` : '';
  const work = [steps, duration].filter(Boolean).join(' ');
  const watched = wasRunning && !wasTriggered ? `watched for ${formatDuration(durationMs)}` : '';
  if (wasTriggered) return work;
  const version = run.versionName === undefined ? '' : `version ${sanitize(run.versionName)}`;
  return [`run ${sanitize(run.id)}`, work, watched, version].filter(Boolean).join(', ');
}

function printWatchError(
  { id, run, state }: WatchOutcome,
  error: Facts,
  commands: ResumeCommands | undefined,
  isPrinted: boolean,
  reporter: Reporter,
): void {
  const shownId = sanitize(id);
  if (error.code === 'interrupted') {
    if (commands !== undefined) reporter.notice(`Interrupted; run ${shownId} ${formatState(run)}.`);
  } else {
    reporter.error(error);
    if (error.code === 'no-such-run' || state === 'lost') return;
    const detail =
      error.isDocumentUnsaved && isPrinted ? '; the output on stdout contains its documents' : '';
    reporter.notice(
      run !== undefined && hasEnded(run)
        ? `Run ${shownId} has ended${detail}.`
        : `Run ${shownId} may still be running.`,
    );
  }
  const goal = state === 'noValue' ? 'To print its output' : 'To watch it';
  if (commands !== undefined) reporter.continuation(`${goal}: ${commands.watch}`);
}

function formatState(run: Run | undefined): string {
  if (run === undefined) return 'was not seen, and may still be running';
  return hasEnded(run) ? 'has ended' : continuesText(run);
}
