/** Progress where there is no terminal: a line for each change, and one a minute while nothing changes. */
import type { Clock } from '../../platform/context.js';
import type { Run } from '../../service/run.js';
import { sanitize } from '../../text/sanitize.js';
import { type BatchCounts, type BatchView, batchText } from './batch-progress.js';
import { type CountedRun, formatBytes, type ProgressView, runsText, runText } from './run-progress.js';

const HEARTBEAT = 60_000;

export class PlainProgress implements ProgressView {
  readonly #write: (line: string) => void;
  readonly #clock: Clock;
  readonly #total: number;
  readonly #latest = new Map<string, CountedRun>();
  #words = 'Connecting';
  #cancelHeartbeat = () => {};

  constructor(write: (line: string) => void, clock: Clock, runs: number) {
    this.#write = write;
    this.#clock = clock;
    this.#total = runs;
    this.#restartHeartbeat();
  }

  sending(sent: number, total: number): void {
    this.#words = `Sending  ${formatBytes(sent)} of ${formatBytes(total)}`;
  }

  waiting(text: string): void {
    this.#words = text;
  }

  seen(id: string, run: Run): void {
    const before = this.#latest.get(id)?.run;
    this.#latest.set(id, { run, left: false });
    const text = runText(run);
    if (before !== undefined && runText(before) === text) return;
    this.#line(this.#total > 1 ? `${sanitize(id)}  ${text}` : text);
  }

  left(id: string): void {
    const latest = this.#latest.get(id);
    if (latest !== undefined) this.#latest.set(id, { ...latest, left: true });
  }

  stop(): void {
    this.#cancelHeartbeat();
  }

  #line(text: string): void {
    this.#write(timed(text, this.#clock));
    this.#restartHeartbeat();
  }

  #restartHeartbeat(): void {
    this.#cancelHeartbeat();
    this.#cancelHeartbeat = this.#clock.after(HEARTBEAT, () => {
      const runs = [...this.#latest.values()];
      const [first] = runs;
      if (first === undefined) this.#line(this.#words);
      else this.#line(this.#total > 1 ? runsText(runs, this.#total) : runText(first.run));
    });
  }
}

/** A batch where there is no terminal: a line for each row that comes to something, and one a minute with the counts. */
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

  ended(line: string): void {
    this.#write(timed(line, this.#clock));
  }

  stop(): void {
    this.#cancelHeartbeat();
  }

  #waitForHeartbeat(): void {
    this.#cancelHeartbeat = this.#clock.after(HEARTBEAT, () => {
      this.#write(timed(batchText(this.#counts()), this.#clock));
      this.#waitForHeartbeat();
    });
  }
}

/** A line with the time in UTC before it. */
export function timed(text: string, clock: Clock): string {
  return `${new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')} ${text}`;
}
