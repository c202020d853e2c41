/** Progress on a terminal in one live line: of a run, or of a batch. */
import { STATES, wordOf } from '../../outcome/outcome.js';
import type { Run } from '../../service/run.js';
import { wrapLines } from '../../text/wrap.js';
import { paintOf, type Style } from '../style.js';
import { LiveLine, type LiveOptions } from './live-line.js';
import {
  fitLine,
  liveBatchText,
  liveRunText,
  liveUploadText,
  shareOfBatch,
  shareOfRun,
  type TimedRun,
  truncateTo,
  type UploadProgress,
  updateRun,
  updateUpload,
  wholeSeconds,
} from './live-text.js';
import {
  type BatchCounts,
  type BatchView,
  type EndedRow,
  MAX_WHOLE_PROBLEMS,
  type ProgressView,
  rowText,
  shortId,
  type Upload,
} from './run-progress.js';

export class LiveProgress extends LiveLine implements ProgressView {
  #seen: TimedRun | undefined;
  #message = 'Connecting';
  #sending: UploadProgress | undefined;

  sending(upload: Upload): void {
    this.#sending = updateUpload(this.#sending, upload, this.options.clock.monotonic());
    // Chunks are sent faster than frames are drawn.
    this.compose();
  }

  waiting(text: string): void {
    this.#sending = undefined;
    this.#message = text;
    this.show();
  }

  seen(_id: string, run: Run): void {
    this.#sending = undefined;
    this.#seen = updateRun(this.#seen, run, this.options.clock.monotonic());
    this.show();
  }

  done(): void {}

  protected share(): number | undefined {
    if (this.#sending !== undefined) return this.#sending.sent / this.#sending.total;
    return this.#seen && shareOfRun(this.#seen);
  }

  protected text(now: number, width: number): string {
    if (this.#sending !== undefined) return liveUploadText(this.#sending, now, width);
    return this.#seen === undefined
      ? fitLine(width, [[this.#message, wholeSeconds(now - this.started)]])
      : liveRunText(this.#seen, this.started, now, width);
  }
}

/** Rows whose problems are printed at most; the closing block counts all. */
const MAX_ROW_LINES = 20;
const MORE_ROWS = 'Problems of further rows are only counted.';

/** Prints lines above the live line. */
export interface LinePrinter {
  write(line: string): void;
  style: Style;
}

/** A batch: a live line, and above it a line for each of the first rows that do not succeed. */
export class LiveBatch extends LiveLine implements BatchView {
  readonly #counts: () => BatchCounts;
  readonly #printer: LinePrinter;
  /** When the last row was done (ms, monotonic). */
  #lastEnd: number;
  #problems = 0;

  constructor(options: LiveOptions, counts: () => BatchCounts, printer: LinePrinter) {
    super(options);
    this.#counts = counts;
    this.#printer = printer;
    this.#lastEnd = this.started;
  }

  rowDone(row: EndedRow, isProblem: boolean): void {
    const { clock, output } = this.options;
    this.#lastEnd = clock.monotonic();
    if (isProblem) this.#printProblem(row, output.columns);
    this.compose();
  }

  protected text(now: number, width: number): string {
    const { started } = this;
    return liveBatchText(this.#counts(), { started, lastEnd: this.#lastEnd }, now, width);
  }

  protected share(): number | undefined {
    return shareOfBatch(this.#counts());
  }

  #printProblem(row: EndedRow, columns: number): void {
    const { write, style } = this.#printer;
    if (++this.#problems > MAX_ROW_LINES + 1) return;
    if (this.#problems > MAX_ROW_LINES) return write(style.dim(truncateTo(MORE_ROWS, columns)));
    const whole = rowText({ ...row, id: row.id && shortId(row.id) });
    // The reason says more than the id, which the closing block and the results have.
    const short = whole.length <= columns ? whole : rowText({ ...row, id: undefined });
    const isWhole = this.#problems <= MAX_WHOLE_PROBLEMS;
    const text = isWhole ? wrapLines([short], columns).join('\n') : truncateTo(short, columns);
    const paint = paintOf(STATES[row.state].tone, style);
    write(text.replace(`  ${wordOf(row.state)}`, (found) => paint(found)));
  }
}
