/** Progress where there is no terminal: a line for each change, and one a minute while nothing changes. */
import type { Clock } from '../context.js';
import type { Run } from '../service/run.js';
import { formatBytes, type ProgressView, runText } from './progress.js';
import { safeLine } from './safe.js';

const HEARTBEAT = 60_000;

export class PlainProgress implements ProgressView {
  readonly #write: (line: string) => void;
  readonly #clock: Clock;
  readonly #severalRuns: boolean;
  readonly #latest = new Map<string, string>();
  #words = 'Connecting';
  #cancelHeartbeat = () => {};

  constructor(write: (line: string) => void, clock: Clock, severalRuns: boolean) {
    this.#write = write;
    this.#clock = clock;
    this.#severalRuns = severalRuns;
    this.#restartHeartbeat();
  }

  sending(sent: number, total: number): void {
    this.#words = `Sending  ${formatBytes(sent)} of ${formatBytes(total)}`;
  }

  waiting(text: string): void {
    this.#words = text;
  }

  seen(id: string, run: Run): void {
    const text = this.#severalRuns ? `${safeLine(id)}  ${runText(run)}` : runText(run);
    if (this.#latest.get(id) === text) return;
    this.#latest.set(id, text);
    this.#line(text);
  }

  left(id: string): void {
    this.#latest.delete(id);
  }

  stop(): void {
    this.#cancelHeartbeat();
  }

  #line(text: string): void {
    this.#write(`${new Date(this.#clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')} ${text}`);
    this.#restartHeartbeat();
  }

  #restartHeartbeat(): void {
    this.#cancelHeartbeat();
    this.#cancelHeartbeat = this.#clock.after(HEARTBEAT, () => {
      const [first] = this.#latest.values();
      const several = this.#latest.size > 1 ? `${this.#latest.size} runs under way` : first;
      this.#line(several ?? this.#words);
    });
  }
}
