/** One spinner line on a terminal's stderr, which goes away when it stops. */
import ora from 'ora';
import type { Clock, OnSuspend } from '../../platform/context.js';
import type { Output } from '../../platform/output.js';
import { NO_TERMINAL_PROGRESS, terminalProgress } from './terminal-progress.js';

const TICK = 1_000;
/** Whoever drags the edge of a window resizes it many times: the line is away until they have done. */
const SETTLED = 100;
/** The spinner and the space behind it; the last column stays free, or some terminals wrap. */
const MARGIN = 3;
/** What is drawn for the old width, before the terminal has told of the new one, is cut off instead of being wrapped (DECAWM). */
const ONE_ROW = '\u001b[?7l';
const WRAPPED_ROWS = '\u001b[?7h';

export interface LiveOptions {
  output: Output;
  clock: Clock;
  color: boolean;
  /** Whether the terminal has a progress display of its own. */
  terminalProgress: boolean;
  onSuspend: OnSuspend;
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
  #isSettling = false;
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
    if (this.#isSettling) return;
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
    const progress = this.#options.terminalProgress ? terminalProgress(this.#content.share()) : '';
    this.#spinner.text = ONE_ROW + text + WRAPPED_ROWS + progress;
  }

  stop(): void {
    this.#cancelTick();
    this.#release();
    this.#hide();
  }

  #tick(): void {
    this.#cancelTick = this.#options.clock.after(TICK, () => this.#tick());
    this.#isSettling = false;
    this.show();
  }

  #hide(): void {
    this.#spinner.stop();
    if (this.#options.terminalProgress) this.#options.output.stream.write(NO_TERMINAL_PROGRESS);
  }

  /** A terminal that became narrower has broken the line into rows, of which ora knows one. */
  #resized(): void {
    const { output } = this.#options;
    if (output.columns === 0) return;
    if (this.#spinner.isSpinning) {
      const rows = Math.ceil((this.#shown + MARGIN - 1) / output.columns);
      this.#spinner.stop();
      if (rows > 1) output.stream.write(`\u001b[${rows - 1}A\u001b[J`);
    }
    this.#isSettling = true;
    this.#cancelTick();
    this.#cancelTick = this.#options.clock.after(SETTLED, () => this.#tick());
  }
}
