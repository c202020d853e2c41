/** Messages on stderr, also of the service layer: --quiet keeps the run's id, warnings and errors; --verbose adds the requests. */

import type { Facts, WfrError } from '../errors.js';
import type { Tone } from '../outcome/outcome.js';
import type { Context } from '../platform/context.js';
import type { NetworkError } from '../service/errors.js';
import { HttpError } from '../service/http-error.js';
import { MAX_RESENDS } from '../service/retry.js';
import type { ServiceEvents } from '../service/service.js';
import { formatDuration, formatIso, listFirst } from '../text/quantity.js';
import { sanitize, sanitizeLine } from '../text/sanitize.js';
import { errorText } from './errors/print-error.js';
import { createStyle, type NextStep, PLAIN, type Presentation, stepLines } from './presentation.js';
import type { Progress } from './progress/painter.js';
import type { BatchCounts, BatchProgress, ProgressTools, RunsProgress } from './progress/progress.js';
import type { ListedRun } from './table.js';

/** Saved paths that are listed; the JSON on stdout has them all. */
const MAX_PATHS = 10;
/** Distinct messages that are remembered, so that a hostile service cannot fill memory. */
const MAX_REMEMBERED = 1_000;

/** A start does not load it. */
const loadProgress = () => import('./progress/progress.js');

export type Reporter = Awaited<ReturnType<typeof openReporter>>;

/** Returns what prints the messages of a command, and shows its progress. */
export async function openReporter(
  presentation: Presentation,
  { stderr, clock, secrets, onSuspend }: Context,
) {
  const { live, quiet, verbose, showsErrors, canContinue } = presentation;
  const style = await createStyle(presentation.color);
  const printed = new Set<string>();
  let runs: RunsProgress | undefined;
  let stopPainter = () => {};
  /** Why a request is sent again, if the last line says so. */
  let causeOnLastLine = '';

  /** Prints a line, even with --quiet. */
  function notice(line: string): void {
    causeOnLastLine = '';
    // A run does not fail because stderr cannot be written.
    void stderr.write(`${line}\n`);
  }

  /** Prints a line, unless --quiet. */
  function info(line: string): void {
    if (!quiet) notice(line);
  }

  /** Prints lines, even with --quiet, wrapped on a terminal; the first occurrence of `word` has the color of a tone. */
  function block(lines: readonly string[], word = '', tone: Tone = 'open'): void {
    const text = stderr.wrap(lines).join('\n');
    notice(text.replace(word, () => style[tone](word)));
  }

  /** Prints a warning. */
  function warn(text: string): void {
    block([`wfr: warning: ${sanitize(text)}`], 'warning:', 'doubt');
  }

  function isNew(text: string): boolean {
    const isFirst = !printed.has(text);
    if (printed.size < MAX_REMEMBERED) printed.add(text);
    return isFirst;
  }

  /** Prints a line of progress, unless --quiet; with a timestamp where there is no live line. */
  function progress(line: string): void {
    const lines = live ? stderr.wrap([line]) : [withTimestamp(line)];
    info(style.dim(lines.join('\n')));
  }

  /** Prints how a later command continues with a run, where one can; `isDim` is for what may be left out. */
  function continuation(step: NextStep, { isDim = false } = {}): void {
    if (!canContinue) return;
    const text = stepLines([step], isDim ? PLAIN : style, stderr.columns).join('\n');
    if (isDim) info(style.dim(text));
    else notice(text);
  }

  /** Returns what progress is shown with. */
  async function progressTools(): Promise<ProgressTools> {
    const { loadPainter } = await loadProgress();
    const print = (line: string) => info(withTimestamp(line));
    const openPainter = await loadPainter({ ...presentation, print, stderr, clock, onSuspend });
    const open = (shown: Progress) => {
      const painter = openPainter(shown);
      stopPainter = painter.stop;
      return painter;
    };
    return { clock, style, secrets, canContinue, open };
  }

  /** Returns a line with the time (UTC) before it. */
  function withTimestamp(line: string): string {
    return `${formatIso(clock.now()).replace(/\.\d+Z$/, 'Z')} ${line}`;
  }

  return {
    ...presentation,
    style,
    notice,
    info,
    block,
    warn,
    continuation,

    /** Shows what becomes of a request and of runs, once there is progress. */
    get runs() {
      return runs;
    },

    /** Prints a line, sanitized, with --verbose. */
    debug(line: string): void {
      if (verbose) notice(style.dim(sanitizeLine(line)));
    },

    /** Prints a warning the first time it is given. */
    warnOnce(text: string): void {
      if (isNew(text)) warn(text);
    },

    /** Prints a line like `block` the first time it is given. */
    blockOnce(line: string): void {
      if (isNew(line)) block([line]);
    },

    /** Prints an error, of several runs the first time that one of them has it; unless errors are data. */
    error(facts: Facts, isOneOfSeveral = false): void {
      if (!showsErrors) return;
      const text = errorText(isOneOfSeveral ? { ...facts, summary: facts.shared } : facts, style, stderr);
      if (isNew(text)) notice(text);
    },

    /**
     * Reports that a request is sent again after `delay` ms; `tries` is such as 1/3 where that is limited, and `id` is given
     * where there are several runs. On a terminal, the cause is not repeated below itself, and stands for all runs.
     */
    retrying(error: WfrError, delay: number, tries: string | undefined, id?: string, detail = ''): void {
      const cause = sanitize(error.facts.summary.join(', ')) + detail;
      const isRepeated = live && cause === causeOnLastLine;
      if (isRepeated && id !== undefined) return;
      const subject = live || id === undefined ? '' : `${sanitize(id)}: `;
      const count = tries === undefined ? '' : ` (${tries})`;
      const reason = isRepeated ? '' : `${subject}${cause}; `;
      progress(`wfr: ${reason}retrying in ${formatDuration(delay)}${count}`);
      causeOnLastLine = cause;
    },

    /** A run was read: the cause of the next retry is printed again. */
    answered(): void {
      causeOnLastLine = '';
    },

    /** Prints what is waited for, unless the last line says why. */
    waitingFor(host: string): void {
      if (causeOnLastLine === '') info(`Waiting for ${host}`);
    },

    /** Prints the id of a run, with a detail in parentheses, which is below it where the window is too narrow. */
    run(id: string, version: string | undefined, detail = version && `version ${version}`): void {
      const name = `Run ${style.bold(sanitize(id))}`;
      const isWide = live && `Run ${id} (${detail})`.length > stderr.columns;
      notice(detail === undefined ? name : `${name}${isWide ? '\n  ' : ' '}(${sanitize(detail)})`);
    },

    /** Shows how to watch a run again: below the live line, which goes with the run, if it is watched. */
    resumable(command: string, isWatched: boolean): void {
      const text = 'To watch it';
      if (!(isWatched && live)) continuation({ text, command }, { isDim: true });
      else if (canContinue)
        runs?.resumable(['Ctrl-C stops watching, not the run', `${text} again: ${command}`]);
    },

    /** Reports that a batch waits because of `cause` for `delay` ms; a live line shows itself that the service is busy. */
    waitingForService(cause: NetworkError | HttpError, delay: number): void {
      const isBusy = cause instanceof HttpError;
      if (isBusy && live) return;
      const reason = isBusy ? `service busy (${cause.info.status})` : cause.facts.summary.join(', ');
      progress(`wfr: ${sanitize(reason)}; no row is sent for ${formatDuration(delay)}`);
    },

    /** Lists the files that the documents of an output were saved to. */
    savedDocuments(id: string, paths: readonly string[]): void {
      if (quiet) return;
      const files = listFirst(paths.map(sanitize), MAX_PATHS);
      const none = `0 documents: the output of run ${sanitize(id)} has none`;
      block([`Saved ${files || none}`], 'Saved', 'good');
    },

    /** Shows the progress of one run, or of several that exist, until stopProgress(). */
    async startProgress(listed?: readonly ListedRun[]): Promise<void> {
      const { showRuns } = await loadProgress();
      runs = showRuns(await progressTools(), listed);
    },

    /** Shows the progress of a batch until stopProgress(); calls `counts` whenever it is drawn. */
    async startBatchProgress(counts: () => BatchCounts): Promise<BatchProgress> {
      const { showBatch } = await loadProgress();
      return showBatch(await progressTools(), counts);
    },

    /** Removes the live line; does nothing where there is none. */
    stopProgress(): void {
      stopPainter();
    },
  };
}

/** Bodies larger than this (bytes) show how much of them has been sent. */
const LARGE_BODY = 1024 * 1024;

/** Returns the handlers that print events on stderr and in the progress view. */
export function serviceLogger(reporter: Reporter): ServiceEvents {
  return {
    ...reporter,
    retrying(cause, sendState, delay, count) {
      const detail = sendState === 'partial' ? '; the request was incomplete, so no run can exist' : '';
      // A lost connection has a limit of its own.
      const tries = detail && !(cause instanceof HttpError) ? undefined : `${count}/${MAX_RESENDS}`;
      reporter.retrying(cause, delay, tries, undefined, detail);
      reporter.runs?.waiting('Waiting to retry');
    },
    sending(sent, total, hasDocuments) {
      if (total > LARGE_BODY) reporter.runs?.sending({ sent, total, isBase64: hasDocuments });
    },
    sent() {
      reporter.runs?.waiting('Sent; waiting for the response');
    },
  };
}
