/** One spinner line on a terminal's stderr, which goes away when it stops. */
import ora from 'ora';
import type { Clock, Suspensions } from '../context.js';
import type { Output } from '../output.js';
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
  onSuspend: Suspensions;
}

/** What the line shows. */
export interface LiveContent {
  /** At most `width` characters, at a time (ms, monotonic). */
  text(now: number, width: number): string;
  /** How much is done, 0 to 1, where that is known. */
  share(): number | undefined;
}

export class LiveLine {
  readonly #spinner;
  readonly #options: LiveOptions;
  readonly #content: LiveContent;
  readonly #release: () => void;
  /** Characters of the text on the screen. */
  #shown = 0;
  #cancelTick = () => {};

  constructor(options: LiveOptions, content: LiveContent) {
    this.#options = options;
    this.#content = content;
    const { output, color } = options;
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
    const forget = options.onSuspend({ before: () => this.#hide(), after: () => this.show() });
    this.#release = () => {
      output.stream.removeListener('resize', onResize);
      forget();
    };
    this.#tick();
  }

  /** Shows what there is to show, now. */
  show(): void {
    this.compose();
    if (this.#spinner.isSpinning) this.#spinner.render();
    else this.#spinner.start();
  }

  /**
   * Leaves it to the next frame. Control sequences go with the text: ora takes whatever else is written for output that
   * it must make room for.
   */
  compose(): void {
    const { clock, output } = this.#options;
    const text = this.#content.text(clock.monotonic(), output.columns - MARGIN);
    this.#shown = text.length;
    this.#spinner.text = this.#options.terminalProgress
      ? text + terminalProgress(this.#content.share())
      : text;
  }

  stop(): void {
    this.#cancelTick();
    this.#release();
    this.#hide();
  }

  #tick(): void {
    this.#cancelTick = this.#options.clock.after(TICK, () => this.#tick());
    this.show();
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
    this.show();
  }
}
