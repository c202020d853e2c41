/** Messages on stderr, also of the service layer: --quiet keeps the run's id, warnings and errors; --verbose adds the requests. */

import type { Facts, WfrError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { type NetworkError, statusCommand } from '../service/errors.js';
import { HttpError } from '../service/http-error.js';
import { MAX_RESENDS } from '../service/retry.js';
import type { ServiceEvents } from '../service/service.js';
import { formatBytes, formatDuration, listFirst } from '../text/quantity.js';
import { sanitize } from '../text/sanitize.js';
import { wrapLines } from '../text/wrap.js';
import { type BatchSummary, formatBatchSummary } from './batch-summary.js';
import { errorText } from './errors/print-error.js';
import { createStyle, LIVE_MARGIN, type Paint, type Presentation, type Style } from './presentation.js';
import type {
  BatchCounts,
  BatchProgress,
  Progress,
  ProgressTools,
  RunsProgress,
} from './progress/progress.js';
import type { ListedRun } from './table.js';

/** Saved paths that are listed; the JSON on stdout has them all. */
const MAX_PATHS = 10;
/** Distinct messages that are remembered, so that a hostile service cannot fill memory. */
const MAX_REMEMBERED = 1_000;

export class Reporter {
  /** Shows what becomes of a request, once there is progress. */
  runs: RunsProgress | undefined;
  /** Removes the live line; does nothing where there is none. */
  stopProgress = () => {};
  /** The last line of `continuation`. */
  #continuation = '';
  readonly #printed = new Set<string>();

  private constructor(
    readonly presentation: Presentation,
    readonly style: Style,
    readonly context: Context,
  ) {}

  static async open(presentation: Presentation, context: Context): Promise<Reporter> {
    return new Reporter(presentation, await createStyle(presentation.color), context);
  }

  /** Prints a line, even with --quiet. */
  notice(line: string): void {
    // A run does not fail because stderr cannot be written.
    void this.context.stderr.write(`${line}\n`);
  }

  /** Prints a line, unless --quiet. */
  info(line: string): void {
    if (!this.presentation.quiet) this.notice(line);
  }

  /** Prints a line, with --verbose. */
  debug(line: string): void {
    if (this.presentation.verbose) this.notice(this.style.dim(line));
  }

  /** Prints lines, even with --quiet, wrapped on a terminal; colors the first occurrence of `word`. */
  block(lines: readonly string[], word = '', paint: Paint = (text) => text): void {
    const text = wrapLines(lines, this.#width).join('\n');
    this.notice(text.replace(word, () => paint(word)));
  }

  /** Prints the closing block of a batch, even with --quiet. */
  batchSummary(summary: BatchSummary): void {
    this.notice(formatBatchSummary(summary, this.style, this.#width).join('\n'));
  }

  get #width(): number {
    const { isTerminal, columns } = this.context.stderr;
    return isTerminal ? columns : 0;
  }

  /** Prints a warning. */
  warn(text: string): void {
    this.block([`wfr: warning: ${sanitize(text)}`], 'warning:', this.style.warning);
  }

  /** Prints a warning the first time it is given. */
  warnOnce(text: string): void {
    if (this.#isNew(text)) this.warn(text);
  }

  #isNew(text: string): boolean {
    const isNew = !this.#printed.has(text);
    if (this.#printed.size < MAX_REMEMBERED) this.#printed.add(text);
    return isNew;
  }

  /** Prints an error the first time it occurs, unless errors are data. */
  error(facts: Facts): void {
    if (!this.presentation.showsErrors) return;
    const text = errorText(facts, this.style, this.context.stderr);
    // Several runs may have the same one.
    if (!this.#isNew(text)) return;
    this.notice(text);
  }

  /** Prints a line of progress, unless --quiet; with a timestamp where there is no live line. */
  progress(line: string): void {
    const lines = this.presentation.live ? wrapLines([line], this.#width) : [this.#withTimestamp(line)];
    this.info(this.style.dim(lines.join('\n')));
  }

  /**
   * Reports that a request is sent again after `delay` ms; `tries` is such as 1/3 where that is limited, and `id` is given
   * where there are several runs.
   */
  retrying(cause: WfrError, delay: number, tries: string | undefined, id?: string, detail = ''): void {
    const subject = id === undefined ? '' : `${sanitize(id)}: `;
    const reason = sanitize(cause.facts.summary.join(', '));
    const count = tries === undefined ? '' : ` (${tries})`;
    this.progress(`wfr: ${subject}${reason}${detail}; retrying in ${formatDuration(delay)}${count}`);
  }

  /** Prints the id of a run, with `detail`. */
  run(id: string, detail: string): void {
    this.notice(`Run ${this.style.bold(sanitize(id))}${sanitize(detail)}`);
  }

  /** Shows how to watch a run again: below the live line, which goes with the run, if it is watched and there is room. */
  resumable(watch: string, isWatched: boolean): void {
    const text = `To watch it: ${watch}`;
    const { live, canContinue } = this.presentation;
    const isBelow = isWatched && live && text.length <= this.context.stderr.columns - LIVE_MARGIN;
    if (!isBelow) this.continuation(text, { isDim: true });
    else if (canContinue) this.runs?.resumable(text);
  }

  /** Prints how a later command continues with a run, where one can; `isDim` is for what may be left out. */
  continuation(text: string, { isDim = false } = {}): void {
    const { canContinue, live, quiet } = this.presentation;
    // On a terminal nothing but the live line, which is gone, came after it.
    if (!canContinue || (live && this.#continuation === text)) return;
    if (!isDim || !quiet) this.#continuation = text;
    if (isDim) this.info(this.style.dim(text));
    else this.notice(text);
  }

  /** Reports that a batch waits because of `cause` for `delay` ms; a live line shows itself that the service is busy. */
  waitingForService(cause: NetworkError | HttpError, delay: number): void {
    const isBusy = cause instanceof HttpError;
    if (isBusy && this.presentation.live) return;
    const reason = isBusy ? `service busy (${cause.info.status})` : cause.facts.summary.join(', ');
    this.progress(`wfr: ${sanitize(reason)}; no row is sent for ${formatDuration(delay)}`);
  }

  /** Lists the files that the documents of an output were saved to. */
  savedDocuments(id: string, paths: readonly string[]): void {
    if (this.presentation.quiet) return;
    const files = listFirst(paths.map(sanitize), MAX_PATHS).join(' ');
    const none = `0 documents: the output of run ${sanitize(id)} has none`;
    this.block([`Saved ${files || none}`], 'Saved', this.style.success);
  }

  /** Shows the progress of one run, or of several that exist, until stopProgress(). */
  async startProgress(runs: readonly ListedRun[] = []): Promise<RunsProgress> {
    const { RunsProgress } = await import('./progress/progress.js');
    this.runs = new RunsProgress(await this.#progressTools(), runs);
    return this.runs;
  }

  /** Shows the progress of a batch until stopProgress(); calls `counts` whenever it is drawn. */
  async startBatchProgress(counts: () => BatchCounts): Promise<BatchProgress> {
    const { BatchProgress } = await import('./progress/progress.js');
    return new BatchProgress(await this.#progressTools(), counts);
  }

  /** A live line on a terminal, for which alone ora is loaded; else a line for each change. */
  async #progressTools(): Promise<ProgressTools> {
    const { presentation, style, context } = this;
    const { plainPainter } = await import('./progress/progress.js');
    const { LivePainter } = presentation.live ? await import('./progress/live.js') : {};
    const print = (line: string) => this.info(this.#withTimestamp(line));
    const open = (progress: Progress) => {
      const painter =
        LivePainter === undefined
          ? plainPainter(print, context.clock, progress)
          : new LivePainter(presentation, context, progress);
      this.stopProgress = () => painter.stop();
      return painter;
    };
    return { clock: context.clock, style, secrets: context.secrets, open };
  }

  /** Returns a line with the time (UTC) before it. */
  #withTimestamp(line: string): string {
    return `${new Date(this.context.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')} ${line}`;
  }
}

/** Bodies larger than this (bytes) show how much of them has been sent. */
const LARGE_BODY = 1024 * 1024;

/** Returns the handlers that print events on stderr and in the progress view. */
export function serviceLogger(reporter: Reporter): ServiceEvents {
  let isDeprecationKnown = false;
  return {
    request(method, url, bodyBytes) {
      reporter.debug(`> ${method} ${url}${bodyBytes === undefined ? '' : ` (${formatBytes(bodyBytes)})`}`);
    },
    response(status, durationMs, requestId) {
      const id = requestId === undefined ? '' : `, request id ${sanitize(requestId)}`;
      reporter.debug(`< ${status} (${formatDuration(durationMs)})${id}`);
    },
    repaired() {
      reporter.warnOnce('the response is not valid UTF-8; invalid bytes were replaced by U+FFFD');
    },
    deprecated(announcement) {
      if (!isDeprecationKnown) reporter.warn(`the service announces that this interface ${announcement}`);
      isDeprecationKnown = true;
    },
    retrying(cause, sendState, delay, count) {
      const detail = sendState === 'partial' ? '; the request was incomplete, so no run can exist' : '';
      reporter.retrying(cause, delay, `${count}/${MAX_RESENDS}`, undefined, detail);
      reporter.runs?.waiting('Waiting to retry');
    },
    sending(sent, total, hasDocuments) {
      if (total > LARGE_BODY) reporter.runs?.sending({ sent, total, isBase64: hasDocuments });
    },
    sent() {
      reporter.runs?.waiting('Sent; waiting for the response');
    },
    candidate(id) {
      reporter.notice(
        `The response names the run ${sanitize(id)}, and has not ended; to look for the run: ${statusCommand(id)}`,
      );
    },
    awaitingId(ms, signal) {
      const exit = `${signal === 'SIGINT' ? 'Ctrl-C' : signal} again exits at once`;
      reporter.notice(`The request was sent; waiting up to ${formatDuration(ms)} for the run id; ${exit}`);
    },
  };
}
