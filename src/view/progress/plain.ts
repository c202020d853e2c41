/** Progress without a terminal: a line for each change, and one a minute while nothing changes. */
import type { Clock } from '../../platform/context.js';
import type { Run } from '../../service/run.js';
import { sanitize } from '../../text/sanitize.js';
import {
  type BatchCounts,
  type BatchView,
  batchText,
  type CountedRun,
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

export class PlainProgress implements ProgressView {
  readonly #write: (line: string) => void;
  readonly #clock: Clock;
  readonly #total: number;
  readonly #latest = new Map<string, CountedRun>();
  #message = 'Connecting';
  #cancelHeartbeat = () => {};

  constructor(write: (line: string) => void, clock: Clock, runs: number) {
    this.#write = write;
    this.#clock = clock;
    this.#total = runs;
    this.#restartHeartbeat();
  }

  sending(upload: Upload): void {
    this.#message = `Sending  ${uploadText(upload)}`;
  }

  waiting(text: string): void {
    this.#message = text;
  }

  seen(id: string, run: Run): void {
    const before = this.#latest.get(id)?.run;
    this.#latest.set(id, { run, isDone: false });
    const text = runText(run);
    if (before !== undefined && runText(before) === text) return;
    this.#line(this.#total > 1 ? `${sanitize(id)}  ${text}` : text);
  }

  done(id: string): void {
    const latest = this.#latest.get(id);
    if (latest !== undefined) this.#latest.set(id, { ...latest, isDone: true });
  }

  stop(): void {
    this.#cancelHeartbeat();
  }

  #line(text: string): void {
    this.#write(withTimestamp(text, this.#clock));
    this.#restartHeartbeat();
  }

  #restartHeartbeat(): void {
    this.#cancelHeartbeat();
    this.#cancelHeartbeat = this.#clock.after(HEARTBEAT, () => {
      const runs = [...this.#latest.values()];
      const [first] = runs;
      if (first === undefined) this.#line(this.#message);
      else this.#line(this.#total > 1 ? severalRunsText(runs, this.#total) : runText(first.run));
    });
  }
}

/** A batch without a terminal: a line for each row that is done, and one a minute with the counts. */
export class PlainBatch implements BatchView {
  readonly #write: (line: string) => void;
  readonly #clock: Clock;
  readonly #counts: () => BatchCounts;
  #cancelHeartbeat = () => {};

  constructor(write: (line: string) => void, clock: Clock, counts: () => BatchCounts) {
    this.#write = write;
    this.#clock = clock;
    this.#counts = counts;
    this.#waitForHeartbeat();
  }

  rowDone(row: EndedRow): void {
    this.#write(withTimestamp(rowText(row), this.#clock));
  }

  stop(): void {
    this.#cancelHeartbeat();
  }

  #waitForHeartbeat(): void {
    this.#cancelHeartbeat = this.#clock.after(HEARTBEAT, () => {
      this.#write(withTimestamp(batchText(this.#counts(), this.#clock.monotonic()), this.#clock));
      this.#waitForHeartbeat();
    });
  }
}

/** Returns a line with the time (UTC) before it. */
export function withTimestamp(text: string, clock: Clock): string {
  return `${new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')} ${text}`;
}
