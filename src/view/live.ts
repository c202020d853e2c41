/** Progress on a terminal: one spinner line on stderr, which goes away when it stops. */
import ora from 'ora';
import type { Clock, Suspensions } from '../context.js';
import type { Output } from '../output.js';
import type { Run } from '../service/run.js';
import {
  fitLine,
  liveRunsText,
  liveRunText,
  liveSendingText,
  look,
  lookAtSending,
  type ProgressView,
  type SeenRun,
  type SeenSending,
  shareDone,
  wholeSeconds,
} from './progress.js';
import { NO_TERMINAL_PROGRESS, terminalProgress } from './terminal-progress.js';

const TICK = 1_000;
/** The spinner and the space behind it; the last column stays free, or some terminals wrap. */
const MARGIN = 3;

export interface LiveOptions {
  output: Output;
  clock: Clock;
  color: boolean;
  /** Whether the terminal has a progress display of its own. */
  terminalProgress: boolean;
  /** How many runs are watched. */
  runs: number;
  onSuspend: Suspensions;
}

export class LiveProgress implements ProgressView {
  readonly #spinner;
  readonly #options: LiveOptions;
  readonly #started: number;
  readonly #seen = new Map<string, SeenRun & { left: boolean }>();
  readonly #release: () => void;
  #words = 'Connecting';
  /** Characters of the text on the screen. */
  #shown = 0;
  #sending: SeenSending | undefined;
  #cancelTick = () => {};

  constructor(options: LiveOptions) {
    this.#options = options;
    const { output, clock, color } = options;
    this.#started = clock.monotonic();
    this.#spinner = ora({
      // ora asks for more of a stream than it uses; ours is a terminal here.
      stream: output.stream as NodeJS.WriteStream,
      isEnabled: true,
      // Otherwise Ctrl-Z no longer reaches us.
      discardStdin: false,
      color: color ? 'cyan' : (false as never),
    });
    const onResize = () => this.#resized();
    output.stream.on('resize', onResize);
    const forget = options.onSuspend({ before: () => this.#hide(), after: () => this.#show() });
    this.#release = () => {
      output.stream.removeListener('resize', onResize);
      forget();
    };
    this.#tick();
  }

  sending(sent: number, total: number): void {
    this.#sending = lookAtSending(this.#sending, sent, total, this.#options.clock.monotonic());
    // Chunks come faster than frames: the next frame shows it.
    this.#compose();
  }

  waiting(text: string): void {
    this.#sending = undefined;
    this.#words = text;
    this.#show();
  }

  seen(id: string, run: Run): void {
    this.#sending = undefined;
    const now = this.#options.clock.monotonic();
    this.#seen.set(id, { ...look(this.#seen.get(id), run, now), left: false });
    this.#show();
  }

  left(id: string): void {
    const seen = this.#seen.get(id);
    if (seen !== undefined) this.#seen.set(id, { ...seen, left: true });
    if (this.#options.runs > 1) this.#show();
  }

  stop(): void {
    this.#cancelTick();
    this.#release();
    this.#hide();
  }

  #tick(): void {
    this.#cancelTick = this.#options.clock.after(TICK, () => this.#tick());
    this.#show();
  }

  #show(): void {
    this.#compose();
    if (this.#spinner.isSpinning) this.#spinner.render();
    else this.#spinner.start();
  }

  /** Control sequences go with the text: ora takes whatever else is written for output that it must make room for. */
  #compose(): void {
    const text = this.#text();
    this.#shown = text.length;
    this.#spinner.text = this.#options.terminalProgress ? text + terminalProgress(this.#share()) : text;
  }

  #hide(): void {
    this.#spinner.stop();
    if (this.#options.terminalProgress) this.#options.output.stream.write(NO_TERMINAL_PROGRESS);
  }

  /** A terminal that became narrower has broken the line into rows, of which ora knows one. */
  #resized(): void {
    const { output } = this.#options;
    if (!this.#spinner.isSpinning || output.columns === 0) return;
    const rows = Math.ceil((this.#shown + MARGIN - 1) / output.columns);
    this.#spinner.stop();
    if (rows > 1) output.stream.write(`\u001b[${rows - 1}A\u001b[J`);
    this.#show();
  }

  /** How much is done, 0 to 1, where that is known. */
  #share(): number | undefined {
    if (this.#sending !== undefined) return this.#sending.sent / this.#sending.total;
    const runs = [...this.#seen.values()];
    const [first] = runs;
    if (this.#options.runs > 1) return runs.filter(({ left }) => left).length / this.#options.runs;
    return first === undefined ? undefined : shareDone(first);
  }

  #text(): string {
    const { clock, output, runs: total } = this.#options;
    const now = clock.monotonic();
    const width = output.columns - MARGIN;
    if (this.#sending !== undefined) return liveSendingText(this.#sending, now, width);
    const runs = [...this.#seen.values()];
    const [first] = runs;
    if (first === undefined) return fitLine([this.#words, wholeSeconds(now - this.#started)], width);
    if (total > 1) return liveRunsText(runs, total, this.#started, now, width);
    return liveRunText(first, this.#started, now, width);
  }
}
