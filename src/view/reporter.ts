/** stderr: what wfr says while it works. Quiet keeps the run's id, warnings and errors; verbose adds the requests. */

import type { WfrError } from '../errors.js';
import type { Clock, Context, OnSuspend } from '../platform/context.js';
import type { Output } from '../platform/output.js';
import type { Run } from '../service/run.js';
import type { WorkflowIdField } from '../service/workflow-id-field.js';
import { formatDuration } from '../text/duration.js';
import { sanitize } from '../text/sanitize.js';
import { wrapLines } from '../text/wrap.js';
import { describeError } from './errors/describe-error.js';
import { errorLines } from './errors/error-description.js';
import type { Presentation } from './presentation.js';
import type { BatchCounts, BatchView } from './progress/batch-progress.js';
import { PlainBatch, PlainProgress, timed } from './progress/plain.js';
import type { ProgressView } from './progress/run-progress.js';
import { createStyle, type Paint, type Style } from './style.js';

/** Paths that are named; the JSON on stdout has them all. */
const MAX_PATHS = 10;
/** Different warnings that are remembered, so that a hostile service cannot fill memory. */
const MAX_WARNINGS = 1_000;

export class Reporter {
  #progress = HIDDEN;
  #batch = HIDDEN_BATCH;
  readonly #warned = new Set<string>();

  private constructor(
    readonly presentation: Presentation,
    readonly style: Style,
    readonly clock: Clock,
    readonly output: Output,
    readonly onSuspend: OnSuspend,
  ) {}

  static async open(presentation: Presentation, context: Context): Promise<Reporter> {
    const { clock, stderr, onSuspend } = context;
    return new Reporter(presentation, await createStyle(presentation.color), clock, stderr, onSuspend);
  }

  /** A line that is always shown. */
  notice(line: string): void {
    // Failures of stderr are no failures of the run.
    void this.output.write(`${line}\n`);
  }

  /** A line that --quiet leaves out. */
  info(line: string): void {
    if (!this.presentation.quiet) this.notice(line);
  }

  /** A line that only --verbose shows. */
  debug(line: string): void {
    if (this.presentation.verbose) this.notice(this.style.dim(line));
  }

  /** Lines that are always shown, broken at words where a terminal is too narrow; `word`, where it occurs first, is painted. */
  block(lines: readonly string[], word = '', paint: Paint = (text) => text): void {
    const text = wrapLines(lines, this.output.isTerminal ? this.output.columns : 0).join('\n');
    this.notice(text.replace(word, () => paint(word)));
  }

  warn(text: string): void {
    this.block([`wfr: warning: ${sanitize(text)}`], 'warning:', this.style.warning);
  }

  /** A warning that is shown once, however often it applies. */
  warnOnce(text: string): void {
    if (this.#warned.has(text)) return;
    if (this.#warned.size < MAX_WARNINGS) this.#warned.add(text);
    this.warn(text);
  }

  /** The words for a foreseen error; false for a defect, which has none. */
  error(error: unknown): boolean {
    const explanation = describeError(error);
    if (explanation === undefined) return false;
    this.block(errorLines(explanation), 'wfr:', this.style.bad);
    return true;
  }

  /** A line on the way to the end, with the time where progress has it; --quiet leaves it out. */
  progress(line: string): void {
    this.info(this.style.dim(this.presentation.live ? line : timed(line, this.clock)));
  }

  /** A poll showed nothing and will be tried again after `delay` ms; `id` is that of the run, where there are several. */
  retryingPoll(failure: WfrError, delay: number, id: string | undefined): void {
    const reason = describeError(failure)?.summary.join(', ') ?? failure.message;
    const subject = id === undefined ? '' : `${sanitize(id)}: `;
    this.progress(`wfr: ${subject}${reason}; looking again in ${formatDuration(delay)}`);
  }

  /** A run was accepted: its id, its version, and the command that watches it again. */
  accepted(run: Run, resume: string): void {
    const version = run.versionName === undefined ? '' : ` (version ${sanitize(run.versionName)})`;
    this.notice(`Run ${this.style.strong(sanitize(run.id))}${version}`);
    this.info(this.style.dim(`To watch it: ${resume}`));
  }

  /** The service asks to be left alone for so many ms. */
  rateLimited(ms: number): void {
    this.progress(`wfr: the service asks for less; all requests wait ${formatDuration(ms)}`);
  }

  /** No row of a batch is sent because of `cause`; the next attempt is made after `delay` ms. */
  waitingForService(cause: WfrError, delay: number): void {
    const reason = describeError(cause)?.summary.join(', ') ?? cause.message;
    const next = `trying again in ${formatDuration(delay)}`;
    this.progress(`wfr: ${reason}; no row is sent until the service can be reached; ${next}`);
  }

  /** The documents of a run's output are files now. */
  savedDocuments(paths: readonly string[]): void {
    if (paths.length === 0 || this.presentation.quiet) return;
    const shown = paths.slice(0, MAX_PATHS).map(sanitize).join(', ');
    const more = paths.length > MAX_PATHS ? ` and ${paths.length - MAX_PATHS} more` : '';
    this.block([`Saved ${shown}${more}`], 'Saved', this.style.good);
  }

  /** Which spelling of the workflow's field was accepted; worth saying where it took more than one request. */
  fieldAccepted(form: WorkflowIdField, requests: number): void {
    const line = `accepted with --workflow-id-field ${form}`;
    if (requests === 1) this.debug(line);
    else this.info(`${line}; give that flag to need one request instead of ${requests}`);
  }

  /** Shows the progress of `runs` runs until stopProgress(): a live line on a terminal, else a line per change. */
  async startProgress(runs: number): Promise<ProgressView> {
    const { presentation, output, clock, onSuspend } = this;
    if (presentation.quiet) return HIDDEN;
    // ora is loaded only where a spinner will show.
    const { LiveProgress } = presentation.live ? await import('./progress/live.js') : {};
    this.#progress =
      LiveProgress === undefined
        ? new PlainProgress((line) => this.notice(line), clock, runs)
        : new LiveProgress({ ...presentation, output, clock, onSuspend }, runs);
    return this.#progress;
  }

  /** Shows the progress of a batch until stopProgress(); `counts` is called whenever it is drawn. */
  async startBatchProgress(counts: () => BatchCounts): Promise<BatchView> {
    const { presentation, output, clock, onSuspend } = this;
    if (presentation.quiet) return HIDDEN_BATCH;
    const { LiveBatch } = presentation.live ? await import('./progress/live.js') : {};
    this.#batch =
      LiveBatch === undefined
        ? new PlainBatch((line) => this.notice(line), clock, counts)
        : new LiveBatch({ ...presentation, output, clock, onSuspend }, counts);
    return this.#batch;
  }

  /** `sent` of `total` bytes of the request body have been sent. */
  sending(sent: number, total: number): void {
    this.#progress.sending(sent, total);
  }

  /** What is being waited for before a run is seen. */
  waiting(text: string): void {
    this.#progress.waiting(text);
  }

  stopProgress(): void {
    this.#progress.stop();
    this.#batch.stop();
  }
}

const HIDDEN: ProgressView = { sending() {}, waiting() {}, seen() {}, left() {}, stop() {} };
const HIDDEN_BATCH: BatchView = { ended() {}, stop() {} };
