/** stderr: what wfr says while it works. Quiet keeps the run's id, warnings and errors; verbose adds the requests. */
import type { Clock, Output } from '../context.js';
import { formatDuration } from '../duration.js';
import type { WfrError } from '../errors.js';
import type { Run } from '../service/run.js';
import type { WorkflowIdField } from '../service/workflow-id-field.js';
import { explain } from './explain.js';
import { explanationLines } from './explanation.js';
import { createStyle, type Style } from './format.js';
import { PlainProgress } from './plain.js';
import type { Presentation } from './presentation.js';
import type { ProgressView } from './progress.js';
import { safeLine } from './safe.js';

export class Conversation {
  #progress: ProgressView | undefined;

  private constructor(
    readonly presentation: Presentation,
    readonly style: Style,
    readonly clock: Clock,
    readonly output: Output,
  ) {}

  static async open(presentation: Presentation, clock: Clock, output: Output): Promise<Conversation> {
    return new Conversation(presentation, await createStyle(presentation.color), clock, output);
  }

  /** A line that is always shown. */
  say(line: string): void {
    // Failures of stderr are no failures of the run.
    void this.output.write(`${line}\n`);
  }

  /** A line that --quiet leaves out. */
  tell(line: string): void {
    if (!this.presentation.quiet) this.say(line);
  }

  /** A line that only --verbose shows. */
  detail(line: string): void {
    if (this.presentation.verbose) this.say(this.style.dim(line));
  }

  warn(text: string): void {
    this.say(`${this.style.warning('warning:')} ${safeLine(text)}`);
  }

  /** The words for a foreseen error; false for a defect, which has none. */
  error(error: unknown): boolean {
    const explanation = explain(error);
    if (explanation === undefined) return false;
    const [first = '', ...rest] = explanationLines(explanation);
    this.say([this.style.bad(first), ...rest].join('\n'));
    return true;
  }

  /** A poll showed nothing and will be tried again after `delay` ms. */
  retryingPoll(failure: WfrError, delay: number): void {
    const reason = explain(failure)?.what.join(', ') ?? failure.message;
    this.tell(this.style.dim(`${reason}; looking again in ${formatDuration(delay)}`));
  }

  /** A run was accepted: its id, its version, and the command that watches it again. */
  accepted(run: Run, resume: string): void {
    const version = run.versionName === undefined ? '' : ` (version ${safeLine(run.versionName)})`;
    this.say(`Run ${this.style.strong(safeLine(run.id))}${version}`);
    this.tell(this.style.dim(`To watch it: ${resume}`));
  }

  /** Which spelling of the workflow's field was accepted; worth saying where it took more than one request. */
  fieldAccepted(form: WorkflowIdField, requests: number): void {
    const line = `accepted with --workflow-id-field ${form}`;
    if (requests === 1) this.detail(line);
    else this.tell(`${line}; give that flag to need one request instead of ${requests}`);
  }

  /** Shows progress, in the one way that fits, while `work` runs. */
  async during<T>(severalRuns: boolean, work: (progress: ProgressView) => Promise<T>): Promise<T> {
    this.#progress = await this.#createProgress(severalRuns);
    try {
      return await work(this.#progress);
    } finally {
      this.#progress.stop();
      this.#progress = undefined;
    }
  }

  async #createProgress(severalRuns: boolean): Promise<ProgressView> {
    if (this.presentation.quiet) return SILENT;
    if (!this.presentation.live) return new PlainProgress((line) => this.say(line), this.clock, severalRuns);
    // ora is loaded only where a spinner will show.
    const { LiveProgress } = await import('./live.js');
    return new LiveProgress(this.output, this.clock, this.presentation.color);
  }
}

const SILENT: ProgressView = { sending() {}, waiting() {}, seen() {}, left() {}, stop() {} };
