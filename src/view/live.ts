/** Progress on a terminal: one spinner line on stderr, which goes away when it stops. */
import ora from 'ora';
import type { Clock, Output } from '../context.js';
import type { Run } from '../service/run.js';
import {
  fitLine,
  liveRunText,
  liveSendingText,
  look,
  type ProgressView,
  type SeenRun,
  wholeSeconds,
} from './progress.js';

const TICK = 1_000;
/** The spinner and the space behind it; the last column stays free, or some terminals wrap. */
const MARGIN = 3;

export class LiveProgress implements ProgressView {
  readonly #spinner;
  readonly #clock: Clock;
  readonly #output: Output;
  readonly #started: number;
  readonly #seen = new Map<string, SeenRun>();
  #total = 0;
  #words = 'Connecting';
  #sent: { sent: number; total: number } | undefined;
  #cancelTick = () => {};

  constructor(output: Output, clock: Clock, color: boolean) {
    this.#output = output;
    this.#clock = clock;
    this.#started = clock.monotonic();
    this.#spinner = ora({
      // ora asks for more of a stream than it uses; ours is a terminal here.
      stream: output.stream as NodeJS.WriteStream,
      isEnabled: true,
      // Otherwise Ctrl-Z no longer reaches us.
      discardStdin: false,
      color: color ? 'cyan' : (false as never),
    });
    this.#tick();
  }

  sending(sent: number, total: number): void {
    this.#sent = { sent, total };
    // Chunks come faster than frames: the next frame shows it.
    this.#spinner.text = this.#text();
  }

  waiting(text: string): void {
    this.#sent = undefined;
    this.#words = text;
    this.#show();
  }

  seen(id: string, run: Run): void {
    this.#sent = undefined;
    if (!this.#seen.has(id)) this.#total++;
    this.#seen.set(id, look(this.#seen.get(id), run, this.#clock.monotonic()));
    this.#show();
  }

  left(id: string): void {
    this.#seen.delete(id);
    if (this.#seen.size > 0) this.#show();
  }

  stop(): void {
    this.#cancelTick();
    this.#spinner.stop();
  }

  #tick(): void {
    this.#cancelTick = this.#clock.after(TICK, () => this.#tick());
    this.#show();
  }

  #show(): void {
    this.#spinner.text = this.#text();
    if (this.#spinner.isSpinning) this.#spinner.render();
    else this.#spinner.start();
  }

  #text(): string {
    const now = this.#clock.monotonic();
    const width = this.#output.columns - MARGIN;
    if (this.#sent !== undefined) {
      return liveSendingText(this.#sent.sent, this.#sent.total, this.#started, now, width);
    }
    const runs = [...this.#seen.values()];
    const [first] = runs;
    if (first === undefined) return fitLine([this.#words, wholeSeconds(now - this.#started)], width);
    if (this.#total === 1) return liveRunText(first, this.#started, now, width);
    return fitLine([`${runs.length} of ${this.#total} runs under way`], width);
  }
}
