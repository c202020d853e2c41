/** Progress without a terminal: a line for each change, and one a minute while nothing changes. */
import type { Clock } from '../../platform/context.js';
import type { Run } from '../../service/run.js';
import { sanitize } from '../../text/sanitize.js';
import {
  type BatchCounts,
  type BatchView,
  batchText,
  type EndedRow,
  type ProgressView,
  rowText,
  runText,
  severalRunsText,
  type Upload,
  uploadText,
} from './run-progress.js';

/** Interval of the lines that show no change (ms). */
const HEARTBEAT = 60_000;

/** Lines with the time, and one that shows no change. */
abstract class PlainLines {
  readonly #write: (line: string) => void;
  readonly #clock: Clock;
  #cancelHeartbeat = () => {};

  constructor(write: (line: string) => void, clock: Clock) {
    this.#write = write;
    this.#clock = clock;
    this.restartHeartbeat();
  }

  stop(): void {
    this.#cancelHeartbeat();
  }

  /** Returns the line that shows no change; `now` is monotonic (ms). */
  protected abstract summary(now: number): string;

  protected line(text: string): void {
    this.#write(withTimestamp(text, this.#clock));
  }

  protected restartHeartbeat(): void {
    this.#cancelHeartbeat();
    this.#cancelHeartbeat = this.#clock.after(HEARTBEAT, () => {
      this.line(this.summary(this.#clock.monotonic()));
      this.restartHeartbeat();
    });
  }
}

export class PlainProgress extends PlainLines implements ProgressView {
  readonly #total: number;
  readonly #latest = new Map<string, Run>();
  #message = 'Connecting';

  constructor(write: (line: string) => void, clock: Clock, runs: number) {
    super(write, clock);
    this.#total = runs;
  }

  sending(upload: Upload): void {
    this.#message = `Sending  ${uploadText(upload)}`;
  }

  waiting(text: string): void {
    this.#message = text;
  }

  seen(id: string, run: Run): void {
    const before = this.#latest.get(id);
    this.#latest.set(id, run);
    const text = runText(run);
    if (before !== undefined && runText(before) === text) return;
    this.line(this.#total > 1 ? `${sanitize(id)}  ${text}` : text);
    this.restartHeartbeat();
  }

  done(): void {}

  protected summary(): string {
    const runs = [...this.#latest.values()];
    const [first] = runs;
    if (first === undefined) return this.#message;
    return this.#total > 1 ? severalRunsText(runs, this.#total) : runText(first);
  }
}

/** A batch without a terminal: a line for each row that is done, and one a minute with the counts. */
export class PlainBatch extends PlainLines implements BatchView {
  readonly #counts: () => BatchCounts;

  constructor(write: (line: string) => void, clock: Clock, counts: () => BatchCounts) {
    super(write, clock);
    this.#counts = counts;
  }

  rowDone(row: EndedRow): void {
    this.line(rowText(row));
  }

  protected summary(now: number): string {
    return batchText(this.#counts(), now);
  }
}

/** Returns a line with the time (UTC) before it. */
export function withTimestamp(text: string, clock: Clock): string {
  return `${new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')} ${text}`;
}
