/** A spinner line on a terminal's stderr, and lines below it, removed when it stops. */
import ora from 'ora';
import type { Clock, OnSuspend, Output } from '../../platform/context.js';
import { NO_TERMINAL_PROGRESS, type Style, terminalProgress } from '../presentation.js';
import { textWidth } from '../table.js';

/** How often the text is refreshed (ms). */
const TICK = 1_000;
/** The line is hidden until the window has kept its size for so long (ms): dragging resizes it many times. */
const RESIZE_PAUSE = 100;
/** The columns of the spinner and the space after it. */
const INDENT = 2;
/** With the last column, which stays free because some terminals would wrap, and room for the `^C` that they echo. */
const MARGIN = INDENT + 1 + '^C'.length;
/** Turns wrapping off (DECAWM), so that a line drawn for the old width is cut rather than wrapped. */
const NO_WRAP = '\u001b[?7l';
const WRAP = '\u001b[?7h';

export interface LiveOptions {
  output: Output;
  clock: Clock;
  color: boolean;
  style: Style;
  /** Whether the terminal has a progress display of its own. */
  terminalProgress: boolean;
  onSuspend: OnSuspend;
}

/** What a live line shows. */
export interface LiveText {
  /** Returns fewer than `height` lines of at most `width` columns; `now` is monotonic (ms). */
  text(now: number, width: number, height: number): string;
  /** Returns how much is done, 0 to 1, or undefined if unknown. */
  share(): number | undefined;
}

/** Such a line, from its construction to stop(). */
export class LiveLine {
  readonly #spinner;
  readonly #release: () => void;
  /** The lines on the screen. */
  #shown: readonly string[] = [];
  #isResizing = false;
  #cancelTick = () => {};

  constructor(
    private readonly options: LiveOptions,
    private readonly live: LiveText,
  ) {
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
    const { clock, output } = this.options;
    const text = this.live.text(clock.monotonic(), output.columns - MARGIN, output.rows);
    this.#shown = output.mask(text).split('\n');
    const progress = this.options.terminalProgress ? terminalProgress(this.live.share()) : '';
    const lines = this.#shown.map((line) => NO_WRAP + line + WRAP);
    // Below the text, not the spinner.
    this.#spinner.text = lines.join(`\n${' '.repeat(INDENT)}`) + progress;
  }

  stop(): void {
    this.#cancelTick();
    this.#release();
    this.#hide();
  }

  #tick(): void {
    this.#cancelTick = this.options.clock.after(TICK, () => this.#tick());
    this.#isResizing = false;
    this.show();
  }

  #hide(): void {
    this.#spinner.stop();
    if (this.options.terminalProgress) this.options.output.stream.write(NO_TERMINAL_PROGRESS);
  }

  /** A narrower terminal wraps a line into several rows, of which ora would clear one. */
  #resized(): void {
    const { output } = this.options;
    if (output.columns === 0) return;
    if (this.#spinner.isSpinning) {
      const rows = this.#shown.map((line) => Math.ceil((textWidth(line) + INDENT) / output.columns));
      const added = rows.reduce((sum, count) => sum + count - 1, 0);
      this.#spinner.stop();
      if (added > 0) output.stream.write(`\u001b[${added}A\u001b[J`);
    }
    this.#isResizing = true;
    this.#cancelTick();
    this.#cancelTick = this.options.clock.after(RESIZE_PAUSE, () => this.#tick());
  }
}
