/** The end of a watched run on stderr, and the command that continues with runs. */
import type { ServiceSettings } from '../../config/service.js';
import {
  continuesText,
  failureMessage,
  isSuccess,
  type Outcome,
  statusText,
  stepsText,
  stillText,
} from '../../outcome/outcome.js';
import { hasEnded, isFinished, type Run } from '../../service/run.js';
import type { ValuePointer } from '../../text/json/pointer.js';
import { formatElapsed, parseDuration } from '../../text/quantity.js';
import { quoteLines, sanitize } from '../../text/sanitize.js';
import { commandOfRuns, isCopyable, toArgs } from '../../text/shell-quote.js';
import type { Reporter } from '../../view/reporter.js';
import type { OutputFormat, ShowFlags } from './output-flags.js';
import type { CommandOutcome, Session } from './session.js';

/** How runs are printed, and what a command that continues with them has in common with this one. */
export interface ResumePlan {
  format: OutputFormat;
  /** Of --get: the value that is printed instead of the whole. */
  pointer?: ValuePointer | undefined;
  /** Whether a run is one of several, which `-o text` lists once all have ended. */
  severalRuns?: boolean;
  settings: Pick<ServiceSettings, 'resumeFlags' | 'platform' | 'pageOf'>;
  /** Returns the flags that save the files of these runs to the same folders. */
  savedFlags?: ((ids: readonly string[]) => readonly string[]) | undefined;
  /** As the user wrote them. */
  flags: ShowFlags;
  /** Returns the id by which a command for people names a run; by default the whole one. */
  shorten?: (id: string) => string;
}

/** Returns the command that watches runs, quoted for a shell: at the same service, with the same files, and with `others`. */
export function watchCommand(
  ids: readonly string[],
  { settings: { resumeFlags, platform }, savedFlags = () => [], shorten = (id) => id }: ResumePlan,
  others: readonly string[] = [],
): string {
  return commandOfRuns('watch', [...resumeFlags, ...others, ...savedFlags(ids)], ids.map(shorten), platform);
}

/**
 * Returns how a command ended with these runs: for programs with the command that watches those again whose end is not known, if
 * there are any, and what must be added to it.
 */
export function endWith(runs: readonly Outcome[], plan: ResumePlan): CommandOutcome {
  const { format, pointer, flags } = plan;
  const ids = runs.filter(canResume).flatMap(({ id }) => id ?? []);
  if (ids.length === 0 || !isCopyable(ids.join(''))) return { runs };
  const { interval, maxInterval, timeout, color, quiet, verbose, report, header = [], tokenFile } = flags;
  const hasNoValue = runs.some(({ state }) => state === 'no value');
  const others = toArgs({
    output: format === 'text' ? undefined : format,
    get: hasNoValue ? undefined : pointer?.text,
    ...{ interval, maxInterval, color },
    // With 0, it would never wait.
    timeout: parseDuration(timeout ?? '') === 0 ? undefined : timeout,
    ...{ quiet, verbose, report },
  });
  // What must be given again, and cannot be printed.
  const secrets = [
    ...(tokenFile === '-' ? ['--token-file -, with the token on standard input'] : []),
    ...header.map((line) => `-H ${line.split(':', 1)[0]?.trim() ?? ''}, with its value`),
  ];
  return {
    runs,
    resume: watchCommand(ids, plan, others),
    resumeHints: secrets.map((secret) => `To resume, add ${secret}.`),
  };
}

/** Returns whether watching a run again may show its end. */
export function canResume(outcome: Outcome): boolean {
  const { state, error, run } = outcome;
  if (isSuccess(outcome) || state === 'lost' || error?.code === 'no-such-run') return false;
  return Boolean(error) || !hasEnded(run);
}

/** Prints how the watching of a run ended, which took `watchedMs`, and, if it is the only one, how to continue. */
export function printOutcome(
  outcome: Outcome & { id: string },
  watchedMs: number | undefined,
  view: ResumePlan,
  { reporter }: Session,
): void {
  const { id, run, error, durationMs } = outcome;
  const { settings, format, severalRuns } = view;
  if (!isSuccess(outcome) && !reporter.showsErrors) return;
  const isOver = hasEnded(run);
  const isListed = severalRuns && format === 'text';
  if (error?.code === 'interrupted') {
    if (!severalRuns) reporter.block([`Interrupted; the run ${isOver ? 'has ended' : continuesText(run)}.`]);
  } else if (error) {
    // Those of several runs are printed together, below the table.
    if (!severalRuns || error.code !== 'no-such-run') reporter.error(error, severalRuns);
    if (canResume(outcome))
      reporter.notice(`Run ${sanitize(id)} ${isOver ? 'has ended' : 'may still be running'}.`);
  } else if (isOver) {
    if (!isListed) printEnded(run, durationMs, reporter);
  } else if (!run || !isListed) {
    const text = sanitize(stillText(run, watchedMs, severalRuns ? `run ${id}` : 'the run'));
    reporter.block([`${text.replace('still', 'Still')}.`], statusText(run), 'doubt');
  }
  if (severalRuns) return;
  if (canResume(outcome)) {
    const text = isOver ? 'To print its output' : 'To watch it';
    reporter.continuation({ text, command: watchCommand([id], view) });
  }
  const page = run && settings.pageOf(id);
  if (page !== undefined) reporter.info(`Page: ${page}`);
}

/** Prints for which of the runs the service has none: those with the same advice in one block. */
export function printMissing(runs: readonly (Pick<Outcome, 'error'> & { id: string })[], reporter: Reporter) {
  const missing = runs.flatMap(({ id, error }) => (error?.code === 'no-such-run' ? { id, error } : []));
  for (const { error } of missing) {
    const alike = missing.filter((other) => `${other.error.hints}` === `${error.hints}`);
    const summary = [`the service has none of these runs (404): ${alike.map(({ id }) => id).join(' ')}`];
    // What the service said was about one run. Equal blocks are printed once.
    const ofAll = { summary, serverMessage: undefined, response: undefined };
    reporter.error(alike.length === 1 ? error : { ...error, ...ofAll });
  }
}

/** Prints how to watch those of several runs that are `open`, and on a terminal how to print an output, if one has finished. */
export function printRunSteps(
  runs: readonly (Pick<Outcome, 'run'> & { id: string })[],
  open: typeof runs,
  plan: ResumePlan,
  reporter: Reporter,
): void {
  const print = (text: string, some: typeof runs) => {
    const ids = some.map(({ id }) => id);
    if (ids.length > 0) reporter.continuation({ text, command: watchCommand(ids, plan) });
  };
  if (reporter.showsErrors) print(`To watch ${open.length === 1 ? 'it' : 'them'}`, open);
  const finished = runs.filter(({ run }) => isFinished(run));
  if (plan.format === 'text' && reporter.live) print('To print an output', finished.slice(0, 1));
}

/** Prints how a run ended. */
function printEnded(run: Run, durationMs: number | undefined, reporter: Reporter): void {
  const time = durationMs === undefined ? '' : ` in ${formatElapsed(durationMs)}`;
  const facts = (stepsText(run) + time).trim();
  if (isFinished(run)) {
    if (!reporter.quiet) reporter.block([`Finished: ${facts}`], 'Finished', 'good');
    return;
  }
  const { message, step } = run.error ?? {};
  const end = step === undefined ? 'Failed' : `Failed at step ${sanitize(step)}`;
  const lines = message ? quoteLines(message) : [failureMessage(run)];
  reporter.block([`${end} (${facts})`, ...lines], 'Failed', 'bad');
}
