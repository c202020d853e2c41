/** One spinner line on a terminal's stderr, removed when it stops. */
import ora from 'ora';
import type { Clock, OnSuspend } from '../../platform/context.js';
import type { Output } from '../../platform/output.js';
import { NO_TERMINAL_PROGRESS, terminalProgress } from './terminal-progress.js';

/** How often the text is refreshed (ms). */
const TICK = 1_000;
/** The line is hidden until the window has kept its size for so long (ms): dragging resizes it many times. */
const RESIZE_PAUSE = 100;
/** The spinner, a space, and the last column, which stays free because some terminals would wrap. */
const MARGIN = 3;
/** Turns wrapping off (DECAWM), so that a line drawn for the old width is cut rather than wrapped. */
const NO_WRAP = '\u001b[?7l';
const WRAP = '\u001b[?7h';

export interface LiveOptions {
  output: Output;
  clock: Clock;
  color: boolean;
  /** Whether the terminal has a progress display of its own. */
  terminalProgress: boolean;
  onSuspend: OnSuspend;
}

/** The text and the share that the line shows. */
export interface LiveContent {
  /** Returns at most `width` characters; `now` is monotonic (ms). */
  text(now: number, width: number): string;
  /** Returns how much is done, 0 to 1, or undefined if unknown. */
  share(): number | undefined;
}

export class LiveLine {
  readonly #spinner;
  readonly #options: LiveOptions;
  readonly #content: LiveContent;
  readonly #release: () => void;
  /** Length of the text on the screen. */
  #shownLength = 0;
  #isResizing = false;
  #cancelTick = () => {};

  constructor(options: LiveOptions, content: LiveContent) {
    this.#options = options;
    this.#content = content;
    const { output, color } = options;
    this.#spinner = ora({
      // ora's type demands more of a stream than ora uses.
      stream: output.stream as NodeJS.WriteStream,
      isEnabled: true,
      // With it, Ctrl-Z would no longer stop wfr.
      discardStdin: false,
      color: color ? 'cyan' : (false as never),
    });
    const onResize = () => this.#resized();
    output.stream.on('resize', onResize);
    const unsubscribe = options.onSuspend({ before: () => this.#hide(), after: () => this.show() });
    this.#release = () => {
      output.stream.removeListener('resize', onResize);
      unsubscribe();
    };
    this.#tick();
  }

  /** Draws the line now. */
  show(): void {
    if (this.#isResizing) return;
    this.compose();
    if (this.#spinner.isSpinning) this.#spinner.render();
    else this.#spinner.start();
  }

  /**
   * Updates the text for the next frame. Control sequences are part of the text: ora treats anything else that is
   * written as output to make room for.
   */
  compose(): void {
    const { clock, output } = this.#options;
    const text = output.mask(this.#content.text(clock.monotonic(), output.columns - MARGIN));
    this.#shownLength = text.length;
    const progress = this.#options.terminalProgress ? terminalProgress(this.#content.share()) : '';
    this.#spinner.text = NO_WRAP + text + WRAP + progress;
  }

  stop(): void {
    this.#cancelTick();
    this.#release();
    this.#hide();
  }

  #tick(): void {
    this.#cancelTick = this.#options.clock.after(TICK, () => this.#tick());
    this.#isResizing = false;
    this.show();
  }

  #hide(): void {
    this.#spinner.stop();
    if (this.#options.terminalProgress) this.#options.output.stream.write(NO_TERMINAL_PROGRESS);
  }

  /** A narrower terminal wraps the line into several rows, of which ora would clear one. */
  #resized(): void {
    const { output } = this.#options;
    if (output.columns === 0) return;
    if (this.#spinner.isSpinning) {
      const rows = Math.ceil((this.#shownLength + MARGIN - 1) / output.columns);
      this.#spinner.stop();
      if (rows > 1) output.stream.write(`\u001b[${rows - 1}A\u001b[J`);
    }
    this.#isResizing = true;
    this.#cancelTick();
    this.#cancelTick = this.#options.clock.after(RESIZE_PAUSE, () => this.#tick());
  }
}
