/** Progress on a terminal: a spinner line on stderr, and lines below it, removed when it stops. */
import ora from 'ora';
import type { Context } from '../../platform/context.js';
import {
  LIVE_INDENT,
  LIVE_MARGIN,
  NO_TERMINAL_PROGRESS,
  type Presentation,
  terminalProgress,
} from '../presentation.js';
import { textWidth } from '../table.js';
import { drawBar, fitLine, type Painter, type Progress } from './progress.js';

/** How often the text is refreshed (ms). */
const TICK = 1_000;
/** The line is hidden until the window has kept its size for so long (ms): dragging resizes it many times. */
const RESIZE_PAUSE = 100;
/** Columns below which bars are half as wide. */
const WIDE = 70;
/** Turns wrapping off (DECAWM), so that a line drawn for the old width is cut rather than wrapped. */
const NO_WRAP = '\u001b[?7l';
const WRAP = '\u001b[?7h';

/** Such a line, from its construction to stop(). */
export class LivePainter implements Painter {
  readonly #spinner;
  readonly #release: () => void;
  /** The lines on the screen. */
  #shown: readonly string[] = [];
  #isResizing = false;
  #cancelTick = () => {};

  constructor(
    private readonly presentation: Presentation,
    private readonly context: Pick<Context, 'stderr' | 'clock' | 'onSuspend'>,
    private readonly progress: Progress,
  ) {
    const { stderr: output, onSuspend } = context;
    this.#spinner = ora({
      // ora's type demands more of a stream than ora uses.
      stream: output.stream as NodeJS.WriteStream,
      isEnabled: true,
      // With it, Ctrl-Z would no longer stop wfr.
      discardStdin: false,
      color: presentation.color ? 'cyan' : (false as never),
    });
    const onResize = () => this.#resized();
    output.stream.on('resize', onResize);
    const unsubscribe = onSuspend({ before: () => this.#hide(), after: () => this.changed() });
    this.#release = () => {
      output.stream.removeListener('resize', onResize);
      unsubscribe();
    };
    this.#tick();
  }

  changed(): void {
    if (this.#isResizing) return;
    this.updated();
    if (this.#spinner.isSpinning) this.#spinner.render();
    else this.#spinner.start();
  }

  /** Control sequences are part of the text: ora treats anything else that is written as output to make room for. */
  updated(): void {
    const { clock, stderr: output } = this.context;
    const width = output.columns - LIVE_MARGIN;
    let done: number | undefined;
    const bar = (share: number | undefined) => {
      done = share;
      return drawBar(share, width < WIDE ? 6 : 12);
    };
    const below = this.progress.below(width);
    // A terminal that scrolls cannot be redrawn.
    const fitting = below.filter((line) => textWidth(line) <= width).slice(0, Math.max(0, output.rows - 2));
    const lines = [fitLine(this.progress.line(clock.monotonic(), bar), width), ...fitting];
    this.#shown = output.mask(lines.join('\n')).split('\n');
    const display = this.presentation.terminalProgress ? terminalProgress(done) : '';
    // Below the text, not the spinner.
    const indent = `\n${' '.repeat(LIVE_INDENT)}`;
    this.#spinner.text = this.#shown.map((line) => NO_WRAP + line + WRAP).join(indent) + display;
  }

  stop(): void {
    this.#cancelTick();
    this.#release();
    this.#hide();
  }

  #tick(): void {
    this.#cancelTick = this.context.clock.after(TICK, () => this.#tick());
    this.#isResizing = false;
    this.changed();
  }

  #hide(): void {
    this.#spinner.stop();
    if (this.presentation.terminalProgress) this.context.stderr.stream.write(NO_TERMINAL_PROGRESS);
  }

  /** A narrower terminal wraps a line into several rows, of which ora would clear one. */
  #resized(): void {
    const { stderr: output } = this.context;
    if (output.columns === 0) return;
    if (this.#spinner.isSpinning) {
      const rows = this.#shown.map((line) => Math.ceil((textWidth(line) + LIVE_INDENT) / output.columns));
      const added = rows.reduce((sum, count) => sum + count - 1, 0);
      this.#spinner.stop();
      if (added > 0) output.stream.write(`\u001b[${added}A\u001b[J`);
    }
    this.#isResizing = true;
    this.#cancelTick();
    this.#cancelTick = this.context.clock.after(RESIZE_PAUSE, () => this.#tick());
  }
}
