/** Progress on a terminal, in one live line. */
import type { Clock } from '../../platform/context.js';
import type { Run } from '../../service/run.js';
import type { BatchCounts, BatchView } from './batch-progress.js';
import { LiveLine, type LiveOptions } from './live-line.js';
import {
  type BatchTimes,
  fitLine,
  liveBatchText,
  liveRunsText,
  liveRunText,
  liveSendingText,
  look,
  lookAtSending,
  type SeenRun,
  type SeenSending,
  shareDone,
  shareOfBatch,
  wholeSeconds,
} from './live-text.js';
import type { ProgressView } from './run-progress.js';

export class LiveProgress implements ProgressView {
  readonly #line: LiveLine;
  readonly #clock: Clock;
  readonly #total: number;
  readonly #started: number;
  readonly #seen = new Map<string, SeenRun & { left: boolean }>();
  #words = 'Connecting';
  #sending: SeenSending | undefined;

  /** `runs` is how many are watched. */
  constructor(options: LiveOptions, runs: number) {
    this.#clock = options.clock;
    this.#total = runs;
    this.#started = options.clock.monotonic();
    this.#line = new LiveLine(options, {
      text: (now, width) => this.#text(now, width),
      share: () => this.#share(),
    });
  }

  sending(sent: number, total: number): void {
    this.#sending = lookAtSending(this.#sending, sent, total, this.#clock.monotonic());
    // Chunks come faster than frames.
    this.#line.compose();
  }

  waiting(text: string): void {
    this.#sending = undefined;
    this.#words = text;
    this.#line.show();
  }

  seen(id: string, run: Run): void {
    this.#sending = undefined;
    this.#seen.set(id, { ...look(this.#seen.get(id), run, this.#clock.monotonic()), left: false });
    this.#line.show();
  }

  left(id: string): void {
    const seen = this.#seen.get(id);
    if (seen !== undefined) this.#seen.set(id, { ...seen, left: true });
    if (this.#total > 1) this.#line.show();
  }

  stop(): void {
    this.#line.stop();
  }

  #share(): number | undefined {
    if (this.#sending !== undefined) return this.#sending.sent / this.#sending.total;
    const runs = [...this.#seen.values()];
    const [first] = runs;
    if (this.#total > 1) return runs.filter(({ left }) => left).length / this.#total;
    return first === undefined ? undefined : shareDone(first);
  }

  #text(now: number, width: number): string {
    if (this.#sending !== undefined) return liveSendingText(this.#sending, now, width);
    const runs = [...this.#seen.values()];
    const [first] = runs;
    if (first === undefined) return fitLine(width, [[this.#words, wholeSeconds(now - this.#started)]]);
    if (this.#total > 1) return liveRunsText(runs, this.#total, this.#started, now, width);
    return liveRunText(first, this.#started, now, width);
  }
}

/** A batch in a live line; what each row came to is in its results. */
export class LiveBatch implements BatchView {
  readonly #line: LiveLine;
  readonly #clock: Clock;
  #times: BatchTimes;

  constructor(options: LiveOptions, counts: () => BatchCounts) {
    this.#clock = options.clock;
    const started = options.clock.monotonic();
    this.#times = { started, lastEnd: started };
    this.#line = new LiveLine(options, {
      text: (now, width) => liveBatchText(counts(), this.#times, now, width),
      share: () => shareOfBatch(counts()),
    });
  }

  ended(): void {
    this.#times = { ...this.#times, lastEnd: this.#clock.monotonic() };
    this.#line.compose();
  }

  stop(): void {
    this.#line.stop();
  }
}
