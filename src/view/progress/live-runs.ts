/** Several runs on a terminal: a live line with counts, and below it a line for each run that has not ended. */
import { statusText, stepsDone, totalSteps } from '../../outcome/outcome.js';
import { hasEnded, type Run } from '../../service/run.js';
import { parseTime } from '../../text/quantity.js';
import { sanitize } from '../../text/sanitize.js';
import { type Style, statusPaint } from '../style.js';
import { type Column, layOutTable, textWidth } from '../table.js';
import { LiveLine, type LiveOptions } from './live-line.js';
import { bar, liveRunsText, wholeSeconds } from './live-text.js';
import type { ProgressView, WatchedRun } from './run-progress.js';

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
  readonly #style: Style;
  readonly #rows: Map<string, Row>;

  /** `shorten` returns an id as it is shown. */
  constructor(
    options: LiveOptions,
    runs: readonly WatchedRun[],
    { style, shorten }: { style: Style; shorten: (id: string) => string },
  ) {
    super(options);
    this.#style = style;
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
    const { lines } = layOutTable(rows, this.#columns(), { style: this.#style, width });
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
        paint: ({ run }) => statusPaint(run?.status, this.#style),
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
