/** Progress on a terminal in one live line: of a run, of a batch, or of several runs, with a line for each that has not ended. */
import { STATES, statusText, stepsDone, totalSteps, WORDS, wordOf } from '../../outcome/outcome.js';
import { hasEnded, type Run } from '../../service/run.js';
import { parseTime } from '../../text/quantity.js';
import { sanitize } from '../../text/sanitize.js';
import { wrapLines } from '../../text/wrap.js';
import { paintOf, statusPaint } from '../presentation.js';
import { type Column, layOutTable, textWidth } from '../table.js';
import { LiveLine, type LiveOptions } from './live-line.js';
import {
  bar,
  fitLine,
  liveBatchText,
  liveRunsText,
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
  countText,
  type EndedRow,
  MAX_WHOLE_PROBLEMS,
  type ProgressView,
  rowText,
  shortId,
  type Upload,
  type WatchedRun,
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
    if (this.#seen === undefined) return fitLine(width, [[this.#message, wholeSeconds(now - this.started)]]);
    const { run } = this.#seen;
    const paint = statusPaint(run.status, this.options.style);
    return liveRunText(this.#seen, this.started, now, width).replace(statusText(run), (status) =>
      paint(status),
    );
  }
}

/** Rows whose problems are printed at most; the closing block counts all. */
const MAX_ROW_LINES = 20;
const MORE_ROWS = 'Problems of further rows are only counted.';

/** A batch: a live line, and above it a line for each of the first rows that do not succeed. */
export class LiveBatch extends LiveLine implements BatchView {
  readonly #counts: () => BatchCounts;
  readonly #write: (line: string) => void;
  /** When the last row was done (ms, monotonic). */
  #lastEnd: number;
  #problems = 0;
  #lastReason = '';

  /** `write` prints a line above the live line. */
  constructor(options: LiveOptions, counts: () => BatchCounts, write: (line: string) => void) {
    super(options);
    this.#counts = counts;
    this.#write = write;
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
    const counts = this.#counts();
    const text = liveBatchText(counts, { started, lastEnd: this.#lastEnd }, now, width);
    return counts.problems.reduce((painted, problem) => {
      const paint = paintOf(WORDS.get(problem[0]) ?? 'doubt', this.options.style);
      return painted.replace(countText(problem), (found) => paint(found));
    }, text);
  }

  protected share(): number | undefined {
    return shareOfBatch(this.#counts());
  }

  #printProblem(row: EndedRow, columns: number): void {
    const { style } = this.options;
    if (++this.#problems > MAX_ROW_LINES + 1) return;
    if (this.#problems > MAX_ROW_LINES) return this.#write(style.dim(truncateTo(MORE_ROWS, columns)));
    const whole = rowText({ ...row, id: row.id && shortId(row.id) });
    // The reason says more than the id, which the closing block and the results have.
    const short = whole.length <= columns ? whole : rowText({ ...row, id: undefined });
    const isWhole = this.#problems <= MAX_WHOLE_PROBLEMS || short.length <= columns;
    const isSame = row.reason === this.#lastReason;
    this.#lastReason = row.reason;
    const cut = isSame ? rowText({ ...row, id: undefined, reason: 'same reason' }) : short;
    const text = isWhole ? wrapLines([short], columns).join('\n') : truncateTo(cut, columns);
    const paint = paintOf(STATES[row.state].tone, style);
    this.#write(text.replace(`  ${wordOf(row.state)}`, (found) => paint(found)));
  }
}

/** A run that is watched, with a short id; the times are in ms since 1970. */
interface Row {
  shortId: string;
  name: string;
  run: Run | undefined;
  firstSeen: number;
  isDone: boolean;
}

/** A createdAt further in the future shows that the clocks of the two machines differ (ms). */
const MAX_AHEAD = 60_000;

export class LiveRuns extends LiveLine implements ProgressView {
  readonly #rows: Map<string, Row>;

  /** `shorten` returns an id as it is shown. */
  constructor(options: LiveOptions, runs: readonly WatchedRun[], shorten: (id: string) => string) {
    super(options);
    const firstSeen = options.clock.now();
    this.#rows = new Map(
      runs.map(({ id, name = '' }) => {
        const row = { shortId: sanitize(shorten(id)), name: sanitize(name) };
        return [id, { ...row, run: undefined, firstSeen, isDone: false }];
      }),
    );
  }

  sending(): void {}

  waiting(): void {}

  seen(id: string, run: Run): void {
    this.#update(id, { run, isDone: hasEnded(run) });
  }

  done(id: string): void {
    this.#update(id, { isDone: true });
  }

  protected share(): number {
    return this.#done().length / this.#rows.size;
  }

  #update(id: string, changes: Partial<Row>): void {
    const row = this.#rows.get(id);
    if (row === undefined) return;
    this.#rows.set(id, { ...row, ...changes });
    this.show();
  }

  #done(): Row[] {
    return [...this.#rows.values()].filter(({ isDone }) => isDone);
  }

  /** The table is left out where it would not fit: a terminal that scrolls cannot be redrawn. */
  protected text(now: number, width: number, height: number): string {
    const rows = [...this.#rows.values()];
    const seen = rows.flatMap(({ run, isDone }) => (run === undefined ? [] : [{ run, isDone }]));
    const counts = liveRunsText(seen, rows.length, this.started, now, width);
    // All rows are laid out, so that the columns stay where they are when a run ends.
    const { lines } = layOutTable(rows, this.#columns(), { style: this.options.style, width });
    const open = lines.filter((_line, index) => rows[index]?.isDone === false);
    const fits = open.length + 1 < height && open.every((line) => textWidth(line) <= width);
    return [counts, ...(fits ? open : [])].join('\n');
  }

  #columns(): Column<Row>[] {
    const steps = (row: Row, format: (done: number, total: number) => string) => {
      const total = row.run && totalSteps(row.run);
      return row.run === undefined || total === undefined ? '' : format(stepsDone(row.run), total);
    };
    const columns: Column<Row>[] = [
      { header: '', text: ({ shortId }) => shortId },
      { header: '', text: ({ name }) => name, isOptional: true },
      {
        header: '',
        text: ({ run }) => (run === undefined ? 'waiting' : statusText(run)),
        paint: ({ run }) => statusPaint(run?.status, this.options.style),
      },
      {
        header: '',
        text: (row) => steps(row, (done, total) => bar(done / total)),
        isOptional: true,
      },
      { header: '', text: (row) => steps(row, (done, total) => `${done}/${total}`) },
      { header: '', text: (row) => wholeSeconds(this.#elapsed(row)) },
    ];
    return columns.filter(({ text }) => [...this.#rows.values()].some((row) => text(row) !== ''));
  }

  /** Returns how long ago the service created a run (ms); since wfr watches it, where that is not known. */
  #elapsed({ run, firstSeen }: Row): number {
    const now = this.options.clock.now();
    const age = now - parseTime(run?.createdAt ?? '');
    return age >= -MAX_AHEAD ? age : now - firstSeen;
  }
}
